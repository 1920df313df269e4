"""Inside one run: how many independent observations its series is worth, and what the run's mean is good for.

Scope: a steady series with memory. An interval from inside one run says how well that run knows its own mean; it
says nothing of the next run, and is used as a check of quality or, with a single run, labelled descriptive.
Refuses series of fewer than twenty batches' worth of intervals.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec
import numpy as np

from mileage._core import t_quantile
from mileage.judge.regimes import Floats, mean_of

BATCHES_MIN: Final = 20
CORRELATION_MAX: Final = 0.1
"""Largest correlation of neighbouring batches that still counts as none."""


class WithinRun(msgspec.Struct, frozen=True):
    """`n_eff` of `n` intervals; mean and its half width (95 %) from `batches` batches of `batch` intervals.

    `half_width` is None when no batch length leaves twenty batches that do not remember each other.
    """

    n: int
    n_eff: float
    mean: float
    batch: int
    batches: int
    half_width: float | None


def within_run(values: Sequence[float]) -> WithinRun:
    """Precision of a run's mean, from its series of finite values, one per interval.

    n_eff = n (1 - rho) / (1 + rho), rho the correlation of neighbours, held at 0 or above (first-order model).
    Batch means: the shortest batch whose means correlate by at most 0.1, h = t(0.975, k - 1) s / sqrt(k).
    ValueError: fewer than twenty values, or one that is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    n = len(series)
    if n < BATCHES_MIN or not np.isfinite(series).all():
        raise ValueError(f"{n} values: expected {BATCHES_MIN} or more, all finite")
    mean = mean_of(series)
    rho = max(_correlation(series - mean), 0.0)
    batch = 1
    while n // batch >= BATCHES_MIN:
        means = series if batch == 1 else series[: n // batch * batch].reshape(-1, batch).mean(axis=1)
        k = len(means)
        centred = means - mean_of(means)
        if _correlation(centred) <= CORRELATION_MAX:
            deviation = math.sqrt(float(np.add.reduce(centred * centred)) / (k - 1))
            half = _quantile(k - 1) * deviation / math.sqrt(k)
            return WithinRun(n, _effective(n, rho), mean, batch, k, half)
        batch += 1
    return WithinRun(n, _effective(n, rho), mean, batch - 1, n // (batch - 1 or 1), None)


@cache
def _quantile(freedom: int) -> float:
    return t_quantile(freedom, 0.975)


def _effective(n: int, rho: float) -> float:
    return n * (1 - rho) / (1 + rho)


def _correlation(centred: Floats) -> float:
    """Correlation of neighbours in a series with mean zero."""
    square = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / square if square > 0 else 0.0
