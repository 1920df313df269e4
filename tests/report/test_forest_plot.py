"""The forest plot's axis: round ticks with room for their labels, no interval that squeezes the others."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.report import vega
from mileage.report.forest_plot import (
    NOTHING,
    Overlays,
    _outermost,
    _range,
    _to_ticks,
    change_ticks,
    forest_chart,
    narrow_forest_chart,
)
from mileage.report.svg import to_svg
from mileage.report.wording import by_effect
from tests.report.conftest import comparison

CELL = comparison().headline[0]


@given(st.floats(-6, -0.002), st.floats(0.002, 6))
def test_ticks_are_inside_the_range_with_room_between(low: float, high: float) -> None:
    ticks = change_ticks(low, high, 500)
    assert 1.0 in ticks
    assert ticks == sorted(ticks)
    assert all(math.exp(low) * 0.999 <= t <= math.exp(high) * 1.001 for t in ticks)
    gaps = [math.log(b / a) * 500 / (high - low) for a, b in itertools.pairwise(ticks)]
    assert all(gap >= 61 for gap in gaps)


def test_a_hopeless_interval_does_not_set_the_axis() -> None:
    wild = msgspec.structs.replace(CELL, ci95=(1e-9, 1e9))
    low, high = _range([CELL, wild], NOTHING)
    assert high - low < 3


@pytest.mark.parametrize("ratio", [1e-300, 1e-6, 1.0, 40.0, 1e300])
def test_any_ratio_can_be_drawn(ratio: float) -> None:
    cell = msgspec.structs.replace(CELL, ratio=ratio, ci95=(ratio, ratio), unit_ratios=(ratio,))
    chart = forest_chart([cell], baseline="a", candidate="b")
    assert chart is not None
    assert len(to_svg(vega.whole(chart), name="any", title="any", description="any")) > 3000


def test_worst_is_first_whichever_direction_is_better() -> None:
    cells = by_effect(comparison().cells)
    assert {c.metric for c in cells[:2]} == {"ops_per_s", "latency_p99_ns"}
    assert {c.cell for c in cells[:2]} == {"iops.random_write 4 KiB"}


@pytest.mark.parametrize(
    "ratios", [(0.105, 1.779), (1.02, 3.56), (0.49, 0.95), (0.937, 1.01), (0.9991, 1.0625)]
)
def test_ticks_stand_beyond_the_outermost_estimates(ratios: tuple[float, float]) -> None:
    cells = [msgspec.structs.replace(CELL, ratio=ratio, unit_ratios=()) for ratio in ratios]
    low, high = _range(cells, NOTHING)
    wider = _to_ticks(low, high, _outermost(cells), 620)
    ticks = change_ticks(*wider, 620)
    assert ticks[0] <= min(ratios)
    assert ticks[-1] >= max(ratios)
    assert wider[1] - wider[0] <= 1.6 * (high - low)


def test_a_range_of_the_model_crosses_no_name_on_a_narrow_screen() -> None:
    """On a phone names and verdicts stand above their rows; the dashed line once ran through them."""
    ranges = {(CELL.cell, CELL.metric): (0.3, 0.8)}
    chart = narrow_forest_chart([CELL], baseline="before", candidate="after", overlays=Overlays(ranges, {}))
    layers = [layer for layer in _layers(chart) if "mark" in layer]
    dashed = [
        row["row"] for layer in layers if "strokeDash" in layer["mark"] for row in layer["data"]["values"]
    ]
    written = [
        row["row"]
        for layer in layers
        if layer["mark"]["type"] == "text"
        for row in layer["data"]["values"]
        if row.get("name")
    ]
    assert dashed
    assert written
    # Letters of 12 px in rows of 44 px: a quarter of a row keeps a line clear of them.
    assert all(abs(line - text) > 0.25 for line in dashed for text in written)


def _layers(spec: object) -> Iterator[dict[str, Any]]:
    if isinstance(spec, dict):
        yield spec
        yield from itertools.chain.from_iterable(_layers(value) for value in spec.values())
    elif isinstance(spec, list):
        yield from itertools.chain.from_iterable(map(_layers, spec))
