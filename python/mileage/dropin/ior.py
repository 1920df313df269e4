"""`mileage ior`: IOR's command line done as IOR does it, or kept as a study with `--study`.

Scope: which of the two; the tasks; the exit status. Without `--study` nothing is left but what IOR leaves.
What it refuses: what IOR refuses, in its words; flags of other interfaces than POSIX.
"""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

from mileage.dropin.flags import GivenFlags
from mileage.dropin.task_values import bytes_of, packet_of, print_failure, print_notes, tasks_of, wants_study
from mileage.dropin.tool_statuses import statuses_of
from mileage.errors import Refused, RunFailed
from mileage.execute.tool_tasks.ior import SUMMARY, run_tests
from mileage.execute.tool_tasks.ranks import ABORTED, Faults, Ranks, failure_of_ranks, run_ranks
from mileage.formats.ior_listing import IorReport, file_system_of
from mileage.judge.tasks import deviation_over_n
from mileage.model.ior_phase import IorPhase, StartedTasks
from mileage.plan.ior_options import IorOptions
from mileage.regular_file import read_text
from mileage.targets.door import Door, result_file


def run(given: GivenFlags) -> int:
    """Do what the command line asks and print it as IOR does; the exit status. Raises Refused and RunFailed."""
    if wants_study(given, Path(given.last("-o") or "testFile").parent):
        from mileage.dropin.ior_study import run_study

        run_study(given)
        return 0
    available = tasks_of(given)
    warnings: list[str] = []
    try:
        tests = tests_of(given)
        for options in tests:
            warnings += _settle(options, available)
            check(options)
    except UnknownDirective as error:
        sys.stdout.write(f"{error}\n")
        return statuses_of("ior").usage
    except IorError as error:
        sys.stdout.write("".join([*warnings, f"ERROR: {error}, (mileage)\n"]))
        return ABORTED
    from mileage.execute.tool_tasks.ior import check_paths

    door, faults = Door("ior", given.every("--destroy")), Faults(available)
    try:
        check_paths(tests, door)
        print_notes(given)
        sys.stdout.write("".join(warnings))
        status = run_ranks(available, lambda ranks: run_and_print(tests, given.words, ranks, door, faults))
        print_failure(failure_of_ranks("ior", faults, door.remove_made))
        return status
    finally:
        door.close()


def _settle(options: IorOptions, available: int) -> list[str]:
    """Set what follows from the tasks that there are; IOR's warnings of it."""
    warnings = []
    if options.numtasks > available:
        warnings = [
            f"WARNING: More tasks requested ({options.numtasks}) than available ({available}),\n",
            f"WARNING:          running with {available} tasks.\n\n",
        ]
    options.numtasks = available if options.numtasks == -1 else min(options.numtasks, available)
    if options.repetitions <= 0:
        options.repetitions = 1
        warnings.append("WARNING: too few test repetitions. Using value of 1.\n")
    return warnings


# The parameters of a test of IOR 4, from flags, from directives (`-O`, scripts of `-f`) and their defaults.
# Scope: names are those of IOR's directives in lower case; sizes in bytes. A script repeats `IOR START`, directives,
# `RUN` and `IOR STOP`: each RUN is a test with what was set until then.
# What it refuses: what IOR refuses, in its words and with its exit status (`IorError`); and by its name what only
# another interface than POSIX honours.


class IorError(Exception):
    """A mistake that IOR itself ends with, in its words."""


class UnknownDirective(IorError):
    """A directive that IOR does not know, which it says without more, and ends with another status."""


