"""The forest plot: one row per cell, its ratio with interval, and the word that follows from both.

Scope: a log axis of ratios with percent labels, so that halving and doubling are equally far from no change.
Left is always slower and right always faster: metrics where less is better get a panel of their own whose
axis runs the other way, with their true figures on it. The relevance of each row is shaded. Refuses to let
one wide interval squeeze all others: what leaves the axis is cut and ends in an arrow.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from mileage.judge import CellVerdict
from mileage.report import vega
from mileage.report.text_width import fitted, room_px
from mileage.report.theme import FAINT, FONT_SIZE, INK, MUTED, PAGE_WIDTH, marks, texts
from mileage.report.wording import (
    VERDICT_COLOURS,
    by_effect,
    change_and_interval,
    interval,
    percent,
    row_name,
    shortened,
    verdict_words,
)

_WIDEST_NAME: Final = 300
_NAME_GAP: Final = 14
_CHANGE_RIGHT: Final = 84
_INTERVAL_RIGHT: Final = 236
_VERDICT_LEFT: Final = 256
_COLUMNS_WIDTH: Final = 400
_ROW_HEIGHT: Final = 25
_TALL_ROW_HEIGHT: Final = 32
_FEW_ROWS: Final = 7
_NARROW_WIDTH: Final = 330
_HEADING_ROW: Final = -1.0
_CAP: Final = 19
"""Height of an interval's ends: above and below a diamond, so that one narrower than the diamond is seen, too."""
_RANGE_ABOVE: Final = 0.34
_DOTS_BELOW: Final = 0.27
_TICK_GAP: Final = 62
_STEPS_PERCENT: Final = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50)
_LOWEST_STEPPED_PERCENT: Final = -90
_FEWEST_STEPPED_TICKS: Final = 4
_WIDE_TICKS: Final = (
    *(1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 20, 50, 100, 1e3, 1e4),
)
_WIDER: Final = 0.25
"""Largest share by which an axis may be extended to reach a round tick."""
_BARE: Final = 0.3
"""Share of an axis that may have no tick at an end."""
_TRIES: Final = 4
_SMALLEST_REACH: Final = 0.005
_FURTHEST: Final = math.log(1e5)
CHANGE_LABEL: Final = (
    "abs(datum.value - 1) < 1e-9 ? 'no change' : datum.value >= 2 ? format(datum.value, '~r') + ' times' : "
    "format(datum.value * 100 - 100, '+.3~r') + ' %'"
)


Ranges = Mapping[tuple[str, str], tuple[float, float]]
"""Smallest and largest ratio over the variants of a simulated drive, by cell and metric."""


class Overlays(NamedTuple):
    """What is drawn above the intervals: ranges over variants of a simulated drive, and what a source printed."""

    variants: Ranges
    published: Ranges


NOTHING: Final = Overlays({}, {})


class _Panel(msgspec.Struct, frozen=True):
    """Rows of one panel with a common axis: its range of ratios, its ticks, and its direction."""

    cells: list[CellVerdict]
    low: float
    high: float
    ticks: list[float]
    reverse: bool
    title: str
    width: int
    overlays: Overlays = NOTHING

    def held(self, ratio: float) -> float:
        return min(max(ratio, self.low), self.high)

    def x(self, field: str) -> vega.Spec:
        scale = vega.scale(type="log", domain=[self.low, self.high], reverse=self.reverse, nice=False)
        axis = vega.axis(values=self.ticks, labelExpr=CHANGE_LABEL, title=self.title)
        return vega.channel(f"{field}:Q", scale=scale, axis=axis)

    def y(self, field: str = "row") -> vega.Spec:
        rows = [len(self.cells) - 0.5, _HEADING_ROW - 0.5]
        return vega.channel(f"{field}:Q", scale=vega.scale(domain=rows, nice=False, zero=False), axis=None)


