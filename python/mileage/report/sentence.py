"""The verdict in one or two sentences that a stranger can read: how much, how sure, in how many cells.

Scope: what may be claimed: the largest decided difference of the headline with both its means and its 95 % interval,
then every
headline cell by verdict, then the cells outside the headline, then the design. What weakens the whole stands in
the first sentence: vetoes, and that one cycle, one session or one run only describes. Refuses to call undecided
cells equal. Plain text, no markup of its own.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from mileage.judge.comparison import CellVerdict, Comparison, Interval, Work
from mileage.judge.model_band import ModelBand
from mileage.judge.verdict import Verdict
from mileage.model.caveat import Caveat
from mileage.plan.sizes import format_bytes
from mileage.report.caveat_words import caveat_words, each_in_words, listed
from mileage.report.quantity import duration, lost_of
from mileage.report.session_words import number_word, session_units
from mileage.report.standings import ranking_words
from mileage.report.wording import (
    METRIC_WORDS,
    MULTIPLE_FROM,
    counted,
    groups_words,
    plain,
    verdict_word,
)

_DASH: Final = "\N{EN DASH}"
_WHOLE_PERCENT: Final = 9.95
"""From here on no digit follows the point of a range."""
_WITH_CONTROL: Final = "less the change of an idle control"
_WITHOUT_CONTROL: Final = "without an idle control"
_SIMULATION_ONLY: Final = (
    "The 95 % CI covers the repetitions of this simulation only, not how well the drive is modelled"
)
MANY_CELLS: Final = 12
"""Cells of the headline from which their counts lead the sentence."""
_MOST_GROUPS: Final = 13
_RATE_UNITS: Final = {"rate_bytes_per_s": (1e6, "MB/s"), "ops_per_s": (1.0, "IOPS")}


def verdict_sentence(comparison: Comparison, emphasis: str = "") -> str:
    """The verdict of a comparison in words; `emphasis` is put on both sides of the size of the difference.

    With vetoes it starts "Not conclusive because ..."; a comparison of one cycle starts "From one cycle on one device
    only: ...". Sentences on what limits it follow the claim.
    """
    family = comparison.family
    vetoes = each_in_words(comparison.vetoes, comparison)
    if family:
        claim = f"{_weakened(comparison, _claim(comparison, family, emphasis))}."
        rest = _beyond_headline(comparison)
        limiting = [one for one in comparison.caveats if one.severity == "limits"]
        limits = " ".join(_sentences(comparison, [c for c in limiting if c.code not in _SAID_ELSEWHERE]))
        model = _model_range(comparison)
        ranking = ranking_words(comparison.standings, comparison.factor)
        more = (_design(comparison), _untested(comparison, family))
        # Before many ranks, a reader must know that they are of a model.
        parts = (
            (claim, limits, model, ranking, rest, *more) if ranking else (claim, limits, rest, model, *more)
        )
        claim = " ".join(filter(None, parts))
    else:
        names = f"{comparison.baseline} or {comparison.candidate}"
        claim = f"There is nothing to compare: no test was measured in {names}."
    if vetoes:
        return f"Not conclusive because {listed(vetoes)}. What was measured: {_joined(comparison, claim)}"
    return claim


_FEW: Final = {
    "one-cycle": "one cycle on one device",
    "no-complete-cycle": "no complete cycle",
    "one-run": "one run of each test",
}
_SAID_ELSEWHERE: Final = frozenset({*_FEW, "simulated"})
"""Limits with words of their own in the sentence: before the claim, or as the range of a model."""


def notes_of(comparison: Comparison) -> list[str]:
    """A sentence for each caveat that only informs."""
    return _sentences(comparison, [one for one in comparison.caveats if one.severity == "informs"])


def statements(comparison: Comparison) -> list[str]:
    """The verdict and each note, as every door without a page has them."""
    return [verdict_sentence(comparison), *notes_of(comparison)]


def _sentences(comparison: Comparison, caveats: Sequence[Caveat]) -> list[str]:
    return [f"{_capital(words)}." for words in each_in_words(caveats, comparison)]


def _weakened(comparison: Comparison, claim: str) -> str:
    """The claim after what makes it a description, where something does."""
    alone = len(comparison.only_baseline) + len(comparison.only_candidate)
    if alone:
        both = len({cell.cell for cell in comparison.cells})
        counted = f"{number_word(both)} of {number_word(both + alone)} tests"
        claim = f"both sides have {counted}: {_joined(comparison, claim)}"
    few = [words for code, words in _FEW.items() if comparison.has(code)]
    if few:
        return f"From {' and '.join(few)} only{', ' if alone else ': '}{_joined(comparison, claim)}"
    return _capital(claim) if alone else claim


def _joined(comparison: Comparison, statement: str) -> str:
    """A sentence set behind a colon: its first letter small, unless it starts with a name."""
    name = comparison.candidate
    if comparison.kind == "arms" and statement[: len(name)] in (name, _capital(name)):
        return name[:1] + statement[1:]
    return statement[:1].lower() + statement[1:]


def _claim(comparison: Comparison, family: Sequence[CellVerdict], emphasis: str) -> str:
    if comparison.has("one-session"):
        return _within_sessions(comparison, family)
    decided = _decided(family)
    # Counts of verdicts would contradict a veto: then the largest difference is what was measured.
    has_counts = not (comparison.vetoes and decided)
    if len(family) >= MANY_CELLS and has_counts:
        return _many(comparison, family, decided, emphasis)
    if decided:
        lead = most_changed(decided)
        opening = _difference(comparison, lead, emphasis)
        other = [cell for cell in decided if cell.verdict != lead.verdict]
        but = f", but {_change(most_changed(other))} at {most_changed(other).cell}" if other else ""
        words = f"; {_counts(family)}" if len(family) > 1 and has_counts else ""
        return f"{opening}{but}{words}"
    counts = Counter(c.verdict for c in family)
    first, subject, than = _scene(comparison)
    if counts["undecided"] == len(family):
        words = _counts(family) if len(family) > 1 else "undecided"
        opening = _whether(comparison, f"{emphasis}{words}{emphasis}")
        opening += _interval(family[0]) if len(family) == 1 else ""
        return opening + _detectable(family) + _worst_cut(comparison, family)
    if counts["undecided"]:
        number = f"undecided in {counts['undecided']} of {len(family)} tests"
        rest = [cell for cell in family if cell.verdict in _WITHIN]
        others = "the other is" if len(rest) == 1 else f"the other {len(rest)} are"
        return f"{_whether(comparison, f'{emphasis}{number}{emphasis}')}; {others} {_margins(rest)}"
    like = than.replace("than", "as", 1)
    opening = _opened(comparison, f"{first} {subject} is {emphasis}as fast{emphasis} {like}")
    return f"{opening} ({_counts(family)}){_worst_cut(comparison, family)}"


def _within_sessions(comparison: Comparison, family: Sequence[CellVerdict]) -> str:
    """The largest change between two sessions, with the interval of the runs within them, which is no verdict."""
    known = [cell for cell in family if cell.ratio is not None]
    if not known:
        return f"{comparison.candidate} cannot be compared with {comparison.baseline}"
    lead = most_changed(known)
    change = _change_words(lead)
    link = "as" if " as " in change else "than"
    interval = _interval(lead).replace("95 % CI", "95 % CI of the runs within them")
    most = f", the most of {len(family)} tests" if len(family) > 1 else ""
    names = f"{comparison.candidate} was {change} {link} {comparison.baseline}"
    return f"in these sessions {names}{interval} at {lead.cell}{most}"


def _many(
    comparison: Comparison, family: Sequence[CellVerdict], decided: Sequence[CellVerdict], emphasis: str
) -> str:
    """Sentence for many cells: the counts come first, because the largest of many ratios is mostly chance."""
    first, subject, _ = _scene(comparison)
    counts = f"{emphasis}{_counts(family)}{emphasis}"
    if all(cell.verdict == "undecided" for cell in family):
        opening = _whether(comparison, counts) + _detectable(family)
    elif first:
        opening = _capital(f"{first} {subject} is {counts}")
    else:
        opening = f"{_opened(comparison, f'{comparison.candidate} against {comparison.baseline}')}: {counts}"
    groups = plain(groups_words(comparison))
    text = (
        f"{opening}. By workload: {groups}" if groups and len(comparison.groups) <= _MOST_GROUPS else opening
    )
    if not decided:
        return text
    lead = most_changed(decided)
    return f"{text}. The largest difference: {_joined(comparison, _difference(comparison, lead, ''))}"


def most_changed(cells: Sequence[CellVerdict]) -> CellVerdict:
    """The cell whose ratio is furthest from 1: the one that a sentence speaks of."""
    return max(cells, key=lambda cell: abs(math.log(cell.ratio or 1.0)))


def lead_of(comparison: Comparison) -> CellVerdict | None:
    """The decided cell that the sentence speaks of; None where none is decided."""
    decided = _decided(comparison.family)
    return most_changed(decided) if decided else None


def _decided(cells: Sequence[CellVerdict]) -> list[CellVerdict]:
    return [cell for cell in cells if cell.verdict in ("faster", "slower") and cell.ratio is not None]


def _model_range(comparison: Comparison) -> str:
    """The uncertainty that the interval does not hold, in a sentence of its own: that of the model of the drive.

    With a model band, the range of the largest changes over its variants, and of the test that only a variant moves.
    Empty for a real drive, where nothing was decided or moved, and where there is no interval.
    """
    lead = lead_of(comparison)
    if comparison.band is None and comparison.kind == "arms":
        return " ".join(
            _sentences(comparison, [one for one in comparison.caveats if one.code == "simulated"])
        )
    if comparison.band is None:
        has_interval = lead is not None and "CI" in _interval(lead)
        return f"{_SIMULATION_ONLY}." if has_interval and comparison.simulated else ""
    named = [cell for cell in (lead, moved_by_model(comparison)) if cell is not None]
    if not named:
        return ""
    beyond = _decided(comparison.beyond)
    late = {metric: [cell for cell in beyond if cell.metric == metric] for metric in METRIC_WORDS}
    found = [(METRIC_WORDS[m], most_changed(cells)) for m, cells in late.items() if cells]
    found = [*(("", cell) for cell in named), *found]
    ranges = [
        f"the {metric} of {cell.cell} {words}" if metric else f"{cell.cell} would be {words}"
        for metric, cell in found
        if (words := band_range(comparison, cell))
    ]
    if not ranges:
        return f"{_SIMULATION_ONLY}."
    counted = variant_words(comparison.band, named[0])
    return (
        f"{_SIMULATION_ONLY}: with another value of one unpublished figure of the drive ({counted} tried), "
        f"{listed(ranges)}."
    )


def moved_by_model(comparison: Comparison) -> CellVerdict | None:
    """The test without a difference here that has the largest one on a variant of the drive; None where none has."""
    decided = _decided(comparison.family)
    moved = [(_furthest(comparison, cell), cell) for cell in comparison.family if cell not in decided]
    reach, cell = max(moved, key=lambda one: one[0], default=(0.0, None))
    return cell if cell is not None and reach > math.log1p(cell.relevance) else None


def _furthest(comparison: Comparison, cell: CellVerdict) -> float:
    """The largest change of a cell over the variants of the drive, as a logarithm without its sign."""
    return max((abs(math.log(end)) for end in _band_of(comparison, cell) or ()), default=0.0)


def band_range(comparison: Comparison, cell: CellVerdict) -> str:
    """The range of a cell over the variants of the drive, such as "56 to 92 % slower"; empty where none was tried."""
    ends = _band_of(comparison, cell)
    return "" if ends is None else range_words(ends, higher_is_better=cell.higher_is_better)


def _band_of(comparison: Comparison, cell: CellVerdict) -> Interval | None:
    if comparison.band is None or cell.ratio is None:
        return None
    return comparison.band.around(cell.cell, cell.metric, cell.ratio)


def variant_words(band: ModelBand, cell: CellVerdict) -> str:
    """Number of variants behind the range of a cell: "7 variants", or "6 of 7 variants" where some failed."""
    number = band.count(cell.cell, cell.metric)
    total = f"{band.declared} variant{'' if band.declared == 1 else 's'}"
    return total if number == band.declared else f"{number} of {total}"


_DIRECTIONS: Final = {True: ("faster", "slower", "fast"), False: ("higher", "lower", "high")}
"""Words of a larger and of a smaller ratio and of a multiple, by whether more is better."""


def range_words(ends: Interval, *, higher_is_better: bool) -> str:
    """A range of ratios as changes, the smaller change first.

    "56 to 92 % slower", "5.0 % faster to 92 % slower"; of latencies "7.1 to 128 times as high".
    """
    first, last = sorted(ends, key=lambda ratio: abs(math.log(ratio)))
    one, other = (_end_words(ratio, *_DIRECTIONS[higher_is_better]) for ratio in (first, last))
    if one == other:
        return " ".join(one)
    if one[1] == other[1]:
        return f"{one[0].removesuffix(' %').removesuffix(' times')} to {' '.join(other)}"
    return f"{' '.join(one)} to {' '.join(other)}"


def _end_words(ratio: float, up: str, down: str, positive: str) -> tuple[str, str]:
    """Size and direction of a ratio: ("56 %", "slower"), ("18 times", "as high")."""
    if ratio >= MULTIPLE_FROM:
        return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times", f"as {positive}"
    percent = abs(ratio - 1) * 100
    return f"{percent:.0f} %" if percent >= _WHOLE_PERCENT else f"{percent:.1f} %", up if ratio >= 1 else down


def _whether(comparison: Comparison, answer: str) -> str:
    """Answer to the question of the comparison."""
    first, subject, than = _scene(comparison)
    figures = {cell.metric for cell in comparison.family}
    if len(figures) == 1 and (figure := figures.pop()).endswith("_ns"):
        question = f"whether {subject} has a lower or a higher {METRIC_WORDS[figure]} {than} is {answer}"
    else:
        question = f"whether {subject} is faster or slower {than} is {answer}"
    return _capital(f"{first}, {question}" if first else question)


def _detectable(family: Sequence[CellVerdict]) -> str:
    """Which differences these repetitions could have shown: how sure "undecided" is; empty where that is not known."""
    least = [cell.mde for cell in family if cell.mde is not None]
    if not least or len(least) < len(family):
        return ""
    low, high = (_detectable_words(end) for end in (min(least), max(least)))
    if low == high:
        return f"; a difference of {low} would have been found four times in five"
    low = low.removesuffix(" %") if high.endswith(" %") else low
    return f"; differences of {low} to {high}, by test, would have been found four times in five"


def _detectable_words(change: float) -> str:
    return f"{1 + change:.2g} times" if 1 + change >= MULTIPLE_FROM else f"{100 * change:.2g} %"


def _difference(comparison: Comparison, lead: CellVerdict, emphasis: str) -> str:
    return _change_at(comparison, lead, emphasis) + _cut_words(comparison, lead.cell)


def _cut_words(comparison: Comparison, cell: str) -> str:
    """What power cuts lost in a cell, on both sides; empty where there was none."""
    if cell not in comparison.cut_losses:
        return ""
    one, other = comparison.cut_losses[cell]
    sides = ((other, comparison.candidate), (one, comparison.baseline))
    lost = [f"{lost_of(loss.lost, loss.of)} with {arm}" for loss, arm in sides]
    if one.cuts == other.cuts:
        verb = "loses" if one.cuts == 1 else "lose"
        return f"; {counted(one.cuts, 'power cut')} {verb} {', '.join(lost)}"
    each = (f"{words} in {counted(loss.cuts, 'cut')}" for words, (loss, _) in zip(lost, sides, strict=True))
    return f"; power cuts lose {', '.join(each)}"


def _worst_cut(comparison: Comparison, family: Sequence[CellVerdict]) -> str:
    """What power cuts lost in the cell that lost most on either side; empty where there was none."""
    cells = [cell.cell for cell in family if cell.cell in comparison.cut_losses]
    if not cells:
        return ""
    worst = max(cells, key=lambda cell: max(loss.lost for loss in comparison.cut_losses[cell]))
    return f"{_cut_words(comparison, worst)} at {worst}"


def _change_at(comparison: Comparison, lead: CellVerdict, emphasis: str) -> str:
    if statement := _both_values(comparison, lead, emphasis):
        return statement
    first, subject, than = _scene(comparison)
    words = _change_words(lead)
    verb = "is" if lead.higher_is_better else f"has a {METRIC_WORDS.get(lead.metric, lead.metric)}"
    link = than.replace("than", "as", 1) if " as " in words else than
    place = f"{_interval(lead)} at {lead.cell}"
    return _opened(comparison, f"{first} {subject} {verb} {emphasis}{words}{emphasis} {link}{place}")


def _both_values(comparison: Comparison, lead: CellVerdict, emphasis: str) -> str:
    """Activity with its rates, or a latency, in both arms; empty for other metrics, or where a mean is missing."""
    if lead.metric.endswith("_ns") and lead.mean_candidate and lead.mean_baseline:
        return _both_latencies(comparison, lead, emphasis)
    rates = [_rate(lead.metric, mean) for mean in (lead.mean_candidate, lead.mean_baseline)]
    if not all(rates):
        return ""
    unit = _RATE_UNITS[lead.metric][1]
    first, subject, _ = _scene(comparison)
    work = comparison.work.get(lead.cell)
    does = _work_words(work) if work is not None else f"does {lead.cell}"
    instead = f"instead of {rates[1]}"
    if comparison.kind == "arms":
        one = class_words(comparison)[0]
        instead = f"and {comparison.baseline}{f' ({one})' if one else ''} at {rates[1]}"
    change = f"{emphasis}{_change_words(lead)}{emphasis}{_interval(lead)}"
    return _opened(comparison, f"{first} {subject} {does} at {rates[0]} {unit} {instead}: {change}")


def _both_latencies(comparison: Comparison, lead: CellVerdict, emphasis: str) -> str:
    """A latency in both arms: "the drive has a median commit time of 60 µs instead of 9 ms: 150 times as short"."""
    first, subject, _ = _scene(comparison)
    own, other = (duration(mean or 0) for mean in (lead.mean_candidate, lead.mean_baseline))
    instead = f"{comparison.baseline} {other}" if comparison.kind == "arms" else f"instead of {other}"
    link = ", " if comparison.kind == "arms" else " "
    change = f"{emphasis}{_change_words(lead)}{emphasis}{_interval(lead)}"
    has = f"{subject} has a {METRIC_WORDS[lead.metric]} of {own}{link}{instead}"
    return _opened(comparison, f"{first} {has} at {lead.cell}: {change}")


_SHORT: Final = 0.1
"""Ratio of latencies from which on a percentage would say little: "99.8 % lower"."""
_ORDER_WORDS: Final = {"sequential": "in sequence", "random": "at random"}


def _work_words(work: Work) -> str:
    """What a cell does: "reads 4 KiB blocks at random"."""
    return f"{work.direction}s {format_bytes(work.record_bytes)} blocks {_ORDER_WORDS[work.order]}"


def _rate(metric: str, mean: float | None) -> str:
    """A rate in the unit of its metric, with three or four digits worth reading; empty where it is none."""
    if mean is None or metric not in _RATE_UNITS:
        return ""
    value = mean / _RATE_UNITS[metric][0]
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def _opened(comparison: Comparison, text: str) -> str:
    """Capital letter at the start, unless the sentence starts with a name of one word, which stays as it was given.

    Names of several words begin with a noun: "drive x25e", "the candidate".
    """
    text = text.strip()
    named = comparison.kind == "arms" and " " not in comparison.candidate
    return text if named and text.startswith(comparison.candidate) else _capital(text)


def _scene(comparison: Comparison) -> tuple[str, str, str]:
    """Opening, subject and what it is compared with: "After torture", "this drive", "than before"."""
    low, high = comparison.baseline, comparison.candidate
    if comparison.kind == "arms":
        one, other = (f" ({words})" if words else "" for words in class_words(comparison))
        simulated = "in this simulation" if comparison.simulated else ""
        return simulated, f"{high}{other}", f"than {low}{one}"
    subject = f"this {'simulated ' if comparison.simulated else ''}{comparison.subject}"
    if (low, high) == ("before", "after"):
        if not comparison.tortured:
            after = f"after {listed(comparison.between)}" if comparison.between else "afterwards"
            return after, subject, "than before"
        return f"after {_wear_words(comparison) or 'the stress'}", subject, "than before"
    return f"in the stage named {high}", subject, f"than in the stage named {low}"


_WEAR_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"))


def _wear_words(comparison: Comparison) -> str:
    """The amount written between the two stages: "190 GiB of random writes"; empty where it is not known."""
    if comparison.wear_bytes is None:
        return ""
    size = comparison.wear_bytes
    per_unit, unit = next(((per, unit) for per, unit in _WEAR_UNITS if size >= per), (1, "bytes"))
    order = f"{comparison.wear_order} " if comparison.wear_order else ""
    return f"{size / per_unit:.3g} {unit} of {order}writes"


def sides_sentence(comparison: Comparison) -> str:
    """What differs between two studies, by side: "new: ext4, 2026-11-28; old: xfs, 2026-11-27."; empty: not known."""
    if not comparison.differs:
        return ""
    old, new = (", ".join(values) for values in zip(*comparison.differs, strict=True))
    return f"{comparison.candidate}: {new}; {comparison.baseline}: {old}."


def class_words(comparison: Comparison) -> tuple[str, str]:
    """The class of each side's device where they differ, else two empty texts."""
    one, other = comparison.classes
    return ("", "") if one == other else (one or "class not known", other or "class not known")


