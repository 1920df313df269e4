"""Work on files on a modelled host: IOzone's suite, names, IOR, mdtest and metarates, in virtual time.

What it models: the phases of `execute.tasks`, in the same order, as jobs that the host does; its tasks are simulated
threads. Files lie in a directory made for the run, which is removed with its contents.
What it refuses: names of IOzone's children. What a host cannot honour else, the plan refuses
(`Job.not_on_a_host`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.errors import Interrupted, Refused
from mileage.execute.run_failure import Poll, failure_of
from mileage.execute.tasks import Conductor, phases_of
from mileage.execute.workers import Member, Step, Workers
from mileage.model.run_record import RunRecord, TaskRecord, TestResult
from mileage.plan.iozone_suite import Suite
from mileage.plan.name_operations import Names
from mileage.plan.tasks import Ior, Mdtest, Metarates, Share, mdtest_share

_PLACE: Final = "mileage"
"""Directory of a run on the host."""
_FIRST_HANDLE: Final = 16
"""Handle of the first task."""

Span = tuple[int, int]


class _Spans(msgspec.Struct):
    """When a task did what: first and last nanosecond since the start of the phase."""

    open_ns: Span | None
    operate_ns: Span | None
    close_ns: Span | None


class _Phase(msgspec.Struct):
    """A timed phase."""

    name: str
    record: RunRecord
    tasks: list[_Spans]


class _Result(msgspec.Struct):
    """Result of a job."""

    phases: list[_Phase]
    interrupted: bool


def suite_on_host(host: Any, job: Suite, what: str, poll: Poll) -> str:
    """Do a set of IOzone's tests on a file of the host; its results as JSON. Raises Refused."""
    if job.options.files:
        raise Refused(
            what, "a modelled host names the children's files itself", advice="leave -F out", code="no-effect"
        )
    if job.options.processes is True:
        raise Refused(
            what, "children are threads of the simulation", advice="leave processes out", code="no-effect"
        )
    return str(host.run_iozone("iozone", msgspec.json.encode(job.value).decode(), poll))


def names_on_host(host: Any, job: Names, what: str, poll: Poll) -> RunRecord:
    """Do an operation on names in a directory of its own. Raises RunFailed and Interrupted."""
    value = msgspec.json.encode({**msgspec.to_builtins(job.value), "place": "given"}).decode()
    with _own_directory(host):
        return _only(host.run_names(what, [(f"{_PLACE}/", value)], poll), what).record


def tasks_on_host(host: Any, wanted: Ior | Mdtest | Metarates, what: str, poll: Poll) -> list[TestResult]:
    """Do one run of a tool. Raises RunFailed and Interrupted."""
    with _own_directory(host):
        conductor = _HostConductor(host, wanted.tasks, what, poll)
        if isinstance(wanted, Ior):
            return conductor.ior(Path(_PLACE, "ior"), wanted)
        return conductor.metarates(wanted) if isinstance(wanted, Metarates) else conductor.mdtest(wanted)


@contextmanager
def _own_directory(host: Any) -> Iterator[None]:
    """A new directory of the host, removed on the way out."""
    host.remove_tree(_PLACE)
    host.call(json.dumps({"mkdir": {"path": _PLACE}}))
    try:
        yield
    finally:
        host.remove_tree(_PLACE)


def _only(text: str, what: str) -> _Phase:
    """The timed phase of a job that has one. Raises RunFailed and Interrupted."""
    result = msgspec.json.decode(text, type=_Result)
    if result.interrupted:
        raise Interrupted()
    phase = result.phases[-1]
    if failure := failure_of(phase.record, what):
        raise failure
    return phase


class _SimulatedTasks(Workers):
    """The tasks of a run on a host: threads of the simulation."""

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def members(self) -> list[Member]:
        return [Member(number, "simulated", 0) for number in range(self.size)]

    def do(self, orders: Sequence[Any], threads: int, poll: Poll) -> Step:
        raise NotImplementedError("the host does the steps itself")

    def check(self) -> None:
        """Does nothing: a simulated task is not lost."""


class _HostConductor(Conductor):
    """Has the host do the phases of one run, one after the other."""

    def __init__(self, host: Any, tasks: int, what: str, poll: Poll) -> None:
        super().__init__(_SimulatedTasks(tasks), Path(_PLACE), what, poll)
        self._host = host

    def _make_directory(self, name: str) -> None:
        self._host.call(json.dumps({"mkdir": {"path": f"{_PLACE}/{name}"}}))

    def _remove_renamed(self, value: Mdtest) -> None:
        for task in range(value.tasks):
            where, share = mdtest_share(value, "dir_remove", task)
            renamed = {**share.names, "item": f"{share.names['item']}.renamed"}
            self._by_first(where, msgspec.structs.replace(share, names=renamed), 0)

    def _check_sizes(self, path: Path, ior: Ior) -> None:
        """Does nothing: the host writes what it says it wrote."""

    def _ior_phase(self, path: Path, ior: Ior, phase: str) -> RunRecord:
        how = {"create": phase == "write", "direct": ior.direct, "dsync": ior.dsync and phase == "write"}
        name = str(path)
        work = [
            {
                "records": {
                    "workload": json.loads(ior.workload(phase, distance).to_json()),
                    "thread": task,
                    "handle": _FIRST_HANDLE + task,
                    "open": {"path": name if ior.files == "shared" else f"{name}.{task}", "how": how},
                    "close": True,
                }
            }
            for task, distance in enumerate(ior.distances(phase))
        ]
        job = {"phases": [{"name": phase, "timed": True, "work": work}]}
        done = _only(self._host.run_files(json.dumps(job), self._poll), f"{self._what}: ior.{phase}")
        tasks = _task_records(done)
        phases = phases_of(tasks)
        record = msgspec.structs.replace(done.record, tasks=tasks, phases=phases, elapsed_ns=phases.total_ns)
        return self._checked(record, f"ior.{phase}")

    def _names(self, shares: Sequence[tuple[str, Share]], test: str, timeout_ns: int) -> RunRecord:
        named = [
            (f"{_PLACE}/{where}/" if where else f"{_PLACE}/", share.to_json()) for where, share in shares
        ]
        done = _only(self._host.run_names(test, named, self._poll), f"{self._what}: {test}")
        record = msgspec.structs.replace(done.record, tasks=_task_records(done))
        return self._checked(record, test)

    def _by_first(self, where: str, share: Share, timeout_ns: int) -> RunRecord:
        """Let the first task do a share while the others wait."""
        base = f"{_PLACE}/{where}/" if where else f"{_PLACE}/"
        return _only(self._host.run_names("alone", [(base, share.to_json())], self._poll), self._what).record


def _task_records(phase: _Phase) -> list[TaskRecord]:
    """What each task did, and when."""
    records = []
    for number, (spans, thread) in enumerate(zip(phase.tasks, phase.record.threads, strict=True)):
        operations = thread.ops_read + thread.ops_written
        task = TaskRecord(
            task=number,
            host="simulated",
            pid=0,
            bytes=thread.bytes_read + thread.bytes_written,
            operations=operations + thread.ops_metadata,
        )
        if spans.open_ns is None:
            task = msgspec.structs.replace(task, operate_ns=spans.operate_ns)
        else:
            moved = spans.operate_ns or (spans.open_ns[1], spans.open_ns[1])
            task = msgspec.structs.replace(
                task,
                open_ns=spans.open_ns,
                transfer_ns=moved,
                close_ns=spans.close_ns or (moved[1], moved[1]),
            )
        records.append(task)
    return records
