"""Marks on files and directories that Mileage made, by which a later command knows them again.

Scope: an extended attribute with the role, the identity (device, inode, time of birth) and, once Mileage has closed
the file, its size and modification time. While it is in work the mark holds the token of the command instead, so that
what a killed command left is known too. Where a file system keeps no attributes, the same text is a file in the folder
of the ledgers, named by device and inode.
What it refuses to know again: a copy or another file under the name (identity), and a file that something else has
written since (size, modification time).
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from mileage import _core

_ATTRIBUTE: Final = "user.mileage.file"
WORK: Final = "work"
"""Role of a file on which I/O was done."""
_WORDS: Final = 8


class Mark(NamedTuple):
    """What a file's mark says."""

    role: str
    """`WORK`, or the kind of a result."""
    token: str
    """Of the command that has it in work; empty once it is closed."""
    marked_ns: int
    """When the mark was written; of a directory nothing below it may be younger."""


def write_mark(descriptor: int, role: str, token: str = "") -> None:
    """Mark what is open: as in work with a token, as closed without. Nothing where neither way can be used."""
    status = os.fstat(descriptor)
    text = " ".join(
        [role, token or "-", *_identity(descriptor, status), *_state(status), str(time.time_ns())]
    ).encode()
    try:
        os.setxattr(descriptor, _ATTRIBUTE, text)
    except OSError:
        record = _record_of(status)
        with suppress(OSError):
            record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            part = record.with_suffix(f".{os.getpid()}")
            part.write_bytes(text)
            part.replace(record)


def read_mark(descriptor: int) -> Mark | None:
    """The mark of what is open; None where there is none, and where it is not that of this file as it is now."""
    status = os.fstat(descriptor)
    try:
        text = os.getxattr(descriptor, _ATTRIBUTE)
    except OSError:
        try:
            text = _record_of(status).read_bytes()
        except OSError:
            return None
    words = text.decode(errors="replace").split(" ")
    if len(words) != _WORDS or words[2:5] != _identity(descriptor, status) or not words[7].isdecimal():
        return None
    token = "" if words[1] == "-" else words[1]
    # The size and times of a directory change with each name that is made or removed in it.
    if not token and not stat.S_ISDIR(status.st_mode) and words[5:7] != _state(status):
        return None
    return Mark(words[0], token, int(words[7]))


def forget_mark(descriptor: int) -> None:
    """Remove the record of a file that is about to be removed; an attribute goes with its file."""
    with suppress(OSError):
        _record_of(os.fstat(descriptor)).unlink(missing_ok=True)


def _identity(descriptor: int, status: os.stat_result) -> list[str]:
    return [str(status.st_dev), str(status.st_ino), str(_core.birth_time_ns(descriptor) or 0)]


def _state(status: os.stat_result) -> list[str]:
    return [str(status.st_size), str(status.st_mtime_ns)]


def _record_of(status: os.stat_result) -> Path:
    from mileage.targets.ledger import ledger_folder

    return ledger_folder() / "files" / f"{status.st_dev}-{status.st_ino}"
