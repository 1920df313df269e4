"""`python -m benchmarks.peers`: run every row, print the table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.peers import places, rows, turns
from benchmarks.peers.programs import OTHERS, Programs, Unusable
from benchmarks.peers.rows import Row, Sizes
from benchmarks.peers.table import QUIET, US, ComparedRow, Readings, lines


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


def compare(given: argparse.Namespace, sizes: Sizes, programs: Programs) -> Iterator[ComparedRow]:
    """Every row that was asked for."""
    given.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="peers-", dir=given.folder) as name:
        scratch = Path(name)
        with places.in_memory(scratch, sizes.cached_mib) as memory:
            for row in file_rows(programs, sizes, scratch, memory):
                if given.only in row.name:
                    yield turns.compared(row, sizes, say)
        if given.only in rows.METADATA_ROW:
            try:
                yield from turns.metadata(programs, sizes, scratch)
            except Unusable as error:
                say(f"{rows.METADATA_ROW}: skipped: {error}")


def written(readings: Readings) -> dict[str, list[dict[str, Any]]]:
    """Readings as JSON has them."""
    return {who: [asdict(one) for one in ones] for who, ones in readings.items()}


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
        for row in compare(given, sizes, programs):
            say("\n".join(lines(row, load)) + "\n")
            outcomes = [outcome for bar in row.bars if load <= QUIET and (outcome := row.outcome(bar))]
            missed += [f"{row.name}: {outcome.bar}" for outcome in outcomes if not outcome.holds]
            kept.append({"row": row.name, "in_turn": written(row.in_turn), "at_once": written(row.at_once)})
    except Unusable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        if given.json:
            given.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    found = f"bars missed: {'; '.join(missed) or 'none'}"
    if load > QUIET:
        found = f"[!] no bar judged: the load average was {load:.1f} at the start"
    say(f"{time.monotonic() - began:.0f} s; {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
