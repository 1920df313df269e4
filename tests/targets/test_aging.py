"""A new file system becomes as full as asked for, and an aged one has its free space fragmented."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mileage.plan.filesystems import file_system_of
from mileage.plan.initial_state import FillState
from mileage.targets import open_target
from mileage.targets.aging import FOLDER, age, fill
from mileage.targets.filesystem_condition import condition_of
from mileage.targets.ledger import LEDGER_VARIABLE

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
HASH = "a9ed0000" * 8


@pytest.fixture(autouse=True)
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("file systems are made by root")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))


def taken_percent(place: Path) -> float:
    space = os.statvfs(place)
    return 100 * (space.f_blocks - space.f_bfree) / space.f_blocks


def test_filled_to_a_share(small_ext4: Path) -> None:
    assert "filled to 6" in fill(small_ext4, 60)
    assert 59 < taken_percent(small_ext4) < 64


def test_aged_to_a_share_with_the_same_files_for_the_same_seed(tmp_path: Path) -> None:
    found = []
    for seed in (7, 7, 8):
        made = file_system_of("ext4", "", "")
        with open_target(
            f"loop:128MiB@{tmp_path}", plan_hash=HASH, made=made, used=FillState("aged", 50, seed)
        ) as target:
            output = target.prepare(4 * MIB)
            assert "aged in 4 turns" in output
            place = target.place
            assert place is not None
            assert 45 < taken_percent(place) < 60
            found.append(
                {path.name: path.stat().st_size for path in (place / FOLDER).rglob("*") if path.is_file()}
            )
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_aging_fragments_the_free_space_and_filling_does_not(tmp_path: Path) -> None:
    free = {}
    for how in ("fill", "aged"):
        made = file_system_of("ext4", "", "")
        with open_target(
            f"loop:128MiB@{tmp_path}", plan_hash=HASH, made=made, used=FillState(how, 50)
        ) as target:
            target.prepare(4 * MIB)
            free[how] = int(condition_of(target)["now.target_free_extents_count"])
    assert free["aged"] > 3 * free["fill"], free


def test_aging_stops_at_a_full_file_system(small_ext4: Path) -> None:
    assert "full" in age(small_ext4, 90, 1)
    assert taken_percent(small_ext4) < 95
