"""The counters of what was written to the drive below a path, read now.

Scope: the drive's own (SMART, NVMe health log), the kernel's of the whole disk (/proc/diskstats, field
10: sectors of 512 bytes, from the start of the machine), and that of an ext4 file system
(/sys/fs/ext4/DEV/lifetime_write_kbytes, from the making of the file system).
A counter that cannot be read is omitted; `missing` says why.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from mileage.endurance.life import Wear
from mileage.endurance.wear_rate import Counter, Sample
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


# Read the wear that a drive has counted itself, from the facts of `store.drive_health`.
# Scope: bytes that the host wrote and the drive's indicator of wear. NVMe counts units of 512,000 bytes (base
# specification, SMART / Health Information log, Data Units Written). ATA attributes have units in their names, as
# smartctl's drive database gives them; the normalised value of a wear attribute falls from 100 to 0.
# What it refuses: attributes whose unit is not in their name.

_KEY: Final = "now.health_"
NVME_UNIT_BYTES: Final = 512_000
_ATA_WRITTEN: Final = {
    "total_lbas_written": 512,
    "total_host_sector_write": 512,
    "host_writes_32mib": 32 << 20,
    "host_writes_mib": 1 << 20,
    "host_writes_gib": 1 << 30,
    "lifetime_writes_gib": 1 << 30,
    "total_writes_gib": 1 << 30,
}
_ATA_WEAR: Final = (
    *("media_wearout_indicator", "wear_leveling_count", "ssd_life_left", "percent_lifetime_remain"),
    *("percent_life_remaining", "remaining_lifetime_perc"),
)


def written_bytes_of(facts: Mapping[str, str]) -> int | None:
    """Bytes that the host wrote in the life of a drive, by its own count; None where it has none."""
    units = _whole(facts, "data_units_written")
    if units is not None:
        return units * NVME_UNIT_BYTES
    for key in facts:
        name = _ata_name(key)
        if name in _ATA_WRITTEN and (count := _whole(facts, key.removeprefix(_KEY))) is not None:
            return count * _ATA_WRITTEN[name]
    return None


def percent_used_of(facts: Mapping[str, str]) -> int | None:
    """The drive's indicator of wear in percent, 100 when its rated life is used up; None where it has none."""
    for key in ("percentage_used", "percent_used"):
        if (used := _whole(facts, key)) is not None:
            return used
    for key in facts:
        if _ata_name(key).removesuffix("_normalised") in _ATA_WEAR and key.endswith("_normalised"):
            left = _whole(facts, key.removeprefix(_KEY))
            if left is not None and 0 <= left <= 100:
                return 100 - left
    return None


def wear_of(facts: Mapping[str, str]) -> Wear:
    """The wear of a drive."""
    return Wear(
        written_bytes=written_bytes_of(facts),
        percent_used=percent_used_of(facts),
        power_on_hours=_whole(facts, "power_on_hours"),
    )


def _ata_name(key: str) -> str:
    """The name of an ATA attribute in a key such as "now.health_ata_241_total_lbas_written"; empty for other keys."""
    parts = key.removeprefix(_KEY + "ata_").split("_", 1)
    return parts[1] if key.startswith(_KEY + "ata_") and len(parts) == 2 else ""


def _whole(facts: Mapping[str, str], key: str) -> int | None:
    text = facts.get(_KEY + key, "").replace(",", "")
    return int(text) if text.isascii() and text.isdecimal() else None
