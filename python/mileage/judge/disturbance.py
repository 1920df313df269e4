"""Audits of disturbances during the runs: whether other programs or heat affected the measurement.

Scope: for each run the shares of its time that were stolen by other virtual machines, spent waiting for
processors or memory, and used by other programs; and how often the processors or the drive slowed down for heat.
What it refuses: to veto. A disturbance is a warning with the run that had it; randomised blocks spread it over what is
compared. What was not counted is "unknown".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from mileage.judge.audit import Audit

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

Watch = Mapping[str, int]
"""Disturbances of a run: differences of counters, in the unit of their names."""


def disturbances(runs: Sequence[tuple[str, Watch]]) -> tuple[Audit, ...]:
    """The audits of runs, each with the label of its cell; none where no run was watched."""
    if not runs:
        return ()
    return (
        *_lateness(runs),
        _share(runs, "steal", _steal, STEAL_MAX, "of processor time went to other virtual machines"),
        _share(runs, "other programs", _others, OTHERS_MAX, "of processor time went to other programs"),
        _share(runs, "memory pressure", _waits, MEMORY_WAIT_MAX, "of the time tasks waited for memory"),
        _temperature(runs),
    )


def _share(
    runs: Sequence[tuple[str, Watch]],
    name: str,
    share_of: Callable[[Watch], float | None],
    limit: float,
    words: str,
) -> Audit:
    known = [(share, cell) for cell, watch in runs if (share := share_of(watch)) is not None]
    if not known:
        return Audit(name, "unknown", "the kernel does not report it")
    worst, cell = max(known)
    disturbed = sum(share > limit for share, _ in known)
    statement = f"{worst:.1%} {words} in the worst run ({cell})"
    if not disturbed:
        return Audit(name, "ok", statement)
    return Audit(name, "warn", f"{statement}; above {limit:.0%} in {disturbed} of {len(known)} runs")


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
    p50, p99, most = (watch[f"served_late_{which}_ns"] / 1000 for which in ("p50", "p99", "max"))
    statement = (
        f"the drive is simulated, and its answers were late: half by {p50:,.0f} us, 1 % by {p99:,.0f} us, one by"
        f" {most:,.0f} us in the worst run ({cell})"
    )
    if not late:
        yield Audit("served drive", "ok", statement)
        return
    yield Audit(
        "served drive",
        "warn",
        f"{statement}; half of them by more than {LATENESS_MAX:.0%} of the time between two answers in {late} of"
        f" {len(known)} runs, which are slower than the drive",
    )


def _temperature(runs: Sequence[tuple[str, Watch]]) -> Audit:
    throttles = [(watch["cpu_throttles"], cell) for cell, watch in runs if "cpu_throttles" in watch]
    begins = [
        watch["device_millicelsius_first"] / 1000 for _, watch in runs if "device_millicelsius_first" in watch
    ]
    if not throttles and not begins:
        return Audit("temperature", "unknown", "no sensor of the drive, no count of throttling")
    parts = []
    warm = False
    if begins:
        rise = max(begins) - min(begins)
        most = max(watch.get("device_millicelsius_most", 0) for _, watch in runs) / 1000
        parts.append(f"the drive was {most:.0f} C warm at most; runs began within {rise:.0f} C")
        warm = rise > HEAT_MAX_C
    if throttles:
        count = sum(number for number, _ in throttles)
        parts.append(
            f"processors slowed down for heat {count} times" if count else "no processor slowed down for heat"
        )
        warm = warm or count > 0
    return Audit("temperature", "warn" if warm else "ok", "; ".join(parts))
