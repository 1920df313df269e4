"""Formats of verdicts, ratios and quantities, the same in all pictures, tables and texts.

Scope: the sign that goes with each verdict, so that none rests on colour alone, and the units a reader meets:
stored are bytes, seconds and nanoseconds; shown are MB/s (in tables with MiB/s below it), operations per second, and
the time unit that fits. Refuses to show more digits than are worth reading.
"""

import math
from collections.abc import Sequence
from statistics import stdev
from typing import Final, NamedTuple

from mileage.judge import CellVerdict, Comparison, Verdict
from mileage.judge.comparison import HEADLINE_METRICS
from mileage.judge.rules import Barely, arithmetic_change, barely, relative_deviation
from mileage.model.metrics import METRICS
from mileage.report.view import CheckState

NOT_AVAILABLE: Final = "n/a"
BARELY_REASONS: Final[dict[Barely, str]] = {
    "interval-reaches-margin": "the interval reaches the margin",
    "spread-exceeds-half-change": "the standard deviation of the runs exceeds half the change",
}
BARELY: Final = (
    "Barely: there is a difference, but the interval reaches into the margin of relevance, or the standard deviation "
    "of the runs exceeds half the change."
)

VERDICT_GLYPHS: Final[dict[Verdict, str]] = {
    "faster": "▲",
    "slower": "▼",
    "real but irrelevant": "≈",
    "same": "=",
    "undecided": "?",
    "not conclusive": "–",
}
VERDICT_COLOURS: Final[dict[Verdict, str]] = {
    "faster": "#0b5394",
    "slower": "#a93a00",
    "real but irrelevant": "#4b5563",
    "same": "#4b5563",
    "undecided": "#6b3fa0",
    "not conclusive": "#4b5563",
}
CHECK_GLYPHS: Final[dict[CheckState, str]] = {"ok": "✓", "warn": "!", "bad": "✕", "unknown": "–"}
CHECK_WORDS: Final[dict[CheckState, str]] = {
    "ok": "good",
    "warn": "look",
    "bad": "bad",
    "unknown": "not known",
}

METRIC_WORDS: Final = {row.figure: row.title for row in METRICS.values()}
_SHORT_WORDS: Final = METRIC_WORDS | {
    row.figure: row.word.replace("_", " ") for row in METRICS.values() if row.latency not in ("", "judged")
}
"""The same where a label has little room: "commit p50"."""

MULTIPLE_FROM: Final = 2.0
"""Ratios from here on are written as "2.4 times", below as a percentage."""
_NARROW: Final = 0.001
_WIDEST: Final = 101.0
"""Above this ratio an interval's end says no more than that nothing is known: it is written as "> +10000 %"."""
_MOST_PLACES: Final = 12
_MIB: Final = 2**20
_MB: Final = 10**6
_LATENCY_UNITS: Final = ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
_PLAIN: Final = str.maketrans({"−": "-", "\N{NO-BREAK SPACE}": " "})


_PLACES_MAX: Final = 4
"""Decimals of the ends of an interval of multiples, at most; those of wider intervals have three digits."""


class Scale(NamedTuple):
    """A unit to show values in: divide the stored value by `per_unit`."""

    unit: str
    per_unit: float


def plain(text: str) -> str:
    """The same text with an ASCII minus and ordinary spaces."""
    return text.translate(_PLAIN)


def percent(ratio: float | None) -> str:
    """A ratio as a signed change: 0.937 is "−6.3 %"; 2 or more is written as a multiple, "3.4 times"."""
    if ratio is None:
        return NOT_AVAILABLE
    if ratio >= MULTIPLE_FROM:
        return f"{digits(ratio)}\N{NO-BREAK SPACE}times"
    return f"{_signed(ratio, 1)}\N{NO-BREAK SPACE}%"


