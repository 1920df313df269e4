"""One run of IOR, mdtest or metarates: phases that several tasks do together.

Scope: each phase is one step of all tasks; its time is from the earliest start to the latest end of any task,
on one clock. IOR has two spans, opening, and transfer with closing, since the load generator sets up its buffers
between them (`phases` of a record). A record also holds the figures of each task (`tasks`).
The core refuses what a task cannot do. Files lie in a directory made for the run, which is
removed with its contents.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mileage.errors import Interrupted, RunFailed
from mileage.execute.processes import workers_for
from mileage.execute.run_failure import Poll, Tested, failure_of
from mileage.execute.workers import Member, Step, Workers, byte_order, metadata_order
from mileage.model.ior_phase import whole_span
from mileage.model.run_record import Phases, RunRecord, TaskRecord, TestResult, ThreadRecord
from mileage.plan.tasks import (
    MDTEST,
    METARATES,
    Ior,
    Mdtest,
    Metarates,
    Share,
    mdtest_share,
    mdtest_tree_share,
    metarates_share,
)
from mileage.targets.file_identity import FileIdentity, opened_as, replaced


def perform_tasks(
    place: Path,
    wanted: Ior | Mdtest | Metarates,
    what: str,
    poll: Poll,
    own: FileIdentity | None = None,
    tested: Tested | None = None,
) -> list[TestResult]:
    """Do one run of a tool in a new directory at `place`. `what` names it in messages.

    `own`: what the directory above it must be. `tested` gets each result of metarates before the next test begins.
    Raises Refused, RunFailed and Interrupted. The directory is removed, whatever happens.
    """
    with own_directory(place, what, own) as made, workers_for(wanted.tasks) as workers:
        conductor = Conductor(workers, place, what, poll, made)
        if isinstance(wanted, Ior):
            return conductor.ior(place / "ior", wanted)
        if isinstance(wanted, Metarates):
            return conductor.metarates(wanted, tested)
        return conductor.mdtest(wanted)


@contextmanager
def own_directory(place: Path, what: str, above: FileIdentity | None = None) -> Iterator[FileIdentity]:
    """A new directory, in place of one that a run which was killed has left, and removed on the way out.

    `above`: what the directory that it lies in must be. It stays when a rank was lost: its launcher kills this process
    soon, and the journal is to hear of it before that. Raises RunFailed when something else has taken its place.
    """
    with opened_as(what, place.parent, above, os.O_RDONLY | os.O_DIRECTORY) as folder:
        shutil.rmtree(place.name, ignore_errors=True, dir_fd=folder)
        try:
            os.mkdir(place.name, mode=0o755, dir_fd=folder)
        except FileExistsError:
            raise RunFailed(
                f"{what}: {place} is in the way and is no directory of Mileage; remove it"
            ) from None
        made = _directory_in(folder, place.name)
        stays = False
        try:
            yield made
        except RunFailed as failure:
            stays = failure.cause == "rank"
            raise
        finally:
            if not stays:
                try:
                    is_own = _directory_in(folder, place.name) == made
                except OSError:
                    is_own = False
                if not is_own:
                    raise replaced(what, place)
                shutil.rmtree(place.name, ignore_errors=True, dir_fd=folder)


def _directory_in(folder: int, name: str) -> FileIdentity:
    """The identity of a directory by its name in another one; a link is none. Raises OSError."""
    return FileIdentity.of_status(os.stat(name, dir_fd=folder, follow_symlinks=False))


class Conductor:
    """Has the workers do the phases of one run, one after the other."""

    def __init__(
        self, workers: Workers, directory: Path, what: str, poll: Poll, own: FileIdentity | None = None
    ) -> None:
        """`own`: what the directory must be."""
        self._workers = workers
        self._directory = directory
        self._own = own
        self._files: tuple[FileIdentity, ...] = ()
        """Identities of the files that IOR's tasks wrote: one shared by all, or one each."""
        self._what = what
        self._ask = poll
        self._moved = (0, 0)
        """Bytes and operations of the phases that are over."""

    def ior(self, path: Path, ior: Ior) -> list[TestResult]:
        """The phases of IOR on the file at `path` (a file for each task: `path` with .0, .1 and so on)."""
        results = []
        for phase in ior.phases:
            record = self._ior_phase(path, ior, phase)
            results.append(TestResult(f"ior.{phase}", record))
            if phase == "write":
                self._check_sizes(path, ior)
        return results

    def _ior_phase(self, path: Path, ior: Ior, phase: str) -> RunRecord:
        from mileage import _core

        engine = {**msgspec.to_builtins(ior.options(phase)), "create": phase == "write"}
        if self._own is not None:
            engine["directory"] = self._own.to_json()
            engine["expects"] = [identity.to_json() for identity in self._files]
        options = json.dumps(engine)
        orders = [
            byte_order(str(path), ior.workload(phase, distance).to_json(), options, task, 1)
            for task, distance in enumerate(ior.distances(phase))
        ]
        step = self._workers.do(orders, ior.tasks, self._poll)
        if phase == "write":
            self._files = self._written(step, path, ior.files == "shared")
        workload = ior.workload(phase).to_json()
        record = RunRecord.from_json(_core.merge_shares(workload, list(step.shares), list(step.shifts_ns)))
        tasks = ior_tasks(step, self._workers.members)
        phases = phases_of(tasks)
        record = msgspec.structs.replace(record, tasks=tasks, phases=phases, elapsed_ns=phases.total_ns)
        return self._checked(record, f"ior.{phase}")

    def _written(self, step: Step, path: Path, shared: bool) -> tuple[FileIdentity, ...]:
        """The files that the tasks opened. Raises RunFailed when one file of all was not the same for each."""
        files = [msgspec.convert(json.loads(share)["opened"][0], FileIdentity) for share in step.shares]
        if len({member.host for member in self._workers.members}) > 1:
            # Device numbers mean nothing across machines, because each machine numbers its file systems itself.
            files = [msgspec.structs.replace(identity, device=None) for identity in files]
        if not shared:
            return tuple(files)
        if len(set(files)) > 1:
            raise replaced(self._what, path)
        return (files[0],)

    def _check_sizes(self, path: Path, ior: Ior) -> None:
        _check_sizes(path, ior, f"{self._what}: ior.write")

    def _make_directory(self, name: str) -> None:
        (self._directory / name).mkdir()

    def _remove_renamed(self, value: Mdtest) -> None:
        """Remove the directories that the test of renaming has left under other names."""
        for left in list(self._directory.rglob("dir.mdtest.*")):
            left.rmdir()

    def metarates(self, value: Metarates, tested: Tested | None = None) -> list[TestResult]:
        """The tests that are wanted, in metarates' order; files are made and removed outside of the time."""
        if value.own_directories:
            for task in range(value.tasks):
                self._make_directory(str(task))
        results = []
        tests = [test for test in METARATES if test in value.tests]
        for test in tests:
            if test != "create":
                # As metarates does: the first task creates the files of all tasks, those of the last task first.
                for task in reversed(range(value.tasks)):
                    self._alone(*metarates_share(value, "create", task))
            shares = [metarates_share(value, test, task) for task in range(value.tasks)]
            if test == "create":
                shares = [(where, replace(share, fsync=value.fsync)) for where, share in shares]
            results.append(TestResult(f"metarates.{test}", self._names(shares, test, value.timeout_ns)))
            if tested is not None:
                tested(results[-1])
            if test != "unlink" and not (value.keep and test == tests[-1]):
                for task in range(value.tasks):
                    self._alone(*metarates_share(value, "unlink", task))
        return results

    def mdtest(self, value: Mdtest) -> list[TestResult]:
        """The tests that are wanted, in mdtest's order, and what each of them needs."""
        results = [self._trees(value, "mkdir", "tree_create")]
        for kind in ("dir", "file"):
            tests = [test for test in MDTEST if test in value.tests and test.startswith(f"{kind}_")]
            if not tests:
                continue
            done = [
                test
                for test in (f"{kind}_create", f"{kind}_stat", "file_read", f"{kind}_remove")
                if test in tests or test == f"{kind}_create"
            ]
            results += [self._mdtest(value, test) for test in done]
            if f"{kind}_remove" not in tests and not value.keep:
                self._clear(value, f"{kind}_remove")
            if "dir_rename" in tests and kind == "dir":
                # Use separate directories, because this test leaves the files under other names.
                self._mdtest(value, "dir_create")
                results.append(self._mdtest(value, "dir_rename"))
                self._remove_renamed(value)
        if not value.keep:
            results.append(self._trees(value, "rmdir", "tree_remove"))
        return [result for result in results if result.test in value.tests]

    def _mdtest(self, value: Mdtest, test: str) -> TestResult:
        shares = [mdtest_share(value, test, task) for task in range(value.tasks)]
        return TestResult(f"mdtest.{test}", self._names(shares, test, value.timeout_ns))

    def _clear(self, value: Mdtest, test: str) -> None:
        plain = msgspec.structs.replace(value, stride=0)
        for task in range(value.tasks):
            self._alone(*mdtest_share(plain, test, task))

    def _trees(self, value: Mdtest, operation: str, test: str) -> TestResult:
        """Make or remove the trees: the first task the one of all, or each task its own."""
        own = value.own_directories
        shares = [
            ("", mdtest_tree_share(value, operation, task)) for task in range(value.tasks if own else 1)
        ]
        record = (
            self._names(shares, test, value.timeout_ns)
            if own
            else self._checked(self._by_first(*shares[0], value.timeout_ns), test)
        )
        return TestResult(f"mdtest.{test}", record)

    def _names(self, shares: Sequence[tuple[str, Share]], test: str, timeout_ns: int) -> RunRecord:
        """A step of operations on names, of which each task has a share."""
        from mileage import _core

        options = self._name_options(timeout_ns)
        orders = [
            metadata_order(str(self._directory / where), share.to_json(), options) for where, share in shares
        ]
        step = self._workers.do(orders, len(orders), self._poll)
        record = RunRecord.from_json(_core.merge_metadata_shares(list(step.shares), list(step.shifts_ns)))
        # Several tasks report the same facts about their directories: keep each note once.
        notes = list({note.partition(" ")[2]: note for note in record.notes}.values())
        tasks = metadata_tasks(step, self._workers.members)
        return self._checked(msgspec.structs.replace(record, tasks=tasks, notes=notes), test)

    def _name_options(self, timeout_ns: int) -> str:
        # Use relative names as the tools do: then a name has equally many components however deep the target is.
        options = {"timeout_ns": timeout_ns, "names_from": str(self._directory.parent)}
        if self._own is not None:
            return json.dumps({**options, "within": [str(self._directory), self._own.to_json()]})
        return json.dumps(options)

    def _alone(self, where: str, share: Share) -> None:
        """Do a share here, untimed."""
        record = self._by_first(where, share, 0)
        if record.interrupted:
            raise Interrupted()
        if failure := failure_of(record, self._what):
            raise failure

    def _by_first(self, where: str, share: Share, timeout_ns: int) -> RunRecord:
        """Let the first task, which is this process, do a share while the others wait, and return its result."""
        from mileage import _core

        def poll(byte_count: int, operations: int) -> bool:
            # An MPI launcher that lost a rank ends the others, so their own errors are only a consequence.
            self._workers.check()
            return self._poll(byte_count, operations)

        path = str(self._directory / where)
        text = _core.run_metadata(path, share.to_json(), poll, self._name_options(timeout_ns))
        record = RunRecord.from_json(text)
        if record.interrupted:
            self._workers.check()
        return record

    def _poll(self, byte_count: int, operations: int) -> bool:
        return self._ask(self._moved[0] + byte_count, self._moved[1] + operations)

    def _checked(self, record: RunRecord, test: str) -> RunRecord:
        """The record of a phase that came to its end. Raises RunFailed and Interrupted."""
        if record.interrupted:
            raise Interrupted()
        if failure := failure_of(record, f"{self._what}: {test}"):
            raise failure
        self._moved = (self._moved[0] + record.bytes_moved, self._moved[1] + record.operations)
        return record


