"""Measured figures of each cell of a study, over all its runs, with their units.

Scope: rates run by run; latencies of all runs of a cell together, since their histograms merge exactly; what
the runs cost the machine and what limited them.
What it refuses: judging. A cell without a finished run is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mileage.model.histogram import Histogram
from mileage.model.journal_entries import DidNotFinish, FailedRun, Run
from mileage.model.operation_kind import LATENCY_KINDS, UNFINISHED
from mileage.model.run_record import RunRecord, summed
from mileage.plan import Cell, Plan
from mileage.plan.commit_setting import CommitSetting, commit_setting
from mileage.plan.quantiles import quantile_is_supported
from mileage.store.journal import Entries, JournalContent
from mileage.store.tables import each_test

SHARES: Final = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p99_9_ns": 0.999}
"""The share of operations at or below each quantile of a `Latency`."""


class Latency(msgspec.Struct, frozen=True):
    """Latencies of one kind of operation, in nanoseconds; quantiles by nearest rank, within the histogram's error.

    None: a quantile that too few operations lie beyond.
    """

    count: int
    mean_ns: float
    min_ns: int
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p99_9_ns: int | None
    max_ns: int
    unfinished: int = 0
    """Syncs or commits among these that failed or were given up, those of failed runs included.

    Each counts with what it had taken by then.
    """
    at_least: tuple[str, ...] = ()
    """The fields above that an unfinished one may have made too small: its value is the least that it can be."""


class MeasuredCell(msgspec.Struct, frozen=True):
    """Measured rate, IOPS and latency of one test in one stage, over all its runs."""

    stage: str
    cell: str
    runs: int
    elapsed_s: tuple[float, ...]
    """Time of each run, in the order in which they were done."""
    rate_bytes_per_s: tuple[float, ...]
    """Bytes read and written over elapsed time, of each run."""
    ops_per_s: tuple[float, ...]
    """Operations of every kind over elapsed time, of each run."""
    bytes_read: int
    bytes_written: int
    bytes_discarded: int
    ops_read: int
    ops_written: int
    ops_discarded: int
    ops_metadata: int
    warm_up_ops: int
    """Operations of the warm-ups of all runs, which no other figure has; their course is the table `warm_up`."""
    warm_up_bytes: int
    """Bytes that they read and wrote."""
    latency: dict[str, Latency]
    """Latencies by kind of operation: `read`, `write`, `sync`, `discard`, `metadata`.

    `all` of these but syncs together; and `response`, counted from the time when an operation was due. A kind that did
    not occur is missing.
    """
    per_second_bytes: tuple[float, float] | None
    """The slowest and the fastest second of all runs, in bytes per second; None when no run lasted three."""
    cpu_ns_per_op: float | None
    """Processor time of the workers and of the kernel's helpers per operation; None in virtual time."""
    cpu_cores: float | None
    """Processors that were busy on average; None in virtual time."""
    overhead_ns_per_op: float | None
    """The engine's own cost of an operation on a target that does nothing; None when not known."""
    fill_ns_per_write: float | None
    """Time of generating what was written, per write; None when nothing was generated.

    It lies outside latencies, but for one buffer of a ring past the page cache: one that was being filled when an
    operation completed.
    """
    verify_ns_per_compared: float | None
    """Time of comparing a read with what was written; outside latencies. None when nothing was compared."""
    ops_compared: int
    """Reads that were compared with what was written, and equal."""
    saved_percent: dict[str, float]
    """Percentage that each compressor saves on 4 KiB pieces of the written data; empty when not known."""
    duplicate_percent: float | None
    """4 KiB blocks of what was written that another one equals; None when not known."""
    limited_by: tuple[str, ...]
    """Limits of the runs' rate, each word once."""
    device: dict[str, int]
    """Counters of the device during the runs (`reads`, `read_bytes`, `busy_ms` ...), summed over the runs.

    They include the I/O of other programs; empty where the device has none.
    """
    memory_percent: tuple[float, ...]
    """Share of each run's reads that memory served, because the device received no request for it.

    Somebody else's reads of the device make it too small, readahead that was in vain too; empty where the device has no
    counters, or nothing was read.
    """
    notes: tuple[str, ...]
    """Notes that a reader needs next to the figures, each sentence once."""
    clock: str
    """Clock that timed the runs; empty in virtual time."""
    counters: dict[str, int]
    """Counters that explain the result, summed over the runs."""
    first_done_bytes_per_s: tuple[float, ...]
    """With several threads: the rate until the first was done, of each run."""
    failed: int = 0
    """Planned runs without a rate, since they failed and were not repeated."""
    commit_setting: CommitSetting | None = None
    """The conditions of the commits, where there are some and the plan is known."""


