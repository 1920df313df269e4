"""compare.arms = "workload": which studies compare two of their workloads, and that the two are measured as a pair."""

from __future__ import annotations

import itertools

import pytest

from mileage.plan import Plan, TargetFacts, parse_study
from mileage.plan.consistency import inconsistency
from mileage.plan.faults import BrokenStudy
from mileage.plan.resolver import resolve

STUDY = """
name = "pair"
target = "virtual:plain"
seed = 5
[state]
file = "16MiB"
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "one"
measure = ["reads", "other"]
[measure.reads]
workload = ["pattern.sequential_read", "pattern.backward_read", "pattern.random_read"]
record = ["4KiB", "64KiB"]
stop = { operations = 100 }
repeat = 6
[measure.other]
workload = "throughput.read"
record = "4KiB"
stop = { operations = 100 }
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[compare]
arms = "workload"
baseline = "sequential_read"
candidate = "pattern.backward_read"
"""


def plan_of(facts: TargetFacts, *changes: tuple[str, str]) -> Plan:
    text = STUDY
    for found, changed in changes:
        assert found in text
        text = text.replace(found, changed, 1)
    return resolve(parse_study(text, "pair.toml"), facts)


def test_two_workloads_follow_each_other_in_random_order_with_one_seed(drive: TargetFacts) -> None:
    plan = plan_of(drive)
    assert (plan.study.baseline, plan.study.candidate) == ("pattern.sequential_read", "pattern.backward_read")
    assert inconsistency(plan) is None
    runs = [run for run in plan.runs if run.role == "measure"]
    firsts = []
    for block, record in itertools.product(range(1, 7), ("4 KiB", "64 KiB")):
        pair = [
            run
            for run in runs
            if run.block == block
            and run.cell in (f"pattern.{w}_read {record}" for w in ("sequential", "backward"))
        ]
        one, other = pair
        assert other.index == one.index + 1
        assert one.seed == other.seed
        firsts.append(one.cell.split()[0])
    assert len(set(firsts)) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            [('baseline = "sequential_read"\n', "")],
            'compare.baseline: missing; arms = "workload" needs two workloads to compare',
        ),
        ([('"pattern.backward_read"\n', '"sequential_read"\n')], "compare: baseline and candidate are both"),
        (
            [('candidate = "pattern.backward_read"', 'candidate = "pattern.shuffled_read"')],
            "there is no workload in the last stage that measures 'pattern.shuffled_read'",
        ),
        (
            [('candidate = "pattern.backward_read"', 'candidate = "backwards"')],
            "'backwards' is not a workload",
        ),
        (
            [('candidate = "pattern.backward_read"', 'candidate = "throughput.read"')],
            "no [measure.*] table has both pattern.sequential_read and throughput.read",
        ),
        (
            [('"pattern.backward_read"\n', '"random_read"\n')],
            "pattern.sequential_read is judged by throughput and pattern.random_read by iops",
        ),
        (
            [("seed = 5\n", "seed = 5\naa = true\n")],
            "aa: found true, but compare.arms names no [factor.*] table",
        ),
        (
            [("[compare]", '[factor.workload]\nkind = "label"\nlevels = ["a", "b"]\n[compare]')],
            'factor.workload: compare.arms = "workload" compares the workloads',
        ),
    ],
)
def test_workloads_that_cannot_be_compared_are_refused(
    drive: TargetFacts, changes: list[tuple[str, str]], said: str
) -> None:
    with pytest.raises(BrokenStudy) as refused:
        plan_of(drive, *changes)
    assert said in str(refused.value)
