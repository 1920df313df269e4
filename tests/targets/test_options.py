"""Options of file systems do what they say: read back from the kernel, and counted by the device below."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.plan.filesystems import file_system_of
from mileage.targets import Target, open_target
from mileage.targets.filesystem_setup import holds
from mileage.targets.ledger import LEDGER_VARIABLE
from mileage.targets.mounts import read_mounts
from mileage.targets.programs import call

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
HASH = "0ddba115" * 8
SIZE = {"ext3": "64MiB", "ext4": "64MiB", "xfs": "320MiB", "btrfs": "256MiB"}
DISCARD = {
    "off": {"ext3": "nodiscard", "ext4": "nodiscard", "xfs": "nodiscard", "btrfs": "nodiscard"},
    "mount": {"ext3": "discard", "ext4": "discard", "xfs": "discard", "btrfs": "discard=sync"},
}
WRITES, DISCARDS, FLUSHES = 4, 11, 15
"""Places in /sys/block/DISK/stat of the requests completed (Documentation/block/stat.rst)."""


@pytest.fixture(autouse=True)
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("file systems are made by root")
    if shutil.which("losetup") is None:
        pytest.skip("losetup is not installed")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))


def opened(kind: str, folder: Path, mount: str, *, mkfs: str = "", through: bool = False) -> Target:
    if shutil.which(f"mkfs.{kind}") is None:
        pytest.skip(f"mkfs.{kind} is not installed")
    return open_target(
        f"loop:{SIZE[kind]}@{folder}",
        plan_hash=HASH,
        made=file_system_of(kind, mkfs, mount),
        settings={"write_cache": "write through" if through else "write back"},
    )


def mounted_options(target: Target) -> set[str]:
    place = str(target.place)
    return {option for m in read_mounts() if m.mount_point == place for option in m.all_options}


def device_of(target: Target) -> str:
    return next(m.source for m in read_mounts() if m.mount_point == str(target.place))


class DeviceCounts:
    """What the device counted while a block ran."""

    def __init__(self, target: Target) -> None:
        self._file = Path("/sys/block", Path(device_of(target)).name, "stat")
        self._before = self._now()

    def _now(self) -> list[int]:
        return [int(word) for word in self._file.read_text().split()]

    def __getitem__(self, place: int) -> int:
        return self._now()[place] - self._before[place]


def work(target: Target) -> None:
    """Write and sync a file five times, remove it, and wait until the file system has said so to the device."""
    assert target.place is not None
    path = target.place / "worked"
    for _ in range(5):
        with path.open("wb") as file:
            file.write(os.urandom(4 * MIB))
            os.fsync(file.fileno())
    path.unlink()
    descriptor = os.open(target.place, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    call("test", "sync", "--file-system", str(target.place))
    time.sleep(0.3)


def until(what: Callable[[], bool]) -> bool:
    """Whether it becomes true: a file system may discard removed files much later."""
    end_s = time.monotonic() + 60
    while not what() and time.monotonic() < end_s:
        time.sleep(0.05)
    return what()


@pytest.mark.sampled(9)
@pytest.mark.parametrize("kind", ["ext3", "ext4", "xfs", "btrfs"])
@pytest.mark.parametrize("discard", ["off", "mount", "fstrim"])
@pytest.mark.parametrize("flushes", ["default", "nobarrier", "through"])
def test_discards_and_flushes_are_what_was_asked_for(
    tmp_path: Path, kind: str, discard: str, flushes: str
) -> None:
    options = DISCARD["off" if discard == "fstrim" else discard][kind]
    if flushes == "nobarrier":
        if kind == "xfs":
            with pytest.raises(ValueError, match="write_cache"):
                file_system_of(kind, "", "nobarrier")
            return
        options += ",nobarrier"
    with opened(kind, tmp_path, f"noatime,{options}", through=flushes == "through") as target:
        target.prepare(8 * MIB)
        shown = mounted_options(target)
        assert "noatime" in shown
        assert ({"discard", "discard=async"} & shown != set()) == (discard == "mount")
        assert bool({"nobarrier", "barrier=0"} & shown) == (flushes == "nobarrier")
        counted = DeviceCounts(target)
        work(target)
        assert counted[WRITES] > 0
        if discard == "mount":
            assert until(lambda: counted[DISCARDS] > 0)
        else:
            assert counted[DISCARDS] == 0
        assert (counted[FLUSHES] > 0) == (flushes == "default")
        if discard == "fstrim":
            assert "trimmed" in target.trim()
            assert counted[DISCARDS] > 0


def test_stripe_resize_and_journal_stand_in_the_superblock(tmp_path: Path) -> None:
    mkfs = "stripe=128KiB,resize=16GiB,journal=4MiB"
    with opened("ext4", tmp_path, "", mkfs=mkfs) as target:
        target.prepare(MIB)
        output = call("test", "dumpe2fs", "-h", device_of(target))
        fields = {line.partition(":")[0]: line.partition(":")[2].strip() for line in output.splitlines()}
        assert fields["RAID stripe width"] == "32"
        # 16 GiB are 128 groups of 32768 blocks, with 64 descriptors of 64 bytes in a block: two blocks, one in use.
        assert fields["Reserved GDT blocks"] == "1"
        assert fields["Total journal size"] == "4096k"


def test_ext3_has_its_own_layout_and_name(tmp_path: Path) -> None:
    with opened("ext3", tmp_path, "noatime,data=writeback", mkfs="journal=8MiB") as target:
        target.prepare(MIB)
        mount = next(m for m in read_mounts() if m.mount_point == str(target.place))
        assert mount.fs_type == "ext3"
        assert "data=writeback" in mount.all_options
        output = call("test", "dumpe2fs", "-h", device_of(target))
        fields = {line.partition(":")[0]: line.partition(":")[2].split() for line in output.splitlines()}
        assert "has_journal" in fields["Filesystem features"]
        assert not {"extent", "extents", "flex_bg", "64bit"} & set(fields["Filesystem features"])
        assert fields["Total journal size"] == ["8M"]


def test_a_journal_can_be_omitted(tmp_path: Path) -> None:
    with opened("ext4", tmp_path, "", mkfs="journal=none") as target:
        target.prepare(MIB)
        assert "has_journal" not in call("test", "dumpe2fs", "-h", device_of(target))


def test_atimes_are_not_written_with_noatime(tmp_path: Path) -> None:
    def atime_after_reading(option: str) -> bool:
        with opened("ext4", tmp_path, option) as target:
            target.prepare(MIB)
            assert target.path is not None
            os.utime(target.path, (1, 2))
            target.path.read_bytes()
            return target.path.stat().st_atime > 1

    assert atime_after_reading("strictatime")
    assert not atime_after_reading("noatime")


def test_a_new_cycle_has_a_new_file_system(tmp_path: Path) -> None:
    with opened("ext4", tmp_path, "") as target:
        target.prepare(MIB)
        target.purge()
        assert target.place is not None
        (target.place / "left").write_text("from the first cycle")
        assert "made ext4" in target.purge()
        assert not (target.place / "left").exists()


def test_an_unfinished_study_finds_its_work_file_again(tmp_path: Path) -> None:
    first = opened("xfs", tmp_path, "")
    first.prepare(MIB)
    assert first.path is not None
    content = os.urandom(MIB)
    with first.path.open("r+b") as file:
        file.write(content)
    first.close()
    assert not first.path.exists()
    with opened("xfs", tmp_path, "") as target:
        assert target.resumes(MIB)
        assert "kept the work file" in target.prepare(MIB)
        assert target.path is not None
        assert target.path.read_bytes() == content


SHOWN = [
    ("noatime", {"rw", "noatime"}, True),
    ("noatime", {"rw", "relatime"}, False),
    ("nobarrier", {"rw", "barrier=0"}, True),
    ("nobarrier", {"rw"}, False),
    ("barrier", {"rw"}, True),
    ("barrier", {"rw", "nobarrier"}, False),
    ("nodiscard", {"rw", "discard=async"}, False),
    ("discard", {"rw", "discard=async"}, True),
    ("logbsize=64k", {"rw", "logbsize=64k"}, True),
    ("logbsize=64k", {"rw"}, False),
]


@pytest.mark.parametrize(("option", "shown", "expected"), SHOWN)
def test_whether_the_kernel_shows_an_option(option: str, shown: set[str], expected: bool) -> None:
    assert holds(option, shown) == expected


def test_a_folder_without_room_is_refused(tmp_path: Path) -> None:
    with (
        open_target(f"loop:900TiB@{tmp_path}", plan_hash=HASH, made=file_system_of("ext4", "", "")) as target,
        pytest.raises(Refused, match="are free"),
    ):
        target.prepare(MIB)
