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
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

import msgspec

from mileage.app.plan_execution import check_built, do, facts_of_all
from mileage.errors import Interrupted, Refused, RunFailed
from mileage.execute.concurrent_cycles import CyclePool, calibrates
from mileage.execute.progress import Progress
from mileage.execute.signals import count_signals
from mileage.model.journal_entries import Choice, ChoiceRatio, End
from mileage.model.target_facts import FigureAlternative
from mileage.model.target_kind import with_change
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
        resolved.study, target=with_change(resolved.target, choice.change), cycles=1, sham=False, band=False
    )
    try:
        return check_built(resolve(study, next(iter(facts_of_all(study, None).values()))))
    except Refused as refusal:
        return f"not possible on this drive: {refusal}"


class Band:
    """The variants of a study: begun on the threads that its cycles leave free, journalled after the study.

    A context manager around the study; its end stops the variants that still run. Choices that the journal has are not
    done again. What ends before the study does is in memory until then: an interrupted study repeats it.
    """

    def __init__(self, resolved: Plan, plans: Choices, folder: StudyFolder) -> None:
        known: set[tuple[str, str]] = set()
        cycles = resolved.study.cycles
        if plans:
            content = folder.content()
            known = {(entry.figure, entry.value) for entry in content.of_kind(Choice)}
            cycles = 0 if content.of_kind(End) else cycles
        self._folder = folder
        self._plans = {
            choice: resolved
            for choice, resolved in plans.items()
            if (choice.figure, choice.alternative) not in known
        }
        self._stop = threading.Event()
        workers = min(cycles + len(self._plans), os.cpu_count() or 1)
        self._executor = ThreadPoolExecutor(max(workers, 1), thread_name_prefix="cycle")
        self._futures: set[Future[Choice]] = set()
        self.pool = (
            CyclePool(self._executor, self._begin) if self._plans and not calibrates(resolved) else None
        )
        """What the cycles of the study run on; None if the variants wait for the end of the study."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # A second signal must not leave threads behind; the variants end at their next report of progress.
        with count_signals(self._stop):
            self._executor.shutdown(cancel_futures=True)

    def _begin(self) -> None:
        if not self._futures:
            self._futures = {
                self._executor.submit(_run_one, choice, resolved, self._stop)
                for choice, resolved in self._plans.items()
            }

    def finish(self, progress: Progress, compared: Callable[[], Comparison]) -> None:
        """Journal each variant of a finished study as it ends, several at a time.

        `compared`: the comparison of the study, whose sham arm is taken off each choice.

        Raises:
            Interrupted: Ctrl-C, SIGTERM or SIGHUP; the finished choices are kept.
            Refused: another process runs the study.
        """
        if not self._plans or not self._folder.content().of_kind(End):
            return
        self._folder.lock()
        try:
            journal = Journal(self._folder.journal, self._folder.planned_runs())
            try:
                self._journal_all(journal, progress, compared)
            finally:
                journal.close()
        finally:
            self._folder.unlock()

    def _journal_all(self, journal: Journal, progress: Progress, compared: Callable[[], Comparison]) -> None:
        count = len(self._plans)
        with count_signals(self._stop) as received:
            self._begin()
            sham = {(cell.cell, cell.metric): cell.sham_ratio or 1.0 for cell in compared().cells}
            left = self._futures
            progress.stage(f"variants of the drive model: 0 of {count}")
            while left:
                done, left = wait(left, _LOOK_S, FIRST_COMPLETED)
                # One that failed comes last, so that the others are kept.
                for future in sorted(done, key=lambda future: future.exception() is not None):
                    journal.append(_without_sham(future.result(), sham))
                progress.stage(f"variants of the drive model: {count - len(left)} of {count}")
                progress.advance(0)
        if received:
            raise Interrupted()


def _without_sham(choice: Choice, sham: Mapping[tuple[str, str], float]) -> Choice:
    ratios = [
        ChoiceRatio(one.cell, one.metric, one.ratio / sham.get((one.cell, one.metric), 1.0))
        for one in choice.ratios
    ]
    return msgspec.structs.replace(choice, ratios=ratios)


def _ratios(resolved: Plan, stop: threading.Event) -> list[ChoiceRatio]:
    from mileage.analysis.journal_reader import read
    from mileage.app.answer import planned_answer

    with scratch_directory() as place:
        folder = StudyFolder.create(place / "study", resolved.to_toml(), resolved.to_json().encode())
        do(resolved, folder, None, _BandEnd(stop), command="mileage run --band", keeps_states=False)
        found = planned_answer(resolved, read(resolved, folder.content()).samples)
    return [ChoiceRatio(cell.cell, cell.metric, cell.ratio) for cell in found.cells if cell.ratio is not None]


class _BandEnd(Progress):
    """Ends a run when the band is to end."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def advance(self, byte_count: int) -> None:
        if self._stop.is_set():
            raise Interrupted()

    def stage(self, text: str) -> None:
        self.advance(0)


def _run_one(choice: FigureAlternative, resolved: Plan | str, stop: threading.Event) -> Choice:
    """One cycle of the study on a drive with another figure; a drive that fails is a result."""
    ratios: list[ChoiceRatio] = []
    failure = resolved if isinstance(resolved, str) else ""
    try:
        if not isinstance(resolved, str):
            ratios = _ratios(resolved, stop)
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