_FLAGS: Final = {
    "-w": "writefile",
    "-r": "readfile",
    "-W": "checkwrite",
    "-R": "checkread",
    "-F": "fileperproc",
    "-u": "uniquedir",
    "-m": "multifile",
    "-k": "keepfile",
    "-K": "keepfilewitherror",
    "-E": "useexistingtestfile",
    "-g": "intratestbarriers",
    "-e": "fsync",
    "-Y": "fsyncperwrite",
    "-C": "reordertasks",
    "-x": "singlexferattempt",
    "-B": "direct",
    "--dryRun": "dryrun",
    "--warningAsErrors": "warningaserrors",
}
_COUNTED: Final = {"-z": "randomoffset", "-Z": "reordertasksrandom", "-v": "verbose"}
_NUMBERS: Final = {
    "-i": "repetitions",
    "-N": "numtasks",
    "-A": "refnum",
    "-d": "intertestdelay",
    "-D": "deadlineforstonewalling",
    "-G": "settimestampsignature",
    "-j": "outlierthreshold",
    "-Q": "taskpernodeoffset",
    "-T": "maxtimeduration",
    "-X": "reordertasksrandomseed",
    "--random-offset-seed": "randomseed",
}
_NUMBER_MAX: Final = 2**31 - 1
"""IOR keeps numbers that are no sizes in an int."""
_TIMES: Final = ("-d", "-D", "intertestdelay", "deadlineforstonewalling", "interiodelay", "mintimeduration")
"""Numbers that are times."""
_SIZES: Final = {"-b": "blocksize", "-t": "transfersize", "-s": "segmentcount"}
_NAMES: Final = {"reordertasksconstant": "reordertasks", "useo_direct": "direct"}
_DIRECTIVES: Final = frozenset(
    (
        *_FLAGS.values(),
        *_COUNTED.values(),
        *_NUMBERS.values(),
        *_SIZES.values(),
        *("testfile", "memorypertask", "interiodelay", "mintimeduration", "summaryfile"),
        *("stonewallingwearout", "stonewallingwearoutiterations", "stonewallingstatusfile"),
        "saverankperformancedetailscsv",
    )
) - {"direct", "dryrun", "randomseed"}
"""Directives that set the parameter of their name. Flags without a directive of their name: -B, --dryRun and
--random-offset-seed.
"""
_IGNORED: Final = ("api", "platform", "debug", "numnodes", "numtasksonnode0", "summaryalways", "collective")
"""Directives without an effect on what POSIX does; `api` and `collective` are checked."""


def tests_of(given: GivenFlags) -> list[IorOptions]:
    """The tests of a command line, in order. Raises Refused and IorError."""
    options = IorOptions()
    scripted: list[IorOptions] = []
    for flag, value in given.flags:
        name = flag.spelling
        if name == "-f":
            scripted = _script(value, options)
        elif name == "-O":
            for part in value.split(","):
                _direct(options, part)
        else:
            _set_flag(options, name, value)
    # IOR reads flags before the script as defaults and those behind it for every test.
    tests = scripted or [options]
    if scripted and given.flags[-1][0].spelling != "-f":
        behind = given.flags[
            max(at for at, (flag, _) in enumerate(given.flags) if flag.spelling == "-f") + 1 :
        ]
        for test in tests:
            for flag, value in behind:
                _set_flag(test, flag.spelling, value)
                for part in value.split(",") if flag.spelling == "-O" else ():
                    _direct(test, part)
    for test in tests:
        if not (test.readfile or test.writefile or test.checkwrite or test.checkread):
            test.readfile = test.writefile = 1
    return tests


def _set_flag(options: IorOptions, name: str, value: str) -> None:
    if name in _FLAGS:
        setattr(options, _FLAGS[name], 1)
    elif name in _COUNTED:
        setattr(options, _COUNTED[name], getattr(options, _COUNTED[name]) + 1)
    elif name in _NUMBERS:
        setattr(options, _NUMBERS[name], _number(name, value))
    elif name in _SIZES:
        setattr(options, _SIZES[name], bytes_of("ior", name, value))
    elif name == "-o":
        options.testfile = value
    elif name == "-l":
        options.datapackettype = _packet(value)
    elif name == "-a":
        options.dummy = int(value == "DUMMY")
    elif name == "-M":
        options.memorypernode = _memory(value)


def _packet(value: str) -> str:
    found = packet_of(value)
    if found is None:
        raise IorError(f"Unknown packet type {value}")
    return found


