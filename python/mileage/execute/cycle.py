"""One cycle: purge, then the stages in order; and resume after a crash.

A real target keeps its state, so resume skips the runs that are in the journal. A virtual drive is rebuilt: load the
last saved state (saved at the end of a stage, and periodically within a long one), then repeat the finished runs that
came after it. A repeated run must give the record that the journal holds; otherwise the study is void. With several
targets, each target is restored separately.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from mileage.errors import Interrupted, Refused, RunFailed
from mileage.execute import environment_guard
from mileage.execute.calibration import Calibration
from mileage.execute.environment_guard import EnvironmentGuard
from mileage.execute.machine_monitor import Monitor
from mileage.execute.progress import Progress, stage_text
from mileage.execute.run import perform
from mileage.execute.run_failure import Poll, Tested
from mileage.execute.stop_rules import StopState
from mileage.execute.workers import ranks_here
from mileage.model.journal_entries import (
    DISCARDED,
    DISCARDED_OUTSIDE,
    DidNotFinish,
    FailedRun,
    Rewrite,
    Run,
    SavedPoint,
    StageEnd,
    StageKey,
)
from mileage.model.run_record import RunRecord
from mileage.plan import Plan, PlannedRun, Setting
from mileage.plan.resolver import room_refusals
from mileage.plan.sizes import format_bytes
from mileage.store import Journal, StudyFolder
from mileage.store.block_device import SECTOR_BYTES, disk_counters
from mileage.store.journal import JournalContent
from mileage.targets import Target
from mileage.targets.aging import sync_file_system
from mileage.targets.filesystem import UNKNOWN, look_at
from mileage.targets.processor_governor import ProcessorGovernor
from mileage.targets.target_interface import Simulation

# The loss of a rank of an MPI run, journalled at once: in a run, and between two runs as well.
# The launcher ends this process soon after a rank is lost, possibly before the run in progress ends or the next one
# begins. So the watch's thread writes the line, and the outcome of the study says which rank was lost.


class RankLoss:
    """Information about a lost MPI rank that the cycles of a study share.

    `run` is the number of the run in progress, or of the next one; `failure` is set once a rank is lost and its line is
    in the journal.
    """

    def __init__(self, journal: Journal, first_run: int) -> None:
        self._journal = journal
        self.run = first_run
        self.failure: RunFailed | None = None

    @contextmanager
    def journalled(self) -> Iterator[None]:
        """Journal a loss in this block."""
        ranks = ranks_here()
        if ranks is None:
            yield
            return
        with ranks.on_loss(self._note):
            yield

    def raise_if_lost(self) -> None:
        """Raise RunFailed (cause "rank") if a rank was lost."""
        if self.failure is not None:
            raise self.failure

    def _note(self, message: str) -> None:
        failure = RunFailed(message, cause="rank")
        self._journal.append(failed_entry(self.run, failure))
        self.failure = failure


def failed_entry(run: int, failure: RunFailed) -> FailedRun:
    """The line of the journal for a run that failed."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return FailedRun(run=run, cause=failure.cause, message=str(failure), record=failure.record, at=at)


# Seconds between saved states within a long stage on virtual drives; longer where saving would take more than one
# twentieth of the time. A crash loses time only, since the runs after the saved state are repeated.
_POINT_S = 15.0
_POINT_COST = 20.0


@dataclass
class SharedContext:
    """What the cycles of a study share. `content` is the journal as it was when this process began."""

    plan: Plan
    folder: StudyFolder
    journal: Journal
    content: JournalContent
    progress: Progress
    stop: threading.Event
    stopping: StopState
    environment: EnvironmentGuard
    calibration: Calibration
    loss: RankLoss
    keeps_states: bool
    governor: ProcessorGovernor


def stage_key(run: PlannedRun) -> StageKey:
    """Key of a stage: part, cycle, arm and the stage's own name."""
    return (run.part, run.cycle, run.arm, run.stage)


def stage_name(run: PlannedRun) -> str:
    """Under which name a stage's environment is kept."""
    return f"{_file_words(run.part)}cycle-{run.cycle}-{run.arm}-{run.stage}"


def _file_words(part: str) -> str:
    """A part as the beginning of a file's name; empty without labels."""
    return "".join(c if c.isalnum() or c in "._" else "-" for c in part) + "-" if part else ""


