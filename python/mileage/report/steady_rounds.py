"""The steady-state figure of SNIA's Performance Test Specification: rounds, window, mean, limits and slope.

Scope: one panel for each table and cycle: the rate of every round, the window of the last five shaded, its mean with
the limits of its range (10 % to either side), and the straight line through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mileage.report import vega
from mileage.report.chart_data import SteadyRounds
from mileage.report.theme import CANDIDATE, FAINT, INK, MUTED, marks
from mileage.report.wording import plain, quantity, shortened

STEADY_CAPTION: Final = (
    "Rate of each round of writing. Shaded: the window of SNIA's rule (PTS 2.0.2); line and dots in it: its mean, "
    "and 10 % to either side; dashes: the straight line through it."
)
MOST_PANELS: Final = 6
_COLUMNS: Final = 2
_WIDTH: Final = 420
_HEIGHT: Final = 150
_LIMIT: Final = 0.1
_METRIC: Final = "rate_bytes_per_s"
_MB: Final = 1e6


def steady_chart(
    found: Sequence[SteadyRounds], *, columns: int = _COLUMNS, width: int = _WIDTH
) -> vega.Spec | None:
    """The panels of the first tables, `width` pixels each; None where the rule was not applied."""
    if not found:
        return None
    panels = [_panel(rounds, width) for rounds in found[:MOST_PANELS]]
    return vega.grid(panels, columns=min(columns, len(panels)), own_scales=True)


def steady_words(found: Sequence[SteadyRounds]) -> str:
    """Describe the windows in words: the mean, the range and the slope of each against their limits."""
    lines = []
    for rounds in found[:MOST_PANELS]:
        mean, count = rounds.mean or 1.0, len(rounds.rates_bytes_per_s)
        slope = abs(rounds.line[1] - rounds.line[0]) / mean
        state = "steady" if rounds.steady else "not steady"
        lines.append(
            f"{rounds.name}: {state} in rounds {rounds.first + 1} to {count}, mean {plain(quantity(_METRIC, mean))}, "
            f"range {100 * rounds.range / mean:.1f} % (limit 20 %), slope {100 * slope:.1f} % (limit 10 %)"
        )
    return "; ".join(lines)


def _panel(rounds: SteadyRounds, width: int) -> vega.Spec:
    rates = [rate / _MB for rate in rounds.rates_bytes_per_s]
    mean, last = rounds.mean / _MB, len(rates)
    low, high = (1 - _LIMIT) * mean, (1 + _LIMIT) * mean
    top = 1.08 * max(*rates, high)
    x = vega.channel(
        "x:Q",
        scale=vega.scale(domain=[0.5, last + 0.5], nice=False, zero=False),
        axis=vega.axis(title="round", tickMinStep=1, grid=False),
    )
    y = vega.channel(
        "y:Q",
        scale=vega.scale(domain=[0, top or 1.0], nice=False),
        axis=vega.axis(title="rate, MB/s", tickCount=4, format=",.4~r", minExtent=44),
    )
    start = rounds.first + 1
    window: list[dict[str, Any]] = [{"x": start - 0.4, "right": last + 0.4, "y": 0, "top": top}]
    levels = [{"x": start - 0.4, "right": last + 0.4, "y": level} for level in (low, high)]
    middle = [{"x": start - 0.4, "right": last + 0.4, "y": mean}]
    fitted = [{"x": start, "y": rounds.line[0] / _MB}, {"x": last, "y": rounds.line[1] / _MB}]
    points: list[dict[str, Any]] = [{"x": at, "y": rate} for at, rate in enumerate(rates, 1)]
    return vega.layered(
        [
            marks(window).mark("rect", color=FAINT, aria=False).encode(x=x, x2="right:Q", y=y, y2="top:Q"),
            marks(levels)
            .mark("rule", color=MUTED, strokeDash=[2, 3], aria=False)
            .encode(x=x, x2="right:Q", y=y),
            marks(middle).mark("rule", color=MUTED, aria=False).encode(x=x, x2="right:Q", y=y),
            marks(fitted)
            .mark("line", color=CANDIDATE, strokeWidth=2, strokeDash=[6, 3], aria=False)
            .encode(x=x, y=y),
            marks(points)
            .mark("line", color=INK, strokeWidth=1.2, point={"color": INK}, aria=False)
            .encode(x=x, y=y),
        ],
        width=width,
        height=_HEIGHT,
        title=vega.titled(shortened(rounds.name, 50 if width == _WIDTH else 34)),
    )
