"""All levels of a factor side by side: one panel per cell, a bar per level with every run as a dot.

Scope: drives, kernels, thread counts: whatever is compared. Each bar is the geometric mean of its runs, with how many
times that of the baseline it is; a level where a run did nothing has no bar, and says how many completed. Numbers among
the levels stand in their order.
Refuses a scale that does not start at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mileage.judge import summarise
from mileage.report import vega
from mileage.report.cell_estimates import completed_words
from mileage.report.evidence import LevelRuns
from mileage.report.theme import ARM_COLOURS, INK, SMALL_FONT_SIZE, marks, texts
from mileage.report.wording import digits, scale_of, shortened

_BAR_HEIGHT: Final = 24
_WIDTH: Final = 300
MOST_CELLS: Final = 12
_MOST_LEVELS: Final = 24
_COLUMNS: Final = 2


def levels_chart(
    levels: Sequence[LevelRuns], *, baseline: str, factor: str, name_length: int = 22, width: int = _WIDTH
) -> vega.Spec | None:
    """The panels of up to twelve cells; None where no cell has two levels. `name_length`: characters of a name."""
    shown = [found for found in levels if 1 < len(found.levels) <= _MOST_LEVELS][:MOST_CELLS]
    if not shown:
        return None
    panels = [_panel(found, baseline, factor, name_length, width) for found in shown]
    return vega.grid(
        panels,
        columns=min(_COLUMNS if width == _WIDTH else 1, len(panels)),
        spacing={"row": 26, "column": 170},
    )


def _panel(found: LevelRuns, baseline: str, factor: str, name_length: int, width: int) -> vega.Spec:
    scale = scale_of(found.metric, [value for values in found.levels.values() for value in values])
    known = {name: summarise(values) for name, values in found.levels.items() if any(values)}
    means = {name: (runs.geometric_mean or 0.0) / scale.per_unit for name, runs in known.items()}
    base = means.get(baseline)
    highest = max(max(values) / scale.per_unit for values in found.levels.values() if values)
    rows = [
        {
            "row": at,
            "top": at - 0.36,
            "bottom": at + 0.36,
            "zero": 0,
            "value": mean,
            "name": shortened(name, name_length),
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
    ]
    y_scale = vega.scale(domain=[len(rows) - 0.5, -0.5], nice=False, zero=False)
    y = vega.channel("row:Q", scale=y_scale, axis=None)
    x = vega.channel(
        "value:Q",
        scale=vega.scale(domain=[0, 1.04 * highest or 1.0], nice=False),
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
    names = texts(rows, align="right", color=INK, fontSize=SMALL_FONT_SIZE)
    words = texts(rows, align="left", color=INK, fontSize=SMALL_FONT_SIZE)
    return vega.layered(
        [
            bars.encode(
                x=vega.channel("zero:Q", scale=vega.scale(domain=[0, 1.04 * highest or 1.0], nice=False))
            ),
            points.encode(x=x, y=y),
            names.encode(x=vega.value(-8), y=y, text="name:N"),
            words.encode(x=vega.value(width + 8), y=y, text="words:N"),
        ],
        width=width,
        height=_BAR_HEIGHT * len(rows),
        title=vega.titled(f"{shortened(found.cell, 46)}, by {shortened(factor, 16)}"),
    )
