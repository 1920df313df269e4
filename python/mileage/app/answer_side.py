"""The two sides of a question, and the sessions in which they were measured.

Scope: a side is one stage of a study, of all its cells or of one level or workload, or the same of several studies of
one target. Sessions have one number on both sides, so that the judgement knows which runs share a day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from mileage.analysis.journal_reader import JournalContents
from mileage.analysis.planned_comparison import plan_of_cells
from mileage.analysis.run_sessions import RunSession, numbered, sessions_of, visit_s
from mileage.judge import Sample
from mileage.judge.history import HistoryLevel, hold_level
from mileage.judge.samples import SHAM
from mileage.model.caveat import BOTH, Caveat, Side, note
from mileage.plan import Plan
from mileage.store import Outcome, StudyFolder
from mileage.store.journal import JournalContent

_DAY_S: Final = 86400.0


class StudyReading(Protocol):
    """What is read of a study's folder: `mileage.app.StudyResult` is one."""

    plan: Plan
    folder: StudyFolder

    def content(self) -> JournalContent:
        """The journal."""

    def reading(self) -> JournalContents:
        """What is read of its runs."""

    def outcome(self) -> Outcome:
        """Its progress, and why it stopped."""

    def plan_as_done(self) -> Plan:
        """The plan with the counts that its trials found."""


@dataclass(frozen=True)
class AnswerSide:
    """One side of a question: the runs of one stage of a study, of all its cells or of one level or workload."""

    plan: Plan
    all_samples: Sequence[Sample]
    """The values of the whole study."""
    study: StudyReading | None
    """The study's folder, for what stands against a conclusion; None where only the values are judged."""
    stage: str
    name: str
    cells: Mapping[str, str]
    """Label of each cell of this side in its study, and its label in the comparison."""
    level: str = ""
    further: tuple[AnswerSide, ...] = ()
    """The same in other studies of this side, after this one."""

    @property
    def parts(self) -> tuple[AnswerSide, ...]:
        """The side in each of its studies."""
        return (self, *self.further)

    @cached_property
    def run_sessions(self) -> dict[int, RunSession]:
        """The session of each run of this study; empty for a simulation, and where only the values are judged."""
        if self.study is None or self.measured_plan.virtual:
            return {}
        return sessions_of(self.plan, self.study.content(), dict(self.study.folder.environments()))

    @cached_property
    def samples(self) -> list[Sample]:
        """The values of its runs in the worn arm, under the labels of the comparison."""
        return [
            replace(sample, cell=self.cells[sample.cell])
            for sample in self.all_samples
            if sample.stage == self.stage and sample.arm != SHAM and sample.cell in self.cells
        ]

    @cached_property
    def measured_plan(self) -> Plan:
        """The plan with the targets of this side alone."""
        return plan_of_cells(self.plan, self.cells)

    @property
    def is_imported(self) -> bool:
        """Whether another tool measured it."""
        return self.plan.imported is not None


@dataclass(frozen=True)
class Past:
    """What other sessions say: of the spread between sessions, or, for a history, of the level of the baseline."""

    spread: tuple[AnswerSide, ...] = ()
    is_history: bool = False
    """Whether the baseline's sessions are a history, against whose level the candidate is judged."""


NO_PAST: Final = Past()


class SessionSamples(NamedTuple):
    """The samples of both sides with the numbers of their sessions."""

    baseline: list[Sample]
    candidate: list[Sample]
    past: list[Sample]
    """Of other sessions, which show the spread between sessions."""
    level: HistoryLevel | None
    """The level of the baseline, where it is a history; the baseline is the samples that hold it."""
    caveats: tuple[Caveat, ...]
    """That several sessions of a side were on one boot within a day."""


def in_sessions(baseline: AnswerSide, candidate: AnswerSide, past: Past) -> SessionSamples:
    """The samples of all studies of each side, and of the past, each with the number of its session."""
    groups = (baseline.parts, candidate.parts, past.spread)
    # Several simulations count as sessions of their own: nothing else can show how they differ.
    alone = past.is_history or any(side.further for side in (baseline, candidate))
    sessions = [[_run_sessions(part, alone=alone) for part in parts] for parts in groups]
    numbers = numbered(one for part in sessions for runs in part for one in runs.values())
    low, high, others = (
        [*_numbered_samples(*group, numbers)] for group in zip(groups, sessions, strict=True)
    )
    found = tuple(_visit_caveats(sessions, numbers))
    if not past.is_history:
        return SessionSamples(low, high, others, None, found)
    low, level = hold_level(low, _named(baseline, sessions[0], numbers))
    return SessionSamples(low, high, others, level, found)


def _visit_caveats(
    sides: Sequence[Sequence[Mapping[int, RunSession]]], numbers: Mapping[RunSession, int]
) -> Iterator[Caveat]:
    """A caveat for each side, and for the past of both, whose several sessions were one stretch of time."""
    whose: tuple[tuple[Side, ...], ...] = (("baseline",), ("candidate",), BOTH)
    for parts, names in zip(sides, whose, strict=True):
        own = {session for runs in parts for session in runs.values()}
        count, span_s = len({numbers[session] for session in own}), visit_s(own)
        if count > 1 and span_s is not None:
            yield note("sessions-of-one-visit", sessions=count, span_s=round(span_s)).of(*names)


def _run_sessions(part: AnswerSide, *, alone: bool) -> Mapping[int, RunSession]:
    """The session of each run; of a simulation, where it is to count `alone`, one session of its own."""
    if part.run_sessions or not alone or part.study is None:
        return part.run_sessions
    session = RunSession(f"simulation {part.study.folder.path}")
    return {run.index: session for run in part.plan.runs}


def _numbered_samples(
    parts: Sequence[AnswerSide],
    sessions: Sequence[Mapping[int, RunSession]],
    numbers: Mapping[RunSession, int],
) -> Iterator[Sample]:
    """The samples of some studies, all as of the first one's stage; their runs and cycles do not overlap."""
    runs = cycles = 0
    for part, own in zip(parts, sessions, strict=True):
        most_runs = most_cycles = 0
        for sample in part.samples:
            session = own.get(sample.run)
            most_runs, most_cycles = max(most_runs, sample.run + 1), max(most_cycles, sample.cycle)
            yield replace(
                sample,
                run=sample.run + runs,
                cycle=sample.cycle + cycles,
                stage=parts[0].stage,
                session=0 if session is None else numbers[session],
            )
        runs, cycles = runs + most_runs, cycles + most_cycles


def _named(
    side: AnswerSide, sessions: Sequence[Mapping[int, RunSession]], numbers: Mapping[RunSession, int]
) -> dict[int, tuple[str, int | None]]:
    """The name of each session of a side, and its day where its date is known."""
    found: dict[int, tuple[str, int | None]] = {}
    for part, runs in zip(side.parts, sessions, strict=True):
        own = list(dict.fromkeys(runs.values()))
        for place, session in enumerate(own, 1):
            title = session.name or (part.name if len(own) == 1 else f"{part.name}, session {place}")
            day = int(session.began_s // _DAY_S) if session.is_dated else None
            found.setdefault(numbers[session], (title, day))
    return found
