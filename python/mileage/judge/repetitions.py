"""What the repetitions of one test say about themselves: copies, dependence, two regimes, one outlier.

Scope: the values of one side in one session, in the order in which they were measured, on the log scale. Each finding
has an effect of its own: copies leave no interval, dependence widens it, regimes and an outlier are named.
All thresholds are calibrated on made-up repetitions (`mileage selftest`): together they touch at most 4 % of studies
whose repetitions are independent and normal. Refuses to find anything in fewer values than a finding needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mileage._core import binomial_tails, chi_square_below, t_quantile
from mileage.judge.outlier import odd_one
from mileage.judge.ratio import Estimate, Moments, moments

DEPENDENCE_MIN: Final = 15
"""Repetitions from which their dependence can be tested."""
DEPENDENCE_Z: Final = 1.85
"""One-sided critical value of the lag-one autocorrelation; of independent series 2.6 % exceed it."""
REGIME_MIN: Final = 3
"""Repetitions of the smaller of two regimes; more than 15 repetitions need a fifth."""
OUTLIER_ALPHA: Final = 0.001
COPY_ALPHA: Final = 1e-4
_REGIME_BASE: Final = 5.4
_REGIME_SLOPE: Final = 20.0
_COPY_SCALE: Final = 20.0
"""Copies lie this many times closer to each other than to the other repetitions."""
_COPY_GROUPS: Final = 3
_COPY_VALUES_MAX: Final = 500
"""Values that are looked at, since all pairs of them are."""
_QUARTERS_PER_SD: Final = 1.349
_PHI_MAX: Final = 0.97
_MICRO: Final = 1e6
_WHOLE_MAX: Final = 1 << 62

Floats = NDArray[np.float64]


class TwoRegimes(msgspec.Struct, frozen=True, kw_only=True):
    """Repetitions that lie on two levels: the mean of each, in the unit of the values, and how many lie there."""

    low: float
    high: float
    low_runs: int
    high_runs: int


class Dependence(msgspec.Struct, frozen=True, kw_only=True):
    """Autocorrelation `phi` of neighbouring repetitions, and how many independent ones each side is worth."""

    phi: float
    effective_baseline: float
    effective_candidate: float


def resolution_of(values: Sequence[float]) -> float:
    """The step in which values were printed, in their unit: the largest number of which all are multiples.

    488.514 and 489.749 MB/s have one of 1,000 bytes/s, or a multiple of it. Values are taken to a millionth.
    """
    whole = [round(value * _MICRO) for value in values if math.isfinite(value)]
    step = math.gcd(*whole) if whole and max(map(abs, whole)) < _WHOLE_MAX else 0
    return step / _MICRO


def are_copies(values: Sequence[float]) -> bool:
    """Whether some of the values are copies of others, as such or with a little noise, or all times a factor.

    Pairs of logarithms that differ by less than a distance h are counted among those that differ by less than 20 h: of
    independent repetitions about one in twenty lies so close. The distance is at least the printed step, and 20 h at
    most half the spread. Three groups or more are called copies when the count has a probability below 1e-4. Two
    regimes are looked at one by one.
    """
    series = np.asarray(values[:_COPY_VALUES_MAX], dtype=np.float64)
    if len(series) < 2 * _COPY_GROUPS or not np.isfinite(series).all() or (series <= 0).any():
        return False
    found = two_regimes(list(series))
    logs, ordered = np.log(series), np.log(np.sort(series))
    step = resolution_of(list(series)) / float(series.mean())
    parts, rest = [ordered], logs
    if found is not None:
        parts = [ordered[: found.low_runs], ordered[found.low_runs :]]
        # What alternates between two levels resembles itself: only what is left of each level must differ.
        is_high = logs >= parts[1][0]
        rest = logs - np.where(is_high, parts[1].mean(), parts[0].mean())
    crowded = any(_is_crowded(part, step) for part in parts)
    return crowded or _is_grouped(ordered, step) or _repeats_itself(rest, 2 * step**2)


def _is_grouped(ordered: Floats, step: float) -> bool:
    """Whether all values lie in three groups or more, each narrow against the distance of the groups."""
    gaps = np.diff(ordered)
    for near in np.unique(gaps)[:-1]:
        apart = gaps > near
        if apart.sum() + 1 < _COPY_GROUPS:
            return False
        sizes = np.diff(np.concatenate(([0], np.flatnonzero(apart) + 1, [len(ordered)])))
        if sizes.min() > 1 and gaps[apart].min() >= _COPY_SCALE / 2 * (near + step):
            return True
    return False


def _is_crowded(ordered: Floats, step: float) -> bool:
    if len(ordered) < 2 * _COPY_GROUPS:
        return False
    first, second = np.triu_indices(len(ordered), 1)
    distances = np.sort(ordered[second] - ordered[first])
    quarters = np.quantile(ordered, (0.25, 0.75))
    spread = min(float(ordered.std(ddof=1)), float(quarters[1] - quarters[0]) / _QUARTERS_PER_SD)
    # The last of equal distances has the count of them all.
    counts = np.flatnonzero(np.diff(distances) > 0) + 1
    reach = _COPY_SCALE * (distances[counts - 1] + step)
    looked_at = (counts >= _COPY_GROUPS) & (reach <= spread / 2)
    counts, reach = counts[looked_at], reach[looked_at]
    around = np.searchsorted(distances, reach, side="right")
    rare = counts[np.asarray(binomial_tails(counts, around, 1 / _COPY_SCALE)) < COPY_ALPHA]
    return any(_groups(ordered, float(distances[count - 1])) >= _COPY_GROUPS for count in rare)


def _groups(ordered: Floats, near: float) -> int:
    """Groups of two values or more whose neighbours are at most `near` apart."""
    joined = np.diff(ordered) <= near
    return int((joined & ~np.concatenate(([False], joined[:-1]))).sum())


def _repeats_itself(logs: Floats, rounding: float) -> bool:
    """Whether a later stretch of repetitions is an earlier one times a factor."""
    count = len(logs)
    # A trend resembles itself at any distance; what is left of it must.
    order = np.arange(count, dtype=np.float64)
    logs = logs - np.polyval(np.polyfit(order, logs, 1), order)
    for lag in range(_COPY_GROUPS, count - _COPY_GROUPS + 1):
        if _are_parallel(logs[:-lag], logs[lag:], rounding, COPY_ALPHA / count):
            return True
    return False


def are_scaled_copies(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the values of one side are those of the other times a factor, in the same order.

    Compared with the spread of both: the ratios of independent values vary at least as much. False below three.
    """
    if len(one) != len(other) or len(one) < REGIME_MIN:
        return False
    logs = [np.log(np.asarray(side, dtype=np.float64)) for side in (one, other)]
    steps = (resolution_of(side) / (math.fsum(side) / len(side)) for side in (one, other))
    return _are_parallel(logs[0], logs[1], math.fsum(step**2 for step in steps), COPY_ALPHA / 10)


