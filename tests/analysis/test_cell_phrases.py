"""What the sentence calls the parts of a study, from its plan."""

from pathlib import Path

import pytest

from mileage import app
from mileage.analysis.cell_phrases import subject_of, wear_of, work_of
from mileage.judge.comparison import Work
from mileage.plan import Plan, parse_study
from mileage.plan.resolver import resolve
from tests.plan.conftest import SMALL, directory_facts, drive_facts

FILL = 'torture = ["fill", "churn"]'


def labels(plan: Plan) -> dict[str, str]:
    return {cell.label: cell.label for cell in plan.cells}


def test_the_work_of_each_cell_is_known() -> None:
    plan = resolve(parse_study(SMALL, "small.toml"), drive_facts())
    found = work_of(plan, labels(plan))
    assert found["throughput.write 128 KiB"] == Work("write", 128 << 10, "sequential")
    assert found["iops.random_read 4 KiB"] == Work("read", 4096, "random")


def test_cells_that_share_their_work_keep_their_labels() -> None:
    text = SMALL.replace('record = "4KiB"\nthreads = 4\nstop', 'record = "4KiB"\nthreads = [1, 4]\nstop')
    plan = resolve(parse_study(text, "small.toml"), drive_facts())
    assert sum(cell.label.startswith("iops.random_read") for cell in plan.cells) == 2
    assert not [label for label in work_of(plan, labels(plan)) if label.startswith("iops.random_read")]


def test_the_subject_is_what_was_measured() -> None:
    assert subject_of(resolve(parse_study(SMALL, "small.toml"), drive_facts())) == "drive"


CHURN = SMALL[SMALL.index("[torture.churn]") : SMALL.index("[compare]")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SMALL, (205_080_000_000, "")),
        (SMALL.replace(FILL, 'torture = ["fill"]').replace(CHURN, ""), (64_000_000_000, "sequential")),
    ],
)
def test_the_wear_between_two_stages_is_counted(text: str, expected: tuple[int, str]) -> None:
    """Once 64 GB and 2.2 times, of one cycle and without the sham arm's."""
    plan = resolve(parse_study(text, "small.toml"), drive_facts())
    written, order = wear_of(plan, "before", "after")
    assert (written, order) == (pytest.approx(expected[0], rel=0.002), expected[1])
    assert wear_of(plan, "rest", "after") == (None, "")


def test_a_torture_that_ends_by_time_has_no_certain_amount(tmp_path: Path) -> None:
    plan = app.plan("degradation", quick=True, target=f"dir:{tmp_path}")
    assert any(run.reads_back for run in plan.runs)
    assert wear_of(plan, "before", "after") == (None, "")


STUDY = """
name = "read-back"
target = "dir:/scratch"
[state]
file = "64MiB"
[[stage]]
name = "before"
measure = ["a"]
[[stage]]
name = "torture"
torture = ["churn"]
[[stage]]
name = "after"
measure = "before"
[torture.churn]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
read_back = true
[measure.a]
workload = "throughput.write"
record = "1MiB"
stop = { bytes = "1x" }
"""


def test_a_torture_that_is_read_back_has_wear_in_words() -> None:
    plan = resolve(parse_study(STUDY, "read-back.toml"), directory_facts())
    runs = [run for run in plan.runs if run.role == "torture"]
    assert [(run.torture, run.reads_back) for run in runs[:2]] == [("churn", False), ("churn", True)]
    assert wear_of(plan, "before", "after") == (64 << 20, "sequential")
