"""A block device as /sys describes it: identity, queue settings, bus.

Scope: flat keys of one disk: identity (serial numbers as hashes), sizes and alignment, every setting of its
queue that changes speed, the PCI Express link and power state of an NVMe drive. How it is attached, and the stack below
it, `environment` reports.
What it refuses: asking the drive itself; `drive_health` does that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mileage.store.machine_hardware import raid_card
from mileage.targets.kernel_text import fields_of, read_text, read_word

QUEUE_KEYS: Final = (
    *("scheduler", "nr_requests", "read_ahead_kb", "rotational", "write_cache", "fua", "discard_granularity"),
    *("discard_max_bytes", "max_sectors_kb", "logical_block_size", "physical_block_size", "optimal_io_size"),
    *("minimum_io_size", "wbt_lat_usec", "nomerges", "rq_affinity", "iostats", "io_poll", "zoned"),
)
"""Files of a disk's request queue that are recorded, as named in /sys/block/*/queue."""
SECTOR_BYTES: Final = 512
"""Unit of the counts in /sys/block, whatever the sectors of the drive are."""
_NVME: Final = ("numa_node", "queue_count", "transport", "cntlid")
_LINK: Final = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
_MD: Final = ("level", "raid_disks", "chunk_size", "stripe_cache_size", "layout")
_SELECTED: Final = re.compile(r"\[([^\]]+)\]")

Fact = tuple[str, str | None]


def selected(text: str | None) -> str | None:
    """The choice in brackets of a text such as "always [madvise] never"; the text itself without any."""
    match = _SELECTED.search(text or "")
    return match[1] if match else text


def device_facts(device: str, disk: str, root: Path) -> Iterator[Fact]:
    """Facts of the disk `disk` and its part `device`, by their kernel names. An unknown fact is None."""
    place = root / "sys/block" / disk
    yield "target.model", read_word(place / "device/model")
    yield "target.firmware", read_word(place / "device/firmware_rev") or read_word(place / "device/rev")
    yield "target.serial_hash", _hash(read_word(place / "device/serial") or read_word(place / "serial"))
    yield "target.wwn_hash", _hash(read_word(place / "wwid") or read_word(place / "device/wwid"))
    sectors = read_word(place / "size")
    yield "target.disk_bytes", str(int(sectors) * 512) if sectors and sectors.isdigit() else None
    part = place / device if device != disk else place
    yield "target.partition_start_sector", read_word(part / "start") if device != disk else "0"
    yield "target.alignment_offset", read_word(part / "alignment_offset")
    for key in QUEUE_KEYS:
        yield f"target.{key}", selected(read_word(place / "queue" / key))
    for key in _NVME:
        yield f"target.nvme_{key}", read_word(place / "device" / key)
    for key in _LINK:
        yield f"target.{key}", read_word(place / "device/device" / key)
    yield "now.target_power_state", read_word(place / "device/device/power_state")
    for key in _MD:
        yield f"target.md_{key}", read_word(place / "md" / key)
    yield "target.backing_file", "a file" if read_word(place / "loop/backing_file") else "none"


def disk_counters(disk: str, root: Path) -> dict[str, int] | None:
    """Sectors and operations that a disk has done since boot, by name; None when the kernel has no counters of it."""
    words = fields_of(read_text(root / "sys/block" / disk / "stat"))
    names = ("reads", "reads_merged", "read_sectors", "read_ms", "writes", "writes_merged", "written_sectors")
    if len(words) < len(names):
        return None
    found = {name: int(word) for name, word in zip(names, words, strict=False)}
    # Since Linux 4.18; the places between are merged requests and times (Documentation/block/stat.rst).
    return found | (
        {"discards": int(words[11]), "discarded_sectors": int(words[13])} if len(words) > 13 else {}
    )


def _hash(text: str | None) -> str | None:
    """The first 16 hexadecimal digits of SHA-256: distinguishes drives without identifying one."""
    return hashlib.sha256(text.strip().encode(errors="replace")).hexdigest()[:16] if text else None


def drives(root: Path) -> list[str]:
    """Kernel names of the physical drives of a machine, sorted; loop devices, RAID and device mapper are omitted."""
    disks = (path.name for path in (root / "sys/block").glob("*") if (path / "device").exists())
    return sorted(name for name in disks if not name.startswith(("sr", "fd", "nbd")))


def physical_disk(disk: str, root: Path) -> str:
    """The one disk that a stack of dm and md devices lies on ("nvme0n1" of "dm-0"); the name itself of several disks.

    Disk encryption and volume managers put such devices above a drive, and only the drive knows of its health.
    """
    for _ in range(8):
        below = root / "sys/block" / disk / "slaves"
        names = [path.name for path in below.iterdir()] if below.is_dir() else []
        if len(names) != 1:
            return disk
        place = (root / "sys/class/block" / names[0]).resolve()
        disk = place.parent.name if (place / "partition").exists() else names[0]
    return disk


def bus_facts(disk: str, root: Path) -> dict[str, str]:
    """How a disk is attached: `bus` and its `speed`.

    The bus is "nvme", "sata", "sas", "raid" (behind a RAID card), "usb", "mmc", "virtio", "scsi" or "unknown". The
    speed is in the unit of the bus: GT/s of a lane of PCI Express, Gbit/s of SATA and SAS, Mbit/s of USB.
    """
    place = root / "sys/block" / disk
    device = str((place / "device").resolve())
    if disk.startswith("nvme"):
        speed, lanes = (read_word(place / "device/device" / key) for key in _LINK[:2])
        best, most = (read_word(place / "device/device" / key) for key in _LINK[2:])
        found = {"bus": "nvme", "speed": (speed or "").partition(" ")[0], "lanes": lanes or ""}
        return {**found, "best_speed": (best or "").partition(" ")[0], "best_lanes": most or ""}
    if disk.startswith("mmcblk"):
        return {"bus": "mmc", "speed": ""}
    if "/usb" in device:
        speeds = (read_word(parent / "speed") for parent in Path(device).parents)
        return {"bus": "usb", "speed": next((speed for speed in speeds if speed), "")}
    if match := re.search(r"/ata(\d+)/", device):
        link = root / f"sys/class/ata_link/link{match[1]}"
        return {"bus": "sata", "speed": (read_word(link / "sata_spd") or "").partition(" ")[0]}
    if "/virtio" in device:
        return {"bus": "virtio", "speed": ""}
    if any(raid_card(folder, root) for folder in Path(device).parents):
        return {"bus": "raid", "speed": ""}
    if match := re.search(r"^.*/port-[^/]+(?=/)", device):
        # A SATA drive on a SAS controller calls its vendor "ATA".
        bus = "sata" if read_word(place / "device/vendor") == "ATA" else "sas"
        return {"bus": bus, "speed": _sas_speed(Path(match[0]))}
    return {"bus": "scsi" if (place / "device/scsi_device").exists() else "unknown", "speed": ""}


def _sas_speed(port: Path) -> str:
    """Gbit/s of the links of a SAS port, such as "12.0"; "" when no link reports it."""
    rates = (read_word(file) or "" for file in sorted(port.glob("phy-*/sas_phy/phy-*/negotiated_linkrate")))
    return next((rate.partition(" ")[0] for rate in rates if rate[:1].isdigit()), "")
