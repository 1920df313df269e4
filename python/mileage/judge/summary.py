"""Summary statistics of one cell: centre, spread and extremes of its runs, each with its definition.

Scope: the runs of one cell as they are: nothing is dropped by value. The geometric mean with its interval is the
number of a cell wherever one is given, because the ratio of two of them is the ratio that is judged. Next to it stand
the median, with its own interval, and the pooled rate, which is all work over all time.
Refuses what a sample cannot carry: a geometric mean where a run failed or has no value above 0, a spread below two
runs, an interval of the median below six.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Final, Literal

import msgspec

from mileage._core import t_quantile
from mileage.judge.ratio import exp

MEDIAN_RUNS_MIN: Final = 6
"""Fewest runs for which two order statistics enclose the median with 95 %: 1 - 2 x 0.5^6 = 96.9 %."""

Missing = Literal["not-finite", "failed", "no-run", "one-run", "not-positive", "few-runs-for-median"]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one cell, in the unit of the values. None: not available, and `notes` has the codes of the reasons.

    `n` counts the runs with a finite value, `completed` those of them above 0, `asked` also those that failed.
    `sd` divides by n - 1; `cv` is sd over the arithmetic mean; `repeatability` is (max - min) over the mean.
    `mean_ci95` is Student's interval of the geometric mean on the log scale. `median_ci` are the order statistics
    that enclose the median with at least 95 %, `median_confidence` what they truly reach. `pooled` is all work over
    all time.
    """

    n: int
    asked: int
    completed: int
    mean: float | None = None
    geometric_mean: float | None = None
    mean_ci95: tuple[float, float] | None = None
    median: float | None = None
    median_ci: tuple[float, float] | None = None
    median_confidence: float | None = None
    pooled: float | None = None
    sd: float | None = None
    cv: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    repeatability: float | None = None
    notes: tuple[Missing, ...] = ()


def summarise(values: Sequence[float], *, times_s: Sequence[float] = (), failed: int = 0) -> Summary:
    """Summary of one value per run; values that are not finite are counted, reported and excluded.

    `times_s`: the time of each run, for the pooled rate of values per second; empty where it is not known. `failed`:
    runs that have no value.
    """
    kept = sorted(value for value in values if math.isfinite(value))
    n, asked, completed = len(kept), len(values) + failed, sum(value > 0 for value in kept)
    notes: list[Missing] = []
    notes += ["not-finite"] if n < len(values) else []
    notes += ["failed"] if failed else []
    if n == 0:
        return Summary(n=0, asked=asked, completed=0, notes=(*notes, "no-run"))
    notes += ["one-run"] if n == 1 else []
    notes += ["not-positive"] if completed < n else []
    notes += ["few-runs-for-median"] if n < MEDIAN_RUNS_MIN else []
    mean = math.fsum(kept) / n
    sd = math.sqrt(math.fsum((x - mean) ** 2 for x in kept) / (n - 1)) if n > 1 else None
    logs = [math.log(x) for x in kept] if completed == asked else []
    # Rounding must not carry the mean of equal values past them, nor past the ends of its interval.
    centre = min(max(exp(math.fsum(logs) / n), kept[0]), kept[-1]) if logs else None
    timed = len(times_s) == n == len(values) and math.fsum(times_s) > 0
    median_ci, confidence = median_interval(kept)
    return Summary(
        n=n,
        asked=asked,
        completed=completed,
        mean=mean,
        geometric_mean=centre,
        mean_ci95=None if centre is None or n < 2 else _interval_around(centre, logs),
        median=(kept[(n - 1) // 2] + kept[n // 2]) / 2,
        median_ci=median_ci,
        median_confidence=confidence,
        pooled=total_work_rate([v * t for v, t in zip(values, times_s, strict=True)], times_s)
        if timed
        else None,
        sd=sd,
        cv=sd / mean if sd is not None and mean > 0 else None,
        minimum=kept[0],
        maximum=kept[-1],
        repeatability=(kept[-1] - kept[0]) / mean if mean > 0 else None,
        notes=tuple(notes),
    )


def median_interval(values: Sequence[float]) -> tuple[tuple[float, float] | None, float | None]:
    """The innermost order statistics that enclose the median with at least 95 %, and their true confidence.

    [x(l), x(n + 1 - l)] with the largest l for which P(Binomial(n, 1/2) <= l - 1) <= 0.025 (Le Boudec 2010, 2.2).
    (None, None) below six values.
    """
    n = len(values)
    if n < MEDIAN_RUNS_MIN:
        return None, None
    rank, confidence = _innermost(n)
    ordered = sorted(values)
    return (ordered[rank - 1], ordered[n - rank]), confidence


@cache
def _innermost(n: int) -> tuple[int, float]:
    """The rank of the lower order statistic of `median_interval`, and the confidence.

    In whole numbers, of 2^n ways: `outside` of them have at most `rank` - 1 values below the median.
    """
    rank, outside, ways = 1, 1, n
    while 40 * (outside + ways) <= 1 << n:
        rank, outside, ways = rank + 1, outside + ways, ways * (n - rank) // (rank + 1)
    return rank, 1 - 2 * (outside / (1 << n))


@cache
def _reach(n: int) -> float:
    """Half the 95 % interval of the mean of n values, in standard deviations."""
    return t_quantile(n - 1, 0.975) / math.sqrt(n)


def total_work_rate(work: Sequence[float], times_s: Sequence[float]) -> float:
    """Pooled rate: all work divided by all time, in units of work per second.

    ValueError for unequal lengths or no time at all.
    """
    if len(work) != len(times_s) or not times_s or math.fsum(times_s) <= 0:
        raise ValueError("work and times must be of one length, with some time in them")
    return math.fsum(work) / math.fsum(times_s)


def superiority(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Chance that a run of the candidate has the larger value than one of the baseline, ties half (U / n1 n2).

    ValueError if one has no run.
    """
    if not baseline or not candidate:
        raise ValueError("both arms need a run")
    ordered = sorted(baseline)
    wins = sum(bisect_left(ordered, b) + bisect_right(ordered, b) for b in candidate) / 2
    return wins / (len(baseline) * len(candidate))


def _interval_around(mean: float, logs: Sequence[float]) -> tuple[float, float]:
    n = len(logs)
    centre = math.fsum(logs) / n
    sd = math.sqrt(math.fsum((x - centre) ** 2 for x in logs) / (n - 1))
    half = _reach(n) * sd
    return min(exp(centre - half), mean), max(exp(centre + half), mean)
