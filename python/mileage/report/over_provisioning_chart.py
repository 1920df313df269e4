"""Capacity given up against write amplification, rate and life: three panels, one point for each share.

Scope: lines over the share that is given up, each from zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mileage.report import vega
from mileage.report.svg import to_svg
from mileage.report.theme import CANDIDATE, INK, marks

_WIDTH: Final = 190
_HEIGHT: Final = 150
_PANELS: Final = {
    "write_amplification": "Write amplification",
    "mb_per_s": "Random writes, MB/s",
    "life": "Life, 1 = nothing given up",
}


def over_provisioning_svg(rows: Sequence[Mapping[str, float]], title: str) -> str:
    """The chart as an SVG document; a row has `percent`, and a number for each panel."""
    panels = [_panel(rows, field, words) for field, words in _PANELS.items()]
    described = "; ".join(
        f"{row['percent']:g} % given up: write amplification {row['write_amplification']:.2f}, "
        f"{row['mb_per_s']:,.0f} MB/s, life {row['life']:.2f}"
        for row in rows
    )
    chart = vega.whole(vega.grid(panels, columns=len(panels), spacing=30))
    return to_svg(chart, name="over-provisioning", title=title, description=described)


def _panel(rows: Sequence[Mapping[str, float]], field: str, words: str) -> vega.Spec:
    points: list[dict[str, Any]] = [
        {"x": row["percent"], "y": row[field], "label": f"{row['percent']:g} %: {row[field]:,.3g}"}
        for row in rows
    ]
    highest = max(point["y"] for point in points)
    x = vega.channel("x:Q", axis=vega.axis(title="capacity given up, %"), scale=vega.scale(zero=True))
    scale = vega.scale(domain=[0, 1.1 * highest], nice=False)
    y = vega.channel("y:Q", scale=scale, axis=vega.axis(title=None, tickCount=4))
    line = marks(points).mark("line", color=INK, strokeWidth=1.2, aria=False).encode(x=x, y=y)
    dots = marks(points).mark("point", filled=True, size=54, opacity=1)
    dots = dots.encode(x=x, y=y, color=vega.value(CANDIDATE), description="label:N")
    return vega.layered([line, dots], width=_WIDTH, height=_HEIGHT, title=vega.titled(words))
