"""A kept history: a folder that holds nothing but studies of one target, one for each measurement.

Scope: each study is named by the time at which it began, in UTC, and has a seed that no other has, so that no two
repeat the same choices. A measurement that does not finish is not kept; one that was killed stays until it is resumed
or removed, and `mileage compare --history`, which reads the folder, skips it and says so.
Refuses: anything else in the folder, and studies of another target, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from mileage.app.result import load_plan
from mileage.errors import Interrupted, Refused
from mileage.plan import MeasurementRequest, Plan, Study
from mileage.plan.one_off_study import one_off
from mileage.store import StudyFolder
from mileage.store.safe_directory import Directory
from mileage.store.study_folder import is_study
from mileage.targets.door import make_directory, remove_empty_directory

_STAMP: Final = "%Y-%m-%dT%H-%M-%S"
_NAMES_MAX: Final = 10_000


def plans_in(history: Path) -> list[Plan]:
    """The plans of the studies of a history, in the order of their names; none where the folder does not exist.

    Raises:
        Refused: it is no folder, or has something in it that is not a study.
    """
    if not history.exists():
        return []
    if not history.is_dir() or is_study(history):
        raise Refused(
            f"--save {history}",
            "is a study" if is_study(history) else "is not a folder",
            advice="--append needs a folder of studies, or a new name",
            code="exists",
        )
    entries = sorted(history.iterdir())
    if foreign := [entry.name for entry in entries if not is_study(entry)]:
        raise Refused(
            f"--save {history}",
            f"holds {foreign[0]}, which is not a study",
            expected="nothing but studies of this target, or a new name",
            code="exists",
        )
    return [load_plan(StudyFolder.open(entry)) for entry in entries]


def next_plan(asked: MeasurementRequest, history: Path, planned: Callable[[Study], Plan]) -> Plan:
    """The plan of the next study of a history, by the function that plans a study.

    Its seed is the one asked for, or that above the largest of the history.

    Raises:
        Refused: as `plans_in`; a study of the history is of another target.
    """
    before = plans_in(history)
    seed = max([asked.seed, *(plan.study.seed + 1 for plan in before)])
    plan = planned(one_off(msgspec.structs.replace(asked, seed=seed)))
    for other in before:
        if not is_of(plan, other):
            found = other.target if other.imported is None else other.imported.words
            raise Refused(
                f"--save {history}",
                f"has a study of {found}",
                expected=f"studies of {plan.target}",
                advice="keep a history for each target",
                code="mismatch",
            )
    return plan


def is_of(plan: Plan, other: Plan) -> bool:
    """Whether another plan is of the same target: by its identity where both have one, else by its text."""
    ours, theirs = plan.facts.identity, other.facts.identity
    same = ours == theirs if ours and theirs else plan.target == other.target
    return same and other.imported is None


def new_place(history: Path, began: datetime) -> Path:
    """The folder of a study that began then; its name is that of its session where it is one of several.

    "2026-11-28T17-30-00", or "2026-11-28T17-30-00-2" for the second of one second.
    """
    name = began.strftime(_STAMP)
    names = (name, *(f"{name}-{number}" for number in range(2, _NAMES_MAX)))
    return next(place for one in names if not (place := history / one).exists())


@contextmanager
def kept_study(place: Path) -> Iterator[None]:
    """Make the folder of a study of a history, which is filled within the block; removed where an exception ends it.

    Raises:
        Refused: the folder cannot be made, or another process made it.
    """
    history = place.parent
    is_new = not history.exists()
    made: bool | None = None
    try:
        try:
            made = make_directory("--save", place, parents=True)
        except OSError as cause:
            raise Refused(
                f"--save {history}", f"cannot make a study folder: {cause.strerror}", code="unwritable"
            ) from cause
        if not made:
            raise Refused(place, "was made by another process", advice="measure again", code="exists")
        yield
    except BaseException as cause:
        if made:
            with suppress(OSError), Directory.open(history) as folder:
                folder.remove(place.name)
        elif made is None:
            # A signal came before it was known who made it.
            remove_empty_directory(str(place))
        if is_new:
            remove_empty_directory(str(history))
        if isinstance(cause, Interrupted):
            raise Interrupted("interrupted; the studies that were finished before are kept") from cause
        raise
