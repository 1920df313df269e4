"""What must never be written to is recognised, and the reasons come in the right order."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from mileage.targets.guard import (
    block_device_refusal,
    is_held_exclusively,
    kind_of,
    loop_devices,
    uses_of_device,
    uses_of_file,
)

Machine = Callable[[dict[str, str]], Path]

DISKS = {
    "sys/devices/pci/block/sda/dev": "8:0\n",
    "sys/devices/pci/block/sda/sda1/dev": "8:1\n",
    "sys/devices/pci/block/sda/sda1/partition": "1\n",
    "sys/devices/pci/block/sda/sda2/dev": "8:2\n",
    "sys/devices/pci/block/sda/sda2/partition": "2\n",
    "sys/devices/virtual/block/dm-0/dev": "253:0\n",
    "sys/devices/virtual/block/dm-0/dm/name": "vg-home\n",
    "sys/dev/block/8:0": "-> ../../devices/pci/block/sda",
    "sys/dev/block/8:1": "-> ../../devices/pci/block/sda/sda1",
    "sys/dev/block/8:2": "-> ../../devices/pci/block/sda/sda2",
    "sys/dev/block/253:0": "-> ../../devices/virtual/block/dm-0",
}
HELD = {"sys/devices/pci/block/sda/sda1/holders/dm-0": "-> ../../../../../virtual/block/dm-0"}
MOUNTED_1 = {"proc/self/mountinfo": "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"}
MOUNTED_DM = {"proc/self/mountinfo": "21 1 253:0 / /home rw - xfs /dev/mapper/vg-home rw\n"}
BTRFS_1 = {"proc/self/mountinfo": "21 1 0:40 / /pool rw - btrfs /dev/sda1 rw\n"}
SWAP_2 = {"proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n"}
LOOP_1 = {"sys/block/loop3/loop/backing_file": "/dev/sda1\n"}
MEMBER_2 = {"sys/fs/btrfs/0123/devices/sda2": "-> ../../../../devices/pci/block/sda/sda2"}


@pytest.mark.parametrize(
    ("extra", "device", "expected"),
    [
        ({}, "8:0", ()),
        ({}, "8:1", ()),
        (MOUNTED_1, "8:1", ("mounted at / (ext4)",)),
        (MOUNTED_1, "8:0", ("sda1: mounted at / (ext4)",)),
        (MOUNTED_1, "8:2", ()),
        (BTRFS_1, "8:1", ("mounted at /pool (btrfs)",)),
        (SWAP_2, "8:2", ("swap area /dev/sda2",)),
        (SWAP_2, "8:0", ("sda2: swap area /dev/sda2",)),
        (SWAP_2, "8:1", ()),
        (HELD, "8:1", ("held by dm-0 (vg-home)",)),
        (HELD | MOUNTED_DM, "8:1", ("held by dm-0 (vg-home)", "dm-0 mounted at /home (xfs)")),
        (HELD | MOUNTED_DM, "253:0", ("mounted at /home (xfs)",)),
        (HELD, "8:0", ("sda1: held by dm-0 (vg-home)",)),
        (LOOP_1, "8:1", ("backs loop3",)),
        (MEMBER_2, "8:2", ("member of the btrfs 0123",)),
        (MOUNTED_1, "9:9", ()),
    ],
)
def test_the_uses_of_a_device(
    machine: Machine, extra: dict[str, str], device: str, expected: tuple[str, ...]
) -> None:
    assert uses_of_device(device, root=machine(DISKS | extra)) == expected


def test_a_mounted_whole_disk_protects_its_partitions(machine: Machine) -> None:
    root = machine(DISKS | {"proc/self/mountinfo": "21 1 8:0 / /x rw - ext4 /dev/sda rw\n"})
    assert uses_of_device("8:1", root=root) == ("sda: mounted at /x (ext4)",)


def test_a_device_that_sysfs_does_not_know_is_still_found_by_its_number(machine: Machine) -> None:
    root = machine({"proc/self/mountinfo": "21 1 9:9 / /x rw - ext4 /dev/odd rw\n"})
    assert uses_of_device("9:9", root=root) == ("mounted at /x (ext4)",)


@pytest.fixture
def unused_device(monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """A path of a block device that no table knows of."""
    status = list(range(10))
    status[stat.ST_MODE] = stat.S_IFBLK | 0o600
    monkeypatch.setattr("mileage.targets.guard.uses_of_device", lambda *_, **__: ())
    path = mock.Mock(spec=Path)
    path.stat.return_value = os.stat_result(status, {"st_rdev": os.makedev(9, 9)})
    return path


def test_a_device_that_only_the_kernel_knows_is_held(unused_device: mock.Mock) -> None:
    refusal = block_device_refusal("block:/dev/x", unused_device, probe=lambda _: True)
    assert "opened exclusively by something" in refusal.message


def test_a_device_that_nothing_uses_may_be_given_up(unused_device: mock.Mock) -> None:
    assert block_device_refusal("block:/dev/x", unused_device, probe=lambda _: False) is None


def test_a_missing_device_is_named_first(tmp_path: Path) -> None:
    assert "no such device" in block_device_refusal("block:x", tmp_path / "none").message


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: path.mkdir(), "a directory"),
        (lambda path: path.write_text(""), "a regular file"),
        (lambda path: os.mkfifo(path), "a named pipe"),
    ],
)
def test_what_is_not_a_block_device_is_named(
    tmp_path: Path, make: Callable[[Path], object], expected: str
) -> None:
    path = tmp_path / "thing"
    make(path)
    assert f"this is {expected}, not a block device" in block_device_refusal("block:x", path).message


def test_a_character_device_is_named() -> None:
    assert "a character device" in block_device_refusal("block:/dev/null", Path("/dev/null")).message


def test_kinds_have_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("nowhere")
    assert kind_of((tmp_path / "link").lstat().st_mode) == "a symbolic link"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert kind_of(Path("s").stat().st_mode) == "a socket"
    assert kind_of(0) == "something unknown"


def test_a_swap_file_and_a_loop_backing_file_are_in_use(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "used"
    path.write_text("x")
    swaps = f"Filename Type Size Used Priority\n{path} file 1 0 -2\n"
    mounts = f"21 1 8:1 / {path} rw - ext4 /dev/sda1 rw\n"
    backing = {"sys/block/loop7/loop/backing_file": f"{path}\n", "proc/swaps": swaps}
    root = machine(backing | {"proc/self/mountinfo": mounts})
    assert uses_of_file(path, root=root) == (f"swap area {path}", "backs loop7", f"mounted over at {path}")
    assert uses_of_file(tmp_path / "other", root=root) == ()


def test_a_real_loop_device_is_free_until_it_is_mounted(loop_device: Path) -> None:
    assert any(f"/dev/{name}" == str(loop_device) for name, _ in loop_devices())
    assert not is_held_exclusively(loop_device)
    assert block_device_refusal(f"block:{loop_device}", loop_device) is None


def test_a_real_mounted_device_is_refused_with_its_mount_point(loop_device: Path, small_ext4: Path) -> None:
    assert is_held_exclusively(loop_device)
    refusal = block_device_refusal(f"block:{loop_device}", loop_device)
    assert refusal is not None
    assert f"mounted at {small_ext4} (ext4)" in refusal.message


def test_the_device_below_the_root_file_system_is_refused() -> None:
    number = Path("/").stat().st_dev
    if os.major(number) == 0:
        pytest.skip("/ has no block device of its own")
    assert any(
        use.startswith("mounted at / ") for use in uses_of_device(f"{os.major(number)}:{os.minor(number)}")
    )
