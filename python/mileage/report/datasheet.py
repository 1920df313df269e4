"""A virtual drive on paper: its data sheet, and one run on it drawn in characters.

Scope: plain lines, no escape codes. What is not there is omitted.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import pairwise, zip_longest
from statistics import fmean
from typing import Any, Final, NamedTuple

from mileage.model.run_record import RunRecord
from mileage.report.quantity import column_width

Figure = tuple[str, str, str, str]
"""Name, value, source and confidence of one figure of a profile."""

_RATE_UNITS: Final = {"iops": "IOPS", "mb_per_s": "MB/s", "mean_us": "us"}
_BARS: Final = " ▁▂▃▄▅▆▇█"
_COLUMNS: Final = 60
_VALUE_COLUMNS: Final = 24
_NS_PER_S: Final = 1e9
_HEAD: Final[Figure] = ("figure", "value", "source", "confidence")
_CONFIDENCE: Final = {
    "source": "stated by the maker or measured by the quoted text",
    "article": "measured by an article whose study Mileage repeats",
    "inferred": "derived from other figures",
    "fitted": "chosen to reproduce a published rate",
    "recalled": "known from memory, without a text at hand",
    "assumed": "not known, the simplest choice",
    "defined": "chosen for a drive that was never built",
    "default": "not stated by the profile",
}
"""Meaning of each confidence of a figure, as printed, the strongest first."""
_PRINTED: Final = {"memory": "recalled", "seed": "article"}
"""Profiles say "memory" and "seed", which a reader of a table takes for RAM and for a random seed."""
DRAWN_COUNTERS: Final = {
    "flash_pages_programmed": "programs",
    "gc_pages_moved": "moved by GC",
    "blocks_erased": "erases",
    "levelling_pages_moved": "moved for wear",
    "map_pages_read": "map reads",
    "full_merges": "full merges",
    "trimmed_pages": "pages trimmed",
    "commands_stalled": "stalled",
    "commands_lost": "lost",
    "media_accesses": "arm accesses",
    "read_cache_hits": "read cache hits",
    "sectors_reread": "sectors reread",
    "bands_cleaned": "bands cleaned",
}
"""Counters of a run that are drawn per second if they moved, with the title of each."""


def confidence_word(confidence: str) -> str:
    """The confidence of a figure as it is printed: "recalled" for a profile's `memory`, "article" for its `seed`."""
    return _PRINTED.get(confidence, confidence)


def data_sheet(title: str, figures: Sequence[Figure], width: int = 100) -> str:
    """Every figure with its value, confidence and source, in lines of at most `width` columns."""
    names = max(len(name) for name, *_ in figures)
    # The zones of a disk are a long list; everything else fits.
    values = min(max(len(value) for _, value, *_ in figures), _VALUE_COLUMNS)
    figures = [(name, value, source, confidence_word(word)) for name, value, source, word in figures]
    given = {confidence for *_, confidence in figures}
    legend = "; ".join(f"{word} = {meaning}" for word, meaning in _CONFIDENCE.items() if word in given)
    lines = [
        title,
        "",
        *textwrap.wrap(f"Confidence of a figure: {legend}.", width, subsequent_indent="  "),
        "",
    ]
    for name, value, source, confidence in (_HEAD, *figures):
        source_columns = max(width - names - values - 15, 20)
        rows = zip_longest(textwrap.wrap(value, values), textwrap.wrap(source, source_columns), fillvalue="")
        for number, (part, text) in enumerate(rows):
            first = ("", "") if number else (name, confidence)
            lines.append(f"{first[0]:<{names}}  {part:>{values}}  {first[1]:<10} {text}".rstrip())
    return "\n".join(lines) + "\n"


def alternative_lines(alternatives: Sequence[Figure], width: int = 100) -> list[str]:
    """Text lines: other plausible values of figures that are not published, each with its reason."""
    lines = [
        "What figures that are not published may be instead (virtual:NAME,KEY=VALUE, or option --band of run):"
    ]
    for name, value, alternative, reason in alternatives:
        text = f"{name}={alternative} instead of {value}: {reason}"
        lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="      ")
    return lines


