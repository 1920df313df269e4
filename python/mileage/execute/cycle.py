"""One cycle: purge, then the stages in order; and how it goes on after a crash.

A real target keeps its own state, so going on means skipping the runs that are in the journal. A virtual drive is
rebuilt: from the state saved at the end of the last finished stage, then by repeating the finished runs of the stage
that was cut off. A repeated run must give the record that the journal holds; if it does not, the study is void.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from mileage.errors import Interrupted, RunFailed
from mileage.execute.progress import Progress, stage_text
from mileage.execute.record import Poll, empty_record
from mileage.execute.run import perform
from mileage.execute.stopping import Stopping
from mileage.execute.surroundings import Surroundings
from mileage.execute.unfinished import gave_up, unfinished_arms
from mileage.plan import Plan, PlannedRun
from mileage.record import Journal, StudyFolder
from mileage.record.journal import JournalContent
from mileage.target import Target

StageKey = tuple[int, str, str]


@dataclass
class Shared:
    """What the cycles of a study share. `content` is the journal as it was when this process began."""

    plan: Plan
    folder: StudyFolder
    journal: Journal
    content: JournalContent
    progress: Progress
    stop: threading.Event
    stopping: Stopping
    surroundings: Surroundings


def stage_key(run: PlannedRun) -> StageKey:
    """What names a stage: cycle, arm and the stage's own name."""
    return (run.cycle, run.arm, run.stage)


def stage_name(run: PlannedRun) -> str:
    """Under which name a stage's environment is kept."""
    return f"cycle-{run.cycle}-{run.arm}-{run.stage}"


