"""Estimate the time and the bytes written of a plan, before anything is touched.

Scope: bytes and time of each run from its stop rule and from assumed rates, which
`Estimate.assumption` states. Bytes are upper bounds, except for runs that only time ends, where they follow
from the assumed rate.
What it refuses: knowing better. The journal of a study says what it really took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from mileage.plan.factors import Setting
from mileage.plan.file_job import ASSUMED_OPS_PER_S, ASSUMED_RATE_BYTES_PER_S, SIMULATED_PAGES_PER_S
from mileage.plan.planned_runs import Plan, PlannedRun, Role

KEPT_BYTES_PER_S: Final = 100e9
"""Bytes of a simulated drive whose state is kept per second, at the end of a stage."""
CLOSING_S: Final = 0.1
"""Seconds that the end of a stage takes on a real target: its surroundings are captured once more."""
REPORT_S: Final = 4.0
"""Seconds of processor time that the report takes, with few runs."""
REPORT_RUN_S: Final = 0.0005
"""Seconds that each run adds to the report."""

StageKey = tuple[str, int, str, str]
"""Part, cycle, arm and name of a stage."""


class Estimate(msgspec.Struct, frozen=True):
    """Estimated cost of a plan."""

    cells: int
    runs: int
    runs_by_role: dict[Role, int]
    """Number of runs of each role that occurs."""
    bytes_written: int
    """Bytes that the host writes, at most."""
    bytes_read: int
    """Bytes that the host reads, at most."""
    drive_writes: float
    """Bytes written as a multiple of the target's capacity."""
    work_area_writes: float
    """Bytes written as a multiple of the work area."""
    rated_share: float | None
    """Bytes written as a share of the rated endurance, 1.0 is all of it, of the drive with the largest share; None
    when no rating is known."""
    rated_write_bytes: int | None
    """The rated endurance of that drive."""
    rated_target: str | None
    """The target that is that drive."""
    time_s: float
    """Time that the user waits, in seconds: I/O, pauses, keeping the state of drives, the report."""
    assumption: str
    """Assumption behind the estimated time."""


def estimate(plan: Plan, *, lanes: int = 1) -> Estimate:
    """The cost of a plan. `lanes`: cycles that are done at the same time."""
    facts = plan.facts
    written = bytes_written(plan.runs)
    rated = _most(plan, lambda at: plan.facts_of(at).rated_write_bytes)
    by_role: dict[Role, int] = {}
    for run in plan.runs:
        by_role[run.role] = by_role.get(run.role, 0) + 1
    return Estimate(
        cells=len(plan.cells),
        runs=len(plan.runs),
        runs_by_role=by_role,
        bytes_written=written,
        bytes_read=sum(run.action.bytes_read for run in plan.runs),
        drive_writes=_most_share(plan, lambda at: plan.facts_of(at).capacity_bytes),
        work_area_writes=_most_share(plan, plan.area_bytes),
        rated_share=rated[0] if rated else None,
        rated_write_bytes=plan.facts_of(rated[1]).rated_write_bytes if rated else None,
        rated_target=rated[1].target if rated else None,
        time_s=remaining_s(plan, {}, lanes=lanes),
        assumption=_assumption(facts.virtual),
    )


def _most_share(plan: Plan, whole: Callable[[Setting], int | None]) -> float:
    """The largest share of `_most`; 0 where no size is known."""
    most = _most(plan, whole)
    return most[0] if most else 0.0


def _most(plan: Plan, whole: Callable[[Setting], int | None]) -> tuple[float, Setting] | None:
    """The largest amount written to a target relative to its size, and the setting that causes it."""
    runs: dict[int, list[PlannedRun]] = {}
    for run in plan.runs:
        runs.setdefault(plan.setting_of(run).instance, []).append(run)
    settings = [(mine, plan.setting_of(mine[0])) for mine in runs.values()]
    shares = [(bytes_written(mine) / size, at) for mine, at in settings if (size := whole(at))]
    return max(shares, key=lambda share: share[0], default=None)


