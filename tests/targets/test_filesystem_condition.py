"""What measuring changes on a file system is seen: extents, memory, what was written."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mileage.plan.filesystems import file_system_of
from mileage.targets import open_target
from mileage.targets.filesystem_condition import condition_of, extents
from mileage.targets.ledger import LEDGER_VARIABLE
from mileage.targets.page_cache import drop_caches, empty_cache, fill_cache, resident_bytes

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
HASH = "abad1dea" * 8


def test_a_file_with_holes_between_its_parts_has_several_extents(small_ext4: Path) -> None:
    path = small_ext4 / "file"
    with path.open("wb") as file:
        for part in range(5):
            file.seek(part * MIB)
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
    assert extents(path) == 5


def test_what_is_resident_follows_the_cache(small_ext4: Path) -> None:
    path = small_ext4 / "file"
    path.write_bytes(os.urandom(4 * MIB))
    assert resident_bytes(path) == 4 * MIB
    empty_cache(path)
    assert resident_bytes(path) == 0
    fill_cache(path)
    assert resident_bytes(path) == 4 * MIB
    drop_caches("test")
    assert resident_bytes(path) == 0


def test_the_condition_of_a_directory_target(small_ext4: Path) -> None:
    with open_target(f"dir:{small_ext4}", plan_hash=HASH) as target:
        target.prepare(8 * MIB)
        before = condition_of(target)
        assert target.path is not None
        with target.path.open("r+b") as file:
            file.write(os.urandom(8 * MIB))
            os.fsync(file.fileno())
        after = condition_of(target)
    written = int(after["now.target_lifetime_write_kbytes"]) - int(before["now.target_lifetime_write_kbytes"])
    assert 8 << 10 <= written < 10 << 10
    assert int(after["now.work_file_extents"]) >= 1
    assert after["now.work_file_resident_bytes"] == str(8 * MIB)
    assert int(after["now.target_free_extents_count"]) >= 1
    stay = {key for key in after if not key.startswith("now.")}
    assert stay == {"target.journal_bytes", "target.inodes"}
    assert all(before[key] == after[key] for key in stay)


@pytest.mark.parametrize(
    ("kind", "mkfs", "journal"),
    [
        ("ext3", "journal=8MiB", str(8 * MIB)),
        ("ext4", "journal=4MiB", str(4 * MIB)),
        ("ext4", "journal=none", "none"),
        ("xfs", "journal=64MiB", str(64 * MIB)),
        ("btrfs", "", "none: btrfs writes a log tree of no fixed size"),
    ],
)
def test_journal_inodes_and_used_share_of_a_made_file_system(
    kind: str, mkfs: str, journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracles: the size that mkfs was given, `df` for inodes and blocks."""
    if os.geteuid() != 0 or shutil.which(f"mkfs.{kind}") is None:
        pytest.skip(f"mkfs.{kind} and root are needed")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    size = {"xfs": "320MiB", "btrfs": "256MiB"}.get(kind, "64MiB")
    made = file_system_of(kind, mkfs, "")
    with open_target(f"loop:{size}@{tmp_path}", plan_hash=HASH, made=made) as target:
        target.prepare(16 * MIB)
        found = condition_of(target)
        printed = subprocess.run(
            ["df", "--block-size=1", "--output=itotal,used,size", str(target.place)],
            capture_output=True, text=True, check=True, timeout=30,
        ).stdout.splitlines()[1].split()  # fmt: skip
        statistics = os.statvfs(target.place)  # type: ignore[arg-type]
        target.cleanup()
    assert found["target.journal_bytes"] == journal
    inodes, used, _ = printed
    assert found["target.inodes"] == (inodes if kind.startswith("ext") else "made as needed")
    share = 100 * int(used) / (statistics.f_blocks * statistics.f_frsize)
    assert float(found["now.target_used_percent"]) == pytest.approx(share, abs=0.06)
    assert share > 100 * 16 * MIB / (statistics.f_blocks * statistics.f_frsize)


def test_a_virtual_drive_has_no_such_condition() -> None:
    with open_target("virtual:intel-x25e-64gb", plan_hash=HASH) as target:
        assert condition_of(target) == {}
