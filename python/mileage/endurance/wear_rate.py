"""The rate at which a counter grew, from samples: bytes per second with an interval, and what was skipped.

Scope: the sum of all growth over the sum of all time, in which intervals between two samples are skipped
when they cannot be read: the machine was restarted (of a counter that begins anew then), the counter went
backwards, the clock did. A counter of 32 bits that wraps is continued. The 95 % interval is that of a ratio of
means over at most 20 batches of about equal length (Cochran, Sampling Techniques, section 6.3), with Student's t:
batches, because neighbouring intervals resemble each other.
What it refuses: to say more than the samples do. The interval is of the time that was watched; a day does not show
what a week does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from mileage.endurance.wear_log import Counter, Sample
from mileage.plan.quantiles import t_quantile

BATCHES_MAX: Final = 20
WRAP: Final = 2**32
"""Values of a counter of 32 bits, in its own unit."""
_NEAR_SHARE: Final = 0.1
"""Share of the 32 bits before and after a wrap within which two samples lie."""


class WearRate(msgspec.Struct, frozen=True):
    """How fast a counter grew."""

    bytes_per_s: float
    written_bytes: int
    counted_s: float
    """Time of the intervals that were counted."""
    low: float | None = None
    """Lower end of the 95 % interval; None with fewer than 3 samples."""
    high: float | None = None
    batches: int = 0
    events: tuple[str, ...] = ()
    """Skipped or joined intervals, each with the reason."""


class _Step(msgspec.Struct, frozen=True):
    time_s: float
    grown_bytes: int


def wear_rate(samples: Sequence[Sample], name: str) -> WearRate | None:
    """The rate of the counter of a name; None where it was not read at two moments that can be compared."""
    events: list[str] = []
    steps = list(_steps([one for one in samples if name in one.counters], name, events))
    last = max((at for at, one in enumerate(samples) if name in one.counters), default=-1)
    if 0 <= last < len(samples) - 1:
        missing = len(samples) - 1 - last
        noun = "sample" if missing == 1 else f"{missing} samples"
        events.append(f"the counter is missing in the last {noun}: the rate ends before")
    elif last >= 0 and any(name not in one.counters for one in samples[:last]):
        events.append("the counter was missing in between: the growth over that time is counted")
    time_s = sum(step.time_s for step in steps)
    if time_s <= 0:
        return None
    grown = sum(step.grown_bytes for step in steps)
    low, high, batches = _interval(steps, grown / time_s)
    return WearRate(grown / time_s, grown, time_s, low, high, batches, tuple(dict.fromkeys(events)))


def _steps(samples: Sequence[Sample], name: str, events: list[str]) -> Iterator[_Step]:
    for before, after in pairwise(samples):
        one, other = before.counters[name], after.counters[name]
        time_s = after.time_s - before.time_s
        reason = _skipped(before, after, one, other, time_s)
        if reason:
            events.append(f"{max(time_s, 0.0) / 3600:.3g} h are skipped: {reason}")
            continue
        grown = other.value - one.value
        if grown < 0:
            grown += WRAP
            events.append("the counter of 32 bits wrapped and is continued")
        yield _Step(time_s, grown * one.unit_bytes)


def _skipped(before: Sample, after: Sample, one: Counter, other: Counter, time_s: float) -> str:
    """Why the increase of a wear counter between two samples cannot be used, such as a restart; empty if it can.

    `one` and `other` are the counter in the samples `before` and `after`, which are `time_s` apart.
    """
    if time_s <= 0:
        return "the clock of the machine went backwards"
    if one.unit_bytes != other.unit_bytes:
        return "the counter has another unit"
    if one.since_boot and before.boot != after.boot:
        return "the machine was restarted, and the counter began anew"
    near_end = one.value >= WRAP * (1 - _NEAR_SHARE) and one.value < WRAP
    if other.value < one.value and not (near_end and other.value < WRAP * _NEAR_SHARE):
        return "the counter went backwards"
    return ""


def _interval(steps: Sequence[_Step], rate: float) -> tuple[float | None, float | None, int]:
    """The ends of the 95 % interval of a rate, and the number of batches; no ends with fewer than two."""
    whole_s = sum(step.time_s for step in steps)
    batches: list[tuple[float, float]] = []
    time_s, grown = 0.0, 0.0
    for step in steps:
        time_s, grown = time_s + step.time_s, grown + step.grown_bytes
        if time_s >= whole_s / BATCHES_MAX * (1 - 1e-9):
            batches.append((time_s, grown))
            time_s, grown = 0.0, 0.0
    if time_s and batches:
        batches[-1] = (batches[-1][0] + time_s, batches[-1][1] + grown)
    count = len(batches)
    if count < 2:
        return None, None, count
    squares = sum((grown - rate * time_s) ** 2 for time_s, grown in batches)
    error = math.sqrt(count / (count - 1) * squares) / whole_s
    reach = t_quantile(count - 1, 0.975) * error
    return max(rate - reach, 0.0), rate + reach, count
