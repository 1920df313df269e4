"""Ratios of what two programs measured in the same rounds, with intervals.

Scope: one figure a program and round. A round is measured within seconds, so that its ratio is of one moment of the
machine; the logarithms of the ratios are taken as normal (Student's t over the rounds).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Final, NamedTuple

LEVEL: Final = 0.90
"""Of the interval, two-sided."""
BAND: Final = 0.10
"""A ratio is near 1 where its whole interval is as near."""
ROUNDS_MIN: Final = 5


class Ratio(NamedTuple):
    """A ratio of two programs' figures."""

    mean: float
    """Geometric, over the rounds."""
    least: float
    most: float
    rounds: int

    def is_within(self, band: float) -> bool:
        """Whether the interval lies in 1 +- `band`."""
        return 1 - band <= self.least and self.most <= 1 + band

    def is_beyond(self, band: float) -> bool:
        """Whether the interval lies outside of 1 +- `band`: more rounds would not bring it inside."""
        return self.most < 1 - band or self.least > 1 + band

    def __str__(self) -> str:
        """The ratio and its interval: "1.02 (0.97 to 1.08)"."""
        return f"{self.mean:.3f} ({self.least:.3f} to {self.most:.3f})"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio of figures of the same rounds, above 0, at least two."""
    from scipy.stats import t  # type: ignore[import-untyped, unused-ignore]

    logs = [math.log(one / other) for one, other in zip(ours, theirs, strict=True)]
    count, middle = len(logs), fmean(logs)
    reach = float(t.ppf((1 + LEVEL) / 2, count - 1)) * stdev(logs) / math.sqrt(count)
    return Ratio(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach), count)


def is_enough(ratios: Mapping[str, Ratio], band: float = BAND) -> bool:
    """Whether further rounds could change no answer: each interval is inside the band, or outside of it."""
    return all(
        one.rounds >= ROUNDS_MIN and (one.is_within(band) or one.is_beyond(band)) for one in ratios.values()
    )
