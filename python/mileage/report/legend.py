"""The legend above a panel: a sign in its colour and a name for each entry, in rows that grow upwards.

Scope: entries follow each other as far as the widths of their letters leave room in a row, so that no name
overlaps another or leaves the panel. A name that is wider than the panel loses its middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mileage.report import vega
from mileage.report.text_width import fitted, room_px
from mileage.report.theme import INK, SMALL_FONT_SIZE, marks, texts

ROW_PX: Final = 16
_ABOVE_PX: Final = -9
_SIGN_PX: Final = 12
_GAP_PX: Final = 16


class Entry(NamedTuple):
    """A name with its sign: one of Vega-Lite's shapes, as large in square pixels."""

    name: str
    colour: str
    shape: str = "square"
    size: int = 70


class _EntryPlace(NamedTuple):
    entry: Entry
    left: float
    row: int


def legend(
    entries: Sequence[Entry], width: float, *, bottom: float = _ABOVE_PX, left: float = 0.0
) -> list[vega.Marks]:
    """The marks of a legend of this width in pixels, from `left` on; `bottom`: the middle of its lowest row."""
    layers = []
    placed = _placed(entries, width)
    for entry, place, row in placed:
        y = vega.value(bottom - ROW_PX * (placed[-1].row - row))
        sign = marks([{"words": entry.name}]).mark(
            "point",
            shape=entry.shape,
            filled=True,
            size=entry.size,
            color=entry.colour,
            opacity=1,
            aria=False,
        )
        words = texts([{"words": entry.name}], align="left", color=INK, fontSize=SMALL_FONT_SIZE)
        layers.append(sign.encode(x=vega.value(left + place + _SIGN_PX / 2), y=y))
        layers.append(words.encode(x=vega.value(left + place + _SIGN_PX + 2), y=y, text="words:N"))
    return layers


def legend_height(entries: Sequence[Entry], width: float) -> int:
    """Pixels that the legend takes above its panel."""
    placed = _placed(entries, width)
    return ROW_PX * (placed[-1].row + 1) + 2 if placed else 0


def _placed(entries: Sequence[Entry], width: float) -> list[_EntryPlace]:
    found: list[_EntryPlace] = []
    left, row = 0.0, 0
    for entry in entries:
        name = fitted(entry.name, SMALL_FONT_SIZE, width - _SIGN_PX - 2)
        wide = _SIGN_PX + 2 + room_px(name, SMALL_FONT_SIZE)
        if left and left + wide > width:
            left, row = 0.0, row + 1
        found.append(_EntryPlace(entry._replace(name=name), left, row))
        left += wide + _GAP_PX
    return found
