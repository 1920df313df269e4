"""Summary statistics of one cell: centre, spread and extremes of its runs, each with its definition.

Scope: the runs of one cell as they are: nothing is dropped by value. Means of rates come in two forms that answer
two questions: the geometric mean is what ratios are made of, the total-work rate is all bytes over all time.
Refuses what a sample cannot carry: a spread below two runs, an interval of the median below six.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from mileage.judge.distributions import binomial_at_most, t_quantile

MEDIAN_RUNS_MIN: Final = 6
"""Fewest runs for which two order statistics enclose the median with 95 %: 1 - 2 x 0.5^6 = 96.9 %."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one cell, in the unit of the values. None: not available, and `notes` says why.

    `sd` divides by n - 1; `cv` is sd over the arithmetic mean; `repeatability` is (max - min) over the mean.
    `mean_ci95` is Student's interval of the geometric mean on the log scale. `median_ci` are the order statistics
    that enclose the median with at least 95 %, `median_confidence` what they truly reach.
    """

    n: int
    mean: float | None
    geometric_mean: float | None
    mean_ci95: tuple[float, float] | None
    median: float | None
    median_ci: tuple[float, float] | None
    median_confidence: float | None
    sd: float | None
    cv: float | None
    minimum: float | None
    maximum: float | None
    repeatability: float | None
    notes: tuple[str, ...] = ()


def summarise(values: Sequence[float]) -> Summary:
    """Summary of one value per run; values that are not finite are counted, reported and excluded."""
    kept = sorted(value for value in values if math.isfinite(value))
    notes = [] if len(kept) == len(values) else [f"{len(values) - len(kept)} values are not finite"]
    n = len(kept)
    if n == 0:
        return _nothing([*notes, "no run"])
    mean = math.fsum(kept) / n
    sd = math.sqrt(math.fsum((x - mean) ** 2 for x in kept) / (n - 1)) if n > 1 else None
    if sd is None:
        notes.append("one run: no spread")
    positive = kept[0] > 0
    if not positive:
        notes.append("a value of 0 or below: no geometric mean")
    logs = [math.log(x) for x in kept] if positive else []
    median_ci, confidence = median_interval(kept)
    if median_ci is None:
        notes.append(f"no interval of the median below {MEDIAN_RUNS_MIN} runs")
    return Summary(
        n=n,
        mean=mean,
        geometric_mean=math.exp(math.fsum(logs) / n) if positive else None,
        mean_ci95=_log_interval(logs) if n > 1 and positive else None,
        median=(kept[(n - 1) // 2] + kept[n // 2]) / 2,
        median_ci=median_ci,
        median_confidence=confidence,
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
    rank = 1
    while binomial_at_most(rank, n, 0.5) <= 0.025:
        rank += 1
    ordered = sorted(values)
    return (ordered[rank - 1], ordered[n - rank]), 1 - 2 * binomial_at_most(rank - 1, n, 0.5)


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


def _log_interval(logs: Sequence[float]) -> tuple[float, float]:
    n = len(logs)
    centre = math.fsum(logs) / n
    sd = math.sqrt(math.fsum((x - centre) ** 2 for x in logs) / (n - 1))
    half = t_quantile(n - 1, 0.975) * sd / math.sqrt(n)
    return math.exp(centre - half), math.exp(centre + half)


def _nothing(notes: Sequence[str]) -> Summary:
    names = [field for field in Summary.__struct_fields__ if field not in ("n", "notes")]
    return Summary(n=0, **dict.fromkeys(names), notes=tuple(notes))
