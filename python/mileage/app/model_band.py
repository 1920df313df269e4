"""The model band of a study on a virtual drive: its comparison on drives with one unpublished figure changed.

Scope: for each alternative that the profile declares, one cycle of the study on a drive that has it, with all
its cells in their order, so that nothing but the figure differs. The sham arm is not repeated: its change is that of
the study. Each is done in a folder of its own that is removed again; what came out is a line of the study's journal. An
interrupted band resumes at the first choice without a line.
What it refuses: targets that are no model, studies that compare nothing or drives with each other, profiles without
alternatives.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from mileage.app.plan_execution import check_built, do, facts_of_all
from mileage.errors import Interrupted, Refused, RunFailed
from mileage.execute.progress import Progress
from mileage.execute.signals import count_signals
from mileage.model.journal_entries import Choice, ChoiceRatio, End
from mileage.model.target_facts import FigureAlternative
from mileage.plan import Plan
from mileage.plan.resolver import resolve
from mileage.scratch import scratch_directory
from mileage.store import Journal, StudyFolder

if TYPE_CHECKING:
    from mileage.judge import Comparison

_LOOK_S = 5.0
"""Time between two looks at the variants, for a progress line while none ends."""
Choices = dict[FigureAlternative, "Plan | str"]
"""The plan of each choice, or why the drive cannot have it next to its other figures."""


def choice_plans(resolved: Plan, *, asked: bool | None) -> Choices:
    """The choices of a study; none for one without a band.

    `asked`: True and False as on the command line; None: as the study says, where it can have a band.

    Raises:
        Refused: a band was asked for and is not possible.
    """
    wanted = resolved.study.band if asked is None else asked
    if not wanted:
        return {}
    if problem := _problem(resolved):
        if asked:
            raise Refused("--band", problem, code="no-effect")
        return {}
    return {choice: _plan_of(resolved, choice) for choice in resolved.facts.alternatives}


def _problem(resolved: Plan) -> str:
    """Reason why a study can have no model band; empty if it can."""
    if not resolved.virtual or resolved.imported is not None:
        return f"{resolved.target} is no virtual drive; only a model has figures that can be changed"
    if resolved.study.factor:
        return "the study has factors; the band is that of one drive"
    if resolved.study.baseline is None:
        return "the study compares no two stages"
    if not resolved.facts.alternatives:
        return f"the profile of {resolved.target} declares no alternatives of its unpublished figures"
    return ""


def _plan_of(resolved: Plan, choice: FigureAlternative) -> Plan | str:
    study = msgspec.structs.replace(
        resolved.study, target=f"{resolved.target},{choice.change}", cycles=1, sham=False, band=False
    )
    try:
        return check_built(resolve(study, next(iter(facts_of_all(study, None).values()))))
    except Refused as refusal:
        return f"not possible on this drive: {refusal}"


def run_band(
    plans: Choices, folder: StudyFolder, progress: Progress, compared: Callable[[], Comparison]
) -> None:
    """Do the choices that the journal of a finished study lacks, several at a time.

    `compared`: the comparison of the study, whose sham arm is taken off each choice.

    Raises:
        Interrupted: Ctrl-C, SIGTERM or SIGHUP; the finished choices are kept.
        Refused: another process runs the study.
    """
    content = folder.content()
    known = {(entry.figure, entry.value) for entry in content.of_kind(Choice)}
    todo = [choice for choice in plans if (choice.figure, choice.alternative) not in known]
    if not todo or not content.of_kind(End):
        return
    folder.lock()
    try:
        journal = Journal(folder.journal, folder.planned_runs())
        try:
            sham = {(cell.cell, cell.metric): cell.sham_ratio or 1.0 for cell in compared().cells}
            _run_all(todo, plans, journal, progress, sham)
        finally:
            journal.close()
    finally:
        folder.unlock()


def _run_all(
    todo: Sequence[FigureAlternative],
    plans: Choices,
    journal: Journal,
    progress: Progress,
    sham: Mapping[tuple[str, str], float],
) -> None:
    stop = threading.Event()
    workers = min(len(todo), os.cpu_count() or 1)
    with count_signals(stop) as received, ThreadPoolExecutor(workers, thread_name_prefix="choice") as pool:
        progress.stage(f"variants of the drive model: 0 of {len(todo)}")
        left = {pool.submit(_run_one, choice, plans[choice], sham, stop) for choice in todo}
        try:
            while left:
                done, left = wait(left, _LOOK_S, FIRST_COMPLETED)
                for future in done:
                    journal.append(future.result())
                progress.stage(f"variants of the drive model: {len(todo) - len(left)} of {len(todo)}")
                progress.advance(0)
        except BaseException:
            stop.set()
            raise
    if received:
        raise Interrupted()


def _ratios(
    resolved: Plan, sham: Mapping[tuple[str, str], float], stop: threading.Event
) -> list[ChoiceRatio]:
    from mileage.analysis.journal_reader import read
    from mileage.analysis.planned_comparison import comparison_of

    with scratch_directory() as place:
        folder = StudyFolder.create(place / "study", resolved.to_toml(), resolved.to_json().encode())
        do(resolved, folder, None, _BandEnd(stop), command="mileage run --band", keeps_states=False)
        found = comparison_of(resolved, read(resolved, folder.content()).samples, ())
    return [
        ChoiceRatio(cell.cell, cell.metric, cell.ratio / sham.get((cell.cell, cell.metric), 1.0))
        for cell in found.cells
        if cell.ratio is not None
    ]


class _BandEnd(Progress):
    """Ends a run when the band is to end."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def advance(self, byte_count: int) -> None:
        if self._stop.is_set():
            raise Interrupted()

    def stage(self, text: str) -> None:
        self.advance(0)


def _run_one(
    choice: FigureAlternative,
    resolved: Plan | str,
    sham: Mapping[tuple[str, str], float],
    stop: threading.Event,
) -> Choice:
    """One cycle of the study on a drive with another figure; a drive that fails is a result."""
    ratios: list[ChoiceRatio] = []
    failure = resolved if isinstance(resolved, str) else ""
    try:
        if not isinstance(resolved, str):
            ratios = _ratios(resolved, sham, stop)
    except Interrupted:
        raise
    except RunFailed as error:
        failure = str(error)
    return Choice(
        figure=choice.figure,
        value=choice.alternative,
        instead_of=choice.value,
        reason=choice.reason,
        ratios=ratios,
        failure=failure or ("" if ratios else "no cell was measured in both stages"),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
