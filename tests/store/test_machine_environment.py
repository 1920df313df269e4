"""The lines of the environment that describe hardware, on five machines and on this one, as the page shows them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mileage.app.check_findings import bus_words
from mileage.report.html import environment_rows
from mileage.store.block_device import bus_facts
from mileage.store.environment import snapshot
from mileage.store.machine_hardware import FOR_ROOT, memory_modules
from mileage.targets.filesystem_condition import USED_PERCENT
from tests.store.machine_trees import MACHINES, RAID_SERVER, Tree, memory_device, write_tree

EXPECTED = Path(__file__).parent / "machines"
SHOWN = ("machine.", "memory.modules", "target.")
OF_THIS_MACHINE = ("target.capacity_bytes", "target.read_only")
"""Facts of the file system that holds the tree itself."""


def lines_on_page(root: Path) -> list[str]:
    rows = environment_rows([("start", snapshot(root, root=root))])
    return [
        f"{key}: {values[0]}"
        for key, values, _ in rows
        if key.startswith(SHOWN) and key not in OF_THIS_MACHINE and values[0] != "unknown"
    ] + [f"unknown: {key}" for key, values, _ in rows if key.startswith(SHOWN) and values[0] == "unknown"]


@pytest.mark.parametrize("name", MACHINES)
def test_the_environment_of_a_machine_is_as_recorded(name: str, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "machine", MACHINES[name])
    recorded = (EXPECTED / f"{name}.txt").read_text().splitlines()
    assert lines_on_page(root) == recorded


@pytest.mark.parametrize(
    ("name", "disk", "words"),
    [
        ("nvme-server", "nvme0n1", "NVMe, PCIe 4.0 x4"),
        ("sata-desktop", "sda", "SATA 6.0 Gb/s"),
        ("raid-server", "sda", "behind a RAID card"),
        ("raid-server", "sdb", "SAS 12.0 Gb/s"),
        ("usb-bridge", "sdb", "USB 10000 Mbit/s"),
        ("dm-on-md-on-sd", "sda", "SATA 6.0 Gb/s"),
        ("dm-on-md-on-sd", "dm-1", ""),
    ],
)
def test_how_a_drive_is_attached_in_the_words_of_a_check(
    name: str, disk: str, words: str, tmp_path: Path
) -> None:
    root = write_tree(tmp_path, MACHINES[name])
    assert bus_words(bus_facts(disk, root)) == words


def test_a_sas_drive_of_another_controller_is_not_behind_the_raid_card(tmp_path: Path) -> None:
    """One machine, two controllers: the volume of the card is mounted above, here the drive on the SAS controller."""
    mounts: Tree = {"proc/self/mountinfo": "21 1 0:99 / / rw,noatime - ext4 /dev/sdb rw"}
    root = write_tree(tmp_path, {**RAID_SERVER, **mounts})
    found = snapshot(root, root=root)
    assert found["target.transport"] == "SAS, 12.0 Gbit/s"
    assert found["target.raid_card"] == "none"
    assert found["machine.raid_cards"] == "PCI 1000:005d, megaraid_sas"
    assert bus_facts("sdb", root) == {"bus": "sas", "speed": "12.0"}
    assert bus_facts("sda", root) == {"bus": "raid", "speed": ""}


@pytest.mark.parametrize(
    ("disk", "transport", "card"),
    [("loop7", "loop device over a file", "unknown"), ("zram0", "memory", "none")],
)
def test_of_a_loop_device_it_is_not_known_what_is_below_its_file(
    disk: str, transport: str, card: str, tmp_path: Path
) -> None:
    mount = f"21 1 0:99 / / rw - ext4 /dev/{disk} rw"
    tree = {f"sys/class/block/{disk}/dev": "7:7", f"sys/block/{disk}/size": "8", "proc/self/mountinfo": mount}
    root = write_tree(tmp_path, tree)
    found = snapshot(root, root=root)
    keys = ("target.transport", "target.controller", "target.raid_card", "target.raid_cache")
    assert [found[key] for key in keys] == [transport, card, card, card]


def test_a_table_that_is_cut_anywhere_describes_the_modules_before_the_cut(tmp_path: Path) -> None:
    whole = memory_device(16384, 0x22, 4800, 4800) * 2
    table = tmp_path / "sys/firmware/dmi/tables/DMI"
    table.parent.mkdir(parents=True)
    found = []
    for length in range(len(whole) + 1):
        table.write_bytes(whole[:length])
        found.append(memory_modules(tmp_path))
    assert list(dict.fromkeys(found)) == [None, *(f"{count} x 16 GiB DDR5, 4800 MT/s" for count in (1, 2))]


@pytest.mark.parametrize(
    ("mib", "kind", "speed", "words"),
    [
        (512, 0x13, 667, "1 x 512 MiB DDR2, 667 MT/s"),
        (65536, 0x22, 4800, "1 x 64 GiB DDR5, 4800 MT/s"),
        (1024, 0xEE, 0, "1 x 1 GiB of unknown type"),
        (0, 0x1A, 3200, None),
    ],
)
def test_a_memory_module(mib: int, kind: int, speed: int, words: str | None, tmp_path: Path) -> None:
    write_tree(tmp_path, {"sys/firmware/dmi/tables/DMI": memory_device(mib, kind, speed, 0)})
    assert memory_modules(tmp_path) == words


def test_memory_that_only_root_may_read_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    assert memory_modules(tmp_path) == FOR_ROOT


def test_lines_of_this_machine_agree_with_lsblk(tmp_path: Path) -> None:
    if shutil.which("lsblk") is None:
        pytest.skip("lsblk is not installed")
    found = snapshot(tmp_path)
    disk = found["target.members"].partition(" ")[0]
    if disk == "unknown":
        pytest.skip("the temporary folder is on no disk")
    listed = subprocess.run(
        ["lsblk", "--nodeps", "--noheadings", "--output", "TRAN", f"/dev/{disk}"],
        capture_output=True, text=True, check=False, timeout=30,
    ).stdout.strip()  # fmt: skip
    if listed:
        assert found["target.transport"].lower().startswith(listed)


def test_of_the_facts_of_the_moment_the_page_shows_the_used_share() -> None:
    found = [{"now.loadavg": load, USED_PERCENT: used} for load, used in (("0.1", "3.0"), ("9.9", "61.2"))]
    rows = environment_rows([("before", found[0]), ("after", found[1])])
    assert rows == [("now.target_used_percent", ["3.0", "61.2"], True)]
