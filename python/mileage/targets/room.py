"""Whether what a command is about to write fits on the file systems on which it writes.

Scope: bytes and inodes of all files of all ranks and repetitions, added for each file system and compared with what is
free, before the first byte. What an existing file holds counts as free, where it is written anew.
What it refuses: more than fits, with both numbers. What metadata the file system itself will need is not known.
"""

from __future__ import annotations

import os
from pathlib import Path

from mileage.errors import Refused


def refuse_without_room(where: str, directory: Path | str, *, needed_bytes: int, needed_files: int) -> None:
    """Refuse what does not fit in a directory. `where` begins the refusal. Raises Refused, and OSError without it."""
    found = os.statvfs(directory)
    free_bytes = found.f_bavail * found.f_frsize
    if needed_bytes > free_bytes:
        raise Refused(
            where,
            f"{needed_bytes} bytes are needed and {free_bytes} are free in {directory}",
            advice="free some space or make it smaller",
            code="no-room",
        )
    # Some file systems have no fixed number of inodes, and report 0.
    if found.f_files and needed_files > found.f_favail:
        raise Refused(
            where,
            f"{needed_files} files and directories are to be made and {found.f_favail} inodes are free in {directory}",
            advice="make fewer, or use a file system with more inodes",
            code="no-room",
        )


class Room:
    """What a command is about to write, by file system."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._needs: dict[int, tuple[str, int, int]] = {}

    def add(self, path: str, size: int, files: int = 1) -> None:
        """Count a file that will have this size, or several together; nothing where its directory is missing."""
        directory = os.path.dirname(path) or "."
        try:
            device = os.stat(directory).st_dev
        except OSError:
            return
        try:
            held = os.stat(path)
            size, files = size - held.st_blocks * 512, files - 1
        except OSError:
            pass
        place, known_bytes, known_files = self._needs.get(device, (directory, 0, 0))
        self._needs[device] = (place, known_bytes + max(size, 0), known_files + files)

    def check(self) -> None:
        """Raise Refused when something does not fit."""
        for directory, size, files in self._needs.values():
            refuse_without_room(self._where, directory, needed_bytes=size, needed_files=files)
