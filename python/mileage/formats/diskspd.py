"""DiskSpd's text output: totals of each timespan, and its table of percentiles.

Scope: each "Results for timespan" is a run with the parameters of that timespan. A line is known by its words:
DiskSpd indents by tabs, which become blanks where a text was copied. The rate is the bytes over the test time, as
versions print the same figure under MB/s and MiB/s, both meaning 2^20 bytes; operations as printed. Latencies are in
milliseconds. Where the targets of a timespan differ in a parameter, all its values are reported.
What it refuses: a file without DiskSpd's parameters and totals.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import binary_size, number, whole
from mileage.formats.result import Result, ToolRun
from mileage.plan.sizes import record_words

LAYOUT: Final = "diskspd"
_BEGINS: Final = re.compile(r"^[ \t]*(?:timespan|job):\s+[0-9]+\s*$", re.MULTILINE)
_RESULTS: Final = re.compile(r"\s*Results for (?:timespan|job) ([0-9]+):\s*")
_TOTAL: Final = re.compile(r"\s*total:\s+([0-9 |.eEnaif+-]+?)\s*$")
_PERCENTILE: Final = re.compile(
    r"\s*(min|[0-9]+th|[3-9]-nines|max)\s*\|\s*(\S+)\s*\|\s*(\S+)\s*\|\s*(\S+)\s*$"
)
_FIGURES: Final = re.compile(r"\s*(?:total:|(?:min|[0-9]+th|[3-9]-nines|max)\s*\|)")
_QUANTILES: Final = {
    "min": "min",
    "50th": "p50",
    "90th": "p90",
    "99th": "p99",
    "3-nines": "p99_9",
    "max": "max",
}
_FILE: Final = re.compile(r"\|\s*([^|]*\S) \(([0-9.]+\s?[KMGTP]?i?B?)\)\s*$")
"""The end of a thread's row: file and its size."""
_TABLE: Final = re.compile(
    r"\s*[0-9]+[PE]?\s*\|.*|\s*[*=_—– -]{5,}\s*|.*\bCPU\s*\|.*|\s*avg[.:].*\|.*|"
    r"\s*(?:thread|type|%-ile|write|read|total)\s*\|.*|"
    r"\s*Totals:|\s*total:\s*|.*[Ll]atency distribution:.*|\s*total test time:.*"
)
_READS: Final = re.compile(r"performing mix test \(read/write ratio: ([0-9]{1,3})/([0-9]{1,3})\)")
_HEADS: Final = re.compile(
    r"Input parameters:|System info(?:rmation)?:|Command Line:|"
    r"Effective IO Distributions|target: |IO Distribution:|[0-9.]+% of IO"
)
_SPAN: Final = ("duration", "warm up time", "cool down time", "random seed", "total threads")
_MEASURED: Final = ("actual test time", "test time", "thread count", "request count", "proc count")
_TARGET: Final = (
    *("path", "size", "think time", "burst size", "write buffer size", "write buffer source", "block size"),
    *("number of outstanding I/O operations", "relative IO weight in thread pool", "base file offset"),
    *("max file size", "thread stride size", "threads per file", "IO priority"),
)
_MACHINE: Final = (
    *("computer name", "start time", "cpu count", "core count", "group count", "node count", "socket count"),
    *("heterogeneous cores", "active power scheme", "processor count", "caching options", "block device"),
    "device scheduler",
)
_NAMED: Final = re.compile(
    rf"({'|'.join((*_SPAN, *_MEASURED, *_TARGET, *_MACHINE))})(?: per thread)?:\s*(.*?)\)?\s*"
)
_WORDS: Final = (
    ("using software cache", "cache"),
    ("local software cache", "cache"),
    ("software cache", "cache"),
    ("using hardware write cache", "write cache"),
    ("hardware write cache", "write cache"),
    ("hardware and software write caches", "write cache"),
    ("using O_DIRECT", "cache"),
    ("using O_SYNC", "write cache"),
    ("memory mapped I/O", "memory mapped"),
    ("zeroing write buffers", "write buffers"),
    ("throughput rate-limited", "rate"),
    ("using completion routines", "completion"),
    ("using I/O Completion Ports", "completion"),
    ("using parallel async", "parallel"),
    ("using FILE_", "hint"),
    ("affinity disabled", "affinity"),
    ("advanced affinity", "affinity"),
    ("generating random data", "write buffers"),
)
"""Beginnings of lines that state a parameter without its name, and the setting that each stands for."""
_PASSED: Final = re.compile(
    r"-{4,}|_+|measuring latency|gathering IOPS|thread pool with|using verbose mode|"
    r"WARNING: this increases|be compared to other"
)
_KEPT: Final = (
    *(
        "block size",
        "number of outstanding I/O operations",
        "threads per file",
        "thread count",
        "request count",
    ),
    *("duration", "reads", "pattern", "alignment", "think time", "burst size", "write buffer size"),
    *("base file offset", "max file size", "thread stride size", "IO priority", "path", "size"),
    *dict.fromkeys(name for _, name in _WORDS),
)


