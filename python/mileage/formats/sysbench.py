"""The output of `sysbench fileio`, of sysbench 1.0: runs, and the preparation of the files.

Scope: each call is a run; operations are reads and writes together, and fsyncs stand in `printed`. Bytes per second are
operations times the block size where this agrees with the rounded MiB/s (2^20 bytes). Latencies are milliseconds with
two digits, of reads, writes and fsyncs alike; where each event is a write that is durable when it ends, they are times
of commits.
The version may be missing, as its line is the first one, and of 1.0 alone is "File operations".
What it refuses: sysbench before 1.0, which prints Mb, and output of other tests than fileio.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import binary_size, number, whole
from mileage.formats.result import Result, ToolRun, shown
from mileage.model.cell_key import CellKey
from mileage.plan.sizes import record_words

LAYOUT: Final = "sysbench"
MIB: Final = 1 << 20
_TESTS: Final = {
    "sequential write (creation)": "seqwr",
    "sequential rewrite": "seqrewr",
    "sequential read": "seqrd",
    "random read": "rndrd",
    "random write": "rndwr",
    "random r/w": "rndrw",
}
"""What sysbench calls a test in its output, and in --file-test-mode."""
_NUMBER: Final = r"([0-9]{1,18}(?:\.[0-9]{1,9})?)"
_BEGIN: Final = "Running the test with following options:"
_SETTINGS: Final = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("threads", r"Number of threads: ([0-9]{1,6})"),
        ("open flags", r"Extra file open flags: (.{1,80})"),
        ("files", r"([0-9]+ files, \S{1,20} each)"),
        ("total size", r"(\S{1,20}) total file size"),
        ("block size", r"Block size (\S{1,20})"),
        ("requests", r"Number of IO requests: ([0-9]{1,19})"),
        ("read/write ratio", rf"Read/Write ratio for combined random IO test: {_NUMBER}"),
        ("fsync", r"Periodic FSYNC enabled, calling fsync\(\) each ([0-9]+ requests)\."),
        ("fsync at the end", r"Calling fsync\(\) at the end of test, (Enabled)\."),
        ("fsync after each write", r"(Calling fsync\(\)) after each write operation\."),
        ("I/O mode", r"Using (.{1,60}) I/O mode"),
        ("test", r"Doing (.{1,60}) test"),
        ("rate", r"Target transaction rate: (\S{1,20})/sec"),
        ("merged", r"Merging requests up to (\S{1,20}) for sequential IO\."),
    )
)
_FIGURES: Final = re.compile(
    rf"\s+(?P<name>reads/s|writes/s|fsyncs/s|read, MiB/s|written, MiB/s|total time|total number of events|min|avg|max|"
    rf"[0-9]{{1,3}}(?:th|st|nd|rd) percentile|sum):\s+(?P<value>{_NUMBER[1:-1]})s?\s*"
)
_FAIRNESS: Final = re.compile(rf"\s+(?:events|execution time) \(avg/stddev\):\s+{_NUMBER}/{_NUMBER}")
_INTERVAL: Final = re.compile(
    rf"\[ {_NUMBER}s \] reads: {_NUMBER} MiB/s writes: {_NUMBER} MiB/s fsyncs: {_NUMBER}/s "
    rf"latency \(ms,[0-9]+%\): {_NUMBER}"
)
_PREPARED: Final = re.compile(rf"([0-9]{{1,19}}) bytes written in {_NUMBER} seconds \({_NUMBER} MiB/sec\)\.")
_OTHER: Final = re.compile(
    r"(?:File operations|Throughput|General statistics|Latency \(ms\)|Threads fairness):|Threads started!|"
    r"Initializing (?:worker threads\.\.\.|random number generator from .*)|"
    r"Report intermediate results every [0-9]+ second\(s\)|Random number generator seed is .*|"
    r"Latency histogram \(values are in milliseconds\)|\s+value\s+-+ distribution -+ count|"
    r"\s+[0-9.]+ \|\**\s+[0-9]+|[0-9]+ files, [0-9]+Kb each, [0-9]+Mb total|Creating files for the test\.\.\.|"
    r"Extra file open flags: .{1,80}|Creating file test_file\.[0-9]+|Removing test files\.\.\."
)


class _Call(msgspec.Struct):
    """The lines of one call."""

    line: int
    settings: dict[str, str] = {}
    figures: dict[str, float] = {}
    intervals: list[tuple[str, float]] = []
    whole: bool = False
    """Whether its last lines, on the fairness of threads, are there."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    head = source.text_head.replace("\r", "")
    marks = (
        "File operations:",
        "Extra file open flags:",
        "Operations performed:",
        "Creating files for the test...",
    )
    begun = re.search(rf"^(?:sysbench v?[0-9]|{_BEGIN}$)", head, re.MULTILINE)
    return bool(begun) and any(mark in head for mark in marks)


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds none, or is of a version before 1.0."""
    result = Result(tool="sysbench", version=None, layout=LAYOUT, runs=[])
    call: _Call | None = None
    calls: list[_Call] = []
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r ")
        if found := re.match(r"sysbench v?([0-9]\S*)", line):
            _version(source, result, at, found[1])
            call = None
        elif line.strip().startswith("Operations performed:"):
            raise Refused(
                f"{source.path}, line {at}",
                shown(line),
                expected="sysbench 1.0, whose output is read",
                code="unsupported",
            )
        elif line == _BEGIN:
            call = _Call(at)
            calls.append(call)
        elif found := _PREPARED.fullmatch(line):
            _prepared(result, at, found)
        elif line.strip() and not (call and _take(call, line)) and not _OTHER.fullmatch(line):
            result.skip(at, line, "no line of sysbench fileio that can stand here")
    if calls and calls[-1].figures and not calls[-1].whole and not source.ends_with_line:
        # The last line is cut, perhaps within its number.
        calls[-1].figures.popitem()
    for done in calls:
        run = _run(done)
        if run.ops_per_s is not None and not done.whole:
            result.lost.append(f"the call of line {done.line} has no end: figures may be missing")
        if run.ops_per_s is not None:
            result.runs.append(run)
        else:
            why = "was it interrupted, or of another test than fileio?"
            result.lost.append(f"the call of line {done.line} has no reads/s and writes/s: {why}")
    result.refuse_empty(source.path, "no result of sysbench fileio was understood")
    return result


def _version(source: Source, result: Result, at: int, version: str) -> None:
    if not version.startswith("1.0"):
        raise Refused(
            f"{source.path}, line {at}",
            f"sysbench {version[:20].rstrip(':')}",
            expected="sysbench 1.0, whose output is read",
            code="unsupported",
        )
    result.version = result.version or version


def _take(call: _Call, line: str) -> bool:
    """Take a setting or a figure; whether a line has one."""
    for name, pattern in _SETTINGS:
        if found := pattern.fullmatch(line):
            call.settings[name] = found[1]
            return True
    if found := _FIGURES.fullmatch(line):
        value = number(found["value"])
        if value is None or found["name"] in call.figures:
            return False
        call.figures[found["name"]] = value
        return True
    if found := _INTERVAL.fullmatch(line):
        names = ("reads (MiB/s)", "writes (MiB/s)", "fsyncs/s", "latency (ms)")
        texts = zip(names, found.groups()[1:], strict=True)
        call.intervals += [(f"{found[1]} s: {name}", float(text)) for name, text in texts]
        return True
    call.whole = call.whole or bool(_FAIRNESS.fullmatch(line))
    return bool(_FAIRNESS.fullmatch(line))


def _prepared(result: Result, at: int, found: re.Match[str]) -> None:
    moved, seconds, rate = whole(found[1]), number(found[2]), number(found[3])
    if moved is None or seconds is None or rate is None:
        result.skip(at, found[0], "figures that are no numbers")
        return
    result.runs.append(
        ToolRun(
            cell="sysbench.prepare",
            key=CellKey("sysbench.prepare"),
            kind="throughput",
            line=at,
            call=at,
            rate_bytes_per_s=rate * MIB,
            elapsed_s=seconds or None,
            bytes_written=moved,
            printed=[("bytes", float(moved)), ("seconds", seconds), ("MiB/sec", rate)],
        )
    )


def _run(call: _Call) -> ToolRun:
    """The run of a call; without a figure where it was interrupted."""
    settings, figures = call.settings, call.figures
    test = _TESTS.get(settings.get("test", ""), "fileio")
    block = binary_size(settings.get("block size", ""))
    threads = whole(settings.get("threads"))
    ops = _sum(figures, "reads/s", "writes/s")
    run = ToolRun(
        cell=_label(test, block, threads, settings),
        key=CellKey(f"sysbench.{test}"),
        kind="throughput" if test.startswith("seq") else "iops",
        title=settings.get("test", ""),
        line=call.line,
        call=call.line,
        levels={name: value for name, value in settings.items() if name != "test"},
        rate_bytes_per_s=_rate(figures, ops, block),
        ops_per_s=ops,
        elapsed_s=figures.get("total time") or None,
        outstanding=threads if settings.get("I/O mode") == "synchronous" else None,
        printed=[*figures.items(), *call.intervals],
    )
    # sysbench prints 0 for a percentile that was not asked for.
    names = {"min": "min", "avg": "mean", "max": "max", "50th percentile": "p50", "90th percentile": "p90"}
    names["99th percentile"] = "p99"
    run.quantiles_ns = {key: 1e6 * figures[name] for name, key in names.items() if figures.get(name)}
    run.latency_p99_ns = run.quantiles_ns.get("p99")
    _commits(run, settings, figures)
    if figures.get("sum"):
        run.latency_sum_ns = 1e6 * figures["sum"]
    return run


def _commits(run: ToolRun, settings: dict[str, str], figures: dict[str, float]) -> None:
    """Quantiles of commits, where each event of sysbench is one: a write with its sync, or a durable write.

    Periodic syncs are events of their own, and sysbench has one latency for all events (`sb_fileio.c`).
    """
    syncs_each = "fsync after each write" in settings
    periodic = "fsync" in settings
    flags = settings.get("open flags", "").split()
    waits = settings.get("I/O mode") == "synchronous"
    writes_only = figures.get("reads/s") == 0 and bool(figures.get("writes/s"))
    if writes_only and waits and (syncs_each or (not periodic and not {"sync", "dsync"}.isdisjoint(flags))):
        events = figures.get("total number of events")
        run.keep_quantiles("commit", run.quantiles_ns, None if events is None else round(events))
    elif figures.get("fsyncs/s"):
        run.notes.append(
            f"{run.cell}: sysbench states {figures['fsyncs/s']:g} fsyncs a second and one latency of reads, writes and "
            "fsyncs together: times of syncs and commits are not stated (with --file-fsync-all, writes only, each "
            "event is a commit)"
        )


def _sum(figures: dict[str, float], *names: str) -> float | None:
    """The sum of figures; None where one is missing."""
    return sum(figures[name] for name in names) if all(name in figures for name in names) else None


def _rate(figures: dict[str, float], ops: float | None, block: int | None) -> float | None:
    """Bytes per second: operations times the block size has more digits than MiB/s, and must agree with it."""
    mib = _sum(figures, "read, MiB/s", "written, MiB/s")
    printed = None if mib is None else mib * MIB
    if printed is not None and ops is not None and block and abs(ops * block - printed) <= 0.015 * MIB:
        return ops * block
    return printed


def _label(test: str, block: int | None, threads: int | None, settings: dict[str, str]) -> str:
    words = [f"sysbench.{test}" + (f" {record_words(block)}" if block else "")]
    ratio = number(settings.get("read/write ratio")) if test == "rndrw" else None
    words += [f"{100 * ratio / (1 + ratio):.0f} % reads"] if ratio is not None else []
    words += [f"{threads} threads"] if threads and threads > 1 else []
    return ", ".join(words)
