"""SQLIO's cumulative lines: rates, latencies in whole milliseconds, and its histogram of 25 classes.

Scope: the layout of SQLIO 1.5 as remembered; no file of it was at hand to compare with. A MB is 2^20 bytes; class N
of the histogram has latencies from N ms to less than N + 1 ms, the last one all from 24 ms; shares are whole
percents. A latency is known to 0.4 %, so that one just above a whole millisecond may be in the class before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mileage.model.histogram import Histogram, bounds_of

CLASSES: Final = 25
_MS: Final = 1_000_000
_MIB: Final = 1 << 20


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
