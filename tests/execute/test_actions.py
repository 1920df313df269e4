"""Every action of a plan is performed, and every family of work on files is whole."""

from __future__ import annotations

from typing import get_args

import pytest

from mileage.execute.run import _PERFORM
from mileage.plan import WORKLOADS, parse_study
from mileage.plan.file_job import Job
from mileage.plan.resolver import resolve
from mileage.plan.run_action import FILE_JOBS, Action
from tests.plan.conftest import directory_facts

PROGRAM = """
name = "program"
target = "dir:/scratch"
[[stage]]
name = "one"
measure = ["build"]
[workload.make]
command = ["make"]
[measure.build]
workload = "make"
"""


def test_every_action_has_what_performs_it() -> None:
    assert set(_PERFORM) == set(get_args(Action))


@pytest.mark.parametrize("job", FILE_JOBS, ids=lambda job: job.word())
def test_a_family_states_what_its_refusals_say(job: type[Job]) -> None:
    assert job.noun
    assert job.keys
    assert job.stop_advice
    assert {workload.test for workload in WORKLOADS.values() if workload.job is job} == set(job.tests)


def test_a_study_of_a_program_is_made_quick() -> None:
    plan = resolve(parse_study(PROGRAM, "program.toml"), directory_facts(), quick=True)
    assert {run.action.writes for run in plan.runs} == {True}
    assert [cell.label for cell in plan.cells] == ["make"]
