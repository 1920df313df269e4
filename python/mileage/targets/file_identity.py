"""Identity of a file, directory or block device, compared on the descriptor that is then used.

Scope: what stays the same as long as it is the same one: device and inode of a file or directory, number and
sequence of a disk. The kernel gives a disk's sequence number to no other disk until the machine is started again, so
that a loop device attached to another file, or another drive under the same number, is noticed. The engine has the
same in `identity.rs`.
What it refuses: another file, directory or device than the one that the guards looked at, and symbolic links to it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.errors import RunFailed

REPLACED: Final = "replaced"
"""The cause of a RunFailed when something else has taken the place of the target."""
_BLKGETDISKSEQ: Final = 0x80081280
_LOOK: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class FileIdentity(msgspec.Struct, frozen=True):
    """Identity of a file, a directory or a block device, as the engine reads it."""

    device: int | None
    """Number of the file system's device; of a block device its own number. None where it is not compared."""
    inode: int
    """0 for a block device, whose node may be made again."""
    disk_sequence: int = 0
    """Sequence number of a disk; 0 for a file, and where the kernel has none (before Linux 5.15)."""

    @classmethod
    def of(cls, descriptor: int) -> FileIdentity:
        """The identity of what is open. Raises OSError."""
        status = os.fstat(descriptor)
        if not stat.S_ISBLK(status.st_mode):
            return cls.of_status(status)
        return cls(status.st_rdev, 0, _disk_sequence(descriptor))

    @classmethod
    def of_status(cls, status: os.stat_result) -> FileIdentity:
        """The identity of a file or directory by its status."""
        return cls(status.st_dev, status.st_ino)

    @classmethod
    def at(cls, path: Path) -> FileIdentity:
        """The identity of what is at a path; links are not followed. Raises OSError."""
        descriptor = os.open(path, _LOOK | os.O_NOFOLLOW)
        try:
            return cls.of(descriptor)
        finally:
            os.close(descriptor)

    def to_json(self) -> dict[str, Any]:
        """The identity as plain values that JSON can hold."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def _disk_sequence(descriptor: int) -> int:
    try:
        answer: bytes = fcntl.ioctl(descriptor, _BLKGETDISKSEQ, bytes(8))
    except OSError:
        return 0
    return int(struct.unpack("Q", answer)[0])


@contextmanager
def opened_as(what: str, path: Path, own: FileIdentity | None, flags: int = _LOOK) -> Iterator[int]:
    """Open a path that must be this file, directory or device; `None` for whatever is there.

    `what` is the target in the user's words. Raises RunFailed when it is another one, OSError when it cannot be opened.
    """
    follow = 0 if own is None else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | follow | os.O_CLOEXEC)
    except OSError as error:
        if own is not None and error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise replaced(what, path) from error
        raise
    try:
        if own is not None and FileIdentity.of(descriptor) != own:
            raise replaced(what, path)
        yield descriptor
    finally:
        os.close(descriptor)


def check_identity(what: str, path: Path, own: FileIdentity) -> None:
    """Raise RunFailed when a path means something else than this, or nothing."""
    try:
        with opened_as(what, path, own):
            return
    except OSError as error:
        failure = RunFailed.from_os_error(f"{what}: {path} cannot be reached", error)
        failure.cause = "vanished"
        raise failure from error


@contextmanager
def held_device(what: str, path: Path, own: FileIdentity | None) -> Iterator[None]:
    """Keep a device open while programs use it by its path: no other one gets its number, and its node is compared.

    Raises RunFailed when it is another one, before or after.
    """
    try:
        with opened_as(what, path, own):
            yield
            if own is not None:
                check_identity(what, path, own)
    except OSError as error:
        raise RunFailed.from_os_error(f"{what}: {path} cannot be reached", error) from error


def replaced(what: str, path: Path) -> RunFailed:
    """The failure when something else is at a path than what was checked."""
    return RunFailed(
        f"{what}: {path} was replaced: what is there now is not what was checked, and it is not used. Put back what "
        "was there and resume, or start a new study",
        cause=REPLACED,
    )
