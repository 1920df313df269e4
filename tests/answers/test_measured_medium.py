"""What a user asks about what was measured: a device, or memory, or nothing at all?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.answers.question import ask, ask_json, suppose

MIB = 2**20


def before_the_rate(printed: str) -> str:
    """What stands above the line of the rate, which is what a reader believes."""
    suppose("\n  rate " in printed, printed)
    return printed.split("\n  rate ", 1)[0]


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """A folder in a file system that is memory, which Linux has at /dev/shm."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    if not any(mount[1] == "/dev/shm" and mount[2] == "tmpfs" for mount in mounts) or not os.access(
        "/dev/shm", os.W_OK
    ):
        pytest.skip("/dev/shm is no tmpfs that can be written")
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def test_reads_of_a_file_system_in_memory_are_called_so(memory_folder: Path, tmp_path: Path) -> None:
    """How fast is the device below this directory?

    Truth: there is none: the kernel's list of mounts says that it is a tmpfs, which is memory.
    """
    words = ("-w", "random_read", "--size", "4MiB", "--operations", "2000")
    printed = ask("measure", "-t", f"dir:{memory_folder}", *words, cwd=tmp_path)
    assert re.search(r"memory|tmpfs|RAM", before_the_rate(printed)), printed


def test_reads_of_holes_are_called_so(tmp_path: Path) -> None:
    """How fast does this file read?

    Truth: nothing is read: the file was only lengthened, so that it has no blocks (`st_blocks` is 0) and the kernel
    answers with zeros.
    """
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(4 * MIB)
    suppose(path.stat().st_blocks == 0, "the file has no blocks")
    printed = ask("measure", "-t", "file:disk.img", "-w", "random_read", "--operations", "2000", cwd=tmp_path)
    assert re.search(r"hole|sparse|never written|no blocks|not allocated", before_the_rate(printed)), printed


WRITES = """
name = "depths"
target = "dir:{folder}"
state = {{ file = "4MiB" }}
stage = [{{ name = "measured", measure = ["writes"] }}]
factor.depth.levels = [1, 4]
compare.arms = "depth"
[measure.writes]
workload = "iops.random_write"
record = "4KiB"
stop = {{ operations = 300 }}
repeat = 3
"""


def test_a_comparison_of_writes_in_memory_is_not_conclusive(memory_folder: Path, tmp_path: Path) -> None:
    """Is my device faster at depth 4?

    Truth: not known, since none was written to: the directory lies in a tmpfs, by the kernel's list of mounts.
    """
    (tmp_path / "depths.toml").write_text(WRITES.format(folder=memory_folder))
    printed = ask("run", "depths.toml", "--out", "out", "--report", "text", cwd=tmp_path)
    first = " ".join(printed.rpartition("\n\n")[0].rpartition("\n\n")[2].partition(" %")[0].split())
    assert re.search(r"not conclusive", first, re.I), printed
    assert "tmpfs" in first, printed


def test_a_file_that_is_partly_written_has_its_holes_counted(tmp_path: Path) -> None:
    """How much of what I read was ever written?

    Truth: 1 MiB was written and synced in the middle of 4 MiB, by construction, so 3 MiB are holes; a file that was
    written from end to end has none.
    """
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(4 * MIB)
        file.seek(MIB)
        file.write(os.urandom(MIB))
        file.flush()
        os.fsync(file.fileno())
    suppose(path.stat().st_blocks * 512 < 2 * MIB, "the file has no blocks for its holes")
    words = ("measure", "-t", "file:disk.img", "-w", "random_read", "--operations", "100")
    assert "3 MiB of 4 MiB" in before_the_rate(ask(*words, cwd=tmp_path))
    (cell,) = ask_json(*words, cwd=tmp_path)
    assert any("3 MiB of 4 MiB" in note for note in cell["notes"])
    path.write_bytes(os.urandom(4 * MIB))
    os.sync()
    assert "never written" not in ask(*words, cwd=tmp_path)


def test_processors_used_by_others_are_reported_before_the_rate(tmp_path: Path) -> None:
    """Was my machine idle but for the measurement?

    Truth: no: as many processes as there are processors do nothing but count.
    """
    (tmp_path / "d").mkdir()
    others = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)
    ]
    try:
        words = ("-w", "random_read", "--size", "1MiB", "--for", "500ms")
        printed = ask("measure", "-t", "dir:d", *words, cwd=tmp_path)
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert "other programs" in before_the_rate(printed), printed


def test_rewriting_in_the_page_cache_is_called_so(tmp_path: Path) -> None:
    """How fast does my disk write?

    Truth: not known from this: 256 MiB go into the same 4 MiB of a file through the page cache and are not synced, so
    that at most what the kernel happens to flush reaches the device. The answer must say so before the rate.
    """
    (tmp_path / "d").mkdir()
    words = ("-w", "sequential_write", "--size", "4MiB", "--bytes", "256MiB", "--cold", "--sync", "none")
    printed = ask("measure", "-t", "dir:d", *words, cwd=tmp_path)
    above = " ".join(before_the_rate(printed).split()).replace("page cache emptied before each run", "")
    assert re.search(r"page cache|memory|did not reach the device", above), printed


def test_a_measurement_leaves_nothing_behind(tmp_path: Path) -> None:
    """Is my directory after a measurement as it was before?

    Truth: the listing of the directory and the content of its file, taken before.
    """
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "mine").write_text("kept")
    words = ("-w", "random_write", "--size", "2MiB", "--operations", "200")
    ask("measure", "-t", "dir:d", *words, cwd=tmp_path)
    assert os.listdir(folder) == ["mine"]
    assert (folder / "mine").read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["d"]


def test_the_bytes_that_are_reported_are_those_that_were_written(tmp_path: Path) -> None:
    """Did Mileage write as much as it reports?

    Truth: 500 operations of 16 KiB are 8,192,000 bytes, by arithmetic, and the file that was written, of 2 MiB, holds
    no block of zeros afterwards: each of 128 records is hit once at least in a shuffle of 500.
    """
    path = tmp_path / "target"
    path.write_bytes(bytes(2 * MIB))
    words = ("-w", "shuffled_write", "-r", "16KiB", "--operations", "500", "--destroy", "target")
    cell = ask_json("measure", "-t", "file:target", *words, cwd=tmp_path)[0]
    assert (cell["bytes_written"], cell["ops_written"]) == (500 * 16384, 500)
    content = path.read_bytes()
    assert len(content) == 2 * MIB
    assert all(any(content[at : at + 16384]) for at in range(0, 2 * MIB, 16384))
