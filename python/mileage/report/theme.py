"""The look that all charts share: colours, fonts, and the marks with their data.

Scope: one quiet style: dark ink on white at a contrast of 4.5:1 or more for anything that is read. The
glyphs are of Arial's widths, which every system has in some form, so that what was measured here fits there.
Refuses expressions made of names: what a stranger wrote travels only as data.
"""

from collections.abc import Sequence
from typing import Any, Final

from mileage.report.vega import Marks

INK: Final = "#1b2430"
MUTED: Final = "#4b5563"
GRID: Final = "#e6e9ee"
FAINT: Final = "#e3e8f0"
BASELINE: Final = "#9aa5b4"
CANDIDATE: Final = "#3f74b5"
MEDIAN: Final = "#8fb6e3"
ARM_COLOURS: Final = ("#5b6675", "#1f5fae", "#a34700", "#116b5a", "#7a3a8c", "#7a5c00")
"""Arms and levels in their order: apart in lightness and hue, also for eyes that miss red or green; 4.5:1 on white."""
PALE_COLOURS: Final = ("#cfd5dd", "#b7cfec", "#f0cdb2", "#b5ded4", "#dcc4e4", "#e5d9a8")
"""Pale versions of the colours, for areas behind lines."""
FONT: Final = "Arial, 'Liberation Sans', Helvetica, sans-serif"
FONT_SIZE: Final = 13
SMALL_FONT_SIZE: Final = 12
PAGE_WIDTH: Final = 1126

STYLE: Final[dict[str, Any]] = {
    "font": FONT,
    "background": "white",
    "padding": 3,
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": SMALL_FONT_SIZE,
        "titleFontSize": SMALL_FONT_SIZE,
        "titleFontWeight": "normal",
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": GRID,
    },
    "title": {"color": INK, "fontSize": SMALL_FONT_SIZE, "fontWeight": "bold", "anchor": "start"},
}
"""Vega-Lite's configuration for every chart, added when it is drawn."""


def marks(rows: Sequence[dict[str, Any]]) -> Marks:
    """A layer on these rows, yet without a mark."""
    return Marks(rows)


def texts(rows: Sequence[dict[str, Any]], **style: Any) -> Marks:
    """Words at the rows' places, in the shared font unless `style` says otherwise."""
    style = {"fontSize": FONT_SIZE, "baseline": "middle", **style}
    return marks(rows).mark("text", aria=False, **style)
