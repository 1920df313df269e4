"""What measuring changes on a file system is seen: extents, memory, what was written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mileage.targets import open_target
from mileage.targets.filesystem_condition import condition_of, extents
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
    assert all(key.startswith("now.") for key in after)


def test_a_virtual_drive_has_no_such_condition() -> None:
    with open_target("virtual:intel-x25e-64gb", plan_hash=HASH) as target:
        assert condition_of(target) == {}
