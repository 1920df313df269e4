"""The five words for a comparison, and how much difference matters.

Two questions are asked and both answers shape the word: is there a difference (adjusted p), and is it shown
to be smaller than what matters (two one-sided tests, Schuirmann 1987: the interval of confidence 1 - 2 alpha,
90 % for alpha 5 %, lies inside +-ln(1 + relevance)). Refuses to read "not significant" as "the same".
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, get_args

from mileage.model.metrics import METRICS

Verdict = Literal["faster", "slower", "real but irrelevant", "same", "undecided", "not conclusive"]
"""The last stands in a report in the place of each verdict that a veto makes void; `decide` never gives it."""
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)[:-1]

DEFAULT_RELEVANCE: Final[Mapping[str, float]] = MappingProxyType(
    {"throughput": 0.02, "iops": 0.05, "p99": 0.10, "time": 0.02}
)
"""Smallest relative change that matters, by kind of metric."""

_KIND_OF_METRIC: Final[Mapping[str, str]] = MappingProxyType(
    {row.figure: row.margin for row in METRICS.values()}
)


def relevance_of(metric: str, relevance: Mapping[str, float]) -> float:
    """The relevance of a metric: as given under "throughput", "iops" or "p99", otherwise the default.

    ValueError for a metric without a kind, or a relevance that is negative or not finite.
    """
    if metric not in _KIND_OF_METRIC:
        raise ValueError(f"metric {metric!r} has no relevance; known are {', '.join(_KIND_OF_METRIC)}")
    kind = _KIND_OF_METRIC[metric]
    delta = relevance.get(kind, DEFAULT_RELEVANCE[kind])
    if not 0 <= delta < math.inf:
        raise ValueError(f"relevance of {kind} is {delta}; expected a relative change such as 0.02")
    return delta


def decide(
    log_ratio: float,
    interval: tuple[float, float],
    p_adjusted: float,
    *,
    relevance: float,
    alpha: float,
    higher_is_better: bool,
) -> Verdict:
    """The verdict on one log ratio (candidate over baseline) with its interval of confidence 1 - 2 alpha.

    Both comparisons count their border in: p equal to alpha is a difference, an interval that ends on the
    margin is inside. "faster" means better, whatever the metric: for a latency, a ratio below 1.
    """
    margin = math.log1p(relevance)
    inside = -margin <= interval[0] and interval[1] <= margin
    if p_adjusted > alpha:
        return "same" if inside else "undecided"
    if inside:
        return "real but irrelevant"
    return "faster" if (log_ratio > 0) == higher_is_better else "slower"
