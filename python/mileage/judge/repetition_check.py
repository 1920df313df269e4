"""Look at the repetitions behind the evidence of each test, and put what they show into it.

Scope: copies take the estimate away, dependence widens it, two regimes and an outlier are named. Each side is looked at
in the order in which it was measured; sessions one by one, and their means together. Units that are themselves ratios
(blocks, cycles) are left as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from msgspec.structs import replace

from mileage.judge.evidence import Evidence, Unit
from mileage.judge.ratio import exp, unpaired
from mileage.judge.repetitions import (
    are_copies,
    are_scaled_copies,
    dependence,
    holds_scaled_copies,
    outlier,
    two_regimes,
    widened,
)
from mileage.judge.sessions import between_sessions
from mileage.model.caveat import BOTH, Caveat, limit, note

_NEAR: Final = 0.01
"""Logarithm of the ratio up to which copies of the other side are taken for the same measurement."""

Values = Sequence[float]
Sessions = Sequence[Values]

FINDINGS = ("copied-runs", "dependent-runs", "two-regimes", "one-outlier")
"""Codes of what repetitions say of themselves, the heaviest first."""


def examined(found: Evidence, unit: Unit) -> Evidence:
    """The evidence with what its repetitions say of themselves."""
    if found.estimate is None or unit not in ("run", "session") or found.log_sham is not None:
        return found
    sides = _sides(found)
    if not all(runs for side in sides for runs in side):
        return found
    copied = [name for name, sessions in zip(BOTH, sides, strict=True) if _copied(sessions)]
    if not copied and _are_one(sides):
        copied = [*BOTH]
    if copied:
        return _with(replace(found, estimate=None, exact=None), [limit("copied-runs").of(*copied)])
    caveats: list[Caveat] = []
    if unit == "run":
        low, high = ([math.log(value) for value in side[0]] for side in sides)
        if dependent := dependence(low, high):
            found = replace(found, estimate=widened(low, high, dependent), exact=None)
            caveats.append(
                limit(
                    "dependent-runs",
                    phi=dependent.phi,
                    runs_baseline=len(low),
                    runs_candidate=len(high),
                    effective_baseline=dependent.effective_baseline,
                    effective_candidate=dependent.effective_candidate,
                )
            )
    for name, at in zip(BOTH, (0, 1), strict=True):
        caveats += [caveat.of(name) for caveat in _regimes(sides[at], found.sample.metric)]
        caveats += [caveat.of(name) for caveat in _outliers(sides, at, unit)]
    return _with(found, caveats)


def of_whole(evidence: Sequence[Evidence]) -> list[Caveat]:
    """What the repetitions of any test say of themselves, one caveat for each finding, with the tests that have it."""
    gathered = []
    for code in FINDINGS:
        own = [(found.sample.cell, c) for found in evidence for c in found.caveats if c.code == code]
        if own:
            tests = tuple(dict.fromkeys(cell for cell, _ in own))
            sides = [side for side in BOTH if any(side in caveat.sides for _, caveat in own)]
            gathered.append(replace(own[0][1], tests=tests).of(*sides))
    return gathered


def _sides(found: Evidence) -> tuple[Sessions, Sessions]:
    """The values of each session of each side."""
    if found.sessions_baseline:
        return found.sessions_baseline, found.sessions_candidate
    return (found.values_baseline,), (found.values_candidate,)


def _copied(sessions: Sessions) -> bool:
    means = [math.exp(math.fsum(map(math.log, runs)) / len(runs)) for runs in sessions]
    return any(are_copies(runs) for runs in sessions) or are_copies(means) or holds_scaled_copies(sessions)


def _are_one(sides: tuple[Sessions, Sessions]) -> bool:
    """Whether a session of the candidate is one of the baseline, as such or changed a little."""
    return any(
        abs(math.log(fmean(other) / fmean(one))) < _NEAR and are_scaled_copies(one, other)
        for one in sides[0]
        for other in sides[1]
    )


def _regimes(sessions: Sessions, metric: str) -> list[Caveat]:
    """Two levels among the runs of a session, the first session that has them."""
    for runs in sessions:
        if two := two_regimes(runs):
            counts = (two.low_runs, two.high_runs)
            levels = limit("two-regimes", low=two.low, high=two.high, metric=metric)
            return [
                replace(levels, figures={**levels.figures, "low_runs": counts[0], "high_runs": counts[1]})
            ]
    return []


def _outliers(sides: tuple[Sessions, Sessions], at: int, unit: Unit) -> list[Caveat]:
    """One value unlike all others of its session, with the ratio that there is without it."""
    for place, runs in enumerate(sides[at]):
        odd = outlier(runs)
        if odd is None:
            continue
        kept = [*sides[at]]
        kept[place] = [value for index, value in enumerate(runs) if index != odd]
        both = (kept, sides[1]) if at == 0 else (sides[0], kept)
        found = note("one-outlier", run=odd + 1, runs=len(runs), value=runs[odd])
        return [replace(found, figures={**found.figures, **_without(both, unit)})]
    return []


def _without(sides: tuple[Sessions, Sessions], unit: Unit) -> dict[str, float | int | str]:
    """The ratio of what is left with its interval; empty where too little is left."""
    low, high = ([[math.log(value) for value in runs] for runs in side] for side in sides)
    if unit == "run":
        estimate = unpaired(low[0], high[0]) if min(len(low[0]), len(high[0])) > 1 else None
    else:
        judged = between_sessions(low, high)
        estimate = None if judged is None else judged[0]
    if estimate is None:
        return {}
    ends = estimate.interval(0.95)
    ratios = {"ratio_without": estimate.log_ratio, "low_without": ends[0], "high_without": ends[1]}
    return {name: exp(log) for name, log in ratios.items()}


def _with(found: Evidence, caveats: Sequence[Caveat]) -> Evidence:
    return replace(found, caveats=(*found.caveats, *caveats))
