"""Bytes and inodes are compared with what an ordinary user has free."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from mileage.errors import Refused
from mileage.targets import room

FREE = 100 * 4096


def _space(monkeypatch: pytest.MonkeyPatch, files: int = 50, free_files: int = 7) -> None:
    fields = {"f_bavail": 100, "f_blocks": 200, "f_bsize": 4096, "f_frsize": 4096, "f_flag": 0}
    space = SimpleNamespace(**fields, f_files=files, f_favail=free_files)
    monkeypatch.setattr(os, "statvfs", lambda _: space)


def test_what_fits_exactly_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _space(monkeypatch)
    room.refuse_without_room("x", tmp_path, needed_bytes=FREE, needed_files=7)
    room.refuse_without_room("x", tmp_path, needed_bytes=FREE + 5, needed_files=0, held_bytes=5)


@pytest.mark.parametrize(
    ("needed_bytes", "needed_files", "numbers"),
    [(FREE + 1, 0, (FREE + 1, FREE)), (0, 8, (8, 7)), (FREE + 1, 8, (FREE + 1, FREE))],
)
def test_a_refusal_has_both_numbers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    needed_bytes: int,
    needed_files: int,
    numbers: tuple[int, int],
) -> None:
    _space(monkeypatch)
    with pytest.raises(Refused) as refused:
        room.refuse_without_room("x", tmp_path, needed_bytes=needed_bytes, needed_files=needed_files)
    (refusal,) = refused.value.refusals
    assert (refusal.where, refusal.code) == ("x", "no-room")
    assert all(str(number) in refusal.text for number in numbers)


def test_a_file_system_that_counts_no_inodes_has_room_for_any_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _space(monkeypatch, files=0, free_files=0)
    room.refuse_without_room("x", tmp_path, needed_bytes=0, needed_files=10**9)


def test_a_directory_that_is_made_later_is_on_the_file_system_above_it(tmp_path: Path) -> None:
    space = os.statvfs(tmp_path)
    later = tmp_path / "a" / "b"
    room.refuse_without_room("x", later, needed_bytes=1, needed_files=1)
    with pytest.raises(room.NoRoom):
        room.refuse_without_room("x", later, needed_bytes=space.f_blocks * space.f_frsize + 1, needed_files=0)


def test_a_file_occupies_whole_blocks(tmp_path: Path) -> None:
    block = os.statvfs(tmp_path).f_frsize
    sizes = [room.allocated_bytes("x", tmp_path, size) for size in (0, 1, block, block + 1)]
    assert sizes == [0, block, block, 2 * block]