class _Part(msgspec.Struct):
    """Result of one thread: bytes, operations, and start and end in ns since the start of the share."""

    record: ThreadRecord
    first_ns: int | None
    last_ns: int
    durable_ns: int | None = None
    closing_ns: tuple[int, int] | None = None

    @property
    def end_ns(self) -> int:
        return max(self.last_ns, self.durable_ns or 0)


class _Share(msgspec.Struct):
    """Result of one task's share, as the core returns it."""

    parts: tuple[_Part]
    origin_ns: int
    opening_ns: tuple[int, int] = (0, 0)


def ior_tasks(step: Step, members: Sequence[Member]) -> list[TaskRecord]:
    """Actions of each task and their times, in nanoseconds since the common start; opening comes before it."""
    tasks = []
    for share, shift_ns, task in _tasks(step, members):
        (part,) = share.parts
        end_ns = part.end_ns
        spans = {
            "open_ns": [at_ns - share.origin_ns for at_ns in share.opening_ns],
            "transfer_ns": (part.first_ns or 0, end_ns),
            "close_ns": part.closing_ns or (end_ns, end_ns),
        }
        shifted = {name: (first + shift_ns, last + shift_ns) for name, (first, last) in spans.items()}
        operations = part.record.ops_read + part.record.ops_written
        tasks.append(msgspec.structs.replace(task, operations=operations, **shifted))
    return tasks


