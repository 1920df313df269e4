"""How many sessions, and runs in each, a loss needs to be found.

Scope: one candidate session against a history, one-sided, with Holm over the tests; 80 % power by the noncentral t.
The standard deviation of a session mean is sqrt(between^2 + within^2 / runs), all on the log scale.
Refuses nothing: a loss that no number of sessions finds, because a single session varies too much, has None.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from mileage._core import noncentral_t_above, t_quantile
from mileage.judge.sessions import SPREAD_MIN

LOSSES: Final = (0.02, 0.05, 0.10)
RUNS: Final = (1, 3, 5, 10)
SESSIONS_MAX: Final = 100
POWER: Final = 0.8


class SessionCount(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions of a history that a loss needs with a number of runs in each; None: more than a hundred."""

    loss: float
    """As a share: 0.05 for a rate that falls to 1 / 1.05."""
    runs: int
    sessions: int | None


def needed(between: float, within: float, *, tests: int = 1, alpha: float = 0.05) -> list[SessionCount]:
    """The sessions needed for losses of 2, 5 and 10 % with 1, 3, 5 and 10 runs in a session.

    `between` and `within` are standard deviations of logarithms, at least 0; `tests` the cells that Holm corrects for.
    """
    found = []
    for loss in LOSSES:
        for runs in RUNS:
            deviation = math.sqrt(between**2 + within**2 / runs)
            sessions = _sessions(math.log1p(loss), deviation, alpha / tests)
            found.append(SessionCount(loss=loss, runs=runs, sessions=sessions))
    return found


def detectable(sessions: int, *, tests: int = 1, alpha: float = 0.05, power: float = POWER) -> float:
    """The loss that a history finds with this power, in standard deviations of a session mean."""
    low, high = 0.0, 1e3
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle, sessions, alpha / tests) >= power else (middle, high)
    return high


def power_of(loss: float, sessions: int, alpha: float) -> float:
    """The chance to find a loss of `loss` standard deviations of a session mean, at one-sided `alpha`."""
    free = sessions - 1
    return noncentral_t_above(free, loss / math.sqrt(1 + 1 / sessions), t_quantile(free, 1 - alpha))


def _sessions(loss: float, deviation: float, alpha: float) -> int | None:
    if deviation == 0:
        return SPREAD_MIN
    counts = range(SPREAD_MIN, SESSIONS_MAX + 1)
    return next((count for count in counts if power_of(loss / deviation, count, alpha) >= POWER), None)