def _interval(lead: CellVerdict) -> str:
    if lead.ci95 is None or lead.ratio is None:
        return ""
    low, high = lead.ci95
    if low == high:
        return " (no spread between repetitions)"
    places = _decimals(lead.ratio, lead.ci95)
    if (low < 1) != (high < 1):
        return f" (95 % CI of the ratio to the baseline {low:.3g}{_DASH}{high:.3g})"
    if lead.ratio >= MULTIPLE_FROM:
        return f" (95 % CI {low:.{places}f}{_DASH}{high:.{places}f} times)"
    ends = sorted(_percent(x) for x in lead.ci95)
    return f" (95 % CI {ends[0]:.{places}f}{_DASH}{ends[1]:.{places}f} %)"


def _percent(ratio: float) -> float:
    return abs(ratio - 1) * 100


def _decimals(ratio: float, interval: Interval | None) -> int:
    """None from 10 on, one from 1 on, two below; more (up to two) where the interval would vanish."""
    scale = float if ratio >= MULTIPLE_FROM else _percent
    value = scale(ratio)
    places = (0 if value >= 10 else 1) if value >= 1 else 2
    ends = [scale(x) for x in interval or () if x != ratio]
    while places < 2 and any(f"{end:.{places}f}" == f"{value:.{places}f}" for end in ends):
        places += 1
    return places


