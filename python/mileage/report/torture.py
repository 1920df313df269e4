"""The torture trace: how fast the target took the writes, over the bytes written so far.

Scope: two stacked panels on one axis of bytes (and drive writes where the capacity is known): the rate above,
write amplification below. A value holds for its whole interval, so that a line is a stair. Each cycle is thin, their
median thick. A stall, in which nothing is written, has no width on this axis: the thin line falls to zero there, and
the thick one counts its time. Refuses two scales in one panel, which would invite crossings that mean nothing.
"""

from collections.abc import Sequence
from typing import Any, Final

from mileage.report import vega
from mileage.report.chart_data import AMPLIFICATION, RunTrace
from mileage.report.theme import INK, MEDIAN, PAGE_WIDTH, marks
from mileage.report.timeline import equal_places, rates_between, stair_values

_WIDTH: Final = PAGE_WIDTH - 76
_HEIGHT: Final = 140
_X_TICKS: Final = 10
_TICK_PX: Final = 60
_BYTES: Final = ",.4~r"
_STEPS: Final = 150
_GIB: Final = 2**30
_MB: Final = 10**6

_Line = list[tuple[float, float]]


def torture_chart(
    traces: Sequence[RunTrace], *, capacity_bytes: int | None, width: int = _WIDTH
) -> vega.Spec | None:
    """Rate and, where counted, write amplification; None where no trace has a point."""
    rates = [_stair(trace, trace.rate_bytes_per_s, _MB) for trace in traces]
    amplifications = [_stair(t, own, 1) for t in traces if (own := t.counters.get(AMPLIFICATION))]
    if not rates:
        return None
    end = max(line[-1][0] for line in [*rates, *amplifications]) or 1.0
    bare = vega.axis(labels=False, title=None, ticks=False, tickCount=_ticks(width))
    axis = _bytes_axis(capacity_bytes, width)
    above = bare if amplifications else axis
    panels = [_panel(rates, _median_rate(traces), "rate, MB/s", (end, above), width, zero=True)]
    if amplifications:
        median = _median(amplifications)
        panels.append(_panel(amplifications, median, "write amplification", (end, axis), width, zero=False))
    return vega.stacked(panels, spacing=10)


def _panel(
    lines: list[_Line],
    behind: _Line,
    title: str,
    below: tuple[float, vega.Spec],
    width: int,
    *,
    zero: bool,
) -> vega.Spec:
    """`below`: the end of the axis of bytes in GiB, and that axis."""
    values = [v for line in lines for _, v in line]
    top = 1.05 * max(values) or 1.0
    bottom = 0.0 if zero else min(1.0, *values)
    end, axis = below
    x = vega.channel("gib:Q", scale=vega.scale(domain=[0, end], nice=False), axis=axis)
    y = vega.channel(
        "value:Q",
        scale=vega.scale(domain=[bottom, max(top, bottom + 0.1)], nice=False, zero=zero),
        axis=vega.axis(title=title, tickCount=5, minExtent=44),
    )
    median = marks(_points(behind)).mark(
        "line", color=MEDIAN, strokeWidth=6, strokeCap="round", interpolate="step-before", aria=False
    )
    cycles = [
        marks(_points(line)).mark(
            "line", color=INK, strokeWidth=0.8 if behind else 1.8, interpolate="step-before", aria=False
        )
        for line in lines
    ]
    drawn = [line.encode(x=x, y=y) for line in ([median, *cycles] if behind else cycles)]
    return vega.layered(drawn, width=width, height=_HEIGHT)


def _ticks(width: int) -> int:
    return min(_X_TICKS, width // _TICK_PX)


def _bytes_axis(capacity_bytes: int | None, width: int) -> vega.Spec:
    if not capacity_bytes or width < _WIDTH:
        return vega.axis(title="written since the torture began, GiB", format=_BYTES, tickCount=_ticks(width))
    per_gib = _GIB / capacity_bytes
    return vega.axis(
        title="written since the torture began, GiB; below: how many times the drive's capacity",
        tickCount=_ticks(width),
        labelExpr=f"[format(datum.value, '{_BYTES}') + ' GiB', "
        f"format(datum.value * {per_gib!r}, '.2~f') + ' ×']",
    )


def _points(line: _Line) -> list[dict[str, Any]]:
    return [{"gib": x, "value": y} for x, y in line]


def _stair(trace: RunTrace, values: Sequence[float], per_unit: float) -> _Line:
    """The value of each interval at the bytes where it ends; that of the first at the start, too."""
    places = [at / _GIB for at in trace.moved_bytes]
    return [(0.0, values[0] / per_unit), *zip(places, (own / per_unit for own in values), strict=True)]


def _median_rate(traces: Sequence[RunTrace]) -> _Line:
    """The median of the cycles between equal places, as far as the shortest went; empty for one without a stall."""
    if len(traces) == 1 and not traces[0].stalled_share:
        return []
    import numpy as np

    places = equal_places([trace.moved_bytes for trace in traces], _STEPS)
    across = [rates_between(trace.end_s, trace.moved_bytes, places) for trace in traces]
    rates = np.median(across, axis=0) / _MB
    return list(zip((places / _GIB).tolist(), [float(rates[0]), *rates.tolist()], strict=True))


def _median(lines: list[_Line]) -> _Line:
    """The median of the cycles at equal bytes written, as far as the shortest cycle went; empty for one cycle."""
    if len(lines) == 1:
        return []
    import numpy as np

    start, end = max(line[0][0] for line in lines), min(line[-1][0] for line in lines)
    grid = np.linspace(start, max(start, end), _STEPS)
    across = [stair_values(line, grid) for line in lines]
    return list(zip(grid.tolist(), np.median(across, axis=0).tolist(), strict=True))
