"""Audits: whether a run measured what it says it measured. A failed one is a veto next to the verdicts.

Scope: each run by a few sums that must agree with each other whatever the device: Little's law joins rate, latency
and concurrency; bytes that no device delivered came from memory; bytes that the device moved beyond ours are
somebody else's; time in which nothing was outstanding belongs to the client.
What was not counted is "unknown", never "good".
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from mileage.judge.overload import ACHIEVED_MIN
from mileage.model.caveat import Caveat, veto

State = Literal["ok", "warn", "bad", "unknown"]

LITTLE_TOLERANCE: Final = 0.02
"""More concurrency than was allowed, by more than this, cannot be: the figures contradict each other."""
BUSY_MIN: Final = 0.90
"""Share of the allowed concurrency below which the client, not the device, paced the run."""
MEMORY_MAX: Final = 0.01
"""Share of the bytes read from memory above which a run did not measure the device alone."""
HELD_MIN: Final = 0.9
"""Share of a control group's limit from which a run was held by it."""
FOREIGN_MAX: Final = 0.01
"""Share of foreign bytes on the device above which a run was disturbed."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of one run. None: not counted.

    `latency_whole` says whether the time of submission is in `latency_sum_ns`; without it the sum is a lower bound.
    `outstanding` is depth x threads; `offered_per_s` are the operations per second that fell due in an open loop, and
    `operations` those done; `bypasses` says whether the run's own setting keeps it out of the page cache.
    `backing_read_bytes` is what the disk below a loop device read. `group_limits` are those of control groups, such as
    `read_bytes_per_s` and `write_ops_per_s`.
    `fetched_bytes` is what storage delivered to our threads, `device_bytes` what the device moved in all, both
    directions.
    """

    cell: str
    latency_sum_ns: int
    elapsed_ns: int
    outstanding: int | None
    bytes_read: int
    bytes_written: int
    fetched_bytes: int | None = None
    device_bytes: int | None = None
    offered_per_s: float | None = None
    operations: int = 0
    bypasses: bool = True
    latency_whole: bool = True
    group_limits: dict[str, int] = {}
    backing_read_bytes: int | None = None


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """One audit over all runs: its state, what was found (`kind`), the figures of that, and a veto where it failed.

    `mileage.report.audit_words` has the words of each kind.
    """

    name: str
    state: State
    kind: str
    figures: dict[str, float | int | str] = {}
    veto: Caveat | None = None


def audit(runs: Sequence[RunFacts], *, direct: bool) -> tuple[Audit, ...]:
    """All audits of a study's measured runs. `direct`: the plan promises that nothing comes from memory."""
    return (_little(runs), _client(runs), _memory(runs, direct), _foreign(runs))


def _little(runs: Sequence[RunFacts]) -> Audit:
    """Check Little's law: mean latency x rate cannot exceed the number of outstanding operations (Little 1961)."""
    known = [
        (run, _concurrency(run) / run.outstanding) for run in runs if run.outstanding and run.elapsed_ns > 0
    ]
    if not known:
        return Audit(name="Little's law", state="unknown", kind="no-closed-loop")
    worst, share = max(known, key=lambda pair: pair[1])
    figures: dict[str, float | int | str] = {"cell": worst.cell, "queue_share": share}
    if share > 1 + LITTLE_TOLERANCE:
        against = veto("rate-latency-contradict", tests=(worst.cell,), queue_share=share)
        return Audit(
            name="Little's law", state="bad", kind="rate-latency-contradict", figures=figures, veto=against
        )
    return Audit(name="Little's law", state="ok", kind="rate-latency-agree", figures=figures)


