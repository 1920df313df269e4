"""Marks on files and directories that Mileage made, by which a later command knows them again.

Scope: an extended attribute with the role, the identity (device, inode, time of birth) and, once Mileage has closed
the file, its size and modification time. While it is in work the mark holds the token of the command instead, so that
what a killed command left is known too. Where a file system keeps no attributes, the same bytes are a file in the
folder of the ledgers, named by device and inode.
What it refuses to know again: a copy or another file under the name (identity), and a file that something else has
written since (size, modification time).
"""

from __future__ import annotations

import os
import stat
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from mileage import _core

WORK: Final = "work"
"""Role of a file on which I/O was done."""
_ATTRIBUTE: Final = "user.mileage"
_LAYOUT: Final = struct.Struct("<BQQqQq")
"""State, device, inode, birth, and two values of the state. With a short role it fits into an inode of 256 bytes of
ext4, so that a mark takes no block of its own."""
_CLOSED, _IN_WORK = 0, 1


class Mark(NamedTuple):
    """What a file's mark says."""

    role: str
    """`WORK`, or the kind of a result."""
    token: int
    """Of the command that has it in work; 0 once it is closed."""
    marked_ns: int
    """When a directory was marked: nothing below it may be younger. 0 for a file."""


def write_mark(descriptor: int, role: str, token: int = 0) -> None:
    """Mark what is open: as in work with a token, as closed without. Nothing where neither way can be used."""
    status = os.fstat(descriptor)
    state = (token, 0) if token else _closed(status, time.time_ns())
    mark = (
        _LAYOUT.pack(_IN_WORK if token else _CLOSED, *_identity(descriptor, status), *state) + role.encode()
    )
    try:
        os.setxattr(descriptor, _ATTRIBUTE, mark)
    except OSError:
        record = _record_of(status)
        with suppress(OSError):
            record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            part = record.with_suffix(f".{os.getpid()}")
            part.write_bytes(mark)
            part.replace(record)


def read_mark(descriptor: int) -> Mark | None:
    """The mark of what is open; None where there is none, and where it is not that of this file as it is now."""
    status = os.fstat(descriptor)
    try:
        mark = os.getxattr(descriptor, _ATTRIBUTE)
    except OSError:
        try:
            mark = _record_of(status).read_bytes()
        except OSError:
            return None
    if len(mark) < _LAYOUT.size:
        return None
    state, device, inode, birth, *values = _LAYOUT.unpack_from(mark)
    if (device, inode, birth) != _identity(descriptor, status):
        return None
    role = mark[_LAYOUT.size :].decode(errors="replace")
    if state == _IN_WORK:
        return Mark(role, values[0], 0)
    if tuple(values) != _closed(status, values[1]):
        return None
    return Mark(role, 0, values[1] if stat.S_ISDIR(status.st_mode) else 0)


def forget_mark(descriptor: int) -> None:
    """Remove the record of a file that is about to be removed; an attribute goes with its file."""
    with suppress(OSError):
        _record_of(os.fstat(descriptor)).unlink(missing_ok=True)


def _identity(descriptor: int, status: os.stat_result) -> tuple[int, int, int]:
    return status.st_dev, status.st_ino, _core.birth_time_ns(descriptor) or 0


def _closed(status: os.stat_result, marked_ns: int) -> tuple[int, int]:
    """What must stay as it is: of a directory, which changes with each name in it, only the time of the mark."""
    if stat.S_ISDIR(status.st_mode):
        return 0, marked_ns
    return status.st_size, status.st_mtime_ns


def _record_of(status: os.stat_result) -> Path:
    return ledger_folder() / "files" / f"{status.st_dev}-{status.st_ino}"


# Where Mileage keeps what must outlive a process: ledgers of privileged steps, lists and marks of files.
# Scope: it loads nothing, so that a small call starts fast.

LEDGER_VARIABLE: Final = "MILEAGE_LEDGER"
"""Environment variable that names another folder for ledgers; everybody who is to repair needs the same."""


def ledger_folder() -> Path:
    """Folder of the ledgers: for root in /var/lib, for other users in their own state folder."""
    if named := os.environ.get(LEDGER_VARIABLE):
        return Path(named)
    if os.geteuid() == 0:
        return Path("/var/lib/mileage/ledger")
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    # Ignore a relative path (XDG Base Directory Specification): the next command may run in another folder.
    return (state if state.is_absolute() else Path.home() / ".local/state") / "mileage/ledger"
