"""IOMeter's result file: its header and the rows that it makes of a run.

Scope: the columns from the kind of row to the queue depth, in IOMeter's order; a response time is in
milliseconds, a MiB 2^20 bytes and a MB 10^6.
Columns of networks and of raw ticks are omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