def _memory(value: str) -> int:
    if value.endswith("%"):
        return _number("-M", value[:-1]) * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 100
    return bytes_of("ior", "-M", value)


def _number(name: str, value: str) -> int:
    # IOR reads numbers by atoi: what follows the digits is ignored.
    if found := re.match(r"[-+]?[0-9]+", value):
        number = int(found[0]) if len(found[0].lstrip("+-0")) < len(str(_NUMBER_MAX)) + 1 else _NUMBER_MAX + 1
        if number > _NUMBER_MAX or (number < 0 and name.removeprefix("-O ") in _TIMES):
            least = 0 if name.removeprefix("-O ") in _TIMES else -_NUMBER_MAX
            raise Refused(f"ior: {name}", expected=f"{least} to {_NUMBER_MAX}", code="out-of-range")
        return number
    raise Refused(f"ior: {name} {value}", expected="a whole number", code="wrong-value")


def _direct(options: IorOptions, text: str) -> None:
    """Set what a directive says."""
    name, equals, value = text.partition("=")
    name, value = name.strip().lower(), value.split("#")[0].strip()
    if not equals or not name or not value:
        raise IorError(f"Syntax error in configuration options: {text}")
    if name == "api":
        if value.upper() not in ("POSIX", "DUMMY"):
            raise Refused(f"ior: api={value}", "only POSIX and DUMMY are built", code="unsupported")
        options.dummy = int(value.upper() == "DUMMY")
    if name == "collective" and value != "0":
        raise Refused("ior: collective", "belongs to MPI-IO, and only POSIX is built", code="unsupported")
    if name in _IGNORED:
        return
    if name == "summaryformat":
        _summary_format(options, value)
    elif name == "datapackettype":
        options.datapackettype = _packet(value)
    elif name in _SIZES.values() or name == "memorypertask":
        setattr(options, name, bytes_of("ior", f"-O {name}", value))
    elif name == "memorypernode":
        options.memorypernode = _memory(value)
    elif name in _DIRECTIVES or name in _NAMES:
        own = _NAMES.get(name, name)
        known: Any = getattr(options, own)
        setattr(options, own, value if isinstance(known, str) else _number(f"-O {name}", value))
    else:
        raise UnknownDirective(f'Unrecognized parameter "{name}"')


def _summary_format(options: IorOptions, value: str) -> None:
    known = {"default": "default", "json": "JSON", "csv": "CSV"}
    if value.lower() not in known:
        raise IorError("Unknown summaryFormat")
    options.summaryformat = known[value.lower()]


def _script(name: str, options: IorOptions) -> list[IorOptions]:
    """The tests of a script."""
    try:
        lines = read_text(Path(name), f"ior: -f {name}").splitlines()
    except OSError as error:
        raise IorError(f"fopen() failed: {name}: {error.strerror}") from error
    tests: list[IorOptions] = []
    current = replace(options)
    begun = False
    for line in lines:
        words = line.split("#")[0].strip()
        upper = words.upper()
        if not words:
            continue
        if upper == "IOR START":
            begun = True
        elif upper == "IOR STOP":
            break
        elif not begun:
            continue
        elif upper == "RUN":
            tests.append(replace(current))
        else:
            for part in words.split(","):
                _direct(current, part)
    return tests or [current]


