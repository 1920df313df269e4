"""Every run in the order in which it was done, as its difference from the mean of its own cell and arm.

Scope: drift: runs of one cell and arm differ by chance alone, so that a rise or a fall over the order of the runs is a
drift of the target or of the machine, which randomised blocks spread over the arms. Refuses fewer than ten runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from mileage.report import vega
from mileage.report.chart_data import OrderedRun
from mileage.report.forest_plot import CHANGE_LABEL, change_ticks
from mileage.report.legend import Entry, legend
from mileage.report.theme import ARM_COLOURS, MUTED, marks

RUNS_MIN: Final = 10
_MOST_POINTS: Final = 600
_HEIGHT: Final = 150
_TICK_GAP: Final = 26
_LEAST_REACH: Final = 0.01
"""Difference that the axis reaches at least on both sides, so that runs that are nearly equal look so."""


def run_order_chart(runs: Sequence[OrderedRun], *, width: int) -> vega.Spec | None:
    """A dot for each run, coloured by arm; of very many runs every second, third, ... of the order."""
    if len(runs) < RUNS_MIN:
        return None
    stride = -(-len(runs) // _MOST_POINTS)
    arms = list(dict.fromkeys(run.arm for run in runs))
    x = vega.channel(
        "x:Q",
        scale=vega.scale(domain=[0, max(run.position for run in runs) + 1], nice=False),
        axis=vega.axis(title="runs in the order in which they were done", tickCount=max(2, width // 90)),
    )
    logs = [math.log(run.ratio) for run in runs if run.ratio > 0]
    low, high = min([-_LEAST_REACH, *logs]), max([_LEAST_REACH, *logs])
    pad = 0.05 * (high - low)
    ticks = change_ticks(low - pad, high + pad, _HEIGHT, _TICK_GAP)
    y = vega.channel(
        "y:Q",
        scale=vega.scale(type="log", domain=[math.exp(low - pad), math.exp(high + pad)], nice=False),
        axis=vega.axis(
            title="difference",
            values=ticks,
            labelExpr=CHANGE_LABEL.replace("no change", "mean"),
            minExtent=60,
        ),
    )
    layers = [marks([{"y": 1}]).mark("rule", color=MUTED, aria=False).encode(y=y)]
    for at, arm in enumerate(arms):
        colour = ARM_COLOURS[at % len(ARM_COLOURS)]
        points = [
            {"x": run.position, "y": run.ratio} for run in runs[::stride] if run.arm == arm and run.ratio > 0
        ]
        dots = marks(points).mark("point", size=18, color=colour, strokeWidth=1.1, opacity=0.8, aria=False)
        layers.append(dots.encode(x=x, y=y))
    layers += legend([Entry(arm, ARM_COLOURS[at % len(ARM_COLOURS)]) for at, arm in enumerate(arms)], width)
    return vega.layered(layers, width=width, height=_HEIGHT)
