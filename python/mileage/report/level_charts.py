"""All levels of a factor side by side: one panel per cell, a bar per level with every run as a dot.

Scope: drives, kernels, thread counts: whatever is compared. Each bar is the geometric mean of its runs, with how many
times that of the baseline it is; a level where a run did nothing has no bar, and says how many completed. Numbers among
the levels stand in their order. A scale starts at zero, or is logarithmic and has points in place of bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mileage.judge import summarise
from mileage.report import vega
from mileage.report.cell_estimates import completed_words
from mileage.report.chart_data import LevelRuns
from mileage.report.text_width import fitted
from mileage.report.theme import ARM_COLOURS, INK, SMALL_FONT_SIZE, marks, texts
from mileage.report.value_axis import value_scale
from mileage.report.wording import digits, scale_of, shortened_apart

_BAR_HEIGHT: Final = 24
_BAR: Final = 0.36
_STEM: Final = 0.02
_WIDTH: Final = 300
NARROW_BARS: Final = 110
_WORDS_PX: Final = 138
_GAP_PX: Final = 8
MOST_CELLS: Final = 12
_MOST_LEVELS: Final = 24
_COLUMNS: Final = 2


def levels_chart(
    levels: Sequence[LevelRuns], *, baseline: str, factor: str, width: int = _WIDTH, names_px: int = _WORDS_PX
) -> vega.Spec | None:
    """The panels of up to twelve cells, with bars and names of these widths; None where no cell has two levels."""
    shown = [found for found in levels if 1 < len(found.levels) <= _MOST_LEVELS][:MOST_CELLS]
    if not shown:
        return None
    panels = [_panel(found, baseline, factor, width, names_px) for found in shown]
    return vega.grid(
        panels,
        columns=min(_COLUMNS if width == _WIDTH else 1, len(panels)),
        spacing={"row": 26, "column": 60},
    )


def _panel(found: LevelRuns, baseline: str, factor: str, width: int, names_px: int) -> vega.Spec:
    scale = scale_of(found.metric, [value for values in found.levels.values() for value in values])
    known = {name: summarise(values) for name, values in found.levels.items() if any(values)}
    means = {name: (runs.geometric_mean or 0.0) / scale.per_unit for name, runs in known.items()}
    base = means.get(baseline)
    values = [value / scale.per_unit for own in found.levels.values() for value in own]
    x_scale, start, is_log = value_scale(values)
    half = _STEM if is_log else _BAR
    names = _names(list(means), names_px)
    rows = [
        {
            "row": at,
            "top": at - half,
            "bottom": at + half,
            "zero": start,
            "value": mean or start,
            "name": names[name],
            "colour": ARM_COLOURS[0] if name == baseline else ARM_COLOURS[1],
            "words": (size := f"{digits(mean)} {scale.unit}" if mean else completed_words(known[name]))
            + (f", {digits(mean / base)} ×" if mean and base and name != baseline else ""),
            "label": f"{name}: {size}, {len(found.levels[name])} runs",
        }
        for at, (name, mean) in enumerate(means.items())
    ]
    dots = [
        {"row": row["row"], "value": value / scale.per_unit}
        for row, name in zip(rows, means, strict=True)
        for value in found.levels[name][:60]
        if value or not is_log
    ]
    y_scale = vega.scale(domain=[len(rows) - 0.5, -0.5], nice=False, zero=False)
    y = vega.channel("row:Q", scale=y_scale, axis=None)
    x = vega.channel(
        "value:Q",
        scale=x_scale,
        axis=vega.axis(title=scale.unit, tickCount=max(2, width // 60), format=",.4~r"),
    )
    bars = (
        marks(rows)
        .mark("rect")
        .encode(
            x=vega.channel("zero:Q"),
            x2="value:Q",
            y=vega.channel("top:Q", scale=y_scale, axis=None),
            y2="bottom:Q",
            color=vega.channel("colour:N", scale=None),
            description="label:N",
        )
    )
    points = marks(dots).mark("point", size=16, color=INK, strokeWidth=0.9, opacity=0.75, aria=False)
    stems = [row for row, mean in zip(rows, means.values(), strict=True) if mean and is_log]
    ends = marks(stems).mark("point", filled=True, size=90, opacity=1, aria=False)
    left = texts(rows, align="right", color=INK, fontSize=SMALL_FONT_SIZE)
    right = texts(rows, align="left", color=INK, fontSize=SMALL_FONT_SIZE)
    heading = f"{found.cell}, by {factor}"
    return vega.layered(
        [
            bars.encode(x=vega.channel("zero:Q", scale=x_scale)),
            ends.encode(x=x, y=y, color=vega.channel("colour:N", scale=None)),
            points.encode(x=x, y=y),
            left.encode(x=vega.value(-_GAP_PX), y=y, text="name:N"),
            right.encode(x=vega.value(width + _GAP_PX), y=y, text="words:N"),
        ],
        width=width,
        height=_BAR_HEIGHT * len(rows),
        title=vega.titled(fitted(heading, SMALL_FONT_SIZE, width + names_px + _WORDS_PX, bold=True)),
    )


def _names(levels: Sequence[str], room_px: int) -> dict[str, str]:
    """The levels as short as fits at the side of the bars, and distinct."""
    longest = max(len(fitted(level, SMALL_FONT_SIZE, room_px)) for level in levels)
    return shortened_apart(levels, longest)