def check(options: IorOptions) -> None:
    """Refuse what IOR refuses, in its order. Raises IorError, and Refused for `-zz`."""
    if options.randomoffset > 1:
        raise Refused(
            "ior: -zz",
            "is not built",
            advice="-z visits every transfer once in another order",
            code="not-built",
        )
    wear_out = options.stonewallingwearout
    status = options.stonewallingstatusfile
    shared_random = options.randomoffset and not options.fileperproc
    rules = (
        (
            status and not options.keepfile,
            "a StoneWallingStatusFile is only sensible when splitting write/read into multiple executions of ior, "
            "please use -k",
        ),
        (
            status and not wear_out and options.writefile,
            "the StoneWallingStatusFile is only sensible for a write test when using  stoneWallingWearOut",
        ),
        (
            not options.deadlineforstonewalling and wear_out,
            "the stoneWallingWearOut is only sensible when setting a stonewall deadline with -D",
        ),
        (
            not options.settimestampsignature and not options.writefile and options.checkread,
            "using readCheck only requires to write a timeStampSignature -- use -G",
        ),
        (options.blocksize % 8, "block size must be a multiple of access size"),
        (options.transfersize % 8, "transfer size must be a multiple of access size"),
        (not options.transfersize, "test will not complete with zero transfer size"),
        (
            options.transfersize and options.blocksize % options.transfersize,
            "block size must be a multiple of transfer size",
        ),
        (options.blocksize < options.transfersize, "block size must not be smaller than transfer size"),
        (
            options.randomoffset == 1 and options.blocksize == options.transfersize,
            "IOR will randomize access within a block and repeats the same pattern for all segments, therefore choose "
            "blocksize > transferSize",
        ),
        (
            options.reordertasks and options.reordertasksrandom,
            "Both Constant and Random task re-ordering specified. Choose one and resubmit",
        ),
        (
            shared_random and options.reordertasksrandom,
            "random offset and random reorder tasks specified with single-shared-file. Choose one and resubmit",
        ),
        (
            shared_random and options.reordertasks,
            "random offset and constant reorder tasks specified with single-shared-file. Choose one and resubmit",
        ),
        (
            options.randomoffset and options.checkread and options.randomseed == -1,
            "random offset with read check option requires to set the random seed",
        ),
    )
    for wrong, text in rules:
        if wrong:
            raise IorError(text)


# What IOR prints while it works, from what happens on each rank (`execute.tool_tasks.ior.IorEvents`).
# Scope: the tables, by rank 0, are those of `formats.ior_listing`; here are the lines between them. With
# --warningAsErrors a warning ends the test.

