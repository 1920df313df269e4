"""Lists of what commands will remove at their end, by which the next command removes what a killed one left.

Scope: one file for each command that has such files, in the folder of the ledgers, locked as long as one of its
processes lives, and removed at its end. An entry is a file, a directory of names with their pattern, or one that
is removed if it is empty.
What it refuses: to remove what is not marked as in work by that command, but for an empty file that is younger than the
command (it was killed between making and marking it), and lists that other users may have written.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from mileage import _core
from mileage.targets.door.marks import forget_mark, ledger_folder, read_mark

_END: Final = ".open.json"
_OF_STUDIES: Final = ".mileage-"
_BYTES_MAX: Final = 16 << 20
_LOOK: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenList:
    """The list of one command; nothing is kept where no file can be made."""

    def __init__(self, token: int, began_ns: int, entries: Sequence[tuple[str, str]]) -> None:
        """`entries`: absolute paths, each with "file", "empty" or the pattern of the names in a directory."""
        self._path = ledger_folder() / "files" / f"{token:016x}{_END}"
        self._descriptor: int | None = None
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _LOOK
            self._descriptor = os.open(self._path, flags, 0o600)
            # Processes that are forked from this one hold the lock too.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            os.write(
                self._descriptor,
                json.dumps({"token": token, "began_ns": began_ns, "entries": entries}).encode(),
            )

    def close(self) -> None:
        """The command has removed what it had to."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def remove_leftovers(folder: Path | None = None) -> None:
    """Remove what the lists of dead commands name."""
    try:
        lists = sorted((folder or ledger_folder()).glob(f"files/*{_END}"))
    except OSError:
        return
    for path in lists:
        with suppress(OSError, ValueError, TypeError, KeyError):
            descriptor = os.open(path, os.O_RDWR | _LOOK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_trusted(descriptor):
                    found = json.loads(os.pread(descriptor, _BYTES_MAX, 0) or b"{}")
                    began_ns = int(found.get("began_ns", 0))
                    if not remove_passing(int(found.get("token", 0)), began_ns, found.get("entries", ())):
                        path.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _is_trusted(descriptor: int) -> bool:
    status = os.fstat(descriptor)
    own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    return own and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and status.st_size <= _BYTES_MAX


def remove_passing(token: int, began_ns: int, entries: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Remove what is left of the entries of a command, by its marks; those that must be tried again."""
    later: list[tuple[str, str]] = []
    for path, kind in entries:
        with suppress(OSError):
            if kind == "empty":
                # A study that was killed in it has files there, which the next study removes.
                if all(name.startswith(_OF_STUDIES) for name in os.listdir(path)):
                    later.append((path, kind))
                os.rmdir(path)
                later.pop()
            elif kind == "file":
                _remove_file(path, token, began_ns)
            else:
                _remove_names(path, kind, token)
    return later


def _remove_file(path: str, token: int, began_ns: int) -> None:
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptor = os.open(os.path.basename(path), os.O_RDONLY | _LOOK, dir_fd=folder)
        try:
            mark, status = read_mark(descriptor), os.fstat(descriptor)
            is_new = not status.st_size and began_ns <= (_core.birth_time_ns(descriptor) or 0)
            if mark.token == token if mark is not None else is_new and stat.S_ISREG(status.st_mode):
                forget_mark(descriptor)
                os.unlink(os.path.basename(path), dir_fd=folder)
        finally:
            os.close(descriptor)
    finally:
        os.close(folder)


def _remove_names(path: str, pattern: str, token: int) -> None:
    from mileage.targets.door.directories import NameDirectory

    base = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = os.path.basename(path)
        folder = NameDirectory(os.open(name, _DIRECTORY, dir_fd=base), base, name, pattern)
        mark = read_mark(folder.descriptor)
        if mark is not None and mark.token == token:
            folder.remove()
            folder.remove_if_empty()
        folder.close()
    finally:
        os.close(base)
