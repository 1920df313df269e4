"""Many studies of one target over time: where its level changed for good.

Scope: one value per study and cell, in the order in which the studies were made, as stretches of equal distribution.
A stretch is split where the energy distance between its two parts is largest (Matteson and James 2014), and the
split is kept when fewer than alpha of random orders of the stretch have one as large; then each part is looked at
again. The p of the best split is paid for by the permutations, which search for their best split too. Several cells
are corrected by Benjamini-Hochberg.
Refuses to split off fewer than three studies.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mileage.judge.correction import benjamini_hochberg

STUDIES_MIN: Final = 3
"""Studies on each side of a change."""
PERMUTATIONS: Final = 999

Floats = NDArray[np.float64]


class Change(msgspec.Struct, frozen=True):
    """A change of one cell's level: the first study of the new level, its ratio to the level before, and p."""

    cell: str
    study: int
    ratio: float
    p: float
    p_adjusted: float


def changes(
    history: Mapping[str, Sequence[float]], *, alpha: float = 0.05, seed: int = 2010
) -> tuple[Change, ...]:
    """Changes of level in each cell's values, in the order of the studies; `seed` gives the permutations.

    ValueError: a value that is not finite or not above 0. Cells of fewer than six studies have no change.
    """
    found: list[tuple[str, int, float, float]] = []
    for number, (cell, values) in enumerate(history.items()):
        if not all(math.isfinite(value) and value > 0 for value in values):
            raise ValueError(f"{cell}: a history needs values that are finite and above 0")
        logs = np.log(np.asarray(values, dtype=np.float64))
        rng = np.random.default_rng([seed, number])
        splits = sorted(_splits(logs, 0, alpha, rng))
        bounds = [0, *(at for at, _ in splits), len(logs)]
        for place, (at, p) in enumerate(splits, 1):
            before, after = logs[bounds[place - 1] : at], logs[at : bounds[place + 1]]
            found.append((cell, at, math.exp(float(after.mean() - before.mean())), p))
    adjusted = benjamini_hochberg([p for *_, p in found])
    rows = (Change(*row, p) for row, p in zip(found, adjusted, strict=True))
    return tuple(row for row in rows if row.p_adjusted <= alpha)


def _splits(logs: Floats, start: int, alpha: float, rng: np.random.Generator) -> list[tuple[int, float]]:
    if len(logs) < 2 * STUDIES_MIN:
        return []
    distances = np.abs(logs[:, None] - logs[None, :])
    at, seen = _best_split(distances)
    larger = 0
    for _ in range(PERMUTATIONS):
        order = rng.permutation(len(logs))
        larger += _best_split(distances[np.ix_(order, order)])[1] >= seen
    p = (larger + 1) / (PERMUTATIONS + 1)
    if p > alpha:
        return []
    return [
        *_splits(logs[:at], start, alpha, rng),
        (start + at, p),
        *_splits(logs[at:], start + at, alpha, rng),
    ]


def _best_split(distances: Floats) -> tuple[int, float]:
    """The split with the largest scaled energy distance: (n m / (n + m)) (2 E|X-Y| - E|X-X'| - E|Y-Y'|)."""
    size = len(distances)
    total = distances.cumsum(axis=0).cumsum(axis=1)
    at = np.arange(STUDIES_MIN, size - STUDIES_MIN + 1)
    n, m = at.astype(np.float64), (size - at).astype(np.float64)
    inside_left = total[at - 1, at - 1]
    both = total[at - 1, -1]
    cross = both - inside_left
    inside_right = total[-1, -1] - 2 * both + inside_left
    within = inside_left / (n * (n - 1)) + inside_right / (m * (m - 1))
    energy = (n * m / (n + m)) * (2 * cross / (n * m) - within)
    best = int(energy.argmax())
    return int(at[best]), float(energy[best])
