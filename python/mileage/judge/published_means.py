"""A table that prints the mean and the deviation of both arms, judged as if the runs were at hand.

Scope: the runs of an arm as log-normal: a mean m and a standard deviation s (n - 1) over n runs become the mean
ln m - v/2 and the variance v = ln(1 + (s/m)^2) of their logarithms (moments of the log-normal distribution); from there
on it is Welch on logs, as for unpaired runs.
Refuses what no table can mean: a mean of 0 or below, a negative deviation, fewer than two runs, a cell twice.
"""

import math
from collections.abc import Sequence
from typing import cast

import msgspec

from mileage.judge.comparison import Comparison, judged
from mileage.judge.evidence import Evidence
from mileage.judge.ratio import Moments, welch_of_moments
from mileage.judge.samples import TORTURE, Sample
from mileage.judge.verdict import DEFAULT_RELEVANCE
from mileage.model.metrics import METRICS, MetricWord


class PrintedArm(msgspec.Struct, frozen=True):
    """Printed figures of one arm: mean and standard deviation (n - 1) in one unit, over `runs` runs."""

    mean: float
    sd: float
    runs: int


class PrintedCell(msgspec.Struct, frozen=True):
    """One row: the words that name the cell, a word of `model.metrics.METRICS`, and both arms."""

    name: str
    metric: str
    baseline: PrintedArm
    candidate: PrintedArm
    has_unit: bool = False
    """Whether the means are in bytes/s, operations/s, nanoseconds or seconds; else only their ratio has a meaning."""
    places: dict[str, str] = {}
    """The test, and what else names the cell, by column."""


def compare_printed(
    cells: Sequence[PrintedCell],
    *,
    labels: tuple[str, str] = ("the baseline", "the candidate"),
    relevance: float | None = None,
    alpha: float = 0.05,
) -> Comparison:
    """Judge both arms of every row, corrected for their number. `relevance` holds for all metrics (0.02 = 2 %).

    ValueError: no row, a row that no table can mean, or one that appears twice.
    """
    if not cells:
        raise ValueError("the table has no row")
    names = [(cell.name, cell.metric) for cell in cells]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"cell {', '.join(twice)} appears twice")
    margins = dict(DEFAULT_RELEVANCE) if relevance is None else dict.fromkeys(DEFAULT_RELEVANCE, relevance)
    return judged(
        [_evidence(cell) for cell in cells],
        margins,
        kind="arms",
        baseline=labels[0],
        candidate=labels[1],
        descriptive=False,
        unit="run",
        sham_removed=False,
        alpha=alpha,
        is_printed=True,
    )


def _evidence(cell: PrintedCell) -> Evidence:
    low, high = _moments(cell, cell.baseline), _moments(cell, cell.candidate)
    row = METRICS[cast(MetricWord, cell.metric)]
    measure = cell.metric if cell.metric == "iops" else "throughput"
    known = cell.has_unit or cell.metric == "iops"
    place = Sample(
        0, 1, TORTURE, "printed", 1, measure, cell.name, row.figure, cell.baseline.mean, row.higher_is_better
    )
    return Evidence(
        sample=place,
        values_baseline=(),
        values_candidate=(),
        log_ratio=high.mean - low.mean,
        log_baseline=low.mean if known else None,
        log_candidate=high.mean if known else None,
        estimate=welch_of_moments(low, high),
        units_baseline=low.n,
        units_candidate=high.n,
    )


def _moments(cell: PrintedCell, arm: PrintedArm) -> Moments:
    if not (0 < arm.mean < math.inf and 0 <= arm.sd < math.inf):
        raise ValueError(
            f"cell {cell.name}: found mean {arm.mean:g} and deviation {arm.sd:g}; expected a mean above 0 and a "
            "deviation of 0 or more"
        )
    if arm.runs < 2:
        raise ValueError(f"cell {cell.name}: {arm.runs} runs; a deviation needs at least 2")
    variance = math.log1p((arm.sd / arm.mean) ** 2)
    return Moments(arm.runs, math.log(arm.mean) - variance / 2, variance)