def _client(runs: Sequence[RunFacts]) -> Audit:
    """Find what paced the runs: the device in a closed loop, the clock in an open loop that keeps up.

    A share above the whole contradicts itself, and one of completion alone may be small while the client submits: from
    neither follows that the device was busy.
    """
    closed = [run for run in runs if run.offered_per_s is None and run.outstanding and run.elapsed_ns > 0]
    if not closed:
        return _arrivals([run for run in runs if run.offered_per_s and run.elapsed_ns > 0])
    if held := next((run for run in closed if is_held_by_group(run)), None):
        return _paced("warn", "group-limit", cell=held.cell, **held.group_limits)
    known = [(run, _concurrency(run) / (run.outstanding or 1)) for run in closed]
    measured = [(run, share) for run, share in known if run.latency_whole or share >= BUSY_MIN]
    worst, share = min(measured or known, key=lambda pair: pair[1])
    if measured and share < BUSY_MIN:
        return _paced("warn", "load-generator", cell=worst.cell, queue_share=share)
    if len(measured) < len(known):
        cell = next(run.cell for run, share in known if not run.latency_whole and share < BUSY_MIN)
        return _paced("unknown", "submission-not-recorded", cell=cell)
    most, highest = max(known, key=lambda pair: pair[1])
    if highest > 1 + LITTLE_TOLERANCE:
        return _paced("unknown", "rate-latency-unclear", cell=most.cell)
    return _paced("ok", "device", queue_share=min(share, 1.0))


def is_held_by_group(run: RunFacts) -> bool:
    """Whether a run was as fast as a limit of a control group allows."""
    seconds = run.elapsed_ns / 1e9
    moved = run.bytes_read + run.bytes_written
    reads, writes = (part / moved if moved else 0.0 for part in (run.bytes_read, run.bytes_written))
    done = {
        "read_bytes_per_s": run.bytes_read,
        "write_bytes_per_s": run.bytes_written,
        "read_ops_per_s": run.operations * reads,
        "write_ops_per_s": run.operations * writes,
    }
    return seconds > 0 and any(
        done.get(key, 0) / seconds >= HELD_MIN * limit for key, limit in run.group_limits.items()
    )


def _arrivals(runs: Sequence[RunFacts]) -> Audit:
    kept = [
        (run, run.operations / (run.offered_per_s * run.elapsed_ns / 1e9))
        for run in runs
        if run.offered_per_s
    ]
    if not kept:
        return _paced("unknown", "no-run")
    worst, share = min(kept, key=lambda pair: pair[1])
    if share < ACHIEVED_MIN:
        return _paced("warn", "device-behind", cell=worst.cell, due_share=share)
    return _paced("ok", "requested-rate", due_share=min(share, 1.0))


def _paced(state: State, kind: str, **figures: float | int | str) -> Audit:
    return Audit(name="limited by", state=state, kind=kind, figures=figures)


def _memory(runs: Sequence[RunFacts], direct: bool) -> Audit:
    """Runs that were to bypass memory and did not are a veto; what other runs had from it is reported."""
    known = [(run, max(0.0, 1 - fetched / run.bytes_read)) for run in runs for fetched in _fetched(run)]
    if not known:
        return Audit(name="memory", state="unknown", kind="reads-not-counted")
    broken = [(run, share) for run, share in known if direct and run.bypasses and share > MEMORY_MAX]
    worst, share = max(broken or known, key=lambda pair: pair[1])
    figures: dict[str, float | int | str] = {"cell": worst.cell, "memory_share": share}
    state: State = "bad" if broken else "ok" if share <= MEMORY_MAX else "warn"
    against = veto("read-from-memory", tests=(worst.cell,), memory_share=share) if broken else None
    return Audit(name="memory", state=state, kind="memory-share", figures=figures, veto=against)


def foreign_share(run: RunFacts) -> float | None:
    """Bytes that the device moved for others, as a share of the run's own; None where they were not counted."""
    own = run.bytes_written + (run.bytes_read if run.fetched_bytes is None else run.fetched_bytes)
    return None if run.device_bytes is None or own <= 0 else max(0.0, run.device_bytes / own - 1)


def _foreign(runs: Sequence[RunFacts]) -> Audit:
    known = [(run, share) for run in runs if (share := foreign_share(run)) is not None]
    if not known:
        return Audit(name="interference", state="unknown", kind="device-not-counted")
    worst, share = max(known, key=lambda pair: pair[1])
    return Audit(
        name="interference",
        state="ok" if share <= FOREIGN_MAX else "warn",
        kind="foreign-share",
        figures={"cell": worst.cell, "foreign_share": share},
    )


def _fetched(run: RunFacts) -> list[int]:
    """The bytes that storage delivered, where they were counted: below a loop device if there is one."""
    counted = [found for found in (run.fetched_bytes, run.backing_read_bytes) if found is not None]
    return [min(counted)] if counted and run.bytes_read > 0 else []


def _concurrency(run: RunFacts) -> float:
    return run.latency_sum_ns / run.elapsed_ns
