"""Audits of disturbances during the runs: whether other programs or heat affected the measurement.

Scope: for each run the shares of its time that were stolen by other virtual machines, spent waiting for
processors or memory, and used by other programs; and how often the processors or the drive slowed down for heat.
What it refuses: to veto. A disturbance is a warning with the run that had it; randomised blocks spread it over what is
compared. What was not counted is "unknown".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal

from mileage.judge.audit import Audit, State

STEAL_MAX: Final = 0.02
"""Share of processor time taken by other virtual machines above which a run was disturbed."""
OTHERS_MAX: Final = 0.10
"""Share of all processor time used by other programs above which a run was disturbed."""
MEMORY_WAIT_MAX: Final = 0.01
"""Share of a run's time in which some task waited for memory above which a run was disturbed."""
HEAT_MAX_C: Final = 5.0
"""Degrees by which a drive may be warmer at the start of a run than at the start of the coolest one."""
LATENESS_MAX: Final = 0.10
"""Share of the time between two answers of a served drive above which its lateness slowed a run down."""

Kind = Literal["steal", "other-load", "memory-pressure"]
Watch = Mapping[str, int]
"""Disturbances of a run: differences of counters, in the unit of their names."""


def disturbances(runs: Sequence[tuple[str, Watch]]) -> tuple[Audit, ...]:
    """The audits of runs, each with the label of its cell; none where no run was watched."""
    if not runs:
        return ()
    return (
        *_lateness(runs),
        _share(runs, "steal", "steal"),
        _share(runs, "other programs", "other-load"),
        _share(runs, "memory pressure", "memory-pressure"),
        _temperature(runs),
    )


def share_of(watch: Watch, kind: Kind) -> float | None:
    """The share of a run that a disturbance had; None where it is not known."""
    return _SHARES[kind][0](watch)


def _share(runs: Sequence[tuple[str, Watch]], name: str, kind: Kind) -> Audit:
    known = [(share, cell) for cell, watch in runs if (share := share_of(watch, kind)) is not None]
    if not known:
        return Audit(name=name, state="unknown", kind="not-reported")
    worst, cell = max(known)
    limit = LIMITS[kind]
    disturbed = sum(share > limit for share, _ in known)
    figures: dict[str, float | int | str] = {
        "cell": cell,
        "worst_share": worst,
        "limit_share": limit,
        "disturbed_runs": disturbed,
        "runs": len(known),
    }
    return Audit(name=name, state="warn" if disturbed else "ok", kind=kind, figures=figures)


def _steal(watch: Watch) -> float | None:
    return _ratio(watch.get("steal_us"), watch.get("cpu_all_us"))


def _others(watch: Watch) -> float | None:
    every, idle, own = (watch.get(key) for key in ("cpu_all_us", "cpu_idle_us", "client_cpu_us"))
    if every is None or idle is None or own is None:
        return None
    # Ticks of 10 ms, read at two moments: a short run may seem to have used more than there was.
    return _ratio(max(every - idle - own, 0), every)


def _waits(watch: Watch) -> float | None:
    return _ratio(watch.get("pressure_memory_us"), watch.get("wall_us"))


def _ratio(part: int | None, whole: int | None) -> float | None:
    """A share; None where it is not known, or the time was too short to have one (below 0.1 s)."""
    return None if part is None or whole is None or whole < 100_000 else part / whole


_SHARES: Final[Mapping[Kind, tuple[Callable[[Watch], float | None], float]]] = {
    "steal": (_steal, STEAL_MAX),
    "other-load": (_others, OTHERS_MAX),
    "memory-pressure": (_waits, MEMORY_WAIT_MAX),
}
LIMITS: Final[Mapping[Kind, float]] = {kind: limit for kind, (_, limit) in _SHARES.items()}
"""The share of each kind above which a run was disturbed."""


def _lateness(runs: Sequence[tuple[str, Watch]]) -> Iterator[Audit]:
    """How late the answers of a served drive were; nothing where none is served.

    It matters once the median is a tenth of the time between two answers: then a run is slower than the drive.
    """
    known = [
        (watch["served_late_p99_ns"], cell, watch) for cell, watch in runs if "served_late_p99_ns" in watch
    ]
    if not known:
        return
    late = sum(
        watch["served_late_p50_ns"] * watch["served_answers"] > LATENESS_MAX * watch["wall_us"] * 1000
        for *_, watch in known
    )
    _, cell, watch = max(known, key=lambda one: one[0])
    figures: dict[str, float | int | str] = {
        "cell": cell,
        **{f"late_{which}_ns": watch[f"served_late_{which}_ns"] for which in ("p50", "p99", "max")},
        "limit_share": LATENESS_MAX,
        "late_runs": late,
        "runs": len(known),
    }
    yield Audit(name="served drive", state="warn" if late else "ok", kind="late-answers", figures=figures)


def _temperature(runs: Sequence[tuple[str, Watch]]) -> Audit:
    throttles = [watch["cpu_throttles"] for _, watch in runs if "cpu_throttles" in watch]
    begins = [
        watch["device_millicelsius_first"] / 1000 for _, watch in runs if "device_millicelsius_first" in watch
    ]
    if not throttles and not begins:
        return Audit(name="temperature", state="unknown", kind="no-sensor")
    figures: dict[str, float | int | str] = {}
    if begins:
        figures["highest_celsius"] = max(watch.get("device_millicelsius_most", 0) for _, watch in runs) / 1000
        figures["rise_celsius"] = max(begins) - min(begins)
    if throttles:
        figures["throttles"] = sum(throttles)
    warm = bool(begins) and max(begins) - min(begins) > HEAT_MAX_C
    state: State = "warn" if warm or any(throttles) else "ok"
    return Audit(name="temperature", state=state, kind="heat", figures=figures)
