"""Execute one planned run: a workload on a real target with the wall clock, or on a virtual drive in simulated time.

Nothing above knows which it was.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from mileage.errors import Interrupted, MileageError, Refused, RunFailed
from mileage.execute.latency_logs import check_latency_logs
from mileage.execute.run_failure import Poll, Tested, failure_of
from mileage.execute.workers import refuse_elsewhere
from mileage.model.run_record import RunRecord, TestResult
from mileage.plan import PlannedRun, Workload
from mileage.plan.external_program import Program
from mileage.plan.io_options import Reach
from mileage.plan.iozone_suite import Suite
from mileage.plan.name_operations import Names
from mileage.plan.page_cache_state import Caching
from mileage.plan.run_action import Idle, Io, Mirror, Reset
from mileage.plan.task_jobs import IorRun, MdtestRun, MetaratesRun
from mileage.store.study_folder import StudyFolder
from mileage.targets import Target
from mileage.targets.file_identity import FileIdentity, opened_as
from mileage.targets.memory_limit import limited_memory
from mileage.targets.page_cache import drop_caches, empty_cache, fill_cache

# One run of work on files: a function for each family, by which `run` performs it.
# Scope: one record for the run, with what the journal asks of every run; a set of tests has in addition the record of
# each test that is wanted (`results`), which the tables take for runs of their own. Each function raises RunFailed
# when the target failed under it, Interrupted when `poll` asked to stop, OSError when it is void; `what` names the
# run in messages. What a job cannot do, the core refuses.


class _IozoneResults(msgspec.Struct):
    """Results of one set of IOzone's tests."""

    results: list[TestResult]
    interrupted: bool


def perform_program(target: Target, job: Program, what: str, poll: Poll) -> RunRecord:
    """Run a program in the target's directory."""
    from mileage.execute.command import perform_command

    return perform_command(job, target.place, what, poll, target.place_identity)


def perform_task_run(
    target: Target,
    job: IorRun | MdtestRun | MetaratesRun,
    what: str,
    poll: Poll,
    tested: Tested | None = None,
) -> RunRecord:
    """Do a run of tests that several tasks do together. `tested` gets each result of metarates' when it is there."""
    if target.simulation is not None:
        from mileage.execute.host_files import tasks_on_host

        return _together(tasks_on_host(target.simulation.host, job.value, what, poll), job.names)
    from mileage.execute.tasks import perform_tasks

    assert target.path is not None
    place = target.path.with_suffix(".tasks")
    results = perform_tasks(place, job.value, what, poll, target.place_identity, tested)
    return _together(results, job.names)


def perform_suite(
    target: Target, job: Suite, what: str, poll: Poll, tested: Tested | None = None
) -> RunRecord:
    """Do a set of IOzone's tests. `tested` gets the result of each wanted one soon after it is done."""
    from mileage import _core

    if target.simulation is not None:
        from mileage.execute.host_files import suite_on_host

        text = suite_on_host(target.simulation.host, job, what, poll)
        return _suite_record(job, msgspec.json.decode(text, type=_IozoneResults), what)
    more: dict[str, object] = {}
    if target.place_identity is not None:
        directory = target.place_identity.to_json()
        manner = job.value.manner
        if manner is not msgspec.UNSET and manner.remount is not None:
            # A file system on a loop device may get another one, and so another number, whenever it is mounted.
            directory["device"] = None
        more["directory"] = directory
    if job.value.manner is not msgspec.UNSET and job.value.manner.logs is not None:
        check_latency_logs(job.value.manner.logs)
    path, files = _own_files(target, job)
    if files:
        more["files"] = files
    value = msgspec.json.encode({**msgspec.to_builtins(job.value), **more}).decode()

    def finished(text: str) -> None:
        result = msgspec.json.decode(text, type=TestResult)
        if (
            tested is not None
            and result.name in job.names
            and result.reported
            and result.record.error is None
        ):
            tested(result)

    if job.options.processes is True:
        from mileage.execute.iozone_processes import ChildProcesses

        text = ChildProcesses(path, value, poll).run(finished)
    else:
        text = _core.run_iozone(path, value, poll, finished)
    return _suite_record(job, msgspec.json.decode(text, type=_IozoneResults), what)


