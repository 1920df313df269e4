"""The lines of dd, hdparm and SQLIO, and the result file of IOMeter, byte by byte as the tools print them.

dd prints three lines: records in, records out, and what was copied in which time. hdparm prints a line each for -T and
-t, where a MB is 2^20 bytes and a kB 1024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mileage.model.histogram import Histogram, bounds_of

_SI: Final = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_IEC: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_MIB: Final = 1 << 20
_TITLES: Final = {
    ("cached", False): "cached reads:  ",
    ("cached", True): "O_DIRECT cached reads:  ",
    ("buffered", False): "buffered disk reads:",
    ("buffered", True): "O_DIRECT disk reads:",
}


def amount(value: float, base: int) -> str:
    """A number of bytes with its unit, with one digit after the point below ten; `base` is 1000 or 1024."""
    units = _SI if base == 1000 else _IEC
    power = 0
    while value >= base and power < len(units) - 1:
        value, power = value / base, power + 1
    if power and round(value, 1) < 10:
        return f"{value:.1f} {units[power]}"
    if round(value) >= base and power < len(units) - 1:
        return f"1.0 {units[power + 1]}"
    return f"{value:.0f} {units[power]}"


def summary(bytes_moved: int, block: int, seconds: float) -> str:
    """The summary that dd prints: records in, records out, and bytes with duration and rate; three lines."""
    whole, part = divmod(bytes_moved, block)
    records = f"{whole}+{1 if part else 0}"
    shown = f"{bytes_moved} bytes"
    if bytes_moved >= 1024:
        shown += f" ({amount(bytes_moved, 1000)}, {amount(bytes_moved, 1024)})"
    elif bytes_moved >= 1000:
        shown += f" ({amount(bytes_moved, 1000)})"
    rate = amount(bytes_moved / seconds, 1000) + "/s" if seconds > 0 else "Infinity B/s"
    return f"{records} records in\n{records} records out\n{shown} copied, {seconds:g} s, {rate}\n"


def timing_label(what: str, direct: bool) -> str:
    """What hdparm prints before it measures: the first words of its line."""
    return f" Timing {_TITLES[what, direct]} "


def timing_line(what: str, direct: bool, bytes_read: int, seconds: float) -> str:
    """The line of hdparm: `what` is "cached" or "buffered"."""
    rate = bytes_read / _MIB / seconds if seconds > 0 else 0.0
    unit = "MB"
    if 0 < rate <= 1.0:
        rate, unit = rate * 1024, "kB"
    moved = bytes_read // _MIB
    label = timing_label(what, direct)
    return f"{label}{moved:3d} MB in {seconds:5.2f} seconds = {rate:6.2f} {unit}/sec\n"


# SQLIO's cumulative lines: rates, latencies in whole milliseconds, and its histogram of 25 classes.
# Scope: the layout of SQLIO 1.5 as remembered; no file of it was at hand to compare with. A MB is 2^20 bytes; class N
# of the histogram has latencies from N ms to less than N + 1 ms, the last one all from 24 ms; shares are whole
# percents. A latency is known to 0.4 %, so that one just above a whole millisecond may be in the class before.

CLASSES: Final = 25
_MS: Final = 1_000_000


@dataclass(frozen=True)
class SqlioRun:
    """One run: what was done in which time, and the latencies of its operations."""

    threads: int
    verb: str
    """ "reading" or "writing"."""
    pattern: str
    """ "random" or "sequential"."""
    record_bytes: int
    depth: int
    place: str
    seconds: float
    operations: int
    bytes_moved: int
    latency: Histogram


def shares_of(latency: Histogram) -> list[int]:
    """Operations of each class in whole percents of all; of no operation zeros."""
    counts = [0] * CLASSES
    for index, count in latency.buckets:
        counts[min(bounds_of(index)[0] // _MS, CLASSES - 1)] += count
    return [round(100 * count / latency.count) if latency.count else 0 for count in counts]


def sqlio_text(run: SqlioRun) -> str:
    """The lines of one run, ending in a line feed."""
    each = f"{run.threads} thread{'' if run.threads == 1 else 's'}"
    latency = run.latency
    rates = (
        (run.operations / run.seconds, run.bytes_moved / _MIB / run.seconds) if run.seconds else (0.0, 0.0)
    )
    lines = [
        f"{each} {run.verb} for {run.seconds:.0f} secs {'from' if run.verb == 'reading' else 'to'} file {run.place}",
        f"\tusing {run.record_bytes // 1024}KB {run.pattern} IOs",
        *([f"\tenabling multiple I/Os per thread with {run.depth} outstanding"] if run.depth > 1 else []),
        "CUMULATIVE DATA:",
        "throughput metrics:",
        f"IOs/sec: {rates[0]:8.2f}",
        f"MBs/sec: {rates[1]:8.2f}",
        "latency metrics:",
        f"Min_Latency(ms): {latency.min_ns // _MS}",
        f"Avg_Latency(ms): {int(latency.mean_ns or 0) // _MS}",
        f"Max_Latency(ms): {latency.max_ns // _MS}",
        "histogram:",
        "ms:" + "".join(f"{number:2d} " for number in range(CLASSES)).rstrip() + "+",
        "%:" + "".join(f"{share:3d}" for share in shares_of(latency)),
    ]
    return "\n".join(lines) + "\n"


# IOMeter's result file: its header and the rows that it makes of a run.
# Scope: the columns from the kind of row to the queue depth, in IOMeter's order; a response time is in
# milliseconds, a MiB 2^20 bytes and a MB 10^6.
# Columns of networks and of raw ticks are omitted.

COLUMNS: Final = (
    *("'Target Type", "Target Name", "Access Specification Name", "# Managers", "# Workers", "# Disks"),
    *("IOps", "Read IOps", "Write IOps", "MiBps (Binary)", "Read MiBps (Binary)", "Write MiBps (Binary)"),
    *("MBps (Decimal)", "Read MBps (Decimal)", "Write MBps (Decimal)", "Average Response Time"),
    *("Average Read Response Time", "Average Write Response Time", "Maximum Response Time"),
    *("Maximum Read Response Time", "Maximum Write Response Time", "Errors", "Bytes Read", "Bytes Written"),
    *("Read I/Os", "Write I/Os", "Queue Depth"),
)


@dataclass(frozen=True)
class Row:
    """The figures of one specification; times in nanoseconds, `seconds` the length of the run."""

    specification: str
    workers: int
    depth: int
    seconds: float
    reads: int
    writes: int
    bytes_read: int
    bytes_written: int
    mean_ns: tuple[float, float, float]
    """Mean latency of all operations, of reads, and of writes; 0 where there are none."""
    max_ns: tuple[float, float, float]


def result_text(description: str, began: str, target: str, rows: Sequence[Row]) -> str:
    """The whole file."""
    return result_head(description, began) + "".join(map(result_row, rows)) + result_end(began, target, rows)


def result_head(description: str, began: str) -> str:
    """The lines before the first row."""
    lines = [
        "'Test Type,Test Description",
        f"0,{description}",
        "'Version",
        "Mileage",
        "'Time Stamp",
        began,
        "'Results",
        ",".join(COLUMNS),
    ]
    return "\n".join(lines) + "\n"


def result_row(row: Row) -> str:
    """The row of a specification on all targets."""
    return _line("ALL", "All", row) + "\n"


def result_end(began: str, target: str, rows: Sequence[Row]) -> str:
    """The rows of the target, and the lines after them."""
    return "\n".join([*(_line("DISK", target, row) for row in rows), "'Time Stamp", began]) + "\n"


def _line(kind: str, name: str, row: Row) -> str:
    def per_s(value: float) -> float:
        return value / row.seconds if row.seconds else 0.0

    moved = (row.bytes_read + row.bytes_written, row.bytes_read, row.bytes_written)
    rates = [per_s(value) for value in (row.reads + row.writes, row.reads, row.writes)]
    rates += [per_s(value) / (1 << 20) for value in moved]
    rates += [per_s(value) / 1e6 for value in moved]
    rates += [value / 1e6 for value in (*row.mean_ns, *row.max_ns)]
    shown = [f"{value:.6f}" for value in rates]
    counts = [0, row.bytes_read, row.bytes_written, row.reads, row.writes, row.depth]
    head = [kind, name.replace(",", ";"), row.specification.replace(",", ";"), "1", str(row.workers), "1"]
    return ",".join([*head, *shown, *map(str, counts)])
