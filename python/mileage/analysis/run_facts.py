"""Facts of every run for the checks and vetoes, read in one pass: decoding the journal takes most of a report's time.

Scope: of each measured run how long it lasted, how many operations stand behind its percentiles, and the
facts that the audits of `judge` look at; what disturbed it; and how the last torture of each cycle went.
A journal without runs has no facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from mileage.analysis.drive_state import Beginnings, DriveState
from mileage.analysis.steady_state_checks import Courses
from mileage.analysis.unwritten_reads import UnwrittenReads
from mileage.execute.machine_monitor import BACKING_READ, GROUP
from mileage.judge.audit import RunFacts
from mileage.judge.comparison import CutLoss
from mileage.judge.samples import SHAM
from mileage.model.journal_entries import Run
from mileage.model.metrics import QUANTILES, MetricWord
from mileage.plan import Plan
from mileage.plan.workload import Workload
from mileage.store.tables import each_test


@dataclass(frozen=True)
class RunReading:
    """Data collected from one run that was measured, of its place in the study and for each of its tests."""

    cell: str
    stage: str
    arm: str
    block: int
    watch: dict[str, int]
    """What disturbed it."""
    facts: RunFacts | None
    """Inputs of the audits, where it has a workload."""
    lasted_s: tuple[tuple[float, str], ...]
    """Seconds of each test, with its cell."""
    counts: tuple[tuple[MetricWord, int, str], ...]
    """Operations behind each quantile that a test is judged by, with its cell."""
    unwritten_share: float = 0.0
    """Share of what it read that nothing had written, on virtual flash."""
    began: DriveState | None = None
    """The state of the target before it."""
    cut_loss: CutLoss | None = None
    """What a power cut after it lost."""

    def tests(self) -> set[str]:
        """The cells that it measured."""
        return {self.cell, *(cell for _, cell in self.lasted_s)}


@dataclass
class JournalReading:
    """Data collected from the journal of a study's runs."""

    runs: int = 0
    each: list[RunReading] = field(default_factory=list)
    """The measured runs."""
    watched: list[tuple[str, dict[str, int]]] = field(default_factory=list)
    """The disturbances of every run, measured or not, with its cell."""
    courses: Courses = field(default_factory=Courses)
    """Rate over time of the measured runs that write."""
    written: dict[int, list[int]] = field(default_factory=dict)
    """Bytes written in each interval of the last torture of every cycle."""

    @property
    def lasted_s(self) -> list[tuple[float, str]]:
        """Seconds of every measured test, with its cell."""
        return [one for run in self.each for one in run.lasted_s]

    @property
    def counts(self) -> list[tuple[MetricWord, int, str]]:
        """Operations behind every quantile that a test is judged by, with its cell."""
        return [one for run in self.each for one in run.counts]

    @property
    def facts(self) -> list[RunFacts]:
        """Inputs of the audits, for every measured run that has a workload."""
        return [run.facts for run in self.each if run.facts is not None]

    def of(self, cells: Collection[str], stages: Collection[str]) -> list[RunReading]:
        """The measured runs of these cells in these stages, without those of the idle control."""
        return [
            run
            for run in self.each
            if run.stage in stages
            and run.arm != SHAM
            and (run.cell in cells or any(cell in cells for _, cell in run.lasted_s))
        ]


class FactCollector:
    """Runs being looked at: `found` is what was read of those that were added."""

    def __init__(self, plan: Plan) -> None:
        """Begin without any entry."""
        self.found = JournalReading()
        self._workloads = {run.index: run.workload for run in plan.runs}
        settings = plan.settings
        self._caches = {cell.label: settings[cell.setting].state.cache for cell in plan.cells if settings}
        self._cache = plan.study.state.cache
        self._unwritten = UnwrittenReads(plan)
        self._beginnings = Beginnings(plan)

    def add(self, entry: Run) -> None:
        """Take a run."""
        found = self.found
        found.runs += 1
        began = self._beginnings.take(entry)
        cell = entry.cell
        if entry.watch:
            found.watched.append((cell, entry.watch))
        if entry.role == "torture":
            found.written[entry.cycle] = entry.record.series.bytes_written
        if entry.role != "measure":
            return
        tests = each_test(entry)
        workload = self._workloads[entry.run]
        facts = None
        if workload is not None:
            found.courses.add(cell, entry.stage, entry.record, sham=entry.arm == SHAM)
            bypasses = self._caches.get(cell, self._cache) == "direct"
            facts = _facts(entry, workload, bypasses=bypasses)
        quantiles = [QUANTILES[word] for word in entry.metrics if word in QUANTILES]
        found.each.append(
            RunReading(
                cell=cell,
                stage=entry.stage,
                arm=entry.arm,
                block=entry.block,
                watch=entry.watch,
                facts=facts,
                lasted_s=tuple((one.record.elapsed_s, one.cell) for one in tests),
                counts=tuple(
                    (row.word, one.record.latencies_for(row).count, one.cell)
                    for one in tests
                    for row in quantiles
                ),
                unwritten_share=self._unwritten.share(entry),
                began=began,
                cut_loss=_cut_loss(entry.record.counters),
            )
        )


def _cut_loss(counters: Mapping[str, int]) -> CutLoss | None:
    lost = counters.get("power_cut_writes_lost")
    return None if lost is None else CutLoss(1, lost, counters.get("power_cut_writes_synced"))


def _facts(entry: Run, workload: Workload, *, bypasses: bool) -> RunFacts:
    record, watch, due = entry.record, entry.watch, workload.load.open
    device = record.usage.device
    # A thread that waits for a sync between its writes has nothing else outstanding: all its places wait with it.
    synced_ns = record.latency_of("sync").sum_ns * workload.depth if workload.sync_every else 0
    moved = [watch[key] for key in ("device_read_bytes", "device_written_bytes") if key in watch]
    if device:
        moved = [device["read_bytes"], device["write_bytes"]]
    return RunFacts(
        cell=entry.cell,
        bypasses=bypasses,
        latency_sum_ns=record.latency_of("read", "write").sum_ns + synced_ns,
        elapsed_ns=record.durable_ns if synced_ns else record.submit_ns,
        outstanding=workload.depth * workload.threads,
        offered_per_s=None if due is None or due.ramp is not None else float(due.operations_per_s),
        operations=record.ops_read + record.ops_written + record.ops_discarded,
        bytes_read=record.bytes_read,
        bytes_written=record.bytes_written,
        fetched_bytes=sum(thread.read_bytes for thread in record.audit) if record.audit else None,
        backing_read_bytes=watch.get(BACKING_READ),
        device_bytes=sum(moved) if moved else None,
        group_limits={
            key.removeprefix(GROUP): limit for key, limit in watch.items() if key.startswith(GROUP)
        },
    )
