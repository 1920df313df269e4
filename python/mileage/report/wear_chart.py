"""Chart of the drive's wear by the torture: each gauge before and after, one line for each cycle.

Scope: the table of wear as a picture: a panel per gauge, which starts at zero, the first interval of the torture left
and the last one right. A target without gauges has no such picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mileage.report import vega
from mileage.report.chart_data import Wear
from mileage.report.text_width import fitted
from mileage.report.theme import BASELINE, CANDIDATE, INK, MUTED, SMALL_FONT_SIZE, marks, texts

_WIDTH: Final = 150
_HEIGHT: Final = 110
_COLUMNS: Final = 5
_AXIS_PX: Final = 44
_MOST_PANELS: Final = 10


def wear_chart(wear: Sequence[Wear], *, columns: int = _COLUMNS, width: int = _WIDTH) -> vega.Spec | None:
    """The panels, `width` pixels each; None where nothing was counted."""
    names = list(dict.fromkeys(found.name for found in wear))[:_MOST_PANELS]
    if not names:
        return None
    panels = [_panel(name, [found for found in wear if found.name == name], width) for name in names]
    return vega.grid(panels, columns=min(columns, len(panels)), spacing={"row": 30, "column": 34})


def _panel(name: str, found: Sequence[Wear], width: int) -> vega.Spec:
    lines = [{"x": 0, "right": 1, "from": one.before, "to": one.after} for one in found]
    ends: list[dict[str, Any]] = [
        {
            "x": at,
            "value": value,
            "colour": (BASELINE, CANDIDATE)[at],
            "label": f"cycle {one.cycle}, {('before', 'after')[at]}: {value:,.4g}",
        }
        for one in found
        for at, value in enumerate((one.before, one.after))
    ]
    sides = [{"x": at, "words": words} for at, words in enumerate(("before", "after"))]
    highest = max(end["value"] for end in ends)
    x = vega.channel("x:Q", scale=vega.scale(domain=[-0.3, 1.3], nice=False, zero=False), axis=None)
    scale = vega.scale(domain=[0, 1.08 * highest or 1.0], nice=False)
    axis = vega.axis(title=None, tickCount=4, format=",.4~r", minExtent=_AXIS_PX)
    y = vega.channel("value:Q", scale=scale, axis=axis)
    joined = marks(lines).mark("rule", color=INK, strokeWidth=1.2, aria=False)
    dots = marks(ends).mark("point", filled=True, size=54, opacity=1)
    words = texts(sides, color=MUTED, fontSize=SMALL_FONT_SIZE)
    return vega.layered(
        [
            joined.encode(x=x, x2="right:Q", y=vega.channel("from:Q", scale=scale, axis=axis), y2="to:Q"),
            dots.encode(x=x, y=y, color=vega.channel("colour:N", scale=None), description="label:N"),
            words.encode(x=x, y=vega.value(_HEIGHT + 12), text="words:N"),
        ],
        width=width,
        height=_HEIGHT,
        title=vega.titled(
            fitted(name[:1].upper() + name[1:], SMALL_FONT_SIZE, width + _AXIS_PX, bold=True), offset=8
        ),
    )
