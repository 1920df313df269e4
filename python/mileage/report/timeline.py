"""Runs over their course: rate, latency and counters above each other on one axis of bytes or of time.

Scope: each run as a thin line in its arm's colour, and the median of an arm's runs as a thick pale one behind them.
Where the level of a rate changes a dashed line stands, and the regimes are shaded in turn. Refuses two scales in one
panel, which would invite crossings that mean nothing.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import msgspec

from mileage.report import vega
from mileage.report.chart_data import AMPLIFICATION, CACHE_FREE, FREE_BLOCKS, RunTrace
from mileage.report.legend import Entry, legend
from mileage.report.theme import ARM_COLOURS, FAINT, INK, MUTED, PALE_COLOURS, SMALL_FONT_SIZE, marks, texts
from mileage.report.wording import digits

Axis = Literal["bytes", "time"]

_HEIGHT: Final = 120
_GRID: Final = 120
_ALIKE: Final = 0.15
_LEFT_OF: Final = 0.8
"""Share of the axis up to which a place is written on the right of its line, beyond it on the left."""
_BYTE_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
_TIME_UNITS: Final = (
    (3600.0, "hours"),
    (60.0, "minutes"),
    (1.0, "seconds"),
    (1e-3, "milliseconds"),
    (1e-6, "µs"),
)
_LATENCIES: Final = (("p50", "p50_ns"), ("p99", "p99_ns"), ("maximum", "max_ns"))
_DASHES: Final = {"p50": [1, 0], "p99": [6, 3], "maximum": [2, 2]}

_Points = list[tuple[float, float]]


class _Row(msgspec.Struct, frozen=True):
    """One panel: its title, its lines as (arm, kind, points), and whether its axis is logarithmic or starts at zero.

    With `steps` a value holds for the interval that ends there, and the line is a stair.
    """

    title: str
    lines: list[tuple[str, str, _Points]]
    log: bool = False
    zero: bool = True
    steps: bool = False
    behind: list[tuple[str, _Points]] = []
    """The thick line of each arm."""


def timeline_chart(
    traces: Sequence[RunTrace],
    *,
    axis: Axis,
    width: int,
    latency: bool,
    counters: bool | Sequence[str],
    moved: str = "moved",
) -> vega.Spec | None:
    """The panels for which there are figures; None where no run has two intervals.

    `counters` are names of those to draw, or whether to draw those of flash. `moved` is how bytes are called on their
    axis: "written".
    """
    shown = _shown(traces)
    if not shown:
        return None
    per_unit, unit = _unit(shown, axis)
    end = max(_along(trace, axis)[-1] for trace in shown) / per_unit
    rows = [
        _Row(
            "rate, MB/s",
            _lines(shown, axis, per_unit, lambda t: _scaled(t.rate_bytes_per_s, 1e6)),
            steps=True,
            behind=_rates_behind(shown, axis, per_unit),
        )
    ]
    if latency and any(trace.p99_ns for trace in shown):
        kinds = [
            (arm, kind, points)
            for kind, field in _LATENCIES
            for arm, _, points in _medians(_lines(shown, axis, per_unit, _latency_of(field)))
        ]
        what = "commit time" if all(trace.of_commits for trace in shown) else "latency"
        rows.append(_Row(f"{what}, ms", kinds, log=True))
    of_flash = (AMPLIFICATION, FREE_BLOCKS, CACHE_FREE) if counters else ()
    for name in of_flash if isinstance(counters, bool) else counters:
        lines = _lines(shown, axis, per_unit, _counter_of(name))
        if lines:
            rows.append(_Row(name, lines, zero=name != AMPLIFICATION, behind=_several_medians(lines)))
    title = f"{moved}, {unit}" if axis == "bytes" else f"time, {unit}"
    arms = list(dict.fromkeys(trace.arm for trace in shown))
    cuts = _cuts(shown, axis, per_unit)
    panels = [
        _panel(row, arms, end, width, (cuts if at == 0 else [], unit), title if at == len(rows) - 1 else None)
        for at, row in enumerate(rows)
    ]
    return vega.stacked(panels, spacing=12)


def course_words(traces: Sequence[RunTrace], axis: Axis) -> str:
    """Sentences, after a space, about levels and stalls; nothing of levels where there are too few points to judge."""
    shown = _shown(traces)
    kinds = {trace.kind for trace in shown}
    stalled = [trace.stalled_share for trace in shown if trace.stalled_share]
    words = ""
    if shown and (cuts := _cuts(shown, axis, (unit := _unit(shown, axis))[0])):
        words = f" Level changes at {', '.join(digits(cut) for cut in cuts)} {unit[1]}; shaded in turn."
    elif kinds == {"flat"} and not stalled:
        words = " No change of level inside the runs."
    elif kinds == {"drift"}:
        words = " The rate drifts without a change of level."
    if stalled:
        low, high = (f"{100 * share:.2g}" for share in (min(stalled), max(stalled)))
        share = low if low == high else f"{low} to {high}"
        words += f" In {share} % of the time nothing was moved; the rate is drawn as zero there."
    return words


def _shown(traces: Sequence[RunTrace]) -> list[RunTrace]:
    """The runs that have a rate over time; those that only work on names move nothing."""
    return [trace for trace in traces if len(trace.rate_bytes_per_s) > 1 and any(trace.rate_bytes_per_s)]


def _unit(traces: Sequence[RunTrace], axis: Axis) -> tuple[float, str]:
    longest = max(_along(trace, axis)[-1] for trace in traces)
    units: Sequence[tuple[float, str]] = _BYTE_UNITS if axis == "bytes" else _TIME_UNITS
    return next(((per, unit) for per, unit in units if longest >= 1.5 * per), units[-1])


def _along(trace: RunTrace, axis: Axis) -> list[float]:
    return trace.moved_bytes if axis == "bytes" else trace.end_s


def _scaled(values: Sequence[float], per_unit: float) -> list[float]:
    return [value / per_unit for value in values]


def _latency_of(field: str) -> Callable[[RunTrace], list[float]]:
    """In milliseconds; an interval in which no operation ended has none."""
    return lambda trace: [value / 1e6 if value > 0 else math.nan for value in getattr(trace, field)]


def _counter_of(name: str) -> Callable[[RunTrace], list[float]]:
    return lambda trace: trace.counters.get(name, [])


def _lines(
    traces: Sequence[RunTrace], axis: Axis, per_unit: float, values: Callable[[RunTrace], list[float]]
) -> list[tuple[str, str, _Points]]:
    found = []
    for trace in traces:
        along = _along(trace, axis)
        points = [(at / per_unit, value) for at, value in zip(along, values(trace), strict=False)]
        if not all(math.isnan(value) for _, value in points):
            found.append((trace.arm, "", points))
    return found


def stair_values(line: _Points, places: Any) -> Any:
    """The values of a stair at an array of places: each is that of the interval which the place is in."""
    import numpy as np

    ends, values = np.array([x for x, _ in line]), np.array([y for _, y in line])
    return values[np.minimum(np.searchsorted(ends, places, side="left"), len(values) - 1)]


def equal_places(moved_bytes: Sequence[Sequence[float]], most: int) -> Any:
    """An array of places in bytes from 0 to where the shortest run ended, of `most` steps at most.

    Where a run stalled, a step has about four intervals in which something was moved, and so the stalls among them.
    """
    import numpy as np

    for moved in moved_bytes:
        steps = int(np.count_nonzero(np.diff(moved, prepend=0.0)))
        most = most if steps == len(moved) else max(1, min(most, steps // 4))
    return np.linspace(0.0, min(moved[-1] for moved in moved_bytes), most + 1)


def rates_between(ends_s: Sequence[float], moved_bytes: Sequence[float], places: Any) -> Any:
    """Bytes per second between neighbours of an array of places in bytes, from 0; a stall counts with its time."""
    import numpy as np

    count = min(len(ends_s), len(moved_bytes))
    times = np.interp(places, [0.0, *moved_bytes[:count]], [0.0, *ends_s[:count]])
    times[0] = 0.0
    return np.diff(places) / np.diff(times)


def _medians(
    lines: Sequence[tuple[str, str, _Points]], *, steps: bool = False
) -> list[tuple[str, str, _Points]]:
    """The median of each arm's lines at equal places, as far as the shortest goes; a single line is its own."""
    import numpy as np

    found = []
    for arm in dict.fromkeys(arm for arm, _, _ in lines):
        own = [points for name, _, points in lines if name == arm]
        if len(own) == 1:
            found.append((arm, "", own[0]))
            continue
        own = [[point for point in points if not math.isnan(point[1])] for points in own]
        start, end = max(points[0][0] for points in own), min(points[-1][0] for points in own)
        grid = np.linspace(start, max(start, end), min(_GRID, max(len(points) for points in own)))
        across = [
            stair_values(points, grid)
            if steps
            else np.interp(grid, [x for x, _ in points], [y for _, y in points])
            for points in own
        ]
        found.append((arm, "", list(zip(grid.tolist(), np.median(across, axis=0).tolist(), strict=True))))
    return found


