"""`python -m benchmarks.peers`: run every row, print the table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.peers import places, rows
from benchmarks.peers import programs as run
from benchmarks.peers.programs import OTHERS, Programs, Unusable
from benchmarks.peers.rows import Row, Sizes
from benchmarks.peers.table import US, Bar, Reading, judge, lines

Readings = dict[str, list[Reading]]
#: A row's name, readings and bars.
Compared = tuple[str, Readings, tuple[Bar, ...]]
METADATA_BARS = (Bar("rate", 0.97, ("bare loop",)), Bar("cpu", 1.03, ("bare loop",)))
METADATA = ("create", "stat", "utime", "unlink")


def say(text: str) -> None:
    """A line to the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def arguments() -> argparse.Namespace:
    """What was asked for."""
    variables = ", ".join(f"{variable} ({name})" for name, (variable, _) in OTHERS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="Mileage, bare loops and other load generators in turn on one machine; ratios with their range.",
        epilog=f"Programs are looked up in PATH or given in the environment: {variables}.",
    )
    parser.add_argument(
        "--engine", type=Path, default=Path("target/release/examples"), help="folder of one_run"
    )
    parser.add_argument("--folder", type=Path, default=Path("target"), help="where the files are made")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one run (1)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--cached-mib", type=int, default=1024, help="size of the file that is cached (1024)")
    parser.add_argument("--direct-mib", type=int, default=1024, help="size of the file for O_DIRECT (1024)")
    parser.add_argument("--files", type=int, default=20_000, help="files of a metadata run (20000)")
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument("--json", type=Path, help="also write every reading to this file")
    parser.add_argument(
        "--smoke", action="store_true", help="every row once, as small as can be: does it run?"
    )
    return parser.parse_args()


def take_turns(row: Row, rounds: int) -> Readings:
    """Every program of a row, round after round, each round starting with another one."""
    readings: Readings = {name: [] for name in row.arms}
    for number in range(rounds):
        names = list(readings)
        first = number % max(len(names), 1)
        for name in names[first:] + names[:first]:
            row.before()
            try:
                readings[name].append(row.arms[name]())
            except Unusable as error:
                if name == US:
                    raise
                say(f"  left out of this row: {name}: {error}")
                del readings[name]
    return readings


def metadata(programs: Programs, sizes: Sizes, scratch: Path) -> dict[str, Readings]:
    """Create, stat, utime, unlink; every program on a file system of its own."""
    arms: dict[str, Callable[[Path], dict[str, Reading]]] = {
        US: lambda at: {step: run.metadata(programs, at, sizes.files, step) for step in METADATA},
        "bare loop": lambda at: {
            step: run.bare(programs, ["metadata", str(at), str(sizes.files), step]) for step in METADATA
        },
    }
    if "mdtest" in programs.others:
        arms["mdtest"] = lambda at: run.mdtest(programs.others["mdtest"], at, sizes.files)
    found: dict[str, Readings] = {operation: {} for operation in METADATA}
    for number in range(sizes.rounds):
        names = list(arms)
        first = number % len(names)
        for name in names[first:] + names[:first]:
            with places.fresh_ext4(scratch, sizes.files) as at:
                for operation, reading in arms[name](at).items():
                    found[operation].setdefault(name, []).append(reading)
    return found


def file_rows(programs: Programs, sizes: Sizes, scratch: Path, memory: Path) -> Iterator[Row]:
    """The rows on files; a file is laid out when the first run needs it."""
    path, kind = scratch / "cached.dat", places.kind_of(scratch)
    yield rows.cached_calls(programs, sizes, path, kind)
    yield rows.cached_ring(programs, sizes, path, kind)
    in_memory = memory / "cached.dat"
    yield rows.cached_calls(programs, sizes, in_memory, "tmpfs")
    in_memory.unlink(missing_ok=True)
    yield rows.null(programs, sizes, path)
    path.unlink(missing_ok=True)
    path = scratch / "direct.dat"
    for depth in (1, 32):
        for write in (False, True):
            yield rows.direct(programs, sizes, path, write, depth)
    for write in (False, True):
        yield rows.sequential(programs, sizes, path, write)


def compare(given: argparse.Namespace, sizes: Sizes, programs: Programs) -> Iterator[Compared]:
    """Name, readings and bars of every row that was asked for."""
    given.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="peers-", dir=given.folder) as name:
        scratch = Path(name)
        with places.in_memory(scratch, sizes.cached_mib) as memory:
            for row in file_rows(programs, sizes, scratch, memory):
                if given.only in row.name:
                    yield row.name, take_turns(row, sizes.rounds), row.bars
        if given.only in "metadata on a fresh ext4":
            try:
                found = metadata(programs, sizes, scratch)
            except Unusable as error:
                say(f"metadata on a fresh ext4: left out: {error}")
                return
            for operation, readings in found.items():
                yield f"metadata on a fresh ext4: {operation}", readings, METADATA_BARS


def main() -> int:
    """Print the table as it grows; the exit status: 0 done, 2 something that is needed is missing or does not work."""
    given = arguments()
    sizes = Sizes(given.seconds, given.rounds, given.cached_mib, given.direct_mib, given.files)
    if given.smoke:
        sizes = Sizes(seconds=0.05, rounds=1, cached_mib=8, direct_mib=8, files=50)
    began, kept, missed = time.monotonic(), [], []
    try:
        programs = Programs.find(given.engine)
        load, processors = os.getloadavg()[0], os.cpu_count()
        say(f"{platform.uname().release}, {processors} processors, load {load:.2f}; {sizes}")
        say(
            f"takes part: {', '.join(programs.others) or 'nobody else'}; not found: {', '.join(programs.missing())}"
        )
        say(f"each ratio is {US}'s figure over the other's: median of {sizes.rounds} rounds [least, most]\n")
        for name, readings, bars in compare(given, sizes, programs):
            say("\n".join(lines(name, readings, bars)) + "\n")
            outcomes = [outcome for bar in bars if (outcome := judge(bar, readings))]
            missed += [f"{name}: {outcome.bar}" for outcome in outcomes if not outcome.holds]
            runs = {who: [asdict(one) for one in ones] for who, ones in readings.items()}
            kept.append({"row": name, "readings": runs})
    except Unusable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        if given.json:
            given.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    say(f"{time.monotonic() - began:.0f} s; bars missed: {'; '.join(missed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
