"""Find the file behind a loop device, as the kernel knows it: by device and inode, whatever paths show.

Scope: LOOP_GET_STATUS64 of loop(4).
None where the device is not attached, or may not be asked.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path
from typing import Final

from mileage.targets.file_identity import FileIdentity

_LOOP_GET_STATUS64: Final = 0x4C05
_STATUS_BYTES: Final = 232
"""Size of `struct loop_info64`, which begins with device and inode of the file."""


def backing_of(descriptor: int) -> FileIdentity | None:
    """The file below an open loop device."""
    try:
        answer: bytes = fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_STATUS_BYTES))
    except OSError:
        return None
    device, inode = struct.unpack_from("QQ", answer)
    return FileIdentity(int(device), int(inode))


def backing_at(path: Path) -> FileIdentity | None:
    """Path of the backing file of the loop device at `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return backing_of(descriptor)
    finally:
        os.close(descriptor)
