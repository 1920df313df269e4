"""`python -m benchmarks.host_oracle.read_ahead`: windows of the kernel's read-ahead compared with the modelled host's.

Each sequence of `sequences.py` is read from a new ext4 on a loop device. Shown is, for each read, how many pages
entered the page cache because of it: of the kernel by the tracepoint `mm_filemap_add_to_page_cache`, of the model by
its counter. A sequence agrees where they are equal for every read. Needs root and tracefs.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from benchmarks.host_oracle.model import ModelCalls, host_like
from benchmarks.host_oracle.real import RealCalls, mounted
from benchmarks.host_oracle.sequences import FILE_BYTES, SEQUENCES, Sequence

NAME = "a"
_ADDED = re.compile(r"mm_filemap_add_to_page_cache: dev \d+:\d+ ino ([0-9a-f]+) .* order=(\d+)")
_READ = "tracing_mark_write: read"


@contextmanager
def cache_traced(tracefs: Path, file: os.stat_result) -> Iterator[tuple[list[int], Path]]:
    """Count pages of a file that enter the page cache after each mark; the list is filled afterwards."""
    found: list[int] = []
    own = tracefs / "instances" / f"mileage-{os.getpid()}"
    own.mkdir()
    try:
        event = own / "events" / "filemap" / "mm_filemap_add_to_page_cache"
        own.joinpath("buffer_size_kb").write_text("16384")
        device = os.major(file.st_dev) << 20 | os.minor(file.st_dev)
        event.joinpath("filter").write_text(f"i_ino == {file.st_ino} && s_dev == {device}")
        event.joinpath("enable").write_text("1")
        yield found, own / "trace_marker"
        event.joinpath("enable").write_text("0")
        for line in own.joinpath("trace").read_text().splitlines():
            if _READ in line:
                found.append(0)
            elif (match := _ADDED.search(line)) and int(match[1], 16) == file.st_ino and found:
                found[-1] += 1 << int(match[2])
    finally:
        own.rmdir()


def both(sequence: Sequence, tracefs: Path, folder: str) -> tuple[list[int], list[int]]:
    """Pages that each read brought into the page cache: of the kernel, and of the model."""
    with mounted("ext4", "", folder) as (place, queue, _):
        calls = RealCalls(place)
        write_file(calls)
        calls.close()
        calls.sync()
        Path("/proc/sys/vm/drop_caches").write_text("1")
        queue.joinpath("queue", "read_ahead_kb").write_text(str(sequence.read_ahead_kb))
        file = place.joinpath(NAME).stat()
        with (
            cache_traced(tracefs, file) as (real, marker),
            marker.open("wb", buffering=0) as mark,
        ):
            for offset, length in sequence.reads:
                mark.write(b"read")
                calls.read(NAME, offset, length)
        calls.close()
        host = host_like(queue, "ext4", "", sequence.read_ahead_kb)
    model = ModelCalls(host)
    write_file(model)
    model.close()
    model.sync()
    model.drop_caches()
    totals = [pages(host.counters())]
    for offset, length in sequence.reads:
        model.read(NAME, offset, length)
        totals.append(pages(host.counters()))
    return real, [after - before for before, after in pairwise(totals)]


def write_file(calls: RealCalls | ModelCalls) -> None:
    """Write the file that is read."""
    for offset in range(0, FILE_BYTES, 1 << 20):
        calls.write(NAME, offset, 1 << 20)


def pages(counters: list[tuple[str, int]]) -> int:
    """Pages that reads have brought into the cache."""
    return dict(counters)["host_read_ahead_pages"]


def in_words(windows: list[int]) -> str:
    """The first reads that brought in anything, as NUMBER:PAGES."""
    return " ".join(f"{number}:{count}" for number, count in enumerate(windows) if count)[:60]


def main() -> int:
    """Compare, and print the table; status 1 when a sequence differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host_oracle.read_ahead", description=__doc__)
    parser.add_argument("--tracefs", type=Path, default=Path("/sys/kernel/tracing"))
    parser.add_argument("--folder", default="/var/tmp")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    chosen = [sequence for sequence in SEQUENCES if asked.only in sequence.name]
    good = 0
    sys.stdout.write(
        "sequence | reads | reads that differ | pages of kernel and model | windows of each, in pages\n"
    )
    for sequence in chosen:
        real, model = both(sequence, asked.tracefs, asked.folder)
        differing = sum(a != b for a, b in zip(real, model, strict=True))
        good += differing == 0
        sizes = [
            " ".join(f"{size}x{count}" for size, count in Counter(it).most_common(5) if size)
            for it in (real, model)
        ]
        sys.stdout.write(
            f"{sequence.name} | {len(real)} | {differing} | {sum(real)}, {sum(model)} | {' / '.join(sizes)}\n"
        )
        if differing:
            sys.stdout.write(f"    kernel {in_words(real)}\n    model  {in_words(model)}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{good} of {len(chosen)} sequences agree in every read\n")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
