"""Which cells have no one level, and which used up erased blocks."""

from __future__ import annotations

from mileage.judge.course import Course
from mileage.lab import plan as planned
from mileage.lab.courses import Courses, Erasing, RunCourse, changing, level_lamps, state_lamps


def run(cell: str, kind: str, change: float, stage: str = "measured") -> RunCourse:
    return RunCourse(cell, stage, Course(kind=kind, change=change, intervals=3), f"{kind} {change}")  # type: ignore[arg-type]


def courses(*runs: RunCourse) -> Courses:
    found = Courses()
    found.runs += runs
    return found


def test_a_level_must_change_by_a_fifth_in_half_of_the_runs() -> None:
    assert changing(courses(run("a", "fall", -0.19), run("a", "fall", -0.19))) == []
    assert changing(courses(run("a", "fall", -0.9), run("a", "steady", 0), run("a", "steady", 0))) == []
    (told,) = changing(courses(run("a", "fall", -0.9), run("a", "steady", 0)))
    assert told == "a in stage measured has no one level in 1 of 2 runs: fall -0.9"


def test_the_worst_cell_is_told_first_and_stages_are_told_apart() -> None:
    found = courses(run("a", "rise", 0.3), run("b", "drift", -0.8), run("a", "steady", 0, "after"))
    assert [told.split(" has")[0] for told in changing(found)] == [
        "b in stage measured",
        "a in stage measured",
    ]


def test_what_alternates_has_a_mean_that_lasts() -> None:
    found = courses(run("a", "alternating", 1.5))
    assert changing(found) == []
    (lamp,) = level_lamps(found)
    assert (lamp.state, lamp.text) == ("ok", "none of 1 runs that write changes its level")


def test_without_a_run_that_is_long_enough_nothing_is_said() -> None:
    assert level_lamps(courses(run("a", "too short", 0))) == []


def test_erased_blocks_are_counted_against_the_pages_of_a_block() -> None:
    plan = planned("drives", quick=True)
    cell = next(cell for cell in plan.cells if "plain" in cell.label and "write" in cell.label)
    found = Courses()
    found.erasing += [Erasing(cell.label, "measured", 2560, 5), Erasing(cell.label, "other", 2560, 0)]
    (lamp,) = state_lamps(plan, found, ["measured"])
    assert lamp.state == "warn"
    assert "50% of what was programmed was erased again" in lamp.text
    found.erasing.append(Erasing(cell.label, "measured", 2560, 15))
    assert [lamp.state for lamp in state_lamps(plan, found, ["measured"])] == ["ok"]
    assert state_lamps(plan, Courses(), ["measured"]) == []
