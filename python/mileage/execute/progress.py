"""Interface for progress reports of `execute`: to a view on a terminal, to a log, or nowhere."""

from __future__ import annotations

from collections.abc import Mapping

from mileage.model.run_record import RunRecord, TestResult
from mileage.plan import Plan, PlannedRun


class Progress:
    """What execute reports while it works; called from several threads. A subclass reports what it overrides."""

    def start(self, plan: Plan, spent_s: Mapping[int, float], lanes: int) -> None:
        """The study starts or resumes, `lanes` cycles at a time; `spent_s` has the seconds of the runs done before."""

    def stage(self, text: str) -> None:
        """A stage begins."""

    def run(self, run: PlannedRun) -> None:
        """A run begins."""

    def advance(self, byte_count: int) -> None:
        """`byte_count` more bytes are done; 0 when only time has passed."""

    def tested(self, run: PlannedRun, result: TestResult) -> None:
        """One test of a set of tests is done, before the run is."""

    def finished(self, run: PlannedRun, record: RunRecord) -> None:
        """A run is done and journalled, with this record."""

    def note(self, text: str) -> None:
        """Something that the user must know."""


class Silent(Progress):
    """Reports nothing."""


def stage_text(run: PlannedRun, cycles: int) -> str:
    """`cycle 2/3 torture`, and "(idle control)" in the control arm."""
    arm = " (idle control)" if run.arm == "sham" else ""
    return f"cycle {run.cycle}/{cycles} {run.stage}{arm}"