def _several_medians(
    lines: Sequence[tuple[str, str, _Points]], *, steps: bool = False
) -> list[tuple[str, _Points]]:
    """The median of each arm that has several lines."""
    counts = Counter(arm for arm, _, _ in lines)
    several = [line for line in lines if counts[line[0]] > 1]
    return [(arm, points) for arm, _, points in _medians(several, steps=steps)]


def _rates_behind(traces: Sequence[RunTrace], axis: Axis, per_unit: float) -> list[tuple[str, _Points]]:
    """The thick line of each arm's rate, in MB/s; over bytes also of one run, if it has stalls."""
    if axis == "time":
        lines = _lines(traces, axis, per_unit, lambda trace: _scaled(trace.rate_bytes_per_s, 1e6))
        return _several_medians(lines, steps=True)
    import numpy as np

    found = []
    for arm in dict.fromkeys(trace.arm for trace in traces):
        own = [trace for trace in traces if trace.arm == arm]
        if len(own) == 1 and not own[0].stalled_share:
            continue
        places = equal_places([trace.moved_bytes for trace in own], _GRID)
        rates = np.median([rates_between(t.end_s, t.moved_bytes, places) for t in own], axis=0) / 1e6
        ends = zip(places[1:].tolist(), rates.tolist(), strict=True)
        found.append((arm, [(0.0, float(rates[0])), *((at / per_unit, rate) for at, rate in ends)]))
    return found


