"""Test whether a series of rounds is steady: the rule of the SNIA, and a stricter one that a slow decay does not pass.

The rule of the SNIA performance test specification (PTS 2.0.2, definition 2.1.24) looks at five rounds: range at most
20 % of the mean, and the excursion of the fitted line over the window at most 10 % of it. It is a test of flatness:
a decay with a time constant of 20 rounds passes it after six rounds, 83 % above where it ends.
Drift equivalence asks for more: over twenty rounds or more, the 90 % interval of the line's excursion over twenty
rounds lies inside +-5 % of the mean, the slope's error taken with the noise's memory (first-order autoregression).
"Drifting" is a slope that differs from none at 5 %. Refuses to call steady what is undecided: noise that hides a
drift is "not shown".
"""

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from mileage._core import t_quantile

PTS_WINDOW: Final = 5
PTS_RANGE_MAX: Final = 0.20
PTS_SLOPE_MAX: Final = 0.10
DRIFT_ROUNDS: Final = 20
DRIFT_MAX: Final = 0.05

Floats = NDArray[np.float64]


class PtsWindow(msgspec.Struct, frozen=True):
    """One measurement window: mean, range and the fitted line's excursion over it, in the unit of the rounds."""

    first: int
    mean: float
    range: float
    excursion: float

    @property
    def steady(self) -> bool:
        """Both limits kept."""
        return self.range <= PTS_RANGE_MAX * self.mean and self.excursion <= PTS_SLOPE_MAX * self.mean


class Drift(msgspec.Struct, frozen=True):
    """Change over twenty rounds as a share of the mean, with its 90 % interval, and the word for it."""

    state: Literal["steady", "drifting", "not shown", "too short"]
    per_20_rounds: float
    ci90: tuple[float, float]


def pts_window(rounds: Sequence[float], last: int) -> PtsWindow:
    """The window of five rounds that ends with round `last` (from 0). ValueError below round 4, or past the end."""
    first = last - PTS_WINDOW + 1
    if first < 0 or last >= len(rounds):
        raise ValueError(f"round {last} of {len(rounds)}: a window needs {PTS_WINDOW} rounds up to it")
    window = np.asarray(rounds[first : last + 1], dtype=np.float64)
    mean = float(window.mean())
    excursion = abs(_slope(window)) * (PTS_WINDOW - 1)
    return PtsWindow(first, mean, float(window.max() - window.min()), excursion)


def pts_line(window: Sequence[float]) -> tuple[float, float]:
    """The straight line through the rounds of a window, by least squares: at its first and at its last round."""
    series = np.asarray(window, dtype=np.float64)
    rise = _slope(series) * (len(series) - 1)
    return float(series.mean()) - rise / 2, float(series.mean()) + rise / 2


def drift(rounds: Sequence[float]) -> Drift:
    """Drift of all rounds given, at least twenty, finite, with a mean above 0; ValueError otherwise but for few."""
    series = np.asarray(rounds, dtype=np.float64)
    if not np.isfinite(series).all() or (len(series) and series.mean() <= 0):
        raise ValueError("rounds must be finite, with a mean above 0")
    n = len(series)
    if n < DRIFT_ROUNDS:
        return Drift("too short", 0.0, (-math.inf, math.inf))
    scale = (DRIFT_ROUNDS - 1) / float(series.mean())
    slope = _slope(series)
    error, df = _slope_error(series, slope)
    half = t_quantile(df, 0.95) * error
    low, high = (slope - half) * scale, (slope + half) * scale
    if max(-low, high) <= DRIFT_MAX:
        state: Literal["steady", "drifting", "not shown"] = "steady"
    elif abs(slope) > t_quantile(df, 0.975) * error:
        state = "drifting"
    else:
        state = "not shown"
    return Drift(state, slope * scale, (low, high))


def _slope(series: Floats) -> float:
    time = np.arange(len(series)) - (len(series) - 1) / 2
    return float(time @ series / (time @ time))


def _slope_error(series: Floats, slope: float) -> tuple[float, float]:
    """Standard error of the slope with the long-run variance of its residuals, and its degrees of freedom."""
    n = len(series)
    time = np.arange(n) - (n - 1) / 2
    rest = series - series.mean() - slope * time
    square = float(rest @ rest)
    if square <= 0:
        return 0.0, n - 2
    phi = min(max(float(rest[1:] @ rest[:-1]) / square + 4 / n, 0.0), 0.95)
    inflation = (1 + phi) / (1 - phi)
    variance = square / (n - 2) * inflation
    return math.sqrt(variance / float(time @ time)), max((n - 2) / inflation, 3.0)
