"""Median processor time (user + system) of short commands, each in a process of its own, with the goal of each.

    python -m benchmarks.start_up [--runs N]

The first run of a command is not counted: it writes the byte code and fills the page cache. Exit status 1 when a median
is above its goal.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from statistics import median
from typing import Final

GOALS_S: Final = {
    "mileage --help": 0.15,
    "mileage list drives": 0.25,
    "mileage plan degradation --quick": 0.35,
}


def processor_time_s(command: str) -> float:
    """User and system time of one run. Raises SystemExit when the command fails."""
    # Without byte code each run would also compile every module that it imports.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    arguments = [sys.executable, "-m", *shlex.split(command)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Run each command and print its line."""
    parser = argparse.ArgumentParser(prog="benchmarks.start_up", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="Counted runs of each command.")
    runs = parser.parse_args().runs
    if runs < 1:
        parser.error(f"--runs {runs}: expected 1 or more")
    sys.stdout.write(f"{'command':<36}{'median':>10}{'smallest':>10}{'goal':>10}\n")
    slow = 0
    for command, goal_s in GOALS_S.items():
        processor_time_s(command)
        times_s = [processor_time_s(command) for _ in range(runs)]
        slow += median(times_s) > goal_s
        sys.stdout.write(f"{command:<36}{median(times_s):>8.3f} s{min(times_s):>8.3f} s{goal_s:>8.2f} s\n")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
