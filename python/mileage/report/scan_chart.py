"""A scan of one setting: the rate above and the latency below, over the levels of a number such as the depth.

Scope: each level at its place on a logarithmic axis: the geometric mean of the runs with its 95 % interval, and
quantiles of the latencies of all runs together, which have no interval. Refuses fewer than three levels, where a table
says the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mileage.report import vega
from mileage.report.chart_data import Landmark, ScanPoint
from mileage.report.legend import Entry, legend, legend_height
from mileage.report.theme import ARM_COLOURS, INK, MUTED, SMALL_FONT_SIZE, marks, texts
from mileage.report.value_axis import value_scale
from mileage.report.wording import scale_of

LEVELS_MIN: Final = 3
_HEIGHT: Final = 150
_QUANTILES: Final = (("p50", "p50_ns", [1, 0]), ("p99", "p99_ns", [6, 3]))
_SERIES_MAX: Final = len(ARM_COLOURS)


def scan_series(points: Sequence[ScanPoint]) -> dict[str, list[ScanPoint]]:
    """The points of each scan that has enough levels to be drawn, in the order of the levels."""
    series: dict[str, list[ScanPoint]] = {}
    for point in sorted(points, key=lambda point: point.at):
        series.setdefault(point.series, []).append(point)
    kept = {name: own for name, own in series.items() if len({point.at for point in own}) >= LEVELS_MIN}
    return dict(list(kept.items())[:_SERIES_MAX])


def scan_chart(
    points: Sequence[ScanPoint],
    *,
    factor: str,
    width: int,
    landmarks: Sequence[Landmark] = (),
    title: str = "",
) -> vega.Spec | None:
    """Two panels on one axis; None where no scan has three levels. All points have one metric.

    `landmarks` within the axis are drawn as lines from top to bottom of the upper panel. `title`: above the panels.
    """
    series = scan_series(points)
    if not series:
        return None
    shown = [point for own in series.values() for point in own]
    names = dict(sorted({point.at: point.level for point in shown}.items()))
    known = any(point.p50_ns for point in shown)
    within = [mark for mark in landmarks if min(names) <= mark.at <= max(names)]
    rates = _rates(series, names, width, None if known else factor, within)
    if title:
        rates["title"] = vega.titled(title, offset=legend_height(_entries(series), width) + 2)
    return vega.stacked([rates, *([_latencies(series, names, width, factor)] if known else [])], spacing=14)


def _entries(series: Mapping[str, object]) -> list[Entry]:
    """The legend of several scans; a single one needs none."""
    pairs = zip(series, ARM_COLOURS, strict=False)
    return [Entry(name, colour) for name, colour in pairs] if len(series) > 1 else []


def _x(names: dict[float, str], title: str | None) -> vega.Spec:
    low, high = min(names), max(names)
    cases = [f"abs(datum.value - {at!r}) < 1e-9 * {at!r} ? '{_label(name)}'" for at, name in names.items()]
    title = "record size" if title == "record" else title
    axis = vega.axis(
        values=list(names),
        title=title,
        labelExpr=" : ".join([*cases, "''"]),
        labels=title is not None,
    )
    room = (high / low) ** 0.04
    return vega.channel(
        "x:Q", scale=vega.scale(type="log", domain=[low / room, high * room], nice=False), axis=axis
    )


def _label(name: str) -> str:
    """A level inside an expression: letters, digits and harmless signs only."""
    return "".join(letter if letter.isalnum() or letter in " ." else "_" for letter in name)[:14]


def _rates(
    series: dict[str, list[ScanPoint]],
    names: dict[float, str],
    width: int,
    title: str | None,
    landmarks: Sequence[Landmark],
) -> vega.Spec:
    shown = [point for own in series.values() for point in own]
    scale = scale_of(shown[0].metric, [point.mean for point in shown])
    ends = [end for point in shown for end in (point.mean, point.high, point.low) if end is not None]
    x = _x(names, title)
    y = vega.channel(
        "y:Q",
        scale=value_scale(end / scale.per_unit for end in ends).scale,
        axis=vega.axis(title=f"rate, {scale.unit}", tickCount=4, format=",.4~r", minExtent=52),
    )
    layers: list[vega.Marks] = _landmarks(landmarks, x)
    for colour, own in zip(ARM_COLOURS, series.values(), strict=False):
        rows: list[dict[str, Any]] = [{"x": point.at, "y": point.mean / scale.per_unit} for point in own]
        spans = [
            {"x": point.at, "y": point.low / scale.per_unit, "high": point.high / scale.per_unit}
            for point in own
            if point.low is not None and point.high is not None
        ]
        layers += [
            marks(rows).mark("line", color=colour, strokeWidth=1.6, aria=False).encode(x=x, y=y),
            marks(spans)
            .mark("rule", color=colour, strokeWidth=2.5, aria=False)
            .encode(x=x, y=y, y2="high:Q"),
            marks(rows)
            .mark("point", color=colour, filled=True, size=34, opacity=1, aria=False)
            .encode(x=x, y=y),
        ]
    layers += legend(_entries(series), width)
    return vega.layered(layers, width=width, height=_HEIGHT)


def _landmarks(landmarks: Sequence[Landmark], x: vega.Spec) -> list[vega.Marks]:
    rows = [{"x": mark.at, "words": mark.name} for mark in landmarks]
    if not rows:
        return []
    lines = marks(rows).mark("rule", color=MUTED, strokeDash=[4, 3], aria=False)
    words = texts(rows, align="left", dx=4, color=MUTED, fontSize=SMALL_FONT_SIZE)
    return [lines.encode(x=x), words.encode(x=x, y=vega.value(8), text="words:N")]


def _latencies(
    series: dict[str, list[ScanPoint]], names: dict[float, str], width: int, title: str
) -> vega.Spec:
    values = [
        ns / 1e6 for own in series.values() for point in own for ns in (point.p50_ns, point.p99_ns) if ns
    ]
    x = _x(names, title)
    y = vega.channel(
        "y:Q",
        scale=vega.scale(type="log", domain=[min(values) / 1.3, max(values) * 1.3], nice=False),
        axis=vega.axis(title="latency, ms", tickCount=4, format=",.3~r", minExtent=52),
    )
    layers: list[vega.Marks] = []
    for colour, own in zip(ARM_COLOURS, series.values(), strict=False):
        for _, field, dash in _QUANTILES:
            rows = [
                {"x": point.at, "y": ns / 1e6} for point in own if (ns := getattr(point, field)) is not None
            ]
            style = {} if dash == [1, 0] else {"strokeDash": dash}
            line = marks(rows).mark(
                "line", color=colour, strokeWidth=1.6, point={"color": colour}, aria=False, **style
            )
            layers.append(line.encode(x=x, y=y))
    note = texts([{"words": "line: p50, dashes: p99"}], align="left", color=INK, fontSize=SMALL_FONT_SIZE)
    layers.append(note.encode(x=vega.value(0), y=vega.value(-7), text="words:N"))
    return vega.layered(layers, width=width, height=_HEIGHT)
