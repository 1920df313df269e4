"""Changes over two properties of the cells: small multiples with intervals, and a heat map with the verdicts' glyphs.

Scope: one panel per test: the record size on one axis, another property (threads, compressibility, depth) on the other.
Colour runs from orange (worse) over white to blue (better), which eyes that miss red or green distinguish, and every
field says its change and its verdict. Axes and colours reach at least to the margin of relevance, so that a change too
small to matter looks small. No two cells share a field. Refuses to draw where fewer than two sizes or values
were measured; of very many tests `most_changed` keeps those that a page has room for.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from mileage.judge import CellVerdict
from mileage.report import vega
from mileage.report.aspects import axis_title, level_words
from mileage.report.chart_data import LevelRuns
from mileage.report.legend import Entry, legend, legend_height
from mileage.report.level_axis import level_axis
from mileage.report.text_width import room_px
from mileage.report.theme import ARM_COLOURS, FAINT, INK, SMALL_FONT_SIZE, marks, texts
from mileage.report.wording import VERDICT_GLYPHS, change_and_interval, percent, shortened, shortened_apart

_FIELD: Final = (88, 24)
_NARROW_MAP: Final = 244
_NARROW_COLUMNS: Final = 4
_COLUMNS_MAX: Final = 10
_PERCENT: Final = "\N{NO-BREAK SPACE}%"
_PANEL_HEIGHT: Final = 130
_PANEL_WIDTH: Final = 286
_CHANGE: Final = "datum.value == 0 ? '0' : format(datum.value, '+.4~r')"
_MOST_TESTS: Final = 30
_MOST_FIELDS: Final = 700
_WHISKER_ROOM: Final = 4.0
"""Limit of the axis beyond the bars, as a multiple of their height, within which whiskers are drawn."""
_WHITE_BELOW: Final = 0.179
"""Luminance of a ground on which white and black have the same contrast, 4.58, by WCAG's formula."""
_WORST: Final = (0x8A, 0x34, 0x00)
_NONE: Final = (0xF4, 0xF1, 0xEC)
_BEST: Final = (0x0B, 0x4A, 0x8F)
_UNITS: Final = {
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "KB": 10**3,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
_SIZE: Final = re.compile(r"(\d+\.?\d*)(?![\d.]) ?([kKMGT]?i?B)?")


class Field(msgspec.Struct, frozen=True):
    """One field of the grid: its test, its place on both axes, and its change as a ratio above 1 for better."""

    test: str
    row: str
    column: str
    better: float
    ratio: float
    low: float | None
    high: float | None
    glyph: str
    label: str
    margin: float = 0.0
    """The largest change that does not matter, as a share; 0 where none is set."""


def fields_of(
    cells: Sequence[CellVerdict], places: Mapping[str, Mapping[str, str]]
) -> tuple[list[Field], str, str]:
    """The judged cells as fields, and what rows and columns are; no field where the cells span no grid."""
    known = [cell for cell in cells if cell.cell in places and cell.ratio]
    names = list(dict.fromkeys(name for cell in known for name in places[cell.cell]))
    tests: dict[str, list[Mapping[str, str]]] = {}
    for cell in known:
        tests.setdefault(places[cell.cell].get("test", ""), []).append(places[cell.cell])
    counts = {
        name: max(len({place.get(name, "") for place in own}) for own in tests.values()) for name in names
    }
    row = "record" if counts.get("record", 0) > 1 else ""
    others = [name for name in names if name not in ("test", "record") and counts[name] > 1]
    others.sort(key=lambda name: -counts[name])
    column = others[0] if others else ""
    if not row and len(others) > 1:
        row, column = others[0], others[1]
    rest = [name for name in others if name not in (row, column)]
    if not row:
        row, column = column, ""
    fields = []
    for cell in known:
        place = places[cell.cell]
        test = _panel_name(cell.cell, place, rest)
        low, high = cell.ci95 or (None, None)
        label = f"{cell.cell}: {change_and_interval(cell.ratio, cell.ci95)}, {cell.verdict}"
        ratio = cell.ratio or 1.0
        better = ratio if cell.higher_is_better else 1 / ratio
        fields.append(
            Field(
                test, place.get(row, ""), place.get(column, ""), better, ratio, low, high,
                VERDICT_GLYPHS[cell.verdict], label, cell.relevance,
            )
        )  # fmt: skip
    return (_apart(fields, [cell.cell for cell in known]), row, column) if row else ([], "", "")


def _panel_name(cell: str, place: Mapping[str, str], rest: Sequence[str]) -> str:
    """Title of a panel: the test, and those properties of the cell that no axis shows."""
    return ", ".join([place.get("test", cell), *(f"{name} {place[name]}" for name in rest if name in place)])


def _apart(fields: Sequence[Field], cells: Sequence[str]) -> list[Field]:
    """The fields, those of a cell whose place another has in a panel of its own, named by the cell."""
    shared = Counter((field.test, field.row, field.column) for field in fields)
    return [
        field
        if shared[field.test, field.row, field.column] == 1
        else msgspec.structs.replace(field, test=cell)
        for field, cell in zip(fields, cells, strict=True)
    ]


def most_changed(fields: Sequence[Field]) -> tuple[list[Field], str]:
    """The fields of as many tests as are drawn, those that changed most, in their order; and what is omitted."""
    effect: dict[str, float] = {}
    for field in fields:
        effect[field.test] = max(effect.get(field.test, 0.0), abs(math.log(field.better)))
    counts = Counter(field.test for field in fields)
    kept: set[str] = set()
    room = _MOST_FIELDS
    for test in sorted(effect, key=lambda name: -effect[name])[:_MOST_TESTS]:
        if kept and counts[test] > room:
            break
        kept.add(test)
        room -= counts[test]
    left = "" if len(kept) == len(effect) else f"The {len(kept)} of {len(effect)} tests that changed most"
    return [field for field in fields if field.test in kept], left


def _varied_in_a_test(places: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The properties other than the record in which cells of one test differ."""
    values: dict[tuple[str, str], set[str]] = {}
    for cell, place in places.items():
        for name, value in place.items():
            values.setdefault((place.get("test", cell), name), set()).add(value)
    varied = dict.fromkeys(name for (_, name), found in values.items() if len(found) > 1)
    return [name for name in varied if name not in ("test", "record")]


def level_fields(
    levels: Sequence[LevelRuns],
    places: Mapping[str, Mapping[str, str]],
    baseline: str,
    distinguished: Mapping[tuple[str, str], bool],
) -> list[Field]:
    """Every level against the baseline in every cell. `distinguished` by cell and level: whether its ranks differ."""
    fields, cells = [], []
    rest = _varied_in_a_test(places)
    for found in levels:
        base = _mean(found.levels.get(baseline, []))
        place = places.get(found.cell, {})
        for level, values in found.levels.items():
            mean = _mean(values)
            if level == baseline or base is None or mean is None:
                continue
            ratio = mean / base
            apart = distinguished.get((found.cell, level), False)
            glyph = ("▲" if ratio > 1 else "▼") if apart else "?"
            words = "differs from" if apart else "not shown to differ from"
            label = f"{found.cell}, {level}: {percent(ratio)}, {words} {baseline}"
            fields.append(
                Field(
                    _panel_name(found.cell, place, rest), place.get("record", "") or found.cell, level,
                    ratio, ratio, None, None, glyph, label,
                )
            )  # fmt: skip
            cells.append(found.cell)
    return _apart(fields, cells)


class Grid(NamedTuple):
    """A grid of changes: several tests that have the same row and column property (such as record size and threads)."""

    fields: list[Field]
    row: str
    column: str


def heat_chart(grids: Sequence[Grid], *, narrow: bool = False) -> vega.Spec | None:
    """Panels of coloured fields for each test, of a few columns each; None where there is no grid.

    `narrow`: as wide as a phone.
    """
    shown = [grid for grid in grids if len(grid.fields) > 1]
    if not shown:
        return None
    fields = [field for grid in shown for field in grid.fields]
    reach = max(*(abs(math.log(field.better)) for field in fields), math.log1p(_margin(fields))) or 1.0
    turned = [grid if grid.column else _with_tests_as_rows(grid) for grid in shown]
    most = _NARROW_COLUMNS if narrow else _COLUMNS_MAX
    widest = min(max(len({field.column for field in grid.fields}) for grid in turned), most)
    field_width = min(_FIELD[0], _NARROW_MAP // widest) if narrow else _FIELD[0]
    panels = [
        _heat_panel(
            test, columns, [field for field in own if field.column in columns], grid, reach, field_width
        )
        for grid in turned
        for test, own in _by_test(grid.fields).items()
        for columns in _parts(ordered_levels({field.column for field in grid.fields}), most)
        if any(field.column in columns for field in own)
    ]
    across = 1 if narrow else max(1, 1040 // (_FIELD[0] * widest + 90))
    return vega.grid(panels, columns=across, own_scales=True)


def _parts(names: Sequence[str], most: int) -> list[Sequence[str]]:
    return [names[at : at + most] for at in range(0, len(names), most)]


def _with_tests_as_rows(grid: Grid) -> Grid:
    """Tests whose cells differ in one property alone, as the rows of one panel."""
    fields = [msgspec.structs.replace(f, test="", row=f.test, column=f.row) for f in grid.fields]
    return Grid(fields, "test", grid.row)


def _heat_panel(
    test: str, columns: Sequence[str], own: Sequence[Field], grid: Grid, reach: float, field_width: int
) -> vega.Spec:
    rows = list(dict.fromkeys(field.row for field in own))
    rows = rows if grid.row == "test" else ordered_levels(set(rows))
    tight = field_width < _FIELD[0]
    characters = (14 if grid.column and test else 18) if tight else 24
    names = shortened_apart([row or "all" for row in rows], characters)
    data = [
        {
            "row": names[field.row or "all"],
            "column": field.column or "change",
            "shade": (shade := _shade(math.log(field.better) / reach)),
            "words": f"{field.glyph}{percent(field.ratio).removesuffix(_PERCENT)}"
            if tight
            else f"{field.glyph} {percent(field.ratio)}",
            "ink": ink_on(shade),
            "label": field.label,
        }
        for field in own
    ]
    unit = ", %" if tight else ""
    font_size = 10 if tight else SMALL_FONT_SIZE
    flat = all(room_px(column, font_size) <= field_width - 6 for column in columns)
    turned: dict[str, Any] = {} if flat else {"labelAlign": "left", "labelBaseline": "middle"}
    above = vega.axis(title=f"{grid.column or 'change'}{unit}" if grid.column or tight else None, orient="top",
                      labelAngle=0 if flat else -90 if tight else -35, labelFontSize=font_size, **turned)  # fmt: skip
    x = vega.channel("column:N", sort=[c or "change" for c in columns], axis=above)
    y = vega.channel(
        "row:N",
        sort=list(names.values()),
        axis=vega.axis(title=grid.row or None, labelFontSize=font_size),
    )
    colour = vega.channel("shade:N", scale=None)
    fill = (
        marks(data)
        .mark("rect", stroke="white", strokeWidth=1)
        .encode(x=x, y=y, color=colour, description="label:N")
    )
    words = texts(data, fontSize=font_size).encode(
        x=x, y=y, text="words:N", color=vega.channel("ink:N", scale=None)
    )
    title = vega.titled(shortened(test, 40)) if test else None
    size = {"width": field_width * len(columns), "height": _FIELD[1] * len(rows)}
    return vega.layered([fill, words], **size, title=title)


def _by_test(fields: Sequence[Field]) -> dict[str, list[Field]]:
    found: dict[str, list[Field]] = {}
    for field in fields:
        found.setdefault(field.test, []).append(field)
    return found


def change_charts(fields: Sequence[Field], *, row: str, column: str) -> dict[str, vega.Spec]:
    """One chart per test: change in percent over the row property, one series per column value, with 95 % intervals."""
    kinds = ordered_levels({field.column for field in fields})
    return {
        test: _panel(own, shortened(test, 40), kinds, row, column) for test, own in _by_test(fields).items()
    }


def _panel(fields: Sequence[Field], test: str, kinds: Sequence[str], row: str, column: str) -> vega.Spec:
    rows = ordered_levels({field.row for field in fields}) or [""]
    width = _PANEL_WIDTH
    step = 0.7 / max(len(kinds), 1)
    data: list[dict[str, Any]] = []
    for field in fields:
        at = rows.index(field.row) + (kinds.index(field.column) - (len(kinds) - 1) / 2) * step
        kind = kinds.index(field.column)
        data.append(
            {
                "x": at,
                "left": at - 0.42 * step,
                "right": at + 0.42 * step,
                "zero": 0,
                "change": 100 * (field.ratio - 1),
                "low": None if field.low is None else 100 * (field.low - 1),
                "high": None if field.high is None else 100 * (field.high - 1),
                "colour": ARM_COLOURS[kind % len(ARM_COLOURS)],
                "label": field.label,
                "name": field.column,
            }
        )
    margin = 100 * _margin(fields)
    bottom, top = _frame(data, margin)
    for row_of in data:
        row_of["low"] = None if row_of["low"] is None else max(row_of["low"], bottom)
        row_of["high"] = None if row_of["high"] is None else min(row_of["high"], top)
    x_scale = vega.scale(domain=[-0.6, len(rows) - 0.4], nice=False, zero=False)
    names = [level_words(test, row, name) for name in rows]
    x = vega.channel("x:Q", scale=x_scale, axis=level_axis(names, width, axis_title(test, row)))
    y = vega.channel(
        "change:Q", scale=vega.scale(domain=[bottom, top], nice=False, zero=False),
        axis=vega.axis(title="change, %", tickCount=5, labelExpr=_CHANGE, minExtent=40),
    )  # fmt: skip
    bars = marks(data).mark("rect", opacity=0.85).encode(
        x=vega.channel("left:Q", scale=x_scale), x2="right:Q", y=y, y2="zero:Q",
        color=vega.channel("colour:N", scale=None), description="label:N",
    )  # fmt: skip
    sure = [d for d in data if d["low"] is not None]
    whiskers = marks(sure).mark("rule", color=INK, strokeWidth=1.2, aria=False)
    zero = marks([{"change": 0}]).mark("rule", color=INK, strokeWidth=1, aria=False)
    band = marks([{"low": -margin, "high": margin}]).mark("rect", color=FAINT, aria=False)
    layers = [band.encode(y=vega.channel("low:Q"), y2="high:Q")] if margin else []
    layers += [bars, zero.encode(y=y), whiskers.encode(x=x, y=vega.channel("low:Q"), y2="high:Q")]
    entries = [Entry(name, ARM_COLOURS[at % len(ARM_COLOURS)]) for at, name in enumerate(kinds) if any(kinds)]
    layers += legend(entries, width)
    heading = f"{test}" + (f", by {column}" if column else "")
    title = vega.titled(heading, offset=legend_height(entries, width) or 6)
    return vega.layered(layers, width=width, height=_PANEL_HEIGHT, title=title)


def _margin(fields: Sequence[Field]) -> float:
    return max((field.margin for field in fields), default=0.0)


def _frame(data: Sequence[Mapping[str, Any]], margin: float) -> tuple[float, float]:
    """Both ends of the axis of change: all bars, the margin, and whiskers as far as they leave the bars to be seen."""
    changes = [-margin, margin, 0.0, *(found["change"] for found in data)]
    ends = [*changes, *(found[end] for found in data for end in ("low", "high") if found[end] is not None)]
    room = _WHISKER_ROOM * ((max(changes) - min(changes)) or max(ends) - min(ends) or 1.0)
    low, high = max(min(ends), min(changes) - room), min(max(ends), max(changes) + room)
    pad = 0.08 * (high - low)
    return (low - pad if low == min(ends) else low), (high + pad if high == max(ends) else high)


def _shade(share: float) -> str:
    """The colour of a share of the range: -1 orange (worst), 0 nearly white, 1 blue (best)."""
    ends = _WORST if share < 0 else _BEST
    parts = [round(pale + (full - pale) * abs(share)) for pale, full in zip(_NONE, ends, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def ink_on(ground: str) -> str:
    """The ink that is easier to read on a ground, "#8a3400": white or black, with a contrast of 4.5 or more."""
    shares = (int(ground[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return "#ffffff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < _WHITE_BELOW else "#000000"


def _mean(values: Sequence[float]) -> float | None:
    usable = [value for value in values if value > 0]
    return math.exp(math.fsum(map(math.log, usable)) / len(usable)) if usable else None


def ordered_levels(names: set[str]) -> list[str]:
    """Sizes and numbers by their size, other names by the alphabet after them."""

    def key(name: str) -> tuple[int, float, str]:
        number = number_of(name)
        return (1, 0.0, name) if number is None else (0, number, name)

    return sorted(names, key=key)


def number_of(name: str) -> float | None:
    """The number or the size in bytes that a level begins with: 4096 for "4 KiB"; None for other names."""
    found = _SIZE.match(name)
    return None if found is None else float(found[1].rstrip(".") or 0) * _UNITS.get(found[2] or "B", 1)
