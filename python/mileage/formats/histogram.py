"""Latencies of other tools' histograms, in the buckets of ours.

What it models: the same log-linear buckets as the engine's: below 256 ns one each, above 128 to a power of two, so that
a value is known to 0.4 %. What another tool counted in a wider bin stands where that tool says the bin is.
What it refuses: nothing; values that are no whole numbers of nanoseconds are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

SUB_BITS: Final = 7
LINEAR: Final = 1 << (SUB_BITS + 1)


def bucket_of(value_ns: int) -> int:
    """The bucket of a latency of 0 to 2^63-1 nanoseconds."""
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


def histogram_of(
    counts: Mapping[int, int],
    sum_ns: float | None = None,
    min_ns: int | None = None,
    max_ns: int | None = None,
) -> dict[str, Any]:
    """A stored histogram of values and how often each was counted.

    `sum_ns`, `min_ns`, `max_ns`: where the tool says them exactly; extremes that lie in another bucket than the
    outermost value give way to that value.
    """
    buckets: dict[int, int] = {}
    for value_ns, count in counts.items():
        if count > 0:
            bucket = bucket_of(value_ns)
            buckets[bucket] = buckets.get(bucket, 0) + count
    if not buckets:
        return {"count": 0, "sum_ns": 0, "min_ns": 0, "max_ns": 0, "buckets": []}
    held = [value_ns for value_ns, count in counts.items() if count > 0]
    total = sum(value_ns * count for value_ns, count in counts.items()) if sum_ns is None else sum_ns
    return {
        "count": sum(buckets.values()),
        "sum_ns": min(round(total), (1 << 64) - 1),
        "min_ns": _within(min_ns, min(held)),
        "max_ns": _within(max_ns, max(held)),
        "buckets": [list(entry) for entry in sorted(buckets.items())],
    }


def _within(exact_ns: int | None, held_ns: int) -> int:
    """The exact extreme where it lies in the bucket of the outermost value, else that value."""
    if exact_ns is not None and bucket_of(exact_ns) == bucket_of(held_ns):
        return exact_ns
    return held_ns


def quantile_ns(histogram: dict[str, Any], q: float) -> float:
    """Nearest-rank quantile of a stored histogram that is not empty: the middle of its bucket, within the extremes."""
    rank, seen = max(1, math.ceil(q * histogram["count"])), 0
    for bucket, count in histogram["buckets"]:
        seen += count
        if seen >= rank:
            low, high = bounds_of(bucket)
            return float(min(max((low + high) // 2, histogram["min_ns"]), histogram["max_ns"]))
    return float(histogram["max_ns"])
