"""How a drive is attached, and which drive lies below a stack, in trees that look like /sys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mileage.analysis.check_class import class_of, facts_from
from mileage.store.block_device import bus_facts, drives, physical_disk
from tests.targets.conftest import machine

__all__ = ["machine"]

Machine = Callable[[dict[str, str]], Path]

NVME = {
    "sys/block/nvme0n1/device/device/current_link_speed": "8.0 GT/s PCIe",
    "sys/block/nvme0n1/device/device/current_link_width": "2",
    "sys/block/nvme0n1/device/device/max_link_speed": "16.0 GT/s PCIe",
    "sys/block/nvme0n1/device/device/max_link_width": "4",
}
SATA = {
    "sys/devices/pci0/ata3/host2/target2/sda/model": "SSD",
    "sys/block/sda/device": "-> ../../devices/pci0/ata3/host2/target2/sda",
    "sys/class/ata_link/link3/sata_spd": "6.0 Gbps",
}
USB = {
    "sys/devices/pci0/usb2/2-1/speed": "5000",
    "sys/devices/pci0/usb2/2-1/host4/sdb/model": "Stick",
    "sys/block/sdb/device": "-> ../../devices/pci0/usb2/2-1/host4/sdb",
}
CARD = {"sys/block/mmcblk0/device/type": "SD"}
VIRTIO = {
    "sys/devices/pci0/virtio1/device": "2",
    "sys/block/vda/device": "-> ../../devices/pci0/virtio1",
}


@pytest.mark.parametrize(
    ("disk", "files", "expected", "title"),
    [
        ("nvme0n1", NVME, {"bus": "nvme", "speed": "8.0", "lanes": "2"}, "NVMe SSD on PCIe 3.0"),
        ("sda", SATA, {"bus": "sata", "speed": "6.0"}, "SSD on SATA 6 Gb/s"),
        ("sdb", USB, {"bus": "usb", "speed": "5000"}, "drive on USB 3, 5 Gbit/s"),
        ("mmcblk0", CARD, {"bus": "mmc"}, "SD card or eMMC"),
        ("vda", VIRTIO, {"bus": "virtio"}, None),
    ],
)
def test_the_bus_of_a_drive_and_the_class_that_follows(
    disk: str, files: dict[str, str], expected: dict[str, str], title: str | None, machine: Machine
) -> None:
    found = bus_facts(disk, machine(files))
    assert expected.items() <= found.items()
    known = class_of(facts_from({**found, "target.rotational": "0"}))
    assert (known.title if known is not None else None) == title


def test_encryption_and_volumes_on_one_drive_lead_to_it(machine: Machine) -> None:
    root = machine(
        {
            "sys/block/dm-1/slaves/dm-0/dev": "253:0",
            "sys/block/dm-0/slaves/nvme0n1p2/dev": "259:2",
            "sys/block/nvme0n1/nvme0n1p2/partition": "2",
            "sys/block/md0/slaves/sda/dev": "8:0",
            "sys/block/md0/slaves/sdb/dev": "8:16",
            "sys/class/block/nvme0n1p2": "-> ../../block/nvme0n1/nvme0n1p2",
        }
    )
    assert physical_disk("dm-1", root) == "nvme0n1"
    assert physical_disk("md0", root) == "md0"
    assert physical_disk("sda", root) == "sda"


def test_the_drives_of_a_machine(machine: Machine) -> None:
    root = machine({**NVME, **SATA, **USB, "sys/block/loop0/dev": "7:0", "sys/block/sr0/device/type": "5"})
    assert drives(root) == ["nvme0n1", "sda", "sdb"]