def holds_scaled_copies(sessions: Sequence[Sequence[float]]) -> bool:
    """Whether the values of one of some sessions are those of another times a factor, in the same order.

    As `are_scaled_copies` for each pair; all pairs together have the error rate of ten.
    """
    alpha = COPY_ALPHA / max(10, math.comb(len(sessions), 2))
    of_length: dict[int, list[Sequence[float]]] = {}
    for runs in sessions:
        of_length.setdefault(len(runs), []).append(runs)
    return any(
        chi_square_below(count - 1, _least_ratio(same)) < alpha
        for count, same in of_length.items()
        if count >= REGIME_MIN and len(same) > 1
    )


def _least_ratio(sessions: Sequence[Sequence[float]]) -> float:
    """The least of all pairs of what `_are_parallel` compares with chi-square; of k sessions from k x k products."""
    values = np.asarray(sessions, dtype=np.float64)
    logs = np.log(values)
    centred = logs - logs.mean(axis=1, keepdims=True)
    squares, free = (centred**2).sum(axis=1), values.shape[1] - 1
    spread = np.minimum(squares / free, (np.diff(logs, axis=1) ** 2).mean(axis=1) / 2)
    rounding = (np.array([resolution_of(runs) for runs in sessions]) / values.mean(axis=1)) ** 2
    first, second = np.triu_indices(len(values), 1)
    apart = squares[first] + squares[second] - 2 * (centred @ centred.T)[first, second]
    noise = free * (rounding[first] + rounding[second])
    both = spread[first] + spread[second]
    ratios = (np.maximum(apart, 0.0) + noise)[both > 0] / both[both > 0]
    return float(ratios.min(initial=math.inf))


def _are_parallel(one: Floats, other: Floats, rounding: float, alpha: float) -> bool:
    """Whether two series differ by a constant, more exactly than independent ones do with probability `alpha`.

    `rounding` is the squared step in which both were printed: values of few digits agree by chance.

    Their spread is taken from the steps between neighbours where that is less: what drifts is no copy of itself.
    """
    spread = sum(
        min(float(side.var(ddof=1)), float((np.diff(side) ** 2).mean()) / 2) for side in (one, other)
    )
    if spread <= 0 or not math.isfinite(spread):
        return False
    steps = other - one
    free = len(steps) - 1
    ratio = (float(((steps - steps.mean()) ** 2).sum()) + free * rounding) / spread
    return chi_square_below(free, ratio) < alpha


