"""The wear between two stages in words, of tortures that are read back as well."""

from __future__ import annotations

from mileage.analysis.cell_phrases import wear_words
from mileage.plan import parse_study, resolve
from tests.plan.conftest import directory_facts

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
    assert wear_words(plan, "before", "after") == "64 MiB of sequential writes"
