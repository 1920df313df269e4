"""Whether what a study or a command makes fits on a file system, asked before the first byte is written.

Scope: bytes and inodes that all ranks, files, segments and repetitions need together, compared with what an ordinary
user has free. What is made is counted by the caller; a directory is a file here. It loads nothing, so that a small call
starts fast.
What it refuses: more than is free, with both numbers. A file system that fills up meanwhile is met by who writes.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mileage.errors import Refused


class NoRoom(Refused):
    """What is to be made does not fit."""


def refuse_without_room(
    where: str, directory: Path, *, needed_bytes: int, needed_files: int, held_bytes: int = 0
) -> None:
    """Raise NoRoom when the file system of `directory` has no room for `needed_bytes` in `needed_files` new files.

    `directory` need not exist yet. `held_bytes`: allocated in files that are written again, which count as free.
    """
    space = _space(where, directory)
    free_bytes = space.f_bavail * space.f_frsize + held_bytes
    if needed_bytes > free_bytes:
        raise _no_room(where, directory, f"{needed_bytes} bytes", f"{free_bytes} bytes")
    # A file system that makes inodes as they are needed counts none.
    if space.f_files and needed_files > space.f_favail:
        raise _no_room(where, directory, f"{needed_files} files", f"{space.f_favail} inodes")


def allocated_bytes(where: str, directory: Path, file_bytes: int) -> int:
    """Bytes that a file of `file_bytes` occupies on the file system of `directory`: whole blocks."""
    block = _space(where, directory).f_frsize
    return -(-file_bytes // block) * block


class Room:
    """What a command is about to make, added up for each file system."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._needs: dict[int, tuple[Path, int, int, int]] = {}

    def add(self, path: str, size: int, files: int = 1) -> None:
        """Count a file that will have this size, or several together; what it holds now counts as free."""
        directory = _existing(Path(path).parent)
        held = 0
        with contextlib.suppress(OSError):
            held, files = os.stat(path).st_blocks * 512, files - 1
        try:
            device = os.stat(directory).st_dev
        except OSError:
            return
        place, known_bytes, known_files, known_held = self._needs.get(device, (directory, 0, 0, 0))
        self._needs[device] = (place, known_bytes + size, known_files + files, known_held + held)

    def check(self) -> None:
        """Raise NoRoom when something does not fit."""
        for directory, size, files, held in self._needs.values():
            refuse_without_room(
                self._where, directory, needed_bytes=size, needed_files=files, held_bytes=held
            )


def _existing(directory: Path) -> Path:
    """The directory, or the nearest one above it that exists."""
    return next((each for each in (directory, *directory.parents) if each.exists()), directory)


def _space(where: str, directory: Path) -> os.statvfs_result:
    try:
        return os.statvfs(_existing(directory))
    except OSError as error:
        raise Refused(
            where, f"{directory} cannot be looked at: {error.strerror}", code="unreadable"
        ) from error


def _no_room(where: str, directory: Path, needed: str, free: str) -> NoRoom:
    return NoRoom(
        where,
        f"{needed} are needed and {free} are free on the file system of {directory}",
        advice="free some space or make the work smaller",
        code="no-room",
    )
