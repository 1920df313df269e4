"""Drift is seen over the order of the runs; a difference between arms is not."""

import pytest

from mileage.analysis.view import run_order
from mileage.judge import Sample
from mileage.plan import parse_study
from mileage.plan.resolver import resolve
from mileage.report.chart_data import OrderedRun
from mileage.report.run_order import run_order_chart
from tests.plan.conftest import SMALL, drive_facts


def sample(run: int, stage: str, value: float, **more: str) -> Sample:
    place = {"cycle": 1, "arm": "torture", "block": run, "measure": "iops", "metric": "ops_per_s"} | more
    return Sample(run=run, stage=stage, cell="c", value=value, higher_is_better=True, **place)  # type: ignore[arg-type]


def test_each_run_is_compared_with_its_own_arm() -> None:
    plan = resolve(parse_study(SMALL, "small.toml"), drive_facts())
    samples = [
        sample(3, "after", 40.0),
        sample(0, "before", 100.0),
        sample(1, "before", 400.0),
        sample(2, "after", 10.0),
        sample(4, "before", 0.0),
        sample(5, "before", 7.0, arm="sham"),
        sample(6, "before", 7.0, metric="latency_p99_ns"),
    ]
    found = run_order(plan, samples)
    assert [(run.position, run.arm) for run in found] == [
        (0, "before"),
        (1, "before"),
        (2, "after"),
        (3, "after"),
    ]
    assert [run.ratio for run in found] == pytest.approx([0.5, 2.0, 0.5, 2.0])


def test_few_runs_are_no_picture_and_many_are_thinned() -> None:
    runs = [OrderedRun(at, "before" if at % 4 < 2 else "after", 1.0) for at in range(2000)]
    assert run_order_chart(runs[:9], width=400) is None
    chart = run_order_chart(runs, width=400)
    assert chart is not None
    points = [layer for layer in chart["layer"] if layer["mark"]["type"] == "point"]
    # The squares are those of the legend.
    drawn = [layer["data"]["values"] for layer in points if layer["mark"].get("shape") != "square"]
    assert len(drawn) == 2
    assert 300 <= sum(map(len, drawn)) <= 600


def test_half_and_twice_are_equally_far_from_the_mean() -> None:
    """On a linear axis of percent twice is +100 and half -50; small differences would fill any axis."""
    for far, reach in ((4.0, 4.0), (1.0001, 1.01)):
        runs = [OrderedRun(at, "a", far if at % 2 else 1 / far) for at in range(20)]
        chart = run_order_chart(runs, width=400)
        assert chart is not None
        scale = chart["layer"][0]["encoding"]["y"]["scale"]
        low, high = scale["domain"]
        assert scale["type"] == "log"
        assert low * high == pytest.approx(1)
        assert reach < high < reach**1.2