_TIMERS: Final = (*("open start", "open stop", "start", "stop"), *("close start", "close stop"))
_OUTLIERS: Final[tuple[tuple[str, Callable[[Sequence[float]], float]], ...]] = (
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


@contextmanager
def report_of(tests: Sequence[IorOptions], words: Sequence[str]) -> Iterator[IorReport]:
    """The report of rank 0, begun. Raises Refused and RunFailed."""
    first = tests[0]
    if not first.summaryfile:
        yield _begun(IorReport(sys.stdout, sys.stdout, ("ior", *words), first))
        return
    _print(f"Writing output to {first.summaryfile}")
    file: IO[str]
    with result_file("ior", first.summaryfile, SUMMARY, text=True) as file:
        yield _begun(IorReport(file, sys.stdout, ("ior", *words), first))


def _begun(report: IorReport) -> IorReport:
    report.head()
    return report


def run_and_print(
    tests: Sequence[IorOptions], words: Sequence[str], ranks: Ranks, door: Door, faults: Faults
) -> int:
    """Do all tests on one rank and print them; the exit status."""
    if ranks.rank:
        return run_tests(tests, ranks, lambda _, options: IorPrinter(0, options, ranks.rank), door, faults)
    with report_of(tests, words) as report:
        status = run_tests(
            tests, ranks, lambda number, options: IorPrinter(number, options, 0, report), door, faults
        )
        if status != ABORTED:
            report.end()
    return status


class IorPrinter:
    """Prints what happens on one rank of a test."""

    def __init__(self, number: int, options: IorOptions, rank: int, report: IorReport | None = None) -> None:
        """`number`: of the test; `report`: on rank 0."""
        self._number, self._options, self._rank, self._report = number, options, rank, report

    def _say(self, level: int, text: str) -> None:
        if self._options.verbose >= level:
            _print(text)

    def _say_first(self, level: int, text: str) -> None:
        if self._rank == 0:
            self._say(level, text)

    def warn(self, text: str) -> None:
        """Print a warning. Raises RunFailed where it is an error."""
        if self._options.warningaserrors:
            raise RunFailed(text)
        _print(f"WARNING: {text}")

    def starts(self, path: str, tasks: StartedTasks | None) -> None:
        """See `IorEvents`; so are the others."""
        if self._report is not None:
            shown = path.removesuffix(".0") if self._options.multifile else path
            system = file_system_of(Path(shown).parent)
            self._report.test(self._number, self._options, shown, system, tasks)

    def exists(self, path: str) -> None:
        self.warn(f'The file "{path}" exists already and will be overwritten')

    def repeats(self, repetition: int, signature: int) -> None:
        if self._report is not None:
            self._report.repetition(repetition, signature)

    def visits(self, access: str, path: str) -> None:
        self._say(3, f"task {self._rank} {'writing' if access == 'write' else 'reading'} {path}")

    def commences(self, access: str, path: str) -> None:
        if access == "read":
            self._say_first(2, f"[RANK {self._rank:03d}] open for reading file {path} XXCEL")
        blank = "\n" if access == "read" else ""
        self._say_first(1, f"Commencing {access} performance test: {time.ctime()}{blank}")

    def verifies(self) -> None:
        self._say_first(1, f"Verifying contents of the file(s) just written.\n{time.ctime()}\n")

    def times(self, access: str, repetition: int, times_s: Sequence[float]) -> None:
        for name, at in zip(_TIMERS, times_s, strict=True):
            self._say(
                3, f"Test {self._number}: Iter={repetition}, Task={self._rank}, Time={at:f}, {access} {name}"
            )

    def compares_times(self, access: str, times_s: Sequence[Sequence[float]]) -> None:
        """Warn of times of this rank that are further from the mean than the threshold of -j."""
        if not self._options.outlierthreshold:
            return
        for name, read in _OUTLIERS:
            values = [read(own) for own in times_s]
            mean, own = math.fsum(values) / len(values), values[self._rank]
            if abs(own - mean) > self._options.outlierthreshold:
                self.warn(
                    f"for {os.uname().nodename}, task {self._rank}, {access} {name} is {own:f} "
                    f"(mean={mean:f}, stddev={deviation_over_n(values):f})\n"
                )

    def ends(self, phase: IorPhase, held_bytes: int) -> None:
        options, moved = self._options, phase.moved_bytes
        if (options.aggregate != moved or held_bytes != moved) and not options.dryrun:
            self.warn(f"Expected aggregate file size       = {options.aggregate}")
            self.warn(f"Stat() of aggregate file size      = {held_bytes}")
            self.warn(f"Using actual aggregate bytes moved = {moved}")
            if options.deadlineforstonewalling:
                self.warn("Maybe caused by deadlineForStonewalling")
        if self._report is not None:
            self._report.result(options, phase)

    def stonewalls(self, transfers: int) -> None:
        self._say(1, f"{self._rank}: stonewalling pairs accessed: {transfers}")

    def wears_out(self, reached: Sequence[tuple[int, int]], seconds: float) -> None:
        if self._rank:
            return
        pairs = [count for count, _ in reached]
        least = min(moved for _, moved in reached) / 2**30
        mean = sum(moved for _, moved in reached) // len(reached) / 2**30
        _print(
            f"stonewalling pairs accessed min: {min(pairs)} max: {max(pairs)} -- min data: "
            f"{least:.1f} GiB mean data: {mean:.1f} GiB time: {seconds:.1f}s"
        )

    def keeps_transfers(self, transfers: int) -> None:
        _print(f"Pairs deadlineForStonewallingaccessed: {transfers}")

    def has_no_status(self) -> None:
        self.warn("Could not read back the stonewalling status from the file!")

    def differs(self, access: str, errors: int, signature: int) -> None:
        self.warn(f"Incorrect data on {access} ({errors} errors found).\n")
        _print(f"Used Time Stamp {signature} (0x{signature:x}) for Data Signature")

    def removes(self, path: str) -> None:
        self._say(3, f"task {self._rank} removing {path}")

    def removed(self, seconds: float, repetition: int) -> None:
        if self._report is not None:
            self._report.removed(seconds, repetition)
