"""Axes of rates: from zero, logarithmic with points where rates differ by a thousand or more."""

from __future__ import annotations

import pytest

from mileage.report.chart_data import LevelRuns
from mileage.report.level_charts import levels_chart
from mileage.report.value_axis import log_words, value_scale


@pytest.mark.parametrize(
    ("values", "start", "is_log"), [([1.0, 999.0], 0.0, False), ([3.0, 0.0, 3000.0], 1.0, True)]
)
def test_an_axis_is_logarithmic_from_a_ratio_of_a_thousand(
    values: list[float], start: float, is_log: bool
) -> None:
    found = value_scale(values)
    assert (found.start, found.is_log) == (start, is_log)
    assert found.scale["domain"][0] == start
    assert found.scale["domain"][1] > max(values)
    assert bool(log_words([values])) == is_log


def test_levels_that_differ_by_a_thousand_are_points() -> None:
    levels = {"disk": [80e6, 81e6], "array": [90e9, 91e9], "none": [0.0, 0.0]}
    chart = levels_chart(
        [LevelRuns(cell="read", metric="rate_bytes_per_s", levels=levels)], baseline="disk", factor="drive"
    )
    assert chart is not None
    layers = chart["concat"][0]["layer"]
    bars = next(layer for layer in layers if layer["mark"]["type"] == "rect")
    means = next(layer for layer in layers if layer["mark"]["type"] == "point" and layer["mark"]["size"] > 16)
    assert bars["encoding"]["x"]["scale"]["type"] == "log"
    assert all(row["bottom"] - row["top"] < 0.1 for row in bars["data"]["values"])
    assert [row["name"] for row in means["data"]["values"]] == ["disk", "array"]
