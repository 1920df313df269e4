"""dir:PATH, from the guards to the clean end."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mileage.errors import Refused, RunFailed
from mileage.targets import Target, open_target
from mileage.targets.filesystem import look_at, memory_bytes, probe_direct
from mileage.targets.profiles import drive_names

pytestmark = pytest.mark.xdist_group("devices")

HASH = "0123456789abcdef"
WORK = ".mileage-01234567.dat"
MIB = 1 << 20


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    with open_target(f"dir:{tmp_path}", plan_hash=HASH) as opened:
        yield opened


def refused(text: str, **options: str) -> str:
    with pytest.raises(Refused) as refusal:
        open_target(text, plan_hash=HASH, **options)  # type: ignore[arg-type]
    return refusal.value.message


def test_opening_writes_nothing(tmp_path: Path, target: Target) -> None:
    assert list(tmp_path.iterdir()) == []
    assert not target.is_virtual
    assert target.path == tmp_path.resolve() / WORK


def test_the_facts(tmp_path: Path, target: Target) -> None:
    facts = target.facts()
    assert (facts.kind, facts.name, facts.virtual, facts.host_layer) == ("dir", str(tmp_path), False, True)
    assert 0 < facts.free_bytes <= facts.capacity_bytes
    assert facts.memory_bytes > 0
    assert facts.block_bytes >= 512
    assert facts.rated_write_bytes is None


def test_the_work_file_is_allocated_and_removed(tmp_path: Path, target: Target) -> None:
    (tmp_path / "other").write_text("mine")
    assert "allocated" in target.prepare(MIB)
    status = (tmp_path / WORK).stat()
    assert (status.st_size, status.st_blocks * 512 >= MIB, status.st_mode & 0o777) == (MIB, True, 0o600)
    target.cleanup()
    target.cleanup()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (tmp_path / "other").read_text() == "mine"


def test_purge_makes_a_fresh_file_and_says_how_far_that_goes(tmp_path: Path, target: Target) -> None:
    target.prepare(MIB)
    (tmp_path / WORK).write_bytes(b"x" * MIB)
    assert "cannot purge the device below" in target.purge()
    assert (tmp_path / WORK).read_bytes() == bytes(MIB)


def test_purge_before_prepare_is_a_programming_error(target: Target) -> None:
    with pytest.raises(RuntimeError):
        target.purge()


def test_an_unfinished_study_finds_its_file_again(tmp_path: Path, target: Target) -> None:
    target.prepare(MIB)
    (tmp_path / WORK).write_bytes(b"x" * MIB)
    target.close()
    with open_target(f"dir:{tmp_path}", plan_hash=HASH) as again:
        assert "kept" in again.prepare(MIB)
        assert (tmp_path / WORK).read_bytes() == b"x" * MIB
        assert "allocated" in again.prepare(2 * MIB)
        assert again.facts().free_bytes > 0
    assert not (tmp_path / WORK).exists()


def test_only_files_of_threads_are_taken_for_the_study_s(tmp_path: Path, target: Target) -> None:
    (copy := Path(f"{target.path}.bak")).write_text("mine", "utf-8")
    target.prepare(1 << 20, 12, 4096)
    target.close()
    with open_target(f"dir:{tmp_path}", plan_hash=HASH) as again:
        numbers = [path.name.rpartition(".")[2] for path in again.paths[1:]]
        assert numbers == [str(number) for number in range(12)]
        again.prepare(1 << 20)
        again.cleanup()
    assert list(tmp_path.iterdir()) == [copy]
    assert copy.read_text("utf-8") == "mine"


def test_a_study_that_is_running_keeps_others_out(
    tmp_path: Path, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mileage.file_lock.RELEASE_S", 0.2)
    target.prepare(MIB)
    assert "in use by another study" in refused(f"dir:{tmp_path}")


def test_the_lock_of_a_worker_that_is_about_to_end_is_waited_for(tmp_path: Path, target: Target) -> None:
    target.prepare(MIB)
    target.close()
    with open(target.path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        release = threading.Timer(0.5, fcntl.flock, (held, fcntl.LOCK_UN))
        release.start()
        with open_target(f"dir:{tmp_path}", plan_hash=HASH) as again:
            assert release.finished.is_set()
            again.prepare(MIB)


@pytest.mark.parametrize("kind", ["directory", "link", "pipe", "hard link"])
def test_a_name_taken_by_something_else_is_refused(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / WORK, tmp_path / "other"
    other.write_text("precious")
    makers = {
        "directory": lambda: path.mkdir(),
        "link": lambda: path.symlink_to(other),
        "pipe": lambda: os.mkfifo(path),
        "hard link": lambda: path.hardlink_to(other),
    }
    makers[kind]()
    assert str(path) in refused(f"dir:{tmp_path}")
    assert other.read_text() == "precious"
    assert os.path.lexists(path)


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path, target: Target) -> None:
    with pytest.raises(Refused, match="are free"):
        target.prepare(1 << 60)
    with pytest.raises(Refused, match="makes no sense"):
        target.prepare(0)
    assert list(tmp_path.iterdir()) == []


def test_files_of_a_run_fail_for_what_is_in_their_way(tmp_path: Path, target: Target) -> None:
    target.prepare(MIB)
    target.make_files(2, MIB)
    (tmp_path / f"{WORK}.2").mkdir()
    with pytest.raises(RunFailed, match="Is a directory") as taken:
        target.make_files(3, MIB)
    assert taken.value.cause == "EEXIST"
    with pytest.raises(RunFailed, match="free some space") as full:
        target.make_files(1, 1 << 60)
    assert full.value.cause == "ENOSPC"
    target.remove_files()
    target.cleanup()
    assert [path.name for path in tmp_path.iterdir()] == [f"{WORK}.2"], "what is not Mileage's own stays"


def test_a_directory_that_vanishes_fails_the_run(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    target = open_target(f"dir:{place}", plan_hash=HASH)
    place.rmdir()
    for action in (lambda: target.prepare(MIB), target.facts):
        with pytest.raises(RunFailed) as failure:
            action()
        assert failure.value.cause == "vanished"
    target.cleanup()


def test_a_directory_that_is_replaced_is_not_written_to(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    target = open_target(f"dir:{place}", plan_hash=HASH)
    target.prepare(MIB)
    place.rename(tmp_path / "moved")
    place.mkdir()
    (place / WORK).write_text("not yours")
    with pytest.raises(RunFailed, match="no longer the directory"):
        target.purge()
    with pytest.raises(RunFailed, match="no longer the directory"):
        target.cleanup()
    assert (place / WORK).read_text() == "not yours"


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refused(f"dir:{tmp_path}/none")
    assert "a ~ is not expanded" in refused("dir:~/none")


def test_a_file_is_not_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a regular file, not a directory" in refused(f"dir:{tmp_path}/file")


def test_a_read_only_directory_is_refused_to_root_too(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir(mode=0o555)
    assert "read-only (mode 0555)" in refused(f"dir:{place}")


def test_destroy_makes_no_sense_for_a_directory(tmp_path: Path) -> None:
    assert "destroys nothing" in refused(f"dir:{tmp_path}", destroy=str(tmp_path))


def test_a_plan_hash_that_is_none_is_a_programming_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hexadecimal"):
        open_target(f"dir:{tmp_path}", plan_hash="../../x")


def test_memory_file_systems_are_recognised() -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or look_at(memory).fs_type != "tmpfs":
        pytest.skip("/dev/shm is not a tmpfs")
    # A folder of its own: others make files in memory meanwhile.
    with tempfile.TemporaryDirectory(dir=memory) as name:
        place = Path(name)
        ground = look_at(place)
        assert ground.is_memory
        assert ground.device == "unknown"
        probe_direct(place)
        assert list(place.iterdir()) == []


def test_the_direct_probe_without_nameless_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = probe_direct(tmp_path)
    monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)
    assert probe_direct(tmp_path) == expected
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, 1024 * 1024),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "4096\n"}, 4096),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 1024 * 1024),
        (
            {"proc/self/cgroup": "5:memory:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "8192"},
            8192,
        ),
    ],
)
def test_memory_is_what_the_control_group_leaves(
    tmp_path: Path, limits: dict[str, str], expected: int
) -> None:
    for name, text in ({"proc/meminfo": "MemTotal:  1024 kB\n"} | limits).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_bytes(tmp_path) == expected


def test_a_full_file_system_fails_with_enospc_and_leaves_nothing(
    small_ext4: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_target(f"dir:{small_ext4}", plan_hash=HASH) as target:
        for module in ("directory", "workfile"):
            monkeypatch.setattr(f"mileage.targets.{module}.refuse_without_room", lambda *_, **__: None)
        with pytest.raises(RunFailed) as failure:
            target.prepare(1 << 30)
        assert failure.value.cause == "ENOSPC"
        assert not (small_ext4 / WORK).exists()


def test_a_real_file_system_from_opening_to_unmounting(loop_device: Path, small_ext4: Path) -> None:
    ground = look_at(small_ext4)
    assert (ground.fs_type, ground.mount_point) == ("ext4", str(small_ext4))
    assert (ground.device, ground.disk) == (loop_device.name, loop_device.name)
    with open_target(f"dir:{small_ext4}", plan_hash=HASH) as target:
        target.prepare(4 * MIB)
        target.purge()
        free = target.facts().free_bytes
    assert look_at(small_ext4).free_bytes == pytest.approx(free, abs=64 * 1024)


def test_a_file_system_that_is_unmounted_meanwhile_is_noticed(small_ext4: Path) -> None:
    target = open_target(f"dir:{small_ext4}", plan_hash=HASH)
    subprocess.run(["umount", str(small_ext4)], check=True)
    with pytest.raises(RunFailed) as failure:
        target.prepare(MIB)
    assert failure.value.cause == "vanished"
    assert list(small_ext4.iterdir()) == []


def test_a_file_system_mounted_read_only_is_refused(small_ext4: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_ext4)], check=True)
    assert look_at(small_ext4).read_only
    assert "mounted read-only" in refused(f"dir:{small_ext4}")


def test_a_block_target_is_refused_through_the_same_door(tmp_path: Path) -> None:
    assert "no such device" in refused(f"block:{tmp_path}/none")


def test_the_shipped_drives_are_listed_without_their_suffix() -> None:
    assert all("." not in name for name in drive_names())