def _owner(run: PlannedRun, instance: int) -> str:
    """Owner of saved drive states: one target of one arm of one cycle."""
    return f"{_file_words(run.part)}{run.cycle}-{run.arm}" + (f"-{instance}" if instance else "")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Cycle:
    """The runs of one cycle, all arms, in the plan's order."""

    def __init__(self, shared: SharedContext, runs: tuple[PlannedRun, ...]) -> None:
        """Look up what the journal already holds of this cycle."""
        self._shared = shared
        self._arms = [tuple(arm) for _, arm in groupby(runs, key=lambda run: run.arm)]
        self._done = _FinishedRuns(shared.content, {run.index for run in runs})
        content = shared.content
        self._ended = {entry.stage_key: entry for entry in content.of_kind(StageEnd)}
        self._points = {entry.stage_key: entry for entry in content.of_kind(SavedPoint)}
        self._unfinished = unfinished_arms(content)
        rewrites = content.of_kind(Rewrite)
        self._rewritten = {(*entry.stage_key[:3], entry.target): entry.done for entry in rewrites}
        """For each cycle, arm and target whose lost content had to be written again: whether that was completed."""
        self._targets: dict[int, Target] = {}
        self._saved_s = 0.0
        self._saving_s = 0.0
        self._now = runs[0]
        self._broken: RunFailed | None = None
        self._discards = StageDiscards(())

    def run(self, open_target: Callable[[Setting], Target]) -> None:
        """Do what is left of this cycle.

        Raises:
            RunFailed, Interrupted: as :func:`mileage.execute.study.execute_study` says.
        """
        for arm in self._arms:
            stages = [tuple(stage) for _, stage in groupby(arm, key=lambda run: run.stage)]
            if all(stage_key(stage[0]) in self._ended for stage in stages):
                continue
            # An arm that ended as DNF stays ended: its device failed, and another try would be another experiment.
            if (arm[0].part, arm[0].cycle, arm[0].arm) in self._unfinished:
                continue
            self._now = arm[0]
            try:
                self._open(arm, open_target)
                self._run_arm(stages)
            except RunFailed as failure:
                self._give_up(failure, arm)

    def _open(self, arm: tuple[PlannedRun, ...], open_target: Callable[[Setting], Target]) -> None:
        self._targets = {}
        for run in arm:
            setting = self._shared.plan.setting_of(run)
            if setting.instance not in self._targets:
                self._targets[setting.instance] = open_target(setting)

    def _run_arm(self, stages: list[tuple[PlannedRun, ...]]) -> None:
        shared = self._shared
        next_one = next(stage[0] for stage in stages if stage_key(stage[0]) not in self._ended)
        shared.governor.set(shared.plan.setting_of(next_one).state.governor)
        for place in self._places(next_one):
            shared.environment.expect(*place)
        first, after = self._restore(stages)
        self._saved_s = time.monotonic()
        for number, stage in enumerate(stages):
            if number < first:
                continue
            shared.progress.stage(stage_text(stage[0], shared.plan.study.cycles))
            for place in self._places(stage[0]):
                shared.environment.before(*place)
            self._discards = StageDiscards(self._made(stage))
            for run in stage:
                if run.index < after:
                    # The restored state has this run in it; the stop rules still need its figures.
                    if run.index in self._done:
                        shared.stopping.note(run, self._done.entry(run.index))
                elif shared.stopping.wanted(run, self._done):
                    self._run_one(self._target(run), run)
                    self._maybe_save(run, stage)
            watch = self._discards.settle()
            for place in self._places(stage[0]):
                shared.environment.after(*place)
            self._end_stage(stages, number, watch)

    def _made(self, stage: tuple[PlannedRun, ...]) -> list[Target]:
        """Targets of a stage on file systems that Mileage made: nothing else has its devices discard."""
        settings = [self._shared.plan.setting_of(run) for run in stage]
        made = {setting.instance for setting in settings if setting.state.filesystem is not None}
        return [self._targets[number] for number in sorted(made)]

    def _target(self, run: PlannedRun) -> Target:
        return self._targets[self._shared.plan.setting_of(run).instance]

    def _places(self, run: PlannedRun) -> list[tuple[Target, str, str]]:
        """Each target, with the keys of its environment snapshots for a stage and for a part."""
        stage, first = stage_name(run), min(self._targets)
        found = []
        for number, target in self._targets.items():
            which = "" if number == first else f"-target-{number}"
            found.append((target, stage + which, run.part + which))
        return found

    def _give_up(self, failure: RunFailed, arm: tuple[PlannedRun, ...]) -> None:
        """A device that fails ends its arm as DNF, where the study takes that for a result; else all ends here."""
        shared, run = self._shared, self._now
        if not gave_up(failure) or shared.plan.study.on_failure != "dnf":
            journalled = shared.loss.failure is not None and failure.cause == "rank"
            if self._broken is failure and not isinstance(failure, Interrupted) and not journalled:
                shared.journal.append(failed_entry(run.index, failure))
            raise failure
        open_stages = [other for other in arm if stage_key(other) not in self._ended]
        left_out = sum(other.index not in self._done for other in open_stages)
        done = entry_of(run, failure.record or RunRecord.idle(0), shared.plan.setting_of(run), _now())
        ended = {"cause": failure.cause, "message": str(failure), "left_out": left_out}
        shared.journal.append(msgspec.convert({**msgspec.structs.asdict(done), **ended}, DidNotFinish))
        shared.progress.note(f"DNF: cycle {run.cycle}, {run.arm} arm, stage {run.stage}: {failure}")

    def _restore(self, stages: list[tuple[PlannedRun, ...]]) -> tuple[int, int]:
        """Restore the targets to the point where the arm was interrupted.

        Returns the stage to resume and the position of its first run that is not restored.
        """
        finished = 0
        while finished < len(stages) and stage_key(stages[finished][0]) in self._ended:
            finished += 1
        virtual = self._simulated()
        for number, target in self._targets.items():
            if number not in virtual:
                self._restore_real(number, target, stages)
        if not virtual:
            return finished, 0
        # Where no saved state can be loaded the arm is repeated from its first run, which needs a drive as new.
        for number in virtual:
            self._targets[number].purge()
        # A state saved within the interrupted stage is newer than any state at the end of a stage.
        point = self._points.get(stage_key(stages[finished][0])) if finished < len(stages) else None
        if point is not None and self._load(virtual, point.states, stages[0][0]):
            return finished, point.run
        # An older state costs only time: the stages after it are repeated, and compared with the journal.
        for number in range(finished, 0, -1):
            ended = self._ended[stage_key(stages[number - 1][0])]
            if self._load(virtual, ended.drive_states, stages[0][0]):
                return number, 0
        return 0, 0

    def _restore_real(self, number: int, target: Target, stages: list[tuple[PlannedRun, ...]]) -> None:
        plan = self._shared.plan
        mine = [run for stage in stages for run in stage if plan.setting_of(run).instance == number]
        done = [run for run in mine if run.index in self._done]
        sizes = (plan.allocated_bytes(number), plan.files, plan.file_bytes)
        kept = bool(done) and target.resumes(*sizes)
        # A rewrite that was begun and not ended leaves a target that is neither empty nor whole.
        kept = kept and self._rewritten.get(self._arm_on(number, done[0]), True)
        if not kept:
            self._note_lost(number, mine[0], done)
        target.prepare(*sizes)
        self._refuse_without_room(number, target, mine)
        if not done:
            target.purge()
            return
        # A killed process may not have removed the files of its last run.
        _clear_after(target, done[-1])
        if kept and _lacks_files(target, done[-1]):
            self._note_lost(number, mine[0], done)
            kept = False
        if kept and not target.is_marked:
            self._shared.progress.note(
                f"{target.path} has no mark of this study: if anything else wrote to it since the study was "
                "interrupted, start the study anew"
            )
        if not kept:
            target.purge()
            self._write_again(target, done)
            self._note_rewrite(number, done[0], ended=True)

    def _refuse_without_room(self, number: int, target: Target, runs: list[PlannedRun]) -> None:
        """Refuse runs that do not fit: the plan did not know a file system that is made here, nor one of today."""
        plan = self._shared.plan
        if not target.paths:
            # All files have names of the user's, and may be there already.
            return
        setting = plan.setting_of(runs[0])
        study = msgspec.structs.replace(plan.study, target=setting.target, state=setting.state)
        reasons = room_refusals(study, target.facts(), plan.areas.get(number, plan.work_bytes), tuple(runs))
        if refusals := tuple(reasons):
            raise Refused.because(*refusals)

    def _note_lost(self, number: int, run: PlannedRun, done: list[PlannedRun]) -> None:
        """Journal that the content of a target is lost, for this arm and for other parts that will be resumed."""
        # Journalled before anything is written: if the process dies from here on, the next one starts the rewrite anew.
        if done:
            self._note_rewrite(number, done[0], ended=False)
        plan, content = self._shared.plan, self._shared.content
        begun = {head.run for head in content.heads if head.kind == "run" and head.part != run.part}
        if not begun:
            return
        place = plan.setting_of(run).place
        there = [other for other in plan.runs if plan.setting_of(other).place == place]
        to_resume = {stage_key(other)[:3] for other in there if stage_key(other) not in self._ended}
        lost = {
            self._arm_on(plan.setting_of(other).instance, other): other
            for other in there
            if other.index in begun and stage_key(other)[:3] in to_resume - self._unfinished.keys()
        }
        for arm, other in lost.items():
            if self._rewritten.get(arm, True):
                self._note_rewrite(arm[3], other, ended=False)
                self._rewritten[arm] = False

    def _arm_on(self, number: int, run: PlannedRun) -> tuple[str, int, str, int]:
        return (run.part, run.cycle, run.arm, number)

    def _note_rewrite(self, number: int, run: PlannedRun, *, ended: bool) -> None:
        """Journal the start and the end of rewriting a target; between the two it must not be measured."""
        self._shared.journal.append(Rewrite(**_key_fields(run), target=number, done=ended, at=_now()))

    def _simulated(self) -> dict[int, Simulation]:
        """The drives whose time is simulated, by instance."""
        return {
            number: target.simulation
            for number, target in self._targets.items()
            if target.simulation is not None
        }

    def _load(self, drives: Mapping[int, Simulation], names: Mapping[str, str], first: PlannedRun) -> bool:
        """Restore drives to their saved states, by target; False when a saved state is missing."""
        states = {}
        for number in drives:
            name = names.get(str(number))
            state = self._shared.folder.load_state(_owner(first, number), name) if name else None
            if state is None:
                return False
            states[number] = state
        # Only when all are there: drives restored to different points of the study would be a state that never was.
        for number, drive in drives.items():
            drive.restore(states[number])
        return True

    def _write_again(self, target: Target, done: list[PlannedRun]) -> None:
        """The work file is lost: repeat the writing runs since the last purge, without journalling them."""
        shared = self._shared
        shared.progress.note(f"The data written to {target.path} is lost; it is written again")
        # What was written before the last purge was removed by it, so repeating it would change nothing.
        purges = [at for at, run in enumerate(done) if run.role == "reset" and run.cell == "purge"]
        for run in done[purges[-1] + 1 if purges else 0 :]:
            trims = run.role == "reset" and run.cell == "trim"
            if (
                run.role in ("prepare", "torture")
                or trims
                or (run.workload is not None and run.workload.changes)
            ):
                shared.calibration.perform(run, partial(self._do_again, target), again=True)
                _clear_after(target, run)

    def _do_again(self, target: Target, run: PlannedRun) -> RunRecord:
        """Repeat a run for the state it leaves; its operation log is not written again."""
        if run.reach is not None and run.reach.log:
            run = msgspec.structs.replace(run, reach=msgspec.structs.replace(run.reach, log=False))
        return self._perform(target, run, lambda _bytes, _operations: self._shared.stop.is_set())

    def _perform(
        self, target: Target, run: PlannedRun, poll: Poll, tested: Tested | None = None
    ) -> RunRecord:
        kept = self._shared.folder
        return perform(target, run, idle_ns=self._idle_ns(run), poll=poll, kept=kept, tested=tested)

    def _idle_ns(self, run: PlannedRun) -> int:
        """Duration of an idle run: as planned, or as long as the torture run that it mirrors."""
        if run.mirrors is not None:
            return self._done.entry(run.mirrors).record.durable_ns
        return run.idle_ns or 0

    def _run_one(self, target: Target, run: PlannedRun) -> None:
        shared = self._shared
        self._now = run
        shared.loss.run = run.index
        shared.loss.raise_if_lost()
        known = self._done.entry(run.index) if run.index in self._done else None
        if known is not None:
            shared.stopping.note(run, known)
            # A real target still holds what the run wrote. A virtual drive reaches that state only by repeating it.
            if not target.is_virtual:
                return
        shared.governor.set(shared.plan.setting_of(run).state.governor)
        reported_bytes = 0

        def poll(byte_count: int, _operations: int) -> bool:
            nonlocal reported_bytes
            if known is None:
                shared.progress.advance(byte_count - reported_bytes)
                reported_bytes = byte_count
            return shared.stop.is_set()

        if shared.stop.is_set():
            raise Interrupted()
        started = _now()
        if known is None:
            shared.progress.run(run)
        watch = Monitor(target)

        def do(run: PlannedRun) -> RunRecord:
            nonlocal watch
            watch = Monitor(target)
            with watch:
                tested = partial(shared.progress.tested, run) if known is None else None
                return self._perform(target, run, poll, tested)

        try:
            record = shared.calibration.perform(run, do, again=target.is_virtual)
            # A run during which a rank was lost had fewer tasks than planned: its figures must not be journalled.
            shared.loss.raise_if_lost()
        except RunFailed as failure:
            self._broken = failure
            raise
        if known is not None:
            # In simulated time a run depends on state, workload and seed only: a difference means that the state or the
            # program is not the one that made the journal, and all figures from here on would be of another drive.
            if known.record != record:
                raise RunFailed(
                    f"run {run.index} ({run.cell}) repeated on the saved drive state differs from the journal; "
                    "the study is void: start it anew",
                    cause="replay",
                )
            return
        shared.progress.advance(record.bytes_moved - reported_bytes)
        entry = entry_of(run, record, shared.plan.setting_of(run), started, watch.found)
        shared.journal.append(entry)
        self._discards.add(watch.found)
        self._done.add(run, entry)
        _clear_after(target, run)
        shared.progress.finished(run, record)
        shared.stopping.note(run, entry)

    def _maybe_save(self, run: PlannedRun, stage: tuple[PlannedRun, ...]) -> None:
        """In a long stage, save the virtual drives after a run that is new, so that a crash repeats little."""
        waited_s = time.monotonic() - self._saved_s
        if (
            not self._shared.keeps_states
            or run is stage[-1]
            or waited_s < max(_POINT_S, _POINT_COST * self._saving_s)
        ):
            return
        if not all(target.is_virtual for target in self._targets.values()):
            return
        started_s = time.monotonic()
        states = self._save(run, keep=True)
        self._shared.journal.append(
            SavedPoint(**_key_fields(run), run=run.index + 1, states=states, at=_now())
        )
        # After the journal has the new point: until then a crash resumes from the older states.
        self._forget(run, states)
        self._saved_s = time.monotonic()
        self._saving_s = self._saved_s - started_s

    def _save(self, run: PlannedRun, *, keep: bool) -> dict[str, str]:
        """The hashes of the states of all virtual drives, by instance; none where states are not kept."""
        if not self._shared.keeps_states:
            return {}
        folder = self._shared.folder
        return {
            str(number): folder.save_state(_owner(run, number), drive.save(), keep=keep)
            for number, drive in self._simulated().items()
        }

    def _forget(self, run: PlannedRun, but: dict[str, str]) -> None:
        for number in self._targets:
            self._shared.folder.forget_states(_owner(run, number), but=but.get(str(number)))

    def _end_stage(self, stages: list[tuple[PlannedRun, ...]], number: int, watch: dict[str, int]) -> None:
        """Journal the end of a stage, with the drives' states where there are any, and drop those before it."""
        shared = self._shared
        run = stages[number][0]
        key = stage_key(run)
        if key in self._ended:
            return
        last = number + 1 == len(stages)
        # Nothing resumes after the last stage: of its states only the hashes are recorded, as evidence.
        states = self._save(run, keep=not last)
        entry = StageEnd(
            **_key_fields(run),
            state=states.get("0"),
            states=states,
            left_out=sum(run.index not in self._done for run in stages[number]),
            watch=watch,
            at=_now(),
        )
        shared.journal.append(entry)
        self._ended[key] = entry
        self._forget(run, {} if last else states)
        self._saved_s = time.monotonic()


