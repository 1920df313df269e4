"""`python -m benchmarks.power_cuts`: acknowledged writes that a power cut loses, and synced writes a second.

For each combination of barriers, write cache and its protection a program of a modelled host appends 4 KiB to a file,
or overwrites 4 KiB of it, and syncs it. At a random instant of each of these, what a cut would leave is compared with
what was acknowledged. A row holds where no cut loses anything if the contract of fsync is kept, and at least one does
if it is not. The X25-E stands there twice: as its profile has it, and with a flush of 10 ms, chosen so that its rate
with barriers is the 50 a second that a reader of a test of arrays reports (AnandTech, 2009, comments); the same
reader's 1,200 a second of the safe way, without a write cache, is a prediction.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from mileage import _core
from mileage.targets.host_profiles import load_hosted

WRITES_A_HOST: Final = 100
"""Cuts in the life of one host: less than the age at which metadata is written in place."""
_OF_THE_BUFFER: Final = re.compile(
    r"^\[(?:write_buffer_\w+|write_combining|flush_us)\]\n(?:(?!\[).*\n)*", re.MULTILINE
)


class Drive(NamedTuple):
    """A drive in one state of its write cache."""

    name: str
    changes: str
    cache: str
    """ "volatile", "protected" or "off"."""


DRIVES: Final = (
    Drive("hpe-7k2-500gb", "", "volatile"),
    Drive("hpe-7k2-500gb", ",write_cache_bytes=0", "off"),
    Drive("intel-x25e-64gb", ",write_buffer_power=volatile", "volatile"),
    Drive("intel-x25e-64gb", ",write_buffer_power=protected", "protected"),
    Drive("intel-x25e-64gb", "", "off"),
    Drive("intel-x25e-64gb", ",write_buffer_power=volatile,flush_us=10000", "volatile"),
    Drive("intel-x25e-64gb", ",write_buffer_power=protected,flush_us=10000", "protected"),
)


class Row(NamedTuple):
    """What cuts lose on one drive, with barriers or without."""

    drive: Drive
    barriers: bool
    cuts: int
    losing: int
    lost_most: int
    synced_per_s: float

    @property
    def is_safe(self) -> bool:
        """Whether fsync keeps its contract: what it has acknowledged is on the medium or in a protected cache."""
        return self.barriers or self.drive.cache != "volatile"

    @property
    def holds(self) -> bool:
        """Whether nothing is lost where the contract is kept, and something where it is not."""
        return self.is_safe == (self.losing == 0)


def without_buffer(drive: str) -> str:
    """The profile of a flash drive (TOML) without its write buffer."""
    found = _OF_THE_BUFFER.sub("", drive)
    return f'{found}\n[write_buffer_pages]\nvalue = 0\nsource = "switched off"\nconfidence = "defined"\n'


def row(drive: Drive, barriers: bool, host: str, cuts: int, seed: int) -> Row:
    """Cut the power `cuts` times."""
    texts = load_hosted(f"{drive.name}@{host},barrier={str(barriers).lower()}{drive.changes}")
    of_drive, of_host = texts
    if drive.cache == "off" and "[write_buffer_pages]" in of_drive:
        of_drive = without_buffer(of_drive)
    losing = lost_most = taken_ns = 0
    for first in range(0, cuts, WRITES_A_HOST):
        fresh = _core.Host(of_host, of_drive)
        found, most, synced_ns = fresh.random_cuts(min(WRITES_A_HOST, cuts - first), seed + first)
        losing, lost_most, taken_ns = losing + found, max(lost_most, most), taken_ns + synced_ns
    return Row(drive, barriers, cuts, losing, lost_most, cuts * 1e9 / taken_ns)


def rows(host: str, cuts: int, seed: int) -> Iterator[Row]:
    """All combinations."""
    for drive in DRIVES:
        for barriers in (True, False):
            yield row(drive, barriers, host, cuts, seed)


def main() -> int:
    """Print the table; status 1 when a row does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.power_cuts", description=__doc__)
    parser.add_argument("--host", action="append", help="of the shipped hosts; default: two")
    parser.add_argument("--cuts", type=int, default=1000, help="for each combination")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    every = True
    print_line(
        "drive | host | barriers | write cache | contract | cuts | that lose | lost at most | synced/s"
    )
    for host in asked.host or ("phenom-8gib", "server-2025"):
        for it in rows(host, asked.cuts, asked.seed):
            every = every and it.holds
            name = it.drive.name + (", flush 10 ms" if "flush_us" in it.drive.changes else "")
            words = (
                name,
                host,
                "on" if it.barriers else "off",
                it.drive.cache,
                ("kept" if it.is_safe else "broken") + ("" if it.holds else ": NOT SO"),
                it.cuts,
                it.losing,
                it.lost_most,
                f"{it.synced_per_s:.0f}",
            )
            print_line(" | ".join(map(str, words)))
    return 0 if every else 1


def print_line(text: str) -> None:
    """A line to the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