_SIZES: Final = (
    *("block size", "alignment", "write buffer size", "base file offset", "max file size"),
    "thread stride size",
)
_UNSET_AT_0: Final = ("base file offset", "max file size", "thread stride size")
"""Settings that DiskSpd 2.2 prints only where they are set, and older versions as 0 as well."""


class Span(msgspec.Struct):
    """The parameters of one timespan, and of each of its targets."""

    settings: dict[str, str] = {}
    targets: list[dict[str, str]] = []

    def put(self, name: str, value: str) -> None:
        """Keeps a parameter of the target that was named last, or of the timespan."""
        if name == "path":
            self.targets.append({})
        if name in _SIZES:
            value = plain_bytes(value)
        if value == "0" and name in _UNSET_AT_0:
            return
        where = self.targets[-1] if self.targets and name not in (*_SPAN, *_MEASURED) else self.settings
        where.setdefault(name, value)

    def text_of(self, name: str) -> str:
        """The values of a parameter over the targets, each once; empty where it is missing."""
        if name in self.settings:
            return self.settings[name]
        return " and ".join(dict.fromkeys(target[name] for target in self.targets if name in target))

    def outstanding(self) -> int | None:
        """Operations that could be outstanding at once."""
        threads = whole(self.text_of("thread count") or self.text_of("total threads"))
        if requests := whole(self.text_of("request count")):
            return threads * requests if threads else None
        found = 0
        for target in self.targets:
            depth = whole(target.get("number of outstanding I/O operations", ""))
            each = whole(target.get("threads per file", "")) or threads
            if not depth or not each:
                return None
            found += depth * each
        return found or None


def plain_bytes(text: str) -> str:
    """A size in bytes: versions print "8KiB" and "8192" for the same; a rounded one ("1.53KiB") stays as it is."""
    size = None if "." in text else binary_size(text)
    return text if size is None else str(size)


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return "Input parameters:" in source.text_head and bool(_BEGINS.search(source.text_head))


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it is none of DiskSpd's."""
    if not knows(source):
        raise Refused(
            source.path, found="no 'Input parameters:' and timespan of DiskSpd", code="not-understood"
        )
    reader = _Reader(Result(tool="diskspd", version=None, layout=LAYOUT, runs=[]))
    lines = source.lines()
    for at, line in enumerate(lines, 1):
        if at == len(lines) and not source.ends_with_line and _FIGURES.match(line):
            reader.result.skip(at, line, "no line end: it may be cut within a number")
        elif line.strip() and not reader.line(at, line.rstrip("\r")):
            reader.result.skip(at, line, "no line of DiskSpd's results")
    reader.result.refuse_empty(
        source.path, "DiskSpd printed no totals", code="incomplete", advice="the run did not come to its end"
    )
    return reader.result