class _FinishedRuns:
    """The finished runs of a cycle: which they are, and where each can be read again."""

    def __init__(self, content: JournalContent, mine: set[int]) -> None:
        self._entries = content.entries
        heads = enumerate(content.heads)
        self._places = {head.run: at for at, head in heads if head.kind == "run" and head.run in mine}
        self._tortures: dict[int, Run] = {}
        self._new: set[int] = set()

    def __contains__(self, index: object) -> bool:
        return index in self._places or index in self._new

    def entry(self, index: int) -> Run:
        """The journal's entry of a run that an earlier process did, or of a torture that this one did."""
        if index in self._places:
            return cast(Run, self._entries[self._places[index]])
        return self._tortures[index]

    def add(self, run: PlannedRun, entry: Run) -> None:
        """A run that was done now; of a torture the record is kept, since a sham may idle for as long."""
        self._new.add(run.index)
        if run.role == "torture":
            self._tortures[run.index] = entry


def _clear_after(target: Target, run: PlannedRun) -> None:
    """Remove what the run made for itself alone, once it is in the journal: until then it may have to be done again."""
    if run.reach is not None and run.reach.removes_files:
        target.remove_files()


def _lacks_files(target: Target, run: PlannedRun) -> bool:
    """Whether the last finished run made files that the next run reads, and these files are missing."""
    if run.workload is None or run.reach is None or not run.reach.makes_files or run.reach.removes_files:
        return False
    return len(target.paths) <= run.workload.threads


