"""Temporary study folders of one-off measurements, and the clean-up after one whose process was killed.

Scope: a temporary directory with the study folder of a measurement that nobody asked to keep. Where its
process was killed, the plan in it says what Mileage put on the targets; that is removed as at the end of a measurement.
What it refuses: to touch what the guards of a target refuse, such as a work file that another study uses now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mileage.app.plan_execution import targets_of
from mileage.errors import Refused, RunFailed
from mileage.scratch import abandoned, remove_abandoned, scratch_directory
from mileage.store import StudyFolder
from mileage.targets.ledger import UndoResult

_ONE_OFF: Final = "mileage-one-off-"
_STUDY: Final = "study"


@contextmanager
def one_off_folder() -> Iterator[Path]:
    """Create the temporary study folder of a one-off measurement; it is removed on exit, also after an error."""
    clean_up_one_offs()
    with scratch_directory(prefix=_ONE_OFF) as place:
        yield place / _STUDY


def one_offs_left() -> list[Path]:
    """The folders of killed measurements."""
    return abandoned(prefix=_ONE_OFF)


def clean_up_one_offs() -> list[UndoResult]:
    """Remove what killed measurements left on their targets, and their folders."""
    done = []
    for place in one_offs_left():
        try:
            _clean_up(place / _STUDY)
        except RunFailed as failure:
            # Remove the folder even if the target fails: otherwise every later measurement would try the target again.
            done.append(
                UndoResult(f"the remains of a killed measurement were not removed: {failure}", failed=True)
            )
        else:
            done.append(UndoResult(f"removed the remains of a killed measurement ({place})"))
    remove_abandoned(prefix=_ONE_OFF)
    return done


def _clean_up(folder: Path) -> None:
    from mileage.app.result import load_plan

    try:
        resolved = load_plan(StudyFolder.open(folder))
    except Refused:
        # Without a plan nothing had been written to a target, so there is nothing to clean up.
        return
    for target in targets_of(resolved):
        target.cleanup()
