"""How far disturbances could have moved a ratio, and what that means for a verdict: one rule for every door.

Scope: the share of each run that something else could have had: other programs, other virtual machines, waits for
memory, bytes of others on the device. Had the run kept that share d, it would have been faster by up to 1 / (1 - d).
The bound of a side is the mean over its runs of -ln(1 - d); the candidate's true rate may be higher by its own
bound, and the baseline's by its own. A share counts when it is above the limit of its kind; what was not counted
bounds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from mileage.judge.audit import FOREIGN_MAX, RunFacts, foreign_share
from mileage.judge.comparison import CellVerdict, Interval
from mileage.judge.disturbance import LIMITS, Watch, share_of
from mileage.model.caveat import Severity

DisturbanceKind = Literal["steal", "other-load", "memory-pressure", "foreign-bytes"]
KIND_LIMITS: Final[dict[DisturbanceKind, float]] = {
    "steal": LIMITS["steal"],
    "other-load": LIMITS["other-load"],
    "memory-pressure": LIMITS["memory-pressure"],
    "foreign-bytes": FOREIGN_MAX,
}
"""The share of each kind above which a run was disturbed."""
_SHARE_MAX: Final = 0.999
"""More than this of a run is counted as this, so that a bound is finite."""


class DisturbedRun(msgspec.Struct, frozen=True):
    """What disturbed one run: changes of the kernel's counters, and the sums of the run where it has any."""

    watch: Watch
    facts: RunFacts | None = None


def shares(run: DisturbedRun) -> dict[DisturbanceKind, float]:
    """The share of the run that each disturbance could have had; a kind that was not counted is missing."""
    found: dict[DisturbanceKind, float] = {}
    for kind in LIMITS:
        if (share := share_of(run.watch, kind)) is not None:
            found[kind] = share
    # Buffered work leaves its own bytes for later, which then look like those of others.
    if run.facts is not None and run.facts.bypasses and (foreign := foreign_share(run.facts)) is not None:
        found["foreign-bytes"] = foreign / (1 + foreign)
    return found


def disturbance_bound(runs: Sequence[DisturbedRun]) -> float:
    """How much higher the true rate of a side may be, as a natural logarithm; 0 where nothing disturbed it."""
    bounds = [-math.log1p(-_disturbed_share(run)) for run in runs]
    return math.fsum(bounds) / len(bounds) if bounds else 0.0


def _disturbed_share(run: DisturbedRun) -> float:
    above = (share for kind, share in shares(run).items() if share > KIND_LIMITS[kind])
    return min(math.fsum(above), _SHARE_MAX)


def disturbed_verdict(cell: CellVerdict, bound_baseline: float, bound_candidate: float) -> Severity:
    """What disturbances with these bounds do to a verdict.

    It is vetoed where the interval lies on one side of no change, or of a margin, and with the bounds does not.
    Otherwise bounds above the margin limit it, and smaller ones are worth knowing.
    """
    if cell.ci95 is not None and cell.ci90 is not None:
        margin = math.log1p(cell.relevance)
        places = [(cell.ci95, 0.0), (cell.ci90, margin), (cell.ci90, -margin)]
        below, above = bound_baseline, bound_candidate
        if not cell.higher_is_better:
            below, above = above, below
        if any(_can_cross(interval, place, below, above) for interval, place in places):
            return "vetoes"
    return "limits" if bound_baseline + bound_candidate > math.log1p(cell.relevance) else "informs"


def _can_cross(interval: Interval, place: float, below: float, above: float) -> bool:
    """Whether an interval that lies on one side of a place contains it once it is wider by these bounds."""
    low, high = (math.log(end) for end in interval)
    return (low > place >= low - below) or (high < place <= high + above)
