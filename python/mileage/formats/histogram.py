"""Latencies of other tools' histograms, in the buckets of ours.

Scope: the same log-linear buckets as the engine's: below 256 ns one each, above 128 to a power of two, so that
a value is known to 0.4 %. What another tool counted in a wider bin stands where that tool says the bin is.
Values that are no whole numbers of nanoseconds are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mileage.model.histogram import Histogram, bucket_of

_QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}


def histogram_of(
    counts: Mapping[int, int],
    sum_ns: float | None = None,
    min_ns: int | None = None,
    max_ns: int | None = None,
) -> Histogram:
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
        return Histogram()
    held = [value_ns for value_ns, count in counts.items() if count > 0]
    total = sum(value_ns * count for value_ns, count in counts.items()) if sum_ns is None else sum_ns
    return Histogram(
        count=sum(buckets.values()),
        sum_ns=min(round(total), (1 << 64) - 1),
        min_ns=_within(min_ns, min(held)),
        max_ns=_within(max_ns, max(held)),
        buckets=sorted(buckets.items()),
    )


def _within(exact_ns: int | None, held_ns: int) -> int:
    """The exact extreme where it lies in the bucket of the outermost value, else that value."""
    if exact_ns is not None and bucket_of(exact_ns) == bucket_of(held_ns):
        return exact_ns
    return held_ns


def quantile_ns(histogram: Histogram, q: float) -> float:
    """Nearest-rank quantile in nanoseconds of a histogram that is not empty."""
    return float(histogram.quantile_ns(q) or 0)


def quantiles_ns(histogram: Histogram) -> dict[str, float]:
    """The quantiles that a run keeps of a histogram that is not empty, by their names."""
    return {name: quantile_ns(histogram, q) for name, q in _QUANTILES.items()}
