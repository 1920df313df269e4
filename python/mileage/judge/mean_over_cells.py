"""Many cells at once: their mean ratio, their ranking, and whether they follow a trend.

Scope: a table of cells that were measured in the same blocks. The interval of the mean ratio is over the blocks, not
the cells: the cells are all there are, the blocks are a sample. A ranking puts two arms on one rank unless they
differ significantly. A trend is a rank correlation with its test, never a phrase.
Refuses cells measured in different blocks, and trends of fewer than four levels.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, permutations
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mileage._core import t_quantile, t_two_sided
from mileage.judge.correction import holm
from mileage.judge.ratio import exp, welch

RESAMPLES: Final = 2000
BOOTSTRAP_BLOCKS_MIN: Final = 10
"""Blocks from which the interval of the mean ratio is resampled. Below, a percentile bootstrap covers too little (83 %
with five blocks of normal data), and Student's t on the blocks' means is used."""
EXACT_LEVELS: Final = 8
"""Levels up to which every order is counted."""
TREND_LEVELS_MIN: Final = 4


class MeanRatio(msgspec.Struct, frozen=True):
    """Geometric mean of the cells' ratios with its interval over blocks (95 %), and the range of the cells."""

    ratio: float
    ci95: tuple[float, float]
    lowest: float
    highest: float
    blocks: int


class Rank(msgspec.Struct, frozen=True):
    """One arm's place: `first` to `last` are the ranks it does not differ from (1 is the largest value)."""

    name: str
    geometric_mean: float
    first: int
    last: int


class Trend(msgspec.Struct, frozen=True):
    """Spearman's rank correlation of level and value, with its two-sided p; `exact` when every order was counted."""

    rho: float
    p: float
    levels: int
    exact: bool


def mean_ratio(log_ratios: Sequence[Sequence[float]], *, seed: int) -> MeanRatio:
    """Mean ratio over cells; `log_ratios[cell][block]`, every cell with the same blocks, at least two of them.

    Ten blocks or more: percentile interval of 2,000 resamples of whole blocks, drawn from `seed`. Fewer: Student's t on
    the blocks' means. ValueError: unequal or too few blocks.
    """
    widths = {len(cell) for cell in log_ratios}
    if len(widths) != 1 or min(widths) < 2:
        raise ValueError(f"cells have {sorted(widths)} blocks; expected one number, 2 or more")
    table = np.asarray(log_ratios, dtype=np.float64)
    by_block = table.mean(axis=0)
    n = len(by_block)
    if n < BOOTSTRAP_BLOCKS_MIN:
        half = t_quantile(n - 1, 0.975) * float(by_block.std(ddof=1)) / math.sqrt(n)
        low, high = float(by_block.mean()) - half, float(by_block.mean()) + half
    else:
        draws = np.random.default_rng(seed).integers(n, size=(RESAMPLES, n))
        low, high = np.quantile(by_block[draws].mean(axis=1), [0.025, 0.975])
    cells = table.mean(axis=1)
    return MeanRatio(
        exp(float(by_block.mean())),
        (exp(float(low)), exp(float(high))),
        exp(float(cells.min())),
        exp(float(cells.max())),
        n,
    )


def ranking(arms: Mapping[str, Sequence[float]], *, alpha: float = 0.05) -> tuple[Rank, ...]:
    """Arms by geometric mean, largest first, with ties.

    Two arms share ranks unless Welch on logs, corrected by Holm over all pairs, separates them.
    ValueError: an arm with fewer than two values, or one that is not above 0.
    """
    for name, values in arms.items():
        if len(values) < 2 or not all(math.isfinite(x) and x > 0 for x in values):
            raise ValueError(f"{name}: a ranking needs two or more values, finite and above 0")
    logs = {name: [math.log(x) for x in values] for name, values in arms.items()}
    means = {name: math.fsum(x) / len(x) for name, x in logs.items()}
    pairs = list(combinations(arms, 2))
    adjusted = holm([welch(logs[a], logs[b]).p_value() for a, b in pairs])
    apart = {frozenset(pair) for pair, p in zip(pairs, adjusted, strict=True) if p <= alpha}
    found = []
    for name in sorted(arms, key=lambda name: (-means[name], name)):
        others = [other for other in arms if frozenset((name, other)) in apart]
        above = sum(means[other] > means[name] for other in others)
        below = sum(means[other] < means[name] for other in others)
        found.append(Rank(name, math.exp(means[name]), above + 1, len(arms) - below))
    return tuple(found)


def trend(values: Sequence[float]) -> Trend:
    """Test whether one value per level, with the levels in order, rises or falls with the level.

    Spearman's rho; p by counting every order up to eight levels, beyond by Student's t on n - 2.
    ValueError: fewer than four levels, or a value that is not finite.
    """
    n = len(values)
    if n < TREND_LEVELS_MIN or not all(map(math.isfinite, values)):
        raise ValueError(f"{n} levels: a trend needs {TREND_LEVELS_MIN} or more finite values")
    ranks = _ranks(values)
    rho = _pearson(list(range(n)), ranks)
    if n > EXACT_LEVELS:
        if abs(rho) >= 1 - 1e-12:
            return Trend(rho, 0.0, n, exact=False)
        t = rho * math.sqrt((n - 2) / (1 - rho**2))
        return Trend(rho, t_two_sided(n - 2, t), n, exact=False)
    places = np.arange(n) - (n - 1) / 2
    seen = abs(float(places @ np.asarray(ranks))) - 1e-9
    return Trend(rho, float(np.mean(np.abs(_orders(tuple(sorted(ranks))) @ places) >= seen)), n, exact=True)


@cache
def _orders(ranks: tuple[float, ...]) -> NDArray[np.float64]:
    """All orders of up to eight ranks, a row each: without ties the same for every series of a length."""
    return np.asarray(list(permutations(ranks)), dtype=np.float64)


def trend_of_runs(levels: Sequence[Sequence[float]]) -> Trend:
    """Test whether the runs rise or fall with their level, with the levels in order.

    Spearman's rho between level and value over all runs, equal ones by their mean rank; p by Student's t on n - 2.
    ValueError: fewer than four levels, a level without a run, or a value that is not finite.
    """
    runs = [(place, value) for place, values in enumerate(levels) for value in values]
    if len(levels) < TREND_LEVELS_MIN or not all(levels) or not all(math.isfinite(x) for _, x in runs):
        raise ValueError(
            f"{len(levels)} levels: a trend needs {TREND_LEVELS_MIN} or more, each with finite values"
        )
    rho = _pearson(_ranks([place for place, _ in runs]), _ranks([value for _, value in runs]))
    n = len(runs)
    if abs(rho) >= 1 - 1e-12:
        return Trend(rho, 0.0, len(levels), exact=False)
    t = rho * math.sqrt((n - 2) / (1 - rho**2))
    return Trend(rho, t_two_sided(n - 2, t), len(levels), exact=False)


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1, ties by their mean."""
    ordered = sorted(values)
    return [(bisect_left(ordered, v) + bisect_right(ordered, v) + 1) / 2 for v in values]


def _pearson(x: Sequence[float], y: Sequence[float]) -> float:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale > 0 else 0.0
