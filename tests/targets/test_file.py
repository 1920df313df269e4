"""file:PATH: what it refuses, what it takes over, and what it leaves behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.targets import guard_target, open_target, parse_target

HASH = "0123456789abcdef"
OTHER_HASH = "fedcba9876543210"
MIB = 1 << 20


def refused(text: str, destroy: str | None = None, plan_hash: str = HASH) -> str:
    with pytest.raises(Refused) as refusal:
        open_target(text, plan_hash=plan_hash, destroy=destroy)
    return refusal.value.message


def test_a_missing_file_is_made_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "work"
    with open_target(f"file:{path}", plan_hash=HASH) as target:
        assert not path.exists()
        target.prepare(MIB)
        assert path.stat().st_size == MIB
        assert target.facts().kind == "file"
        assert target.place == tmp_path
        assert "fresh blocks" in target.purge()
    assert not path.exists()


def test_a_file_with_content_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("mine")
    assert f"--destroy {path}" in refused(f"file:{path}")
    assert path.read_text() == "mine"


@pytest.mark.parametrize("spelling", ["{0}x", "{1}/./precious", "precious", "{1}", "file:{0}"])
def test_destroy_must_name_the_file_exactly(tmp_path: Path, spelling: str) -> None:
    path = tmp_path / "precious"
    path.write_text("mine")
    assert "does not name the target exactly" in refused(f"file:{path}", spelling.format(path, tmp_path))
    assert path.read_text() == "mine"


def test_a_destroyed_file_keeps_its_mode_and_is_left_empty(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_text("gone")
    path.chmod(0o640)
    inode = path.stat().st_ino
    with open_target(f"file:{path}", plan_hash=HASH, destroy=str(path)) as target:
        assert path.read_text() == "gone", "opening writes nothing"
        target.prepare(MIB)
        assert path.read_bytes() == bytes(MIB)
        path.write_bytes(b"x" * MIB)
        target.purge()
        assert path.read_bytes() == bytes(MIB)
    status = path.stat()
    assert (status.st_size, stat.S_IMODE(status.st_mode), status.st_ino) == (0, 0o640, inode)


@pytest.mark.parametrize("size_bytes", [4, MIB])
def test_a_file_that_was_not_prepared_keeps_its_content(tmp_path: Path, size_bytes: int) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"x" * size_bytes)
    with open_target(f"file:{path}", plan_hash=HASH, destroy=str(path)) as target, pytest.raises(Refused):
        target.prepare(1 << 60)
    assert path.read_bytes() == b"x" * size_bytes
    assert os.listxattr(path) == []


def test_content_of_the_right_size_is_not_taken_for_a_work_file(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"x" * MIB)
    with open_target(f"file:{path}", plan_hash=HASH, destroy=str(path)) as target:
        assert "allocated" in target.prepare(MIB)
        assert path.read_bytes() == bytes(MIB)
        assert "kept" in target.prepare(MIB)


def test_an_empty_file_needs_no_destroy(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    with open_target(f"file:{path}", plan_hash=HASH) as target:
        target.prepare(MIB)
    assert path.stat().st_size == 0


@pytest.mark.parametrize("existed", [False, True])
def test_the_same_plan_finds_its_file_again_and_another_does_not(tmp_path: Path, existed: bool) -> None:
    path = tmp_path / "work"
    if existed:
        path.touch()
    target = open_target(f"file:{path}", plan_hash=HASH)
    target.prepare(MIB)
    target.close()
    try:
        os.getxattr(path, "user.mileage.work")
    except OSError:
        pytest.skip("the file system of the temporary directory has no extended attributes")
    assert "would be lost" in refused(f"file:{path}", plan_hash=OTHER_HASH)
    with open_target(f"file:{path}", plan_hash=HASH) as again:
        assert "kept" in again.prepare(MIB)
    assert path.exists() == existed
    if existed:
        assert os.listxattr(path) == []


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        ("directory", "a directory, not a regular file; use dir:"),
        ("pipe", "a named pipe, not a regular file"),
        ("link", "a symbolic link to"),
        ("dangling link", "a symbolic link to"),
        ("read-only", "read-only (mode 0444)"),
    ],
)
def test_what_is_not_a_writable_file_is_refused(tmp_path: Path, make: str, expected: str) -> None:
    path = tmp_path / "thing"
    (tmp_path / "other").write_text("precious")
    makers = {
        "directory": lambda: path.mkdir(),
        "pipe": lambda: os.mkfifo(path),
        "link": lambda: path.symlink_to(tmp_path / "other"),
        "dangling link": lambda: path.symlink_to(tmp_path / "nowhere"),
        "read-only": lambda: path.touch(mode=0o444),
    }
    makers[make]()
    assert expected in refused(f"file:{path}", str(path))
    assert (tmp_path / "other").read_text() == "precious"


def test_a_missing_parent_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refused(f"file:{tmp_path}/none/work")


def test_a_file_is_no_parent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "not a directory" in refused(f"file:{tmp_path}/file/work")


def test_a_read_only_parent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir(mode=0o555)
    assert "read-only" in refused(f"file:{tmp_path}/place/work")


def test_a_character_device_is_refused() -> None:
    assert "a character device" in refused("file:/dev/null", "/dev/null")


def test_a_block_device_named_as_a_file_is_guarded_as_a_device(loop_device: Path, small_ext4: Path) -> None:
    message = refused(f"file:{loop_device}", str(loop_device))
    assert f"mounted at {small_ext4}" in message


def test_a_link_to_a_block_device_is_guarded_as_a_device(loop_device: Path, tmp_path: Path) -> None:
    link = tmp_path / "by-id"
    link.symlink_to(loop_device)
    assert "use block:" in refused(f"file:{link}", str(link))


def test_the_file_below_a_loop_device_is_refused(loop_device: Path, tmp_path: Path) -> None:
    image = tmp_path / "image"
    assert f"backs {loop_device.name}" in refused(f"file:{image}", str(image))


def test_guarding_opens_nothing(tmp_path: Path) -> None:
    assert guard_target(parse_target(f"file:{tmp_path}/work")) == tmp_path
    assert guard_target(parse_target(f"dir:{tmp_path}")) == tmp_path
    with pytest.raises(Refused):
        guard_target(parse_target(f"block:{tmp_path}"))
    assert list(tmp_path.iterdir()) == []
