"""A whole study: what is done already, the cycles that are left, several at a time where time is simulated."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import groupby

import mileage
from mileage.errors import Interrupted, Refused, RunFailed
from mileage.execute import environment_guard
from mileage.execute.calibration import Calibration
from mileage.execute.concurrent_cycles import CyclePool, cycles_at_once
from mileage.execute.cycle import Cycle, RankLoss, SharedContext, stage_key, unfinished_arms
from mileage.execute.environment_guard import START, EnvironmentGuard, changed_by
from mileage.execute.progress import Progress
from mileage.execute.signals import count_signals
from mileage.execute.stop_rules import Rules, StopState
from mileage.execute.workers import ranks_here
from mileage.model.journal_entries import End, PartEnd, Rank, RankList, StageEnd, StudyHead
from mileage.plan import Plan, PlannedRun, Setting
from mileage.store import FORMAT, Journal, StudyFolder
from mileage.store.durations import spent_s
from mileage.store.journal import JournalContent
from mileage.store.study_folder import CHANGED, environment_file
from mileage.targets import Target
from mileage.targets.processor_governor import ProcessorGovernor, refuse_governor

OpenTarget = Callable[[Setting], Target]
"""Function that opens the target of a setting for one cycle.

Real targets are opened once and shared, because their cycles follow each other.
"""


def execute_study(
    plan: Plan,
    folder: StudyFolder,
    open_target: OpenTarget,
    progress: Progress,
    *,
    command: str,
    part: str = "",
    rules: Rules | None = None,
    accept_change: bool = False,
    keeps_states: bool = True,
    pool: CyclePool | None = None,
) -> tuple[str, ...]:
    """Do every run of a part that the journal does not hold yet, each exactly once; returns the parts left.

    `command` repeats the study; a new journal records it. `part` is one of the plan's: the levels of the labels
    that this machine has now. `rules` end repetition where the plan asks for that. `accept_change`: the present machine
    becomes the reference. `keeps_states`: a study can resume within a cycle of a virtual drive. `pool`: of its cycles.

    Raises:
        RunFailed: a run failed; the finished runs are kept, and a second call resumes the study.
        Interrupted: Ctrl-C, SIGTERM or SIGHUP; the same.
        Refused: another process runs the study, or the journal belongs to another plan.
    """
    folder.lock()
    try:
        content = folder.content()
        refuse_edited(folder, content)
        if content.torn_bytes:
            progress.note(f"Dropped {content.torn_bytes} bytes of a torn last line of {folder.journal.name}")
        if content.of_kind(End):
            return ()
        mine = [run for run in plan.runs if run.part == part]
        if ranks := ranks_here():
            # Check now, so that a missing program is not found hours later when the first run needs it.
            ranks.workers(tasks_of(mine, content))
            _refuse_other_hosts(plan, [one.host for one in ranks.identities])
        journal = Journal(folder.journal, folder.planned_runs())
        try:
            if not content.entries:
                journal.append(
                    StudyHead(
                        format=FORMAT,
                        plan=plan.hash,
                        mileage=mileage.__version__,
                        command=command,
                        files=folder.plan_checksums(),
                        started=_now(),
                    )
                )
            loss = RankLoss(journal, mine[0].index if mine else 0)
            with loss.journalled():
                if ranks:
                    rank_list = [Rank(one.rank, one.host, one.pid) for one in ranks.identities]
                    journal.append(RankList(ranks=rank_list, at=_now()))
                progress.start(plan, spent_s(content), cycles_at_once(plan))
                how = (rules, accept_change, loss, keeps_states)
                shared = _shared(plan, folder, journal, content, progress, *how)
                _run_cycles(shared, mine, open_target, pool)
            if part:
                journal.append(PartEnd(part=part, finished=_now()))
            finished = {entry.part for entry in content.of_kind(PartEnd)} | {part}
            left = tuple(name for name in plan.parts if name not in finished)
            if not left:
                journal.append(End(finished=_now()))
            return left
        finally:
            journal.close()
    finally:
        folder.unlock()


def refuse_edited(folder: StudyFolder, content: JournalContent) -> None:
    """Refuse to continue a study of which the first snapshot was changed: all later ones are compared with it.

    A file that is missing, or that the journal does not list, is of a process that was killed, and is made again.
    """
    for name, why in folder.changed_files(content).items():
        if why == CHANGED and name.startswith(environment_file(START).removesuffix(".json")):
            raise Refused(
                folder.path / name,
                why,
                advice="restore it, or start the study anew in another folder",
                code="changed",
            )


def _shared(
    plan: Plan,
    folder: StudyFolder,
    journal: Journal,
    content: JournalContent,
    progress: Progress,
    rules: Rules | None,
    accept_change: bool,
    loss: RankLoss,
    keeps_states: bool,
) -> SharedContext:
    """Data that the cycles share, with the contents of the journal."""
    environment = EnvironmentGuard(
        folder,
        journal,
        marks=plan.study.state.on_change == "mark",
        accepts=accept_change,
        own=changed_by(plan),
        notes=plan.study.notes,
        print_line=progress.note,
    )
    return SharedContext(
        plan,
        folder,
        journal,
        content,
        progress,
        threading.Event(),
        StopState(plan, journal, content, rules, progress.note),
        environment,
        Calibration(plan, journal, content, progress.note),
        loss,
        keeps_states,
        ProcessorGovernor(root=environment_guard.HOST),
    )


def refuse_governors(plan: Plan) -> None:
    """Refuse a plan with a governor that this machine does not have."""
    for governor in sorted(plan.governors):
        refuse_governor(governor, root=environment_guard.HOST)


def _refuse_other_hosts(plan: Plan, hosts: Sequence[str]) -> None:
    """Refuse to vary the governor of one host while others work with their own."""
    if len(set(hosts)) > 1 and plan.governors:
        raise Refused(
            "state.governor",
            f"sets the governor of this host only, and the ranks are on {len(set(hosts))}",
            advice='set it on each host by hand, and vary it with kind = "label"',
            code="unsupported",
        )


def tasks_of(runs: Sequence[PlannedRun], content: JournalContent) -> int:
    """The most tasks that one of the runs has which are left to do; 1 where there is none."""
    done = {head.run for head in content.heads if head.kind == "run"}
    over = {entry.stage_key for entry in content.of_kind(StageEnd)}
    given_up = unfinished_arms(content)
    left = [
        run
        for run in runs
        if run.index not in done and stage_key(run) not in over and stage_key(run)[:3] not in given_up
    ]
    return max((run.action.workers for run in left), default=1)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _run_cycles(
    shared: SharedContext, mine: list[PlannedRun], open_target: OpenTarget, pool: CyclePool | None
) -> None:
    cycles = [tuple(runs) for _, runs in groupby(mine, key=lambda run: run.cycle)]
    workers = cycles_at_once(shared.plan)
    # No signal raises before all cycles have ended: the journal stays open as long as one may write to it.
    with (
        shared.governor,
        count_signals(shared.stop) as received,
        nullcontext(pool.executor) if pool else ThreadPoolExecutor(workers, "cycle") as executor,
    ):
        futures: list[Future[None]] = []
        try:
            futures.extend(executor.submit(_run_cycle, shared, runs, open_target) for runs in cycles)
            if pool:
                pool.all_queued()
            _wait_for(futures, received, shared)
        except BaseException:
            shared.stop.set()
            wait(futures)
            raise
    if received and not any(_is_cause(future.exception()) for future in futures):
        if ranks := ranks_here():
            ranks.check(ranks.size)
        raise _interruption(futures, received[0])
    errors = [error for future in futures if (error := future.exception()) is not None]
    # The cause first: cycles stopped because of a failure elsewhere report only an interruption.
    for error in sorted(errors, key=lambda error: isinstance(error, Interrupted)):
        raise error


def _interruption(futures: Sequence[Future[None]], number: int) -> Interrupted:
    """The interruption of a study by a signal, with the record of a run that was cut short, if there is one."""
    found = [error for future in futures if isinstance(error := future.exception(), Interrupted)]
    stopped = max(found, key=lambda error: error.record is not None, default=Interrupted())
    stopped.number = number
    return stopped


def _wait_for(futures: Sequence[Future[None]], received: list[int], shared: SharedContext) -> None:
    """Wait until all cycles have ended, and say how to end them by force to whom that takes too long."""
    pending, noted = set(futures), 1
    while pending:
        # Signals are only counted, so that none interrupts a write to the journal: the wait ends to look at the count.
        finished, pending = wait(pending, timeout=0.2)
        if any(future.exception() for future in finished):
            shared.stop.set()
        if pending and len(received) > noted:
            noted = len(received)
            shared.progress.note(
                f"Waiting for the run in progress to end; to end it by force: kill -9 {os.getpid()} "
                "(finished runs are kept)"
            )


def _run_cycle(shared: SharedContext, runs: tuple[PlannedRun, ...], open_target: OpenTarget) -> None:
    """Run one cycle, unless an interrupted cycle must be resumed first, because this one would remove its state."""
    if shared.stop.is_set():
        raise Interrupted()
    try:
        Cycle(shared, runs).run(open_target)
    except BaseException:
        shared.stop.set()
        raise


def _is_cause(error: BaseException | None) -> bool:
    """Whether a cycle failed by itself rather than by SIGTERM from an MPI launcher that lost a rank."""
    return isinstance(error, RunFailed) and not isinstance(error, Interrupted)
