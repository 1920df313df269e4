"""The look that all charts share: colours, letters, and the marks with their data.

Models one quiet style: dark ink on white at a contrast of 4.5:1 or more for anything that is read. The
letters are of Arial's widths, which every system has in some form, so that what was measured here fits there.
Refuses expressions made of names: what a stranger wrote travels only as data.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import altair as alt

INK: Final = "#1b2430"
INK_ON_PALE: Final = "#1b2431"
"""Letters on a ground that stays pale on a dark page; a shade off `INK`, so that the page can tell the two."""
MUTED: Final = "#4b5563"
GRID: Final = "#e6e9ee"
FAINT: Final = "#e3e8f0"
BASELINE: Final = "#9aa5b4"
CANDIDATE: Final = "#3f74b5"
MEDIAN: Final = "#8fb6e3"
ARM_COLOURS: Final = ("#5b6675", "#1f5fae", "#a34700", "#116b5a", "#7a3a8c", "#7a5c00")
"""Arms and levels in their order: apart in lightness and hue, also for eyes that miss red or green; 4.5:1 on white."""
PALE_COLOURS: Final = ("#cfd5dd", "#b7cfec", "#f0cdb2", "#b5ded4", "#dcc4e4", "#e5d9a8")
"""The same, as grounds for lines in them."""
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


@cache
def _chart_class() -> "type[alt.Chart]":
    """Altair's chart, in which a channel given by its field's name or by a value costs what a channel object costs.

    Altair itself looks through its whole schema for each such channel, which takes most of the time of a drawing.
    """
    import altair as alt

    def channel(name: str, given: Any) -> Any:
        kind = name[0].upper() + name[1:]
        if isinstance(given, str):
            return getattr(alt, kind)(given)
        if isinstance(given, dict) and set(given) == {"value"}:
            return getattr(alt, f"{kind}Value")(given["value"])
        return given

    class Chart(alt.Chart):
        def encode(self, *args: Any, **channels: Any) -> "Chart":
            given = {name: channel(name, value) for name, value in channels.items()}
            encoded: Chart = super().encode(*args, **given)
            return encoded

    return Chart


def marks(rows: Sequence[dict[str, Any]]) -> "alt.Chart":
    """A chart on these rows, yet without a mark.

    The rows go in as a tuple, which altair shares between the copies that it makes; lists it copies deeply.
    """
    return _chart_class()({"values": tuple(rows)})


def texts(rows: Sequence[dict[str, Any]], **style: Any) -> "alt.Chart":
    """Words at the rows' places, in the shared letters unless `style` says otherwise."""
    style = {"fontSize": FONT_SIZE, "baseline": "middle", **style}
    words: alt.Chart = marks(rows).mark_text(aria=False, **style)
    return words