def _key_fields(run: PlannedRun) -> dict[str, Any]:
    return {"part": run.part, "cycle": run.cycle, "arm": run.arm, "stage": run.stage}


def entry_of(
    run: PlannedRun,
    record: RunRecord,
    setting: Setting,
    started: str = "",
    watch: Mapping[str, int] | None = None,
) -> Run:
    """The journal's line of a run that is done."""
    return Run(
        **_key_fields(run),
        run=run.index,
        role=run.role,
        block=run.block,
        measure=run.measure,
        cell=run.cell,
        levels=setting.levels,
        metrics=list(run.metrics),
        seed=run.seed,
        started=started,
        finished=_now(),
        record=record,
        watch=dict(watch or {}),
    )


# Discards of a stage outside its runs: what a file system sends to its device when it commits.
# Scope: file systems that Mileage made and mounted with `discard`; the devices of others are shared, and what they
# discard cannot be separated. ext4 and xfs discard removed blocks after a commit
# of their journal, btrfs later still: by then the run that removed the file has ended. At the end of a stage the file
# system is synced, and its device watched until it gets no more discards.
# counted to the next stage.

QUIET_S: Final = 0.5
"""Seconds without a discard after which a device is taken to have got all."""
LONGEST_S: Final = 30.0
_PAUSE_S: Final = 0.05