def forest_chart(
    cells: Sequence[CellVerdict], *, baseline: str, candidate: str, overlays: Overlays = NOTHING
) -> vega.Spec | None:
    """The plot of `cells`, worst first; None where there is no cell to draw.

    Variants are drawn as thin dashed lines above the 95 % intervals, what was published as squares.
    """
    title = f"change from {baseline} to {candidate}"
    turned = f"{title}; less is better, so the axis runs the other way"
    rates = by_effect([c for c in cells if c.higher_is_better])
    costs = by_effect([c for c in cells if not c.higher_is_better])
    longest = max((room_px(row_name(c), FONT_SIZE) for c in cells), default=0.0)
    width = PAGE_WIDTH - _COLUMNS_WIDTH - round(min(longest, _WIDEST_NAME))
    panels = [
        _drawn(_panel(group, words, width, reverse=reverse, overlays=overlays))
        for group, words, reverse in ((rates, title, False), (costs, turned, True))
        if group
    ]
    return vega.stacked(panels, spacing=26) if panels else None


def narrow_forest_chart(
    cells: Sequence[CellVerdict], *, baseline: str, candidate: str, overlays: Overlays = NOTHING
) -> vega.Spec | None:
    """The forest chart for a narrow screen: name, change and verdict are above each row, not at its side."""
    title = f"change from {baseline} to {candidate}"
    groups = (
        (by_effect([c for c in cells if c.higher_is_better]), shortened(title, 48), False),
        (
            by_effect([c for c in cells if not c.higher_is_better]),
            "change; less is better, so turned round",
            True,
        ),
    )
    panels = [
        _narrow(_panel(group, words, _NARROW_WIDTH, reverse=reverse, overlays=overlays))
        for group, words, reverse in groups
        if group
    ]
    return vega.stacked(panels, spacing=26) if panels else None


class _NarrowRow(NamedTuple):
    """Where things stand in a row, in rows from its middle, and how high it is."""

    name: float
    words: float
    estimate: float
    line_top: float
    height: int


_ONE_LINE: Final = _NarrowRow(-0.28, -0.28, 0.12, -0.1, 44)
_TWO_LINES: Final = _NarrowRow(-0.38, -0.14, 0.18, 0.04, 62)
"""For names that have no room next to the verdict."""


def _narrow(panel: _Panel) -> vega.Spec:
    rows = [_row(i, cell, panel) for i, cell in enumerate(panel.cells)]
    said = [f"{row['change']}  {row['verdict']}" for row in rows]
    full = [row_name(cell) for cell in panel.cells]
    widest = max(
        room_px(name, 12) + room_px(words, 12, bold=True) for name, words in zip(full, said, strict=True)
    )
    place = _ONE_LINE if widest < panel.width - 10 else _TWO_LINES
    y = panel.y()
    colour = vega.channel("colour:N", scale=None)
    above = [
        {**row, "row": row["row"] + place.name, "name": fitted(name, 12, panel.width)}
        for row, name in zip(rows, full, strict=True)
    ]
    verdicts = [
        {**row, "row": row["row"] + place.words, "words": words}
        for row, words in zip(rows, said, strict=True)
    ]
    names = texts(above, align="left", color=INK, fontSize=12).encode(y=y, x=vega.value(0), text="name:N")
    words = texts(verdicts, align="right", fontWeight="bold", fontSize=12).encode(
        y=y, x=vega.value(panel.width), text="words:N", color=colour
    )
    lowered = [{**row, "row": row["row"] + place.estimate} for row in rows]
    short = [{**row, "top": row["row"] + place.line_top} for row in rows]
    layers = [
        *_ground(short, panel, rule_from="top"),
        # In the row of the estimates: name and verdict stand above it.
        *_evidence(lowered, panel, range_above=0.0),
        names,
        words,
        *_headings(panel)[:2],
    ]
    return vega.layered(layers, width=panel.width, height=(len(rows) + 1) * place.height)


def _panel(cells: list[CellVerdict], title: str, width: int, *, reverse: bool, overlays: Overlays) -> _Panel:
    low, high = _range(cells, overlays)
    low, high = _to_ticks(low, high, _outermost(cells), width)
    ticks = change_ticks(low, high, width)
    return _Panel(cells, math.exp(low), math.exp(high), ticks, reverse, title, width, overlays)


