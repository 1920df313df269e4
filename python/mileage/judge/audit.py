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

State = Literal["ok", "warn", "bad", "unknown"]

LITTLE_TOLERANCE: Final = 0.02
"""More concurrency than was allowed, by more than this, cannot be: the figures contradict each other."""
BUSY_MIN: Final = 0.90
"""Share of the allowed concurrency below which the client, not the device, paced the run."""
MEMORY_MAX: Final = 0.01
"""Share of the bytes read from memory above which a run did not measure the device alone."""
FOREIGN_MAX: Final = 0.01
"""Share of foreign bytes on the device above which a run was disturbed."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of one run. None: not counted.

    `latency_whole` says whether the time of submission is in `latency_sum_ns`; without it the sum is a lower bound.
    `outstanding` is depth x threads; `offered_per_s` are the operations per second that fell due in an open loop, and
    `operations` those done; `bypasses` says whether the run's own setting keeps it out of the page cache.
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


class Audit(msgspec.Struct, frozen=True):
    """One audit over all runs: its state, its figure in words, and a veto where it failed."""

    name: str
    state: State
    text: str
    veto: str | None = None


def audit(runs: Sequence[RunFacts], *, direct: bool) -> tuple[Audit, ...]:
    """All audits of a study's measured runs. `direct`: the plan promises that nothing comes from memory."""
    return (_little(runs), _client(runs), _memory(runs, direct), _foreign(runs))


def _little(runs: Sequence[RunFacts]) -> Audit:
    """Check Little's law: mean latency x rate cannot exceed the number of outstanding operations (Little 1961)."""
    known = [
        (run, _concurrency(run) / run.outstanding) for run in runs if run.outstanding and run.elapsed_ns > 0
    ]
    if not known:
        return Audit("Little's law", "unknown", "no closed-loop run to check")
    worst, share = max(known, key=lambda pair: pair[1])
    if share > 1 + LITTLE_TOLERANCE:
        statement = f"{worst.cell}: mean latency x rate is {share:.2f} of the queue depth"
        return Audit(
            "Little's law", "bad", statement, f"rate and latency contradict each other in {worst.cell}"
        )
    return Audit(
        "Little's law",
        "ok",
        f"rates and latencies agree: mean latency x rate is at most {share:.3f} of the queue depth",
    )


def _client(runs: Sequence[RunFacts]) -> Audit:
    """Find what paced the runs: the device in a closed loop, the clock in an open loop that keeps up.

    A share above the whole contradicts itself, and one of completion alone may be small while the client submits: from
    neither follows that the device was busy.
    """
    closed = [run for run in runs if run.offered_per_s is None and run.outstanding and run.elapsed_ns > 0]
    if not closed:
        return _arrivals([run for run in runs if run.offered_per_s and run.elapsed_ns > 0])
    known = [(run, _concurrency(run) / (run.outstanding or 1)) for run in closed]
    measured = [(run, share) for run, share in known if run.latency_whole or share >= BUSY_MIN]
    worst, share = min(measured or known, key=lambda pair: pair[1])
    if measured and share < BUSY_MIN:
        statement = (
            f"partly the load generator: in a run of {worst.cell} only {share:.0%} of the queue depth was in use on "
            "average, so the device may do more than this rate"
        )
        return Audit("limited by", "warn", statement)
    if len(measured) < len(known):
        cell = next(run.cell for run, share in known if not run.latency_whole and share < BUSY_MIN)
        return Audit("limited by", "unknown", f"{cell}: the latency of submission is not recorded")
    most, highest = max(known, key=lambda pair: pair[1])
    if highest > 1 + LITTLE_TOLERANCE:
        return Audit("limited by", "unknown", f"{most.cell}: rate and latency contradict each other")
    share_text = f"{min(share, 1):.1%}"
    return Audit(
        "limited by", "ok", f"the device: at least {share_text} of the queue depth was in use on average"
    )


def _arrivals(runs: Sequence[RunFacts]) -> Audit:
    kept = [
        (run, run.operations / (run.offered_per_s * run.elapsed_ns / 1e9))
        for run in runs
        if run.offered_per_s
    ]
    if not kept:
        return Audit("limited by", "unknown", "no run to check")
    worst, share = min(kept, key=lambda pair: pair[1])
    if share < ACHIEVED_MIN:
        statement = f"{worst.cell}: the device, which did {share:.1%} of the operations that were due; the others wait"
        return Audit("limited by", "warn", statement)
    return Audit(
        "limited by",
        "ok",
        f"the requested rate: at least {min(share, 1):.1%} of the operations due were done",
    )


def _memory(runs: Sequence[RunFacts], direct: bool) -> Audit:
    """Runs that were to bypass memory and did not are a veto; what other runs had from it is reported."""
    known = [(run, max(0.0, 1 - fetched / run.bytes_read)) for run in runs for fetched in _fetched(run)]
    if not known:
        return Audit("memory", "unknown", "not counted: no run that read through the kernel's accounting")
    broken = [(run, share) for run, share in known if direct and run.bypasses and share > MEMORY_MAX]
    worst, share = max(broken or known, key=lambda pair: pair[1])
    statement = f"{share:.1%} of the bytes read came from memory at most ({worst.cell})"
    if broken:
        return Audit("memory", "bad", statement, f"{share:.0%} of {worst.cell} was read from memory")
    return Audit("memory", "ok" if share <= MEMORY_MAX else "warn", statement)


def _foreign(runs: Sequence[RunFacts]) -> Audit:
    known = []
    for run in runs:
        own = run.bytes_written + (run.bytes_read if run.fetched_bytes is None else run.fetched_bytes)
        if run.device_bytes is not None and own > 0:
            known.append((run, max(0.0, run.device_bytes / own - 1)))
    if not known:
        return Audit("interference", "unknown", "the device's own counters were not read")
    worst, share = max(known, key=lambda pair: pair[1])
    statement = f"bytes of other programs on the device: at most {share:.1%} of the run's ({worst.cell})"
    return Audit("interference", "ok" if share <= FOREIGN_MAX else "warn", statement)


def _fetched(run: RunFacts) -> list[int]:
    return [run.fetched_bytes] if run.fetched_bytes is not None and run.bytes_read > 0 else []


def _concurrency(run: RunFacts) -> float:
    return run.latency_sum_ns / run.elapsed_ns
