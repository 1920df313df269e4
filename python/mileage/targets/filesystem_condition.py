"""The condition of a file system and its work file: how it was made, and what measuring and torture change.

Scope: the size of its journal and the number of its inodes, which stay; and, under keys that begin with "now.", the
share of it that is used, bytes that ext4 has written in its life, extents of the work file (FIEMAP), extents of free
space, and how much of the work file is in memory.
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
_EXT: Final = ("ext2", "ext3", "ext4")
_JOURNAL_EXT: Final = re.compile(r"^(?:Total j|J)ournal size:\s+(\d+)([kMG]?)$", re.M)
_UNITS: Final = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LOG_XFS: Final = re.compile(r"^log\s+=\w+.*?bsize=(\d+)\s+blocks=(\d+)", re.M)
USED_PERCENT: Final = "now.target_used_percent"
"""Blocks in use, in percent of all."""
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
    found = {**dict(_size(target.path.parent, ground)), **dict(_lifetime(ground, root))}
    with suppress(OSError):
        found["now.work_file_extents"] = str(extents(target.path))
    with suppress(OSError):
        found["now.work_file_resident_bytes"] = str(resident_bytes(target.path))
    found.update(_free(ground))
    return found


def _size(folder: Path, ground: Ground) -> Iterator[Fact]:
    """Journal, inodes and used share. Where a program or rights are missing, the journal is unknown."""
    space = os.statvfs(folder)
    if ground.fs_type in _EXT:
        yield "target.inodes", str(space.f_files)
    elif ground.fs_type in ("xfs", "btrfs"):
        yield "target.inodes", "made as needed"
    if space.f_blocks:
        yield USED_PERCENT, f"{100 * (space.f_blocks - space.f_bfree) / space.f_blocks:.1f}"
    if ground.fs_type in (*_EXT, "xfs", "btrfs"):
        yield "target.journal_bytes", _journal(ground)


def _journal(ground: Ground) -> str:
    """Bytes of the journal; "none" without one."""
    if ground.fs_type == "btrfs":
        return "none: btrfs writes a log tree of no fixed size"
    device = f"/dev/{ground.device}"
    try:
        if ground.fs_type == "xfs":
            printed = call(device, "xfs_info", ground.mount_point, timeout_s=_TIMEOUT_S)
            match = _LOG_XFS.search(printed)
            return str(int(match[1]) * int(match[2])) if match else UNKNOWN
        if not os.access(device, os.R_OK):
            return f"{UNKNOWN}: {device} may not be read"
        printed = call(device, "dumpe2fs", "-h", device, timeout_s=_TIMEOUT_S)
    except MileageError:
        return UNKNOWN
    if "has_journal" not in printed:
        return "none"
    match = _JOURNAL_EXT.search(printed)
    return str(int(match[1]) * _UNITS[match[2]]) if match else UNKNOWN


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
        if ground.fs_type in ("ext3", "ext4") and os.access(device, os.R_OK):
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
