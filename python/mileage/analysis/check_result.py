"""Result of `mileage check`: the drive, its rates, and one sentence about them.

Scope: rows of rates with their intervals; health and class; the sentence that joins them; the exit status.
What it refuses: to call a drive too slow when something else had a part in its rates; the sentence then says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from mileage.analysis.check_class import ClassVerdict, Interval
from mileage.analysis.check_health import Health
from mileage.analysis.quoted_rates import QuotedPair
from mileage.judge import Comparison, Summary, summarise
from mileage.model.data_sheet import DataSheet
from mileage.report.cell_estimates import completed_words, is_partial
from mileage.report.quantity import figure
from mileage.store import MeasuredCell

_MB = 1e6


class Row(msgspec.Struct, frozen=True):
    """One test: its rate in each repetition."""

    name: str
    """"SEQ 1 MiB" or "RND 4 KiB"."""
    direction: str
    """"read" or "write"."""
    depth: int
    mb_per_s: tuple[float, ...]
    """The rate of each repetition in MB/s, in order."""
    iops: tuple[float, ...]
    p50_us: float | None
    p99_us: float | None
    elapsed_s: tuple[float, ...] = ()
    """The time of each repetition."""
    failed: int = 0
    """Repetitions without a rate, since they failed."""

    @property
    def rate(self) -> Summary:
        """The rate in MB/s: the geometric mean with its interval, and what else describes the repetitions."""
        return summarise(self.mb_per_s, times_s=self.elapsed_s, failed=self.failed)

    @property
    def operations(self) -> Summary:
        """The operations per second."""
        return summarise(self.iops, times_s=self.elapsed_s, failed=self.failed)

    @property
    def label(self) -> str:
        """Its name in a sentence."""
        return f"{self.name} {self.direction} depth {self.depth}"

    @property
    def figure(self) -> str:
        """Its name among the figures of a class."""
        how = f"seq_{self.direction}" if self.name.startswith("SEQ") else f"rnd_{self.direction}_{self.depth}"
        return how if self.depth != 1 or not how.startswith("seq") else ""


class Finding(msgspec.Struct, frozen=True):
    """Something that a reader must know next to the rates. `disturbs`: the rates may not be the drive's own."""

    text: str
    disturbs: bool


class UntestedProperties(msgspec.Struct, frozen=True):
    """Properties that the check did not test, and the commands that would test them."""

    text: str
    commands: tuple[str, ...]


class CheckResult(msgspec.Struct, frozen=True):
    """The check of one target."""

    target: str
    date_utc: str
    drive: tuple[tuple[str, str], ...]
    """Identity of the drive, as pairs of a heading and its text."""
    health: Health
    rows: tuple[Row, ...]
    fit: ClassVerdict
    findings: tuple[Finding, ...]
    not_tested: tuple[UntestedProperties, ...]
    verdict: str
    status: int
    """0: nothing was judged bad; 1: it is failing, or does not fit its class."""
    sheet: DataSheet | None = None
    """The data sheet that was named, or recognised by the model of a real drive."""
    quoted: tuple[QuotedPair, ...] = ()
    """Rates that the data sheet promises, next to the measured ones."""


def plain_result(found: CheckResult) -> dict[str, Any]:
    """The result as values for programs, each row with the summaries of its rates under `estimates`."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    for row, values in zip(found.rows, plain["rows"], strict=True):
        values["estimates"] = {"mb_per_s": row.rate, "iops": row.operations}
    return plain


def plain_results(found: Sequence[CheckResult], comparison: Comparison | None) -> dict[str, Any]:
    """One result as values for programs, or two as `targets` with their `comparison`."""
    plain = [plain_result(one) for one in found]
    return plain[0] if len(plain) == 1 else {"targets": plain, "comparison": comparison}


def in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows as forums know them: reads first, sequential ones first, the deepest queue first."""
    return tuple(sorted(rows, key=lambda row: (row.direction, row.name != "SEQ 1 MiB", -row.depth)))


