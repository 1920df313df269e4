"""One run of work on files: a function for each family, by which `run` performs it.

Scope: one record for the run, with what the journal asks of every run; a set of tests has in addition the
record of each test that is wanted (`results`), which the tables take for runs of their own. Each function raises
RunFailed when the target failed under it, Interrupted when `poll` asked to stop, OSError when it is void; `what` names
the run in messages.
What a job cannot do, the core refuses.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mileage.errors import Interrupted, Refused
from mileage.execute.latency_logs import check_latency_logs
from mileage.execute.run_failure import Poll, Tested, failure_of
from mileage.model.run_record import RunRecord, TestResult
from mileage.plan.external_program import Program
from mileage.plan.iozone_suite import Suite
from mileage.plan.name_operations import Names
from mileage.plan.task_jobs import IorRun, MdtestRun, MetaratesRun
from mileage.targets import Target
from mileage.targets.file_identity import FileIdentity, opened_as


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
