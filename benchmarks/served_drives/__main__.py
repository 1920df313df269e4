"""`python -m benchmarks.served_drives`: rates and lateness of a served drive, and the same drive in simulated time.

The rates are those of a drive whose clock is unbounded, so that nothing waits for it: at depth 1 with client and server
on one processor, then at each depth on all, on the file and on a loop device over it. Next to the first is what a
request costs in processor time, and the rate that one processor without other work would reach: on a busy machine the
rates say little. Lateness is that of a drive in real time, with answers given asleep and spinning. fio is the client of
these two (`fio` of Debian); needs root. `agreement` says what it compares.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.served_drives.agreement import print_agreement
from mileage.targets.ledger import Ledger
from mileage.targets.served_drive import ServedDrive, ServedDriveOptions

SPAN = "64m"
DEPTHS = (1, 4, 32)
TICKS = os.sysconf("SC_CLK_TCK")


def say(text: str) -> None:
    """A line to the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextmanager
def served(profile: str, **how: Any) -> Iterator[tuple[ServedDrive, Ledger]]:
    """A served drive with its file."""
    with TemporaryDirectory(dir="/run") as folder:
        ledger = Ledger()
        drive = ServedDrive("benchmark", ServedDriveOptions(profile=profile, at=Path(folder, "at"), **how))
        drive.start(ledger)
        try:
            yield drive, ledger
        finally:
            drive.stop(ledger)


def rate(path: Path, load: str, depth: int, seconds: float, *, processors: str = "") -> float:
    """Requests a second of 4 KiB that fio gets answered."""
    engine = "psync" if depth == 1 else "io_uring"
    words = f"--rw={load} --iodepth={depth} --ioengine={engine} --runtime={seconds:g} --size={SPAN}"
    command = ["fio", "--name=x", f"--filename={path}", "--direct=1", "--bs=4k", "--time_based", "--thread"]
    command += [*words.split(), "--output-format=json"]
    if processors:
        command = ["taskset", "--cpu-list", processors, *command]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    job = json.loads(text[text.index("{") :])["jobs"][0]
    return float(job["read"]["iops"] + job["write"]["iops"])


def used_s(process: int) -> float:
    """Processor time of a process."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def print_rates(profile: str, seconds: float) -> None:
    """Rates without imposed time."""
    every = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    first = every.partition(",")[0]
    with served(profile, speed="unbounded") as (drive, ledger):
        assert drive.file is not None
        place_threads(drive.process_number, first)
        rate(drive.file, "randwrite", 1, seconds, processors=first)
        for load in ("randread", "randwrite"):
            before, own = used_s(drive.process_number), resource.getrusage(resource.RUSAGE_CHILDREN)
            found = rate(drive.file, load, 1, seconds, processors=first)
            after, end = used_s(drive.process_number), resource.getrusage(resource.RUSAGE_CHILDREN)
            client = end.ru_utime + end.ru_stime - own.ru_utime - own.ru_stime
            server_us, client_us = ((used / seconds / found) * 1e6 for used in (after - before, client))
            limit = 1e6 / (server_us + client_us)
            costs = f"{server_us:.1f} us of the server and {client_us:.1f} us of the client a request"
            say(
                f"depth 1, {load}, file, one processor: {found:,.0f}/s; {costs}, for which {limit:,.0f}/s fit"
            )
        place_threads(drive.process_number, every)
        for path, name in ((drive.file, "file"), (drive.attach(ledger), "loop device")):
            for depth in DEPTHS:
                say(
                    f"depth {depth}, randread, {name}, all processors: {rate(path, 'randread', depth, seconds):,.0f}/s"
                )


def place_threads(process: int, processors: str) -> None:
    """Let all threads of a process run on these processors alone."""
    subprocess.run(
        ["taskset", "--all-tasks", "--cpu-list", "--pid", processors, str(process)],
        check=True,
        capture_output=True,
    )


def print_lateness(profile: str, seconds: float) -> None:
    """How late answers of a drive in real time are, by depth."""
    for spins in (False, True):
        with served(profile, spins=spins) as (drive, _):
            assert drive.file is not None
            rate(drive.file, "randwrite", 32, seconds)
            for depth in DEPTHS:
                drive.control("lateness")
                found = rate(drive.file, "randread", depth, seconds)
                late = drive.control("lateness")
                p50, p99, most = (late[key] / 1000 for key in ("p50_ns", "p99_ns", "max_ns"))
                say(
                    f"{'spin' if spins else 'sleep'}, depth {depth}: {found:,.0f}/s; late by {p50:.1f} us (p50),"
                    f" {p99:.1f} us (p99), {most:,.0f} us (max) of {late['answers']:,} answers"
                )


def main() -> None:
    """Print the tables. Exit status 1 if the served drive differs from the simulated one where the machine kept up."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.served_drives", description=__doc__)
    parser.add_argument("--rates-of", default="plain-64gib", metavar="DRIVE")
    parser.add_argument("--lateness-of", default="intel-x25e-64gb", metavar="DRIVE")
    parser.add_argument("--agreement-of", default="intel-x25e-64gb", metavar="DRIVE")
    parser.add_argument("--repeats", type=int, default=3, help="of each workload of the agreement")
    parser.add_argument("--only", choices=["rates", "lateness", "agreement"], help="one table")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each rate")
    asked = parser.parse_args()
    say(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if asked.only in (None, "rates"):
        say(f"rates of {asked.rates_of}, its clock unbounded")
        print_rates(asked.rates_of, asked.seconds)
    if asked.only in (None, "lateness"):
        say(f"lateness of {asked.lateness_of} in real time")
        print_lateness(asked.lateness_of, asked.seconds)
    if asked.only in (None, "agreement"):
        say(f"{asked.agreement_of} served and simulated")
        with TemporaryDirectory() as folder:
            state = Path(folder, "state")
            agrees = print_agreement(asked.agreement_of, served, state, asked.repeats, say)
        sys.exit(0 if agrees else 1)


if __name__ == "__main__":
    main()
