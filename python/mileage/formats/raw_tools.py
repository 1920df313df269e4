"""Readers of the output of hdparm -T -t and dd.

Scope: hdparm's MB are 2^20 bytes, and its rate is taken from the megabytes and the seconds that it prints only
where it prints no rate; dd's bytes and seconds are exact, and its own rate, in MB of 10^6, is rounded, so that the rate
is bytes over seconds. Which device and direction dd had, its output does not say.
What it refuses: a file without one such line.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.formats.input_file import Source
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun

LAYOUT: Final = "raw-tools"
MIB: Final = 1 << 20
_TIMING: Final = re.compile(
    r"\s*Timing (?P<what>cached reads|O_DIRECT cached reads|buffered disk reads|O_DIRECT disk reads):\s*"
    r"(?P<mb>[0-9]{1,12}) MB in\s+(?P<seconds>[0-9.]+) seconds =\s*(?P<rate>[0-9.]+) (?P<unit>[kMG]B)/sec\s*"
)
_WORDS: Final = {
    "cached reads": "hdparm.cached",
    "O_DIRECT cached reads": "hdparm.cached_direct",
    "buffered disk reads": "hdparm.buffered",
    "O_DIRECT disk reads": "hdparm.buffered_direct",
}
_UNITS: Final = {"kB": 1024, "MB": MIB, "GB": 1 << 30}
_COPIED: Final = re.compile(
    r"\s*(?P<bytes>[0-9]{1,19}) bytes?(?: \([^)]*\))? copied, (?P<seconds>[-+0-9.eE]+) s(?:econds)?, .*"
)
_RECORDS: Final = re.compile(r"\s*([0-9]+)\+([0-9]+) records (in|out)\s*")
_DEVICE: Final = re.compile(r"(/\S+):\s*")
_TIMES: Final = re.compile(r"\s*(?:real|user|sys)\s+[0-9]+m[0-9.,]+s\s*")


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    lines = source.text_head.split("\n")
    return any(_TIMING.fullmatch(line) or _COPIED.fullmatch(line.rstrip("\r")) for line in lines[:2000])


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds no line of hdparm or dd."""
    result = Result(tool="", version=None, layout=LAYOUT, runs=[])
    device = records = ""
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r")
        if found := _TIMING.fullmatch(line):
            _add(result, "hdparm", _timing(found, device, at), line, at)
        elif found := _COPIED.fullmatch(line):
            _add(result, "dd", _copied(found, records, at), line, at)
            records = ""
        elif found := _RECORDS.fullmatch(line):
            records = f"{found[1]}+{found[2]}"
        elif found := _DEVICE.fullmatch(line):
            device = found[1]
        elif line.strip() and not _TIMES.fullmatch(line):
            result.skip(at, line, "no line of hdparm or dd")
    result.refuse_empty(source.path, "no line of hdparm -T or -t, and none of dd, was understood")
    return result


def _add(result: Result, tool: str, run: ToolRun | None, line: str, at: int) -> None:
    """Keep a run; of two tools in one file only the first one's."""
    result.tool = result.tool or tool
    if run is None:
        result.skip(at, line, "figures that are no numbers")
    elif result.tool == tool:
        result.runs.append(run)
    else:
        result.skip(at, line, f"of {tool}, in a file of {result.tool}; keep them apart")


def _timing(found: re.Match[str], device: str, at: int) -> ToolRun | None:
    rate, seconds = number(found["rate"]), number(found["seconds"])
    if rate is None or seconds is None:
        return None
    return ToolRun(
        cell=_WORDS[found["what"]],
        kind="throughput",
        line=at,
        levels={"device": device} if device else {},
        rate_bytes_per_s=rate * _UNITS[found["unit"]],
        elapsed_s=seconds or None,
        bytes_read=int(found["mb"]) * MIB,
        printed=[(f"{found['unit']}/sec", rate)],
    )


def _copied(found: re.Match[str], records: str, at: int) -> ToolRun | None:
    moved, seconds = whole(found["bytes"]), number(found["seconds"])
    if moved is None or not seconds:
        return None
    count = whole(records.partition("+")[0]) if records.endswith("+0") else None
    levels = {"bs": f"{moved // count}"} if count and moved % count == 0 else {}
    return ToolRun(
        cell="dd.copy",
        kind="throughput",
        line=at,
        levels=levels,
        rate_bytes_per_s=moved / seconds,
        elapsed_s=seconds,
        printed=[("bytes", float(moved)), ("seconds", seconds)],
        notes=["dd does not say what it read and what it wrote: import its reads and its writes apart"],
    )
