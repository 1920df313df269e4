"""What execute tells while it works, to whom that matters: a view on a terminal, a line of a log, nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from mileage.plan import Plan, PlannedRun


class Progress(Protocol):
    """What execute tells while it works; may be called from several threads."""

    def start(self, plan: Plan, spent_s: Mapping[int, float], lanes: int) -> None:
        """The study begins or goes on, so many cycles at a time; `spent_s` has the seconds of the runs done before."""

    def stage(self, text: str) -> None:
        """A stage begins."""

    def run(self, run: PlannedRun) -> None:
        """A run begins."""

    def advance(self, byte_count: int) -> None:
        """So many bytes more are done; 0 when only time went by."""

    def finished(self, run: PlannedRun, record: dict[str, Any]) -> None:
        """A run is done and journalled, with this record."""

    def note(self, text: str) -> None:
        """Something that the user must know."""


class Silent:
    """Tells nothing."""

    def start(self, plan: Plan, spent_s: Mapping[int, float], lanes: int) -> None:
        """Nothing."""

    def stage(self, text: str) -> None:
        """Nothing."""

    def run(self, run: PlannedRun) -> None:
        """Nothing."""

    def advance(self, byte_count: int) -> None:
        """Nothing."""

    def finished(self, run: PlannedRun, record: dict[str, Any]) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


def stage_text(run: PlannedRun, cycles: int) -> str:
    """`cycle 2/3 torture`, and the arm where it is the sham."""
    arm = " (sham)" if run.arm == "sham" else ""
    return f"cycle {run.cycle}/{cycles} {run.stage}{arm}"
