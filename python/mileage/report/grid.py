"""Changes over two properties of the cells: small multiples with intervals, and a heat map with the verdicts' glyphs.

Models one panel per test: the record size on one axis, another property (threads, compressibility, depth) on the other.
Colour runs from orange (worse) over white to blue (better), which eyes that miss red or green distinguish, and every
field says its change and its verdict. No two cells share a field. Refuses to draw where fewer than two sizes or values
were measured; of very many tests `most_changed` keeps those that a page has room for.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from mileage.judge import CellVerdict
from mileage.report import vega
from mileage.report.evidence import LevelRuns
from mileage.report.theme import ARM_COLOURS, INK, INK_ON_PALE, SMALL_FONT_SIZE, marks, texts
from mileage.report.wording import VERDICT_GLYPHS, interval, percent, shortened

_FIELD: Final = (88, 24)
_PANEL_HEIGHT: Final = 130
_COLUMNS: Final = 3
_MOST_TESTS: Final = 18
_MOST_FIELDS: Final = 700
_WHISKER_ROOM: Final = 4.0
"""How far beyond the bars, in heights of all of them, whiskers are drawn."""
_BRIGHT: Final = 0.55
"""Share of the range at which letters turn white."""
_WORST: Final = (0x8A, 0x34, 0x00)
_NONE: Final = (0xF4, 0xF1, 0xEC)
_BEST: Final = (0x0B, 0x4A, 0x8F)
_UNITS: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE: Final = re.compile(r"([\d.]+) ?([KMGT]?i?B)?")


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
    fields = []
    for cell in known:
        place = places[cell.cell]
        test = _panel_name(cell.cell, place, rest)
        low, high = cell.ci95 or (None, None)
        label = f"{cell.cell}: {percent(cell.ratio)}, 95 % interval {interval(cell.ci95)}, {cell.verdict}"
        ratio = cell.ratio or 1.0
        better = ratio if cell.higher_is_better else 1 / ratio
        fields.append(
            Field(
                test, place.get(row, ""), place.get(column, ""), better, ratio, low, high,
                VERDICT_GLYPHS[cell.verdict], label,
            )
        )  # fmt: skip
    return (_apart(fields, [cell.cell for cell in known]), row, column) if row or column else ([], "", "")


def _panel_name(cell: str, place: Mapping[str, str], rest: Sequence[str]) -> str:
    """The test, with whatever else distinguishes the cell and is on no axis."""
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


def level_fields(
    levels: Sequence[LevelRuns],
    places: Mapping[str, Mapping[str, str]],
    baseline: str,
    distinguished: Mapping[tuple[str, str], bool],
) -> list[Field]:
    """Every level against the baseline in every cell. `distinguished` by cell and level: whether its ranks differ."""
    fields, cells = [], []
    names = dict.fromkeys(name for place in places.values() for name in place)
    rest = [
        name
        for name in names
        if name not in ("test", "record") and len({place.get(name) for place in places.values()}) > 1
    ]
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


def heat_chart(fields: Sequence[Field], *, row: str, column: str) -> vega.Spec | None:
    """One panel of coloured fields per test; None where there is no grid."""
    tests = list(dict.fromkeys(field.test for field in fields))
    if len(fields) < 2:
        return None
    reach = max(abs(math.log(field.better)) for field in fields) or 1.0
    columns = _ordered({field.column for field in fields}) if column else [""]
    panels = []
    for test in tests:
        own = [field for field in fields if field.test == test]
        rows = _ordered({field.row for field in own})
        data = [
            {
                "row": shortened(field.row, 24) or "all",
                "column": field.column or "change",
                "shade": _shade(math.log(field.better) / reach),
                "words": f"{field.glyph} {percent(field.ratio)}",
                "ink": "#ffffff" if abs(math.log(field.better)) / reach > _BRIGHT else INK_ON_PALE,
                "label": field.label,
            }
            for field in own
        ]
        above = vega.axis(title=column or None, orient="top", labelAngle=0)
        x = vega.channel("column:N", sort=[c or "change" for c in columns], axis=above)
        y = vega.channel(
            "row:N", sort=[shortened(r, 24) or "all" for r in rows], axis=vega.axis(title=row or None)
        )
        shade = vega.channel("shade:N", scale=None)
        fill = (
            marks(data)
            .mark("rect", stroke="white", strokeWidth=1)
            .encode(x=x, y=y, color=shade, description="label:N")
        )
        words = texts(data, fontSize=SMALL_FONT_SIZE).encode(
            x=x, y=y, text="words:N", color=vega.channel("ink:N", scale=None)
        )
        title = vega.titled(shortened(test, 40))
        panels.append(
            vega.layered(
                [fill, words], width=_FIELD[0] * len(columns), height=_FIELD[1] * len(rows), title=title
            )
        )
    across = max(1, 1040 // (_FIELD[0] * len(columns) + 90))
    return vega.grid(panels, columns=across, own_scales=True)


def multiples_chart(fields: Sequence[Field], *, row: str, column: str) -> vega.Spec | None:
    """One panel per test: the change in percent by `row`, one mark per value of `column`, with its interval."""
    tests = list(dict.fromkeys(field.test for field in fields))
    if len(fields) < 2:
        return None
    kinds = _ordered({field.column for field in fields})
    panels = [
        _panel([field for field in fields if field.test == test], shortened(test, 40), kinds, row, column)
        for test in tests
    ]
    across = min(_COLUMNS, len(panels))
    return vega.grid(panels, columns=across, own_scales=True)


def _panel(fields: Sequence[Field], test: str, kinds: Sequence[str], row: str, column: str) -> vega.Spec:
    rows = _ordered({field.row for field in fields}) or [""]
    width = max(200, min(300, 46 * len(rows) * max(1, len(kinds) // 3)))
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
    bottom, top = _frame(data)
    for row_of in data:
        row_of["low"] = None if row_of["low"] is None else max(row_of["low"], bottom)
        row_of["high"] = None if row_of["high"] is None else min(row_of["high"], top)
    x_scale = vega.scale(domain=[-0.6, len(rows) - 0.4], nice=False, zero=False)
    expression = " : ".join(
        [*(f"datum.value == {at} ? {_quoted(name)}" for at, name in enumerate(rows)), "''"]
    )
    x = vega.channel(
        "x:Q", scale=x_scale,
        axis=vega.axis(values=list(range(len(rows))), labelExpr=expression, title=row or None, grid=False),
    )  # fmt: skip
    y = vega.channel(
        "change:Q", scale=vega.scale(domain=[bottom, top], nice=False, zero=False),
        axis=vega.axis(title="change, %", tickCount=5, format="+.4~r"),
    )  # fmt: skip
    bars = marks(data).mark("rect", opacity=0.85).encode(
        x=vega.channel("left:Q", scale=x_scale), x2="right:Q", y=y, y2="zero:Q",
        color=vega.channel("colour:N", scale=None), description="label:N",
    )  # fmt: skip
    sure = [d for d in data if d["low"] is not None]
    whiskers = marks(sure).mark("rule", color=INK, strokeWidth=1.6, aria=False)
    zero = marks([{"change": 0}]).mark("rule", color=INK, strokeWidth=1, aria=False)
    layers = [bars, zero.encode(y=y), whiskers.encode(x=x, y=vega.channel("low:Q"), y2="high:Q")]
    if any(kinds):
        for place, name in enumerate(kinds):
            colour = ARM_COLOURS[place % len(ARM_COLOURS)]
            words = [{"words": f"\N{BLACK SQUARE} {name}"}]
            legend = texts(words, align="left", color=colour, fontSize=11, limit=width / len(kinds))
            layers.append(
                legend.encode(x=vega.value(place * width / len(kinds)), y=vega.value(-8), text="words:N")
            )
    title = vega.titled(f"{test}" + (f", by {column}" if column else ""), offset=18 if any(kinds) else 6)
    return vega.layered(layers, width=width, height=_PANEL_HEIGHT, title=title)


def _frame(data: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Both ends of the axis of change: all bars, and whiskers as far as they leave the bars to be seen."""
    changes = [0.0, *(found["change"] for found in data)]
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


def _quoted(name: str) -> str:
    """A name inside an expression: letters, digits and harmless signs only."""
    kept = "".join(letter if letter.isalnum() or letter in " .,%+-/=:()" else "_" for letter in name)
    return f"'{shortened(kept, 14)}'"


def _mean(values: Sequence[float]) -> float | None:
    usable = [value for value in values if value > 0]
    return math.exp(math.fsum(map(math.log, usable)) / len(usable)) if usable else None


def _ordered(names: set[str]) -> list[str]:
    """Sizes and numbers by their size, other names by the alphabet after them."""

    def key(name: str) -> tuple[int, float, str]:
        number = number_of(name)
        return (1, 0.0, name) if number is None else (0, number, name)

    return sorted(names, key=key)


def number_of(name: str) -> float | None:
    """The number or the size in bytes that a level begins with: 4096 for "4 KiB"; None for other names."""
    found = _SIZE.match(name)
    return None if found is None else float(found[1].rstrip(".") or 0) * _UNITS.get(found[2] or "B", 1)
