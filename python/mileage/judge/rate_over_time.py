"""The course of one run, and of repetitions: whether a rate has one level from beginning to end, and what else it does.

Joins tests that each detect something else: `regimes` finds levels that last, and a slope; correlation at a lag finds
alternation that is too fast for a level; the first intervals are compared with all others, as a start is shorter than
a level; `drift` decides whether the rest is shown to be steady. The first test that finds something is reported.
Refuses to judge fewer than 30 intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from mileage.judge.mean_over_cells import trend
from mileage.judge.regimes import RELEVANCE, SEGMENT_MIN, Regimes, Segment, mean_of, regimes
from mileage.judge.steady_state import drift

Kind = Literal[
    "steady",
    "slow start",
    "fast start",
    "fall",
    "rise",
    "several levels",
    "drift",
    "alternating",
    "not shown",
    "too short",
]

INTERVALS_MIN: Final = 30
"""Intervals from which a course can be judged."""
REPETITIONS_MIN: Final = 5
"""Least repetitions that distinguish a trend from chance: five have 120 orders."""
TREND_P: Final = 0.05
_LAG_Z: Final = 4.0
_LAG_CORRELATION: Final = -0.4
"""Correlation of a series with itself some intervals later below which it alternates: -1 for a pure alternation."""
_START_Z: Final = 6.0
_START_SHARE_MIN: Final = 0.01
"""Share by which a start must move the mean of the run to count."""

Floats = NDArray[np.float64]


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """Shape of a series over time.

    `change` is relative: of the part that is named against the level next to it.

    slow/fast start: the first `intervals` are `change` below/above the others. fall, rise: from interval `intervals` on
    (from 0) the level is another one. several levels: `intervals` of them, the lowest `change` below the highest.
    drift: `change` from the first interval to the last by a straight line. alternating: with a period of about
    `intervals`, the standard deviation `change` of the mean. Otherwise `change` is the drift over twenty intervals.
    """

    kind: Kind
    change: float
    intervals: int = 0

    @property
    def changes_level(self) -> bool:
        """Whether the series has several levels, so that its mean describes none of them."""
        return self.kind not in ("steady", "not shown", "too short")


def course(values: Sequence[float]) -> Course:
    """The course of a rate, one value per interval of equal length, finite and at least 0; ValueError otherwise."""
    series = np.asarray(values, dtype=np.float64)
    if len(series) < INTERVALS_MIN or not series.any():
        return Course(kind="too short", change=0.0)
    found = regimes(series)
    if found.kind != "flat":
        return _of_levels(series, found)
    mean = mean_of(series)
    lag = _lag(series - mean)
    if lag and 2 * float(series.std()) > RELEVANCE * mean:
        return Course(kind="alternating", change=float(series.std()) / mean, intervals=2 * lag)
    if first := _start(series, found.phi):
        change = mean_of(series[:first]) / mean_of(series[first:]) - 1
        return Course(kind="slow start" if change < 0 else "fast start", change=change, intervals=first)
    rest = drift(values)
    return Course(kind="steady" if rest.state == "steady" else "not shown", change=rest.per_20_rounds)


def levels_within(values: Sequence[float]) -> Regimes:
    """The levels of a rate as `regimes` finds them, and a start that is too short for it: "cliff" or "warm-up".

    A flat series of fewer than 30 intervals is "too short": a short start cannot be detected in it.
    """
    found = regimes(values)
    series = np.asarray(values, dtype=np.float64)
    if len(found.segments) > 1 and found.cuts[0] == SEGMENT_MIN:
        return msgspec.structs.replace(found, segments=_early_cut(series, found.segments))
    if found.kind != "flat":
        return found
    if len(series) < INTERVALS_MIN:
        return msgspec.structs.replace(found, kind="too short")
    first = _start(series, found.phi)
    if not first:
        return found
    segments = tuple(Segment(a, b, mean_of(series[a:b])) for a, b in ((0, first), (first, len(series))))
    fell = segments[0].level > segments[1].level
    return msgspec.structs.replace(found, kind="cliff" if fell else "warm-up", segments=segments)


def _early_cut(series: Floats, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """The segments with their first cut where it fits best: a level there has 12 intervals, a start may have fewer."""
    end = segments[1].end
    error = {
        first: float(series[:first].var() * first + series[first:end].var() * (end - first))
        for first in range(1, SEGMENT_MIN + 1)
    }
    first = min(error, key=error.__getitem__)
    moved = (Segment(a, b, mean_of(series[a:b])) for a, b in ((0, first), (first, end)))
    return (*moved, *segments[2:])


class RepetitionTrend(msgspec.Struct, frozen=True):
    """Repetitions that go one way: their relative `change` by a line through their logarithms, first to last."""

    n: int
    change: float
    rho: float
    """Spearman's."""
    p: float
    """Two-sided, times the number of cells that were looked at."""


