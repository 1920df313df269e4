"""Calibration of run length: the operation count of a cell is found once, then kept for the whole study.

Scope: a factor for each cell. The first run of a cell is tried with the planned count, then with larger
counts, until it lasts as long as the study asks for; the last trial is the run itself. Cells of work on names
(`metarates.*`, `mdtest.*`, `metadata.*`) of one table share a factor, because rates of different numbers of files are
not comparable: the trials are runs of the cell with most tasks. The journal records the trials
before the run. Resume on a virtual drive repeats them, so that the drive reaches the same state.
What it refuses: endless trials, and files beyond the free space of the target. Where a larger count does not last
longer or has no room, the count stays and a note is printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from mileage.model.journal_entries import LengthFactor
from mileage.model.run_record import RunRecord
from mileage.plan import Plan, PlannedRun
from mileage.plan.planned_runs import new_files, occupied_bytes
from mileage.plan.run_length import scaled_workload, shared_units
from mileage.plan.sizes import counted, parse_time_ns
from mileage.store import Journal
from mileage.store.journal import JournalContent

GROWTH_MAX: Final = 64
"""A trial does at most this many times as much as the one before: the first may have been too short to measure."""
FACTOR_MAX: Final = 1 << 24
SETTLED_NS: Final = 10_000_000
STUCK: Final = 1.05
"""A trial of 10 ms or more is followed by one of twice the count at least; it lasts longer than this, or never will."""
STUCK_TRIALS: Final = 2
"""Trials in a row that last no longer, after which no larger count is tried."""
MARGIN: Final = 1.1
"""Factor by which a calibrated run aims beyond its minimum duration, since the next run may be faster."""

Do = Callable[[PlannedRun], RunRecord]


class _Found(NamedTuple):
    """Result of the trials."""

    factor: int
    trials: list[int]
    """Factors that lasted too short, in order."""
    record: RunRecord
    """The record of the last trial, which had `factor`."""
    reached: bool


class Calibration:
    """The factors of a study, by cell. Its cycles follow each other, so that the first one decides."""

    def __init__(
        self, plan: Plan, journal: Journal, content: JournalContent, print_line: Callable[[str], None]
    ) -> None:
        """Read what was found before."""
        self._plan = plan
        self._journal = journal
        self._print_line = print_line
        self._least_ns = {
            cell.unit: parse_time_ns(stop.at_least)
            for cell in plan.cells
            if (stop := plan.study.measure[cell.table].stop) is not None and stop.at_least is not None
        }
        self._shares = shared_units(plan)
        self._tasks = {cell.unit: cell.key.threads or 1 for cell in plan.cells}
        self._factors: dict[object, int] = {}
        """By cell, or by what several cells share."""
        self._trials: dict[int, list[int]] = {}
        for entry in content.of_kind(LengthFactor):
            self._factors[self._holder(entry.cell) if entry.shared else entry.cell] = entry.factor
            self._trials[entry.run] = entry.trials

    def _holder(self, cell: str) -> object:
        return self._shares.get(cell, cell)

    def perform(self, run: PlannedRun, do: Do, *, again: bool) -> RunRecord:
        """Do a run with its cell's count, which is found if it was not yet, and return its record.

        `again`: what was tried before this run is tried again, for the state that it leaves.
        """
        least_ns = self._least_ns.get(run.cell) if run.role == "measure" else None
        if least_ns is None:
            return do(run)
        factor = self._factors.get(run.cell, self._factors.get(self._holder(run.cell)))
        if factor is not None:
            for trial in self._trials.get(run.index, []) if again else []:
                do(scaled(self._tried(run), trial))
            return do(scaled(run, factor))
        tried = self._tried(run)
        largest = self._largest_factor(tried)
        found = _find(tried, least_ns, largest, do)
        is_run = tried.index == run.index
        kept = found if is_run else found._replace(trials=[*found.trials, found.factor])
        self._keep(run, tried, kept, full=found.factor >= largest)
        return found.record if is_run else do(scaled(run, found.factor))

    def _tried(self, run: PlannedRun) -> PlannedRun:
        """The run with which the count is found: of cells that share it, one with most tasks next to the run."""
        if run.cell not in self._shares:
            return run
        holder, target = self._holder(run.cell), self._plan.setting_of(run).instance
        place = (run.role, run.part, run.cycle, run.arm, run.stage, run.block)
        others = (
            other
            for other in self._plan.runs
            if (other.role, other.part, other.cycle, other.arm, other.stage, other.block) == place
            and self._holder(other.cell) == holder
            and self._plan.setting_of(other).instance == target
        )
        # Among those with as many tasks take the run itself, because its last trial is then the run.
        return max(others, key=lambda other: (self._tasks[other.cell], other.index == run.index))

    def _largest_factor(self, run: PlannedRun) -> int:
        """The largest factor whose files have room on the run's target, as the plan found it; at least 1."""
        if run.job is None:
            return FACTOR_MAX
        setting, largest = self._plan.setting_of(run), FACTOR_MAX
        facts, runs = self._plan.facts_of(setting), self._plan.runs
        if own := run.job.allocated_bytes(facts.file_block_bytes):
            taken = occupied_bytes(self._plan.area_bytes(setting), runs, facts.file_block_bytes)
            largest = min(largest, (facts.free_bytes - taken + own) // own)
        if facts.free_files is not None and (files := run.job.files):
            largest = min(largest, (facts.free_files - new_files(runs) + files) // files)
        return max(1, largest)

    def _keep(self, run: PlannedRun, tried: PlannedRun, found: _Found, *, full: bool) -> None:
        """Journal and print what was found with the run `tried`, before `run`. `full`: more files have no room."""
        shared, lasted_ns = run.cell in self._shares, found.record.elapsed_ns
        self._journal.append(
            LengthFactor(
                cell=tried.cell,
                run=run.index,
                factor=found.factor,
                trials=found.trials,
                elapsed_ns=lasted_ns,
                reached=found.reached,
                shared=shared,
            )
        )
        self._factors[self._holder(run.cell) if shared else run.cell] = found.factor
        self._trials[run.index] = found.trials
        least_ns = self._least_ns[run.cell]
        why = ", because more files have no room on the target" if full else ""
        shortfall = "" if found.reached else f"; {least_ns / 1e9:g} s were not reached{why}"
        what = f"{found.factor} times its count lasts"
        kept = "kept for all runs"
        if shared and tried.job is not None:
            tasks = counted(self._tasks[tried.cell], "task")
            what = f"{tried.job.scaled(found.factor).files:,} files with {tasks} last"
            kept = "kept for all runs, numbers of tasks and levels"
        self._print_line(f"{tried.cell}: {what} {lasted_ns / 1e9:.3g} s{shortfall}; {kept}")


def _find(run: PlannedRun, least_ns: int, largest: int, do: Do) -> _Found:
    """Try a run with larger and larger counts, up to `largest`, until it lasts long enough, or never will."""
    factor, before_ns, stuck = 1, 0, 0
    trials: list[int] = []
    while True:
        record = do(scaled(run, factor))
        lasted_ns = record.elapsed_ns
        # If more work takes no longer, something else ends the run, such as the span or a time limit: stop trying. Once
        # may be a disturbance of the trial before, which took longer than its work.
        stuck = stuck + 1 if before_ns > SETTLED_NS and lasted_ns < STUCK * before_ns else 0
        if lasted_ns >= least_ns or factor >= largest or stuck >= STUCK_TRIALS:
            return _Found(factor, trials, record, lasted_ns >= least_ns)
        trials.append(factor)
        before_ns = lasted_ns
        growth = math.ceil(least_ns * MARGIN / max(lasted_ns, 1))
        factor = min(factor * min(max(growth, 2), GROWTH_MAX), largest)


def scaled(run: PlannedRun, factor: int) -> PlannedRun:
    """The run with its count multiplied by the factor; a time limit stays."""
    if factor == 1:
        return run
    if run.workload is not None:
        return msgspec.structs.replace(run, workload=scaled_workload(run.workload, factor))
    if run.job is not None:
        return msgspec.structs.replace(run, job=run.job.scaled(factor))
    return run
