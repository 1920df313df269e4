"""Rules of thumb that storage studies have been judged by, next to the verdicts and never in their place.

Models two readings of error bars of one standard deviation (n - 1), both printed for comparison with older studies.
They are no tests: with ten runs and no difference the first calls 0.03 % of cells different, the second 5.2 %; with
three runs 8.2 % and 34 %. Refuses what has no spread: fewer than two runs in an arm.
"""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Literal

Reading = Literal["different", "nothing can be said", "not available"]


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
