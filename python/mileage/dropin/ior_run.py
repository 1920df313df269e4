"""The tests of IOR done as IOR does them: its names of files, its order of calls, its times.

Scope: every rank opens, moves, closes; times of all ranks are reduced as IOR reduces them, from the earliest start to
the latest end. Files have IOR's names and stay with -k. What differs from IOR in what is printed is in
`formats.ior_listing`. An error of a call ends all ranks with 255, as MPI_Abort does.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Final

from mileage import _core
from mileage.dropin.ior_parameters import IorError
from mileage.errors import MileageError, Refused
from mileage.execute.tool_tasks.ranks import ABORTED, Faults, RankLost, Ranks
from mileage.formats.ior_listing import IorReport, StartedTasks
from mileage.formats.ior_print import Phase, file_system_of
from mileage.plan.ior_options import IorOptions
from mileage.regular_file import read_text
from mileage.targets.door import (
    Door,
    WorkPath,
    appended_result,
    check_result,
    make_directory,
    result_file,
    write_result,
)
from mileage.targets.room import Room

_MODE: Final = 0o664
SUMMARY: Final = "ior-summary"
STATUS_FILE: Final = "stonewall-status"
RANK_TIMES: Final = "ior-rank-times"
"""Kinds of results."""
_TIMERS: Final = (
    *("open start", "open stop", "start", "stop"),
    *("close start", "close stop"),
)
_OUTLIERS: Final[tuple[tuple[str, Callable[[list[float]], float]], ...]] = (
    ("start time", lambda times: times[0]),
    ("elapsed create time", lambda times: times[1] - times[0]),
    ("elapsed transfer time", lambda times: times[3] - times[2]),
    ("elapsed close time", lambda times: times[5] - times[4]),
    ("end time", lambda times: times[5]),
)
"""Times of a rank that -j compares with the mean, by IOR's names."""


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def now() -> float:
    """Seconds on a clock that all ranks have in common."""
    return time.clock_gettime(time.CLOCK_REALTIME)


def path_of(options: IorOptions, number: int, repetition: int) -> str:
    """The file of a rank in a repetition."""
    names = options.testfile.split("@")
    path = names[number % len(names) if options.fileperproc else 0]
    if options.fileperproc:
        if options.uniquedir:
            # IOR cuts after the last slash, and after the first letter of a path without one.
            cut = max(path.rfind("/"), 0) + 1
            path = f"{path[:cut]}{number}/{path[cut:]}"
        path = f"{path}.{number:08d}"
    return f"{path}.{repetition}" if options.multifile else path


def work_of(door: Door, options: IorOptions, path: str) -> WorkPath:
    """A file of a test as the door checks it. Raises Refused."""
    removes = not options.keepfile or bool(options.writefile and not options.useexistingtestfile)
    return door.work(path, writes=bool(options.writefile), removes=removes)


def check_paths(tests: list[IorOptions], door: Door) -> None:
    """Refuse files that must not be written or removed, and what does not fit. Raises Refused."""
    room = Room("ior")
    for options in tests:
        check_results(options)
        if options.dummy or options.dryrun:
            continue
        names = {
            path_of(options, number, repetition): None
            for repetition in range(options.repetitions if options.multifile else 1)
            for number in range(options.numtasks if options.fileperproc else 1)
        }
        size = options.aggregate // (options.numtasks if options.fileperproc else 1)
        for path in names:
            work = work_of(door, options, path)
            if not (options.keepfile or options.keepfilewitherror):
                door.passing(path)
            # Until a time is over nobody knows how much is written.
            if options.writefile and not (options.deadlineforstonewalling or work.is_device):
                room.add(path, size)
    room.check()
    door.list_passing()


def check_results(options: IorOptions) -> None:
    """Refuse places of results that must not be replaced. Raises Refused."""
    for name, kind in (
        (options.summaryfile, SUMMARY),
        (options.stonewallingstatusfile if options.stonewallingwearout else "", STATUS_FILE),
        (options.saverankperformancedetailscsv, RANK_TIMES),
    ):
        if name:
            check_result("ior", name, kind)


