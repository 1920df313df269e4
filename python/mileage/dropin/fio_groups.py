"""Which of fio's jobs begin together: those between two stonewalls, and those that wait for others.

What it refuses: a job that waits for one that is not there, or for one next to which others run.
"""

from __future__ import annotations

from collections.abc import Sequence

from mileage.dropin.fio_jobs import FioJob
from mileage.dropin.fio_plan import JobWork
from mileage.execute.fio_jobs.run import FioResult


def groups_of(works: Sequence[Sequence[JobWork]]) -> list[list[Sequence[JobWork]]]:
    """The jobs between two stonewalls, in order."""
    found: list[list[Sequence[JobWork]]] = []
    for copies in works:
        job = copies[0].job
        waits = "wait_for" in job.options and _waits_for_all(job, found)
        if not found or job.is_on("stonewall") or waits:
            found.append([])
        found[-1].append(copies)
    return found


def _waits_for_all(job: FioJob, batches: list[list[Sequence[JobWork]]]) -> bool:
    """Whether a job waits for the last ones, rather than for earlier ones, which have ended. Raises Refused."""
    name = job.text("wait_for")
    at = next((at for at, own in enumerate(batches) if any(one[0].job.name == name for one in own)), None)
    if at is None:
        raise job.refuse("wait_for", "there is no such job before", code="not-found")
    if at < len(batches) - 1:
        return False
    if any(one[0].job.name != name for one in batches[-1]):
        raise job.refuse("wait_for", "is not built while other jobs run next to that one", code="not-built")
    return True


def batches_of(works: Sequence[Sequence[JobWork]]) -> list[list[FioResult[JobWork]]]:
    """Results to be, with the number of the group of each: those that begin together, one batch after the other."""
    batches: list[list[FioResult[JobWork]]] = []
    group = -1
    for members in groups_of(works):
        batches.append([])
        for copies in members:
            if group < 0 or copies[0].job.is_on("stonewall") or copies[0].job.is_on("new_group"):
                group += 1
            batches[-1] += [FioResult(work, group) for work in copies]
    return batches
