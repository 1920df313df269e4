"""The torture trace: how fast the target took the writes, over the bytes written so far.

Scope: two stacked panels on one axis of bytes (and drive writes where the capacity is known): the rate above,
write amplification below. A value holds for its whole interval, so that a line is a stair. Each cycle is thin, their
median thick. Refuses two scales in one panel, which
would invite crossings that mean nothing.
"""

from collections.abc import Sequence
from typing import Any, Final

from mileage.report import vega
from mileage.report.theme import INK, MEDIAN, PAGE_WIDTH, marks
from mileage.report.timeline import stair_values
from mileage.report.view import TortureTrace

_WIDTH: Final = PAGE_WIDTH - 76
_HEIGHT: Final = 140
_X_TICKS: Final = 10
_TICK_PX: Final = 60
_BYTES: Final = ",.4~r"
_MOST_POINTS: Final = 300
_GIB: Final = 2**30
_MB: Final = 10**6

_Line = list[tuple[float, float]]


def torture_chart(
    traces: Sequence[TortureTrace], *, capacity_bytes: int | None, width: int = _WIDTH
) -> vega.Spec | None:
    """Rate and, where counted, write amplification; None where no trace has a point."""
    rates = [line for t in traces if (line := _thinned(t.bytes_written, t.rate_bytes_per_s, _MB))]
    amplifications = [
        line
        for t in traces
        if t.write_amplification and (line := _thinned(t.bytes_written, t.write_amplification, 1))
    ]
    if not rates:
        return None
    end = max(line[-1][0] for line in [*rates, *amplifications]) or 1.0
    below = bool(amplifications)
    panels = [
        _panel(rates, "rate, MB/s", end, None if below else capacity_bytes, width, axis=not below, zero=True)
    ]
    if below:
        panels.append(
            _panel(amplifications, "write amplification", end, capacity_bytes, width, axis=True, zero=False)
        )
    return vega.stacked(panels, spacing=10)


def _panel(
    lines: list[_Line],
    title: str,
    end: float,
    capacity_bytes: int | None,
    width: int,
    *,
    axis: bool,
    zero: bool,
) -> vega.Spec:
    values = [v for line in lines for _, v in line]
    top = 1.05 * max(values) or 1.0
    bottom = 0.0 if zero else min(1.0, *values)
    x = vega.channel(
        "gib:Q",
        scale=vega.scale(domain=[0, end], nice=False),
        axis=_bytes_axis(capacity_bytes, width)
        if axis
        else vega.axis(labels=False, title=None, ticks=False, tickCount=_ticks(width)),
    )
    y = vega.channel(
        "value:Q",
        scale=vega.scale(domain=[bottom, max(top, bottom + 0.1)], nice=False, zero=zero),
        axis=vega.axis(title=title, tickCount=5, minExtent=44),
    )
    several = len(lines) > 1
    median = marks(_points(_median(lines))).mark(
        "line", color=MEDIAN, strokeWidth=6, strokeCap="round", interpolate="step-before", aria=False
    )
    cycles = [
        marks(_points(line)).mark(
            "line", color=INK, strokeWidth=0.8 if several else 1.8, interpolate="step-before", aria=False
        )
        for line in lines
    ]
    drawn = [line.encode(x=x, y=y) for line in ([median, *cycles] if several else cycles)]
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


def _thinned(bytes_written: Sequence[float], values: Sequence[float], per_unit: float) -> _Line:
    """At most 300 points: means of equally many consecutive intervals, at the bytes where the last one ends.

    The first mean stands at the beginning, too. The intervals last equally long, so the mean of their rates is the
    rate over all of them.
    """
    count = min(len(bytes_written), len(values))
    group = max(1, -(-count // _MOST_POINTS))
    line: _Line = []
    for start in range(0, count, group):
        end = min(start + group, count)
        mean = sum(values[start:end]) / (end - start)
        line.append((bytes_written[end - 1] / _GIB, mean / per_unit))
    return [(0.0, line[0][1]), *line] if line else []


def _median(lines: list[_Line]) -> _Line:
    """The median of the cycles at equal bytes written, as far as the shortest cycle went."""
    if len(lines) == 1:
        return lines[0]
    import numpy as np

    start, end = max(line[0][0] for line in lines), min(line[-1][0] for line in lines)
    grid = np.linspace(start, max(start, end), _MOST_POINTS // 2)
    across = [stair_values(line, grid) for line in lines]
    return list(zip(grid.tolist(), np.median(across, axis=0).tolist(), strict=True))