class IorTest:
    """One test on one rank."""

    def __init__(
        self, number: int, options: IorOptions, ranks: Ranks, listing: IorReport | None, door: Door
    ) -> None:
        """`listing`: of rank 0 only."""
        self._number, self._options, self._ranks, self._door = number, options, ranks, door
        self._listing = listing
        self._signature = 0
        self._shift = 0
        """Distance to the rank whose data is read."""
        self._repetition = 0
        self._most = options.stonewallingwearoutiterations
        self._pairs = 0
        """Transfers of the last write, for the status file."""
        self.errors = 0

    def _say(self, level: int, text: str) -> None:
        """A line of every rank."""
        if self._options.verbose >= level:
            _print(text)

    def _warn(self, text: str) -> None:
        if self._options.warningaserrors:
            raise IorError(text)
        _print(f"WARNING: {text}")

    def path(self) -> str:
        """The file of this rank, or of the rank whose data it reads."""
        options = self._options
        number = (self._ranks.rank + self._shift) % options.numtasks
        path = path_of(options, number, self._repetition)
        if options.fileperproc and options.uniquedir:
            make_directory("ior", os.path.dirname(path))
        return path

    def _file(self) -> WorkPath:
        """The same file as the door checked it."""
        return work_of(self._door, self._options, self.path())

    def run(self) -> None:
        """Do all repetitions. Raises OSError and RankLost."""
        options = self._options
        tasks = self._started_tasks() if options.verbose >= 2 else None
        if self._listing is not None:
            path = self.path().removesuffix(".0") if options.multifile else self.path()
            self._listing.test(self._number, options, path, file_system_of(Path(path).parent), tasks)
        memory = self._hog()
        began = now()
        own = options.fileperproc or self._ranks.rank == 0
        if (options.writefile or options.checkwrite) and own and os.path.exists(self.path()):
            self._warn(f'The file "{self.path()}" exists already and will be overwritten')
        for repetition in range(options.repetitions):
            self._repetition = repetition
            self._once(repetition, began)
        del memory
        if options.stonewallingwearout and self._ranks.rank == 0:
            if options.stonewallingstatusfile:
                write_result("ior", options.stonewallingstatusfile, STATUS_FILE, str(self._pairs))
            else:
                _print(f"Pairs deadlineForStonewallingaccessed: {self._pairs}")

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
        if self._listing is not None:
            self._listing.repetition(repetition, self._signature)
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
        path = self.path()
        self._say(3, f"task {self._ranks.rank} writing {path}")
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
        if self._ranks.rank == 0:
            self._say(1, f"Verifying contents of the file(s) just written.\n{time.ctime()}\n")
        if self._options.reordertasks:
            self._shift = (self._options.taskpernodeoffset + 1) % self._options.numtasks
        file = self._open(os.O_RDONLY)
        done = self._move(file, write=False, compare=True)
        self._count_errors(done["errors"], "WRITE")
        del file
        self._shift = 0

    def _read(self, repetition: int) -> None:
        options = self._options
        if options.stonewallingstatusfile:
            self._most = self._kept_pairs()
        self._shift = self._read_shift(repetition)
        path = self.path()
        self._say(3, f"task {self._ranks.rank} reading {path}")
        time.sleep(options.intertestdelay)
        self._ranks.barrier()
        self._timed("read", os.O_RDONLY, repetition)

    def _kept_pairs(self) -> int:
        """Transfers of an earlier write, from its status file."""
        try:
            return int(read_text(Path(self._options.stonewallingstatusfile)))
        except (OSError, ValueError, Refused):
            if self._ranks.rank == 0:
                self._warn("Could not read back the stonewalling status from the file!")
            return 0

    def _read_shift(self, repetition: int) -> int:
        """Distance to the rank whose data is read (-C, -Z)."""
        options, tasks = self._options, self._options.numtasks
        if options.reordertasks:
            return options.taskpernodeoffset % tasks
        if not options.reordertasksrandom:
            return 0
        seed = options.reordertasksrandomseed
        seed = -seed + repetition if seed < 0 else seed
        if options.reordertasksrandom == 1:
            # All tasks are on one node here, so that every draw is far enough away.
            return int(_core.library_random(seed + self._ranks.rank, 1)[0] % tasks)
        offsets = list(range(tasks))
        for at, drawn in enumerate(_core.library_random(seed, tasks)):
            other = at + drawn % (tasks - at)
            offsets[at], offsets[other] = offsets[other], offsets[at]
        return offsets[self._ranks.rank] - self._ranks.rank

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
        if ranks.rank == 0:
            if access == "read":
                self._say(2, f"[RANK {ranks.rank:03d}] open for reading file {path} XXCEL")
            blank = "\n" if access == "read" else ""
            self._say(1, f"Commencing {access} performance test: {time.ctime()}{blank}")
        times.append(now())
        done = self._move(file, write=access == "write", compare=bool(options.checkread and access == "read"))
        if access == "read":
            self._count_errors(done["errors"], "READ")
        elif options.fsync and file is not None:
            file.sync()
        times.append(now())
        if options.intratestbarriers:
            ranks.barrier()
        times.append(now())
        del file
        times.append(now())
        if access == "write":
            ranks.barrier()
        if options.verbose >= 3:
            for name, at in zip(_TIMERS, times, strict=True):
                self._say(
                    3,
                    f"Test {self._number}: Iter={repetition}, Task={ranks.rank}, Time={at:f}, {access} {name}",
                )
        size = 0 if options.dummy else os.stat(path).st_size
        found = ranks.gather((times, done["bytes"], done["pairs"], size))
        if self._listing is not None:
            self._report(access, repetition, found, done)
        if options.outlierthreshold:
            self._warn_of_outliers(access, [own for own, *_ in found])
        if options.saverankperformancedetailscsv and ranks.rank == 0:
            save_ranks(options.saverankperformancedetailscsv, access, found)
        return int(max(pairs for _, _, pairs, _ in found))

    def _warn_of_outliers(self, access: str, times: list[list[float]]) -> None:
        """Say which times of this rank are further from the mean than the threshold of -j."""
        for name, read in _OUTLIERS:
            values = [read(own) for own in times]
            mean, own = math.fsum(values) / len(values), values[self._ranks.rank]
            if abs(own - mean) > self._options.outlierthreshold:
                deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
                self._warn(
                    f"for {os.uname().nodename}, task {self._ranks.rank}, {access} {name} is {own:f} "
                    f"(mean={mean:f}, stddev={deviation:f})\n"
                )

    def _report(self, access: str, repetition: int, found: list[Any], done: dict[str, Any]) -> None:
        """Print a phase from all ranks' times."""
        assert self._listing is not None
        options = self._options
        starts = [min(times[at] for times, *_ in found) for at in (0, 2, 4)]
        ends = [max(times[at] for times, *_ in found) for at in (1, 3, 5)]
        moved = sum(count for _, count, _, _ in found)
        sizes = [size for *_, size in found]
        held = sum(sizes) if options.fileperproc else min(sizes)
        if (options.aggregate != moved or held != moved) and not options.dryrun:
            self._warn(f"Expected aggregate file size       = {options.aggregate}")
            self._warn(f"Stat() of aggregate file size      = {held}")
            self._warn(f"Using actual aggregate bytes moved = {moved}")
            if options.deadlineforstonewalling:
                self._warn("Maybe caused by deadlineForStonewalling")
        own_s = found[0][0][3] - found[0][0][2]
        self._listing.result(
            options,
            Phase(
                access=access,
                moved_bytes=moved,
                transfers=moved // options.transfersize,
                open_s=ends[0] - starts[0],
                transfer_s=ends[1] - starts[1],
                close_s=ends[2] - starts[2],
                total_s=ends[2] - starts[0],
                latency_s=own_s / max(found[0][2], 1),
                repetition=repetition,
                stonewall_s=done["stonewall_s"],
                stonewall_bytes=done["stonewall_bytes"],
            ),
        )

    def _move(self, file: _core.TaskFile | None, *, write: bool, compare: bool) -> dict[str, Any]:
        """Make the transfers, with the wear-out that follows a stonewall."""
        options = self._options
        work = self._work(write, compare)
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
        self._say(1, f"{self._ranks.rank}: stonewalling pairs accessed: {done['transfers']}")
        reached = self._ranks.gather((done["transfers"], done["bytes"]))
        most = max(pairs for pairs, _ in reached)
        found["stonewall_s"] = now() - began
        found["stonewall_bytes"] = sum(moved for _, moved in reached) // options.numtasks
        if self._ranks.rank == 0:
            least, gib = min(moved for _, moved in reached) / 2**30, found["stonewall_bytes"] / 2**30
            _print(
                f"stonewalling pairs accessed min: {min(pairs for pairs, _ in reached)} max: {most} -- min data: "
                f"{least:.1f} GiB mean data: {gib:.1f} GiB time: {found['stonewall_s']:.1f}s"
            )
        if done["transfers"] < most:
            work |= {"done": done["transfers"], "most": most, "deadline_s": 0.0, "least_s": 0.0}
            rest = _moved(file, work)
            found["bytes"] += rest["bytes"]
            found["errors"] += rest["errors"]
        found["pairs"] = most
        return found

    def _work(self, write: bool, compare: bool) -> dict[str, Any]:
        options = self._options
        rank = (self._ranks.rank + self._shift) % options.numtasks
        own = bool(options.fileperproc)
        offsets: list[int] = []
        if options.randomoffset:
            seed = options.randomseed
            if seed == -1:
                seed = options.randomseed = self._ranks.first(int(time.time()))
            elif own:
                seed += rank
            offsets = _core.shuffled_offsets(
                seed & 0xFFFFFFFF, rank, options.numtasks, own, options.blocksize, options.transfersize
            )
        return {
            "write": write,
            "compare": compare,
            "sync_each": bool(options.fsyncperwrite),
            "single_attempt": bool(options.singlexferattempt),
            "transfer_bytes": options.transfersize,
            "segments": options.segmentcount,
            "segment_bytes": options.blocksize * (1 if own else options.numtasks),
            "first_bytes": 0 if own else rank * options.blocksize,
            "transfers": options.blocksize // options.transfersize,
            "offsets": offsets,
            "content": {
                "kind": options.datapackettype,
                "rank": rank,
                "signature": self._signature,
                "given_signature": options.settimestampsignature & 0xFFFFFFFF,
            },
            "done": 0,
            "most": self._most,
            "deadline_s": float(options.deadlineforstonewalling),
            "least_s": float(options.mintimeduration),
            "rest_ns": options.interiodelay * 1000,
        }

    def _count_errors(self, errors: int, access: str) -> None:
        """Add what differed on any rank, and say so."""
        total = sum(self._ranks.gather(errors))
        # IOR adds what it found twice to its exit status.
        self.errors += 2 * total
        if total and self._ranks.rank == 0:
            self._warn(
                f"Incorrect data on {'write' if access == 'WRITE' else 'read'} ({total} errors found).\n"
            )
            _print(f"Used Time Stamp {self._signature} (0x{self._signature:x}) for Data Signature")

    def _remove(self) -> None:
        """Remove a file: each rank its own, or the first one that of all."""
        if not (self._options.fileperproc or self._ranks.rank == 0):
            return
        file = self._file()
        if file.exists():
            self._say(3, f"task {self._ranks.rank} removing {file.path}")
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
        if self._listing is not None:
            self._listing.removed(now() - began, repetition)


