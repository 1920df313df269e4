"""Whether what a study or a command makes fits on a file system, asked before the first byte is written.

Scope: bytes and inodes that all ranks, files, segments and repetitions need together, compared with what an ordinary
user has free. What is made is counted by the caller; a directory is a file here.
What it refuses: more than is free, with both numbers. A file system that fills up meanwhile is met by who writes.
"""

from __future__ import annotations

from pathlib import Path

from mileage.errors import Refused
from mileage.targets.filesystem import Ground, look_at


class NoRoom(Refused):
    """What is to be made does not fit."""


def refuse_without_room(
    where: str, directory: Path, *, needed_bytes: int, needed_files: int, held_bytes: int = 0
) -> None:
    """Raise NoRoom when the file system of `directory` has no room for `needed_bytes` in `needed_files` new files.

    `directory` need not exist yet. `held_bytes`: allocated in files that are written again, which count as free.
    """
    ground = _ground(where, directory)
    free_bytes = ground.free_bytes + held_bytes
    if needed_bytes > free_bytes:
        raise _no_room(where, directory, f"{needed_bytes} bytes", f"{free_bytes} bytes")
    if ground.free_files is not None and needed_files > ground.free_files:
        raise _no_room(where, directory, f"{needed_files} files", f"{ground.free_files} inodes")


def allocated_bytes(where: str, directory: Path, file_bytes: int) -> int:
    """Bytes that a file of `file_bytes` occupies on the file system of `directory`: whole blocks."""
    block = _ground(where, directory).file_block_bytes
    return -(-file_bytes // block) * block


def _ground(where: str, directory: Path) -> Ground:
    """The file system of the directory, or of the nearest one above it that exists."""
    try:
        found = next((each for each in (directory, *directory.parents) if each.exists()), directory)
        return look_at(found)
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
