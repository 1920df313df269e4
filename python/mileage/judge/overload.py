"""Offered load against what the device did: when latency overtakes arrivals, and what a closed loop cannot see.

Scope: an open loop: operations are due by a clock, and what cannot start waits. A device that keeps up achieves the
offered rate and its backlog stays; one that does not falls behind by the difference, second after second.
Response time runs from the intended start, service time from the submission; their distance is the wait that a
closed loop never issues and so never sees (coordinated omission).
Refuses series too short to see a backlog grow.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

ACHIEVED_MIN: Final = 0.99
"""Share of the offered rate below which a device is saturated."""
INTERVALS_MIN: Final = 10
HIDDEN_FACTOR: Final = 2.0
"""Response p99 over service p99 above which the closed loop is misleading."""
STOPPED_MIN: Final = 1e-3
"""Share of a run that its longest operation must last to be reported."""

State = Literal["keeps up", "saturated"]


class Overload(msgspec.Struct, frozen=True, kw_only=True):
    """One offered rate. Rates in operations per second; `backlog_slope` in operations per second of growth."""

    state: State
    offered: float
    achieved: float
    backlog_slope: float
    backlog_end: float


class Knee(msgspec.Struct, frozen=True):
    """Limit of a target among several offered rates.

    The highest that it kept, and the lowest that it did not (None: not reached).
    """

    kept: float | None
    lost: float | None


class Omission(msgspec.Struct, frozen=True):
    """Waiting that the latencies from submission do not have. `waited`: an open loop shows it; `stopped`: none does."""

    kind: Literal["waited", "stopped"]
    service_p99_ns: float
    response_p99_ns: float = 0.0
    """From the intended start, where the loop is open."""
    longest_ns: float = 0.0
    """The longest operation, where it is closed."""
    stopped_share: float = 0.0
    """Its share of the run."""


def overload(completed: Sequence[int], *, interval_s: float, offered: float) -> Overload:
    """Judge one open-loop run: operations completed per interval of `interval_s`, at `offered` per second.

    Saturated: fewer than 99 % of the offered operations were done, and the backlog grew over the second half.
    ValueError: fewer than ten intervals, or a rate or interval that is not above 0.
    """
    n = len(completed)
    if n < INTERVALS_MIN or not (offered > 0 and interval_s > 0):
        raise ValueError(
            f"{n} intervals, {offered} per second: expected {INTERVALS_MIN} or more, and above 0"
        )
    # Imported here because it takes longer than most commands, and only an open loop needs it.
    import numpy as np

    done = np.cumsum(np.asarray(completed, dtype=np.float64))
    due = offered * interval_s * np.arange(1, n + 1)
    backlog = due - done
    half = backlog[n // 2 :]
    time_s = np.arange(len(half)) * interval_s
    centred = time_s - time_s.mean()
    slope = float(centred @ half / (centred @ centred))
    achieved = float(done[-1]) / (n * interval_s)
    lost = achieved < ACHIEVED_MIN * offered and slope > 0
    return Overload(
        state="saturated" if lost else "keeps up",
        offered=offered,
        achieved=achieved,
        backlog_slope=slope,
        backlog_end=max(float(backlog[-1]), 0.0),
    )


def knee(points: Sequence[Overload]) -> Knee:
    """Find the saturation point of several offered rates: the highest rate sustained, the lowest missed."""
    kept = [point.offered for point in points if point.state == "keeps up"]
    lost = [point.offered for point in points if point.state == "saturated"]
    return Knee(max(kept, default=None), min(lost, default=None))


def omission(
    *, service_p99_ns: float, response_p99_ns: float | None, longest_ns: float, elapsed_ns: float
) -> Omission | None:
    """What the latencies of a run cannot show (coordinated omission); None where they hide nothing.

    A closed loop (no response time) that stopped for `longest_ns` issued nothing meanwhile: the operations that would
    have waited are missing from its percentiles.
    """
    if response_p99_ns is not None:
        if response_p99_ns >= HIDDEN_FACTOR * service_p99_ns > 0:
            return Omission("waited", service_p99_ns, response_p99_ns)
        return None
    stopped = longest_ns / elapsed_ns if elapsed_ns > 0 else 0.0
    if longest_ns > 100 * max(service_p99_ns, 1.0) and stopped > STOPPED_MIN:
        return Omission("stopped", service_p99_ns, longest_ns=longest_ns, stopped_share=stopped)
    return None
