"""The counters of what was written to the drive below a path, read now.

Scope: the drive's own (SMART, NVMe health log), the kernel's of the whole disk (/proc/diskstats, field
10: sectors of 512 bytes, from the start of the machine), and that of an ext4 file system
(/sys/fs/ext4/DEV/lifetime_write_kbytes, from the making of the file system).
A counter that cannot be read is omitted; `missing` says why.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

import msgspec

from mileage.endurance.drive_wear import percent_used_of, written_bytes_of
from mileage.endurance.wear_log import Counter, Sample
from mileage.store.drive_facts import own_facts
from mileage.targets.filesystem import UNKNOWN, look_at
from mileage.targets.guard import ROOT
from mileage.targets.kernel_text import fields_of, lines_of, read_text, read_word

DRIVE: Final = "drive"
KERNEL: Final = "kernel"
FILE_SYSTEM: Final = "file system"
SECTOR_BYTES: Final = 512
KBYTE_BYTES: Final = 1024
TITLES: Final = {
    DRIVE: "the drive (SMART)",
    KERNEL: "the kernel (/proc/diskstats)",
    FILE_SYSTEM: "the file system (ext4)",
}
"""The counters, the one that is closest to the cells first."""


class Reading(msgspec.Struct, frozen=True):
    """Counters read from one drive."""

    sample: Sample
    identity: str
    """Identifier of the drive or file system, to detect another one at the same path."""
    capacity_bytes: int
    """Capacity of the drive; 0 where it is not known."""
    model: str = ""
    missing: tuple[str, ...] = ()
    """Counters that could not be read, and why."""


def read_counters(place: Path, *, root: Path = ROOT) -> Reading:
    """Write and wear counters of the drive that holds an existing path. Raises OSError if it is not accessible."""
    ground = look_at(place, root=root)
    facts = own_facts(place, root=root)
    disk = facts.get("disk", ground.disk if ground.disk != UNKNOWN else "")
    counters, missing = {}, []
    written = written_bytes_of(facts)
    if written is not None:
        counters[DRIVE] = Counter(written, 1)
    else:
        program = next(
            (facts[key] for key in ("target.smartctl", "target.nvme") if key in facts), "not asked"
        )
        missing.append(f"{TITLES[DRIVE]}: {program if program != 'present' else 'it counts no writes'}")
    sectors = _written_sectors(disk, root)
    if sectors is not None:
        counters[KERNEL] = Counter(sectors, SECTOR_BYTES, since_boot=True)
    else:
        missing.append(f"{TITLES[KERNEL]}: it has no line of {disk or 'this path'}")
    kbytes = read_word(root / "sys/fs/ext4" / ground.device / "lifetime_write_kbytes")
    if not place.is_block_device() and kbytes is not None and kbytes.isdecimal():
        counters[FILE_SYSTEM] = Counter(int(kbytes), KBYTE_BYTES)
    elif not place.is_block_device():
        missing.append(f"{TITLES[FILE_SYSTEM]}: {ground.fs_type} has no such counter")
    boot = read_word(root / "proc/sys/kernel/random/boot_id") or ""
    size = read_word(root / "sys/block" / disk / "size") if disk else None
    return Reading(
        Sample(time.time(), boot, counters, percent_used_of(facts)),
        _identity(place, facts),
        int(size) * SECTOR_BYTES if size and size.isdecimal() else ground.capacity_bytes,
        facts.get("target.drive_model") or read_word(root / "sys/block" / disk / "device/model") or "",
        tuple(missing),
    )


def _written_sectors(disk: str, root: Path) -> int | None:
    for line in lines_of(read_text(root / "proc/diskstats")):
        fields = fields_of(line)
        if len(fields) > 9 and fields[2] == disk and fields[9].isdecimal():
            return int(fields[9])
    return None


def _identity(place: Path, facts: dict[str, str]) -> str:
    """Identify a drive across samples: hash of its serial number, and the file system's id for a path."""
    serial = facts.get("target.drive_serial_hash", "")
    file_system = "" if place.is_block_device() else f"{os.statvfs(place).f_fsid & (2**64 - 1):x}"
    return ":".join(part for part in (serial, file_system) if part)
