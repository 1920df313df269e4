"""A published table: what `mileage compare --table` judges, and its page with figures and tables.

Scope: the page of a comparison without studies: verdicts, intervals and a chart per test. There are no runs, no
environment and no checks, and the page says so. Refuses what the judgement refuses.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mileage.errors import Refused
from mileage.formats.published_table import prints_arms, read_arms, read_differences
from mileage.judge import Comparison
from mileage.judge.published_means import PrintedCell, PrintedDifference, compare_differences, compare_printed
from mileage.report import StudyView, ValidityCheck
from mileage.report.chart_data import ChartData
from mileage.report.sentence import notes_of

Cells = Sequence[PrintedCell | PrintedDifference]

_ARMS: Final = (
    "The runs of each arm are taken as log-normal: the printed mean m and standard deviation s become the mean "
    "ln m - v/2 and the variance v = ln(1 + (s/m)²) of the logarithms of the runs. Both arms are compared by Welch's "
    "t on these logarithms. The headline is corrected by Holm, all cells by Benjamini-Hochberg."
)
_DIFFERENCES: Final = (
    "Differences are arithmetic: (mean of the candidate - mean of the baseline) in percent of the mean of the "
    "baseline, as printed. Standard error: printed deviation × √(2/n) for n runs of each arm, Student's t with 2n - 2 "
    "degrees of freedom. All cells are corrected by Benjamini-Hochberg; cells are the same where the interval of 90 % "
    "lies within the margin, as many times slower as faster (two one-sided tests).\n\n"
    "The rule of the error bar, which such articles are often read by: a difference whose error bar of one standard "
    "deviation does not cross zero is taken to be real. With ten runs and no difference that calls about one cell in "
    "twenty different."
)


def judged_table(
    table: Path, against: Path | None, runs: int, margin: float | None
) -> tuple[Cells, Comparison]:
    """The rows of a published table, and the comparison that they make.

    `against`: a second table of some of its cells. `runs`: behind each mean where the table does not say how many.
    `margin`: the largest difference that does not matter, in percent; None: the margins of all studies, of differences
    2 %.

    Raises:
        Refused: a file is no such table, or what it says cannot be judged.
    """
    try:
        if not prints_arms(table):
            columns, cells = read_differences(table)
            other, second = (columns, ()) if against is None else read_differences(against)
            if other != columns:
                raise Refused(
                    against,
                    f"names its cells by {', '.join(other)}",
                    advice=f"{table} by {', '.join(columns)}",
                    code="mismatch",
                )
            relevance = 0.02 if margin is None else margin / 100
            return cells, compare_differences(cells, runs=runs, relevance=relevance, against=second)
        if against is not None:
            advice = f"{table} prints both arms"
            raise Refused("--against", "is for tables of differences", advice=advice, code="conflict")
        arms = read_arms(table, runs)
        return arms, compare_printed(arms, relevance=None if margin is None else margin / 100)
    except ValueError as cause:
        raise Refused(table, str(cause), code="wrong-value") from cause


def printed_view(table: Path, cells: Cells, comparison: Comparison, options: Sequence[str]) -> StudyView:
    """What the page of a judged table shows. `options`: of the command, behind the table."""
    runs = sorted({count for cell in comparison.cells for count in (cell.n_baseline, cell.n_candidate)})
    counts = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    has_units = all(isinstance(cell, PrintedCell) and cell.has_unit for cell in cells)
    prints_arms = isinstance(cells[0], PrintedCell)
    return StudyView(
        name=table.name,
        question="Does the candidate of this published table differ from its baseline?",
        target="a published table",
        identity={
            "table": str(table),
            "runs behind each mean": counts,
            "unit of the means": "as printed" if has_units else "not printed: only ratios are shown",
        },
        command=shlex.join(["mileage", "compare", "--table", str(table), *options]),
        comparison=comparison,
        torture=[],
        environments=[],
        environment_changes=[],
        trust=[
            ValidityCheck(
                "evidence",
                "unknown",
                f"printed {'means' if prints_arms else 'differences'} and standard deviations; Mileage did not measure "
                "this, and has no single run",
            )
        ],
        runs_total=0,
        runs_failed=0,
        method=_ARMS if prints_arms else _DIFFERENCES,
        notes=notes_of(comparison),
        evidence=ChartData(places={cell.name: cell.places for cell in cells}),
    )
