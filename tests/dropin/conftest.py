"""A loop device for the commands that read block devices."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[str]:
    """A loop device of 8 MiB of ones; skipped by name where none can be made."""
    image = tmp_path / "image"
    image.write_bytes(b"1" * (8 << 20))
    made = subprocess.run(
        ["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"needs a loop device: {made.stderr.strip()}")
    yield made.stdout.strip()
    subprocess.run(["losetup", "-d", made.stdout.strip()], check=True)
