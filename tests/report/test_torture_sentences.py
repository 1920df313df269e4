"""What happened inside the torture, in words for a reader."""

import pytest

from mileage.report.torture_sentences import shape_lines
from mileage.report.view import RunShape


def shape(cycle: int, kind: str, levels: list[float], cuts: list[float], cell: str = "churn") -> RunShape:
    return RunShape(cell, cycle, kind, [level * 1e6 for level in levels], [cut * 1e9 for cut in cuts], 0.2e9)


@pytest.mark.parametrize(
    ("shapes", "line"),
    [
        (
            [shape(1, "cliff", [200, 20], [17.4]), shape(2, "cliff", [200, 25], [17.6])],
            "churn: in 2 runs the rate falls from 200 to 20-25 MB/s, to 10-12 % of it, "
            "after 17.4-17.6 GB (± 0.2 GB, the spacing of the measured points) were written.",
        ),
        ([shape(1, "flat", [200], [])], "churn: in its one run the rate stays at one level, about 200 MB/s."),
        (
            [shape(1, "cliff", [200, 20], [17.4]), shape(2, "flat", [200], [])],
            "churn: of 2 runs the rate falls in 1, stays at one level in 1.",
        ),
        (
            [shape(1, "multi-regime", [9, 8, 7, 6, 5, 4, 3], [1, 2, 3, 4, 5, 6])],
            "churn: in its one run the rate has several levels; the first are 9, 8, 7, 6, 5, 4 ... MB/s.",
        ),
        (
            [shape(1, "cliff", [0, 0], [1.0])],
            "churn: in its one run the rate falls from 0 to 0 MB/s, after 1 GB (± 0.2 GB, the spacing of the measured "
            "points) were written.",
        ),
    ],
)
def test_one_sentence_per_kind_of_torture(shapes: list[RunShape], line: str) -> None:
    assert shape_lines(shapes) == [line]


def test_kinds_of_torture_are_described_in_their_order() -> None:
    lines = shape_lines(
        [shape(1, "flat", [2], []), shape(1, "flat", [1], [], "fill"), shape(2, "flat", [2], [])]
    )
    assert [line.partition(":")[0] for line in lines] == ["churn", "fill"]