def repetition_trend(values: Sequence[float], cells: int = 1) -> RepetitionTrend | None:
    """The trend of repetitions in the order in which they were done, where there is one that matters.

    There is one when their ranks follow the order by more than chance makes at 5 % in any of `cells` cells, and the
    change is relevant. None otherwise, for fewer than five values, and where one is not above 0 and finite.
    """
    if len(values) < REPETITIONS_MIN or not all(0 < value < math.inf for value in values):
        return None
    found = trend(values)
    time = np.arange(len(values)) - (len(values) - 1) / 2
    slope = float(time @ np.log(np.asarray(values)) / (time @ time))
    change = math.expm1(slope * (len(values) - 1))
    p = min(1.0, found.p * cells)
    if p > TREND_P or abs(math.log1p(change)) < math.log1p(RELEVANCE):
        return None
    return RepetitionTrend(len(values), change, found.rho, p)


def _of_levels(series: Floats, found: Regimes) -> Course:
    levels = [segment.level for segment in found.segments]
    if found.kind == "drift":
        time = np.arange(len(series)) - (len(series) - 1) / 2
        excursion = float(time @ series / (time @ time)) * (len(series) - 1)
        first = mean_of(series) - excursion / 2
        return Course(kind="drift", change=excursion / first if first > 0 else math.inf)
    if len(levels) > 2:
        return Course(kind="several levels", change=min(levels) / max(levels) - 1, intervals=len(levels))
    at = found.cuts[0]
    if found.kind == "warm-up":
        return Course(kind="slow start", change=levels[0] / levels[1] - 1, intervals=at)
    change = levels[1] / levels[0] - 1 if levels[0] > 0 else math.inf
    return Course(kind="fall" if change < 0 else "rise", change=change, intervals=at)


def _lag(centred: Floats) -> int:
    """After how many intervals a series without its mean is most unlike itself; 0 where noise may be all there is."""
    square = float(centred @ centred)
    if square <= 0:
        return 0
    correlations = [float(centred[lag:] @ centred[:-lag]) / square for lag in range(1, SEGMENT_MIN)]
    least = min(correlations)
    limit = min(_LAG_CORRELATION, -_LAG_Z / math.sqrt(len(centred)))
    return correlations.index(least) + 1 if least < limit else 0


def _start(series: Floats, phi: float) -> int:
    """Length of a slow or fast start: how many of the first intervals differ from all later ones; 0 for none.

    Their mean is compared with that of the others in standard errors, which allow for noise that remembers.
    """
    n, most, found = len(series), _START_Z, 0
    inflation = (1 + phi) / (1 - phi)
    for first in range(1, SEGMENT_MIN):
        rest = series[first:]
        level = mean_of(rest)
        step = mean_of(series[:first]) - level
        if level <= 0 or abs(step) < RELEVANCE * level or abs(step) * first < _START_SHARE_MIN * level * n:
            continue
        error = math.sqrt(float(rest.var()) * (min(1.0, inflation / first) + inflation / len(rest)))
        strength = abs(step) / error if error > 0 else math.inf
        if strength > most:
            most, found = strength, first
    return found