def _cuts(traces: Sequence[RunTrace], axis: Axis, per_unit: float) -> list[float]:
    """Positions of level changes, close ones of several runs merged; at most six."""
    longest = max(_along(trace, axis)[-1] for trace in traces) / per_unit
    places = sorted(
        _along(trace, axis)[cut - 1] / per_unit for trace in traces for cut in trace.cuts if cut > 0
    )
    groups: list[list[float]] = []
    for place in places:
        if groups and place - groups[-1][0] < _ALIKE * longest:
            groups[-1].append(place)
        else:
            groups.append([place])
    most = max((len(group) for group in groups), default=0)
    return [statistics.median(group) for group in groups if 2 * len(group) >= most][:6]


def _panel(
    row: _Row,
    arms: Sequence[str],
    end: float,
    width: int,
    cuts: tuple[Sequence[float], str],
    title: str | None,
) -> vega.Spec:
    """`cuts`: where the level changes, and the unit of these places."""
    values = [value for _, _, points in row.lines for _, value in points if not math.isnan(value)]
    positive = [value for value in values if value > 0] or [1.0]
    low = min(positive) / 1.3 if row.log else (0.0 if row.zero else min(1.0, *values))
    high = max(positive) * (1.3 if row.log else 1.08)
    low, high = (low, high) if high > low else (low, low + 1.0)
    x = vega.channel(
        "x:Q",
        scale=vega.scale(domain=[0, end], nice=False),
        axis=vega.axis(
            title=title, labels=title is not None, ticks=title is not None, tickCount=6, format=",.4~r"
        ),
    )
    y = vega.channel(
        "y:Q",
        scale=vega.scale(domain=[low, high], nice=False, zero=False, type="log" if row.log else "linear"),
        axis=vega.axis(title=row.title, tickCount=4, format=",.4~r", minExtent=44),
    )
    layers: list[vega.Marks] = _shades(*cuts, end, low, high, x, y)
    drawn = [(arm, kind, [(a, max(b, low)) for a, b in points]) for arm, kind, points in row.lines]
    colour = {arm: ARM_COLOURS[at % len(ARM_COLOURS)] for at, arm in enumerate(arms)}
    pale = {arm: PALE_COLOURS[at % len(PALE_COLOURS)] for at, arm in enumerate(arms)}
    for arm, points in row.behind:
        layers.append(_line(points, pale[arm], 5.0, steps=row.steps).encode(x=x, y=y))
    for arm, kind, points in drawn:
        start = [(0.0, points[0][1])] if row.steps else []
        thickness = 1.6 if kind else 1.0
        line = _line([*start, *points], colour[arm], thickness, _DASHES.get(kind), steps=row.steps)
        layers.append(line.encode(x=x, y=y))
    layers += _names(drawn, colour, width)
    return vega.layered(layers, width=width, height=_HEIGHT)