def metadata_tasks(step: Step, members: Sequence[Member]) -> list[TaskRecord]:
    """Actions of each task and their times, in nanoseconds since the common start."""
    tasks = []
    for share, shift_ns, task in _tasks(step, members):
        (part,) = share.parts
        span = ((part.first_ns or 0) + shift_ns, part.last_ns + shift_ns)
        tasks.append(msgspec.structs.replace(task, operations=part.record.ops_metadata, operate_ns=span))
    return tasks


def _tasks(step: Step, members: Sequence[Member]) -> Iterator[tuple[_Share, int, TaskRecord]]:
    """Each share of a step, the shift of its times, and the task that did it."""
    for at, (text, shift_ns, member) in enumerate(zip(step.shares, step.shifts_ns, members, strict=False)):
        share = msgspec.json.decode(text, type=_Share)
        clock_offset_ns = step.offsets_ns[member.number] if step.offsets_ns else None
        task = TaskRecord(
            task=member.number,
            host=member.host,
            pid=member.pid,
            bytes=share.parts[0].record.bytes_read + share.parts[0].record.bytes_written,
            operations=0,
            clock_offset_ns=clock_offset_ns,
            clock_bound_ns=step.bounds_ns[at] if step.offsets_ns else None,
        )
        yield share, shift_ns, task


def phases_of(tasks: Sequence[TaskRecord]) -> Phases:
    """Duration of each phase, from the earliest start to the latest end of any task, in nanoseconds.

    What the load generator sets up between opening and the first transfer is not in the total.
    """

    def whole(first: str, last: str) -> int:
        return int(whole_span([(getattr(task, first)[0], getattr(task, last)[1]) for task in tasks]))

    open_ns = whole("open_ns", "open_ns")
    return Phases(
        open_ns=open_ns,
        transfer_ns=whole("transfer_ns", "transfer_ns"),
        close_ns=whole("close_ns", "close_ns"),
        total_ns=open_ns + whole("transfer_ns", "close_ns"),
    )


def _check_sizes(path: Path, ior: Ior, what: str) -> None:
    """Raise RunFailed when a file is not as long as what was written into it."""
    shared = ior.files == "shared"
    paths = [path] if shared else [Path(f"{path}.{task}") for task in range(ior.tasks)]
    expected = ior.aggregate_bytes if shared else ior.aggregate_bytes // ior.tasks
    for file in paths:
        found = file.stat().st_size
        if found != expected:
            raise RunFailed(f"{what}: {file} has {found} bytes, expected {expected}", cause="verification")