def interval(ends: tuple[float, float] | None, estimate: float | None = None) -> str:
    """An interval of ratios as changes, both ends in one unit: "−8.4 to −4.1 %", "3.1 to 4.2 times".

    Around an `estimate` that `percent` writes as a multiple, multiples: "0.85 to 57 times".
    """
    if ends is None:
        return "no interval"
    if ends[0] == ends[1]:
        return "no spread"
    if min(ends) >= MULTIPLE_FROM:
        if digits(ends[0]) == digits(ends[1]):
            for places in range(1, _PLACES_MAX + 1):
                low, high = (f"{end:,.{places}f}" for end in ends)
                if low != high:
                    return f"{low} to {high}\N{NO-BREAK SPACE}times"
        return f"{digits(ends[0])} to {percent(ends[1])}"
    if estimate is not None and estimate >= MULTIPLE_FROM:
        high = f"> {_WIDEST - 1:.0f}" if ends[1] > _WIDEST else digits(ends[1])
        return f"{digits(ends[0])} to {high}\N{NO-BREAK SPACE}times"
    if max(ends) > _WIDEST:
        return f"{_signed(ends[0], 0)} to > +{100 * _WIDEST - 100:.0f}\N{NO-BREAK SPACE}%"
    first = 0 if max(ends) >= MULTIPLE_FROM else 1 if max(abs(end - 1) for end in ends) >= _NARROW else 2
    for places in (first, first + 1):
        low, high = (_signed(end, places) for end in ends)
        if low != high:
            break
    return f"{low} to {high}\N{NO-BREAK SPACE}%"


def change_and_interval(ratio: float | None, ends: tuple[float, float] | None) -> str:
    """A change in a sentence: "−6.3 %, 95 % interval −8.4 to −4.1 %", "−6.3 %, no interval"."""
    words = interval(ends, ratio)
    return f"{percent(ratio)}, {'' if words.startswith('no ') else '95 % interval '}{words}"


def decided_by_correction(cell: CellVerdict) -> bool:
    """Whether a cell is undecided only because others were judged with it: its own interval excludes no change."""
    excludes = cell.ci95 is not None and (cell.ci95[0] > 1 or cell.ci95[1] < 1)
    return cell.verdict == "undecided" and cell.p_raw is not None and excludes


def correction_note(comparison: Comparison) -> str:
    """Explain why cells are undecided although their intervals exclude no change; empty if there are none."""
    found = [cell for cell in comparison.cells if decided_by_correction(cell)]
    if not found or comparison.vetoes:
        return ""
    first = found[0]
    # The headline is corrected within itself (Holm), every other cell over all cells (Benjamini-Hochberg).
    family = [
        cell
        for cell in comparison.cells
        if cell.p_raw is not None and (first.p_holm is None or cell.p_holm is not None)
    ]
    example = (
        f"{row_name(first)}: p = {p_value(first.p_raw)} uncorrected, {p_value(first.p_adjusted)} corrected"
    )
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        "Undecided although the interval excludes 0: the interval is for one test alone, but the verdict is corrected "
        f"for {len(family)} comparisons ({example}{more})."
    )


def groups_words(comparison: Comparison) -> str:
    """The mean change of each workload of several tests; empty where none is known. One test is its own mean."""
    return "; ".join(
        f"{name} {change_and_interval(group.ratio, group.ci95)}"
        for name, group in comparison.groups.items()
        if group.lowest != group.highest
    )


def overall(comparison: Comparison) -> str:
    """The headline's cells together, one mean for each workload; of unknown workloads for all; or nothing.

    "Mean change of each workload over its tests: throughput.write −8.4 %, 95 % interval −9.0 to −7.8 %; ...".
    """
    found = comparison.overall
    if found is None:
        return ""
    if comparison.groups:
        how = f"geometric means of the ratios, intervals over {found.blocks} {comparison.unit}s"
        words = groups_words(comparison)
        return f"Mean change of each workload over its tests: {words} ({how})." if words else ""
    cells = len(comparison.headline)
    reach = f"the tests from {percent(found.lowest)} to {percent(found.highest)}"
    how = f"geometric mean of the ratios, interval over {found.blocks} {comparison.unit}s; {reach}"
    return f"All {cells} tests together: {change_and_interval(found.ratio, found.ci95)} ({how})."


