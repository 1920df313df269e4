"""The command lines that are compared, and the rates in what either side prints."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mileage.formats.input_file import open_source
from mileage.formats.readers import read_source

Rates = dict[str, float]
"""Operations or bytes per second, by test."""


@dataclass(frozen=True)
class Case:
    """A command line of a tool, and one of the same tool that does next to nothing."""

    name: str
    tool: str
    words: str
    small: str
    file_mib: int = 0
    """Size of the file that is there before, where laying it out would take most of the time."""


_FIO: Final = "--name=x --filename=file --output-format=json --ioengine"
_SMALL: Final = {
    "iozone": "-s 4k -r 4k -i 0 -f file",
    "ior": "-w -t 4k -b 4k -o file",
    "mdtest": "-F -C -T -r -n 1 -d place",
    "fio": f"{_FIO}=psync --rw=write --bs=4k --size=4k",
}
"""What starts up, does one operation and ends."""


def _case(name: str, tool: str, words: str, file_mib: int = 0) -> Case:
    return Case(name, tool, words, _SMALL[tool], file_mib)


CASES: Final = (
    _case("iozone, cached 4 KiB", "iozone", "-r 4k -s 128m -i 0 -i 1 -i 2 -f file"),
    _case("iozone, cached 1 MiB", "iozone", "-r 1m -s 512m -i 0 -i 1 -i 2 -f file"),
    _case("iozone, direct 4 KiB", "iozone", "-I -r 4k -s 16m -i 0 -i 2 -f file"),
    _case("ior, cached 4 KiB", "ior", "-w -r -t 4k -b 128m -o file"),
    _case("ior, cached 4 KiB shuffled", "ior", "-w -r -z -t 4k -b 128m -o file"),
    _case("ior, cached 1 MiB", "ior", "-w -r -t 1m -b 512m -o file"),
    _case("ior, direct 4 KiB shuffled", "ior", "-w -r -z --posix.odirect -t 4k -b 16m -o file"),
    _case("mdtest, files", "mdtest", "-F -n 20000 -u -d place"),
    _case("mdtest, directories", "mdtest", "-D -n 10000 -u -d place"),
    _case("fio, cached 4 KiB write", "fio", f"{_FIO}=psync --rw=write --bs=4k --size=256m"),
    _case(
        "fio, cached 4 KiB write, new data",
        "fio",
        f"{_FIO}=psync --rw=write --bs=4k --size=256m --refill_buffers=1",
    ),
    _case("fio, cached 4 KiB read", "fio", f"{_FIO}=psync --rw=read --bs=4k --size=256m --invalidate=0", 256),
    _case("fio, cached 1 MiB write", "fio", f"{_FIO}=psync --rw=write --bs=1m --size=512m"),
    _case(
        "fio, cached 1 MiB write, new data",
        "fio",
        f"{_FIO}=psync --rw=write --bs=1m --size=512m --refill_buffers=1",
    ),
    _case("fio, cached 1 MiB read", "fio", f"{_FIO}=psync --rw=read --bs=1m --size=512m --invalidate=0", 512),
    _case(
        "fio, direct 4 KiB random read",
        "fio",
        f"{_FIO}=psync --rw=randread --bs=4k --size=64m --direct=1 --norandommap",
        64,
    ),
    _case(
        "fio, direct 4 KiB random write",
        "fio",
        f"{_FIO}=psync --rw=randwrite --bs=4k --size=64m --direct=1 --norandommap",
        64,
    ),
    _case(
        "fio, direct 4 KiB random read, depth 32",
        "fio",
        f"{_FIO}=io_uring --rw=randread --bs=4k --size=256m --direct=1 --iodepth=32 --norandommap",
        256,
    ),
    _case(
        "fio, direct 4 KiB random write, depth 32",
        "fio",
        f"{_FIO}=io_uring --rw=randwrite --bs=4k --size=256m --direct=1 --iodepth=32 --norandommap",
        256,
    ),
)
_MDTEST_ROW: Final = re.compile(r"^ {3}((?:File|Directory) \w+) +([0-9.]+) ", re.MULTILINE)


def rates_of(case: Case, printed: str, place: Path) -> Rates:
    """The rate of each test."""
    if case.tool == "mdtest":
        return {name.lower(): float(rate) for name, rate in _MDTEST_ROW.findall(printed)}
    if case.tool == "fio":
        job = json.loads(printed[printed.index("{") :])["jobs"][0]
        return {way: job[way]["iops"] for way in ("read", "write") if job[way]["total_ios"]}
    path = place / "printed"
    path.write_text(printed)
    found = read_source(open_source(path)).runs
    path.unlink()
    return {
        run.cell.split()[0].rstrip(",").partition(".")[2] or run.cell.split()[0]: run.rate_bytes_per_s
        or run.ops_per_s
        or 0.0
        for run in found
    }
