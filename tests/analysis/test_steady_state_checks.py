"""Which cells change their rate level within runs, and which consume erased blocks."""

from __future__ import annotations

import pytest

from mileage.analysis.steady_state_checks import (
    Courses,
    EraseCounts,
    RunCourse,
    changing,
    course_words,
    level_checks,
    state_checks,
)
from mileage.app import plan as planned
from mileage.judge.rate_over_time import Course, Kind
from tests.entries import record


def run(cell: str, kind: str, change: float, stage: str = "measured") -> RunCourse:
    return RunCourse(cell, stage, Course(kind=kind, change=change, intervals=3), f"{kind} {change}")  # type: ignore[arg-type]


def courses(*runs: RunCourse) -> Courses:
    found = Courses()
    found.runs += runs
    return found


def test_a_level_must_change_by_a_fifth_in_half_of_the_runs() -> None:
    assert changing(courses(run("a", "fall", -0.19), run("a", "fall", -0.19))) == []
    assert changing(courses(run("a", "fall", -0.9), run("a", "steady", 0), run("a", "steady", 0))) == []
    (output,) = changing(courses(run("a", "fall", -0.9), run("a", "steady", 0)))
    assert output.caveat.tests == ("a",)
    assert (output.changed, output.runs, output.words) == (1, 2, "fall -0.9")


def test_the_worst_cell_comes_first_and_stages_are_named() -> None:
    found = courses(run("a", "rise", 0.3), run("b", "drift", -0.8), run("a", "steady", 0, "after"))
    assert [(one.cell, one.stage) for one in changing(found)] == [("b", "measured"), ("a", "measured")]


def test_what_alternates_has_a_mean_that_lasts() -> None:
    found = courses(run("a", "alternating", 1.5))
    assert changing(found) == []
    (check,) = level_checks(found)
    assert (check.state, check.text) == (
        "ok",
        "the 1 write run did not become 20% or more faster or slower while it lasted, so its mean describes it",
    )


def test_a_change_in_few_runs_is_reported_but_is_no_veto() -> None:
    found = courses(run("a", "fall", -0.9), *[run("a", "steady", 0)] * 4)
    assert changing(found) == []
    (check,) = level_checks(found)
    assert (check.state, check.text.split(":")[0]) == (
        "warn",
        "a in stage measured changes its rate level in 1 of 5 runs",
    )


def test_runs_that_were_not_checked_are_counted() -> None:
    found = courses(run("a", "steady", 0), run("a", "too short", 0))
    found.run_count = 7
    (check,) = level_checks(found)
    assert check.text.endswith("while it lasted, so its mean describes it; 6 not checked")


def test_without_a_run_that_is_long_enough_nothing_is_said() -> None:
    assert level_checks(courses(run("a", "too short", 0))) == []


def test_the_sham_arm_may_have_erased_blocks() -> None:
    series = {
        "interval_ns": 1,
        "ops": [1, 1],
        "bytes_read": [0, 0],
        "bytes_written": [1, 1],
        "latency_sum_ns": [1, 1],
    }
    counters = {"blocks_erased": 0, "flash_pages_programmed": 256}
    done = record(ops_written=1, series=series, counters=counters)
    found = Courses()
    found.add("a", "after", done, sham=True)
    assert found.erasing == []
    found.add("a", "after", done)
    assert len(found.erasing) == 1


def test_erased_blocks_are_counted_against_the_pages_of_a_block() -> None:
    plan = planned("drives", quick=True)
    cell = next(cell for cell in plan.cells if "plain" in cell.label and "write" in cell.label)
    found = Courses()
    found.erasing += [EraseCounts(cell.label, "measured", 2560, 5), EraseCounts(cell.label, "other", 2560, 0)]
    (check,) = state_checks(plan, found, ["measured"])
    assert check.state == "warn"
    assert "erased only 50% of what it programmed" in check.text
    found.erasing.append(EraseCounts(cell.label, "measured", 2560, 15))
    assert [check.state for check in state_checks(plan, found, ["measured"])] == ["ok"]
    assert state_checks(plan, Courses(), ["measured"]) == []


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("fast start", 0.5, "are 50% faster than the rest of"),
        ("fast start", 22.19, "are 23.2 times as fast as the rest of"),
        ("rise", 0.99, "the rate rises by 99% and stays"),
        ("rise", 1.0, "the rate rises to 2 times its value and stays"),
    ],
)
def test_a_rate_that_doubles_is_reported_as_a_multiple(kind: Kind, change: float, words: str) -> None:
    found = Course(kind=kind, change=change, intervals=2)
    lists = {key: [5, 5, 1, 1, 1] for key in ("bytes_read", "bytes_written", "ops", "latency_sum_ns")}
    assert words in course_words(found, record(series={"interval_ns": 10**9, **lists}))
