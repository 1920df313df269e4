"""Histograms of latencies as a run's record holds them: joined, asked for a quantile, and chosen for a judgement.

Models the JSON of the measure crate: counts in buckets, so that joining them is exact. Refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

Histogram = dict[str, Any]

KINDS: Final = ("read", "write", "discard", "metadata")
"""Kinds of operations that a user waits for; a sync ends a run and is told by itself."""


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """One stored histogram of all values of several: exact, as counts in the same buckets add up."""
    filled = [histogram for histogram in histograms if histogram["count"]]
    if len(filled) == 1:
        return filled[0]
    buckets: dict[int, int] = {}
    for histogram in filled:
        for index, number in histogram["buckets"]:
            buckets[index] = buckets.get(index, 0) + number
    return {
        "count": sum(histogram["count"] for histogram in filled),
        "sum_ns": sum(histogram["sum_ns"] for histogram in filled),
        "min_ns": min((histogram["min_ns"] for histogram in filled), default=0),
        "max_ns": max((histogram["max_ns"] for histogram in filled), default=0),
        "buckets": [list(bucket) for bucket in sorted(buckets.items())],
    }


def of_all_kinds(latency: Mapping[str, Histogram]) -> Histogram:
    """The latencies of all operations of a run but its syncs, from their submission."""
    return merge(latency[kind] for kind in KINDS if kind in latency)


def of_judgement(latency: Mapping[str, Histogram]) -> Histogram:
    """The latencies that a run is judged by: in the open loop from when operations were due, of all kinds together."""
    response = latency.get("response")
    return response if response and response["count"] else of_all_kinds(latency)


def quantile_ns(histogram: Histogram, q: float) -> int | None:
    """Nearest-rank quantile of a stored histogram in nanoseconds, `q` in 0..1; None when it is empty."""
    from mileage import _core

    return _core.latency_quantile_ns(msgspec.json.encode(histogram).decode(), q)