def measured_cells(content: JournalContent, plan: Plan | None = None) -> list[MeasuredCell]:
    """Every measured cell of every stage of the torture arm, in the order in which they were first done.

    Failed runs are counted where the `plan` is given, which has the cell of each.
    """
    failed = Counter() if plan is None else _failed(plan, content)
    ended = _failed_records(plan, content)
    planned = {} if plan is None else {cell.label: cell for cell in plan.cells}
    found = [
        _cell(stage, cell, records, failed[stage, unit], ended.get((stage, cell), []))
        for (stage, unit), runs in _by_unit(content)
        for cell, records in _by_test(runs).items()
    ]
    return [_with_commit_setting(one, plan, planned.get(one.cell)) for one in found]


def _with_commit_setting(measured: MeasuredCell, plan: Plan | None, cell: Cell | None) -> MeasuredCell:
    """The same with the conditions of its commits, where there are some and its plan is known."""
    commit = measured.latency.get("commit")
    ended = 0 if commit is None else commit.count - commit.unfinished
    if plan is None or cell is None or not ended:
        return measured
    setting = commit_setting(plan, cell, measured.ops_written / ended)
    return msgspec.structs.replace(measured, commit_setting=setting)


def _failed_records(plan: Plan | None, content: JournalContent) -> dict[tuple[str, str], list[RunRecord]]:
    """The records of measured runs that failed and were not repeated, by stage and cell."""
    found: dict[tuple[str, str], list[RunRecord]] = {}
    for dnf in content.of_kind(DidNotFinish):
        if dnf.role == "measure" and dnf.arm == "torture":
            found.setdefault((dnf.stage, dnf.cell), []).append(dnf.record)
    lost = {entry.run: entry.record for entry in content.of_kind(FailedRun) if entry.record is not None}
    if plan is not None and lost:
        done = {entry.run for entry in content.runs()}
        for run in plan.runs:
            if run.index in lost and run.index not in done and (run.role, run.arm) == ("measure", "torture"):
                found.setdefault((run.stage, run.cell), []).append(lost[run.index])
    return found


def _failed(plan: Plan, content: JournalContent) -> Counter[tuple[str, str]]:
    """Planned runs of each stage and unit that failed and were not repeated."""
    lost = {entry.run for entry in content.of_kind(FailedRun)}
    lost = lost.difference(entry.run for entry in content.runs()) if lost else lost
    planned = {run.index: run for run in plan.runs} if lost else {}
    runs = [planned[index] for index in lost if index in planned]
    return Counter((run.stage, run.cell) for run in runs if run.role == "measure" and run.arm == "torture")


def _by_unit(content: JournalContent) -> list[tuple[tuple[str, str], Sequence[Run]]]:
    """The measured runs of each stage and unit (a cell, or a set of tests), in order."""
    runs = content.runs()
    if isinstance(runs, Entries):
        wanted = runs.where(lambda head: head.role == "measure" and head.arm == "torture")
        return list(wanted.grouped(lambda head: (head.stage, head.cell)).items())
    found: dict[tuple[str, str], list[Run]] = {}
    for entry in runs:
        if entry.role == "measure" and entry.arm == "torture":
            found.setdefault((entry.stage, entry.cell), []).append(entry)
    return list(found.items())


def _by_test(runs: Sequence[Run]) -> dict[str, list[RunRecord]]:
    """The records of each test of a set of tests; of a cell, its own."""
    found: dict[str, list[RunRecord]] = {}
    for entry in runs:
        for one in each_test(entry):
            found.setdefault(one.cell, []).append(one.record)
    return found


def _cell(
    stage: str, cell: str, records: list[RunRecord], failed: int, ended: list[RunRecord]
) -> MeasuredCell:
    whole = RunRecord.merge(records)
    warm_ups = [record.warm_up for record in records if record.warm_up is not None]
    timed = [record for record in records if record.elapsed_ns > 0]
    usages = [record.usage for record in records if record.usage.clock]
    cpu_ns = sum(usage.cpu_ns for usage in usages)
    overheads = [usage.overhead_ps / 1000 for usage in usages if usage.overhead_ps]
    return MeasuredCell(
        stage=stage,
        cell=cell,
        runs=len(records),
        elapsed_s=tuple(record.elapsed_s for record in records),
        rate_bytes_per_s=tuple(record.rate_bytes_per_s for record in timed),
        ops_per_s=tuple(record.ops_per_s for record in timed),
        **{name: getattr(whole, name) for name in _TOTALS},
        warm_up_ops=sum(sum(series.ops) for series in warm_ups),
        warm_up_bytes=sum(sum(series.bytes_moved) for series in warm_ups),
        latency=_latencies(whole, ended),
        per_second_bytes=_per_second(records),
        cpu_ns_per_op=cpu_ns / whole.operations if cpu_ns and whole.operations else None,
        cpu_cores=cpu_ns / whole.elapsed_ns if cpu_ns and whole.elapsed_ns else None,
        overhead_ns_per_op=sum(overheads) / len(overheads) if overheads else None,
        **_data(records),
        limited_by=tuple(dict.fromkeys(usage.limited_by for usage in usages if usage.limited_by)),
        clock=next((usage.clock for usage in usages), ""),
        device=summed(usage.device for usage in usages),
        memory_percent=_from_memory(records),
        notes=tuple(whole.notes),
        counters=whole.counters,
        first_done_bytes_per_s=tuple(
            found.first_done_bytes * 1e9 / found.first_done_ns
            for record in records
            if (found := record.concurrency) is not None and found.first_done_ns
        ),
        failed=failed + len(records) - len(timed),
    )


