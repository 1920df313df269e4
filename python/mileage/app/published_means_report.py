"""A table that prints both arms, as a page: what `mileage compare --table` judges, with figures and tables.

Scope: the page of a comparison without studies: verdicts, intervals and a chart per test. There are no runs, no
environment and no checks, and the page says so. Refuses what the judgement refuses.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from mileage.judge import Comparison
from mileage.judge.published_means import PrintedCell
from mileage.report import StudyView, ValidityCheck
from mileage.report.evidence import Evidence

_METHOD = (
    "The runs of each arm are taken as log-normal: the printed mean m and standard deviation s become the mean "
    "ln m - v/2 and the variance v = ln(1 + (s/m)²) of the logarithms of the runs. Both arms are compared by Welch's "
    "t on these logarithms. The headline is corrected by Holm, all cells by Benjamini-Hochberg."
)


def printed_view(
    table: Path, cells: Sequence[PrintedCell], comparison: Comparison, options: Sequence[str]
) -> StudyView:
    """What the page of a judged table shows. `options`: of the command, behind the table."""
    runs = sorted({arm.runs for cell in cells for arm in (cell.baseline, cell.candidate)})
    counts = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    units = "as printed" if all(cell.has_unit for cell in cells) else "not printed: only ratios are shown"
    return StudyView(
        name=table.name,
        question="Does the candidate of this published table differ from its baseline?",
        target="a published table",
        identity={"table": str(table), "runs behind each mean": counts, "unit of the means": units},
        command=shlex.join(["mileage", "compare", "--table", str(table), *options]),
        comparison=comparison,
        torture=[],
        environments=[],
        environment_changes=[],
        trust=[
            ValidityCheck(
                "evidence",
                "unknown",
                "printed means and standard deviations; Mileage did not measure this, and has no single run",
            )
        ],
        runs_total=0,
        runs_failed=0,
        method=_METHOD,
        evidence=Evidence(places={cell.name: cell.places for cell in cells}),
    )