def save_ranks(name: str, access: str, found: list[Any]) -> None:
    """Append a line for each rank to the file of saveRankPerformanceDetailsCSV. Raises Refused, RunFailed."""
    each = sum(moved for _, moved, *_ in found) / len(found)
    with appended_result("ior", name, RANK_TIMES) as file:
        for rank, (times, *_) in enumerate(found):
            seconds = (times[5] - times[0], times[3] - times[2])
            rates = [each / took if took else 0.0 for took in seconds]
            file.write(
                ",".join([access, str(rank), *(f"{value:.10e}" for value in (*seconds, *rates))]) + "\n"
            )


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
    tests: list[IorOptions], words: tuple[str, ...], ranks: Ranks, door: Door, faults: Faults
) -> int:
    """Do all tests on one rank; the exit status. What went wrong is noted in `faults`."""
    first = tests[0]
    with ExitStack() as stack:
        listing: IorReport | None = None
        if ranks.rank == 0:
            file: IO[str] = sys.stdout
            if first.summaryfile:
                _print(f"Writing output to {first.summaryfile}")
                file = stack.enter_context(result_file("ior", first.summaryfile, SUMMARY, text=True))
            listing = IorReport(file, sys.stdout, ("ior", *words), first)
            listing.head()
        errors = 0
        try:
            for number, options in enumerate(tests):
                if ranks.rank >= options.numtasks:
                    continue
                test = IorTest(number, options, ranks.among(options.numtasks), listing, door)
                test.run()
                errors += test.errors
        except OSError as error:
            faults.note(ranks.rank, error.errno or 0, error.strerror or str(error))
            return ABORTED
        except (IorError, MileageError) as error:
            faults.note(ranks.rank, 0, str(error))
            return ABORTED
        except RankLost:
            return ABORTED
        if listing is not None:
            listing.end()
    return min(errors, ABORTED - 1)