_TOTALS = (
    *("bytes_read", "bytes_written", "bytes_discarded", "ops_compared"),
    *("ops_read", "ops_written", "ops_discarded", "ops_metadata"),
)


def _from_memory(records: list[RunRecord]) -> tuple[float, ...]:
    """The share of the bytes read by each run that the device did not read meanwhile, 0 to 100 percent."""
    return tuple(
        100 * max(0.0, 1 - record.usage.device["read_bytes"] / record.bytes_read)
        for record in records
        if "read_bytes" in record.usage.device and record.bytes_read
    )


def _data(records: list[RunRecord]) -> dict[str, Any]:
    """Processor cost and content of the data."""
    fill_ns = sum(record.usage.fill_ns for record in records)
    verify_ns = sum(record.usage.verify_ns for record in records)
    writes = sum(record.ops_written for record in records)
    compared = sum(record.ops_compared for record in records)
    samples = [record.content for record in records if record.content is not None]
    packed = [found.packed[0] for found in samples if found.packed]
    sampled = sum(found.sample_bytes for found in samples if found.packed)
    blocks = sum(found.blocks for found in samples)
    return {
        "fill_ns_per_write": fill_ns / writes if fill_ns and writes else None,
        "verify_ns_per_compared": verify_ns / compared if verify_ns and compared else None,
        "saved_percent": {
            name: 100 * (1 - sum(getattr(found, f"{name}_bytes") for found in packed) / sampled)
            for name in ("zlib", "zstd", "lz4")
            if sampled
        },
        "duplicate_percent": 100 * (1 - sum(found.blocks_distinct for found in samples) / blocks)
        if blocks
        else None,
    }


_KINDS: Final = tuple(kind for kind in (*LATENCY_KINDS, "response") if not kind.startswith(UNFINISHED))


def _latencies(whole: RunRecord, ended: Sequence[RunRecord]) -> dict[str, Latency]:
    """The latencies of the runs together; with what never ended in them, and in those that failed (`ended`)."""
    found = {"all": whole.service, **{kind: whole.latency_of(kind) for kind in _KINDS}}
    unfinished = {
        kind: Histogram.merge(record.latency_of(f"{UNFINISHED}{kind}") for record in (whole, *ended))
        for kind in found
    }
    return {
        name: _latency(histogram, unfinished[name]) for name, histogram in found.items() if histogram.count
    }


def _latency(finished: Histogram, unfinished: Histogram) -> Latency:
    """Latencies of one kind: an unfinished one is as long as it had lasted, and no quantile from there on is exact."""
    histogram = Histogram.merge((finished, unfinished)) if unfinished.count else finished
    quantiles = {
        name: histogram.quantile_ns(share) if quantile_is_supported(histogram.count, share) else None
        for name, share in SHARES.items()
    }
    least_ns = unfinished.quantile_ns(0.0) if unfinished.count else None
    known = {**quantiles, "max_ns": histogram.max_ns}
    return Latency(
        count=histogram.count,
        mean_ns=histogram.sum_ns / histogram.count,
        min_ns=histogram.min_ns,
        max_ns=histogram.max_ns,
        unfinished=unfinished.count,
        at_least=()
        if least_ns is None
        else (
            "mean_ns",
            *(name for name, value_ns in known.items() if value_ns is not None and value_ns >= least_ns),
        ),
        **quantiles,
    )


def _per_second(records: list[RunRecord]) -> tuple[float, float] | None:
    """The slowest and fastest whole second, without the last second of each run, which may be incomplete."""
    rates: list[float] = []
    for record in records:
        interval_ns, bytes_moved = record.series.interval_ns, record.series.bytes_moved
        whole = max(1, round(1e9 / interval_ns))
        if interval_ns > 1_500_000_000 or len(bytes_moved) < 3 * whole:
            continue
        seconds = range(0, len(bytes_moved) - whole, whole)
        rates += [sum(bytes_moved[at : at + whole]) * 1e9 / (whole * interval_ns) for at in seconds]
    return (min(rates), max(rates)) if rates else None


# The one figure by which a run is known while a study still runs: the first of its metrics.
# Scope: bytes or operations over elapsed time; writing that is not measured is known by its rate in bytes.
# What it refuses: percentiles, which need the histogram; a cell whose first metric is one is known by its operations.


def headline_of(entry: Run) -> dict[str, float]:
    """The main figure of each measured cell of a run, by the label of the cell; 0 for a run that took no time."""
    return {one.cell: _figure(one) for one in each_test(entry)}


def _figure(entry: Run) -> float:
    first = entry.metrics[0] if entry.metrics else "throughput"
    if first == "time":
        return entry.record.elapsed_s
    return entry.record.rate_bytes_per_s if first == "throughput" else entry.record.ops_per_s
