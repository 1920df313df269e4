"""Sizes and places of any number of bytes at each door: studies with lines of access and traces, `dd` and `iozone`.

What was written is compared with what a reader finds, with the counts of the kernel (strace), and byte by byte outside
of what was written. `test_record_sizes.py` has the same for `measure`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.command import mileage
from tests.execute.test_record_sizes import APIS, SIZES

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
STUDY = """
name = "odd"
target = "file:{path}"
cycles = 1
sham = false

[state]
start = "kept"
cache = "warm"

{workload}

[[stage]]
name = "one"
measure = ["work"]

[measure.work]
workload = "odd"
repeat = 1
api = "{api}"
generation = 3
{more}
"""


def run_study(place: Path, path: Path, workload: str, api: str, more: str = "") -> list[dict[str, Any]]:
    """Run a study of one cell on a file; the records of its runs."""
    file = place / "study.toml"
    file.write_text(STUDY.format(path=path, workload=workload, api=api, more=more))
    out = place / f"out-{len(list(place.glob('out-*')))}"
    done = mileage("run", str(file), "--out", str(out), "--destroy", str(path), cwd=place)
    assert done.returncode == 0, done.stderr
    entries = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    return [entry["record"] for entry in entries if entry.get("record")]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("size", SIZES)
def test_lines_of_odd_sizes_write_without_gaps_and_are_read_back(tmp_path: Path, size: int, api: str) -> None:
    path = tmp_path / "data"
    count, other = 30, size + 3
    whole = count * other
    path.write_bytes(b"\xee" * (11 + whole + 5))
    lines = (
        f"access = [{{ size = {size}, share = 50, reads = 0 }}, {{ size = {other}, share = 50, reads = 0 }}]"
    )
    more = f"span = {whole}\nspan_start = 11\nstop = {{ bytes = {whole - other} }}"
    (record,) = run_study(tmp_path, path, f"[workload.odd]\n{lines}", api, more)
    written = record["bytes_written"]
    content = bytearray(path.read_bytes())
    assert whole - other <= written <= whole
    assert (len(content), content[:11], content[11 + written :]) == (
        11 + whole + 5,
        b"\xee" * 11,
        b"\xee" * (whole - written + 5),
    )
    if size == 1:
        # More operations than the span has records of 4 bytes are several laps, of which a block holds parts.
        return
    # The same seed, read as one record.
    own = (
        "-r",
        str(written),
        "--start",
        "11",
        "--size",
        str(written),
        "--operations",
        "1",
        "--generation",
        "3",
    )
    read = (
        "-t",
        f"file:{path}",
        "-w",
        "sequential_read",
        *own,
        "--no-direct",
        "--verify",
        "all",
        "--api",
        api,
    )
    assert mileage("measure", *read, cwd=tmp_path).returncode == 0
    content[11 + written // 2] ^= 0x10
    path.write_bytes(content)
    assert mileage("measure", *read, cwd=tmp_path).returncode != 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("size", SIZES)
def test_reads_among_writes_of_odd_sizes_find_what_was_written(tmp_path: Path, size: int, api: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(7 + 64 * size))
    other = f"{{ size = {2 * size}, share = 50, reads = 50, random = 50, align = {size} }}"
    lines = f"access = [{{ size = {size}, share = 50, reads = 50, random = 100 }}, {other}]"
    fill = ("-t", f"file:{path}", "-w", "sequential_write", "-r", str(7 + 64 * size), "--operations", "1")
    mileage("measure", *fill, "--no-direct", "--generation", "3", "--destroy", str(path), cwd=tmp_path)
    more = f'span_start = 7\nspan = {64 * size}\nverify = "all"\nstop = {{ operations = 400 }}'
    (record,) = run_study(tmp_path, path, f"[workload.odd]\n{lines}", api, more)
    assert record["ops_read"] > 100
    assert (record["ops_compared"], record["ops_mismatched"]) == (record["ops_read"], 0)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("api", [*APIS, "uring"])
@pytest.mark.parametrize("size", SIZES)
def test_a_mix_finds_what_an_earlier_generation_wrote(tmp_path: Path, size: int, api: str) -> None:
    """At the border of a block a record leaves parts of a few bytes, which do not say whose they are."""
    path = tmp_path / "data"
    path.write_bytes(bytes(100 * size))
    of = ("-t", f"file:{path}", "--destroy", str(path), "-r", str(size), "--no-direct", "--json")
    filled = ("-w", "sequential_write", "--operations", "100", "--generation", "1")
    assert mileage("measure", *of, *filled, cwd=tmp_path).returncode == 0
    # The buffer of a stream belongs to one thread.
    threads = ("--threads", "1" if api == "stdio" else "2")
    mix = ("-w", "mix", "--operations", "900", *threads, "--generation", "2", "--verify", "all")
    done = mileage("measure", *of, *mix, "--api", api, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)
    assert cell["ops_compared"] == cell["ops_read"] > 500


@pytest.mark.parametrize("api", APIS)
def test_a_trace_of_odd_places_is_replayed_byte_by_byte(tmp_path: Path, api: str) -> None:
    path = tmp_path / "data"
    places = [(3, 2300), (2303, 1), (9000, 65537), (100_000, 513), (100_600, 100)]
    path.write_bytes(b"\xee" * 110_000)
    rows = [f"write,{offset},{length}" for offset, length in places]
    (tmp_path / "trace.csv").write_text(
        "\n".join(["kind,offset,length", *rows, "read,2300,4", "sync,0,0", ""])
    )
    (record,) = run_study(tmp_path, path, '[workload.odd]\ntrace = "trace.csv"', api)
    assert (record["bytes_written"], record["bytes_read"]) == (sum(length for _, length in places), 4)
    content = path.read_bytes()
    untouched = bytearray(content)
    for offset, length in places:
        untouched[offset : offset + length] = b"\xee" * length
        assert length == 1 or content[offset : offset + length] != b"\xee" * length
    assert bytes(untouched) == b"\xee" * 110_000


def traced(place: Path, *words: str) -> tuple[Counter[int], str]:
    """Lengths of the writes to `data` in this directory, by strace, and what was printed."""
    watch = ["strace", "-ff", "-qq", "-y", "-s", "0", "-o", "trace", "-e", "trace=write,pwrite64"]
    done = subprocess.run(
        [*watch, sys.executable, "-m", "mileage", *words],
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    found = Counter(
        int(length)
        for file in place.glob("trace.*")
        for length in re.findall(
            r"^p?write(?:64)?\(\d+<[^>]*/data>.* = (\d+)$", file.read_text(), re.MULTILINE
        )
    )
    return found, done.stdout


@needs_strace
@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", SIZES)
def test_dd_copies_records_of_any_size(tmp_path: Path, size: int) -> None:
    lengths, _ = traced(tmp_path, "dd", "if=/dev/zero", "of=data", f"bs={size}", "count=20", "seek=3")
    content = (tmp_path / "data").read_bytes()
    assert lengths == {size: 20}
    assert hashlib.sha256(content).digest() == hashlib.sha256(bytes(23 * size)).digest()


@needs_strace
@pytest.mark.sampled(2)
@pytest.mark.parametrize("more", [(), ("-B",), ("-o",), ("-I",)])
@pytest.mark.parametrize(("kib", "file"), [(1, 77), (3, 99), (1001, 2002)])
def test_iozone_writes_records_that_are_no_power_of_two(
    tmp_path: Path, kib: int, file: int, more: tuple[str, ...]
) -> None:
    words = ("iozone", "-i", "0", "-i", "1", "-w", "-r", str(kib), "-s", str(file), "-f", "data", *more)
    lengths, printed = traced(tmp_path, *words)
    assert (tmp_path / "data").stat().st_size == file * 1024
    if more != ("-B",):
        # Written and written again.
        assert lengths[kib * 1024] == 2 * file // kib
    assert re.search(rf"^ +{file} +{kib} ", printed, re.MULTILINE)


@pytest.mark.parametrize(("target", "status"), [("dir:{0}", 2), ("virtual:intel-x25e-64gb", 2)])
def test_lines_of_odd_sizes_need_a_page_cache(tmp_path: Path, target: str, status: int) -> None:
    text = STUDY.replace('target = "file:{path}"', f'target = "{target.format(tmp_path)}"')
    text = (
        text.replace('start = "kept"', 'file = "1MiB"')
        .replace('cache = "warm"', "")
        .replace('api = "{api}"', "")
    )
    lines = "access = [{ size = 4096, share = 50, reads = 0 }, { size = 1000, share = 50, reads = 0 }]"
    more = "stop = { operations = 9 }"
    text = text.format(workload=f"[workload.odd]\n{lines}", more=more).replace("generation = 3", "")
    (tmp_path / "study.toml").write_text(text)
    done = mileage("plan", "study.toml", cwd=tmp_path)
    said = " ".join(done.stderr.split())
    assert done.returncode == status
    assert "measure.work.workload: 1000 B is not a multiple of the logical block" in said


def counters(place: Path, *words: str) -> dict[str, int]:
    asked = ("-t", "virtual:hpe-7k2-500gb@server-2025", "--size", "16MiB", "--no-direct", "--json", *words)
    done = mileage("measure", *asked, cwd=place)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)
    found: dict[str, int] = cell["counters"]
    return found


def test_a_modelled_host_reads_the_page_of_which_a_part_is_written(tmp_path: Path) -> None:
    """A page that is written in part and not in the cache is read and written once; a whole one is not read."""
    part = counters(tmp_path, "-w", "random_write", "-r", "100", "--operations", "200")
    assert part["host_bytes_read"] == 4096 * part["host_pages_dirtied"]
    assert 200 <= part["host_pages_dirtied"] + part["host_pages_absorbed"] <= 210
    whole = counters(tmp_path, "-w", "random_write", "-r", "4096", "--operations", "200")
    assert whole["host_bytes_read"] == 0
    # In order each page is read at most once, whatever the number of its records.
    ordered = counters(tmp_path, "-w", "sequential_write", "-r", "100", "--operations", "4096")
    assert ordered["host_pages_dirtied"] == -(-4096 * 100 // 4096)
    assert ordered["host_bytes_written"] == 4096 * ordered["host_pages_dirtied"]
