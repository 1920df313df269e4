"""The effects of two causes as dots: a row for each test, next to the range that was published of it.

Scope: changes in percent of one reference on one axis: a diamond for the first cause alone, a circle for the second,
a cross for both, each with its 95 % interval; small circles for the second cause at its other levels. Wide: names and
causes at the sides; narrow: above each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mileage.judge import CellVerdict
from mileage.judge.effects_apart import EffectsApart
from mileage.report import vega
from mileage.report.effects_apart import BOTH, EffectRow, cause_words, effect_rows
from mileage.report.legend import Entry, legend
from mileage.report.published_results import figure_words
from mileage.report.text_width import fitted, room_px
from mileage.report.theme import ARM_COLOURS, FAINT, INK, MUTED, PALE_COLOURS, marks, texts
from mileage.report.wording import percent, plain

_WIDTH: Final = 640
_NAME_PX: Final = 280
_ROW_HEIGHT: Final = 30
_NARROW_ROW_HEIGHT: Final = 48
_SHAPES: Final = (("diamond", 110), ("circle", 80), ("cross", 70))
_COLOURS: Final = (ARM_COLOURS[1], ARM_COLOURS[2], INK)


class _Place(NamedTuple):
    """Where things stand in a row, in rows from its middle."""

    below: tuple[float, float, float]
    """The three effects."""
    top: float
    bottom: float
    """Ends of the bar of what was published."""
    rule_top: float
    """Where the line of no change begins."""


_WIDE_PLACE: Final = _Place((-0.22, 0.0, 0.22), -0.36, 0.36, -0.5)
_NARROW_PLACE: Final = _Place((0.05, 0.22, 0.39), -0.04, 0.46, -0.08)
_UNCHANGED: Final = 0.35
"""Half the width of the bar of what was published as unchanged, in percent."""
_PRINTED: Final = PALE_COLOURS[0]


def effects_chart(apart: EffectsApart, *, width: int = _WIDTH, narrow: bool = False) -> vega.Spec | None:
    """The dots of all tests; None where nothing was measured."""
    rows = effect_rows(apart)
    changes = [_percent(cell.ratio) for row in rows for cell in _drawn(row) if cell.ratio is not None]
    if not changes:
        return None
    printed = [end for row in rows for end in _published(row) or ()]
    low, high = min([*changes, *printed, 0.0]), max([*changes, *printed, 0.0])
    room = max(0.08 * (high - low), 0.5)
    domain = (low - room, high + room)
    x_scale = vega.scale(domain=list(domain), nice=False, zero=False)
    axis = vega.axis(title="change in percent", tickCount=max(3, width // 80), format="+.3~r")
    first = -1.2 if narrow else -1.3
    y_scale = vega.scale(domain=[len(rows) - 0.4, first], nice=False, zero=False)

    def x(field: str) -> vega.Spec:
        return vega.channel(f"{field}:Q", scale=x_scale, axis=axis)

    def y(field: str = "row") -> vega.Spec:
        return vega.channel(f"{field}:Q", scale=y_scale, axis=None)

    place = _NARROW_PLACE if narrow else _WIDE_PLACE
    layers = [*_ground(rows, place, x, y), *_dots(rows, apart, domain, place, x, y)]
    layers += _names(rows, apart, width, y, narrow=narrow)
    layers += legend(_entries(apart), width, bottom=8)
    height = (len(rows) + 1.3) * (_NARROW_ROW_HEIGHT if narrow else _ROW_HEIGHT)
    return vega.layered(layers, width=width, height=height)


def effects_words(apart: EffectsApart) -> str:
    """What the chart shows, for its caption."""
    causes = [
        f"{shape}: the {cause} alone ({words})"
        for shape, cause, words in zip(("Diamond", "circle"), apart.causes, apart.stands_for, strict=True)
    ]
    doses = f", small circles: at {' and '.join(apart.doses)}" if apart.doses else ""
    printed = " Bar: what was published." if apart.published else ""
    return f"{causes[0]}; {causes[1]}{doses}; cross: both. Lines: 95\N{NO-BREAK SPACE}% intervals.{printed}"


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)


def _drawn(row: EffectRow) -> list[CellVerdict]:
    return [cell for cell in (*row.effects, *row.doses.values()) if cell is not None]


def _published(row: EffectRow) -> tuple[float, float] | None:
    """The ends of what was published; a narrow bar for a change that is only stated, none for what is not stated."""
    found = row.published
    if found is None or found.statement == "not stated":
        return None
    if found.low is None or found.high is None:
        return (-_UNCHANGED, _UNCHANGED) if found.statement == "same" else None
    middle = (found.low + found.high) / 2
    half = max((found.high - found.low) / 2, _UNCHANGED)
    return middle - half, middle + half


def _ground(rows: Sequence[EffectRow], place: _Place, x: Any, y: Any) -> list[vega.Marks]:
    """Stripes, the line of no change, and bars of what was published."""
    stripes = [{"top": at - 0.5, "bottom": at + 0.5} for at in range(0, len(rows), 2)]
    bars = [
        {"low": ends[0], "high": ends[1], "top": at + place.top, "bottom": at + place.bottom}
        for at, row in enumerate(rows)
        if (ends := _published(row)) is not None
    ]
    line = [{"change": 0.0, "row": at + place.rule_top, "bottom": at + 0.5} for at in range(len(rows))]
    return [
        marks(stripes).mark("rect", color=FAINT, opacity=0.45, aria=False).encode(y=y("top"), y2="bottom:Q"),
        marks(bars).mark("rect", color=_PRINTED, aria=False).encode(
            x=x("low"), x2="high:Q", y=y("top"), y2="bottom:Q"
        ),
        marks(line).mark("rule", color=INK, aria=False).encode(x=x("change"), y=y(), y2="bottom:Q"),
    ]  # fmt: skip


def _dots(
    rows: Sequence[EffectRow],
    apart: EffectsApart,
    domain: tuple[float, float],
    place: _Place,
    x: Any,
    y: Any,
) -> list[vega.Marks]:
    """The effects with their intervals, which end at the frame."""

    def held(ratio: float) -> float:
        return min(max(_percent(ratio), domain[0]), domain[1])

    doses = [
        {"row": at + place.below[1], "change": held(cell.ratio)}
        for at, row in enumerate(rows)
        for cell in row.doses.values()
        if cell.ratio is not None
    ]
    layers = [
        marks(doses).mark("point", shape="circle", size=26, color=_COLOURS[1], strokeWidth=1.1, aria=False)
        .encode(x=x("change"), y=y())
    ]  # fmt: skip
    for effect, (shape, size) in enumerate(_SHAPES):
        cause = (*apart.causes, BOTH)[effect]
        found = []
        for at, row in enumerate(rows):
            cell = row.effects[effect]
            if cell is None or cell.ratio is None:
                continue
            low, high = cell.ci95 or (cell.ratio, cell.ratio)
            label = f"{row.name}, {cause}: {plain(percent(cell.ratio))}"
            found.append({"row": at + place.below[effect], "change": held(cell.ratio), "low": held(low),
                          "high": held(high), "label": label})  # fmt: skip
        colour = _COLOURS[effect]
        spans = marks(found).mark("rule", color=colour, strokeWidth=1.6, aria=False)
        points = marks(found).mark("point", shape=shape, filled=True, size=size, color=colour, opacity=1)
        layers.append(spans.encode(x=x("low"), x2="high:Q", y=y()))
        layers.append(points.encode(x=x("change"), y=y(), description="label:N"))
    return layers


def _names(
    rows: Sequence[EffectRow], apart: EffectsApart, width: int, y: Any, *, narrow: bool
) -> list[vega.Marks]:
    """The test of each row, what was published of it, and which cause gives it."""
    words = []
    for at, row in enumerate(rows):
        printed = figure_words(row.published) if row.published is not None else ""
        given = cause_words(row, apart)
        place = at - 0.28 if narrow else at
        end = ", ".join(filter(None, (printed, given)))
        room = width - 10 - room_px(end, 12) if narrow else _NAME_PX
        name = fitted(row.name, 12, room)
        words.append({"row": place, "name": name, "published": printed, "given": given, "end": end})
    style: dict[str, Any] = {"color": INK, "fontSize": 12}
    if narrow:
        return [
            texts(words, align="left", **style).encode(y=y(), x=vega.value(0), text="name:N"),
            texts(words, align="right", **style).encode(y=y(), x=vega.value(width), text="end:N"),
        ]
    return [
        texts(words, align="right", **style).encode(y=y(), x=vega.value(-12), text="name:N"),
        texts(words, align="left", color=MUTED, fontSize=12).encode(
            y=y(), x=vega.value(width + 14), text="published:N"
        ),
        texts(words, align="left", fontWeight="bold", **style).encode(
            y=y(), x=vega.value(width + 112), text="given:N"
        ),
    ]


def _entries(apart: EffectsApart) -> list[Entry]:
    """The mark of each effect, and of what was published."""
    names = zip((*apart.causes, BOTH), _COLOURS, _SHAPES, strict=True)
    found = [Entry(name, colour, *shape) for name, colour, shape in names]
    return [*found, Entry("published", _PRINTED, "square", 150)] if apart.published else found
