"""The tests of IOR done as IOR does them: its names of files, its order of calls, its times.

Scope: every rank opens, moves, closes; times of all ranks are reduced as IOR reduces them, from the earliest start to
the latest end. Files have IOR's names and stay with -k. An error of a call ends all ranks with 255, as MPI_Abort does.
What is printed, and when a warning is an error, an `IorEvents` decides.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from mileage import _core
from mileage.errors import Refused
from mileage.execute.tool_tasks.ranks import ABORTED, Faults, Ranks, status_of_rank
from mileage.model.ior_phase import IorPhase, StartedTasks, TaskPhase, whole_span
from mileage.plan.ior_options import IorOptions, TransferPhase
from mileage.regular_file import read_text
from mileage.targets.door import Door, WorkPath
from mileage.targets.room import Room

_MODE: Final = 0o664
SUMMARY: Final = "ior-summary"
STATUS_FILE: Final = "stonewall-status"
RANK_TIMES: Final = "ior-rank-times"
"""Kinds of results."""


class IorEvents(Protocol):
    """Receiver of what happens on one rank. Any of these may raise RunFailed to end the test."""

    def starts(self, path: str, tasks: StartedTasks | None) -> None:
        """The test begins; `path`: the file of this rank."""

    def exists(self, path: str) -> None:
        """A file that will be overwritten is there."""

    def repeats(self, repetition: int, signature: int) -> None:
        """A repetition begins."""

    def visits(self, access: str, path: str) -> None:
        """A phase prepares; "write" or "read"."""

    def commences(self, access: str, path: str) -> None:
        """The transfers of a phase begin."""

    def verifies(self) -> None:
        """What was written is read back."""

    def times(self, access: str, repetition: int, times_s: Sequence[float]) -> None:
        """A phase of this rank is over."""

    def compares_times(self, access: str, times_s: Sequence[Sequence[float]]) -> None:
        """All ranks have the times of all."""

    def ends(self, phase: IorPhase, held_bytes: int) -> None:
        """A phase is over on all ranks; `held_bytes`: size of their files. On rank 0 only."""

    def stonewalls(self, transfers: int) -> None:
        """The time of -D is over on this rank."""

    def wears_out(self, reached: Sequence[tuple[int, int]], seconds: float) -> None:
        """All ranks have what each made until then: transfers and bytes."""

    def keeps_transfers(self, transfers: int) -> None:
        """The last write's transfers, where no status file keeps them. On rank 0 only."""

    def has_no_status(self) -> None:
        """The status file cannot be read. On rank 0 only."""

    def differs(self, access: str, errors: int, signature: int) -> None:
        """Data that was read is not what was written. On rank 0 only."""

    def removes(self, path: str) -> None:
        """A file is removed."""

    def removed(self, seconds: float, repetition: int) -> None:
        """The files are removed."""


def now() -> float:
    """Seconds on a clock that all ranks have in common."""
    return time.clock_gettime(time.CLOCK_REALTIME)


def work_of(door: Door, options: IorOptions, path: str) -> WorkPath:
    """A file of a test as the door checks it. Raises Refused."""
    removes = not options.keepfile or bool(options.writefile and not options.useexistingtestfile)
    return door.work(path, writes=bool(options.writefile), removes=removes)