class _Reader:
    def __init__(self, result: Result) -> None:
        self.result = result
        self.spans: dict[int, Span] = {}
        self.span = Span()
        self.call = 0
        self.part = ""
        self.columns: list[str] = []
        self.files: dict[str, str] = {}
        self.run: ToolRun | None = None

    def line(self, at: int, line: str) -> bool:
        """Process one line that is not empty, and return whether it was understood."""
        text = line.strip()
        if text.startswith("Input parameters:"):
            self.spans, self.run, self.call = {}, None, at
        elif found := _BEGINS.fullmatch(line):
            self.span = self.spans.setdefault(int(re.findall("[0-9]+", found[0])[0]), Span())
        elif found := _RESULTS.fullmatch(line):
            self.span, self.run, self.files = self.spans.get(int(found[1]), Span()), None, {}
        elif text in ("Total IO", "Read IO", "Write IO"):
            self.part = text.split(" ")[0].lower()
        elif found := _TOTAL.fullmatch(line):
            return self._total(at, found[1].split("|"))
        elif found := _PERCENTILE.fullmatch(line):
            _percentile(self.run, found)
        elif text.startswith("Command Line:"):
            self.result.command = self.result.command or text.partition(":")[2].strip()
        elif text.startswith("The test was interrupted"):
            self.result.lost.append(f"line {at}: DiskSpd was interrupted before it measured")
        elif text.startswith("thread ") and "I/Os" in text:
            self.columns = [word.strip() for word in text.split("|")[1:]]
        elif (found := _FILE.search(line)) and self.part == "total":
            self.files[found[1]] = plain_bytes(found[2])
        else:
            return self._setting(text) or bool(_TABLE.fullmatch(line) or _HEADS.match(text))
        return True

    def _setting(self, text: str) -> bool:
        """A parameter, by its words."""
        if mixed := _READS.match(text):
            self.span.put("reads", mixed[1])
        elif text.startswith("performing "):
            self.span.put("reads", "100" if "read" in text else "0")
        elif found := re.fullmatch(r"using (.*?) ?I/O(?: \((\d+% random)\))? \((\S+): (\S+)\)", text):
            share = f", {found[2]}" if found[2] else ""
            self.span.put("pattern", f"{found[1].replace('/', ' and ')}{share}")
            self.span.put("alignment", found[4])
        elif found := _NAMED.fullmatch(text):
            name, value = found[1], found[2]
            if name == "start time":
                self.result.began = self.result.began or value
            elif name == "computer name":
                self.result.machine["host"] = value
            elif name not in _MACHINE:
                self.span.put(name, value)
        else:
            name = next((name for words, name in _WORDS if text.startswith(words)), "")
            if name:
                self.span.put(name, text)
            return bool(name or _PASSED.match(text))
        return True

    def _total(self, at: int, texts: list[str]) -> bool:
        """A line of totals; those of all operations begin a run."""
        pairs = zip(self.columns, map(number, texts), strict=False)
        figures = {name: figure for name, figure in pairs if figure is not None}
        if not figures.keys() >= {"bytes", "I/Os", "I/O per s"}:
            return False
        if self.part == "total":
            self.run = run_of(at, figures, self.span, self.files)
            self.run.call = self.call
            self.result.runs.append(self.run)
        elif self.run is not None:
            put_direction(self.run, self.part, figures)
        return True


def run_of(at: int, figures: dict[str, float], span: Span, files: dict[str, str]) -> ToolRun:
    """The run of one timespan, by the columns of its totals: `bytes`, `I/Os`, `I/O per s`, `AvgLat` in milliseconds.

    A column that is missing is a figure that is missing. `files`: size of each file, in bytes.
    """
    seconds = number((span.text_of("actual test time") or span.text_of("test time")).rstrip("s"))
    block = binary_size(span.text_of("block size"))
    does = {"0": "write", "100": "read"}.get(span.text_of("reads"), "mix")
    pattern = span.text_of("pattern")
    words = f"{pattern} {does}".strip().replace(",", "").replace(" ", "_")
    levels = {name: value for name in _KEPT if (value := span.text_of(name))}
    if "path" in levels:
        levels["filename"] = levels.pop("path")
    if files:
        levels["file size"] = " and ".join(dict.fromkeys(files.values()))
    run = ToolRun(
        cell=f"diskspd.{words}{f' {record_words(block)}' if block else ''}",
        kind="iops" if "random" in pattern else "throughput",
        line=at,
        levels=levels,
        rate_bytes_per_s=figures["bytes"] / seconds if seconds and "bytes" in figures else None,
        ops_per_s=figures.get("I/O per s"),
        elapsed_s=seconds or None,
        outstanding=span.outstanding(),
        printed=list(figures.items()),
    )
    if "AvgLat" in figures:
        run.quantiles_ns["mean"] = 1e6 * figures["AvgLat"]
        run.latency_sum_ns = 1e6 * figures["AvgLat"] * figures["I/Os"] if "I/Os" in figures else None
    return run


def put_direction(run: ToolRun, part: str, figures: dict[str, float]) -> None:
    """Keeps the bytes and operations of the part "read" or "write"."""
    moved, ops = whole(figures.get("bytes")), whole(figures.get("I/Os"))
    if part == "read":
        run.bytes_read, run.ops_read = moved, ops
    else:
        run.bytes_written, run.ops_written = moved, ops


def _percentile(run: ToolRun | None, found: re.Match[str]) -> None:
    """Process one row of the table of percentiles; its last column covers reads and writes together."""
    value = number(found[4])
    if run is None or value is None:
        return
    run.printed.append((f"{found[1]} ms", value))
    if found[1] in _QUANTILES:
        run.quantiles_ns[_QUANTILES[found[1]]] = 1e6 * value
    if found[1] == "99th":
        run.latency_p99_ns = 1e6 * value
