"""Per-arm summaries: pooled throughput (total bytes / total time) and the standard error of each run's mean.

Applies `judge.summary.total_work_rate` and `judge.within_run` to the journal. Runs with fewer than
twenty intervals have no effective sample size.
"""

from __future__ import annotations

from statistics import median

import msgspec

from mileage.analysis.planned_comparison import arm_name, compares_cells, places
from mileage.judge.summary import total_work_rate
from mileage.judge.within_run import BATCHES_MIN, WithinRun, within_run
from mileage.model.journal_entries import Run
from mileage.model.run_record import RunRecord
from mileage.plan import Plan
from mileage.store.tables import each_test


class RunVariation(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one cell in one arm. Bytes and operations are all that were moved; per second of elapsed time.

    `intervals` and `intervals_effective` are medians over the runs: how many intervals a run has, and how many
    independent ones they are worth. `half_width_percent` is the median half width of the 95 % interval of a run's own
    mean, from batch means, in percent of it. None: not known.
    """

    cell: str
    arm: str
    bytes_per_s: float
    operations_per_s: float
    intervals: float
    intervals_effective: float | None
    half_width_percent: float | None


class RunSums(msgspec.Struct, frozen=True):
    """The part of a run that is reported here: a study may have tens of thousands, with series and histograms."""

    elapsed_s: float
    bytes_moved: int
    operations: int
    transfers: int
    """Reads and writes."""
    counters: dict[str, int]
    """Counters that are not zero."""
    intervals: int
    within: WithinRun | None
    """Precision of the run's mean, from its intervals; None where there are too few intervals."""

    @classmethod
    def of(cls, record: RunRecord) -> RunSums:
        """Take it from a record."""
        rates = record.series.array("ops").tolist()
        return cls(
            elapsed_s=record.elapsed_s,
            bytes_moved=record.bytes_moved,
            operations=record.operations,
            transfers=record.ops_read + record.ops_written,
            counters={name: value for name, value in record.counters.items() if value},
            intervals=len(rates),
            within=within_run(rates) if len(rates) >= BATCHES_MIN else None,
        )


class Arms:
    """Run records of the measured runs, grouped by test and compared arm; those of the idle control are excluded."""

    def __init__(self, plan: Plan) -> None:
        """Begin without any run."""
        self.found: dict[tuple[str, str], list[RunSums]] = {}
        self._places = places(plan) if compares_cells(plan) else {}
        self._stage = plan.study.measuring_stages[-1] if self._places else ""
        self._plan = plan

    def add(self, entry: Run) -> None:
        """Take a run."""
        if entry.role != "measure" or entry.arm != "torture" or (self._places and entry.stage != self._stage):
            return
        for one in each_test(entry):
            side, cell = self._places.get(one.cell, (entry.stage, one.cell))
            if side:
                self.found.setdefault((cell, arm_name(self._plan, side)), []).append(RunSums.of(one.record))


def inside(arms: Arms) -> list[RunVariation]:
    """One entry per cell and arm of the planned comparison, in the order of the runs; without the sham arm."""
    return [_of(cell, arm, records) for (cell, arm), records in arms.found.items()]


def _of(cell: str, arm: str, runs: list[RunSums]) -> RunVariation:
    times_s = [run.elapsed_s for run in runs]
    variations = [run.within for run in runs if run.within is not None]
    widths = [
        run.half_width / run.mean * 100 for run in variations if run.half_width is not None and run.mean > 0
    ]
    lasting = sum(times_s) > 0
    return RunVariation(
        cell=cell,
        arm=arm,
        bytes_per_s=total_work_rate([run.bytes_moved for run in runs], times_s) if lasting else 0.0,
        operations_per_s=total_work_rate([run.operations for run in runs], times_s) if lasting else 0.0,
        intervals=median(run.intervals for run in runs),
        intervals_effective=median(run.n_eff for run in variations) if variations else None,
        half_width_percent=median(widths) if widths else None,
    )