def _drawn(panel: _Panel) -> vega.Spec:
    row_height = _TALL_ROW_HEIGHT if len(panel.cells) <= _FEW_ROWS else _ROW_HEIGHT
    rows = [_row(i, cell, panel) for i, cell in enumerate(panel.cells)]
    layers = [*_ground(rows, panel), *_evidence(rows, panel), *_columns(rows, panel), *_headings(panel)]
    height = (len(rows) + 1) * row_height
    return vega.layered(layers, width=panel.width, height=height)


def _row(position: int, cell: CellVerdict, panel: _Panel) -> dict[str, Any]:
    low, high = cell.ci95 or (None, None)
    name = row_name(cell)
    varied = panel.overlays.variants.get((cell.cell, cell.metric))
    published = panel.overlays.published.get((cell.cell, cell.metric))
    change, range_text = percent(cell.ratio), interval(cell.ci95, cell.ratio)
    return {
        "row": position,
        "top": position - 0.5,
        "bottom": position + 0.5,
        "name": fitted(name, FONT_SIZE, _WIDEST_NAME),
        "ratio": None if cell.ratio is None else panel.held(cell.ratio),
        "low": None if low is None else panel.held(low),
        "high": None if high is None else panel.held(high),
        "cut_low": low is not None and low < panel.low,
        "cut_high": high is not None and high > panel.high,
        "band_low": panel.held(1 / (1 + cell.relevance)),
        "band_high": panel.held(1 + cell.relevance),
        "dots": [panel.held(ratio) for ratio in cell.unit_ratios],
        "varied_low": varied and panel.held(varied[0]),
        "varied_high": varied and panel.held(varied[1]),
        "published_low": published and panel.held(published[0]),
        "published_high": published and panel.held(published[1]),
        "change": change,
        "interval": range_text,
        "verdict": verdict_words(cell),
        "colour": VERDICT_COLOURS[cell.verdict],
        "label": f"{name}: {change_and_interval(cell.ratio, cell.ci95)}, {cell.verdict}",
    }


def _ground(rows: list[dict[str, Any]], panel: _Panel, rule_from: str = "") -> list[vega.Marks]:
    """The band of relevance, and the line of no change: one, or one for each row from its `rule_from` down."""
    band = marks(rows).mark("rect", color=FAINT, aria=False)
    whole = [{"ratio": 1.0, "row": -0.5, "bottom": len(rows) - 0.5}]
    each = (
        [{"ratio": 1.0, "row": row[rule_from], "bottom": row["bottom"]} for row in rows] if rule_from else []
    )
    no_change = marks(each or whole)
    return [
        band.encode(x=panel.x("band_low"), x2="band_high:Q", y=panel.y("top"), y2="bottom:Q"),
        no_change.mark("rule", color=INK, aria=False).encode(x=panel.x("ratio"), y=panel.y(), y2="bottom:Q"),
    ]


