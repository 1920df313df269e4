"""A small chart of the rates of each test over a number such as the record size, for a study of many cells.

Scope: the first tests of very many; each chart fits a phone. Names come from strangers and are cleaned. Refuses
nothing: a test that has no curve has no chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from mileage.report.aspects import MOST_TESTS, free_name
from mileage.report.chart_data import Landmark, RateCurve
from mileage.report.gallery import Picture
from mileage.report.render_pool import svg_of
from mileage.report.scan_chart import scan_chart
from mileage.report.view import cleaned_text

MOST_BARS: Final = 24
"""Cells that have a bar each in one picture; of more, each test has a curve."""
_WIDTH: Final = 262
_CURVES: Final = "Dot: geometric mean of the runs of a cell; thick line: its 95\N{NO-BREAK SPACE}% interval."
_ONE_RUN: Final = "Dot: the one run of a cell."


def curve_names(curves: Sequence[RateCurve]) -> dict[str, RateCurve]:
    """The drawn curves by the names of their pictures, which are those of the tests ("iozone_write")."""
    found: dict[str, RateCurve] = {}
    for curve in curves[:MOST_TESTS]:
        found[free_name(cleaned_text(curve.test), "", found)] = curve
    return found


def curve_pictures(curves: Sequence[RateCurve], landmarks: Sequence[Landmark] = ()) -> list[Picture]:
    """A picture for each test, all with one caption."""
    drawn = []
    for name, curve in curve_names(curves).items():
        points = [
            replace(point, series=cleaned_text(point.series), level=cleaned_text(point.level))
            for point in curve.points
        ]
        test, by = cleaned_text(curve.test), cleaned_text(curve.by)
        chart = scan_chart(points, factor=by, width=_WIDTH, title=test, landmarks=landmarks)
        if chart is not None:
            title = f"Rates of {test}"
            drawn.append((name, svg_of(chart, name=name.replace("_", "-"), title=title, description=_CURVES)))
    words = _caption(curves)
    return [Picture(name, svg.result(), words) for name, svg in drawn]


def _caption(curves: Sequence[RateCurve]) -> str:
    most = max(curves, key=lambda curve: curve.lines_total)
    shown = len({point.series for point in most.points})
    dots = _CURVES if any(point.low is not None for curve in curves for point in curve.points) else _ONE_RUN
    if shown < 2:
        return dots
    series = "file size" if most.series == "file" else cleaned_text(most.series)
    lines = f"A line for each {series}" if most.series else "Lines: the other settings"
    some = f", {shown} of {most.lines_total}; all are in the table" if most.lines_total > shown else ""
    return f"{dots} {lines}{some}."
