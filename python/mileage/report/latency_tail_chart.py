"""How long the slow operations took: the share of operations beyond a latency, both axes logarithmic.

Scope: what a percentile hides: the whole tail. Thick: all runs of an arm together; thin: some of them one by one, so
that the band shows how far runs differ. A study without latencies has no such picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mileage.report import vega
from mileage.report.chart_data import Tail
from mileage.report.legend import Entry, legend
from mileage.report.theme import ARM_COLOURS, PALE_COLOURS, marks

_HEIGHT: Final = 150
_SHARES: Final = (
    "datum.value >= 0.99 ? 'all' : datum.value == 0.1 ? '1 in 10' : '1 in ' + format(1 / datum.value, ',.0f')"
)


def tail_chart(tails: Sequence[Tail], *, width: int) -> vega.Spec | None:
    """The curves of all arms; None where no operation was timed. Service dashed where response is there too."""
    shown = [tail for tail in tails if tail.operations > 0]
    if not shown:
        return None
    arms = list(dict.fromkeys(tail.arm for tail in shown))
    opened = any(tail.kind == "response" for tail in shown)
    latencies = [ns / 1e6 for tail in shown for ns in tail.latency_ns if ns > 0]
    floor = min(1 / tail.operations for tail in shown)
    x = vega.channel(
        "x:Q",
        scale=vega.scale(type="log", domain=[min(latencies) / 1.2, max(latencies) * 1.2], nice=False),
        axis=vega.axis(title="latency, ms", tickCount=6, format=",.3~r"),
    )
    decades = [10.0**-at for at in range(10) if 10.0**-at >= floor]
    y = vega.channel(
        "y:Q",
        scale=vega.scale(type="log", domain=[min(floor, 0.5), 1.0], nice=False),
        axis=vega.axis(title="share above", values=decades, labelExpr=_SHARES, minExtent=60),
    )
    layers = []
    for tail in sorted(shown, key=lambda tail: tail.runs > 1):
        at = arms.index(tail.arm)
        alone = tail.runs == 1 and any(t.runs > 1 and t.arm == tail.arm for t in shown)
        colour = PALE_COLOURS[at % len(PALE_COLOURS)] if alone else ARM_COLOURS[at % len(ARM_COLOURS)]
        ends = zip(tail.latency_ns, tail.above, strict=True)
        points = [{"x": ns / 1e6, "y": share} for ns, share in ends if ns > 0]
        points.append({"x": tail.latency_ns[-1] / 1e6, "y": min(floor, 0.5)})
        style: dict[str, Any] = {"strokeDash": [5, 3]} if opened and tail.kind == "service" else {}
        line = marks(points).mark(
            "line",
            color=colour,
            strokeWidth=0.8 if alone else 2.4,
            interpolate="step-before",
            aria=False,
            **style,
        )
        layers.append(line.encode(x=x, y=y))
    layers += legend([Entry(arm, ARM_COLOURS[at % len(ARM_COLOURS)]) for at, arm in enumerate(arms)], width)
    return vega.layered(layers, width=width, height=_HEIGHT)
