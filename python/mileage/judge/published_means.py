"""A table of printed means or differences, judged as if the runs were at hand.

Scope: where mean and deviation of both arms are printed, the runs of an arm as log-normal: a mean m and a standard
deviation s (n - 1) over n runs become the mean ln m - v/2 and the variance v = ln(1 + (s/m)^2) of their logarithms
(moments of the log-normal distribution); from there on it is Welch on logs, as for unpaired runs. Where only the
difference of the means and one deviation are printed, in percent, the scale stays the table's own: Student's t on the
share of the baseline's mean, corrected for all cells by Benjamini-Hochberg. What is not printed must be assumed: the
other arm has the same spread, which counts as known (2n - 2 degrees of freedom); the caveats say what would be
judged if the printed spread were all that is known (n - 1).
Refuses what no table can mean: a mean of 0 or below, a negative deviation, fewer than two runs, a cell twice.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, cast

import msgspec

from mileage.judge.comparison import CellVerdict, Comparison, judged
from mileage.judge.correction import holm
from mileage.judge.evidence import Evidence
from mileage.judge.ratio import Estimate, Moments, welch_of_moments
from mileage.judge.rules import PrintedFigures
from mileage.judge.samples import TORTURE, Sample
from mileage.judge.verdict import DEFAULT_RELEVANCE
from mileage.model.caveat import Caveat, limit, note
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


class PrintedDifference(msgspec.Struct, frozen=True):
    """One row: the words that name the cell, a word of `METRICS`, and the figures."""

    name: str
    metric: str
    printed: PrintedFigures
    places: dict[str, str] = {}
    """The test, and what else names the cell, by column."""


LABELS: Final = ("the baseline", "the candidate")


def compare_printed(
    cells: Sequence[PrintedCell],
    *,
    labels: tuple[str, str] = LABELS,
    relevance: float | None = None,
    alpha: float = 0.05,
) -> Comparison:
    """Judge both arms of every row, corrected for their number. `relevance` holds for all metrics (0.02 = 2 %).

    ValueError: no row, a row that no table can mean, or one that appears twice.
    """
    _check([(cell.name, cell.metric) for cell in cells])
    margins = dict(DEFAULT_RELEVANCE) if relevance is None else dict.fromkeys(DEFAULT_RELEVANCE, relevance)
    return _judged([_evidence(cell) for cell in cells], margins, labels, alpha)


def compare_differences(
    cells: Sequence[PrintedDifference],
    *,
    runs: int,
    relevance: float = 0.02,
    alpha: float = 0.05,
    against: Sequence[PrintedDifference] = (),
) -> Comparison:
    """Judge a table of differences of means over `runs` runs (2 or more) of each arm; none is too few to be corrected.

    `against` is a second print of some of the cells, such as a table of highlights: each that differs is a caveat.
    ValueError: no row, a row that no table can mean, or one that appears twice; a cell that only `against` has.
    """
    _check([(cell.name,) for cell in cells])
    if runs < 2:
        raise ValueError(f"{runs} runs per cell: a spread needs at least 2")
    margins = dict.fromkeys(DEFAULT_RELEVANCE, relevance)
    both, alone = (
        _judged([_difference(cell, runs, df) for cell in cells], margins, LABELS, alpha, are_differences=True)
        for df in (2 * runs - 2, runs - 1)
    )
    judged_cells = tuple(
        msgspec.structs.replace(
            one,
            printed=cell.printed,
            caveats=(*one.caveats, *_otherwise(one, other)),
        )
        for cell, one, other in zip(cells, both.cells, alone.cells, strict=True)
    )
    caveats = [_assumed(both, alone, runs), _error_bars(cells), *_disagreements(cells, against)]
    return msgspec.structs.replace(both, cells=judged_cells, caveats=(*caveats, *both.caveats))


def _check(names: Sequence[tuple[str, ...]]) -> None:
    if not names:
        raise ValueError("the table has no row")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"cell {', '.join(twice)} appears twice")


def _judged(
    evidence: Sequence[Evidence],
    margins: Mapping[str, float],
    labels: tuple[str, str],
    alpha: float,
    *,
    are_differences: bool = False,
) -> Comparison:
    asked = Comparison(
        kind="arms",
        baseline=labels[0],
        candidate=labels[1],
        alpha=alpha,
        tortured=False,
        is_printed=True,
    )
    # A printed deviation of zero is taken at its word, as the reading of its error bar is.
    return judged(asked, evidence, margins, simulated=are_differences, has_headline=not are_differences)


def _difference(cell: PrintedDifference, runs: int, df: int) -> Evidence:
    change, spread = cell.printed.difference_percent / 100, cell.printed.sd_percent / 100
    if not (-1 < change < math.inf and 0 <= spread < math.inf):
        raise ValueError(
            f"cell {cell.name}: found {cell.printed.difference_percent} and {cell.printed.sd_percent}; expected a "
            "difference above -100 % and a deviation of 0 or more"
        )
    estimate = Estimate(math.log1p(change), spread * math.sqrt(2 / runs), df, is_share=True)
    return Evidence(
        sample=_place(cell, change),
        values_baseline=(),
        values_candidate=(),
        log_ratio=estimate.log_ratio,
        estimate=estimate,
        units_baseline=runs,
        units_candidate=runs,
    )


def _otherwise(one: CellVerdict, other: CellVerdict) -> list[Caveat]:
    """The verdict on a cell where nothing is assumed of the other arm, if it is another one."""
    if one.verdict == other.verdict:
        return []
    return [note("printed-spread-only", verdict=other.verdict, p=other.p_adjusted or 0.0)]


def _assumed(both: Comparison, alone: Comparison, runs: int) -> Caveat:
    """That the other arm has the printed spread, with what both assumptions come to."""
    p_raw = [cell.p_raw for cell in both.cells if cell.p_raw is not None]
    return limit(
        "equal-spread",
        cells=len(both.cells),
        df=2 * runs - 2,
        uncorrected=sum(p <= both.alpha for p in p_raw),
        different=_different(both),
        holm=sum(p <= both.alpha for p in holm(p_raw)),
        within=_within(both),
        df_alone=runs - 1,
        different_alone=_different(alone),
        within_alone=_within(alone),
    )


def _different(found: Comparison) -> int:
    return sum(cell.p_adjusted is not None and cell.p_adjusted <= found.alpha for cell in found.cells)


def _within(found: Comparison) -> int:
    return sum(cell.verdict in ("same", "real but irrelevant") for cell in found.cells)


def _error_bars(cells: Sequence[PrintedDifference]) -> Caveat:
    """What the rule says by which such tables are often read: an error bar that does not cross zero "is real"."""
    readings = [cell.printed.error_bar for cell in cells]
    different, ties = readings.count("different"), readings.count("tie")
    return note("error-bars", different=different, nothing=len(cells) - different - ties, ties=ties)


def _disagreements(cells: Sequence[PrintedDifference], against: Sequence[PrintedDifference]) -> list[Caveat]:
    """The cells that the second table prints differently, each with the cells that have the pair it prints."""
    own = {cell.name: cell for cell in cells}
    found = []
    for other in against:
        if other.name not in own:
            raise ValueError(f"cell {other.name} of the second table is not in the first")
        cell = own[other.name]
        if cell.printed == other.printed:
            continue
        elsewhere = [
            one.name
            for one in cells
            if one.printed == other.printed and one.places.get("test") == cell.places.get("test")
        ]
        found.append(
            note(
                "printed-twice",
                tests=(cell.name,),
                here_percent=cell.printed.difference_percent,
                here_sd_percent=cell.printed.sd_percent,
                there_percent=other.printed.difference_percent,
                there_sd_percent=other.printed.sd_percent,
                elsewhere=", ".join(elsewhere),
            )
        )
    return found


def _evidence(cell: PrintedCell) -> Evidence:
    low, high = _moments(cell, cell.baseline), _moments(cell, cell.candidate)
    known = cell.has_unit or cell.metric == "iops"
    return Evidence(
        sample=_place(cell, cell.baseline.mean),
        values_baseline=(),
        values_candidate=(),
        log_ratio=high.mean - low.mean,
        log_baseline=low.mean if known else None,
        log_candidate=high.mean if known else None,
        estimate=welch_of_moments(low, high),
        units_baseline=low.n,
        units_candidate=high.n,
    )


def _place(cell: PrintedCell | PrintedDifference, value: float) -> Sample:
    """A sample with the labels of a row."""
    row = METRICS[cast(MetricWord, cell.metric)]
    measure = cell.metric if cell.metric == "iops" else "throughput"
    return Sample(0, 1, TORTURE, "printed", 1, measure, cell.name, row.figure, value, row.higher_is_better)


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