def _signed(ratio: float, places: int) -> str:
    change = (ratio - 1) * 100
    written = f"{abs(change):.{places}f}"
    if float(written) == 0:
        return written
    return f"{'+' if change > 0 else '−'}{written}"


def p_value(p: float | None) -> str:
    """A probability with two digits; below 0.0001 only the bound."""
    if p is None:
        return NOT_AVAILABLE
    if p < 1e-4:
        return "< 0.0001"
    return f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"


def ratio(value: float | None) -> str:
    """A bare ratio with three digits behind the point, fewer when it is large, more when it is tiny."""
    if value is None:
        return NOT_AVAILABLE
    return f"{value:.3f}" if 0.01 <= value < 10 else digits(value)


def digits(value: float) -> str:
    """Three or four digits worth reading, thousands separated, never with an exponent."""
    size = abs(value)
    if size >= 1e7:
        return f"{round(value, 2 - math.floor(math.log10(size))):,.0f}"
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1 or size == 0:
        return f"{value:.2f}" if size else "0"
    return f"{value:.{min(2 - math.floor(math.log10(size)), _MOST_PLACES)}f}".rstrip("0").rstrip(".")


def five_digits(value: float) -> str:
    """A value as it was measured, five digits long at least, never with an exponent."""
    if value == 0:
        return "0"
    places = max(0, 4 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(places, _MOST_PLACES)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scale_of(metric: str, values: Sequence[float]) -> Scale:
    """The unit that fits the largest of some values of a metric; an unknown metric keeps its own name."""
    if metric == "rate_bytes_per_s":
        return Scale("MB/s", _MB)
    if metric == "ops_per_s":
        return Scale("IOPS", 1.0)
    if metric == "elapsed_s":
        return Scale("s", 1.0)
    if metric.endswith("_ns"):
        largest = max(values, default=0.0)
        per_unit, unit = max((u for u in _LATENCY_UNITS if u[0] <= largest), default=_LATENCY_UNITS[0])
        return Scale(unit, per_unit)
    return Scale(metric.replace("_", " "), 1.0)


def quantity(metric: str, value: float | None) -> str:
    """A value in its reading unit: "253 MB/s", "12,300 IOPS", "1.24 ms"."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    scale = scale_of(metric, [value])
    return f"{digits(value / scale.per_unit)}\N{NO-BREAK SPACE}{scale.unit}"


def second_quantity(metric: str, value: float | None) -> str:
    """The same value in the other usual unit (MiB/s for rates), or nothing where there is only one."""
    if value is None or metric != "rate_bytes_per_s" or not math.isfinite(value):
        return ""
    return f"{digits(value / _MIB)}\N{NO-BREAK SPACE}MiB/s"


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 check", "2 checks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def passed_line(number: int) -> str:
    """The line that stands for the passed checks in a text."""
    return f"[{plain(CHECK_GLYPHS['ok'])}] {counted(number, 'check')} passed; the page lists them"


def distinct_names(baseline: str, candidate: str) -> tuple[str, str]:
    """Two arms' names without the words that both begin with, for places where there is little room."""
    low, high = baseline.split(" "), candidate.split(" ")
    shared = 0
    while shared < min(len(low), len(high)) - 1 and low[shared] == high[shared]:
        shared += 1
    return " ".join(low[shared:]), " ".join(high[shared:])


def row_name(cell: CellVerdict) -> str:
    """The cell's label, with the metric where it is not the rate that the label implies."""
    if cell.metric in HEADLINE_METRICS:
        return cell.cell
    return f"{cell.cell}, {_SHORT_WORDS.get(cell.metric, cell.metric)}"


def shortened(text: str, most: int) -> str:
    """At most this many characters; the middle is cut, since labels differ at the end."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


class Arithmetic(NamedTuple):
    """What benchmark articles print of a cell, as shares: of all its runs, the sham arm not removed; None: unknown.

    The difference of the arithmetic means, and the deviation of the candidate's and of the baseline's runs (n - 1).
    """

    change: float | None
    deviation: float | None
    deviation_baseline: float | None


def arithmetic_of(cell: CellVerdict) -> Arithmetic:
    """The figures of a cell as articles print them: those of its runs, or what was printed."""
    if cell.printed is not None:
        return Arithmetic(cell.printed.difference_percent / 100, cell.printed.sd_percent / 100, None)
    values = (cell.values_baseline, cell.values_candidate)
    return Arithmetic(
        arithmetic_change(*values), relative_deviation(values[1]), relative_deviation(values[0])
    )


def shortened_apart(names: Sequence[str], most: int) -> dict[str, str]:
    """The names `shortened`, with more characters where two would be equal."""
    found = {name: shortened(name, most) for name in names}
    return found if len(set(found.values())) == len(found) else shortened_apart(names, most + 1)


def arithmetic_percent(cell: CellVerdict) -> str:
    """The difference of the arithmetic means as a change."""
    change = arithmetic_of(cell).change
    return percent(None if change is None else 1 + change)


def barely_words(cell: CellVerdict) -> str:
    """Reason why a verdict is close to its limit; empty where it is clear."""
    if cell.verdict not in ("faster", "slower") or not cell.ratio:
        return ""
    if cell.printed is not None:
        # On the scale that the table has: a share of the baseline's mean, of which 5 % down are 1/1.05.
        ends = None if cell.ci95 is None else (cell.ci95[0] - 1, cell.ci95[1] - 1)
        margin = cell.relevance / (1 if cell.ratio > 1 else 1 + cell.relevance)
        codes = barely(cell.ratio - 1, ends, margin, cell.printed.sd_percent / 100)
        return " and ".join(BARELY_REASONS[code] for code in codes)
    spreads = [
        stdev(logs)
        for values in (cell.values_baseline, cell.values_candidate)
        if len(logs := [math.log(value) for value in values if value > 0]) > 1
    ]
    interval_logs = None
    if cell.ci95 is not None and min(cell.ci95) > 0:
        interval_logs = (math.log(cell.ci95[0]), math.log(cell.ci95[1]))
    margin = math.log1p(cell.relevance)
    codes = barely(math.log(cell.ratio), interval_logs, margin, max(spreads, default=None))
    return " and ".join(BARELY_REASONS[code] for code in codes)


def verdict_word(cell: CellVerdict) -> str:
    """The verdict on a cell in a word that suits its metric: a latency is not "slower" but higher."""
    if cell.metric.endswith("_ns"):
        return {"slower": "higher", "faster": "lower"}.get(cell.verdict, cell.verdict)
    return cell.verdict


def verdict_words(cell: CellVerdict) -> str:
    """Glyph and word: "▼ slower", of a latency "▼ worse", and the margin of an equality."""
    word = verdict_word(cell)
    if word != cell.verdict:
        word = "worse" if cell.verdict == "slower" else "better"
    elif word == "same":
        word += f" within {cell.relevance * 100:g} %"
    return f"{VERDICT_GLYPHS[cell.verdict]} {word}"


def by_effect(cells: Sequence[CellVerdict]) -> list[CellVerdict]:
    """Worst first: the cell that lost most, by its log ratio, on top; cells without a ratio last."""

    def gain(cell: CellVerdict) -> float:
        if cell.ratio is None:
            return math.inf
        return math.log(cell.ratio) * (1 if cell.higher_is_better else -1)

    return sorted(cells, key=gain)


def largest_changes(cells: Sequence[CellVerdict], limit: int) -> list[CellVerdict]:
    """At most `limit` verdicts: those with the largest change in either direction, the largest slowdown first."""
    kept = sorted(cells, key=lambda c: -abs(math.log(c.ratio)) if c.ratio else 0.0)[:limit]
    return by_effect(kept)
