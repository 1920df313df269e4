"""Trees that look like /proc and /sys, and a real file system on a loop device."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

LOOP_BYTES = 24 << 20


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Write a machine: paths below its root and their text. A text "-> X" makes a symbolic link to X."""

    def build(files: dict[str, str]) -> Path:
        root = tmp_path / "machine"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("-> "):
                path.symlink_to(text.removeprefix("-> "))
            else:
                path.write_text(text)
        root.mkdir(exist_ok=True)
        return root

    return build


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


@pytest.fixture
def loop_device(tmp_path: Path) -> Iterator[Path]:
    """A loop device over a file of 24 MiB; skipped where that cannot be had."""
    if os.geteuid() != 0:
        pytest.skip("a loop device needs root")
    if shutil.which("losetup") is None or shutil.which("mkfs.ext4") is None:
        pytest.skip("losetup or mkfs.ext4 is not installed")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(LOOP_BYTES)
    try:
        device = _run("losetup", "--find", "--show", str(image))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no loop device can be had: {error.stderr}")
    try:
        yield Path(device)
    finally:
        _run("losetup", "-d", device)


@pytest.fixture
def small_ext4(loop_device: Path, tmp_path: Path) -> Iterator[Path]:
    """An ext4 of about 20 MiB, mounted; unmounted at the end if it still is."""
    _run("mkfs.ext4", "-q", str(loop_device))
    place = tmp_path / "ext4"
    place.mkdir()
    _run("mount", str(loop_device), str(place))
    try:
        yield place
    finally:
        if place.is_mount():
            _run("umount", str(place))