def _evidence(
    rows: list[dict[str, Any]], panel: _Panel, range_above: float = _RANGE_ABOVE
) -> list[vega.Marks]:
    """Estimates and intervals of rows; the range over variants of the model is `range_above` rows above them."""
    colour = vega.channel("colour:N", scale=None)
    measured = [r for r in rows if r["ratio"] is not None]
    sure = [r for r in rows if r["low"] is not None]
    dots = [{"row": r["row"] + _DOTS_BELOW, "ratio": ratio} for r in rows for ratio in r["dots"]]
    cuts = [
        {**r, "ratio": r[end], "angle": 90 if (end == "high") != panel.reverse else -90}
        for r in sure
        for end in ("low", "high")
        if r[f"cut_{end}"]
    ]
    whiskers = marks(sure).mark("rule", strokeWidth=2.5, aria=False)
    ends = [{**r, "end": r[end]} for r in sure for end in ("low", "high") if not r[f"cut_{end}"]]
    caps = marks(ends).mark("tick", orient="vertical", size=_CAP, thickness=1.6, opacity=1, aria=False)
    arrows = marks(cuts).mark("point", shape="triangle-up", filled=True, size=70, opacity=1, aria=False)
    repeats = marks(dots).mark("point", size=22, color=MUTED, strokeWidth=1.1, aria=False)
    estimates = marks(measured).mark("point", shape="diamond", filled=True, size=120, opacity=1)
    x, y = panel.x("ratio"), panel.y()
    varied = [{**r, "row": r["row"] - range_above} for r in rows if r["varied_low"] is not None]
    spans = marks(varied).mark("rule", strokeDash=[3, 3], strokeWidth=1.4, color=MUTED, aria=False)
    printed = [{**r, "row": r["row"] - range_above} for r in rows if r["published_low"] is not None]
    printed_ends = [{**r, "end": r[f"published_{end}"]} for r in printed for end in ("low", "high")]
    printed_spans = marks(printed).mark("rule", strokeWidth=1.4, color=INK, aria=False)
    squares = marks(printed_ends).mark(
        "point", shape="square", size=34, color=INK, strokeWidth=1.4, aria=False
    )
    return [
        printed_spans.encode(x=panel.x("published_low"), x2="published_high:Q", y=y),
        squares.encode(x=panel.x("end"), y=y),
        spans.encode(x=panel.x("varied_low"), x2="varied_high:Q", y=y),
        whiskers.encode(x=panel.x("low"), x2="high:Q", y=y, color=colour),
        arrows.encode(x=x, y=y, color=colour, angle=vega.channel("angle:Q", scale=None)),
        repeats.encode(x=x, y=y),
        estimates.encode(x=x, y=y, color=colour, description="label:N"),
        caps.encode(x=panel.x("end"), y=y, color=colour),
    ]


def _columns(rows: list[dict[str, Any]], panel: _Panel) -> list[vega.Marks]:
    names = texts(rows, align="right", color=INK)
    changes = texts(rows, align="right", color=INK)
    intervals = texts(rows, align="right", color=MUTED)
    verdicts = texts(rows, align="left", fontWeight="bold")
    y = panel.y()
    return [
        names.encode(y=y, x=vega.value(-_NAME_GAP), text="name:N"),
        changes.encode(y=y, x=vega.value(panel.width + _CHANGE_RIGHT), text="change:N"),
        intervals.encode(y=y, x=vega.value(panel.width + _INTERVAL_RIGHT), text="interval:N"),
        verdicts.encode(
            y=y,
            x=vega.value(panel.width + _VERDICT_LEFT),
            text="verdict:N",
            color=vega.channel("colour:N", scale=None),
        ),
    ]


def _headings(panel: _Panel) -> list[vega.Marks]:
    headings = (
        ("◄ slower", 2, "left"),
        ("faster ►", panel.width - 2, "right"),
        ("change", panel.width + _CHANGE_RIGHT, "right"),
        ("95 % interval", panel.width + _INTERVAL_RIGHT, "right"),
        ("verdict", panel.width + _VERDICT_LEFT, "left"),
    )
    return [
        texts([{"row": _HEADING_ROW, "words": words}], align=align, fontWeight="bold", color=INK).encode(
            y=panel.y(), x=vega.value(at), text="words:N"
        )
        for words, at, align in headings
    ]


def _range(cells: Sequence[CellVerdict], overlays: Overlays) -> tuple[float, float]:
    """Log ratios from the left end to the right: every estimate, repetition and range, intervals up to a limit.

    Nothing beyond a factor of 100,000 widens the axis; it is drawn at the end.
    """
    drawn = (
        r
        for c in cells
        for r in (
            c.ratio,
            *c.unit_ratios,
            *(end for over in overlays for end in over.get((c.cell, c.metric), ())),
        )
    )
    logs = (math.log(r) for r in drawn if r is not None)
    points = [min(max(log, -_FURTHEST), _FURTHEST) for log in logs]
    widest_band = max([*(math.log1p(c.relevance) for c in cells), _SMALLEST_REACH])
    reach = 1.6 * max([*(abs(p) for p in points), widest_band])
    ends = [math.log(end) for c in cells for end in c.ci95 or ()]
    shown = [*points, *(min(max(end, -reach), reach) for end in ends)]
    low, high = min([*shown, -1.4 * widest_band]), max([*shown, 1.4 * widest_band])
    pad = 0.04 * (high - low)
    return low - pad, high + pad


