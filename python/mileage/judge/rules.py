"""Rules of thumb that storage studies have been judged by, next to the verdicts and never in their place.

Also what such studies print: the difference of the arithmetic means, marked "barely" when it is close to the error
bars.

Scope: two rules for error bars of one standard deviation (n - 1): "different" when the bars do not overlap, and
"different" when the change exceeds the bar of the second mean, both in percent. Both are printed for comparison with
older studies. They are no statistical tests: with ten runs and no true difference the first rule finds one in 0.03 %
of the comparisons, the second in 5.2 %; with three runs in 8.2 % and 34 %. Refuses what has no spread: fewer than two
runs in an arm.
"""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Final, Literal, get_args

import msgspec

Reading = Literal["different", "nothing can be said", "tie", "not available"]
Barely = Literal["interval-reaches-margin", "spread-exceeds-half-change"]
BARELY_CODES: Final[tuple[Barely, ...]] = get_args(Barely)


class PrintedFigures(msgspec.Struct, frozen=True):
    """What a table prints of a cell, in percent: the difference of the arithmetic means, and one standard deviation.

    The difference is a share of the baseline's mean; the deviation (n - 1) is that of the candidate's runs.
    """

    difference_percent: float
    sd_percent: float

    @property
    def error_bar(self) -> Reading:
        """The reading of an error bar of one standard deviation; printed figures can be equal."""
        size = abs(self.difference_percent)
        return "tie" if size == self.sd_percent else _reading(size, self.sd_percent)


def bars_apart(baseline: Sequence[float], candidate: Sequence[float]) -> Reading:
    """Different when the bars of the two means do not overlap: |difference| above the sum of the deviations."""
    if min(len(baseline), len(candidate)) < 2:
        return "not available"
    return _reading(fmean(candidate) - fmean(baseline), stdev(baseline) + stdev(candidate))


def bar_clears_zero(baseline: Sequence[float], candidate: Sequence[float]) -> Reading:
    """Different when the difference in percent of the baseline exceeds the candidate's deviation in percent."""
    if min(len(baseline), len(candidate)) < 2 or fmean(baseline) == 0 or fmean(candidate) == 0:
        return "not available"
    difference = fmean(candidate) / fmean(baseline) - 1
    return _reading(difference, stdev(candidate) / fmean(candidate))


def _reading(difference: float, bar: float) -> Reading:
    return "different" if abs(difference) > bar else "nothing can be said"


def arithmetic_change(baseline: Sequence[float], candidate: Sequence[float]) -> float | None:
    """(mean of the candidate - mean of the baseline) / mean of the baseline, arithmetic means; None without runs."""
    if not baseline or not candidate or fmean(baseline) == 0:
        return None
    return fmean(candidate) / fmean(baseline) - 1


def relative_deviation(values: Sequence[float]) -> float | None:
    """The standard deviation (n - 1) as a share of the arithmetic mean; None for fewer than two runs."""
    if len(values) < 2 or fmean(values) == 0:
        return None
    return stdev(values) / fmean(values)


def barely(
    effect: float, interval: tuple[float, float] | None, margin: float, deviation: float | None
) -> tuple[Barely, ...]:
    """Codes of the reasons why a detected difference is close to the limit; empty where it is clear.

    All arguments are on one scale on which no change is 0. `interval`: of confidence 95 %. `margin`: the largest
    difference that does not matter. `deviation`: the larger standard deviation of the runs of both arms.
    """
    reasons: list[Barely] = []
    if interval is not None and (interval[0] <= margin if effect > 0 else interval[1] >= -margin):
        reasons.append("interval-reaches-margin")
    if deviation is not None and deviation > abs(effect) / 2:
        reasons.append("spread-exceeds-half-change")
    return tuple(reasons)
