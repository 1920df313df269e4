"""Bringing a new file system into a used state: filled to a share, or aged by a recipe.

Scope: `fill` writes one file until a share of the file system is taken. `age` writes files of random sizes
(logarithmically uniform, 4 KiB to 4 MiB) until the file system is fuller than asked for by half of what is left,
removes files in random order down to the share, several times, which fragments the free space. The same
seed, size and kind of file system give the same names, sizes and order.
What it refuses: shares that leave no room for the work file; that shows when it is allocated.

What is written does not compress, so that a file system or drive that compresses is as full as it looks.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Final

from mileage.errors import RunFailed

FOLDER: Final = ".mileage-used"
TURNS: Final = 4
"""Number of rounds of writing and removing files."""
_SMALLEST: Final = 4 << 10
_LARGEST: Final = 4 << 20
_PER_FOLDER: Final = 500
_PIECE: Final = 1 << 20
_STEPS: Final = 200
"""Number of steps in which the capacity is written or removed; the fill level is checked after each."""


def fill(place: Path, percent: float) -> str:
    """Take a share of a file system with one file; says what was done. Raises RunFailed."""
    folder = place / FOLDER
    wanted = _capacity(place) * percent / 100 - _taken(place)
    noise = os.urandom(_PIECE)
    try:
        folder.mkdir(exist_ok=True)
        with (folder / "filled").open("wb") as file:
            written = 0
            while written < wanted:
                # A different start in every piece keeps deduplication from finding equal blocks.
                written += file.write(noise[written // _PIECE % 4096 + 1 :])
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RunFailed.from_os_error(f"{place} cannot be filled to {percent:g} %", error) from error
    return f"filled to {_share(place):.0f} %"


def age(place: Path, percent: float, seed: int) -> str:
    """Write and remove files until a share of a file system is taken by what is left. Raises RunFailed."""
    draw = random.Random(seed)
    noise = draw.randbytes(2 * _LARGEST)
    high = percent + (100 - percent) / 2
    step = _capacity(place) // _STEPS
    files: list[tuple[Path, int]] = []
    written = removed = 0
    try:
        for turn in range(TURNS):
            while _share(place) < high:
                moved = 0
                while moved < step:
                    path = place / FOLDER / f"{turn}-{written // _PER_FOLDER}" / f"{written}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    size = min(int(_SMALLEST * (_LARGEST / _SMALLEST) ** draw.random()), step)
                    start = draw.randrange(_LARGEST)
                    path.write_bytes(noise[start : start + size])
                    files.append((path, size))
                    written += 1
                    moved += size
                # Only then does the file system show what is taken.
                sync_file_system(place)
            while files and _share(place) > percent:
                moved = 0
                while files and moved < step:
                    path, size = files.pop(draw.randrange(len(files)))
                    path.unlink()
                    removed += 1
                    moved += size
                # Only then does the file system show what is taken.
                sync_file_system(place)
    except OSError as error:
        raise RunFailed.from_os_error(f"{place} cannot be aged to {percent:g} %", error) from error
    summary = f"{written} files written, {removed} removed, {_share(place):.0f} % full"
    return f"aged in {TURNS} turns with seed {seed}: {summary}"


def sync_file_system(place: Path) -> None:
    """Have the file system of a directory write all that it holds back, and commit. Raises OSError."""
    import ctypes

    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(descriptor)


def _capacity(place: Path) -> int:
    space = os.statvfs(place)
    return space.f_blocks * space.f_frsize


def _share(place: Path) -> float:
    """Fill level of the file system in percent."""
    return 100 * _taken(place) / _capacity(place)


def _taken(place: Path) -> int:
    space = os.statvfs(place)
    return (space.f_blocks - space.f_bfree) * space.f_frsize
