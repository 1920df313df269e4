"""Execute one planned run: a workload on a real target with the wall clock, or on a virtual drive in simulated time.

Nothing above knows which it was.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from mileage.errors import Interrupted, MileageError, Refused, RunFailed
from mileage.execute.file_job import perform_names, perform_program, perform_suite, perform_task_run
from mileage.execute.run_failure import Poll, Tested, failure_of
from mileage.execute.workers import refuse_elsewhere
from mileage.model.run_record import RunRecord
from mileage.plan import PlannedRun, Workload
from mileage.plan.external_program import Program
from mileage.plan.io_options import Reach
from mileage.plan.iozone_suite import Suite
from mileage.plan.name_operations import Names
from mileage.plan.page_cache_state import Caching
from mileage.plan.run_action import Idle, Io, Mirror, Reset
from mileage.plan.task_jobs import IorRun, MdtestRun, MetaratesRun
from mileage.targets import Target
from mileage.targets.memory_limit import limited_memory
from mileage.targets.page_cache import drop_caches, empty_cache, fill_cache


class RunFiles(Protocol):
    """Storage for the inputs of a run other than its workload; a study folder is one."""

    def load_trace(self, sha256: str) -> bytes | None:
        """The operations of a trace as a JSON list; None when there is none."""

    def log_of(self, run: int) -> Path:
        """Path for the log of every single operation of a run; the file is created by the engine."""


class RunInputs(NamedTuple):
    """A run that is being done."""

    target: Target
    run: PlannedRun
    idle_ns: int
    poll: Poll
    kept: RunFiles | None
    tested: Tested | None

    @property
    def what(self) -> str:
        """The run in messages."""
        return f"{self.run.cell} on {self.target.spec}"


def perform(
    target: Target,
    run: PlannedRun,
    *,
    idle_ns: int,
    poll: Poll,
    kept: RunFiles | None = None,
    tested: Tested | None = None,
) -> RunRecord:
    """Do one run and return its record.

    `idle_ns`: how long an idle run rests, in nanoseconds. `kept`: where traces are found and logs are put; without it,
    a run that has a trace or a log is refused. `tested` gets the result of each test of a set on a real file.

    Raises:
        RunFailed: the target failed under the load; `cause` names the error (`ENOSPC`, `EIO`, `vanished` ...).
        Interrupted: `poll` asked to stop.
    """
    before = target.drive_counters()
    record = _PERFORM[type(run.action)](RunInputs(target, run, idle_ns, poll, kept, tested))
    return _with_drive_counters(record, before, target)


def _with_drive_counters(record: RunRecord, before: Mapping[str, int], target: Target) -> RunRecord:
    """The record with what a served drive counted meanwhile, as the record of a virtual drive has it.

    It has nothing of a drive that was replaced meanwhile, and of one that does not answer any more.
    """
    counted: dict[str, int] = {}
    if before:
        with contextlib.suppress(MileageError):
            after = target.drive_counters()
            counted = {name: value - before.get(name, 0) for name, value in after.items()}
    if not any(counted.values()) or min(counted.values()) < 0:
        return record
    drive = {name: value for name, value in counted.items() if value}
    return msgspec.structs.replace(record, counters={**record.counters, **drive})


def _io(inputs: RunInputs) -> RunRecord:
    """Turn a workload on the target."""
    from mileage import _core

    target, run, poll, kept = inputs.target, inputs.run, inputs.poll, inputs.kept
    assert run.workload is not None
    workload = workload_json(run.workload, kept)
    _still_there(target, run)
    try:
        if target.simulation is not None:
            if isinstance(run.action, Io) and run.action.power_cut:
                target.simulation.before_power_cut()
            text = target.simulation.run(workload, poll, run.reach)
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
                    from mileage.execute.processes import run_in_processes

                    refuse_elsewhere(reach.caching.mode, run.cell)
                    text = run_in_processes(str(target.path), workload, options, reach.processes, poll)
                else:
                    text = _core.run_file(str(target.path), workload, options, poll)
    except ValueError as cause:
        raise Refused(run.cell, str(cause), code="wrong-value") from cause
    except Refused:
        # A target that vanished after the look would be refused as if it had never existed: check for that first.
        _still_there(target, run)
        raise
    except OSError as cause:
        raise RunFailed.from_os_error(f"{run.cell} on {target.spec}", cause) from cause
    record = RunRecord.from_json(text)
    if record.interrupted:
        stopped = Interrupted()
        stopped.record = record
        raise stopped
    if isinstance(run.action, Io) and run.action.power_cut and target.simulation is not None:
        record = _power_cut(target, run, record)
    if failure := failure_of(record, f"{run.cell} on {target.spec}"):
        raise failure
    _still_there(target, run)
    return record


def _power_cut(target: Target, run: PlannedRun, record: RunRecord) -> RunRecord:
    """Cut the power at the end of a run; the record with counters of what that lost.

    Raises Refused when the drive's profile does not say what a power cut loses.
    """
    assert target.simulation is not None
    assert run.workload is not None
    try:
        counters = target.simulation.power_cut(run.workload.seed)
    except ValueError as cause:
        raise Refused(run.cell, str(cause), code="unsupported") from cause
    return msgspec.structs.replace(record, counters={**record.counters, **counters})


def _options(target: Target, run: PlannedRun, reach: Reach, kept: RunFiles | None) -> str:
    """The engine's options (JSON), with what the files must be, and the file of the log."""
    own = target.identities
    if run.workload is not None and run.workload.files == "per_thread":
        own = own[1:]
    options = {**msgspec.to_builtins(reach.options), "expects": [identity.to_json() for identity in own]}
    if reach.log:
        if kept is None:
            raise Refused(run.cell, "a log of every operation needs a study folder", code="unsupported")
        options["log"] = str(kept.log_of(run.index))
    return msgspec.json.encode(options).decode()