def _counts(family: Sequence[CellVerdict]) -> str:
    """Number of cells with each verdict: "slower in 3 of 6 tests, undecided in 1, within 2 % in 2".

    A difference that is smaller than the margin and none at all both stay within the margin.
    """
    total = f"{len(family)} test" if len(family) == 1 else f"{len(family)} tests"
    groups = [[cell for cell in family if cell.verdict == word] for word in ("slower", "faster", "undecided")]
    within = [cell for cell in family if cell.verdict in _WITHIN]
    margins = sorted({cell.relevance for cell in within}, reverse=True)
    groups += ([cell for cell in within if cell.relevance == margin] for margin in margins)
    parts: list[str] = []
    for cells in filter(None, groups):
        if len(cells) == len(family):
            every = {1: "the one test", 2: "both tests"}.get(len(cells), f"all {total}")
            if cells[0].verdict in _WITHIN:
                return f"{every} {_margins(cells)}"
            return f"{verdict_word(cells[0])} in {every}"
        number = f"{len(cells)} of {total}" if not parts else str(len(cells))
        word = _margins(cells) if cells[0].verdict in _WITHIN else verdict_word(cells[0])
        parts.append(f"{word} in {number}")
    return ", ".join(parts)


_WITHIN: Final[tuple[Verdict, ...]] = ("real but irrelevant", "same")