class StageDiscards:
    """The discards of one stage, from its making to `settle`; of an interrupted stage those since it was resumed."""

    def __init__(self, targets: Iterable[Target]) -> None:
        """Read the devices' counters."""
        self._root = environment_guard.HOST
        self._places = dict(self._discarding(targets))
        self._before = self._discarded()
        self._in_runs = 0

    def add(self, watch: Mapping[str, int]) -> None:
        """Take what was counted during a run of this stage."""
        self._in_runs += watch.get(DISCARDED, 0)

    def settle(self) -> dict[str, int]:
        """Have removed blocks discarded, and the counts of the stage; empty where nothing discards.

        Raises RunFailed when the file system cannot be written any more.
        """
        if self._before is None:
            return {}
        for place in self._places.values():
            try:
                sync_file_system(place)
            except OSError as error:
                raise RunFailed.from_os_error(f"{place}: its file system cannot be synced", error) from error
        now = self._when_quiet()
        if now is None:
            return {}
        total = now - self._before
        return {DISCARDED: total, DISCARDED_OUTSIDE: max(total - self._in_runs, 0)}

    def _when_quiet(self) -> int | None:
        last, quiet_since = self._discarded(), time.monotonic()
        end = quiet_since + LONGEST_S
        while (now_s := time.monotonic()) < end and now_s - quiet_since < QUIET_S:
            time.sleep(_PAUSE_S)
            if (now := self._discarded()) != last:
                last, quiet_since = now, time.monotonic()
        return last

    def _discarding(self, targets: Iterable[Target]) -> Iterable[tuple[str, Path]]:
        """Devices below targets whose file system discards, each once, with a directory on it."""
        for target in targets:
            if target.is_virtual or target.place is None:
                continue
            try:
                ground = look_at(target.place, root=self._root)
            except OSError:
                continue
            if ground.disk != UNKNOWN and any(_discards(option) for option in ground.mount_options):
                yield ground.disk, target.place

    def _discarded(self) -> int | None:
        """Bytes that the devices have discarded since boot; None where one does not count them, or there is none."""
        counted = [disk_counters(disk, self._root) or {} for disk in self._places]
        if not counted or any("discarded_sectors" not in found for found in counted):
            return None
        return SECTOR_BYTES * sum(found["discarded_sectors"] for found in counted)


def _discards(option: str) -> bool:
    return option == "discard" or option.startswith("discard=")


# Failure of the device: the arm ends as "did not finish" (DNF), which is a result.
# Scope: errors that belong to the device, not to the machine or the user: medium errors, time-outs, a drive
# that dropped off the bus, that turned read-only, or that is worn out.
# What it refuses: to call a full disk, a vanished directory or wrong data a DNF; those stop the study as before.

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