def _suite(inputs: RunInputs) -> RunRecord:
    """Do a set of IOzone's tests."""
    return _on_files(partial(perform_suite, tested=inputs.tested), inputs)


def _task_run(inputs: RunInputs) -> RunRecord:
    """Do tests that several tasks do together, and report each as it ends."""
    return _on_files(partial(perform_task_run, tested=inputs.tested), inputs)


def _on_files(perform_job: Callable[[Target, Any, str, Poll], RunRecord], inputs: RunInputs) -> RunRecord:
    """Do work on files by the function of its family."""
    target, run, job = inputs.target, inputs.run, inputs.run.job
    assert job is not None
    _still_there(target, run)
    try:
        if target.simulation is not None:
            return perform_job(target, job, inputs.what, inputs.poll)
        refuse_elsewhere(job.caching.mode, run.cell)
        with surrounded(target, job.caching):
            return perform_job(target, job, inputs.what, inputs.poll)
    except OSError as cause:
        raise RunFailed.from_os_error(inputs.what, cause) from cause


def workload_json(workload: Workload, kept: RunFiles | None) -> str:
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
    """An open file outlives its name: without this check, a run would continue in a file that was removed."""
    if target.path is not None and not target.path.exists():
        raise RunFailed(f"{run.cell}: {target.path} vanished; bring it back and resume", cause="vanished")


def _rest(inputs: RunInputs) -> RunRecord:
    """Leave the target alone for `idle_ns` nanoseconds of its own time."""
    if inputs.target.simulation is not None:
        inputs.target.simulation.idle(inputs.idle_ns)
    else:
        rest(inputs.idle_ns, inputs.poll)
    return RunRecord.idle(inputs.idle_ns)


def _reset(inputs: RunInputs) -> RunRecord:
    """Bring a target back by "trim", "purge" or "remount"; the record says in `notes` what was done.

    Raises Refused when the target cannot, RunFailed when the system fails.
    """
    target = inputs.target
    started_ns = time.monotonic_ns()
    note = {"trim": target.trim, "purge": target.purge, "remount": target.remount}[inputs.run.cell]()
    elapsed_ns = 0 if target.is_virtual else time.monotonic_ns() - started_ns
    return msgspec.structs.replace(RunRecord.idle(elapsed_ns), notes=[note])


_PERFORM: Final[dict[type, Callable[[RunInputs], RunRecord]]] = {
    Io: _io,
    Idle: _rest,
    Mirror: _rest,
    Reset: _reset,
    Suite: _suite,
    Names: partial(_on_files, perform_names),
    IorRun: partial(_on_files, perform_task_run),
    MdtestRun: partial(_on_files, perform_task_run),
    MetaratesRun: _task_run,
    Program: partial(_on_files, perform_program),
}
"""The function that performs each type of action in `mileage.plan.run_action`."""


# Conditions around a run on a real target: state of the page cache, memory limit, rest before the run.
# Scope: the `Caching` of a run, done before its first operation and undone after its last one, and its `settle`.
# What the machine does not allow, `targets` refuses.

_SLICE_S: Final = 0.1
"""Seconds between two polls for an interruption during a rest."""


@contextmanager
def surrounded(target: Target, caching: Caching) -> Iterator[None]:
    """Bring the page cache to its state, and undo on the way out what was set. Raises Refused and OSError."""
    what = str(target.spec)
    if caching.mode in ("cold", "limited"):
        for path, own in zip(target.paths, target.identities, strict=True):
            empty_cache(path, own)
    elif caching.mode == "dropped":
        drop_caches(what)
    elif caching.mode == "hot":
        for path, own in zip(target.paths, target.identities, strict=True):
            fill_cache(path, own)
    if caching.mode != "limited":
        yield
        return
    with limited_memory(caching.limit_bytes, what):
        yield


def settle(rest_ns: int, poll: Poll) -> None:
    """Write out what is dirty, of whatever target, and leave the machine alone for `rest_ns` nanoseconds.

    Raises Interrupted when `poll` asks to stop.
    """
    if rest_ns:
        os.sync()
        rest(rest_ns, poll)


def rest(rest_ns: int, poll: Poll) -> None:
    """Let `rest_ns` nanoseconds pass. Raises Interrupted when `poll` asks to stop."""
    end = time.monotonic() + rest_ns / 1e9
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _SLICE_S))
        if poll(0, 0):
            raise Interrupted()
