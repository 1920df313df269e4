"""Rank all levels of a factor in each cell, and test whether the rate follows the level.

Scope: what a comparison of two arms omits: the third. Ranks are those of `grid.ranking` (Welch on logs, Holm over
all pairs of the cell); levels whose names are rising numbers get the trend of `grid.trend_of_runs`, and no other
statement about order is made.
Refuses nothing that a study can hold: a level with fewer than two values above 0 in a cell stands without a rank.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from mileage.judge.mean_over_cells import TREND_LEVELS_MIN, Trend, ranking, trend_of_runs

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")


class Standing(msgspec.Struct, frozen=True):
    """Rank of one level in one cell: the geometric mean of its `n` runs, in the metric's unit, and of the best mean.

    `first` to `last` are the ranks that it does not differ from, 1 the largest; None where it could not be ranked.
    """

    level: str
    mean: float
    n: int
    share_of_best: float
    first: int | None
    last: int | None


class CellStandings(msgspec.Struct, frozen=True):
    """The levels of a factor in one cell, best first; those without a rank last. `trend` None: no numbers, or few."""

    cell: str
    metric: str
    places: tuple[Standing, ...]
    trend: Trend | None = None


def standings(
    cell: str, metric: str, arms: Mapping[str, Sequence[float]], *, alpha: float = 0.05
) -> CellStandings:
    """The levels of one cell, given in their order, by values where more is better.

    ValueError: no level has a value above 0.
    """
    usable = {
        name: [x for x in values if math.isfinite(x) and x > 0] for name, values in arms.items() if values
    }
    usable = {name: values for name, values in usable.items() if values}
    if not usable:
        raise ValueError(f"{cell}: no level has a value above 0")
    means = {name: math.exp(math.fsum(map(math.log, x)) / len(x)) for name, x in usable.items()}
    whole = {name: x for name, x in usable.items() if len(x) >= 2 and len(x) == len(arms[name])}
    ranks = {rank.name: rank for rank in ranking(whole, alpha=alpha)} if len(whole) > 1 else {}
    best = max(means.values())
    places = []
    for name in sorted(usable, key=lambda name: (name not in ranks, -means[name], name)):
        rank = ranks.get(name)
        first, last = (None, None) if rank is None else (rank.first, rank.last)
        places.append(Standing(name, means[name], len(usable[name]), means[name] / best, first, last))
    return CellStandings(cell, metric, tuple(places), _trend(usable, list(arms)))


def _trend(arms: Mapping[str, Sequence[float]], levels: Sequence[str]) -> Trend | None:
    """The trend over levels that are rising numbers, all of them measured."""
    if len(levels) < TREND_LEVELS_MIN or any(level not in arms for level in levels):
        return None
    numbers = [float(found[0]) for level in levels if (found := _NUMBER.match(level))]
    if len(numbers) < len(levels) or any(a >= b for a, b in pairwise(numbers)):
        return None
    return trend_of_runs([arms[level] for level in levels])