def two_regimes(values: Sequence[float]) -> TwoRegimes | None:
    """Two levels on which the values lie, where they are further apart than one distribution explains; else None.

    The values are split in order of size where the means of the parts, each of three values or more (of a fifth, if
    that is more), are most standard deviations within the parts apart. Beyond 5.4 + 20 / n of them there are two: of n
    values from one normal, uniform, log-normal, exponential or t(3) distribution fewer than 3 % are.
    """
    count = len(values)
    least = max(REGIME_MIN, count // 5)
    if count < 2 * least:
        return None
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    rounding = resolution_of(values) ** 2 / 12
    best, cut = 0.0, 0
    for at in range(least, count - least + 1):
        parts = ordered[:at], ordered[at:]
        squares = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
        within = math.sqrt(squares / (count - 2) + rounding)
        apart = float(parts[1].mean() - parts[0].mean())
        if apart > best * within:
            best, cut = apart / within if within > 0 else math.inf, at
    if best <= _REGIME_BASE + _REGIME_SLOPE / count:
        return None
    low, high = float(ordered[:cut].mean()), float(ordered[cut:].mean())
    return TwoRegimes(low=low, high=high, low_runs=cut, high_runs=count - cut)


def outlier(values: Sequence[float]) -> int | None:
    """The place of the one value that is unlike all others (Grubbs's test on logarithms, 0.1 %), or None."""
    return odd_one([math.log(value) for value in values], OUTLIER_ALPHA)


def dependence(baseline: Sequence[float], candidate: Sequence[float]) -> Dependence | None:
    """Whether neighbouring repetitions (logarithms, in order) resemble each other; None where that is not shown.

    The lag-one autocorrelation of both sides together, of those with 15 repetitions or more, freed of the means that
    were taken out (Marriott and Pope 1954), against its standard error 1 / sqrt(n).
    """
    long = [_free(side) for side in (baseline, candidate) if len(side) >= DEPENDENCE_MIN]
    squares = sum(float(side @ side) for side in long)
    if squares <= 0:
        return None
    total = sum(len(side) for side in long)
    share = len(long) / total
    raw = sum(float(side[1:] @ side[:-1]) for side in long) / squares + share
    if raw * math.sqrt(total) <= DEPENDENCE_Z:
        return None
    # A mean that is taken out lowers it by (1 + 3 phi) / n; 4 in place of 3 makes up for the variance of phi.
    phi = min(raw / (1 - 4 * share), _PHI_MAX)
    one, other = (len(side) / inflation(phi, len(side)) for side in (baseline, candidate))
    return Dependence(phi=phi, effective_baseline=one, effective_candidate=other)


def inflation(phi: float, count: int) -> float:
    """By how much autocorrelation raises the variance of the mean of `count` repetitions (first order)."""
    return 1 + 2 * math.fsum((1 - lag / count) * phi**lag for lag in range(1, count))


def widened(baseline: Sequence[float], candidate: Sequence[float], found: Dependence) -> Estimate:
    """Welch's estimate with the variance and the degrees of freedom that dependent repetitions leave.

    The standard deviation of dependent repetitions is too small as well; both are put right under a first-order
    autoregression with the autocorrelation that was found.
    """
    sides = [
        (moments(logs), effective)
        for logs, effective in (
            (baseline, found.effective_baseline),
            (candidate, found.effective_candidate),
        )
    ]
    shares = [_variance_of_mean(one, effective) for one, effective in sides]
    free = [max(effective - 1, 1.0) for _, effective in sides]
    total = math.fsum(shares)
    df = (
        total**2 / math.fsum(share**2 / one for share, one in zip(shares, free, strict=True))
        if total
        else sum(free)
    )
    return Estimate(sides[1][0].mean - sides[0][0].mean, math.sqrt(total), df)


def widened_interval(logs: Sequence[float], found: Dependence) -> tuple[float, float]:
    """The 95 % interval of the mean of one side, with the variance and degrees of freedom of `widened`."""
    side, effective = moments(logs), found.effective_baseline
    half = t_quantile(max(effective - 1, 1.0), 0.975) * math.sqrt(_variance_of_mean(side, effective))
    return side.mean - half, side.mean + half


def _variance_of_mean(side: Moments, effective: float) -> float:
    more = side.n / effective
    return side.variance / effective / max(1 - (more - 1) / (side.n - 1), 0.05)


def _free(logs: Sequence[float]) -> Floats:
    series = np.asarray(logs, dtype=np.float64)
    free: Floats = series - series.mean()
    return free