def _line(
    points: _Points,
    colour: str,
    thickness: float,
    dash: Sequence[float] | None = None,
    *,
    steps: bool = False,
) -> vega.Marks:
    # A line has a gap where its value is null.
    rows = [{"x": x, "y": None if math.isnan(y) else y} for x, y in points]
    style: dict[str, Any] = {"strokeDash": list(dash)} if dash and dash != [1, 0] else {}
    style |= {"interpolate": "step-before"} if steps else {}
    drawn: vega.Marks = marks(rows).mark("line", color=colour, strokeWidth=thickness, aria=False, **style)
    return drawn


def _shades(
    cuts: Sequence[float], unit: str, end: float, low: float, high: float, x: vega.Spec, y: vega.Spec
) -> list[vega.Marks]:
    """Every second regime shaded, a dashed line where one begins, and the place with its unit."""
    if not cuts:
        return []
    edges = [0.0, *cuts, end]
    bands = [{"x": a, "right": b, "y": low, "top": high} for a, b in list(itertools.pairwise(edges))[1::2]]
    rules = [{"x": cut, "y": low, "top": high, "words": f"{digits(cut)} {unit}"} for cut in cuts]
    sides: list[tuple[Literal["left", "right"], list[dict[str, Any]]]] = [
        ("left", [rule for rule, cut in zip(rules, cuts, strict=True) if cut <= _LEFT_OF * end]),
        ("right", [rule for rule, cut in zip(rules, cuts, strict=True) if cut > _LEFT_OF * end]),
    ]
    return [
        marks(bands).mark("rect", color=FAINT, aria=False).encode(x=x, x2="right:Q", y=y, y2="top:Q"),
        marks(rules).mark("rule", color=INK, strokeDash=[4, 3], aria=False).encode(x=x, y=y, y2="top:Q"),
        *(
            texts(
                placed, align=align, dx=4 if align == "left" else -4, color=INK, fontSize=SMALL_FONT_SIZE
            ).encode(x=x, y=vega.value(8), text="words:N")
            for align, placed in sides
            if placed
        ),
    ]


def _names(lines: Sequence[tuple[str, str, _Points]], colour: dict[str, str], width: int) -> list[vega.Marks]:
    """Legend above the panel: the arms in their colours, or the meaning of each dash."""
    kinds = list(dict.fromkeys(kind for _, kind, _ in lines if kind))
    if kinds:
        dashes = {"p50": "line", "p99": "dashes", "maximum": "dots"}
        words = [{"words": ", ".join(f"{dashes[kind]}: {kind}" for kind in kinds)}]
        note = texts(words, align="left", color=MUTED, fontSize=SMALL_FONT_SIZE)
        return [note.encode(x=vega.value(0), y=vega.value(-9), text="words:N")]
    return legend([Entry(*pair) for pair in colour.items()], width) if len(colour) > 1 else []
