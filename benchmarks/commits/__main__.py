"""`python -m benchmarks.commits`: how long commits take, by Mileage and by tools and databases.

Three tables, each program in turn with the others, beginning with another one in each round:

* etcd's check of a disk (2,300-byte appends, each followed by fdatasync) by fio, `mileage fio`, `mileage measure` and
  `mileage check --for etcd`, on one file system: ratios of p50 and of p99 to fio's with 90 % intervals over the rounds.
  Rounds continue until each interval is inside or outside of 10 %, or the time is over.
* PostgreSQL's pg_test_fsync (8 KiB in place) and `mileage measure`, on a served drive whose flush takes 2 ms.
* For comparison, on the file system of the first table: SQLite's commits and those of PostgreSQL with one client.

Needs fio and PostgreSQL's programs, and root for the second and third table. On a busy machine the intervals are wide:
run it on an idle one. Ten minutes at most.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.commits import programs
from benchmarks.commits.programs import Commits, Failed
from benchmarks.commits.ratios import BAND, ROUNDS_MIN, Ratio, is_enough, ratio
from benchmarks.peers.turns import rotated
from benchmarks.served_drives.__main__ import served

DRIVE = "intel-x25e-64gb,write_buffer_power=volatile,flush_us=2000"
WAL_BAND = 0.05


def say(text: str) -> None:
    """A line to the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def etcd_table(place: Path, budget_s: float, size_bytes: int) -> bool:
    """Print etcd's check by each program; whether no ratio is shown to be beyond the band."""
    say(
        f"etcd's check: {size_bytes // programs.RECORD_BYTES:,} appends of 2,300 B, each with fdatasync, in {place}"
    )
    found: dict[str, list[Commits]] = {name: [] for name in programs.ETCD}
    until_s = time.monotonic() + budget_s
    ratios: dict[str, Ratio] = {}
    rounds, longest_s = 0, 0.0
    # A round that would end after the time is not begun.
    while rounds < 2 or (time.monotonic() + longest_s < until_s and not is_enough(ratios)):
        began_s = time.monotonic()
        for name in rotated(list(programs.ETCD), rounds):
            found[name].append(programs.ETCD[name](place, size_bytes))
        rounds += 1
        longest_s = max(longest_s, time.monotonic() - began_s)
        ratios = etcd_ratios(found) if rounds > 1 else {}
    for name, runs in found.items():
        p50, p99 = (median(getattr(run, key) for run in runs) for key in ("p50_us", "p99_us"))
        say(f"  {name:16} {Commits(runs[0].commits, p50, p99)}   (median of {rounds} runs)")
    for name, one in ratios.items():
        say(f"  {name:24} {one}, {verdict(one, BAND)}")
    say(f"  {rounds} rounds; 90 % intervals of the geometric mean of the ratios of each round")
    return not any(one.is_beyond(BAND) for one in ratios.values())


def etcd_ratios(found: dict[str, list[Commits]]) -> dict[str, Ratio]:
    """Ratios of both quantiles to those of the first program."""
    first, *others = found
    return {
        f"{name} / {first}, {key.removesuffix('_us')}": ratio(
            [getattr(run, key) for run in found[name]], [getattr(run, key) for run in found[first]]
        )
        for name in others
        for key in ("p50_us", "p99_us")
    }


def verdict(one: Ratio, band: float) -> str:
    """Where an interval lies."""
    if one.is_within(band):
        return f"within {band:.0%}"
    return f"beyond {band:.0%}" if one.is_beyond(band) else f"not shown to be within {band:.0%}"


def wal_table(rounds: int, seconds: int) -> bool:
    """Print pg_test_fsync and Mileage on a served drive; whether no ratio is shown to be beyond 5 %."""
    say(f"pg_test_fsync, 8 KiB in place, on the served drive {DRIVE}")
    found: dict[str, list[dict[str, float]]] = {"pg_test_fsync": [], "mileage measure": []}
    doers: dict[str, Callable[[Path, int], dict[str, float]]] = {
        "pg_test_fsync": programs.wal_by_pg,
        "mileage measure": programs.wal_by_measure,
    }
    with served_file_system() as place:
        for number in range(rounds):
            for name in rotated(list(doers), number):
                found[name].append(doers[name](place, seconds))
    agrees = True
    for method in found["pg_test_fsync"][0]:
        theirs, ours = ([run[method] for run in runs] for runs in found.values())
        one = ratio(ours, theirs)
        agrees = agrees and not one.is_beyond(WAL_BAND)
        say(
            f"  {method:14} pg_test_fsync {median(theirs):7,.0f} us, mileage {median(ours):7,.0f} us;"
            f" ratio {one}, {verdict(one, WAL_BAND)}"
        )
    say(f"  {rounds} rounds of {seconds} s each")
    return agrees


@contextmanager
def served_file_system() -> Iterator[Path]:
    """A directory of ext4 on a loop device of a served drive."""
    with served(DRIVE) as (drive, ledger), tempfile.TemporaryDirectory() as folder:
        device = str(drive.attach(ledger))
        lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
        programs.output(["mkfs.ext4", "-q", "-F", "-E", lazy, device, "4G"])
        programs.output(["mount", device, folder])
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=False)


def database_table(place: Path, seconds: int, count: int) -> None:
    """Print the commits of databases."""
    say(f"commits of databases in {place}")
    for mode in ("wal", "delete"):
        say(f"  SQLite, {mode:6}   {programs.by_sqlite(place, mode, count)}")
    say(f"  PostgreSQL       {programs.by_postgres(place, seconds)}")


def main() -> None:
    """Print the tables. Exit status 1 if a ratio is beyond its band, 3 if a program is missing or fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__)
    parser.add_argument(
        "--at", type=Path, help="directory on the file system to measure; default: a temporary one"
    )
    parser.add_argument("--only", choices=["etcd", "wal", "databases"], help="one table")
    parser.add_argument(
        "--etcd-seconds", type=float, default=300.0, help="time for rounds of etcd's check (300)"
    )
    parser.add_argument(
        "--size", type=int, default=programs.SIZE_BYTES, help="bytes of etcd's check, 3 MB or more (22 MiB)"
    )
    parser.add_argument("--wal-rounds", type=int, default=2 * ROUNDS_MIN, help="rounds of pg_test_fsync (10)")
    parser.add_argument("--wal-seconds", type=int, default=1, help="of each method and round (1)")
    asked = parser.parse_args()
    if asked.size < 3_000_000:
        # A p99 needs a thousand commits.
        parser.error("--size: expected 3000000 or more")
    say(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    agrees = True
    try:
        with tempfile.TemporaryDirectory(dir=asked.at) as folder:
            place = Path(folder)
            # PostgreSQL's user must be able to reach its directory.
            place.chmod(0o711)
            if asked.only in (None, "etcd"):
                agrees &= etcd_table(place, asked.etcd_seconds, asked.size)
            if asked.only in (None, "wal"):
                agrees &= wal_table(asked.wal_rounds, asked.wal_seconds)
            if asked.only in (None, "databases"):
                database_table(place, 15, 1000)
    except Failed as error:
        say(f"benchmarks.commits: {error}")
        sys.exit(3)
    sys.exit(0 if agrees else 1)


if __name__ == "__main__":
    main()
