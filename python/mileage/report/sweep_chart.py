"""The chart of a sweep: each metric and write amplification over the combinations of levels.

Scope: each combination as a place on the axis, in the order of the sweep, with a dot for each value and a line through
the geometric means of a cell, with a gap where a run did nothing. A column that no row has gives no panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mileage.judge import summarise
from mileage.report import vega
from mileage.report.gallery import WHOLE
from mileage.report.render_pool import files_of, svg_of
from mileage.report.theme import ARM_COLOURS, INK, SMALL_FONT_SIZE, marks, texts
from mileage.report.value_axis import value_scale
from mileage.report.view import cleaned_text
from mileage.report.wording import scale_of

_HEIGHT: Final = 150
AMPLIFICATION: Final = "write_amplification"

_Rows = Sequence[Mapping[str, Any]]


def sweep_picture(rows: _Rows, factors: Sequence[str], title: str) -> tuple[str, bytes] | None:
    """The chart as SVG and as PNG; None without a value. Cells that have no colour of their own are not drawn."""
    chart = _chart(rows, factors)
    if chart is None:
        return None
    over = " and ".join(map(cleaned_text, factors))
    caption = f"Over {over}. Dots: single runs; lines: their geometric means; no interval."
    svg = svg_of(chart, name="sweep", title=cleaned_text(title), description=caption)
    return files_of(svg.result(), where="", caption=caption).result()


def _chart(rows: _Rows, factors: Sequence[str]) -> vega.Spec | None:
    cells = list(dict.fromkeys(str(row["cell"]) for row in rows))[: len(ARM_COLOURS)]
    shown = [row for row in rows if row["cell"] in cells]
    places = list(dict.fromkeys(_place(row, factors) for row in shown))
    columns: list[tuple[str, list[tuple[str, str, float]]]] = []
    for metric in dict.fromkeys(str(row["metric"]) for row in shown):
        found = [
            (row["cell"], _place(row, factors), row["value"]) for row in shown if row["metric"] == metric
        ]
        columns.append((metric, found))
    first = shown[0]["metric"] if shown else ""
    amplified = [
        (row["cell"], _place(row, factors), row[AMPLIFICATION])
        for row in shown
        if row["metric"] == first and row.get(AMPLIFICATION) is not None
    ]
    columns.append((AMPLIFICATION, amplified))
    columns = [(name, values) for name, values in columns if values]
    last = len(columns) - 1
    panels = [
        _panel(name, values, cells, places, " / ".join(factors) if at == last else None)
        for at, (name, values) in enumerate(columns)
    ]
    if not panels:
        return None
    return vega.stacked([_legend(cells), *panels], spacing=14)


def _place(row: Mapping[str, Any], factors: Sequence[str]) -> str:
    """A combination of levels, as the axis has it."""
    return cleaned_text(" / ".join(str(row[name]) for name in factors))


def _panel(
    name: str,
    values: Sequence[tuple[str, str, float]],
    cells: Sequence[str],
    places: Sequence[str],
    title: str | None,
) -> vega.Spec:
    scale = scale_of(name, [value for _, _, value in values])
    y_scale = value_scale(value / scale.per_unit for _, _, value in values).scale
    axis = vega.axis(title=title, labels=title is not None, labelAngle=-40 if len(places) > 6 else 0)
    x = vega.channel("x:N", scale=vega.scale(domain=list(places)), axis=axis, sort=None)
    y = vega.channel(
        "y:Q",
        scale=y_scale,
        axis=vega.axis(title=scale.unit, tickCount=4, format=",.4~r", minExtent=52),
    )
    layers: list[vega.Marks] = []
    for colour, cell in zip(ARM_COLOURS, cells, strict=False):
        own = [(place, value / scale.per_unit) for found, place, value in values if found == cell]
        dots: list[dict[str, Any]] = [{"x": place, "y": value} for place, value in own]
        means: list[dict[str, Any]] = [
            {"x": place, "y": mean}
            for place in places
            if (mean := summarise([value for at, value in own if at == place]).geometric_mean) is not None
        ]
        layers += [
            marks(means).mark("line", color=colour, strokeWidth=1.6, aria=False).encode(x=x, y=y),
            marks(dots).mark("point", color=colour, filled=True, size=26, aria=False).encode(x=x, y=y),
        ]
    return vega.layered(layers, width=WHOLE - 60, height=_HEIGHT)


def _legend(cells: Sequence[str]) -> vega.Spec:
    """The names of the cells, below each other in their colours."""
    layers = []
    for at, (colour, cell) in enumerate(zip(ARM_COLOURS, cells, strict=False)):
        words = texts(
            [{"words": cleaned_text(cell)}], align="left", color=colour or INK, fontSize=SMALL_FONT_SIZE
        )
        layers.append(words.encode(x=vega.value(0), y=vega.value(8 + 16 * at), text="words:N"))
    return vega.layered(layers, width=WHOLE - 60, height=16 * len(cells))
