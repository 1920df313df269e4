"""What IOR prints while it works, from what happens on each rank (`execute.tool_tasks.ior.IorEvents`).

Scope: the tables, by rank 0, are those of `formats.ior_listing`; here are the lines between them. With
--warningAsErrors a warning ends the test.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from mileage.errors import RunFailed
from mileage.execute.tool_tasks.ior import SUMMARY, run_tests
from mileage.execute.tool_tasks.ranks import ABORTED, Faults, Ranks
from mileage.formats.ior_listing import IorReport
from mileage.formats.ior_print import file_system_of
from mileage.judge.tasks import deviation_over_n
from mileage.model.ior_phase import IorPhase, StartedTasks
from mileage.plan.ior_options import IorOptions
from mileage.targets.door import Door, result_file

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
