"""Calibration of run length: the operation count of a cell is found once, then kept for the whole study.

Scope: a factor for each cell. The first run of a cell is tried with the planned count, then with larger
counts, until it lasts as long as the study asks for; the last trial is the run itself. The journal records the trials
before the run. Resume on a virtual drive repeats them, so that the drive reaches the same state.
What it refuses: endless trials. Where a larger count does not last longer, the count stays and a note is printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import msgspec

from mileage.model.journal_entries import LengthFactor
from mileage.model.run_record import RunRecord
from mileage.plan import Plan, PlannedRun
from mileage.plan.sizes import parse_time_ns
from mileage.store import Journal
from mileage.store.journal import JournalContent

GROWTH_MAX: Final = 64
"""A trial does at most this many times as much as the one before: the first may have been too short to measure."""
FACTOR_MAX: Final = 1 << 24
SETTLED_NS: Final = 10_000_000
STUCK: Final = 1.05
"""A trial of 10 ms or more is followed by one of twice the count at least; it lasts longer than this, or never will."""
MARGIN: Final = 1.1
"""Factor by which a calibrated run aims beyond its minimum duration, since the next run may be faster."""

Do = Callable[[PlannedRun], RunRecord]


class Calibration:
    """The factors of a study, by cell. Its cycles follow each other, so that the first one decides."""

    def __init__(
        self, plan: Plan, journal: Journal, content: JournalContent, print_line: Callable[[str], None]
    ) -> None:
        """Read what was found before."""
        self._journal = journal
        self._print_line = print_line
        self._least_ns = {
            cell.unit: parse_time_ns(stop.at_least)
            for cell in plan.cells
            if (stop := plan.study.measure[cell.table].stop) is not None and stop.at_least is not None
        }
        self._factors: dict[str, int] = {}
        self._trials: dict[int, list[int]] = {}
        for entry in content.of_kind(LengthFactor):
            self._factors[entry.cell] = entry.factor
            self._trials[entry.run] = entry.trials

    def perform(self, run: PlannedRun, do: Do, *, again: bool) -> RunRecord:
        """Do a run with its cell's count, which is found if it was not yet, and return its record.

        `again`: what was tried before this run is tried again, for the state that it leaves.
        """
        least_ns = self._least_ns.get(run.cell) if run.role == "measure" else None
        if least_ns is None:
            return do(run)
        factor = self._factors.get(run.cell)
        if factor is not None:
            for tried in self._trials.get(run.index, []) if again else []:
                do(scaled(run, tried))
            return do(scaled(run, factor))
        return self._find(run, least_ns, do)

    def _find(self, run: PlannedRun, least_ns: int, do: Do) -> RunRecord:
        factor, trials, before_ns = 1, [], 0
        while True:
            record = do(scaled(run, factor))
            lasted_ns = record.elapsed_ns
            # If more work takes no longer, something else ends the run, such as the span or a time limit: stop trying.
            stuck = before_ns > SETTLED_NS and lasted_ns < STUCK * before_ns
            if lasted_ns >= least_ns or factor >= FACTOR_MAX or stuck:
                break
            trials.append(factor)
            before_ns = lasted_ns
            growth = math.ceil(least_ns * MARGIN / max(lasted_ns, 1))
            factor *= min(max(growth, 2), GROWTH_MAX)
        reached = lasted_ns >= least_ns
        self._journal.append(
            LengthFactor(
                cell=run.cell,
                run=run.index,
                factor=factor,
                trials=trials,
                elapsed_ns=lasted_ns,
                reached=reached,
            )
        )
        self._factors[run.cell] = factor
        self._trials[run.index] = trials
        shortfall = "" if reached else f"; {least_ns / 1e9:g} s were not reached"
        self._print_line(
            f"{run.cell}: {factor} times its count lasts {lasted_ns / 1e9:.3g} s{shortfall}; kept for all runs"
        )
        return record


def scaled(run: PlannedRun, factor: int) -> PlannedRun:
    """The run with its count multiplied by the factor; a time limit stays."""
    if factor == 1:
        return run
    if run.workload is not None:
        stop = run.workload.stop
        more = msgspec.structs.replace(
            stop,
            bytes=None if stop.bytes is None else stop.bytes * factor,
            operations=None if stop.operations is None else stop.operations * factor,
        )
        return msgspec.structs.replace(run, workload=msgspec.structs.replace(run.workload, stop=more))
    if run.job is not None:
        return msgspec.structs.replace(run, job=run.job.scaled(factor))
    return run