def check_paths(tests: Sequence[IorOptions], door: Door) -> None:
    """Refuse files that must not be written or removed, and what does not fit. Raises Refused."""
    room = Room("ior")
    # A file that one of the tests keeps stays.
    passing: dict[str, bool] = {}
    for options in tests:
        check_results(options)
        if options.dummy or options.dryrun:
            continue
        for path in options.paths():
            work = work_of(door, options, path)
            passes = not (options.keepfile or options.keepfilewitherror)
            passing[path] = passing.get(path, True) and passes
            # Until a time is over nobody knows how much is written.
            if options.writefile and not (options.deadlineforstonewalling or work.is_device):
                room.add(path, options.aggregate // options.files)
    room.check()
    for path in (path for path, passes in passing.items() if passes):
        door.passing(path)
    door.list_passing()


def check_results(options: IorOptions) -> None:
    """Refuse places of results that must not be replaced. Raises Refused."""
    for name, kind in (
        (options.summaryfile, SUMMARY),
        (options.stonewallingstatusfile if options.stonewallingwearout else "", STATUS_FILE),
        (options.saverankperformancedetailscsv, RANK_TIMES),
    ):
        if name:
            from mileage.targets.door import check_result

            check_result("ior", name, kind)


class IorTest:
    """One test on one rank."""

    def __init__(self, options: IorOptions, ranks: Ranks, events: IorEvents, door: Door) -> None:
        self._options, self._ranks, self._events, self._door = options, ranks, events, door
        self._signature = 0
        self._shift = 0
        """Distance to the rank whose data is read."""
        self._repetition = 0
        self._most = options.stonewallingwearoutiterations
        self._pairs = 0
        """Transfers of the last write, for the status file."""
        self.errors = 0

    def path(self) -> str:
        """The file of this rank, or of the rank whose data it reads."""
        options = self._options
        number = (self._ranks.rank + self._shift) % options.numtasks
        path = options.path(number, self._repetition)
        if options.fileperproc and options.uniquedir:
            from mileage.targets.door import make_directory

            make_directory("ior", os.path.dirname(path))
        return path

    def _file(self) -> WorkPath:
        """The same file as the door checked it."""
        return work_of(self._door, self._options, self.path())

    def run(self) -> None:
        """Do all repetitions. Raises OSError, Refused, RunFailed and RankLost."""
        options = self._options
        tasks = self._started_tasks() if options.verbose >= 2 else None
        self._events.starts(self.path(), tasks)
        memory = self._hog()
        began = now()
        own = options.fileperproc or self._ranks.rank == 0
        if (options.writefile or options.checkwrite) and own and os.path.exists(self.path()):
            self._events.exists(self.path())
        for repetition in range(options.repetitions):
            self._repetition = repetition
            self._once(repetition, began)
        del memory
        if options.stonewallingwearout and self._ranks.rank == 0:
            if options.stonewallingstatusfile:
                from mileage.targets.door import write_result

                write_result("ior", options.stonewallingstatusfile, STATUS_FILE, str(self._pairs))
            else:
                self._events.keeps_transfers(self._pairs)

    def _started_tasks(self) -> StartedTasks:
        """The hosts of all ranks, and how far apart their clocks are after a barrier."""
        self._ranks.barrier()
        found = self._ranks.gather((os.uname().nodename, now()))
        times = [at for _, at in found]
        return StartedTasks(tuple(host for host, _ in found), max(times) - min(times))

    def _hog(self) -> bytearray | None:
        """Memory that is kept from the page cache (-M), each page touched."""
        size = self._options.memorypertask or self._options.memorypernode // self._options.numtasks
        return bytearray(b"x") * size if size else None

    def _is_over(self, began: float) -> bool:
        """Whether the time of -T is over on rank 0."""
        most = self._options.maxtimeduration
        return bool(most and self._ranks.first(now() - began >= most * 60))

    def _once(self, repetition: int, began: float) -> None:
        options = self._options
        self._signature = self._ranks.first((options.settimestampsignature or int(time.time())) & 0xFFFFFFFF)
        self._events.repeats(repetition, self._signature)
        if options.writefile and not self._is_over(began):
            self._write(repetition)
        if options.checkwrite and not self._is_over(began):
            self._check()
        if (options.readfile or options.checkread) and not self._is_over(began):
            self._read(repetition)
        self._remove_all(repetition)
        self._shift = 0

    def _write(self, repetition: int) -> None:
        options = self._options
        self._events.visits("write", self.path())
        time.sleep(options.intertestdelay)
        if not options.useexistingtestfile:
            self._remove()
        self._most = options.stonewallingwearoutiterations
        self._ranks.barrier()
        pairs = self._timed("write", os.O_CREAT | os.O_RDWR, repetition)
        if options.deadlineforstonewalling:
            self._most = pairs
        self._pairs = pairs

    def _check(self) -> None:
        """Read back and compare what was just written, as -W does."""
        self._ranks.barrier()
        self._events.verifies()
        if self._options.reordertasks:
            self._shift = (self._options.taskpernodeoffset + 1) % self._options.numtasks
        file = self._open(os.O_RDONLY)
        done = self._move(file, writes=False, compares=True)
        self._count_errors(done["errors"], "write")
        del file
        self._shift = 0

    def _read(self, repetition: int) -> None:
        options = self._options
        if options.stonewallingstatusfile:
            self._most = self._kept_pairs()
        self._shift = options.reading_distance(self._ranks.rank, repetition)
        self._events.visits("read", self.path())
        time.sleep(options.intertestdelay)
        self._ranks.barrier()
        self._timed("read", os.O_RDONLY, repetition)

    def _kept_pairs(self) -> int:
        """Transfers of an earlier write, from its status file."""
        try:
            return int(read_text(Path(self._options.stonewallingstatusfile)))
        except (OSError, ValueError, Refused):
            if self._ranks.rank == 0:
                self._events.has_no_status()
            return 0

    def _open(self, flags: int) -> _core.TaskFile | None:
        if self._options.dummy:
            return None
        direct = os.O_DIRECT if self._options.direct else 0
        file = self._file()
        try:
            descriptor = file.open(flags | direct, _MODE, claims=self._ranks.rank == 0)
            return _core.TaskFile(descriptor, self._options.transfersize)
        except OSError as error:
            mode, words = (f", 0{_MODE:o}", ". Error") if flags & os.O_CREAT else ("", "")
            said = f'open64("{file.path}", {flags | direct}{mode}) failed{words}: {error.strerror}'
            raise OSError(error.errno, said) from error

    def _timed(self, access: str, flags: int, repetition: int) -> int:
        """A phase; the transfers of the rank that made most."""
        options, ranks, path = self._options, self._ranks, self.path()
        times = [now()]
        file = self._open(flags)
        times.append(now())
        if options.intratestbarriers:
            ranks.barrier()
        self._events.commences(access, path)
        times.append(now())
        writes = access == "write"
        done = self._move(file, writes=writes, compares=bool(options.checkread and not writes))
        if not writes:
            self._count_errors(done["errors"], access)
        elif options.fsync and file is not None:
            file.sync()
        times.append(now())
        if options.intratestbarriers:
            ranks.barrier()
        times.append(now())
        del file
        times.append(now())
        if writes:
            ranks.barrier()
        self._events.times(access, repetition, times)
        size = 0 if options.dummy else os.stat(path).st_size
        found = [
            TaskPhase(*values) for values in ranks.gather((tuple(times), done["bytes"], done["pairs"], size))
        ]
        if ranks.rank == 0:
            self._events.ends(phase_of(access, repetition, found, done, options), _held(found, options))
        self._events.compares_times(access, [one.times_s for one in found])
        if options.saverankperformancedetailscsv and ranks.rank == 0:
            save_ranks(options.saverankperformancedetailscsv, access, found)
        return max(one.transfers for one in found)

    def _move(self, file: _core.TaskFile | None, *, writes: bool, compares: bool) -> dict[str, Any]:
        """Make the transfers, with the wear-out that follows a stonewall."""
        options = self._options
        rank = (self._ranks.rank + self._shift) % options.numtasks
        seed = self._offset_seed(rank) if options.randomoffset else 0
        work = options.transfers_of(rank, TransferPhase(writes, compares, self._signature, seed, self._most))
        began = now()
        done = _moved(file, work)
        found = {
            "bytes": done["bytes"],
            "errors": done["errors"],
            "pairs": done["transfers"],
            "stonewall_s": 0.0,
            "stonewall_bytes": 0,
        }
        if not options.stonewallingwearout:
            return found
        self._events.stonewalls(done["transfers"])
        reached = self._ranks.gather((done["transfers"], done["bytes"]))
        most = max(pairs for pairs, _ in reached)
        found["stonewall_s"] = now() - began
        found["stonewall_bytes"] = sum(moved for _, moved in reached) // options.numtasks
        self._events.wears_out(reached, found["stonewall_s"])
        if done["transfers"] < most:
            work |= {"done": done["transfers"], "most": most, "deadline_s": 0.0, "least_s": 0.0}
            rest = _moved(file, work)
            found["bytes"] += rest["bytes"]
            found["errors"] += rest["errors"]
        found["pairs"] = most
        return found

    def _offset_seed(self, rank: int) -> int:
        """Seed of the random offsets of a rank's part; one that is not given is drawn once."""
        seed = self._options.randomseed
        if seed == -1:
            seed = self._options.randomseed = self._ranks.first(int(time.time()))
        elif self._options.fileperproc:
            seed += rank
        return seed

    def _count_errors(self, errors: int, access: str) -> None:
        """Add what differed on any rank; `access`: what was wrong."""
        total = sum(self._ranks.gather(errors))
        # IOR adds what it found twice to its exit status.
        self.errors += 2 * total
        if total and self._ranks.rank == 0:
            self._events.differs(access, total, self._signature)

    def _remove(self) -> None:
        """Remove a file: each rank its own, or the first one that of all."""
        if not (self._options.fileperproc or self._ranks.rank == 0):
            return
        file = self._file()
        if file.exists():
            self._events.removes(file.path)
            file.remove()

    def _remove_all(self, repetition: int) -> None:
        options = self._options
        if options.keepfile or (self.errors and options.keepfilewitherror):
            self._ranks.barrier()
            return
        if options.reordertasksrandom == 1:
            self._shift = 0
        began = now()
        self._ranks.barrier()
        self._remove()
        self._ranks.barrier()
        self._events.removed(now() - began, repetition)


def phase_of(
    access: str, repetition: int, found: Sequence[TaskPhase], done: dict[str, Any], options: IorOptions
) -> IorPhase:
    """A phase of all ranks; `done`: what rank 0 did."""
    open_s, transfer_s, close_s, total_s = (
        whole_span([(one.times_s[first], one.times_s[last]) for one in found])
        for first, last in ((0, 1), (2, 3), (4, 5), (0, 5))
    )
    moved, first = sum(one.moved_bytes for one in found), found[0]
    return IorPhase(
        access=access,
        moved_bytes=moved,
        transfers=moved // options.transfersize,
        open_s=open_s,
        transfer_s=transfer_s,
        close_s=close_s,
        total_s=total_s,
        latency_s=(first.times_s[3] - first.times_s[2]) / max(first.transfers, 1),
        repetition=repetition,
        stonewall_s=done["stonewall_s"],
        stonewall_bytes=done["stonewall_bytes"],
    )


def _held(found: Sequence[TaskPhase], options: IorOptions) -> int:
    """Size of the files of all ranks together, or of the one file that all have."""
    sizes = [one.file_bytes for one in found]
    return sum(sizes) if options.fileperproc else min(sizes)


def save_ranks(name: str, access: str, found: Sequence[TaskPhase]) -> None:
    """Append a line for each rank to the file of saveRankPerformanceDetailsCSV. Raises Refused, RunFailed."""
    each = sum(one.moved_bytes for one in found) / len(found)
    from mileage.targets.door import appended_result

    with appended_result("ior", name, RANK_TIMES) as file:
        for rank, one in enumerate(found):
            times = one.times_s
            seconds = (times[5] - times[0], times[3] - times[2])
            rates = [each / took if took else 0.0 for took in seconds]
            values = ",".join(f"{value:.10e}" for value in (*seconds, *rates))
            file.write(f"{access},{rank},{values}\n")


def _moved(file: _core.TaskFile | None, work: dict[str, Any]) -> dict[str, Any]:
    """Make transfers; without a file only count them."""
    if file is not None:
        found: dict[str, Any] = json.loads(file.transfer(json.dumps(work)))
        return found
    own = len(work["offsets"]) or work["transfers"]
    count = own * work["segments"]
    count = min(count, work["most"]) if work["most"] else count
    return {"bytes": (count - work["done"]) * work["transfer_bytes"], "transfers": count, "errors": 0}


def run_tests(
    tests: Sequence[IorOptions],
    ranks: Ranks,
    events_of: Callable[[int, IorOptions], IorEvents],
    door: Door,
    faults: Faults,
) -> int:
    """Do all tests on one rank; the exit status. What went wrong is noted in `faults`."""

    def do_all() -> int:
        errors = 0
        for number, options in enumerate(tests):
            if ranks.rank < options.numtasks:
                test = IorTest(options, ranks.among(options.numtasks), events_of(number, options), door)
                test.run()
                errors += test.errors
        return min(errors, ABORTED - 1)

    return status_of_rank(ranks.rank, faults, do_all)