def bytes_written(runs: Iterable[PlannedRun]) -> int:
    """Bytes that the runs write, at most."""
    return sum(run.action.bytes_written for run in runs)


def run_times_s(runs: Sequence[PlannedRun], *, virtual: bool) -> list[float]:
    """The user's time for each run, in seconds, by index. Pauses of a virtual drive take none."""
    times: list[float] = []
    for run in runs:
        times.append(run.action.time_s(times, virtual=virtual))
    return times


def remaining_s(
    plan: Plan,
    spent_s: Mapping[int, float],
    closed_s: Mapping[StageKey, float] | None = None,
    *,
    lanes: int = 1,
) -> float:
    """The user's time until the report is written, in seconds, from what finished runs and stages took.

    `spent_s`: of each finished run, by index. `closed_s`: of each finished stage, from its last run to its end.
    A run takes as much longer than was assumed as those of its cell did, else as those of its role, else as assumed;
    the end of a stage as long as those of its name, else as the others, else as assumed.
    `lanes`: cycles that are done at the same time; the next begins when one of them ends.
    """
    left: dict[tuple[str, int], float] = {}
    for run, time_s in _runs_left(plan, spent_s):
        lane = (run.part, run.cycle)
        left[lane] = left.get(lane, 0.0) + time_s
    for (part, cycle, _, _), time_s in _closings_left(plan, closed_s or {}):
        left[part, cycle] = left.get((part, cycle), 0.0) + time_s
    free_s = [0.0] * lanes
    for time_s in left.values():
        free_s[free_s.index(min(free_s))] += time_s
    return max(free_s) + REPORT_S + REPORT_RUN_S * len(plan.runs)


def _runs_left(plan: Plan, spent_s: Mapping[int, float]) -> Iterable[tuple[PlannedRun, float]]:
    """Every run that is not done, with its time in seconds."""
    assumed = run_times_s(plan.runs, virtual=plan.facts.virtual)
    factors: dict[object, tuple[float, float, int]] = {}
    for run in plan.runs:
        if run.index in spent_s:
            for key in ((run.role, run.cell), run.role):
                spent, thought, count = factors.get(key, (0.0, 0.0, 0))
                factors[key] = (spent + spent_s[run.index], thought + assumed[run.index], count + 1)
    for run in plan.runs:
        if run.index in spent_s:
            continue
        known = next((factors[key] for key in ((run.role, run.cell), run.role) if key in factors), None)
        time_s = assumed[run.index]
        if known is not None:
            spent, thought, count = known
            time_s = time_s * spent / thought if thought > 0 else spent / count
        yield run, time_s


def _closings_left(plan: Plan, closed_s: Mapping[StageKey, float]) -> Iterable[tuple[StageKey, float]]:
    """Every stage that has not ended, with the time that its end takes, in seconds."""
    stages = dict.fromkeys((run.part, run.cycle, run.arm, run.stage) for run in plan.runs)
    for stage in stages:
        if stage in closed_s:
            continue
        alike = [time_s for key, time_s in closed_s.items() if key[3] == stage[3]] or [*closed_s.values()]
        yield stage, sum(alike) / len(alike) if alike else _closing_s(plan)


def _closing_s(plan: Plan) -> float:
    facts = (plan.facts, *plan.others.values())
    return sum(each.capacity_bytes / KEPT_BYTES_PER_S if each.virtual else CLOSING_S for each in facts)


def _assumption(virtual: bool) -> str:
    if virtual:
        millions = SIMULATED_PAGES_PER_S / 1e6
        return (
            f"{millions:.0f} million simulated 4 KiB pages of the host per second, and {REPORT_S:.0f} s or more for "
            "the report; idling takes no time"
        )
    rate, operations = ASSUMED_RATE_BYTES_PER_S / 1e6, ASSUMED_OPS_PER_S
    return f"{rate:.0f} MB/s sequential, {operations} operations/s elsewhere, whatever the device"
