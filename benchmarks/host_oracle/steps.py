"""The steps of `workloads.toml`, as calls on a file system that a real kernel or the modelled host has."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol

RECORDS_DIRECT = ("direct_read", "direct_write", "direct_random_write")


class Calls(Protocol):
    """What both sides can do. Files are known by name and are opened when they are first used."""

    def read(self, name: str, offset: int, length: int, *, direct: bool = False) -> None:
        """Read a record."""

    def write(self, name: str, offset: int, length: int, *, direct: bool = False) -> None:
        """Write a record; the file is made if it is not there."""

    def fsync(self, name: str, *, data_only: bool = False) -> None:
        """Make a file durable."""

    def create(self, name: str) -> None:
        """Make an empty file and close it."""

    def unlink(self, name: str) -> None:
        """Remove a file."""

    def sync(self) -> None:
        """Make everything durable."""

    def fstrim(self) -> None:
        """Discard all free blocks."""

    def sleep(self, milliseconds: int) -> None:
        """Let time pass."""


def perform(calls: Calls, step: Sequence[Any], sizes: dict[str, int]) -> None:
    """Do one step. `sizes`: of the files that were written before."""
    what, *rest = step
    match what:
        case "read" | "direct_read":
            _records(calls.read, rest, direct=what == "direct_read")
        case "write" | "direct_write":
            _records(calls.write, rest, direct=what == "direct_write")
        case "random_read":
            _random(calls.read, rest, sizes, direct=False)
        case "direct_random_write":
            _random(calls.write, rest, sizes, direct=True)
        case "fsync":
            calls.fsync(rest[0])
        case "append_fsync" | "append_fdatasync" | "overwrite_fdatasync" | "slow_overwrite_fsync":
            _synced(calls, what, rest)
        case "create" | "create_fsync":
            for number in range(rest[0], rest[0] + rest[1]):
                calls.create(f"n{number}")
                if what == "create_fsync":
                    calls.fsync(f"n{number}")
        case "unlink":
            for number in range(rest[0], rest[0] + rest[1]):
                calls.unlink(f"n{number}")
        case "remove":
            calls.unlink(rest[0])
        case "remove_every_second":
            for number in range(0, rest[0], 2):
                calls.unlink(f"m{number}")
        case "sync":
            calls.sync()
        case "rest":
            calls.sleep(rest[0])
        case "fstrim":
            calls.fstrim()
        case _:
            raise ValueError(f"unknown step {what!r}")


def _records(do: Any, rest: Sequence[Any], *, direct: bool) -> None:
    name, first, length, count, step = rest
    for number in range(count):
        do(name, first + number * step, length, direct=direct)


def _random(do: Any, rest: Sequence[Any], sizes: dict[str, int], *, direct: bool) -> None:
    name, length, count, seed = rest
    drawn = random.Random(seed).sample(range(sizes[name] // length), count)
    for record in drawn:
        do(name, record * length, length, direct=direct)


def _synced(calls: Calls, what: str, rest: Sequence[Any]) -> None:
    name, length, count, *pause = rest
    for number in range(count):
        calls.write(name, number * length, length)
        calls.fsync(name, data_only=what.endswith("fdatasync"))
        if pause:
            calls.sleep(pause[0])
