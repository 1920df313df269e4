"""One run: a workload turned on a target by the wall clock or by virtual time. Nothing above knows which it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import msgspec

from mileage.errors import Interrupted, Refused, RunFailed
from mileage.execute.job import perform_job
from mileage.execute.processes import run_in_processes
from mileage.execute.record import Poll, empty_record, failure_of
from mileage.execute.run_conditions import rest, settle, surrounded
from mileage.execute.workers import refuse_elsewhere
from mileage.plan import PlannedRun, Workload
from mileage.plan.api import Reach
from mileage.plan.caching import Caching
from mileage.plan.job import Job
from mileage.targets import Target


class Kept(Protocol):
    """Where what a run needs beside its workload is kept; a study folder is one."""

    def load_trace(self, sha256: str) -> bytes | None:
        """The operations of a trace as a JSON list; None when there is none."""

    def log_of(self, run: int) -> Path:
        """Where a run's log of every operation is written; there is no file yet."""


def perform(
    target: Target, run: PlannedRun, *, idle_ns: int, poll: Poll, kept: Kept | None = None
) -> dict[str, Any]:
    """Do one run and return its record (the JSON of `RunRecord`, see the measure crate).

    `idle_ns`: how long an idle run rests, in nanoseconds. `kept`: where traces are found and logs are put; without it,
    a run that has a trace or a log is refused.

    Raises:
        RunFailed: the target failed under the load; `cause` names the error (`ENOSPC`, `EIO`, `vanished` ...).
        Interrupted: `poll` asked to stop.
    """
    if run.job is not None:
        return _perform_job(target, run, run.job, poll)
    if run.workload is None:
        return _rest(target, idle_ns, poll)
    from mileage import _core

    workload = workload_json(run.workload, kept)
    _still_there(target, run)
    try:
        if target.simulation is not None:
            text = target.simulation.run(workload, poll)
        else:
            reach = run.reach or Reach()
            if reach.makes_files:
                target.make_files(
                    run.workload.threads, run.workload.span_start_bytes + run.workload.span_bytes
                )
            options = _options(target, run, reach, kept)
            with surrounded(target, reach.caching):
                settle(reach.settle_ns, poll)
                if reach.processes > 1:
                    refuse_elsewhere(reach.caching.mode, run.cell)
                    text = run_in_processes(str(target.path), workload, options, reach.processes, poll)
                else:
                    text = _core.run_file(str(target.path), workload, options, poll)
    except ValueError as cause:
        raise Refused(f"{run.cell}: {cause}") from cause
    except Refused:
        # What vanished after it was looked at is refused as if it had never been made.
        _still_there(target, run)
        raise
    except OSError as cause:
        raise RunFailed.from_os_error(f"{run.cell} on {target.spec}", cause) from cause
    record: dict[str, Any] = msgspec.json.decode(text)
    if record["interrupted"]:
        raise Interrupted()
    if failure := failure_of(record, f"{run.cell} on {target.spec}"):
        raise failure
    _still_there(target, run)
    return record


def _options(target: Target, run: PlannedRun, reach: Reach, kept: Kept | None) -> str:
    """The engine's options (JSON), with what the files must be, and the file of the log."""
    own = target.identities
    if run.workload is not None and run.workload.files == "per_thread":
        own = own[1:]
    options = {**msgspec.to_builtins(reach.options), "expects": [identity.to_json() for identity in own]}
    if reach.log:
        if kept is None:
            raise Refused(f"{run.cell}: a log of every operation needs a study folder")
        options["log"] = str(kept.log_of(run.index))
    return msgspec.json.encode(options).decode()


def _perform_job(target: Target, run: PlannedRun, job: Job, poll: Poll) -> dict[str, Any]:
    _still_there(target, run)
    what = f"{run.cell} on {target.spec}"
    try:
        caching = Caching("limited", job.limit_bytes) if job.limit_bytes else Caching("warm")
        refuse_elsewhere(caching.mode, run.cell)
        with surrounded(target, caching):
            return perform_job(target, job, what, poll)
    except OSError as cause:
        raise RunFailed.from_os_error(what, cause) from cause


def workload_json(workload: Workload, kept: Kept | None) -> str:
    """The JSON that the core reads: that of the workload, with the operations of a trace in place of its file."""
    pattern = workload.pattern
    if isinstance(pattern, str) or pattern.trace_file is None:
        return workload.to_json()
    operations = kept.load_trace(pattern.trace_file.sha256) if kept is not None else None
    if operations is None:
        raise RunFailed(f"the trace {pattern.trace_file.path} is not in the study folder", cause="vanished")
    fields = msgspec.structs.asdict(workload)
    fields["pattern"] = {"trace": {"operations": msgspec.Raw(operations), "timed": pattern.trace_file.timed}}
    return msgspec.json.encode(fields).decode()


def _still_there(target: Target, run: PlannedRun) -> None:
    """An open file outlives its name: without this look, a run would go on in a file that nobody can find."""
    if target.path is not None and not target.path.exists():
        raise RunFailed(f"{run.cell}: {target.path} vanished; bring it back and resume", cause="vanished")


def _rest(target: Target, idle_ns: int, poll: Poll) -> dict[str, Any]:
    """Leave the target alone for `idle_ns` nanoseconds of its own time."""
    if target.simulation is not None:
        target.simulation.idle(idle_ns)
    else:
        rest(idle_ns, poll)
    return empty_record(idle_ns)
