"""A whole study: what is done already, the cycles that are left, several at a time where time is simulated."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby

import mileage
from mileage.errors import Interrupted
from mileage.execute.cycle import Cycle, Shared
from mileage.execute.progress import Progress
from mileage.execute.stopping import Rules, Stopping
from mileage.execute.surroundings import Surroundings
from mileage.plan import Plan, PlannedRun
from mileage.record import FORMAT, Journal, StudyFolder
from mileage.target import Target

#: Opens the target of one cycle; real targets are opened once and shared, since their cycles follow each other.
OpenTarget = Callable[[], Target]


def planned_bytes(run: PlannedRun) -> int:
    """Bytes that a run moves, as planned; 0 for an idle run or one limited by time alone."""
    if run.workload is None:
        return run.job.bytes if run.job is not None else 0
    stop = run.workload.stop
    if stop.bytes is not None:
        return stop.bytes
    return int((run.workload.operations or 0) * run.workload.mean_bytes)


def execute_study(
    plan: Plan,
    folder: StudyFolder,
    open_target: OpenTarget,
    progress: Progress,
    *,
    command: str,
    rules: Rules | None = None,
    accept_change: bool = False,
) -> None:
    """Do every run of the plan that the journal does not hold yet; each exactly once.

    `command` is what repeats the study; a new journal keeps it. `rules` end repetition where the plan asks for that.
    `accept_change`: the machine as it is now is the study's own from here on.

    Raises:
        RunFailed: a run failed; what finished before it is kept, and calling this again goes on.
        Interrupted: Ctrl-C or SIGTERM; the same.
        Refused: another process runs the study, or the journal belongs to another plan.
    """
    folder.lock()
    try:
        content = folder.content()
        if content.torn_bytes:
            progress.note(f"dropped {content.torn_bytes} bytes of a torn last line of {folder.journal.name}")
        if content.of_kind("end"):
            return
        journal = Journal(folder.journal)
        try:
            if not content.entries:
                started = datetime.now(UTC).isoformat(timespec="seconds")
                head = {
                    "kind": "study",
                    "format": FORMAT,
                    "plan": plan.hash,
                    "mileage": mileage.__version__,
                    "command": command,
                }
                journal.append({**head, "started": started})
            done = {int(entry["run"]) for entry in content.of_kind("run")}
            total = sum(planned_bytes(run) for run in plan.runs)
            progress.start(total, sum(planned_bytes(run) for run in plan.runs if run.index in done))
            surroundings = Surroundings(
                folder, journal, marks=plan.study.state.on_change == "mark", tell=progress.note
            )
            if accept_change:
                for session in dict.fromkeys(run.session for run in plan.runs):
                    surroundings.accept(open_target, session)
            stopping = Stopping(plan, journal, content, rules, progress.note)
            shared = Shared(
                plan, folder, journal, content, progress, threading.Event(), stopping, surroundings
            )
            _run_cycles(shared, open_target)
            journal.append({"kind": "end", "finished": datetime.now(UTC).isoformat(timespec="seconds")})
        finally:
            journal.close()
    finally:
        folder.unlock()


def cycles_at_once(plan: Plan) -> int:
    """How many cycles are done at the same time: on virtual drives one on each processor, elsewhere one."""
    return min(plan.study.cycles, os.cpu_count() or 1) if plan.facts.virtual else 1


def _run_cycles(shared: Shared, open_target: OpenTarget) -> None:
    cycles = [tuple(runs) for _, runs in groupby(shared.plan.runs, key=lambda run: run.cycle)]
    workers = cycles_at_once(shared.plan)
    with ThreadPoolExecutor(workers, thread_name_prefix="cycle") as pool:
        futures = [pool.submit(Cycle(shared, runs).run, open_target) for runs in cycles]
        with ends_on_sigterm(shared.stop):
            try:
                pending = set(futures)
                while pending:
                    finished, pending = wait(pending, timeout=0.2)
                    if any(future.exception() for future in finished):
                        shared.stop.set()
            except KeyboardInterrupt:
                shared.stop.set()
                raise Interrupted() from None
    errors = [error for future in futures if (error := future.exception()) is not None]
    # The cause first: cycles that were told to stop because another failed say only that they were interrupted.
    for error in sorted(errors, key=lambda error: isinstance(error, Interrupted)):
        raise error


@contextmanager
def ends_on_sigterm(stop: threading.Event) -> Iterator[None]:
    """SIGTERM ends what is under way as Ctrl-C does and sets `stop`, where this is the main thread."""
    import signal

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signal: int, _frame: object) -> None:
        stop.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
