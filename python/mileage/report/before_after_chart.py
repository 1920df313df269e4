"""Before and after: for each cell two bars in its own unit, with the runs they are made of.

Scope: the raw measurement next to the judged ratio: a bar is the geometric mean of the runs, its whisker one
standard deviation of their logarithms (n - 1), each dot one run. Every panel starts at zero. Refuses to draw
a whisker for fewer than two runs; the whisker shows spread and decides nothing.
"""

from collections.abc import Sequence
from typing import Any, Final

from mileage.judge import CellVerdict, summarise
from mileage.report import vega
from mileage.report.cell_estimates import completed_words, error_bar
from mileage.report.legend import Entry, legend, legend_height
from mileage.report.text_width import fitted, room_px
from mileage.report.theme import BASELINE, CANDIDATE, INK, MUTED, PAGE_WIDTH, SMALL_FONT_SIZE, marks, texts
from mileage.report.wording import Scale, digits, quantity, row_name, scale_of

_MOST_COLUMNS: Final = 6
_AXIS_WIDTH: Final = 62
_COLUMN_GAP: Final = 6
_COLUMN_PX: Final = 160
_WIDEST_PX: Final = 350
_ROW_GAP: Final = 84
_TITLE_PX: Final = -15
_LEGEND_PX: Final = -17
_HEIGHT: Final = 140
_BAR: Final = 0.36
_JITTER: Final = 0.22
_MOST_DOTS: Final = 60


def before_after_chart(
    cells: Sequence[CellVerdict], *, baseline: str, candidate: str, page_width: int = PAGE_WIDTH
) -> vega.Spec | None:
    """One small panel per cell, in the order given; None where no cell has a run."""
    shown = [c for c in cells if c.values_baseline or c.values_candidate]
    if not shown:
        return None
    # As many columns as leave each title its line, and the last row as full as the others.
    widest = max(room_px(row_name(cell), SMALL_FONT_SIZE, bold=True) for cell in shown)
    columns = min(_MOST_COLUMNS, max(1, int(page_width // (max(widest, _COLUMN_PX) + _COLUMN_GAP))))
    columns = -(-len(shown) // -(-len(shown) // columns))
    width = min(page_width // columns, _WIDEST_PX) - _AXIS_WIDTH - _COLUMN_GAP
    panels = [_drawn(cell, (baseline, candidate), width) for cell in shown]
    spacing = {"row": _ROW_GAP, "column": _AXIS_WIDTH + _COLUMN_GAP}
    return vega.grid(panels, columns=columns, spacing=spacing, bounds="flush")


def _drawn(cell: CellVerdict, stages: tuple[str, str], width: int) -> vega.Spec:
    scale = scale_of(cell.metric, [*cell.values_baseline, *cell.values_candidate])
    sides = (cell.values_baseline, cell.values_candidate)
    bars = [
        _bar(position, stage, cell.metric, values, mean, scale)
        for position, (stage, values, mean) in enumerate(
            zip(stages, sides, (cell.mean_baseline, cell.mean_candidate), strict=True)
        )
        if values
    ]
    dots = [dot for position, values in enumerate(sides) for dot in _dots(position, values, scale)]
    highest = max([*(b["top"] for b in bars), *(d["value"] for d in dots)])
    x = vega.channel("x:Q", scale=vega.scale(domain=[-0.55, 1.55], nice=False, zero=False), axis=None)
    y = vega.channel(
        "value:Q",
        scale=vega.scale(domain=[0, 1.06 * highest or 1.0], nice=False),
        axis=vega.axis(title=scale.unit, tickCount=4, format=",.4~r", minExtent=40),
    )
    bar = (
        marks(bars)
        .mark("rect")
        .encode(
            x=vega.channel(
                "left:Q", scale=vega.scale(domain=[-0.55, 1.55], nice=False, zero=False), axis=None
            ),
            x2="right:Q",
            y=y,
            y2="zero:Q",
            color=vega.channel("colour:N", scale=None),
            description="label:N",
        )
    )
    runs = marks(dots).mark("point", size=16, color=INK, strokeWidth=0.9, opacity=0.75, aria=False)
    names = texts(bars, color=INK, fontSize=SMALL_FONT_SIZE)
    entries = [Entry(*pair) for pair in zip(stages, (BASELINE, CANDIDATE), strict=True)]
    # Names that are wider than their bars stand in a legend.
    named = max(room_px(stage, SMALL_FONT_SIZE) for stage in stages) < width / 2 - 4
    means = texts(bars, color=MUTED, fontSize=SMALL_FONT_SIZE)
    layers = [
        bar,
        runs.encode(x=x, y=y),
        *_whiskers([b for b in bars if b["spread"]], x, y),
        *(
            [names.encode(x=x, y=vega.value(_HEIGHT + 11), text="stage:N")]
            if named
            else legend(entries, width + _AXIS_WIDTH, left=-_AXIS_WIDTH + 4, bottom=_LEGEND_PX)
        ),
        means.encode(x=x, y=vega.value(_HEIGHT + (27 if named else 11)), text="mean:N"),
    ]
    name = fitted(row_name(cell), SMALL_FONT_SIZE, width + _AXIS_WIDTH, bold=True)
    title = texts([{"words": name}], align="left", fontWeight="bold", color=INK, fontSize=SMALL_FONT_SIZE)
    above = _TITLE_PX if named else _TITLE_PX - legend_height(entries, width + _AXIS_WIDTH)
    layers.append(title.encode(x=vega.value(-_AXIS_WIDTH + 4), y=vega.value(above), text="words:N"))
    return vega.layered(layers, width=width, height=_HEIGHT)


def _whiskers(bars: list[dict[str, Any]], x: vega.Spec, y: vega.Spec) -> list[vega.Marks]:
    caps = [{"x": b["x"], "value": b[end]} for b in bars for end in ("bottom", "top")]
    stems = [{"x": b["x"], "value": b["bottom"], "top": b["top"]} for b in bars]
    return [
        marks(stems).mark("rule", color=INK, strokeWidth=2, aria=False).encode(x=x, y=y, y2="top:Q"),
        marks(caps)
        .mark("tick", color=INK, thickness=2, size=14, orient="horizontal", aria=False)
        .encode(x=x, y=y),
    ]


def _bar(
    position: int, stage: str, metric: str, values: Sequence[float], judged: float | None, scale: Scale
) -> dict[str, Any]:
    """One bar as high as the mean; where a run did nothing there is none, and the label says how many completed."""
    mean, bottom, top = error_bar(values, judged)
    return {
        "x": position,
        "left": position - _BAR,
        "right": position + _BAR,
        "zero": 0,
        "value": mean / scale.per_unit,
        "bottom": bottom / scale.per_unit,
        "top": top / scale.per_unit,
        "spread": top > bottom,
        "colour": (BASELINE, CANDIDATE)[position],
        "stage": stage,
        "mean": digits(mean / scale.per_unit) if mean else completed_words(summarise(values)),
        "label": f"{stage}: {quantity(metric, mean)}, {len(values)} runs",
    }


def _dots(position: int, values: Sequence[float], scale: Scale) -> list[dict[str, float]]:
    """The runs in their order from left to right across the bar, thinned evenly when there are too many."""
    stride = -(-len(values) // _MOST_DOTS)
    shown = list(values[:: stride or 1])
    step = 2 * _JITTER / max(len(shown) - 1, 1)
    start = position - (_JITTER if len(shown) > 1 else 0)
    return [{"x": start + i * step, "value": v / scale.per_unit} for i, v in enumerate(shown)]
