"""IOzone's tests and units, as its text and its spreadsheet share them.

Scope: a figure is bytes per second where IOzone prints kB/sec (its kB is 1024 bytes), operations per second
with `-O`, whole microseconds per operation with `-N`. A single stream moves the whole file once in every test, so that
its time follows from the rate. A figure of 0 stands for a test that was not done.
The readers name what they do not understand.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec.structs import replace

from mileage.formats.number_parser import number
from mileage.formats.result import ToolRun
from mileage.model.cell_key import CellKey
from mileage.plan.sizes import format_bytes, record_words

Unit = Literal["kB/s", "ops/s", "us/op"]

KB: Final = 1024
"""Bytes of what IOzone calls a kB."""
SINGLE: Final = (
    *("write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read", "record_rewrite"),
    *("stride_read", "fwrite", "frewrite", "fread", "freread", "pwrite", "repwrite", "pread", "repread"),
)
"""The tests in the order of the columns of a table; the last four only with -E."""
REPORTS: Final = {
    "writer": "write",
    "re-writer": "rewrite",
    "reader": "read",
    "re-reader": "reread",
    "random read": "random_read",
    "random write": "random_write",
    "backward read": "backward_read",
    "record rewrite": "record_rewrite",
    "stride read": "stride_read",
    "fwrite": "fwrite",
    "re-fwrite": "frewrite",
    "fread": "fread",
    "re-fread": "freread",
    "pwrite": "pwrite",
    "re-pwrite": "repwrite",
    "pread": "pread",
    "re-pread": "repread",
}
"""Titles of the parts of a -R report, in lower case without "report"."""
CHILDREN: Final = {
    "initial writers": "write",
    "initial writer": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "reverse readers": "backward_read",
    "stride readers": "stride_read",
    "random readers": "random_read",
    "mixed workload": "mix",
    "random writers": "random_write",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
    "fwriters": "fwrite",
    "freaders": "fread",
}
"""The names that -t gives its children, with the test of each."""
ROWS: Final = {
    "initial write": "write",
    "rewrite": "rewrite",
    "read": "read",
    "re-read": "reread",
    "reverse read": "backward_read",
    "stride read": "stride_read",
    "random read": "random_read",
    "mixed workload": "mix",
    "random write": "random_write",
    "pwrite": "pwrite",
    "pread": "pread",
    "fwrite": "fwrite",
    "fread": "fread",
}
"""Rows of the throughput report, in lower case."""
_WRITES: Final = re.compile(r"write|fwrite|pwrite")


def single(test: str, file_kb: int, record_kb: int, figure: float, unit: Unit, line: int) -> ToolRun | None:
    """The run of one stream; None for a figure of 0, which is no measurement."""
    record, size = record_kb * KB, file_kb * KB
    if figure <= 0 or record <= 0 or size <= 0:
        return None
    ops = size // record
    rate = figure * KB if unit == "kB/s" else (figure if unit == "ops/s" else 1e6 / figure) * record
    writes = bool(_WRITES.search(test))
    run = ToolRun(
        cell=f"iozone.{test} {record_words(record)}",
        key=CellKey(f"iozone.{test}", record_bytes=record, threads=1, depth=1),
        kind="throughput" if unit == "kB/s" else "iops",
        line=line,
        levels={"file": format_bytes(size), "record": record_words(record), "processes": "1"},
        rate_bytes_per_s=rate if unit == "kB/s" else None,
        ops_per_s=None if unit == "kB/s" else rate / record,
        elapsed_s=size / rate,
        bytes_read=0 if writes else size,
        bytes_written=size if writes else 0,
        ops_read=0 if writes else ops,
        ops_written=ops if writes else 0,
        printed=[(f"{test} {unit}", figure)],
    )
    if unit == "us/op":
        run.notes.append("IOzone -N prints whole microseconds: a figure of 1 is anything from 0.5 to 1.5")
    return run


def children(
    test: str, processes: int, record_kb: int | None, figure: float, unit: Unit, line: int
) -> ToolRun | None:
    """The run of several processes together; None for a figure of 0."""
    if figure <= 0:
        return None
    record = None if record_kb is None else record_kb * KB
    size = "" if record is None else f" {record_words(record)}"
    return ToolRun(
        cell=f"iozone.{test}{size}",
        key=CellKey(f"iozone.{test}", record_bytes=record, threads=record and processes, depth=1),
        kind="throughput" if unit == "kB/s" else "iops",
        line=line,
        levels={"processes": str(processes), **({} if record is None else {"record": record_words(record)})},
        rate_bytes_per_s=figure * KB if unit == "kB/s" else None,
        ops_per_s=figure if unit == "ops/s" else None,
    )


def unit_of_command(command: str) -> Unit:
    """Unit of every figure, after -O and -N of the command line."""
    words = command.split()
    if "-O" in words:
        return "ops/s"
    return "us/op" if "-N" in words else "kB/s"


def processes_of_command(command: str) -> list[int]:
    """The numbers of processes of -t, or from -l to -u; empty where none is said."""
    found = [int(text) for text in re.findall(r"(?:^|\s)-t\s*([0-9]{1,5})\b", command)]
    low, high = (re.search(rf"(?:^|\s)-{letter}\s*([0-9]{{1,5}})\b", command) for letter in "lu")
    if found or low is None or high is None:
        return found
    return list(range(int(low[1]), int(high[1]) + 1))


def record_of_command(command: str) -> int | None:
    """The one record size of -r in kB, None where there is none or several; a bare number is kB."""
    found = re.findall(r"(?:^|\s)-r\s*([0-9]{1,9})([kKmMgG]?)\b", command)
    if len(found) != 1:
        return None
    scale = {"": 1, "k": 1, "m": 1024, "g": 1024**2}[found[0][1].lower()]
    return int(found[0][0]) * scale


def spread_out(runs: list[ToolRun]) -> list[ToolRun]:
    """The runs, with the file's size in the labels where there are files of several sizes."""
    if len({run.levels["file"] for run in runs if "file" in run.levels}) > 1:
        for run in runs:
            if "file" not in run.levels:
                continue
            run.cell = f"{run.cell}, file {run.levels['file']}"
            run.key = replace(run.key, shown={"file": run.levels["file"]})
    return runs


def figure_of(text: str) -> float | None:
    """A printed figure."""
    return number(text)
