"""Files and devices that are used as they are, devices that are purged, and the target that is nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.targets import open_target
from mileage.targets.page_cache import empty_cache

pytestmark = pytest.mark.xdist_group("devices")

HASH = "0123456789abcdef"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def full_file(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(os.urandom(1 << 20))
    return path


def test_a_kept_file_is_neither_changed_nor_removed(full_file: Path) -> None:
    before = digest(full_file)
    with open_target(f"file:{full_file}", plan_hash=HASH, keep=True) as target:
        facts = target.facts()
        assert (facts.kind, facts.capacity_bytes, facts.writable) == ("file", 1 << 20, False)
        target.prepare(1 << 20)
        target.purge()
        assert target.path == full_file
    assert digest(full_file) == before


def test_a_kept_file_may_be_read_only_and_behind_a_link(full_file: Path, tmp_path: Path) -> None:
    full_file.chmod(0o444)
    link = tmp_path / "link"
    link.symlink_to(full_file)
    assert open_target(f"file:{link}", plan_hash=HASH, keep=True).facts().capacity_bytes == 1 << 20


def test_a_kept_file_is_writable_only_when_it_was_given_up(full_file: Path) -> None:
    target = open_target(f"file:{full_file}", plan_hash=HASH, keep=True, destroy=str(full_file))
    assert target.facts().writable
    assert full_file.stat().st_size == 1 << 20
    with pytest.raises(Refused, match="does not name the target exactly"):
        open_target(f"file:{full_file}", plan_hash=HASH, keep=True, destroy=f"{full_file}x")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a directory, not a regular file; use dir: for it"),
        (lambda path: os.mkfifo(path), "a named pipe, not a regular file"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    make(tmp_path / "it")
    with pytest.raises(Refused, match=words):
        open_target(f"file:{tmp_path / 'it'}", plan_hash=HASH, keep=True)


def test_a_kept_file_that_is_too_small_is_refused(full_file: Path) -> None:
    target = open_target(f"file:{full_file}", plan_hash=HASH, keep=True)
    with pytest.raises(Refused, match="needs 2097152 bytes"):
        target.prepare(2 << 20)


def test_the_page_cache_is_emptied_of_a_file(full_file: Path) -> None:
    full_file.read_bytes()
    empty_cache(full_file)
    assert full_file.stat().st_size == 1 << 20


def test_a_device_is_read_without_leave_and_written_only_with_it(loop_device: Path) -> None:
    target = open_target(f"block:{loop_device}", plan_hash=HASH, keep=True)
    assert target.facts().kind == "block"
    assert target.facts().capacity_bytes == 24 << 20
    assert target.facts().block_bytes == 512
    assert not target.facts().writable
    empty_cache(loop_device)
    with pytest.raises(Refused, match=f"--destroy {loop_device}"):
        open_target(f"block:{loop_device}", plan_hash=HASH)


def test_a_mounted_device_may_be_read_and_is_never_written(small_ext4: Path, loop_device: Path) -> None:
    assert open_target(f"block:{loop_device}", plan_hash=HASH, keep=True).facts().capacity_bytes == 24 << 20
    for keep in (True, False):
        with pytest.raises(Refused, match=f"mounted at {small_ext4}"):
            open_target(f"block:{loop_device}", plan_hash=HASH, keep=keep, destroy=str(loop_device))


def test_a_purged_device_reads_zeros(loop_device: Path) -> None:
    loop_device.write_bytes(b"x" * 4096)
    target = open_target(f"block:{loop_device}", plan_hash=HASH, destroy=str(loop_device))
    assert "discarded the 25165824 bytes" in target.purge()
    empty_cache(loop_device)
    assert loop_device.open("rb").read(4096) == bytes(4096)


def test_a_file_is_no_device_and_a_device_no_file(full_file: Path, loop_device: Path) -> None:
    with pytest.raises(Refused, match="not a block device"):
        open_target(f"block:{full_file}", plan_hash=HASH, keep=True)
    for keep in (True, False):
        with pytest.raises(Refused, match="use block:"):
            open_target(f"file:{loop_device}", plan_hash=HASH, keep=keep)


def test_the_target_that_is_nothing() -> None:
    with open_target("null:", plan_hash=HASH) as target:
        assert target.facts().kind == "null"
        assert not target.is_virtual
    with pytest.raises(Refused, match="null: has no name"):
        open_target("null:x", plan_hash=HASH)
