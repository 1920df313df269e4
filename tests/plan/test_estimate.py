"""Bytes and times of a plan add up, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mileage.plan import Plan, Study, TargetFacts, builtin_text, parse_study
from mileage.plan.estimate import estimate
from mileage.plan.factors import settings_of
from mileage.plan.resolver import resolve

Facts = Callable[..., TargetFacts]
MIB = 1 << 20


def around_s(plan: Plan, *, end_s: float) -> float:
    """What comes in addition to the runs: the end of each stage, and the report."""
    stages = {(run.cycle, run.arm, run.stage) for run in plan.runs}
    return len(stages) * end_s + 4.0 + len(plan.runs) / 2000


def test_the_bytes_of_the_small_study(small: Study, directory: Facts) -> None:
    plan = resolve(small, directory(rated_write_bytes=1 << 40))
    cost = estimate(plan)
    arms, stages = 4, 2
    measured = arms * stages * 3 * 2 * 8 * MIB
    churn = 64 * MIB * 22 // 10 // 4096 * 4096
    assert cost.bytes_written == measured + arms * 64 * MIB + 2 * (64 * MIB + churn)
    assert cost.bytes_read == measured + arms * stages * 2 * 1000 * 4096
    assert cost.drive_writes == pytest.approx(cost.bytes_written / (100 << 30))
    assert cost.work_area_writes == pytest.approx(cost.bytes_written / (64 * MIB))
    assert cost.rated_share == pytest.approx(cost.bytes_written / (1 << 40))
    assert cost.runs_by_role == {"prepare": 4, "measure": 112, "torture": 4, "idle": 8}
    assert (cost.cells, cost.runs) == (5, 128)


def test_the_rating_is_that_of_the_drive_with_the_largest_share(directory: Facts) -> None:
    study = parse_study(builtin_text("drives"), "drives")
    ratings = [None, 1 << 40, 1 << 50]
    names = [level.target for level in settings_of(study)]
    facts = {
        name: directory(rated_write_bytes=rating, capacity_bytes=1 << 50)
        for name, rating in zip(names, ratings, strict=True)
    }
    cost = estimate(resolve(study, facts[names[0]], others=facts, refuse=False))
    assert (cost.rated_write_bytes, cost.rated_target) == (1 << 40, names[1])


def test_the_time_of_the_small_study(small: Study, directory: Facts) -> None:
    plan = resolve(small, directory())
    cost = estimate(plan)
    churn_s = (64 * MIB * 22 // 10 // 4096) / 5000
    fill_s = 64 * MIB / 150e6
    measure_s = 8 * (3 * 4 * 8 * MIB / 150e6 + 2 * 1000 / 5000)
    runs_s = 4 * fill_s + measure_s + 2 * 2 * (fill_s + churn_s) + 4 * 10
    assert cost.time_s == pytest.approx(runs_s + around_s(plan, end_s=0.1))
    assert cost.assumption == "150 MB/s sequential, 5000 operations/s elsewhere, whatever the device"


def test_time_limits_bound_the_time(small_text: str, directory: Facts) -> None:
    text = small_text.replace('{ bytes = "8MiB" }', '{ time = "2 s" }').replace(
        '"2.2x"', '"2.2x"\ntime = "1 s"'
    )
    plan = resolve(parse_study(text, "s"), directory())
    cost = estimate(plan)
    runs_s = 8 * (12 * 2 + 0.4) + 4 * 10 + 4 * (1 + 64 * MIB / 150e6) + 4 * 64 * MIB / 150e6
    assert cost.time_s == pytest.approx(runs_s + around_s(plan, end_s=0.1), rel=1e-3)
    assert cost.bytes_read == pytest.approx(8 * (6 * 2 * 150e6 + 2000 * 4096), rel=0.01)


def test_a_virtual_drive_is_as_slow_as_its_simulation(small: Study, drive: TargetFacts) -> None:
    plan = resolve(small, drive)
    cost = estimate(plan)
    pages = (cost.bytes_written + cost.bytes_read) / 4096
    kept_s = drive.capacity_bytes / 100e9
    assert cost.time_s == pytest.approx(pages / 6e6 + around_s(plan, end_s=kept_s))
    assert cost.rated_share is None


def test_three_cycles_two_at_a_time_take_two_turns(small_text: str, drive: TargetFacts) -> None:
    plan = resolve(parse_study(small_text.replace("cycles = 2", "cycles = 3"), "s"), drive)
    assert {run.cycle for run in plan.runs} == {1, 2, 3}
    report_s = 4.0 + len(plan.runs) / 2000
    one, two, three = (estimate(plan, lanes=lanes).time_s - report_s for lanes in (1, 2, 3))
    assert (two, three) == pytest.approx((one * 2 / 3, one / 3))


def test_the_built_in_study_wears_enough_and_is_simulated_in_minutes(drive: TargetFacts) -> None:
    plan = resolve(parse_study(builtin_text("degradation"), "degradation"), drive)
    tortures = [run.workload.stop.bytes or 0 for run in plan.runs if run.workload and run.role == "torture"]
    assert sum(tortures) / 3 >= 3 * plan.work_bytes
    random_pages = sum(
        (run.workload.operations or 0)
        for run in plan.runs
        if run.workload and run.workload.pattern == "random" and run.role == "torture"
    )
    assert random_pages == pytest.approx(3 * 2.2 * 15.6e6, rel=0.01)
    assert estimate(plan).time_s < 120
