"""Ratios between sessions: the spread from day to day is part of the interval.

A session is what was measured in one visit: the starts of a tool on one boot, within some hours, in one state of the
machine. Runs of a session share its day, so the unit between sessions is the session's mean.

Scope: logarithms of one test. With u the spread between sessions and w that between the runs of a session, the mean of
r runs of a session has the variance u^2 + w^2 / r. Two sessions or more on each side: Welch's t on session means
(`ratio.unpaired`). One session against several: the one is a further draw from the level of the others, with the
variance u^2 + w^2 / r, taken from their means (a prediction interval; Hahn and Meeker 1991, ch. 4). One against one:
the same with the variance of a history of the target, where there is one. Degrees of freedom after Satterthwaite 1946.
Refuses one session against one without a history: their difference says nothing of the spread between sessions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from mileage.judge.exact import ExactP, rank_sum
from mileage.judge.ratio import Estimate, moments, unpaired

PERMUTED_MIN: Final = 4
"""Sessions on each side from which their permutation can reach 5 %."""
HISTORY_PERMUTED_MIN: Final = 19
"""Sessions against one from which its rank can reach 5 %, one-sided."""
SPREAD_MIN: Final = 3
"""Sessions from which a spread is taken."""

Runs = Sequence[Sequence[float]]
"""The logarithms of the runs of each session."""


class SessionSpread(msgspec.Struct, frozen=True, kw_only=True):
    """Variances of one test over some sessions, on the log scale.

    `of_means` is the variance of the session means, `within` that of the runs of a session around its mean.
    """

    sessions: int
    runs: int
    of_means: float
    within: float
    runs_per_session: float
    """Harmonic mean of the runs of a session."""

    @property
    def between(self) -> float:
        """The variance between sessions, without that of their runs; at least 0."""
        return max(self.of_means - self.within / self.runs_per_session, 0.0)


def spread_of(sessions: Runs) -> SessionSpread:
    """The variances of two sessions or more."""
    groups = [moments(runs) for runs in sessions]
    free = sum(group.n - 1 for group in groups)
    squares = math.fsum((group.n - 1) * group.variance for group in groups)
    return SessionSpread(
        sessions=len(groups),
        runs=sum(group.n for group in groups),
        of_means=moments([group.mean for group in groups]).variance,
        within=squares / free if free else 0.0,
        runs_per_session=len(groups) / math.fsum(1 / group.n for group in groups),
    )


def session_means(sessions: Runs) -> list[float]:
    """The mean logarithm of each session."""
    return [moments(runs).mean for runs in sessions]


def between_sessions(
    baseline: Runs, candidate: Runs, history: Runs = ()
) -> tuple[Estimate, ExactP | None] | None:
    """The log ratio of the candidate's sessions over the baseline's, and an exact p where one can reach 5 %.

    `history`: sessions that show the spread, for one session against one. None where nothing shows it.
    """
    low, high = session_means(baseline), session_means(candidate)
    if min(len(low), len(high)) >= 2:
        exact = rank_sum(low, high) if min(len(low), len(high)) >= PERMUTED_MIN else None
        return unpaired(low, high), exact
    if max(len(low), len(high)) >= 2:
        shown, single = (baseline, candidate[0]) if len(low) > 1 else (candidate, baseline[0])
        estimate = _estimate(spread_of(shown), [len(single)], level_of=len(shown))
        exact = rank_sum(low, high) if max(len(low), len(high)) >= HISTORY_PERMUTED_MIN else None
        return msgspec.structs.replace(estimate, log_ratio=_difference(low, high)), exact
    if len(history) < SPREAD_MIN:
        return None
    estimate = _estimate(spread_of(history), [len(baseline[0]), len(candidate[0])], level_of=0)
    return msgspec.structs.replace(estimate, log_ratio=_difference(low, high)), None


def _difference(low: Sequence[float], high: Sequence[float]) -> float:
    return moments(high).mean - moments(low).mean


def _estimate(spread: SessionSpread, runs: Sequence[int], *, level_of: int) -> Estimate:
    """The error of single sessions with these numbers of runs, against the level of `level_of` sessions of the spread.

    The variance of a single session is that of the means, plus what fewer runs add, or less what more runs save; never
    below that of its runs alone.
    """
    means = spread.of_means * (len(runs) + (1 / level_of if level_of else 0.0))
    share = math.fsum(1 / count for count in runs) - len(runs) / spread.runs_per_session
    runs_term = spread.within * share
    least = spread.within * math.fsum(1 / count for count in runs)
    variance = max(means + runs_term, least, 0.0)
    free = [(means, spread.sessions - 1), (max(runs_term, 0.0), spread.runs - spread.sessions)]
    weight = math.fsum(term**2 / df for term, df in free if df > 0)
    # With more runs than the others have, the variance of their means is lowered, and its degrees of freedom stay.
    df = (means + max(runs_term, 0.0)) ** 2 / weight if weight > 0 else float(spread.sessions - 1)
    return Estimate(0.0, math.sqrt(variance), max(df, 1.0))
