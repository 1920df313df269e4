"""Preconditioning becomes a stage that a reader sees, and resolving that again changes nothing."""

from __future__ import annotations

import pytest

from mileage.errors import Refused
from mileage.plan import parse_study
from mileage.plan.initial_state import check_state, with_preconditioning
from mileage.plan.study import State, Study

STUDY = """
name = "small"
target = "virtual:plain-64gib"
[state]
precondition = "{kind}"
[[stage]]
name = "only"
measure = ["iops"]
[measure.iops]
workload = ["iops.random_write", "iops.random_read"]
record = "4KiB"
depth = [32, 64]
stop = {{ time = "1 s" }}
"""


def study(kind: str) -> Study:
    return parse_study(STUDY.format(kind=kind), "small")


@pytest.mark.parametrize(("kind", "amount"), [("quick", "1x"), ("snia-independent", "2x")])
def test_the_work_area_is_written_in_records_of_128_kib(kind: str, amount: str) -> None:
    done = with_preconditioning(study(kind))
    assert [stage.name for stage in done.stage] == ["precondition", "only"]
    table = done.torture["precondition"]
    assert (table.workload, table.record, table.amount) == ("throughput.write", "128KiB", amount)
    assert with_preconditioning(done) == done


def test_the_dependent_one_continues_with_what_is_measured_first() -> None:
    done = with_preconditioning(study("snia-dependent"))
    assert done.stage[0].prepare == ("precondition", "precondition-steady")
    table = done.torture["precondition-steady"]
    assert (table.workload, table.record, table.depth) == ("iops.random_write", "4KiB", 32)
    assert (table.until, table.rounds, table.time) == ("pts-steady", 25, "1 min")


def test_another_word_is_refused() -> None:
    with pytest.raises(Refused, match="found 'snia', expected quick"):
        study("snia")


def test_what_is_kept_is_not_written_over() -> None:
    faults = check_state(State(start="kept", precondition="quick"), "block:/dev/x")
    problems = {fault.where: fault.sentence for fault in faults}
    assert "would write over" in problems["precondition"]
