"""Five machines as trees of /proc and /sys: what their kernels would show, with invented serial numbers.

Layouts of paths are those of Linux 6: `sys/block/DISK` is a link to the device below its PCI function.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

Tree = Mapping[str, str | bytes]
"""Text or bytes by path; a text "-> X" is a symbolic link to X."""


def write_tree(root: Path, tree: Tree) -> Path:
    """Write a machine below `root`."""
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content.startswith("-> "):
            path.symlink_to(content.removeprefix("-> "))
        else:
            path.write_text(content + "\n")
    return root


def memory_device(mib: int, kind: int, speed: int, configured: int) -> bytes:
    """A memory device of SMBIOS 3 (type 17, 0x28 bytes) with one string; sizes in MiB, speeds in MT/s."""
    body = bytearray(0x28)
    body[0:4] = bytes([17, 0x28, 0, 0x11])
    plain = mib if mib < 0x7FFF else 0x7FFF
    body[0x0C:0x0E] = plain.to_bytes(2, "little")
    body[0x10] = 1
    body[0x12] = kind
    body[0x15:0x17] = speed.to_bytes(2, "little")
    body[0x1C:0x20] = (mib if plain == 0x7FFF else 0).to_bytes(4, "little")
    body[0x20:0x22] = configured.to_bytes(2, "little")
    return bytes(body) + b"DIMM A1\0\0"


def _firmware(*devices: bytes) -> bytes:
    board = bytes([2, 8, 0, 2, 1, 2, 0, 0]) + b"Maker\0Board\0\0"
    nameless = bytes([32, 11, 0, 3, *([0] * 7)]) + b"\0\0"
    return b"".join([board, nameless, *devices, bytes([127, 4, 0, 9]) + b"\0\0"])


def _dmi(vendor: str, model: str, board: tuple[str, str], firmware: tuple[str, str, str]) -> Tree:
    names = ("sys_vendor", "product_name", "board_vendor", "board_name", "bios_vendor", "bios_version")
    texts = (vendor, model, *board, *firmware)
    return {f"sys/class/dmi/id/{name}": text for name, text in zip((*names, "bios_date"), texts, strict=True)}


def _pci(place: str, kind: str, vendor: str, device: str, driver: str) -> Tree:
    """A PCI function at `place` below sys/devices, its driver, and its link on the bus."""
    up = "../" * (place.count("/") + 2)
    return {
        f"sys/devices/{place}/class": kind,
        f"sys/devices/{place}/vendor": vendor,
        f"sys/devices/{place}/device": device,
        f"sys/devices/{place}/driver": f"-> {up}bus/pci/drivers/{driver}",
        f"sys/bus/pci/drivers/{driver}/module": driver,
        f"sys/bus/pci/devices/{place.rpartition('/')[2]}": f"-> ../../../devices/{place}",
    }


def _disk(name: str, device: str, number: str, facts: Tree, *, inside: str = "block/") -> Tree:
    """A disk below its device (a path below sys/devices), with facts by their paths below the disk."""
    place = f"devices/{device}/{inside}{name}"
    up = "../" * (inside.count("/") + 1)
    return {
        f"sys/{place}/dev": number,
        f"sys/{place}/device": f"-> {up.removesuffix('/')}",
        f"sys/block/{name}": f"-> ../{place}",
        f"sys/class/block/{name}": f"-> ../../{place}",
        **{f"sys/{place}/{key}": text for key, text in facts.items()},
    }


def _partition(disk: str, device: str, name: str, number: str) -> Tree:
    place = f"devices/{device}/block/{disk}/{name}"
    return {
        f"sys/{place}/partition": "1",
        f"sys/{place}/start": "2048",
        f"sys/{place}/dev": number,
        f"sys/class/block/{name}": f"-> ../../{place}",
    }


def _mounted(source: str) -> Tree:
    return {"proc/self/mountinfo": f"21 1 0:99 / / rw,noatime - ext4 {source} rw"}


_NVME: Final = "pci0000:64/0000:64:02.0/0000:65:00.0"
NVME_SERVER: Final[Tree] = {
    **_dmi("Dell Inc.", "PowerEdge R750", ("Dell Inc.", "0WMWCR"), ("Dell Inc.", "1.10.2", "03/21/2023")),
    "sys/firmware/dmi/tables/DMI": _firmware(
        *[memory_device(32768, 0x1A, 3200, 2933)] * 16, memory_device(0, 2, 0, 0)
    ),
    "sys/firmware/acpi/platform_profile": "performance",
    **_pci(_NVME, "0x010802", "0x144d", "0xa824", "nvme"),
    f"sys/devices/{_NVME}/current_link_speed": "16.0 GT/s PCIe",
    f"sys/devices/{_NVME}/current_link_width": "4",
    f"sys/devices/{_NVME}/max_link_speed": "16.0 GT/s PCIe",
    f"sys/devices/{_NVME}/max_link_width": "4",
    f"sys/devices/{_NVME}/nvme/nvme0/transport": "pcie",
    f"sys/devices/{_NVME}/nvme/nvme0/model": "SAMSUNG MZWLR3T8HBLS-00007",
    f"sys/devices/{_NVME}/nvme/nvme0/firmware_rev": "MPK92B5Q",
    f"sys/devices/{_NVME}/nvme/nvme0/serial": "S0000000000001",
    f"sys/devices/{_NVME}/nvme/nvme0/device": "-> ../..",
    **_disk(
        "nvme0n1",
        f"{_NVME}/nvme/nvme0",
        "259:0",
        {"size": "7501476528", "queue/scheduler": "[none] mq-deadline", "queue/rotational": "0"},
        inside="",
    ),
    "usr/share/misc/pci.ids": (
        "# A part of the list\n144d  Samsung Electronics Co Ltd\n"
        "\ta821  NVMe SSD Controller 172X\n\ta824  NVMe SSD Controller PM173X\n\t\t1028 2118  Ent NVMe\n"
        "144e  OLITEC"
    ),
    **_mounted("/dev/nvme0n1"),
}

_AHCI: Final = "pci0000:00/0000:00:17.0"
_SATA: Final = f"{_AHCI}/ata3/host2/target2:0:0/2:0:0:0"
SATA_DESKTOP: Final[Tree] = {
    **_dmi(
        "To Be Filled By O.E.M.",
        "System Product Name",
        ("ASRock", "Z97 Extreme4"),
        ("American Megatrends Inc.", "P2.50", "05/18/2016"),
    ),
    "sys/devices/system/edac/mc/mc0/dimm0/size": "8192",
    "sys/devices/system/edac/mc/mc0/dimm0/dimm_mem_type": "Unbuffered-DDR3",
    "sys/devices/system/edac/mc/mc0/dimm1/size": "8192",
    "sys/devices/system/edac/mc/mc0/dimm1/dimm_mem_type": "Unbuffered-DDR3",
    # The chip set is in RAID mode, which is no RAID card.
    **_pci(_AHCI, "0x010400", "0x8086", "0x8c82", "ahci"),
    "sys/class/ata_link/link3/sata_spd": "6.0 Gbps",
    f"sys/devices/{_SATA}/vendor": "ATA",
    f"sys/devices/{_SATA}/model": "Samsung SSD 850",
    f"sys/devices/{_SATA}/rev": "1B6Q",
    f"sys/devices/{_SATA}/scsi_device/2:0:0:0/dev": "x",
    **_disk("sda", _SATA, "8:0", {"size": "976773168", "queue/scheduler": "none [mq-deadline]"}),
    **_partition("sda", _SATA, "sda1", "8:1"),
    **_mounted("/dev/sda1"),
}

_CARD: Final = "pci0000:00/0000:00:03.0/0000:02:00.0"
_VOLUME: Final = f"{_CARD}/host0/target0:2:0/0:2:0:0"
_HBA: Final = "pci0000:00/0000:00:02.0/0000:03:00.0"
_PORT: Final = f"{_HBA}/host1/port-1:0"
_SAS: Final = f"{_PORT}/end_device-1:0/target1:0:0/1:0:0:0"
RAID_SERVER: Final[Tree] = {
    **_dmi("HPE", "ProLiant DL380 Gen9", ("HPE", "ProLiant DL380 Gen9"), ("HP", "P89", "10/17/2018")),
    "sys/firmware/dmi/tables/DMI": _firmware(
        *[memory_device(16384, 0x1A, 2400, 2400)] * 8, *[memory_device(8192, 0x1A, 2400, 2133)] * 2
    ),
    **_pci(_CARD, "0x010400", "0x1000", "0x005d", "megaraid_sas"),
    **_pci(_HBA, "0x010700", "0x1000", "0x0097", "mpt3sas"),
    f"sys/devices/{_VOLUME}/vendor": "AVAGO",
    f"sys/devices/{_VOLUME}/model": "MR9361-8i",
    f"sys/devices/{_VOLUME}/rev": "4.68",
    f"sys/devices/{_VOLUME}/scsi_device/0:2:0:0/dev": "x",
    **_disk("sda", _VOLUME, "8:0", {"size": "7812939776", "queue/rotational": "1"}),
    f"sys/devices/{_PORT}/phy-1:0/sas_phy/phy-1:0/negotiated_linkrate": "12.0 Gbit",
    f"sys/devices/{_SAS}/vendor": "SEAGATE",
    f"sys/devices/{_SAS}/model": "ST1200MM0099",
    f"sys/devices/{_SAS}/rev": "ST31",
    **_disk("sdb", _SAS, "8:16", {"size": "2344225968", "queue/rotational": "1"}),
    **_mounted("/dev/sda"),
}

_HUB: Final = "pci0000:00/0000:00:14.0"
_BRIDGE: Final = f"{_HUB}/usb2/2-1"
_STICK: Final = f"{_BRIDGE}/2-1:1.0/host4/target4:0:0/4:0:0:0"
USB_BRIDGE: Final[Tree] = {
    **_dmi("LENOVO", "20XW", ("LENOVO", "20XW"), ("LENOVO", "N32ET75W", "05/12/2022")),
    **_pci(_HUB, "0x0c0330", "0x8086", "0xa0ed", "xhci_hcd"),
    f"sys/devices/{_BRIDGE}/idVendor": "152d",
    f"sys/devices/{_BRIDGE}/idProduct": "0583",
    f"sys/devices/{_BRIDGE}/manufacturer": "JMicron",
    f"sys/devices/{_BRIDGE}/product": "NVMe to USB bridge",
    f"sys/devices/{_BRIDGE}/speed": "10000",
    f"sys/devices/{_BRIDGE}/2-1:1.0/driver": "-> ../../../../../../bus/usb/drivers/uas",
    "sys/bus/usb/drivers/uas/bind": "",
    f"sys/devices/{_STICK}/vendor": "JMicron",
    f"sys/devices/{_STICK}/model": "Tech",
    **_disk("sdb", _STICK, "8:16", {"size": "1953525168"}),
    **_partition("sdb", _STICK, "sdb1", "8:17"),
    **_mounted("/dev/sdb1"),
}


def _member(letter: str, port: int) -> Tree:
    place = f"{_AHCI}/ata{port}/host{port}/target{port}:0:0/{port}:0:0:0"
    return {
        f"sys/class/ata_link/link{port}/sata_spd": "6.0 Gbps",
        f"sys/devices/{place}/vendor": "ATA",
        f"sys/devices/{place}/model": f"ST4000VN008 {letter}",
        **_disk(f"sd{letter}", place, f"8:{16 * port}", {"size": "7814037168"}),
        **_partition(f"sd{letter}", place, f"sd{letter}1", f"8:{16 * port + 1}"),
    }


def _stacked(name: str, number: str, facts: Tree, *slaves: str) -> Tree:
    place = f"sys/devices/virtual/block/{name}"
    return {
        f"{place}/dev": number,
        f"sys/block/{name}": f"-> ../devices/virtual/block/{name}",
        f"sys/class/block/{name}": f"-> ../../devices/virtual/block/{name}",
        **{f"{place}/{key}": text for key, text in facts.items()},
        **{f"{place}/slaves/{slave}": f"-> ../../../../../class/block/{slave}" for slave in slaves},
    }


STACK: Final[Tree] = {
    **_pci(_AHCI, "0x010601", "0x8086", "0xa282", "ahci"),
    **_member("a", 1),
    **_member("b", 2),
    **_stacked("md0", "9:0", {"md/level": "raid1", "md/raid_disks": "2"}, "sda1", "sdb1"),
    **_stacked("dm-0", "253:0", {"dm/name": "crypt", "dm/uuid": "CRYPT-LUKS2-00000000-crypt"}, "md0"),
    **_stacked("dm-1", "253:1", {"dm/name": "vg-lv", "dm/uuid": "LVM-0000", "size": "4194304"}, "dm-0"),
    **_mounted("/dev/dm-1"),
}

MACHINES: Final[Mapping[str, Tree]] = {
    "nvme-server": NVME_SERVER,
    "sata-desktop": SATA_DESKTOP,
    "raid-server": RAID_SERVER,
    "usb-bridge": USB_BRIDGE,
    "dm-on-md-on-sd": STACK,
}
