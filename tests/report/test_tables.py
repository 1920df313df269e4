"""The CSV says what the comparison says, digit for digit."""

import csv
import io

from mileage.judge import Sample, compare_stages
from mileage.judge.summary import summarise
from mileage.report.tables import cells_csv, summaries_csv


def samples(cell: str) -> list[Sample]:
    return [
        Sample(run, cycle, "torture", stage, 1, "iops", cell, "ops_per_s", value + cycle, True)
        for run, (cycle, (stage, value)) in enumerate(
            (cycle, level) for cycle in (1, 2, 3) for level in (("before", 100.0), ("after", 50.0))
        )
    ]


def test_every_cell_is_a_row_that_reads_back_exactly() -> None:
    comparison = compare_stages(
        samples('a,"quoted" cell') + samples("b"), baseline="before", candidate="after", relevance={}
    )
    rows = list(csv.DictReader(io.StringIO(cells_csv(comparison))))
    assert [row["cell"] for row in rows] == [cell.cell for cell in comparison.cells]
    for row, cell in zip(rows, comparison.cells, strict=True):
        assert float(row["ratio"]) == cell.ratio
        assert cell.ci95 is not None
        assert (float(row["ci95_low"]), float(row["ci95_high"])) == cell.ci95
        assert row["verdict"] == cell.verdict == "slower"


def test_every_arm_of_a_cell_is_summarised() -> None:
    comparison = compare_stages(
        samples("a") + samples("b"), baseline="before", candidate="after", relevance={}
    )
    rows = list(csv.DictReader(io.StringIO(summaries_csv(comparison))))
    assert [(row["cell"], row["arm"]) for row in rows] == [
        ("a", "before"), ("a", "after"), ("b", "before"), ("b", "after"),
    ]  # fmt: skip
    expected = summarise([101.0, 102.0, 103.0])
    assert (float(rows[0]["geometric_mean"]), float(rows[0]["cv"])) == (expected.geometric_mean, expected.cv)
    assert rows[0]["median_ci_low"] == ""
    assert "few-runs-for-median" in rows[0]["notes"]