def _margins(cells: Sequence[CellVerdict]) -> str:
    """The margin within which cells stay, "within 5 %"; of several, how many: "within 5 % (7) or 2 % (3)"."""
    margins = sorted(Counter(cell.relevance for cell in cells).items(), reverse=True)
    if len(margins) == 1:
        return f"within {100 * margins[0][0]:g} %"
    return f"within {' or '.join(f'{100 * margin:g} % ({count})' for margin, count in margins)}"


def _beyond_headline(comparison: Comparison) -> str:
    if comparison.vetoes:
        return ""
    sentences, beyond = [], comparison.beyond
    for metric in dict.fromkeys(cell.metric for cell in beyond):
        cells = [cell for cell in beyond if cell.metric == metric]
        sentences.append(f"In {METRIC_WORDS.get(metric, metric)}: {_counts(cells)}{_largest(cells)}.")
    return " ".join(sentences)


def _largest(cells: Sequence[CellVerdict]) -> str:
    """The largest decided change of some cells: "; largest: 2.6 times as high (95 % CI ...) at iops.random_read"."""
    decided = _decided(cells)
    if not decided:
        return ""
    lead = most_changed(decided)
    most = "largest: " if len(decided) > 1 else ""
    place = "" if len(cells) == 1 else f" at {lead.cell}"
    return f"; {most}{_change(lead)}{place}"