def rate_lines(rates: Sequence[Mapping[str, Any]], width: int = 100) -> list[str]:
    """Published rates next to those of the simulated drive; why, where they are more than a tenth apart."""
    lines = ["Published rates, and what the simulated drive does:"]
    for rate in rates:
        lines.append(f"  {_both_rates(rate)}")
        parts = [_rate_workload(rate), f"{rate['source']} ({confidence_word(rate['confidence'])})"]
        if rate["fits"] is not None:
            parts.append(f"{rate['fits']} is fitted to this rate")
        if rate["held_out"]:
            parts.append("held out: no figure was fitted to this rate")
        if rate["why_off"] is not None and rate["simulated"] is not None:
            parts.append(f"{_missed(rate)}: {rate['why_off']}")
        for text in parts:
            lines += textwrap.wrap(text, width, initial_indent=" " * 6, subsequent_indent=" " * 8)
    return lines


class MissedRate(NamedTuple):
    """A published rate that the simulated drive misses, as texts; the field names are the heads of a table."""

    workload: str
    published: str
    simulated: str
    off: str
    """Relative difference from the published figure, with its sign: "+125 %"."""

    @property
    def distance(self) -> float:
        """Distance of the simulated rate from the published one: the logarithm of their ratio, without its sign."""
        return abs(math.log(max(1 + self.percent / 100, 1e-3)))

    @property
    def percent(self) -> float:
        """Relative difference from the published figure, in percent."""
        return float(self.off.removesuffix(" %"))

    def sentence(self) -> str:
        """All four in one line of text."""
        return f"{self.workload}: published {self.published}, simulated {self.simulated} ({self.off})"


def missed_rates(rates: Sequence[Mapping[str, Any]], workloads: Container[str]) -> list[MissedRate]:
    """The published rates of some workloads that the simulated drive misses by more than a tenth, the worst first."""
    missed = [
        rate
        for rate in rates
        if None not in (rate["why_off"], rate["simulated"]) and rate["workload"] in workloads
    ]
    missed.sort(key=lambda rate: -abs(math.log(rate["simulated"] / rate["value"])))
    return [
        MissedRate(
            f"{rate['workload'].replace('_', ' ')}, depth {rate['depth']}",
            _with_unit(rate, "value"),
            _with_unit(rate, "simulated"),
            f"{100 * (rate['simulated'] / rate['value'] - 1):+.0f} %",
        )
        for rate in missed
    ]


def _with_unit(rate: Mapping[str, Any], key: str) -> str:
    value = rate[key]
    return (
        f"{value:,.0f} {_RATE_UNITS[rate['unit']]}"
        if value >= 1000
        else f"{value:.4g} {_RATE_UNITS[rate['unit']]}"
    )


def _both_rates(rate: Mapping[str, Any]) -> str:
    unit, simulated = _RATE_UNITS[rate["unit"]], rate["simulated"]
    quoted = f"{rate['value']:,.7g} {unit}"
    if simulated is None:
        return f"{quoted}; not simulated yet (drive fit --write does it)"
    return f"{quoted}; simulated {simulated:,.7g} {unit} ({simulated / rate['value'] - 1:+.0%})"


def _missed(rate: Mapping[str, Any]) -> str:
    slower = (rate["simulated"] < rate["value"]) != (rate["unit"] == "mean_us")
    return "not reached" if slower else "exceeded"


def _rate_workload(rate: Mapping[str, Any]) -> str:
    """Conditions of a published rate: the operations, and the state of the drive before them."""
    order, _, direction = rate["workload"].partition("_")
    at = "at random" if order == "random" else "in order"
    parts = [
        f"{direction}s of {rate['record_bytes']:,} bytes {at}, depth {rate['depth']}, "
        f"{rate['moved_bytes'] / 1e9:g} GB within {rate['span_bytes'] / 1e9:g} GB"
    ]
    if rate["compressible_percent"]:
        parts.append(f"{rate['compressible_percent']} % of the content compressible")
    before = rate["written_before_bytes"]
    parts.append(f"{before / 1e9:g} GB written in order before" if before else "a new drive")
    if rate["overwritten_before_times"]:
        parts.append(f"then overwritten at random {rate['overwritten_before_times']} times")
    if rate["size_divided_by"] > 1:
        parts.append(f"on a drive of 1/{rate['size_divided_by']} of the size")
    return ", ".join(parts)


def bars(
    values: Sequence[float], columns: int = _COLUMNS, join: Callable[[Sequence[float]], float] = fmean
) -> str:
    """Values as a row of bars, the largest at full height; neighbours are joined, by their mean, to fit the columns."""
    if not values:
        return ""
    columns = min(columns, len(values))
    edges = [index * len(values) // columns for index in range(columns + 1)]
    joined = [join(values[a:b]) for a, b in pairwise(edges)]
    top = max(joined) or 1.0
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in joined)


