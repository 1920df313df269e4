"""The dark page: the colours of the drawings changed by the page's style, so that one drawing serves both.

Scope: each colour of the palette with its counterpart on a dark ground. Grounds of the heat map keep their colours, and
the text on them too.
"""

from __future__ import annotations

from typing import Final

from mileage.report.theme import (
    ARM_COLOURS,
    BASELINE,
    CANDIDATE,
    FAINT,
    GRID,
    INK,
    MEDIAN,
    MUTED,
    PALE_COLOURS,
)
from mileage.report.wording import VERDICT_COLOURS

_NIGHT: Final = {
    INK: "#e8ecf2",
    MUTED: "#b3bdca",
    GRID: "#2c3644",
    FAINT: "#2a3850",
    BASELINE: "#7d8898",
    CANDIDATE: "#6ea3e0",
    MEDIAN: "#2f5688",
    "white": "#141a22",
    VERDICT_COLOURS["faster"]: "#7db4f0",
    VERDICT_COLOURS["slower"]: "#f0985a",
    VERDICT_COLOURS["undecided"]: "#c3a0f0",
}
_ARMS: Final = ("#a9b4c2", "#7db4f0", "#f0985a", "#5cc4ab", "#d29be0", "#d8bb52")
_PALE: Final = ("#3a4452", "#24456e", "#5e3818", "#1c4f44", "#51345c", "#4d431c")


def night_style() -> str:
    """CSS rules for attributes of drawings, for a page that is dark."""
    pairs = {
        **_NIGHT,
        **dict(zip(ARM_COLOURS, _ARMS, strict=True)),
        **dict(zip(PALE_COLOURS, _PALE, strict=True)),
    }
    return "\n".join(
        f'svg [{property}="{day}"] {{ {property}: {night}; }}'
        for day, night in pairs.items()
        for property in ("fill", "stroke")
    )
