"""Failure of the device: the arm ends as "did not finish" (DNF), which is a result.

Scope: errors that belong to the device, not to the machine or the user: medium errors, time-outs, a drive
that dropped off the bus, that turned read-only, or that is worn out.
What it refuses: to call a full disk, a vanished directory or wrong data a DNF; those stop the study as before.
"""

from __future__ import annotations

from typing import Final

from mileage.errors import Interrupted, RunFailed
from mileage.model.journal_entries import DidNotFinish, Run
from mileage.plan.sizes import format_bytes
from mileage.store.journal import JournalContent

DEVICE_CAUSES: Final = frozenset(
    {
        *("EIO", "EREMOTEIO", "ENODATA", "EILSEQ", "ETIMEDOUT"),
        *("ENODEV", "ENXIO", "ENOMEDIUM", "ENOLINK", "EROFS"),
    }
)
"""Kinds of failure of which the device itself is the cause."""

Arm = tuple[str, int, str]
"""Part, cycle and arm."""


def gave_up(failure: RunFailed) -> bool:
    """Whether an error means that the device itself failed."""
    return not isinstance(failure, Interrupted) and failure.cause in DEVICE_CAUSES


def unfinished_arms(content: JournalContent) -> dict[Arm, DidNotFinish]:
    """The arms that ended as DNF, with their lines of the journal."""
    return {_arm(entry): entry for entry in content.of_kind(DidNotFinish)}


def _arm(entry: Run) -> Arm:
    return entry.part, entry.cycle, entry.arm


def unfinished_lines(content: JournalContent) -> list[str]:
    """One line for each DNF: where it happened, what happened, and how much had been written."""
    lines = []
    for (part, cycle, arm), entry in unfinished_arms(content).items():
        done = [run for run in content.of_kind(Run) if _arm(run) == (part, cycle, arm)]
        written = sum(run.record.bytes_written for run in (*done, entry))
        lines.append(
            f"DNF: the {arm} arm of cycle {cycle} did not finish: {entry.message} (stage {entry.stage}, "
            f"{format_bytes(written)} after its start, {entry.left_out} runs skipped)"
        )
    return lines