def run_drawing(record: RunRecord, gauges: Sequence[tuple[str, int]], life: str, pages: int | None) -> str:
    """Rate, latency and the counters that moved over the run, and the state of the drive after it.

    `pages` is the capacity in pages of flash, None for a drive without.
    """
    series, seconds = record.series, record.series.interval_s
    rate = [moved / seconds / 1e6 for moved in series.bytes_moved]
    elapsed = record.elapsed_s
    operations = record.ops_read + record.ops_written
    total = record.bytes_moved
    lines = [
        f"{operations:,} operations, {total / 1e6:,.1f} MB in {elapsed:.3f} s of the drive's time",
        f"{total / elapsed / 1e6 if elapsed else 0:,.1f} MB/s, {operations / elapsed if elapsed else 0:,.0f} IOPS",
        "",
        _row("MB/s", rate),
    ]
    for key, name in (
        ("latency_p50_ns", "p50 us"),
        ("latency_p99_ns", "p99 us"),
        ("latency_max_ns", "max us"),
    ):
        join = max if name.startswith("max") else fmean
        lines.append(_row(name, [value / 1e3 for value in getattr(series, key)], join))
    if pages:
        lines.append(_row("free blocks", series.counters.get("free_blocks", [])))
    for key, name in DRAWN_COUNTERS.items():
        totals = series.counters.get(key, [])
        steps = [b - a for a, b in pairwise([0, *totals])]
        if any(steps):
            lines.append(_row(name + "/s", [step / seconds for step in steps]))
    if (amplification := record.write_amplification) is not None:
        lines += ["", f"write amplification {amplification:.3f}"]
    if record.ops_discarded and pages:
        lines += ["", _trimmed(record, dict(gauges)["mapped_pages"] / pages)]
    if record.error is not None:
        lines += ["", f"ended early: {record.error.message}"]
    shown = [(name, value) for name, value in record.counters.items() if value]
    lines += ["", "counters of this run", *_pairs(shown), "", f"the drive now: {life}", *_pairs(gauges)]
    return "\n".join(lines) + "\n"


def power_cut_line(cut: Mapping[str, Any]) -> str:
    """Time of the power cut, and the acknowledged writes that it lost."""
    lost = cut["lost"]
    text = f"power cut {cut['after_ns'] / _NS_PER_S:.6f} s after the start: "
    if not lost:
        return text + "no acknowledged write is lost"
    writes = len({part["write"] for part in lost})
    megabytes = sum(part["length_bytes"] for part in lost) / 1e6
    return (
        f"{text}{writes:,} acknowledged write{'s' if writes > 1 else ''} ({megabytes:,.3f} MB) lost, "
        f"the first at byte {lost[0]['offset_bytes']}"
    )


def _trimmed(record: RunRecord, mapped: float) -> str:
    """Pages that the host discarded, how many of them the drive held, and the share of all pages that it holds now."""
    discards, megabytes = record.ops_discarded, record.bytes_discarded / 1e6
    pages = record.counters["trimmed_pages"]
    return (
        f"{discards:,} discards of {megabytes:,.1f} MB trimmed {pages:,} pages that held data; "
        f"{mapped:.1%} of the drive is mapped now"
    )


def _row(name: str, values: Sequence[float], join: Callable[[Sequence[float]], float] = fmean) -> str:
    if not values:
        return f"{name:<18} not recorded"
    return f"{name:<18}{bars(values, join=join)}  {min(values):,.0f} to {max(values):,.0f}"


def _pairs(rows: Sequence[tuple[str, int]]) -> list[str]:
    names = max((24, *(len(name) for name, _ in rows)))
    values = column_width(16, [f"{value:,}" for _, value in rows])
    return [f"  {name:<{names}}{value:>{values},}" for name, value in rows]


def data_loss_lines(years: float, loss: tuple[float, float, float, float, float, float]) -> list[str]:
    """The probability that an array loses data: exact chain next to simulation.

    `loss`: hours of a repair, mean hours to the loss, exact and simulated probability, its 95 % interval.
    """
    repair_h, mean_h, exact, simulated, low, high = loss
    return [
        f"data loss within {years:g} years   exact {exact:.2g}, simulated {simulated:.2g} "
        f"(95 % CI {low:.2g} to {high:.2g})",
        f"mean time to data loss     {mean_h / 8760:,.0f} years, with {repair_h:.1f} hours until a member is restored",
    ]
