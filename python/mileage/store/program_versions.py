"""Versions of the programs that a study runs on a real target, and of the MPI library of this process.

Scope: a flat key `version.NAME` for each program that Mileage may call: made file systems, mounts, loop devices,
discards and the questions to drives. A program is asked once in a process and again when its file changes.
What it refuses: to omit a program. One that is not installed, or does not report a version, is said to be so.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from mileage.targets.programs import find_program

TIMEOUT_S: Final = 10.0
OPTIONS: Final[Mapping[str, str]] = {
    "mkfs.ext4": "-V",
    "mkfs.xfs": "-V",
    "mkfs.btrfs": "--version",
    "mount": "--version",
    "fstrim": "--version",
    "losetup": "--version",
    "smartctl": "--version",
    "nvme": "version",
    "hdparm": "-V",
    "mpirun": "--version",
}
"""The option that prints a program's version."""
ABSENT: Final = "not installed"
NO_MPI: Final = "none in this process"


def program_versions() -> dict[str, str]:
    """The first line that each program prints of its version, by `version.NAME`."""
    found = {f"version.{name}": _version(name, option) for name, option in OPTIONS.items()}
    return {**found, "version.mpi_library": _mpi_library()}


def _version(name: str, option: str) -> str:
    place = find_program(name)
    if place is None:
        return ABSENT
    try:
        status = os.stat(place)
    except OSError:
        return ABSENT
    return _printed(place, option, (status.st_ino, status.st_mtime_ns))


@functools.lru_cache(maxsize=64)
def _printed(place: str, option: str, _state: tuple[int, int]) -> str:
    """First line that a program prints; mkfs.ext4 prints it on the error output."""
    try:
        done = subprocess.run(
            [place, option],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            process_group=0,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as cause:
        return f"unknown: {type(cause).__name__}"
    lines = [line.strip() for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    if done.returncode != 0 or not lines:
        return f"unknown: {option} gives exit status {done.returncode}"
    # The features that util-linux lists after the version say nothing about what is done here.
    return lines[0].partition(" (libmount")[0][:120]


def _mpi_library() -> str:
    """The MPI library that connects the ranks, where this process is one of them."""
    if "mpi4py.MPI" not in sys.modules:
        return NO_MPI
    from mpi4py import MPI

    return str(MPI.Get_library_version()).splitlines()[0].strip("\0 ")[:120]
