"""Limits of the rate, think time and warm-up of a fio job as the engine's load.

Scope: rate and rate_iops hold for each direction by itself, as in fio; 0 is no limit. A mix whose directions are both
limited runs at the sum of both, in the proportion of the limits, which is what fio settles at on a device that
keeps up.
A limit with think time, or in bytes that are no whole number of blocks, catches up what the last millisecond lost.
What it refuses: a mix with one limited direction, and one with blocks of several sizes limited in bytes.
"""

from __future__ import annotations

from mileage.dropin.fio_jobs import FioJob
from mileage.plan.load_model import Cap, Load, Open, Think


def load_of(job: FioJob, reads: int, sizes: list[int]) -> tuple[Load, int | None]:
    """The engine's load, and the percent of reads where the limits say it. Raises Refused."""
    rate, share = _limit(job, reads, sizes)
    pause_ns = job.time_ns("thinktime", "us")
    opened, cap, think = None, None, None
    if rate is not None:
        if job.text("rate_process") == "poisson":
            opened = Open(_operations(job, rate, sizes), "poisson")
        elif pause_ns or (operations := _whole_operations(rate, sizes)) is None:
            cap = Cap(**rate)
        else:
            # As fio, a job that was held up catches up all that it is late.
            opened = Open(operations)
    if pause_ns:
        think = Think(pause_ns, max(job.number("thinktime_blocks", 1), 1))
        if opened is not None:
            raise job.refuse("thinktime", "is not built together with rate_process=poisson", code="conflict")
    return Load(opened, cap, think, job.time_ns("ramp_time") or 0), share


def _limit(job: FioJob, reads: int, sizes: list[int]) -> tuple[dict[str, int] | None, int | None]:
    given = {key: job.sides(key) for key in ("rate", "rate_iops")}
    limits = {key: sides for key, sides in given.items() if sides is not None and any(sides)}
    if len(limits) > 1:
        raise job.refuse("rate_iops", "fio does not take it together with rate either", code="conflict")
    for key, (read, write) in limits.items():
        unit = "bytes_per_s" if key == "rate" else "operations_per_s"
        if reads in (0, 100):
            own = read if reads else write
            return ({unit: own} if own else None), None
        if not (read and write):
            raise job.refuse(key, "limits one direction of a mix, which is not built", code="not-built")
        if key == "rate" and len(set(sizes)) > 1:
            raise job.refuse(
                key, "is not built for a mix of blocks of several sizes: rate_iops", code="not-built"
            )
        return {unit: read + write}, round(100 * read / (read + write))
    return None, None


def _whole_operations(rate: dict[str, int], sizes: list[int]) -> int | None:
    """Operations per second; None where blocks of several sizes, or a part of one, make them no whole number."""
    if "operations_per_s" in rate:
        return rate["operations_per_s"]
    count, rest = divmod(rate["bytes_per_s"], sizes[0])
    return count if count and not rest and len(set(sizes)) == 1 else None


def _operations(job: FioJob, rate: dict[str, int], sizes: list[int]) -> int:
    if "operations_per_s" in rate:
        return rate["operations_per_s"]
    if len(set(sizes)) > 1:
        raise job.refuse("rate_process", "needs rate_iops with blocks of several sizes", code="conflict")
    return max(rate["bytes_per_s"] // sizes[0], 1)
