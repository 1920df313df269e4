"""The identity of a block device, and where it begins.

Scope: the identity of a device as text, from what the kernel knows of it: a serial number or name that stays
with the hardware, the unique ids of stacked devices, the file below a loop device, the start of a partition; its size.
What it refuses: trusting a path. /dev/sdb may be another drive after a restart, or after a cable was moved.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from mileage.plan.sizes import format_bytes
from mileage.targets.guard import ROOT, device_number
from mileage.targets.kernel_text import read_line, read_word

_LASTING: Final = ("wwid", "device/wwid", "device/serial", "serial", "dm/uuid", "md/uuid", "device/cid")
_SECTOR_BYTES: Final = 512
ERASE_BLOCK_BYTES: Final = 128 << 10
"""Assumed alignment of partitions where the device reports none: 128 KiB, a small erase block."""


def may_take_steps() -> bool:
    """Whether this process may attach, mount and limit, because it runs as root."""
    return os.geteuid() == 0


def identity_of(path: Path | None, *, root: Path = ROOT) -> str:
    """The identity of a block device; "" for None. Raises OSError when it is missing."""
    if path is None:
        return ""
    place = _place(path, root)
    if place is None:
        return f"number {device_number(path.stat().st_rdev)}"
    disk = place.parent if (place / "partition").exists() else place
    lasting = [f"{name} {word}" for name in _LASTING if (word := read_word(disk / name))]
    if backing := read_line(disk / "loop/backing_file"):
        lasting.append(f"file {backing} {_file_identity(backing)}")
    if not lasting:
        # Without a lasting identifier use the disk's sequence number, which no other disk gets until the next boot.
        lasting = [f"{disk.name} diskseq {read_word(disk / 'diskseq')} boot {_boot(root)}"]
    part = [f"partition at {read_word(place / 'start')}"] if disk != place else []
    return ", ".join([*lasting, *part, f"{read_word(place / 'size')} sectors"])


def alignment_of(path: Path | None, *, root: Path = ROOT) -> str:
    """Offset of a partition on its disk, and whether it is aligned to erase blocks, in words; "" for other devices."""
    place = _place(path, root) if path is not None else None
    start = read_word(place / "start") if place is not None else None
    if place is None or start is None:
        return ""
    offset = int(start) * _SECTOR_BYTES
    unit = ERASE_BLOCK_BYTES
    for name in ("optimal_io_size", "discard_granularity"):
        word = read_word(place.parent / "queue" / name)
        unit = max(unit, int(word) if word and word.isdigit() else 0)
    rest = offset % unit
    fit = "aligned to" if rest == 0 else f"{format_bytes(rest)} past a boundary of"
    return f"starts at sector {start}, {fit} {format_bytes(unit)}"


def _place(path: Path, root: Path) -> Path | None:
    place = root / "sys/dev/block" / device_number(path.stat().st_rdev)
    return place.resolve() if place.exists() else None


def _file_identity(path: str) -> str:
    try:
        status = Path(path).stat()
    except OSError:
        return "gone"
    return f"{status.st_dev}:{status.st_ino}"


def _boot(root: Path) -> str | None:
    return read_word(root / "proc/sys/kernel/random/boot_id")
