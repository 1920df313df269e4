"""How a disk is attached: transport, controller, RAID card, and the stack of devices that it is the top of.

Scope: flat keys `target.*` of one disk, for a stack (dm, md, bcache) of the physical disks at its bottom, read
below /sys without asking a drive.
What it refuses: to look through what hides a drive. The cache of a RAID card, and what is behind a virtual disk or
below the file of a loop device, are said to be unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mileage.store.block_device import bus_facts
from mileage.store.machine_hardware import driver_of, pci_name, raid_card
from mileage.targets.kernel_text import read_word

Fact = tuple[str, str | None]

_DEPTH_MAX: Final = 8
"""Devices in a stack, which guards against a circular chain."""
HIDDEN_CACHE: Final = "unknown: the kernel does not report it; a study states it in [notes]"
_DM_KINDS: Final = {"LVM": "LVM", "CRYPT": "crypt", "mpath": "multipath", "DMRAID": "host RAID"}
"""Kinds of device mapper targets, by the first word of their uuid."""
_IN_MEMORY: Final = ("zram", "ram")
_UNITS: Final = {"nvme": "GT/s", "sata": "Gbit/s", "sas": "Gbit/s", "usb": "Mbit/s"}
_NAMES: Final = {"nvme": "NVMe", "sata": "SATA", "sas": "SAS", "usb": "USB", "mmc": "MMC", "scsi": "SCSI"}


def attachment_facts(disk: str, root: Path) -> Iterator[Fact]:
    """Facts of how `disk` is attached, by its kernel name. An unknown fact is None."""
    below = member_disks(disk, root)
    yield "target.transport", _each(transport_of(name, root) for name in below)
    yield "target.controller", _each(_controller(name, root) for name in below)
    cards = [_raid_card(name, root) for name in below]
    yield "target.raid_card", _each(cards)
    has_card = [card for card in cards if card not in (None, "none")]
    yield "target.raid_cache", HIDDEN_CACHE if has_card else _each(cards)
    known = (root / "sys/block" / disk).exists()
    yield "target.stack", _stack(disk, root, _DEPTH_MAX) if known else None
    yield "target.members", "; ".join(_member(name, root) for name in below) if known else None


def member_disks(disk: str, root: Path) -> list[str]:
    """Kernel names of the physical disks below a disk, in order and each once; of one without a stack its own."""
    return list(dict.fromkeys(_leaves(disk, root, _DEPTH_MAX)))


def _leaves(disk: str, root: Path, depth: int) -> Iterator[str]:
    below = _below(disk, root) if depth else []
    if not below:
        yield disk
    for name in below:
        yield from _leaves(_whole(name, root), root, depth - 1)


def _below(disk: str, root: Path) -> list[str]:
    folder = root / "sys/block" / disk / "slaves"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _whole(name: str, root: Path) -> str:
    """The disk of a partition; the name itself of a disk."""
    place = (root / "sys/class/block" / name).resolve()
    return place.parent.name if (place / "partition").exists() else name


def _each(texts: Iterator[str | None] | list[str | None]) -> str | None:
    """What all members have in common, or each different text once. None when one of them is unknown."""
    found = list(dict.fromkeys(texts))
    return None if None in found else "; ".join(str(text) for text in found) or None


def transport_of(disk: str, root: Path) -> str | None:
    """Transport of one disk with the speed of its link: "SATA, 6.0 Gbit/s"; None when it is not known."""
    place = root / "sys/block" / disk
    if disk.startswith(_IN_MEMORY):
        return "memory"
    if disk.startswith("loop"):
        return "loop device over a file"
    if not (place / "device").exists():
        return None
    found = bus_facts(disk, root)
    bus, speed = found["bus"], found["speed"]
    if bus == "unknown":
        return None
    name = _NAMES.get(bus, bus)
    if bus == "nvme":
        over = read_word(place / "device/transport")
        name += "" if over is None else " over PCIe" if over == "pcie" else f" over {over}"
        if speed:
            return f"{name}, {speed} GT/s x{found['lanes']}"
    if bus == "raid":
        return "behind a RAID card"
    return f"{name}, {speed} {_UNITS[bus]}" if speed and bus in _UNITS else name


def _controller(disk: str, root: Path) -> str | None:
    """What a disk hangs on: the bridge of a USB drive, the PCI device of any other."""
    place = (root / "sys/block" / disk / "device").resolve()
    if not (root / "sys/block" / disk / "device").exists():
        return "none" if disk.startswith(_IN_MEMORY) else None
    for folder in (place, *place.parents):
        if (folder / "idVendor").exists():
            return _usb_name(folder, place)
        if _is_pci(folder):
            return pci_name(folder, root)
    return None


def _is_pci(folder: Path) -> bool:
    return all((folder / name).is_file() for name in ("class", "vendor", "device"))


def _usb_name(bridge: Path, place: Path) -> str:
    """A USB device with the driver of its storage interface: "JMicron Generic (152d:0578), uas"."""
    names = " ".join(text for key in ("manufacturer", "product") if (text := read_word(bridge / key)))
    numbers = ":".join(read_word(bridge / key) or "?" for key in ("idVendor", "idProduct"))
    inside = (folder for folder in (place, *place.parents) if bridge in folder.parents)
    driver = next((name for folder in inside if (name := driver_of(folder)) in ("uas", "usb-storage")), None)
    return ", ".join([f"{names} ({numbers})" if names else f"USB {numbers}", *([driver] if driver else [])])


def _raid_card(disk: str, root: Path) -> str | None:
    """The RAID card that a disk is behind; "none", or None where that is not known: a hypervisor hides it."""
    link = root / "sys/block" / disk / "device"
    if disk.startswith(_IN_MEMORY):
        return "none"
    place = link.resolve()
    if not link.exists() or "/virtio" in str(place):
        return None
    cards = (raid_card(folder, root) for folder in (place, *place.parents) if _is_pci(folder))
    return next((card for card in cards if card), "none")


def _stack(disk: str, root: Path, depth: int) -> str:
    """A device and what it is made of: "dm-0 (LVM) on md0 (raid1) on sda1 + sdb1"."""
    below = [_stack(name, root, depth - 1) for name in _below(disk, root)] if depth else []
    if len(below) > 1:
        below = [f"({text})" if " on " in text else text for text in below]
    kind = _kind(disk, root)
    return " on ".join([f"{disk} ({kind})" if kind else disk, *([" + ".join(below)] if below else [])])


def _kind(disk: str, root: Path) -> str | None:
    place = root / "sys/block" / disk
    if (level := read_word(place / "md/level")) is not None:
        return level
    if (place / "dm").is_dir():
        word = (read_word(place / "dm/uuid") or "").partition("-")[0]
        return _DM_KINDS.get(word, word or "device mapper")
    return None


def _member(disk: str, root: Path) -> str:
    """A physical disk with its model: "sda ATA Example SSD"."""
    device = root / "sys/block" / disk / "device"
    names = (disk, read_word(device / "vendor"), read_word(device / "model"))
    # The vendor of a disk of virtio is a number of the PCI bus.
    return " ".join(text for text in names if text and not text.startswith("0x"))
