"""Reads of a loop device whose backing file is in the page cache count as memory, on the real kernel."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mileage import app
from mileage.analysis.disturbance_caveats import runs_by_test
from mileage.judge.audit import audit
from mileage.targets.filesystem import look_at
from tests.command import mileage

SIZE = 32 << 20


@pytest.fixture
def backing(tmp_path: Path) -> Path:
    """A file of random bytes on a disk."""
    if look_at(tmp_path).is_memory:
        pytest.skip("temporary files lie in memory")
    path = tmp_path / "image"
    path.write_bytes(os.urandom(SIZE))
    return path


@pytest.fixture
def loop(backing: Path) -> Iterator[str]:
    """A loop device that goes through the page cache of its file."""
    done = subprocess.run(
        ["losetup", "--find", "--show", str(backing)], text=True, capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no loop device can be made here: {done.stderr.strip()}")
    device = done.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def test_reads_that_the_page_cache_of_the_file_serves_are_memory(
    loop: str, backing: Path, tmp_path: Path
) -> None:
    backing.read_bytes()
    out = tmp_path / "measured"
    words = ("-t", f"block:{loop}", "-w", "sequential_read", "--bytes", str(SIZE), "--save", str(out))
    done = mileage("measure", *words)
    assert done.returncode == 0, done.stderr
    assert "came from the page cache of the file below the loop device" in " ".join(done.stdout.split())
    study = app.load(out)
    runs = study.seen().each
    assert len(runs) == 1
    found = {one.name: one for one in audit(study.seen().facts, direct=True)}["memory"]
    # Other programs may read from the disk meanwhile.
    assert found.state == "bad"
    assert float(found.figures["memory_share"]) > 0.5
    assert runs_by_test(study.seen(), {runs[0].cell: "a"}, runs[0].stage)["a"] == runs
