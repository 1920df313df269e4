"""Temporary directories of which nothing is left behind, also after `kill -9`.

Scope: a directory with a random name, locked with flock(2) as long as its process lives. The first one that a
process makes in a folder removes those there that nobody holds any more; `mileage doctor --repair` removes those of the
temporary directory too.
What it refuses: to remove what is locked, what belongs to another user, and what is not a directory.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

SCRATCH: Final = "mileage-scratch-"
"""Prefix of the names of these directories."""
_HELD: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_swept: set[Path] = set()
"""Folders that this process has looked through."""


@contextmanager
def scratch_directory(parent: Path | None = None, prefix: str = SCRATCH) -> Iterator[Path]:
    """A new directory in `parent` (default: the temporary directory), removed on the way out. Raises OSError.

    With another `prefix`, what is left of it is the caller's to find and to remove.
    """
    folder = Path(tempfile.gettempdir()) if parent is None else parent
    if folder not in _swept:
        remove_abandoned(folder)
        _swept.add(folder)
    path, descriptor = _made(folder, prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _made(folder: Path, prefix: str) -> tuple[Path, int]:
    """A new directory and the descriptor that holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
        try:
            descriptor = os.open(path, _HELD)
        except FileNotFoundError:
            continue
        # Shared locks work on network file systems too; where no locks exist, no directory is removed either.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        # Between creation and lock, another process may have taken the directory for a leftover and removed it.
        if path.exists():
            return path, descriptor
        os.close(descriptor)


def abandoned(folder: Path | None = None, prefix: str = SCRATCH) -> list[Path]:
    """The scratch directories of this user in a folder (default: the temporary one) whose processes have ended."""
    found = []
    for path in _scratch_in(folder, prefix):
        descriptor = _lock_of_nobody(path)
        if descriptor is not None:
            os.close(descriptor)
            found.append(path)
    return found


def remove_abandoned(folder: Path | None = None, prefix: str = SCRATCH) -> list[Path]:
    """Remove what :func:`abandoned` finds; what was removed."""
    removed = []
    for path in _scratch_in(folder, prefix):
        descriptor = _lock_of_nobody(path)
        if descriptor is None:
            continue
        try:
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(descriptor)
        if not os.path.lexists(path):
            removed.append(path)
    return removed


def _scratch_in(folder: Path | None, prefix: str) -> list[Path]:
    try:
        with os.scandir(tempfile.gettempdir() if folder is None else folder) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.name.startswith(prefix))
    except OSError:
        return []


def _lock_of_nobody(path: Path) -> int | None:
    """A descriptor that locks a directory of this user which nobody holds; None where there is no such directory."""
    try:
        descriptor = os.open(path, _HELD)
    except OSError:
        return None
    status = os.fstat(descriptor)
    try:
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None
