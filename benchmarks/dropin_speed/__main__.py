"""`python -m benchmarks.dropin_speed --real DIR`: a row for each test of each case, and one for each start-up."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.dropin_speed.cases import CASES
from benchmarks.dropin_speed.pairs import OURS, TOOL, CommandRun, Sides, processor_ratio, rate_ratios

START_UP_S, START_UP_BYTES = 0.25, 60e6
"""Bars of a small call."""


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dropin_speed", description=__doc__)
    parser.add_argument("--real", type=Path, required=True, help="directory with iozone, ior, mdtest and fio")
    parser.add_argument(
        "--folder", type=Path, default=Path("target"), help="where the files are made (target)"
    )
    parser.add_argument("--rounds", type=int, default=9, help="pairs of runs (9)")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    return parser.parse_args()


def say(text: str) -> None:
    """A line to the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def medians(runs: dict[str, list[CommandRun]]) -> dict[str, float]:
    """Median processor time of each side."""
    return {side: median(one.processor_s for one in found) for side, found in runs.items()}


def main() -> int:
    """Compare; 1 when a start-up is above its bar."""
    asked = arguments()
    load = os.getloadavg()[0]
    if load > 1:
        say(f"warning: load average {load:.1f}: rates in turn are another program's as much as these")
    say(
        "Ratios are Mileage's figure over the tool's, median of pairs [95 % interval]; above 1 a rate is higher, and"
    )
    say(
        "processor time more. Processor time is less that of the start-up, of all tests of a line together. Memory"
    )
    say("of a start-up is at least that of this benchmark, 25 MB, from which the commands are forked.")
    # Without byte code each run would also compile every module that it imports.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**variables, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    slow = False
    asked.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=asked.folder, prefix="dropin-speed-") as name:
        started: dict[str, dict[str, float]] = {}
        begun: dict[str, dict[str, float]] = {}
        for case in CASES:
            if asked.only not in case.name:
                continue
            commands = {
                TOOL: [str((asked.real / case.tool).absolute())],
                OURS: [str(Path(sys.executable).with_name("mileage")), case.tool],
            }
            sides = Sides(commands, Path(name).absolute(), environment)
            if case.tool not in started:
                small = sides.in_turn(case, asked.rounds, small=True)
                started[case.tool] = medians(small)
                # Next to another program a start-up takes longer than alone.
                delayed = sides.delayed(started[case.tool])
                begun[case.tool] = medians(delayed.at_once(case, asked.rounds, small=True))
                peaks = {side: max(one.peak_bytes for one in runs) for side, runs in small.items()}
                ok = started[case.tool][OURS] <= START_UP_S and peaks[OURS] <= START_UP_BYTES
                slow = slow or not ok
                shown = ", ".join(
                    f"{side} {started[case.tool][side]:.3f} s {peaks[side] / 1e6:.0f} MB"
                    for side in (TOOL, OURS)
                )
                say(
                    f"{case.tool}, start-up: {shown}; bar {START_UP_S} s, 60 MB: {'holds' if ok else 'MISSED'}"
                )
            turns = sides.in_turn(case, asked.rounds)
            once = sides.delayed(started[case.tool]).at_once(case, asked.rounds)
            say(f"{case.name}: mileage {case.tool} {case.words}")
            say(
                f"  processor time: in turn {processor_ratio(turns, started[case.tool])}, at once on one processor "
                f"{processor_ratio(once, begun[case.tool])}"
            )
            for test, (theirs, own, ratio) in rate_ratios(turns).items():
                say(f"  {test:<22} {theirs:>16,.0f}/s {own:>16,.0f}/s   rate {ratio}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
