"""Is storage fit for a purpose: the figure of its runs with an interval, next to a limit.

Scope: one figure of one test, a value for each run. The interval is Student's, of the geometric mean on the log scale,
as everywhere, wider where neighbouring runs are alike; it comes from runs and never from the operations within one.
Fit: the whole interval keeps the limit; not
fit: the whole interval breaks it; otherwise nothing can be said, with what would decide it. At 95 % one of 40 verdicts
on storage that is exactly at its limit is a wrong "fit", and one of 40 a wrong "not fit".
Something else that had a part of the runs can only have slowed them, so that "fit" stands, and "not fit" stands where
the bound of `disturbance_bound` does not reach the limit.
Nothing is said below RUNS_MIN runs, or with a caveat against any conclusion.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from mileage._core import t_quantile
from mileage.judge.repetitions import dependence, widened_interval
from mileage.judge.summary import summarise
from mileage.model.caveat import Caveat, veto
from mileage.model.caveat import limit as limit_caveat
from mileage.model.histogram import SUB_BITS
from mileage.model.metrics import Metric, MetricWord

Outcome = Literal["fit", "not fit", "cannot say", "no limit"]

RUNS_MIN: Final = 5
"""Runs of which an interval is made."""
RESOLUTION: Final = 0.5 ** (SUB_BITS + 1)
"""How far a quantile may be from that of its histogram, as a natural logarithm. A limit nearer than that is not
judged, of rates neither: runs of a simulation may have no spread at all."""
SLOWING: Final = frozenset({"group-limit"})
"""Codes of caveats by which storage may be any amount faster than it was."""
RUNS_MAX: Final = 1000
"""Runs that are advised at most: where more are needed, no number of them is realistic."""


class Fitness(msgspec.Struct, frozen=True, kw_only=True):
    """Facts on whether storage is fit for a purpose. Values have the unit of `figure`."""

    outcome: Outcome
    metric: MetricWord
    figure: str
    """"sync_p99_ns"."""
    values: tuple[float, ...]
    """The value of each run, in order."""
    value: float | None
    """Their geometric mean; None where there is none."""
    ci95: tuple[float, float] | None
    limit: float | None
    higher_is_better: bool
    runs_needed: int | None = None
    """Runs after which an interval with the measured spread would not hold the limit; None where that is not what is
    missing, or more than RUNS_MAX."""
    caveats: tuple[Caveat, ...] = ()
    """What forbids a verdict, limits it, or is to be known."""

    @property
    def reasons(self) -> tuple[Caveat, ...]:
        """Why nothing can be said, beyond an interval that holds the limit."""
        return tuple(caveat for caveat in self.caveats if caveat.is_veto)


def fitness(
    values: Sequence[float],
    metric: Metric,
    limit: float | None,
    *,
    caveats: Sequence[Caveat] = (),
    failed: int = 0,
    slowed: float = 0.0,
) -> Fitness:
    """Judge the values of some runs by a limit, None for none.

    `failed`: runs without a value. `slowed`: how much faster the storage may be than it was in these runs, as a natural
    logarithm. Caveats of SLOWING forbid "not fit", whatever the bound.
    """
    found = summarise(values, failed=failed)
    reasons = list(caveats)
    if found.n < RUNS_MIN and not any(caveat.is_veto for caveat in reasons):
        reasons.append(veto("few-runs", runs=found.n, needed=RUNS_MIN))
    value, ends = found.geometric_mean, found.mean_ci95
    logs, worth = [math.log(one) for one in values] if ends is not None else [], 1.0
    if alike := dependence(logs, ()):
        worth = alike.effective_baseline / len(logs)
        low, high = widened_interval(logs, alike)
        ends = math.exp(low), math.exp(high)
        reasons.append(
            limit_caveat(
                "dependent-runs",
                phi=alike.phi,
                runs_baseline=len(logs),
                effective_baseline=alike.effective_baseline,
            )
        )
    needed = None
    if value is None or ends is None:
        outcome: Outcome = "cannot say"
    elif limit is None:
        outcome = "no limit" if found.n >= RUNS_MIN else "cannot say"
    elif any(caveat.is_veto for caveat in reasons):
        outcome = "cannot say"
    else:
        # From here on larger is worse, and the limit is at 0.
        sign = -1 if metric.higher_is_better else 1
        low, high = sorted(sign * math.log(end / limit) for end in ends)
        outcome = "fit" if high + RESOLUTION < 0 else "not fit" if low - RESOLUTION > 0 else "cannot say"
        if outcome == "not fit" and (against := _against_not_fit(reasons, low - RESOLUTION, slowed)):
            outcome, reasons = "cannot say", against
        elif outcome == "cannot say" and (high < 0 or low > 0 or high - low < 2 * RESOLUTION):
            reasons.append(veto("within-resolution", resolution_share=math.expm1(RESOLUTION)))
        elif outcome == "cannot say":
            needed = _runs_needed(values, abs(math.log(value / limit)) - RESOLUTION, worth)
    return Fitness(
        outcome=outcome,
        metric=metric.word,
        figure=metric.figure,
        values=tuple(values),
        value=value,
        ci95=ends,
        limit=limit,
        higher_is_better=metric.higher_is_better,
        runs_needed=needed,
        caveats=tuple(reasons),
    )


def _against_not_fit(caveats: Sequence[Caveat], beyond: float, slowed: float) -> list[Caveat]:
    """The caveats, as they forbid to call storage unfit that is `beyond` its limit; empty where they do not."""
    held = [caveat.code in SLOWING for caveat in caveats]
    if not any(held) and beyond > slowed:
        return []
    found = [
        msgspec.structs.replace(caveat, severity="vetoes") if is_held else caveat
        for caveat, is_held in zip(caveats, held, strict=True)
    ]
    return found if any(held) else [*found, veto("disturbed", disturbed_share=-math.expm1(-slowed))]


def _runs_needed(values: Sequence[float], distance: float, worth: float) -> int | None:
    """The fewest runs whose half interval is below a distance on the log scale, at the spread of these.

    `worth`: independent runs in each, 0..1: less than 1 where neighbouring runs are alike.
    """
    if distance <= 0:
        return None
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    sd = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1))
    wanted = (sd / distance) ** 2 / worth
    # The half interval falls with every run, so that the first number of runs that is enough can be searched by halves.
    enough = bisect_left(
        range(RUNS_MAX + 1),
        True,
        lo=len(logs) + 1,
        key=lambda runs: t_quantile(runs - 1, 0.975) ** 2 * wanted < runs,
    )
    return enough if enough <= RUNS_MAX else None
