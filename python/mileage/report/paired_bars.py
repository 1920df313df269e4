"""One chart for each test: its cells from left to right, in each the bars of both arms, their spread and their runs.

Scope: a bar as the geometric mean of the runs, its whisker as one standard deviation of their logarithms (n - 1), a dot
as one run. All bars of a chart have one unit and one axis, which starts at zero or is logarithmic (`value_axis`). Cells
that differ in more than one property have a panel for each value of the second. Refuses to draw a test without a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mileage.judge import CellVerdict
from mileage.report import vega
from mileage.report.aspects import Axes, aspect_of, axis_title, level_words
from mileage.report.cell_estimates import error_bar
from mileage.report.change_grid import ordered_levels
from mileage.report.legend import Entry, legend, legend_height
from mileage.report.level_axis import level_axis
from mileage.report.text_width import fitted
from mileage.report.theme import BASELINE, CANDIDATE, INK, SMALL_FONT_SIZE, marks
from mileage.report.value_axis import value_scale
from mileage.report.wording import quantity, scale_of

WIDTH: Final = 286
_HEIGHT: Final = 130
_BAR: Final = 0.36
_STEM: Final = 0.01
_PANELS_MAX: Final = 12
_COLUMNS: Final = 3
_DOTS_MAX: Final = 12
_NARROWEST_BAR: Final = 9
"""Pixels from which runs are drawn on a bar."""


def paired_bars(
    test: str,
    cells: Sequence[CellVerdict],
    places: Mapping[str, Mapping[str, str]],
    axes: Axes,
    arms: tuple[str, str],
) -> vega.Spec | None:
    """The chart of a test, whose cells `axes` distinguishes; None where no cell has a run."""
    shown = [cell for cell in cells if cell.values_baseline or cell.values_candidate]
    if not shown:
        return None
    groups: dict[str, list[CellVerdict]] = {}
    for cell in shown:
        place = places.get(cell.cell, {})
        group = ", ".join(f"{name} {place[name]}" for name in axes.columns if name in place)
        groups.setdefault(group, []).append(cell)
    values = [
        v for cell in shown for own in (cell.values_baseline, cell.values_candidate) for v in _extent(own)
    ]
    panels = [
        _panel(f"{test}, {group}" if group else test, test, own, places, axes.row, arms, values)
        for group, own in list(groups.items())[:_PANELS_MAX]
    ]
    return panels[0] if len(panels) == 1 else vega.grid(panels, columns=_COLUMNS, own_scales=True)


def _panel(
    title: str,
    test: str,
    cells: Sequence[CellVerdict],
    places: Mapping[str, Mapping[str, str]],
    row: str,
    arms: tuple[str, str],
    values: Sequence[float],
) -> vega.Spec:
    metric = cells[0].metric
    scale = scale_of(metric, [max(values)])
    y_scale, start, is_log = value_scale(value / scale.per_unit for value in values)
    unit = "operations/s" if aspect_of(test, cells[0].measure) == "metadata" else scale.unit
    level_of = {cell.cell: places.get(cell.cell, {}).get(row, "") for cell in cells}
    levels = ordered_levels(set(level_of.values()))
    # Sort by level, so that bars of one level stand next to each other and none covers another.
    order = sorted(cells, key=lambda cell: levels.index(level_of[cell.cell]))
    bars, dots = [], []
    for at, cell in enumerate(order):
        sides = (
            (cell.values_baseline, cell.mean_baseline, BASELINE, arms[0]),
            (cell.values_candidate, cell.mean_candidate, CANDIDATE, arms[1]),
        )
        for side, (runs, mean, colour, arm) in enumerate(sides):
            if not runs:
                continue
            left = at - _BAR + side * _BAR
            bars.append(_bar(left, runs, mean, colour, scale.per_unit))
            if is_log:
                middle = bars[-1]["x"]
                bars[-1] |= {"left": middle - _STEM, "right": middle + _STEM, "zero": start}
            bars[-1]["title"] = f"{cell.cell}, {arm}: {quantity(metric, mean)}, {len(runs)} runs"
            dots += _dots(left, runs, scale.per_unit)
    names = [level_words(test, row, level_of[cell.cell]) for cell in order]
    x_scale = vega.scale(domain=[-0.6, len(order) - 0.4], nice=False, zero=False)
    axis = level_axis(names, WIDTH, axis_title(test, row))
    y = vega.channel(
        "value:Q",
        scale=y_scale,
        axis=vega.axis(title=unit, tickCount=4, format=",.4~r", minExtent=40),
    )
    x = vega.channel("x:Q", scale=x_scale, axis=axis)
    drawn = marks(bars).mark("rect").encode(
        x=vega.channel("left:Q", scale=x_scale), x2="right:Q", y=y, y2="zero:Q",
        color=vega.channel("colour:N", scale=None), description="title:N",
    )  # fmt: skip
    layers = [drawn]
    if is_log:
        ends = marks(bars).mark("point", filled=True, size=70, opacity=1, aria=False)
        layers.append(ends.encode(x=x, y=y, color=vega.channel("colour:N", scale=None)))
    if WIDTH * _BAR / (len(order) + 0.2) >= _NARROWEST_BAR:
        points = marks(dots).mark("point", size=9, color=INK, strokeWidth=0.7, opacity=0.7, aria=False)
        layers.append(points.encode(x=x, y=y))
    spread = [bar for bar in bars if bar["spread"]]
    whiskers = marks(spread).mark("rule", color=INK, strokeWidth=1.4, aria=False)
    layers.append(whiskers.encode(x=x, y=vega.channel("bottom:Q"), y2="top:Q"))
    entries = [Entry(arm, colour) for arm, colour in zip(arms, (BASELINE, CANDIDATE), strict=True)]
    layers += legend(entries, WIDTH)
    heading = vega.titled(
        fitted(title, SMALL_FONT_SIZE, WIDTH, bold=True), offset=legend_height(entries, WIDTH)
    )
    return vega.layered(layers, width=WIDTH, height=_HEIGHT, title=heading)


def _bar(
    left: float, values: Sequence[float], judged: float | None, colour: str, per_unit: float
) -> dict[str, Any]:
    """One bar as high as the mean; none where a run did nothing."""
    mean, bottom, top = error_bar(values, judged)
    return {
        "x": left + _BAR / 2,
        "left": left,
        "right": left + _BAR,
        "zero": 0,
        "value": mean / per_unit,
        "bottom": bottom / per_unit,
        "top": top / per_unit,
        "spread": top > bottom,
        "colour": colour,
    }


def _dots(left: float, values: Sequence[float], per_unit: float) -> list[dict[str, float]]:
    """The runs in their order from left to right across the bar, thinned evenly where there are many."""
    shown = list(values[:: -(-len(values) // _DOTS_MAX) or 1])
    step = 0.7 * _BAR / max(len(shown) - 1, 1)
    first = left + (0.15 * _BAR if len(shown) > 1 else _BAR / 2)
    return [{"x": first + at * step, "value": value / per_unit} for at, value in enumerate(shown)]


def _extent(values: Sequence[float]) -> list[float]:
    """The ends of the whisker, and the runs."""
    return [*error_bar(values)[1:], *values]
