"""The condition of a file system and its work file: facts that measuring and torture change.

Scope: bytes that ext4 has written in its life, extents of the work file (FIEMAP), extents of free space, and
how much of the work file is in memory. All keys begin with "now.": they are expected to change.
What it refuses: guessing. A fact that the file system, a missing program or missing rights hide is omitted.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from mileage.errors import MileageError
from mileage.targets.filesystem import UNKNOWN, Ground, look_at
from mileage.targets.guard import ROOT
from mileage.targets.kernel_text import read_word
from mileage.targets.page_cache import resident_bytes
from mileage.targets.programs import call
from mileage.targets.target_interface import Target

FS_IOC_FIEMAP: Final = 0xC020660B
"""ioctl(2): the extents of a file; with room for none, only their number."""
_TIMEOUT_S: Final = 10.0
_FREE_EXT4: Final = {
    "count": re.compile(r"Num\. free extent: (\d+)"),
    "largest_kib": re.compile(r"Max\. free extent: (\d+) KB"),
    "mean_kib": re.compile(r"Avg\. free extent: (\d+) KB"),
}
_FREE_XFS: Final = {"count": re.compile(r"total free extents (\d+)")}

Fact = tuple[str, str]


def condition_of(target: Target, *, root: Path = ROOT) -> dict[str, str]:
    """The condition of a target that is files on a file system; empty for a device and a virtual drive."""
    if target.path is None or target.place is None or not target.path.is_file():
        return {}
    try:
        ground = look_at(target.path.parent, root=root)
    except OSError:
        return {}
    found = dict(_lifetime(ground, root))
    with suppress(OSError):
        found["now.work_file_extents"] = str(extents(target.path))
    with suppress(OSError):
        found["now.work_file_resident_bytes"] = str(resident_bytes(target.path))
    found.update(_free(ground))
    return found


def extents(path: Path) -> int:
    """The number of extents of a file. Raises OSError where the file system does not report them."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        asked = struct.pack("QQIIII", 0, 2**64 - 1, 0, 0, 0, 0)
        return int(struct.unpack("QQIIII", fcntl.ioctl(descriptor, FS_IOC_FIEMAP, asked))[3])
    finally:
        os.close(descriptor)


def _lifetime(ground: Ground, root: Path) -> Iterator[Fact]:
    if ground.device == UNKNOWN:
        return
    for name in ("lifetime_write_kbytes", "session_write_kbytes"):
        word = read_word(root / "sys/fs/ext4" / ground.device / name)
        if word is not None:
            yield f"now.target_{name}", word


def _free(ground: Ground) -> Iterator[Fact]:
    """Extents of free space, where a program of the file system reports them and has the rights to."""
    device = f"/dev/{ground.device}"
    try:
        if ground.fs_type == "ext4" and os.access(device, os.R_OK):
            output, patterns = call(device, "e2freefrag", device, timeout_s=_TIMEOUT_S), _FREE_EXT4
        elif ground.fs_type == "xfs" and os.geteuid() == 0:
            asked = ("-c", "freesp -s", ground.mount_point)
            output, patterns = call(device, "xfs_spaceman", *asked, timeout_s=_TIMEOUT_S), _FREE_XFS
        else:
            return
    except MileageError:
        return
    for name, pattern in patterns.items():
        if match := pattern.search(output):
            yield f"now.target_free_extents_{name}", match[1]