def row_of(cell: MeasuredCell, record: int, depth: int) -> Row:
    """The row of a measured cell."""
    return Row(
        name="SEQ 1 MiB" if record > 4096 else "RND 4 KiB",
        direction="write" if cell.bytes_written else "read",
        depth=depth,
        mb_per_s=tuple(rate / _MB for rate in cell.rate_bytes_per_s),
        iops=cell.ops_per_s,
        p50_us=_us(cell, "p50_ns"),
        p99_us=_us(cell, "p99_ns"),
        elapsed_s=tuple(time for time in cell.elapsed_s if time > 0),
        failed=cell.failed,
    )


def _us(cell: MeasuredCell, name: str) -> float | None:
    found = cell.latency.get("write" if cell.bytes_written else "read")
    time_ns: int | None = None if found is None else getattr(found, name)
    return None if time_ns is None else time_ns / 1000


def intervals(rows: Sequence[Row]) -> dict[str, Interval]:
    """The figures that a class may have and that are estimable: low end, geometric mean, high end."""
    found = {}
    for row in rows:
        one = row.rate if row.name.startswith("SEQ") else row.operations
        if row.figure and one.geometric_mean is not None:
            low, high = one.mean_ci95 or (one.geometric_mean, one.geometric_mean)
            found[row.figure] = (low, one.geometric_mean, high)
    return found


def status_of(health: Health, fit: ClassVerdict, findings: Sequence[Finding]) -> int:
    """The exit status: 1 for what is judged bad. A rate in which something else had a part is not judged."""
    disturbed = any(finding.disturbs for finding in findings)
    return int(health.state == "failing" or (fit.fit in ("below", "beyond") and not disturbed))


def verdict_of(
    noun: str, health: Health, rows: Sequence[Row], fit: ClassVerdict, findings: Sequence[Finding]
) -> str:
    """Summarise a check in one sentence: healthy or not, how fast, and whether the rates fit the class of the drive.

    `noun`: "drive", "virtual drive".
    """
    begins = {
        "good": f"This {noun} is healthy; it",
        "failing": f"This {noun} is FAILING ({'; '.join(health.problems)}); it",
        "unknown": f"The health of this {noun} is not known; it",
    }
    begin = "This virtual drive" if noun == "virtual drive" else begins[health.state]
    sentence = f"{begin} {_speeds(rows)}"
    disturbed = next((finding.text for finding in findings if finding.disturbs), None)
    if fit.fit == "no class":
        words = (
            "no class of drives (such as SATA SSDs) is known for it, so whether this is good is not judged"
        )
        if disturbed is not None:
            words = (
                f"these rates are NOT RELIABLE, because something else had a part in them (below); {words}"
            )
    elif fit.fit == "fits":
        partial = [f"{row.label}: {completed_words(row.rate)}" for row in rows if is_partial(row.rate)]
        if not partial:
            return f"{sentence}, as its class does ({fit.title})."
        words = f"whether that fits its class ({fit.title}) is not judged ({'; '.join(partial)})"
    elif disturbed is not None:
        words = f"{_misfit(fit)}, which is not conclusive: {disturbed}"
    else:
        words = f"{_misfit(fit)}: {fit.reasons[0]}"
    return f"{sentence}; {words}."


def _misfit(fit: ClassVerdict) -> str:
    if fit.fit == "below":
        return f"that is BELOW its class ({fit.title})"
    return f"that is more than its class ({fit.title}) can carry"


def _speeds(rows: Sequence[Row]) -> str:
    parts = []
    for verb, direction in (("reads", "read"), ("writes", "write")):
        own = [row for row in rows if row.direction == direction]
        if own:
            rate = _highest([row.rate for row in own if row.name.startswith("SEQ")], "MB/s")
            ops = _highest([row.operations for row in own if row.name.startswith("RND")], "IOPS")
            parts.append(f"{verb} {rate} in sequence and {ops} at random")
    return ", ".join(parts)


def _highest(rates: Sequence[Summary], unit: str) -> str:
    """The highest of the estimable rates; without one, that there is none."""
    known = [rate.geometric_mean for rate in rates if rate.geometric_mean is not None]
    if known:
        return f"{figure(max(known))} {unit}"
    return f"at a rate that is not estimable ({completed_words(rates[0])})"
