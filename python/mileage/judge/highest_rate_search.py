"""The highest rate that keeps a latency: bisection over the rates of an open loop.

Scope: a rate either keeps the goal (its latency is at most the goal, and what was due was done) or it does
not. The search begins at half of what the target does in a closed loop, halves until a rate keeps the goal, and then
bisects between the highest rate that kept it and the lowest that did not, until they are within the tolerance.
What it refuses: guessing beyond what was probed. A goal that no rate keeps has no answer. Probes are noisy, so the
answer is the highest rate that was seen to keep the goal, and is to be measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

TOLERANCE: Final = 1.05
"""The search ends when the lowest rate that failed is at most this much above the highest that held."""
SMALLEST_SHARE: Final = 1 / 1024
"""Below this share of the closed loop's rate the search gives up."""
DONE_SHARE: Final = 0.98
"""A probe that did less than this share of what was due did not keep up."""


class Probe(msgspec.Struct, frozen=True):
    """One rate that the search tried."""

    rate: int
    """Operations per second that were due."""
    done_per_s: float
    """Operations per second that were done."""
    latency_ns: float
    """The quantile that the goal names, from when operations were due."""
    kept: bool
    """Whether the target kept the goal at this rate."""


def probe_of(rate: int, done_per_s: float, latency_ns: float, goal_ns: float) -> Probe:
    """A probe, judged by the goal in nanoseconds."""
    kept = latency_ns <= goal_ns and done_per_s >= DONE_SHARE * rate
    return Probe(rate, done_per_s, latency_ns, kept)


def best_of(probes: Sequence[Probe]) -> Probe | None:
    """The highest rate that kept the goal; None when none did."""
    return max((probe for probe in probes if probe.kept), key=lambda probe: probe.rate, default=None)


def next_rate(probes: Sequence[Probe], closed_ops_per_s: float) -> int | None:
    """The rate to try next, in operations per second; None when the search is over.

    `closed_ops_per_s` is what the target does in a closed loop with the same operations in flight, above 0.
    """
    smallest = max(closed_ops_per_s * SMALLEST_SHARE, 1.0)
    best = best_of(probes)
    low = float(best.rate) if best else 0.0
    # A rate that failed below a higher one that held is noise, so the highest rate that held counts.
    high = min((probe.rate for probe in probes if not probe.kept and probe.rate > low), default=None)
    if high is None:
        tried = low >= closed_ops_per_s
        rate = closed_ops_per_s / 2 if not probes else None if tried else min(2 * low, closed_ops_per_s)
    elif low == 0:
        rate = high / 2 if high / 2 >= smallest else None
    else:
        rate = (low * high) ** 0.5 if high > TOLERANCE * low else None
    if rate is None:
        return None
    whole = max(round(rate), 1)
    return None if any(probe.rate == whole for probe in probes) else whole
