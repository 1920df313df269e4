"""The output of PostgreSQL's pg_test_fsync: how many commits a second each method of syncing does.

Scope: each line of figures is a run. A commit is what the line repeats: one write or several, and what makes them
durable. `ops/sec` is its rate and `usecs/op` the mean time of one, which is no quantile. The mean is taken from the
rate, which has more digits. Units of sizes are 1024 bytes.
What it refuses: a file without a figure. A method that the system does not have ("n/a") is no run.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.formats.input_file import Source
from mileage.formats.number_parser import number
from mileage.formats.result import Result, ToolRun
from mileage.model.cell_key import CellKey

LAYOUT: Final = "pg-test-fsync"
_HEADING: Final = re.compile(
    r"Compare file sync methods using (?P<count>one|two) (?P<kib>[0-9]{1,4})kB writes?:|"
    r"(?P<sizes>Compare open_sync with different write sizes:)|"
    r"(?P<descriptor>Test if fsync on non-write file descriptor is honored:)|"
    r"(?P<unsynced>Non-sync'ed (?P<unsynced_kib>[0-9]{1,4})kB writes:)"
)
_FIGURES: Final = re.compile(
    r"\s+(?P<method>\S(?:.{0,60}\S)?)\s+(?P<rate>[0-9.]{1,24}) ops/sec\s+(?P<us>[0-9]{1,15}) usecs/op"
)
_SPLIT: Final = re.compile(r"(?P<count>[0-9]{1,4}) \*\s+(?P<kib>[0-9]{1,4})kB open_sync writes?")
_SECONDS: Final = re.compile(r"([0-9]{1,9}) seconds? per test")
_OTHER: Final = re.compile(
    r"O_DIRECT supported on this platform for .*|Direct I/O is not supported on this platform\.|"
    r"\(in wal_sync_method preference order.*|\(This is designed to compare .*|open_sync sizes\.\)|"
    r"\(If the times are similar, .*|descriptor\.\)|\s+\S+(?:\*|\s)\s*n/a\*{0,2}|\*+ .*|.*n/a\*{0,2}"
)


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return any(_HEADING.fullmatch(line.rstrip("\r ")) for line in source.text_head.split("\n")[:500])


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds none."""
    result = Result(tool="pg_test_fsync", version=None, layout=LAYOUT, runs=[])
    heading: re.Match[str] | None = None
    seconds = ""
    call = 0
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r ")
        if found := _SECONDS.fullmatch(line):
            seconds, call, heading = found[1], at, None
        elif found := _HEADING.fullmatch(line):
            heading = found
        elif (found := _FIGURES.fullmatch(line)) and heading is not None:
            run = _run(heading, found)
            if run is None:
                result.skip(at, line, "a figure that is no number")
                continue
            run.line, run.call = at, call
            run.levels |= {"seconds per test": seconds} if seconds else {}
            result.runs.append(run)
        elif line.strip() and not _OTHER.fullmatch(line):
            result.skip(at, line, "no line of pg_test_fsync that can stand here")
    result.refuse_empty(source.path, "no figure of pg_test_fsync was understood")
    return result


def _run(heading: re.Match[str], found: re.Match[str]) -> ToolRun | None:
    """The run of a line below its heading."""
    method, rate, mean_us = found["method"], number(found["rate"]), number(found["us"])
    if not rate or mean_us is None:
        return None
    writes, kib, commit = _work(heading, method)
    name = f"pg_test_fsync.{commit}"
    moved = 1024 * kib * writes
    return ToolRun(
        cell=f"{name}, {writes} x {kib} KiB" if kib else name,
        key=CellKey("pg_test_fsync"),
        kind="iops",
        title=method,
        notes=["pg_test_fsync prints the rate of commits and the mean time of one, and no quantile"],
        levels={"method": method},
        ops_per_s=rate,
        rate_bytes_per_s=rate * moved or None,
        quantiles_ns={"mean": 1e9 / rate},
        outstanding=1,
        printed=[("ops/sec", rate), ("usecs/op", mean_us)],
    )


def _work(heading: re.Match[str], method: str) -> tuple[int, int, str]:
    """Writes of one operation, KiB of each (0: not stated), and the name of what is done."""
    if heading["kib"]:
        return {"one": 1, "two": 2}[heading["count"]], int(heading["kib"]), method
    if heading["unsynced"]:
        return 1, int(heading["unsynced_kib"]), "write without a sync"
    if split := _SPLIT.fullmatch(method):
        return int(split["count"]), int(split["kib"]), "open_sync, split"
    return 1, 0, method