def _outermost(cells: Sequence[CellVerdict]) -> tuple[float, float]:
    """Log ratios of the outermost estimates, held as in `_range`; no change lies between."""
    logs = [min(max(math.log(c.ratio), -_FURTHEST), _FURTHEST) for c in cells if c.ratio is not None]
    return min([0.0, *logs]), max([0.0, *logs])


def _to_ticks(low: float, high: float, points: tuple[float, float], width: int) -> tuple[float, float]:
    """The range made wider until a tick stands beyond the outermost estimate on either side, where that is near."""
    most = _WIDER * (high - low)
    for _ in range(_TRIES):
        ticks = change_ticks(low, high, width)
        left, right = _next_ticks(ticks)
        pad = 0.01 * (high - low)
        wider = [low, high]
        if math.log(ticks[0]) > points[0] and left and low - most <= math.log(left):
            wider[0] = min(low, math.log(left) - pad)
        if math.log(ticks[-1]) < points[1] and right and math.log(right) <= high + most:
            wider[1] = max(high, math.log(right) + pad)
        if wider == [low, high]:
            break
        low, high = wider
    return low, high


def _next_ticks(ticks: Sequence[float]) -> tuple[float | None, float | None]:
    """The round changes that would follow on either side: by the same step, or the next of `_WIDE_TICKS`."""
    steps = [b - a for a, b in itertools.pairwise(ticks)]
    if steps and max(steps) - min(steps) < 1e-9:
        left = round(ticks[0] - steps[0], 9)
        return left if left > 0 else None, round(ticks[-1] + steps[0], 9)
    return (
        max((tick for tick in _WIDE_TICKS if tick < ticks[0]), default=None),
        min((tick for tick in _WIDE_TICKS if tick > ticks[-1]), default=None),
    )


def change_ticks(low: float, high: float, width: int, gap: int = _TICK_GAP) -> list[float]:
    """Round changes inside a range of log ratios, as many as leave room for their labels: `gap` pixels for each."""
    per_unit = width / (high - low)
    for step in _STEPS_PERCENT:
        first = max(math.ceil(math.expm1(low) * 100 / step), math.ceil(_LOWEST_STEPPED_PERCENT / step))
        last = math.floor(math.expm1(high) * 100 / step)
        if last - first > 3 * width / gap:
            continue
        ticks = [round(1 + k * step / 100, 9) for k in range(first, last + 1)]
        gaps = [math.log(b / a) * per_unit for a, b in itertools.pairwise(ticks)]
        if len(ticks) < _FEWEST_STEPPED_TICKS or min(gaps) < gap:
            continue
        if max(math.log(ticks[0]) - low, high - math.log(ticks[-1])) <= _BARE * (high - low):
            return ticks
    return _spread([tick for tick in _WIDE_TICKS if low <= math.log(tick) <= high], gap / per_unit)


def _spread(candidates: Sequence[float], least: float) -> list[float]:
    """The ticks of an axis of ratios: 1 (no change), and on both sides the candidates with room for their labels.

    `least`: distance between two, as a logarithm.
    """
    kept = [1.0]
    for outwards in (
        sorted(c for c in candidates if c > 1),
        sorted((c for c in candidates if c < 1), reverse=True),
    ):
        chain = [1.0]
        for candidate in outwards:
            if _apart(chain[-1], candidate, least):
                chain.append(candidate)
        last = outwards[-1] if outwards else 1.0
        if len(chain) > 1 and last != chain[-1] and _apart(chain[-2], last, least):
            chain[-1] = last
        kept += chain[1:]
    return sorted(kept)


def _apart(one: float, other: float, least: float) -> bool:
    return abs(math.log(other / one)) >= least
