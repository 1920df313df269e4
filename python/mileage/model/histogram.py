"""Latencies in buckets, as a run record holds them: merged exactly, asked for a quantile.

Scope: log-linear buckets, one for each nanosecond below 256 and 128 to each power of two above, so that a
latency is known to 0.4 %. Counts in equal buckets add up, so a merged histogram is exact.
`store.journal_line_check` compares the parts of a histogram from a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from mileage.model.number_ranges import Count, Total

SUB_BITS: Final = 7
"""Binary logarithm of the number of buckets in each power of two (2^7)."""
LINEAR: Final = 1 << (SUB_BITS + 1)
"""Latencies below this, in nanoseconds, have a bucket each."""


class Histogram(msgspec.Struct, frozen=True):
    """Latencies in nanoseconds, counted by bucket."""

    count: Count = 0
    """Values recorded."""
    sum_ns: Total = 0
    min_ns: Count = 0
    """The smallest value, exact; 0 when empty."""
    max_ns: Count = 0
    """The largest value, exact; 0 when empty."""
    buckets: list[tuple[Count, Count]] = []
    """Index and count of each bucket that holds something, ascending by index; see `bounds_of`."""

    def quantile_ns(self, q: float) -> int | None:
        """Nearest-rank quantile in nanoseconds, `q` in 0..1; None when the histogram is empty."""
        from mileage._core import latency_quantile_ns

        return latency_quantile_ns(msgspec.json.encode(self).decode(), q)

    @property
    def mean_ns(self) -> float | None:
        """The mean, exact; None when the histogram is empty."""
        return self.sum_ns / self.count if self.count else None

    @staticmethod
    def merge(histograms: Iterable[Histogram]) -> Histogram:
        """Merge several histograms into one."""
        filled = [histogram for histogram in histograms if histogram.count]
        if len(filled) == 1:
            return filled[0]
        buckets: dict[int, int] = {}
        for histogram in filled:
            for index, number in histogram.buckets:
                buckets[index] = buckets.get(index, 0) + number
        return Histogram(
            count=sum(histogram.count for histogram in filled),
            sum_ns=sum(histogram.sum_ns for histogram in filled),
            min_ns=min((histogram.min_ns for histogram in filled), default=0),
            max_ns=max((histogram.max_ns for histogram in filled), default=0),
            buckets=sorted(buckets.items()),
        )


def bucket_of(value_ns: int) -> int:
    """The bucket of a latency of 0 to 2^64-1 nanoseconds."""
    if value_ns < LINEAR:
        return value_ns
    octave = value_ns.bit_length() - 1 - SUB_BITS
    return (octave << SUB_BITS) + (value_ns >> octave)


def bounds_of(bucket: int) -> tuple[int, int]:
    """The least and the greatest latency of a bucket, in nanoseconds."""
    if bucket < LINEAR:
        return bucket, bucket
    octave = (bucket >> SUB_BITS) - 1
    low = ((bucket & (LINEAR // 2 - 1)) | LINEAR // 2) << octave
    return low, low + (1 << octave) - 1