def _suite_record(job: Suite, done: _IozoneResults, what: str) -> RunRecord:
    """The record of a set of IOzone's tests. Raises RunFailed and Interrupted."""
    if done.interrupted:
        raise Interrupted()
    for result in done.results:
        if failure := failure_of(result.record, f"{what}: {result.name}"):
            raise failure
    return _together(done.results, job.names)


def perform_names(target: Target, job: Names, what: str, poll: Poll) -> RunRecord:
    """Run a metadata job (create, stat, ...) in a directory whose name lets later runs clean up after a kill."""
    from mileage import _core

    if target.simulation is not None:
        from mileage.execute.host_files import names_on_host

        return names_on_host(target.simulation.host, job, what, poll)
    assert target.path is not None
    assert target.place is not None
    place = target.path.with_suffix(".metadata")
    with opened_as(str(target.spec), place.parent, target.place_identity) as folder:
        shutil.rmtree(place.name, ignore_errors=True, dir_fd=folder)
        os.mkdir(place.name, 0o755, dir_fd=folder)
        try:
            own = FileIdentity.at(place)
            value = msgspec.json.encode({**msgspec.to_builtins(job.value), "place": "given"}).decode()
            around = {**msgspec.to_builtins(job.options), "within": (str(place), own.to_json())}
            options = msgspec.json.encode(around).decode()
            text = _core.run_metadata(str(place), value, poll, options)
        finally:
            # Remove only an empty directory: files that the core could not remove are counted in the record, and stay
            # until the next run or the end of the study.
            with suppress(OSError):
                os.rmdir(place.name, dir_fd=folder)
    record = RunRecord.from_json(text)
    if record.interrupted:
        raise Interrupted()
    if failure := failure_of(record, what):
        raise failure
    return record


def _own_files(target: Target, job: Suite) -> tuple[str, list[str]]:
    """Directory in which a set of tests works, and the children's files if they have names.

    Raises Refused for one with content.
    """
    place, name = target.place, job.options.name or None
    names: list[str] = list(job.options.files or ())
    workers, makes = job.value.workers, job.value.tests[0] in ("write", "fwrite", "pwrite")
    if place is None or (name is None and not names):
        own = f"{target.path}.iozone"
        for left in [own] if workers is None else [f"{own}.{number}" for number in range(workers)]:
            if makes:
                # Remove files of a killed process, because IOzone's workers would overwrite them in place.
                Path(left).unlink(missing_ok=True)
        return own, []
    paths = [place / found for found in names] or [place / str(name)]
    if workers is not None and not names:
        paths = [place / f"{name}.{number}" for number in range(workers)]
    for path in paths if makes else ():
        if os.path.lexists(path) and (not path.is_file() or path.is_symlink() or path.stat().st_size > 0):
            raise Refused(
                path,
                "is there and holds something",
                advice="Mileage writes over no file that it did not make",
                code="exists",
            )
    return str(place / (name or names[0])), [str(path) for path in paths] if names else []


def _together(results: Sequence[TestResult], names: tuple[str, ...]) -> RunRecord:
    """The record of a set of tests: their sums, with the records of the wanted ones."""
    whole = RunRecord.merge([result.record for result in results])
    wanted = [result for result in results if result.name in names and result.reported]
    # Tests differ in kind, so that their latencies and counters mean nothing together: each test keeps its own.
    return msgspec.structs.replace(
        whole, latency=RunRecord.idle(0).latency, counters={}, notes=[], results=wanted
    )


class RunInputs(NamedTuple):
    """A run that is being done."""

    target: Target
    run: PlannedRun
    idle_ns: int
    poll: Poll
    kept: StudyFolder | None
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
    kept: StudyFolder | None = None,
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


def _options(target: Target, run: PlannedRun, reach: Reach, kept: StudyFolder | None) -> str:
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


def workload_json(workload: Workload, kept: StudyFolder | None) -> str:
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
