"""A case on both sides, in turn and at once, and ratios with intervals."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile

from benchmarks.dropin_speed.cases import Case, Rates, rates_of
from benchmarks.peers.places import fresh_ext4, lay_out
from benchmarks.peers.turns import one_processor

TOOL, OURS = "tool", "mileage"
_SPIN = """
import os, sys, time
while time.process_time() < float(sys.argv[1]):
    pass
os.execv(sys.argv[2], sys.argv[2:])
"""
_SPIN_LEAST_S = 0.02
"""Python itself takes a hundredth of a second to start."""


@dataclass(frozen=True)
class CommandRun:
    """One run of a command."""

    rates: Rates
    processor_s: float
    peak_bytes: int


@dataclass(frozen=True)
class Interval:
    """Median of paired ratios, and between which of them it lies at 95 % or more."""

    middle: float
    least: float
    most: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Interval:
        """By order statistics: no assumption about how ratios are distributed."""
        ordered = sorted(ratios)
        count, outside = len(ordered), 0
        while 2 * sum(math.comb(count, at) for at in range(outside + 2)) <= 0.05 * 2**count:
            outside += 1
        return cls(median(ordered), ordered[outside], ordered[-1 - outside])

    def __str__(self) -> str:
        return f"{self.middle:.2f} [{self.least:.2f}, {self.most:.2f}]"


def run_once(
    command: Sequence[str], case: Case, folder: Path, environment: dict[str, str], *, small: bool
) -> CommandRun:
    """Run a command in a directory of its own. Raises SystemExit when it fails."""
    words = case.small if small else case.words
    with ExitStack() as made, TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        place = made.enter_context(TemporaryDirectory(dir=folder))
        if case.file_mib and not small:
            lay_out(Path(place, "file"), case.file_mib)
        if case.tool == "mdtest":
            # Names cost what the file system's tables make them cost: every run gets a new one.
            at = made.enter_context(fresh_ext4(folder, 40_000))
            words = words.replace("-d place", f"-d {at / 'place'}")
        child = subprocess.Popen(
            [*command, *words.split()],
            cwd=place,
            stdout=output,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode:
            raise SystemExit(
                f"{' '.join(command)} {words}: {child.returncode}: {errors.read() or output.read()}"
            )
        rates = (
            rates_of(case, output.read(), Path(place)) if "-n 1 " not in words and words != case.small else {}
        )
    return CommandRun(rates, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


@dataclass(frozen=True)
class Sides:
    """How either side is started, and where."""

    commands: dict[str, list[str]]
    folder: Path
    environment: dict[str, str]

    def one(self, side: str, case: Case, *, small: bool = False) -> CommandRun:
        return run_once(self.commands[side], case, self.folder, self.environment, small=small)

    def _apart(self, side: str) -> Sides:
        """The same in a folder of one side."""
        folder = self.folder / side
        folder.mkdir(exist_ok=True)
        return Sides(self.commands, folder, self.environment)

    def in_turn(self, case: Case, rounds: int, *, small: bool = False) -> dict[str, list[CommandRun]]:
        """Either side in every round, first the one and then the other."""
        found: dict[str, list[CommandRun]] = {TOOL: [], OURS: []}
        for number in range(rounds):
            for side in (TOOL, OURS) if number % 2 == 0 else (OURS, TOOL):
                found[side].append(self.one(side, case, small=small))
        return found

    def delayed(self, start_up: dict[str, float]) -> Sides:
        """The same, with the side that starts up with less processor time spinning until it has used as much.

        Whoever writes last to the page cache meets the pages that the other left: IOzone against itself, one of them
        0.25 s of processor time behind, takes 1.3 to 2 times as much.
        """
        most = max(start_up.values())
        commands = {}
        for side, command in self.commands.items():
            wait_s = most - start_up[side]
            spin = (
                [sys.executable, "-I", "-S", "-c", _SPIN, f"{wait_s:.3f}"] if wait_s > _SPIN_LEAST_S else []
            )
            commands[side] = [*spin, *command]
        return Sides(commands, self.folder, self.environment)

    def at_once(self, case: Case, rounds: int, *, small: bool = False) -> dict[str, list[CommandRun]]:
        """Both sides at the same time on one processor."""
        found: dict[str, list[CommandRun]] = {TOOL: [], OURS: []}
        for _ in range(rounds):
            with one_processor(), ThreadPoolExecutor(2) as pool:
                started = {
                    side: pool.submit(self._apart(side).one, side, case, small=small) for side in found
                }
                for side, one in started.items():
                    found[side].append(one.result())
        return found


def processor_ratio(runs: dict[str, list[CommandRun]], start_up: dict[str, float]) -> Interval:
    """Processor time of the drop-in command over the tool's, each less that of its start-up."""
    own, theirs = (
        [max(one.processor_s - start_up[side], 1e-4) for one in runs[side]] for side in (OURS, TOOL)
    )
    return Interval.of([one / other for one, other in zip(own, theirs, strict=True)])


def rate_ratios(runs: dict[str, list[CommandRun]]) -> dict[str, tuple[float, float, Interval]]:
    """By test: the tool's median rate, the drop-in command's, and the ratio of the second to the first."""
    found = {}
    for test in runs[TOOL][0].rates:
        theirs, own = ([one.rates.get(test, 0.0) for one in runs[side]] for side in (TOOL, OURS))
        if all(theirs) and all(own):
            ratios = [one / other for one, other in zip(own, theirs, strict=True)]
            found[test] = (median(theirs), median(own), Interval.of(ratios))
    return found