def _change(cell: CellVerdict) -> str:
    """The change of a decided cell with its interval: "2.6 times as high (95 % CI ...)", "8 % slower (95 % CI ...)"."""
    return f"{_change_words(cell)}{_interval(cell)}"


def _change_words(cell: CellVerdict) -> str:
    """The change of a decided cell: "2.6 times as high", "8 % slower"."""
    ratio = cell.ratio or 1.0
    more, less, positive = _DIRECTIONS[cell.higher_is_better]
    if not cell.higher_is_better and ratio <= _SHORT:
        return f"{1 / ratio:.{_decimals(1 / ratio, None)}f} times as short"
    places = _decimals(ratio, cell.ci95)
    if ratio >= MULTIPLE_FROM:
        return f"{ratio:.{places}f} times as {positive}"
    return f"{_percent(ratio):.{places}f} % {more if ratio > 1 else less}"


def _untested(comparison: Comparison, family: Sequence[CellVerdict]) -> str:
    """Explain why cells have no interval although both arms were measured."""
    lacking = [cell for cell in family if cell.ci95 is None and cell.caveats]
    if not lacking or not (comparison.units_baseline and comparison.units_candidate):
        return ""
    where = "" if len(family) == 1 else f" in {lacking[0].cell}"
    more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
    return f"There is no interval{where}{more}: {note_words(lacking[0], comparison)}."