def _owner(run: PlannedRun) -> str:
    return f"{run.cycle}-{run.arm}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Cycle:
    """The runs of one cycle, all arms, in the plan's order."""

    def __init__(self, shared: Shared, runs: tuple[PlannedRun, ...]) -> None:
        """Look up what the journal already holds of this cycle."""
        self._shared = shared
        self._arms = [tuple(arm) for _, arm in groupby(runs, key=lambda run: run.arm)]
        mine = {run.index for run in runs}
        self._done = {int(e["run"]): e for e in shared.content.of_kind("run") if int(e["run"]) in mine}
        ended = shared.content.of_kind("stage")
        self._ended: dict[StageKey, dict[str, Any]] = {(e["cycle"], e["arm"], e["stage"]): e for e in ended}
        self._unfinished = unfinished_arms(shared.content)
        self._now = runs[0]
        self._broken: RunFailed | None = None

    def run(self, open_target: Callable[[], Target]) -> None:
        """Do what is left of this cycle.

        Raises:
            RunFailed, Interrupted: as :func:`mileage.execute.study.execute_study` says.
        """
        for arm in self._arms:
            stages = [tuple(stage) for _, stage in groupby(arm, key=lambda run: run.stage)]
            if all(stage_key(stage[0]) in self._ended for stage in stages):
                continue
            if (arm[0].cycle, arm[0].arm) in self._unfinished:
                continue
            self._now = arm[0]
            try:
                self._run_arm(open_target(), stages)
            except RunFailed as failure:
                self._give_up(failure, arm)

    def _run_arm(self, target: Target, stages: list[tuple[PlannedRun, ...]]) -> None:
        shared = self._shared
        first = self._restore(target, stages)
        for number, stage in enumerate(stages):
            if number < first:
                continue
            shared.progress.stage(stage_text(stage[0], shared.plan.study.cycles))
            shared.surroundings.before(target, stage_name(stage[0]), stage[0].session)
            for run in stage:
                if shared.stopping.wanted(run, self._done):
                    self._run_one(target, run)
            shared.surroundings.after(target, stage_name(stage[0]), stage[0].session)
            self._end_stage(target, stages, number)

    def _give_up(self, failure: RunFailed, arm: tuple[PlannedRun, ...]) -> None:
        """A device that fails ends its arm as DNF, where the study takes that for a result; else all ends here."""
        shared, run = self._shared, self._now
        if not gave_up(failure) or shared.plan.study.on_failure != "dnf":
            if self._broken is failure and not isinstance(failure, Interrupted):
                shared.journal.append(
                    {
                        "kind": "failed",
                        "run": run.index,
                        "cause": failure.cause,
                        "message": str(failure),
                        "record": failure.record,
                        "at": _now(),
                    }
                )
            raise failure
        open_stages = [other for other in arm if stage_key(other) not in self._ended]
        left_out = sum(other.index not in self._done for other in open_stages)
        entry = {
            **_entry(run, _now(), failure.record or empty_record(0)),
            "kind": "dnf",
            "cause": failure.cause,
            "message": str(failure),
            "left_out": left_out,
        }
        shared.journal.append(entry)
        shared.progress.note(f"DNF: cycle {run.cycle}, {run.arm} arm, stage {run.stage}: {failure}")

    def _restore(self, target: Target, stages: list[tuple[PlannedRun, ...]]) -> int:
        """Bring the target to where the arm was cut off; the number of the stage to go on with."""
        finished = 0
        while finished < len(stages) and stage_key(stages[finished][0]) in self._ended:
            finished += 1
        if not target.is_virtual:
            kept = target.path is not None and target.path.exists()
            target.prepare(self._shared.plan.allocated_bytes, self._shared.plan.files)
            done = [run for stage in stages for run in stage if run.index in self._done]
            if not done:
                target.purge()
            elif not kept:
                self._write_again(target, done)
            return finished
        target.purge()
        for number in range(finished, 0, -1):
            name = self._ended[stage_key(stages[number - 1][0])]["state"]
            state = self._shared.folder.load_state(_owner(stages[0][0]), name) if name else None
            if state is not None:
                target.restore(state)  # type: ignore[attr-defined]
                return number
        return 0

    def _write_again(self, target: Target, done: list[PlannedRun]) -> None:
        """The work file is gone, and with it what was written: prepare and torture are done again, unjournalled."""
        self._shared.progress.note(f"{target.path} is gone; writing its content again")
        for run in done:
            if run.role in ("prepare", "torture"):
                self._perform(target, run, lambda _bytes, _operations: self._shared.stop.is_set())

    def _perform(self, target: Target, run: PlannedRun, poll: Poll) -> dict[str, Any]:
        idle_ns = self._idle_ns(run)
        return perform(target, run, idle_ns=idle_ns, poll=poll, kept=self._shared.folder)

    def _idle_ns(self, run: PlannedRun) -> int:
        """How long an idle run rests: as planned, or as long as the torture run that it mirrors lasted."""
        if run.mirrors is not None:
            return int(self._done[run.mirrors]["record"]["durable_ns"])
        return run.idle_ns or 0

    def _run_one(self, target: Target, run: PlannedRun) -> None:
        shared = self._shared
        self._now = run
        known = self._done.get(run.index)
        if known is not None:
            shared.stopping.note(run, known)
            if not target.is_virtual:
                return
        told = 0

        def poll(byte_count: int, _operations: int) -> bool:
            nonlocal told
            if known is None:
                shared.progress.advance(byte_count - told)
                told = byte_count
            return shared.stop.is_set()

        if shared.stop.is_set():
            raise Interrupted()
        started = _now()
        if known is None:
            shared.progress.run(run)
        try:
            record = self._perform(target, run, poll)
        except RunFailed as failure:
            self._broken = failure
            raise
        if known is not None:
            if known["record"] != record:
                raise RunFailed(
                    f"run {run.index} ({run.cell}) repeated on the saved drive state differs from the journal; "
                    "the study is void: start it anew",
                    cause="replay",
                )
            return
        shared.progress.advance(record["bytes_read"] + record["bytes_written"] - told)
        entry = _entry(run, started, record)
        shared.journal.append(entry)
        self._done[run.index] = entry
        shared.stopping.note(run, entry)

    def _end_stage(self, target: Target, stages: list[tuple[PlannedRun, ...]], number: int) -> None:
        """Journal the end of a stage, with the drive's state where there is one, and drop the state before it."""
        shared = self._shared
        key = stage_key(stages[number][0])
        if key in self._ended:
            return
        state = None
        owner = _owner(stages[number][0])
        last = number + 1 == len(stages)
        if target.is_virtual:
            state = shared.folder.save_state(owner, target.save(), keep=not last)  # type: ignore[attr-defined]
        entry = {
            "kind": "stage",
            "cycle": key[0],
            "arm": key[1],
            "stage": key[2],
            "state": state,
            "left_out": sum(run.index not in self._done for run in stages[number]),
            "at": _now(),
        }
        shared.journal.append(entry)
        self._ended[key] = entry
        shared.folder.forget_states(owner, but=None if last else state)


def _entry(run: PlannedRun, started: str, record: dict[str, Any]) -> dict[str, Any]:
    identity = {
        "cycle": run.cycle,
        "arm": run.arm,
        "stage": run.stage,
        "role": run.role,
        "block": run.block,
        "measure": run.measure,
        "cell": run.cell,
        "metrics": run.metrics,
        "seed": run.seed,
    }
    return {
        "kind": "run",
        "run": run.index,
        **identity,
        "started": started,
        "finished": _now(),
        "record": record,
    }
