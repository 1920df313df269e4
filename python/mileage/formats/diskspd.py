"""DiskSpd's text output: totals of each timespan, and its table of percentiles.

What it models: each "Results for timespan" is a run. Its rate is the bytes over the test time, as versions print
the same figure under MB/s and MiB/s, both meaning 2^20 bytes; operations as printed. Latencies are in milliseconds.
What it refuses: a file without DiskSpd's parameters and totals.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.errors import Refused
from mileage.formats.json_documents import shown
from mileage.formats.numbers import number, whole
from mileage.formats.result import Result, ToolRun, Unread
from mileage.formats.source import Source
from mileage.plan.sizes import format_bytes

LAYOUT: Final = "diskspd"
_SETTING: Final = re.compile(r"\s*([a-z][A-Za-z /()]+?):\s+(.*\S)\s*$")
_TOTAL: Final = re.compile(r"\s*total:\s+([0-9 |.eEnaif+-]+?)\s*$")
_PERCENTILE: Final = re.compile(
    r"\s*(min|[0-9]+th|[3-9]-nines|max)\s*\|\s*(\S+)\s*\|\s*(\S+)\s*\|\s*(\S+)\s*$"
)
_QUANTILES: Final = {
    "min": "min",
    "50th": "p50",
    "90th": "p90",
    "99th": "p99",
    "3-nines": "p99_9",
    "max": "max",
}
_TABLE: Final = re.compile(
    r"\s*[0-9]+\s*\|.*|\s*[*=-]{5,}\s*|.*\bCPU\s*\|.*|\s*avg\.\|.*|\s*(?:thread|%-ile)\s*\|.*"
)
_READS: Final = re.compile(r"performing mix test \(read/write ratio: ([0-9]{1,3})/([0-9]{1,3})\)")
_NAMES: Final = ("actual test time", "test time", "thread count", "proc count", "total threads")
"""Settings that stand at the beginning of a line."""
_HEADS: Final = re.compile(
    r"Input parameters:|System information:|Results for timespan [0-9]+:|Command Line:"
)
_KEPT: Final = (
    "block size",
    "number of outstanding I/O operations",
    "threads per file",
    "thread count",
    "duration",
)


def knows(source: Source) -> bool:
    """Whether a file begins as this layout does."""
    head = source.text_head
    return "Input parameters:" in head and ("timespan:" in head or "Results for timespan" in head)


def read(source: Source) -> Result:
    """All runs of a file. Raises Refused when it is none of DiskSpd's."""
    if not knows(source):
        raise Refused(f"{source.path}: found no 'Input parameters:' and timespan of DiskSpd")
    result = Result(tool="diskspd", version=None, layout=LAYOUT, runs=[])
    settings: dict[str, str] = {}
    part, run = "", None
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r")
        text = line.strip()
        if text in ("Total IO", "Read IO", "Write IO"):
            part = text.split(" ")[0].lower()
        elif found := _TOTAL.fullmatch(line):
            figures = [number(field.strip()) for field in found[1].split("|")]
            if part == "total":
                run = _run(result, at, figures, settings, line)
            elif run is not None and len(figures) >= 2:
                _direction(run, part, figures)
        elif found := _PERCENTILE.fullmatch(line):
            _percentile(run, found)
        elif text.startswith("Command Line:"):
            result.command = result.command or text.partition(":")[2].strip()
        elif mixed := _READS.search(text):
            settings["reads"] = mixed[1]
        elif text.startswith("performing "):
            settings["reads"] = "100" if "read" in text else "0"
        elif text.startswith("using ") and "random I/O" in text:
            settings["pattern"] = "random"
        elif text.startswith("using sequential I/O"):
            settings["pattern"] = "sequential"
        elif (found := _SETTING.fullmatch(line)) and (line[:1] == "\t" or found[1] in _NAMES):
            settings[found[1].strip()] = found[2]
            if found[1].strip() == "start time":
                result.began = result.began or found[2]
            if found[1].strip() == "computer name":
                result.machine["host"] = found[2]
        elif text and line[:1] != "\t" and not _TABLE.fullmatch(line) and not _HEADS.match(text):
            result.unread.append(Unread(at, shown(line), "no line of DiskSpd's results"))
    if not result.runs:
        raise Refused(f"{source.path}: DiskSpd printed no totals; the run did not come to its end")
    return result


def _run(
    result: Result, at: int, figures: list[float | None], settings: dict[str, str], line: str
) -> ToolRun | None:
    """The run of one line of totals."""
    seconds = number(settings.get("actual test time", settings.get("test time", "")).rstrip("s"))
    if len(figures) < 4 or any(figure is None for figure in figures[:4]):
        result.unread.append(Unread(at, shown(line), "totals that are no numbers"))
        return None
    block = whole(settings.get("block size", ""))
    reads = settings.get("reads", "")
    does = {"0": "write", "100": "read"}.get(reads, "mix")
    words = f"{settings.get('pattern', '')} {does}"
    size = f" {format_bytes(block)}" if block else ""
    depth = whole(settings.get("number of outstanding I/O operations", "").rstrip(")"))
    threads = whole(settings.get("thread count", settings.get("total threads", "")))
    moved, mib = figures[0] or 0.0, figures[2] or 0.0
    run = ToolRun(
        cell=f"diskspd.{words.strip().replace(' ', '_')}{size}",
        kind="iops" if settings.get("pattern") == "random" else "throughput",
        line=at,
        levels={name: settings[name] for name in (*_KEPT, "reads", "pattern") if name in settings},
        rate_bytes_per_s=moved / seconds if seconds else mib * (1 << 20),
        ops_per_s=figures[3],
        elapsed_s=seconds or None,
        outstanding=depth * threads if depth and threads else None,
        printed=list(zip(("bytes", "I/Os", "MiB/s", "I/O per s"), [f or 0.0 for f in figures], strict=False)),
    )
    if len(figures) > 4 and figures[4] is not None:
        run.quantiles_ns["mean"] = 1e6 * figures[4]
        run.latency_sum_ns = 1e6 * figures[4] * (figures[1] or 0.0)
    result.runs.append(run)
    return run


def _direction(run: ToolRun, part: str, figures: list[float | None]) -> None:
    moved, ops = whole(figures[0]), whole(figures[1])
    if part == "read":
        run.bytes_read, run.ops_read = moved, ops
    else:
        run.bytes_written, run.ops_written = moved, ops


def _percentile(run: ToolRun | None, found: re.Match[str]) -> None:
    """One row of the table of percentiles; the last column is of reads and writes together."""
    value = number(found[4])
    if run is None or value is None:
        return
    run.printed.append((f"{found[1]} ms", value))
    if found[1] in _QUANTILES:
        run.quantiles_ns[_QUANTILES[found[1]]] = 1e6 * value
    if found[1] == "99th":
        run.latency_p99_ns = 1e6 * value