def note_words(cell: CellVerdict, comparison: Comparison) -> str:
    """What is missing or special about a cell; empty where nothing is."""
    return "; ".join(caveat_words(caveat, comparison) for caveat in cell.caveats)


def design_words(comparison: Comparison) -> str:
    """The units that the comparison rests on: "3 cycles with an idle control", "18 against 5 independent runs"."""
    if comparison.is_printed:
        return "printed means and deviations, the runs taken as log-normal"
    if comparison.kind == "arms":
        return _units(comparison)
    control = "with an idle control" if comparison.sham_removed else "without an idle control"
    if comparison.has("no-complete-cycle"):
        return "no complete cycle"
    cycles = comparison.units_candidate if comparison.unit == "cycle" else 1
    return f"one cycle {control}" if cycles == 1 else f"{cycles} cycles {control}"


def _units(comparison: Comparison) -> str:
    """The units of each side; of tests that have different numbers, from the fewest to the most."""
    family = [cell for cell in comparison.family if cell.units_candidate]
    pairs = {(cell.units_candidate, cell.units_baseline) for cell in family}
    pairs = pairs or {(comparison.units_candidate, comparison.units_baseline)}
    if comparison.unit == "session" or comparison.has("one-session"):
        return session_units(comparison)
    high, low = (_range(sorted({pair[at] for pair in pairs})) for at in (0, 1))
    noun = comparison.unit if max(map(max, pairs)) == 1 else f"{comparison.unit}s"
    by_test = ", by test" if len(pairs) > 1 else ""
    if comparison.unit == "block":
        return f"{high} paired {noun}{by_test}"
    independent = "" if comparison.vetoes else "independent "
    within = " of one session" if comparison.sessions == (1, 1) else ""
    return f"{high} against {low} {independent}{noun}{within}{by_test}"


def _range(counts: Sequence[int]) -> str:
    first, last = number_word(counts[0]), number_word(counts[-1])
    return first if first == last else f"{first} to {last}"


def _design(comparison: Comparison) -> str:
    if comparison.kind == "arms":
        if not (comparison.units_baseline and comparison.units_candidate):
            why = next((words for cell in comparison.cells if (words := note_words(cell, comparison))), "")
            return f"Nothing could be judged: {why}." if why else ""
        return f"{_capital(_units(comparison))}."
    control = _WITH_CONTROL if comparison.sham_removed else _WITHOUT_CONTROL if comparison.tortured else ""
    if not comparison.descriptive:
        cycles = comparison.units_candidate
        repeated = (
            f"{_capital(number_word(cycles))} repetition{'' if cycles == 1 else 's'} of the whole experiment"
        )
        return f"{', '.join(filter(None, (repeated, control)))}."
    return f"{_capital(control)}." if control and not comparison.has("no-complete-cycle") else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
