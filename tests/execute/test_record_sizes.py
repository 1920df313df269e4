"""Records of any size in bytes, through the page cache: what was written, by strace and by what a reader finds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import mileage

SIZES = (1, 100, 511, 513, 1000, 2300, 4097, 65537)
APIS = ("pread", "mmap", "stdio")
RECORDS = 40


def words(path: Path, size: int, *more: str) -> list[str]:
    of = ("-r", str(size), "--start", "7", "--size", str(size * RECORDS), "--operations", str(RECORDS))
    return ["-t", f"file:{path}", *of, "--no-direct", "--generation", "3", *more]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("size", SIZES)
def test_what_is_written_is_read_back_and_a_changed_byte_is_found(
    tmp_path: Path, size: int, api: str
) -> None:
    path = tmp_path / "data"
    whole = 7 + size * RECORDS + 3
    path.write_bytes(b"\xee" * whole)
    write = words(path, size, "-w", "sequential_write", "--api", api, "--destroy", str(path))
    done = mileage("measure", *write, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content = bytearray(path.read_bytes())
    # What lies before the start and behind the last record stays.
    assert (len(content), content[:7], content[-3:]) == (whole, b"\xee" * 7, b"\xee" * 3)
    assert size < 16 or len(set(content[7:-3])) > 100
    read = words(path, size, "-w", "sequential_read", "--api", api, "--verify", "all")
    assert mileage("measure", *read, cwd=tmp_path).returncode == 0
    place = 7 + size * (RECORDS // 2) + size // 2
    content[place] ^= 0x10
    path.write_bytes(content)
    found = mileage("measure", *read, cwd=tmp_path)
    assert found.returncode != 0
    if size >= 100:
        assert f"offset {place}" in " ".join(found.stderr.split()) + " ".join(found.stdout.split())


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("size", [1, 2300, 65537])
def test_the_kernel_sees_records_of_this_size(tmp_path: Path, size: int) -> None:
    path, trace = tmp_path / "data", tmp_path / "trace"
    path.write_bytes(bytes(7 + size * RECORDS))
    order = [sys.executable, "-m", "mileage", "measure"]
    order += words(path, size, "-w", "sequential_write", "--sync-every", "10", "--destroy", str(path))
    traced = ["strace", "-f", "-e", "trace=pwrite64,fdatasync", "-o", str(trace), *order]
    subprocess.run(traced, check=True, capture_output=True)
    text = trace.read_text()
    lengths = [int(length) for length in re.findall(r"pwrite64\(.*, \d+\)\s+= (\d+)", text)]
    places = [int(place) for place in re.findall(r"pwrite64\(.*, (\d+)\)\s+= ", text)]
    assert lengths == [size] * RECORDS
    assert places == [7 + number * size for number in range(RECORDS)]
    assert len(re.findall(r"fdatasync\(.*\) += 0", text)) == RECORDS // 10


@pytest.mark.parametrize(
    ("target", "more"), [("dir:{0}", ("--direct",)), ("virtual:intel-x25e-64gb", ())], ids=["direct", "drive"]
)
def test_what_has_no_page_cache_needs_whole_blocks(
    tmp_path: Path, target: str, more: tuple[str, ...]
) -> None:
    asked = ("-t", target.format(tmp_path), "-w", "random_write", "-r", "2300", "--size", "1MiB")
    done = mileage("measure", *asked, *more, "--operations", "10", cwd=tmp_path)
    assert done.returncode == 2
    assert "logical block" in " ".join(done.stderr.split())


def test_a_modelled_host_takes_them_too(tmp_path: Path) -> None:
    asked = (
        "-t",
        "virtual:intel-x25e-64gb@server-2025",
        "-w",
        "sequential_write",
        "-r",
        "2300",
        "--size",
        "1MiB",
    )
    done = mileage("measure", *asked, "--no-direct", "--operations", "100", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"bytes_written": 230000' in done.stdout
