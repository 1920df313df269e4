"""Compare the rates of a data sheet with the measured ones, rate by rate, at the conditions that the sheet states.

Scope: for each quoted rate the measured cell that is closest to its conditions: the same kind of work,
then as few conditions as possible that differ (record size, depth, span, content), then the higher rate, which is
kinder to the drive. A ratio is given only where every stated condition is that of the cell; the state of the drive
is not compared, and said.
A quoted rate that nothing measured has no cell; mean latencies are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mileage.judge import Summary, summarise
from mileage.model.data_sheet import DataSheet, QuotedRate
from mileage.plan.pattern import pattern_word
from mileage.plan.planned_runs import Plan
from mileage.plan.sizes import format_bytes
from mileage.plan.workload import Workload
from mileage.store import MeasuredCell

_ORDERS = {"sequential": "sequential", "random": "random", "shuffled": "random"}


class MeasuredRate(msgspec.Struct, frozen=True):
    """The rate of one cell, with its conditions."""

    label: str
    stage: str
    workload: str
    """Workload as data sheets name it, such as "random_read"."""
    record_bytes: int
    depth: int
    """Outstanding operations of all threads."""
    span_bytes: int
    content: str
    """ "incompressible" or "compressible"; empty of reads, whose content nothing states."""
    mb_per_s: tuple[float, ...]
    """Rate of each run in MB/s."""
    iops: tuple[float, ...]
    failed: int = 0
    """Runs without a rate, since they failed."""


class QuotedPair(msgspec.Struct, frozen=True):
    """A quoted rate and what was measured. `ratio` is measured over quoted; None where conditions differ."""

    quoted: QuotedRate
    measured: MeasuredRate | None
    value: float | None = None
    """Geometric mean of the runs, in the unit of the quoted rate; None where it is not estimable."""
    low: float | None = None
    high: float | None = None
    """Ends of the 95 % interval."""
    ratio: float | None = None
    differs: tuple[str, ...] = ()
    """Conditions that differ, each in words."""


def measured_rates(plan: Plan, cells: Sequence[MeasuredCell]) -> list[MeasuredRate]:
    """The cells whose work a data sheet could quote: reads or writes alone, in order or at random."""
    works = {cell.label: cell.workload for cell in plan.cells}
    found = []
    for cell in cells:
        work = works.get(cell.cell)
        if work is not None and (name := _work_name(work)):
            content = "" if work.read_percent else _content(work)
            rates = tuple(rate / 1e6 for rate in cell.rate_bytes_per_s)
            depth = work.depth * work.threads
            made = (cell.cell, cell.stage, name, work.record_bytes, depth, work.span_bytes, content)
            found.append(MeasuredRate(*made, rates, cell.ops_per_s, cell.failed))
    return found


def _work_name(work: Workload) -> str:
    order = _ORDERS.get(pattern_word(work.pattern))
    if order is None or work.discard_percent or work.read_percent not in (0, 100):
        return ""
    return f"{order}_{'read' if work.read_percent else 'write'}"


def _content(work: Workload) -> str:
    # Of a sector of fio's own data a compressor saves about 16 bytes.
    is_random = work.content in ("incompressible", "fio_scrambled", "fio_constant")
    return "incompressible" if is_random else "compressible"


def quoted_pairs(sheet: DataSheet, measured: Sequence[MeasuredRate]) -> list[QuotedPair]:
    """Every quoted rate but mean latencies, with the closest cell of each stage that measured such work."""
    stages = list(dict.fromkeys(rate.stage for rate in measured))
    pairs = []
    for quoted in sheet.rate:
        if quoted.unit == "mean_us":
            continue
        own = [_pair(quoted, [rate for rate in measured if rate.stage == stage]) for stage in stages]
        pairs += [pair for pair in own if pair.measured is not None] or [QuotedPair(quoted, None)]
    return pairs


def _pair(quoted: QuotedRate, measured: Sequence[MeasuredRate]) -> QuotedPair:
    same = [rate for rate in measured if rate.workload == quoted.workload]
    if not same:
        return QuotedPair(quoted, None)

    def rank(rate: MeasuredRate) -> tuple[int, float]:
        return len(list(_differences(quoted, rate))), -(_estimate(quoted, rate).geometric_mean or 0.0)

    best = min(same, key=rank)
    differs = tuple(_differences(quoted, best))
    found = _estimate(quoted, best)
    value, (low, high) = found.geometric_mean, found.mean_ci95 or (None, None)
    ratio = None if differs or value is None else value / quoted.value
    return QuotedPair(quoted, best, value, low, high, ratio, differs)


def _estimate(quoted: QuotedRate, rate: MeasuredRate) -> Summary:
    return summarise(rate.iops if quoted.unit == "iops" else rate.mb_per_s, failed=rate.failed)


def _differences(quoted: QuotedRate, rate: MeasuredRate) -> Iterator[str]:
    if quoted.record_bytes is not None and quoted.record_bytes != rate.record_bytes:
        yield f"quoted at {format_bytes(quoted.record_bytes)}, measured at {format_bytes(rate.record_bytes)}"
    elif quoted.record_bytes is None and quoted.unit == "iops" and rate.record_bytes != 4096:
        yield f"quoted without a record size, measured at {format_bytes(rate.record_bytes)}"
    if quoted.depth is not None and quoted.depth != rate.depth:
        yield f"quoted at depth {quoted.depth}, measured at {rate.depth}"
    if quoted.span_bytes is not None and rate.span_bytes > quoted.span_bytes:
        yield f"quoted within {format_bytes(quoted.span_bytes)}, measured within {format_bytes(rate.span_bytes)}"
    if quoted.content is not None and rate.content and quoted.content != rate.content:
        yield f"quoted for {quoted.content} data, measured with {rate.content}"
