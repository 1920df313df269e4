"""Server, board, memory modules and RAID cards, as firmware and the PCI bus describe them.

Scope: flat keys `machine.*` and `memory.modules`, read below /sys: DMI names, the SMBIOS table of memory devices
(DSP0134, type 17), the kernel's error detection (EDAC) where the table is for root only, and PCI devices by class.
What it refuses: to guess. Names that firmware leaves at a placeholder are unknown, and so is the memory of a machine
whose tables are not readable.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mileage.targets.kernel_text import read_text, read_word

Fact = tuple[str, str | None]

RAID_CLASS: Final = "0x0104"
"""Beginning of a PCI class code: mass storage, RAID."""
_HOST_RAID: Final = ("ahci", "vmd")
"""Drivers of chip sets in RAID mode, which have no cache and leave the work to the kernel."""
RAID_DRIVERS: Final = (
    *("megaraid_sas", "megaraid_mbox", "aacraid", "hpsa", "smartpqi", "cciss"),
    *("arcmsr", "ips", "3w-9xxx", "3w-sas", "3w-xxxx", "mvumi", "hptiop"),
)
"""Drivers of cards that are RAID cards whatever their PCI class says."""
_PLACEHOLDERS: Final = re.compile(
    r"(to be filled.*|default string|system (product name|manufacturer)|not (specified|applicable)|none|x+|0+)",
    re.I,
)
_MEMORY_DEVICE: Final = 17
_END_OF_TABLE: Final = 127
_TYPES: Final = {
    0x0F: "SDRAM",
    0x12: "DDR",
    0x13: "DDR2",
    0x14: "DDR2 FB-DIMM",
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x1F: "persistent memory",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
    0x24: "HBM3",
}
"""Memory types of SMBIOS (DSP0134 3.7, table 78)."""
_PCI_NAMES: Final = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids")
FOR_ROOT: Final = "unknown: only root may read the firmware's table"


def hardware_facts(root: Path) -> Iterator[Fact]:
    """Facts of the machine's hardware. An unknown fact is None."""
    dmi = root / "sys/class/dmi/id"
    yield "machine.vendor", _name(dmi / "sys_vendor")
    yield "machine.model", _name(dmi / "product_name")
    yield "machine.board", _joined(dmi, "board_vendor", "board_name")
    yield "machine.firmware", _joined(dmi, "bios_vendor", "bios_version", "bios_date")
    yield "machine.power_profile", read_word(root / "sys/firmware/acpi/platform_profile")
    yield "machine.raid_cards", _raid_cards(root)
    yield "memory.modules", memory_modules(root)


def _name(path: Path) -> str | None:
    """A name of the firmware; None for one that the maker left at a placeholder."""
    text = read_word(path)
    return None if text is None or _PLACEHOLDERS.fullmatch(text) else text


def _joined(folder: Path, *names: str) -> str | None:
    return " ".join(text for name in names if (text := _name(folder / name))) or None


def memory_modules(root: Path) -> str | None:
    """Memory modules, equal ones counted: "4 x 32 GiB DDR4, 3200 MT/s". None when nothing describes them."""
    table = root / "sys/firmware/dmi/tables/DMI"
    try:
        found = list(_smbios_modules(table.read_bytes()))
    except PermissionError:
        return _counted(_edac_modules(root)) or FOR_ROOT
    except OSError:
        found = []
    return _counted(found or _edac_modules(root))


def _counted(modules: list[str]) -> str | None:
    return "; ".join(f"{count} x {words}" for words, count in Counter(modules).items()) or None


def _smbios_modules(table: bytes) -> Iterator[str]:
    """Each memory device in the firmware's table that has a size. A table that ends early ends the list."""
    at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        if kind == _END_OF_TABLE or length < 4 or at + length > len(table):
            return
        formatted = table[at : at + length]
        if kind == _MEMORY_DEVICE and length >= 0x15 and (words := _module_words(formatted)):
            yield words
        strings = table.find(b"\0\0", at + length)
        if strings < 0:
            return
        at = strings + 2


def _module_words(device: bytes) -> str | None:
    """One memory device in words; None for an empty slot."""

    def number(offset: int, width: int = 2) -> int:
        return int.from_bytes(device[offset : offset + width], "little")

    size = number(0x0C)
    if size in (0, 0xFFFF):
        return None
    mib: float = number(0x1C, 4) & 0x7FFFFFFF if size == 0x7FFF else size
    if size != 0x7FFF and size & 0x8000:
        mib = (size & 0x7FFF) / 1024
    # The configured speed counts: a module runs at the speed of the slowest one.
    speed = number(0x20) or number(0x15)
    words = f"{_size(mib)} {_TYPES.get(device[0x12], 'of unknown type')}"
    return f"{words}, {speed} MT/s" if speed not in (0, 0xFFFF) else words


def _size(mib: float) -> str:
    return f"{mib / 1024:g} GiB" if mib >= 1024 else f"{mib:g} MiB"


def _edac_modules(root: Path) -> list[str]:
    """Modules as the memory controller's driver counts them, which every user may read."""
    found = []
    for folder in sorted((root / "sys/devices/system/edac/mc").glob("mc[0-9]*/*/")):
        size, kind = read_word(folder / "size"), read_word(folder / "dimm_mem_type")
        if kind is not None and size is not None and size.isdigit() and int(size):
            found.append(f"{_size(int(size))} {kind.replace('-', ' ')}")
    return found


def _raid_cards(root: Path) -> str | None:
    """The RAID cards of the machine; "none" on a machine whose PCI bus has none."""
    bus = root / "sys/bus/pci/devices"
    if not bus.is_dir():
        return None
    cards = [card for place in sorted(bus.iterdir()) if (card := raid_card(place.resolve(), root))]
    return "; ".join(cards) or "none"


def driver_of(place: Path) -> str | None:
    """Name of the driver that a device of the kernel is bound to."""
    link = place / "driver"
    return link.resolve().name if link.exists() or link.is_symlink() else None


def raid_card(place: Path, root: Path) -> str | None:
    """Name of the PCI device at `place` when it is a RAID card; None when it is none."""
    driver = driver_of(place)
    is_class = (read_word(place / "class") or "").startswith(RAID_CLASS) and driver not in _HOST_RAID
    return pci_name(place, root) if is_class or driver in RAID_DRIVERS else None


def pci_name(place: Path, root: Path) -> str:
    """A PCI device with its driver: "Broadcom MegaRAID SAS-3 3108 (1000:005d), megaraid_sas"."""
    numbers = tuple((read_word(place / key) or "").removeprefix("0x") for key in ("vendor", "device"))
    known = _pci_text(numbers[0], numbers[1], tuple(root / name for name in _PCI_NAMES))
    name = f"{known} ({':'.join(numbers)})" if known else f"PCI {':'.join(numbers)}"
    return ", ".join([name, *([driver] if (driver := driver_of(place)) else [])])


@functools.lru_cache(maxsize=64)
def _pci_text(vendor: str, device: str, files: tuple[Path, ...]) -> str | None:
    """Vendor and device in the words of pci.ids(5), where that list is installed."""
    text = next((text for file in files if (text := read_text(file))), "")
    section = re.search(rf"^{re.escape(vendor)}  (.*)\n((?:[\t#].*\n?)*)", text, re.M) if vendor else None
    if section is None:
        return None
    named = re.search(rf"^\t{re.escape(device)}  (.*)", section[2], re.M)
    return f"{section[1]} {named[1]}" if named else section[1]
