"""ioctls on block devices: size, and discarding all of one.

Scope: BLKGETSIZE64 and BLKDISCARD of ioctl(2).
What it refuses: a device that something else holds: it is opened exclusively.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path
from typing import Final

from mileage.errors import RunFailed
from mileage.log import logged_step
from mileage.targets.file_identity import FileIdentity, opened_as

BLKDISCARD: Final = 0x1277
"""Discard a range of a block device, given as two 64-bit numbers: first byte and length."""
BLKGETSIZE64: Final = 0x80081272


def discard(what: str, path: Path, own: FileIdentity | None = None) -> str:
    """Discard a whole block device, held exclusively meanwhile; says what was done. `own`: what it must be.

    Raises RunFailed.
    """
    try:
        with (
            logged_step("discard all of it (BLKDISCARD)", str(path)),
            opened_as(what, path, own, os.O_WRONLY | os.O_EXCL) as descriptor,
        ):
            size = struct.unpack("Q", fcntl.ioctl(descriptor, BLKGETSIZE64, bytes(8)))[0]
            fcntl.ioctl(descriptor, BLKDISCARD, struct.pack("QQ", 0, size))
    except OSError as error:
        raise RunFailed.from_os_error(f"{what}: cannot discard {path}", error) from error
    return f"discarded the {size} bytes of {path}"
