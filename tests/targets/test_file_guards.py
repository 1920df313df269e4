"""A file that the system uses is recognised by what it is, under whatever name."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.targets import open_target

pytestmark = pytest.mark.xdist_group("devices")

HASH = "0123456789abcdef"


def run(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Mounts that are undone at the end."""
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    places: list[Path] = []

    def mount(*arguments: object) -> None:
        run("mount", *arguments)
        places.append(Path(str(arguments[-1])))

    yield mount
    for place in reversed(places):
        run("umount", place)


def refused(path: Path) -> str:
    with pytest.raises(Refused) as refusal:
        open_target(f"file:{path}", plan_hash=HASH, destroy=str(path)).cleanup()
    return refusal.value.message


def test_a_file_below_a_loop_device_is_refused_through_a_bind_mount(
    loop_device: Path, small_ext4: Path, tmp_path: Path, mounted: Callable[..., None]
) -> None:
    (small_ext4 / "precious").write_text("kept")
    # What the kernel still has to write of its own would change the image between the two looks at it.
    run("mount", "-o", "remount,ro", small_ext4)
    place = tmp_path / "bound"
    place.mkdir()
    mounted("--bind", tmp_path, place)
    before = (tmp_path / "image").read_bytes()
    assert f"backs {loop_device.name}" in refused(place / "image")
    assert (tmp_path / "image").read_bytes() == before


def test_a_file_below_a_loop_device_is_refused_under_its_new_name(loop_device: Path, tmp_path: Path) -> None:
    (tmp_path / "image").rename(tmp_path / "renamed")
    assert f"backs {loop_device.name}" in refused(tmp_path / "renamed")


def test_a_file_below_a_loop_device_is_refused_by_the_layer_of_an_overlay(
    tmp_path: Path, mounted: Callable[..., None]
) -> None:
    ground = tmp_path / "ground"
    ground.mkdir()
    mounted("-t", "tmpfs", "none", ground)
    lower, upper, work, merged = (ground / name for name in ("lower", "upper", "work", "merged"))
    for place in (lower, upper, work, merged):
        place.mkdir()
    mounted("-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", "none", merged)
    (merged / "image").write_bytes(bytes(1 << 20))
    loop = run("losetup", "--find", "--show", merged / "image").strip()
    try:
        assert f"backs {Path(loop).name}" in refused(upper / "image")
        assert f"backs {Path(loop).name}" in refused(merged / "image")
    finally:
        run("losetup", "-d", loop)


def test_a_swap_file_is_refused_by_another_name(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("swap needs root")
    area = Path("/var/tmp") / f"mileage-swap-{os.getpid()}"
    other = area.with_suffix(".link")
    area.touch(0o600)
    try:
        run("fallocate", "-l", "1MiB", area)
        run("mkswap", area)
        os.link(area, other)
        try:
            run("swapon", area)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no swap here: {error.stderr}")
        try:
            assert f"swap area {area}" in refused(other)
        finally:
            run("swapoff", area)
    finally:
        area.unlink()
        other.unlink(missing_ok=True)


def test_a_file_that_a_program_writes_is_refused_through_a_bind_mount(
    tmp_path: Path, mounted: Callable[..., None]
) -> None:
    """So a file is seen that the server of a network block device, or a kernel's target, holds."""
    place, ground = tmp_path / "bound", tmp_path / "ground"
    place.mkdir()
    ground.mkdir()
    mounted("--bind", ground, place)
    (ground / "image").write_bytes(b"kept")
    with (ground / "image").open("r+b"):
        assert "open for writing in" in refused(place / "image")
    with (ground / "image").open("rb"):
        open_target(f"file:{place / 'image'}", plan_hash=HASH, destroy=str(place / "image")).close()


@pytest.mark.parametrize("target", ["file:/dev/mileage-typo", "dir:/dev", "loop:1MiB@/dev"])
def test_no_file_is_made_among_the_device_nodes(target: str) -> None:
    before = set(os.listdir("/dev"))
    with pytest.raises(Refused, match="holds device nodes"):
        open_target(target, plan_hash=HASH)
    assert set(os.listdir("/dev")) == before


def test_no_file_is_made_among_the_device_nodes_that_are_mounted_elsewhere(
    tmp_path: Path, mounted: Callable[..., None]
) -> None:
    mounted("-t", "devtmpfs", "none", tmp_path)
    with pytest.raises(Refused, match="holds device nodes"):
        open_target(f"file:{tmp_path}/typo", plan_hash=HASH)
    assert not (tmp_path / "typo").exists()
