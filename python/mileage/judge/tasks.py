"""The figures of IOR, mdtest and metarates by these tools' own formulas, to stand next to ours.

Scope: what each tool computes from the same times, named for what it is: IOR's standard deviation divides by
n, its latency is the smallest of the tasks' means, its operations per second of 2010 omit the segments; mdtest's
rate is the slowest task's times the tasks. Ours are a phase's operations over its time from the earliest start to the
latest end, histograms of all operations, and deviations that divide by n - 1.
Times are above 0 and lists hold at least one value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

MIB: Final = 1 << 20
DECIMAL: Final = MIB / 1e6
"""MB/s for each MiB/s."""


def bandwidth_mib_s(byte_count: int, total_s: float) -> float:
    """IOR's bw: bytes moved over the time from the first open to the last close."""
    return byte_count / MIB / total_s


def operations_per_s(transfers: int, seconds: float) -> float:
    """Operations of a phase over its time."""
    return transfers / seconds


def smallest_mean_latency_s(times_s: Sequence[float], counts: Sequence[int]) -> float:
    """IOR's "Latency": of each task its time over its transfers, and the smallest of these.

    The fastest task stands for all; a percentile of all operations does not flatter so.
    """
    return min(time_s / count for time_s, count in zip(times_s, counts, strict=True))


def deviation_over_n(values: Sequence[float]) -> float:
    """IOR's StdDev: the root of the mean square deviation, with n as the divisor."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


class Column(NamedTuple):
    """Four columns of IOR's summary."""

    max: float
    min: float
    mean: float
    deviation_over_n: float


def column(values: Sequence[float]) -> Column:
    """Statistics of a phase over its repetitions."""
    return Column(max(values), min(values), math.fsum(values) / len(values), deviation_over_n(values))


def mdtest_column(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Mdtest's Max, Min, Mean and Std Dev of the iterations: it divides by n - 1, and is 0 for a single one."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    deviation = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0
    return max(values), min(values), mean, deviation


class Summary(NamedTuple):
    """A line of IOR's summary."""

    mib_s: Column
    operations_per_s: Column
    """Operations per second as newer versions of IOR define them: transfers divided by the whole time."""
    mean_s: float


def summary(byte_count: int, transfers: int, totals_s: Sequence[float]) -> Summary:
    """Figures of the repetitions of a phase that each moved the given bytes in the given transfers."""
    rates = column([bandwidth_mib_s(byte_count, total_s) for total_s in totals_s])
    operations = column([operations_per_s(transfers, total_s) for total_s in totals_s])
    return Summary(rates, operations, math.fsum(totals_s) / len(totals_s))


def mdtest_per_s(counts: Sequence[int], times_s: Sequence[float]) -> float:
    """Mdtest's rate: that of the slowest task, times the tasks."""
    slowest = min(count / time_s for count, time_s in zip(counts, times_s, strict=True))
    return slowest * len(counts)


def mdtest_tree_per_s(directories: int, trees: int, time_s: float) -> float:
    """Mdtest's rate of making or removing trees, directories a second: of one tree, however many tasks have one.

    `directories` are those of all trees, `time_s` lasts until the last task is done (mdtest.c of IOR 4.0.0:
    `num_dirs_in_tree / (endCreate - startCreate)`, between two barriers).
    """
    return directories / trees / time_s


class MetaratesFigures(NamedTuple):
    """Figures that metarates prints for a test, in operations per second."""

    max_rate: float
    min_rate: float
    """Lowest rate of a task."""
    average_rate: float
    total_rate: float
    """The slowest task's, times the tasks."""


def metarates_figures(files: int, times_s: Sequence[float]) -> MetaratesFigures:
    """Figures of a test in which all tasks together handle `files` files, in equal shares."""
    each = files / len(times_s)
    slowest = each / max(times_s)
    return MetaratesFigures(each / min(times_s), slowest, files / math.fsum(times_s), slowest * len(times_s))
