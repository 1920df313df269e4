"""Prints the seconds of the command."""

from __future__ import annotations

import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mileage.app.importer import make_study, read_files

GOAL_S = 2.0


def make_history(place: Path, *, sessions: int, tests: int, runs: int) -> tuple[Path, Path]:
    """The folder of a history, and a candidate; spread 1 % between sessions and between runs."""
    draw = random.Random(2010)
    for number in range(sessions + 1):
        name = f"session-{number:03}"
        day = draw.gauss(0.0, 0.01)
        rows = [
            f"test {test},{run},{1e4 * math.exp(day + draw.gauss(0.0, 0.01)):.3f},IOPS,{name}"
            for test in range(tests)
            for run in range(1, runs + 1)
        ]
        table = place / f"{name}.csv"
        table.write_text("\n".join(["cell,repetition,value,unit,session", *rows, ""]))
        folder = place / "candidate" if number == sessions else place / "history" / name
        make_study(read_files([table]), folder)
    return place / "history", place / "candidate"


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds of a command, and of the processor."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    after, ended = os.times(), time.perf_counter()
    used_s = sum(getattr(after, key) - getattr(before, key) for key in ("children_user", "children_system"))
    return ended - began, used_s


def main() -> None:
    """Make a history, and compare a candidate with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--tests", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5, help="of each test in each session")
    parser.add_argument("--calls", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        made = make_history(Path(place), sessions=given.sessions, tests=given.tests, runs=given.runs)
        command = [sys.executable, "-m", "mileage", "compare", "--history", *map(str, made)]
        times_s = [timed(command) for _ in range(given.calls)]
    wall_s, processor_s = (min(column) for column in zip(*times_s, strict=True))
    sys.stdout.write(
        f"{given.sessions} sessions of {given.tests} tests of {given.runs} runs: {wall_s:.2f} s, of the processor "
        f"{processor_s:.2f} s (goal {GOAL_S:g} s)\n"
    )


if __name__ == "__main__":
    main()
