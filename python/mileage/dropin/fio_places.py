"""Places of a fio job that no pattern of the engine has: their rule, by which `execute.fio_jobs.places` lists them.

Scope: rw=MODE:SKIP and rw=RANDOM:N, and random places in several zones, which are shares of the accesses and of the
size.
What it refuses: what is repeated until a time is over, loops, and more operations than a list should have.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.dropin.fio_jobs import FioJob, size_of
from mileage.plan.fio_work import FioFile, PlaceRule

_MOST: Final = 1 << 19
"""Operations of a list."""


def rule_of(job: FioJob, reads: int, record: int, *, timed: bool) -> PlaceRule | None:
    """The rule of a job; None where the engine has a pattern for its places. Raises Refused."""
    mode, _, skip = job.text("rw", "read").partition(":")
    key, rule = "rw", None
    if mode.startswith("rand") and (skip or job.text("rw_sequencer", "sequential") != "sequential"):
        rule = _run(job, skip or "1")
    elif "rw_sequencer" in job.options and not mode.startswith("rand"):
        raise job.refuse("rw_sequencer", "has an effect on random places only", code="unsupported")
    elif skip:
        rule = _skip(job, mode, skip, reads)
    elif mode.startswith("rand") and job.text("random_distribution").startswith("zoned:"):
        key, rule = "random_distribution", _zones(job)
    if rule is None or (rule.skip == -2 * record and timed):
        return None
    if timed or job.number("loops", 1) > 1:
        raise job.refuse(key, "is not built together with time_based or loops", code="not-built")
    return rule


def _skip(job: FioJob, mode: str, text: str, reads: int) -> PlaceRule:
    found = size_of(text.removeprefix("-"), job.base)
    if mode not in ("read", "write") or not found or 0 < reads < 100:
        raise job.refuse("rw", expected="read:SKIP or write:SKIP where there is a skip", code="unsupported")
    return PlaceRule(skip=-found if text.startswith("-") else found)


def _run(job: FioJob, text: str) -> PlaceRule | None:
    """Random places of which each begins a run; None for runs of one."""
    order = job.text("rw_sequencer", "sequential")
    if not text.isdecimal() or not int(text):
        raise job.refuse("rw", expected="a number of operations behind a random mode", code="unsupported")
    if order not in ("sequential", "identical"):
        raise job.refuse("rw_sequencer", expected="sequential or identical")
    if job.text("random_distribution", "random") != "random" or job.number("percentage_random", 100) != 100:
        raise job.refuse("rw", "is not built together with another distribution of places", code="not-built")
    if int(text) == 1:
        return None
    return PlaceRule(run=int(text), repeats=order == "identical", comes_again=job.is_on("norandommap"))


def _zones(job: FioJob) -> PlaceRule | None:
    """Zones, of which one without a figure has an equal part of what is left; None for two, which the engine has."""
    text = job.text("random_distribution").removeprefix("zoned:")
    parts = [re.fullmatch(r"([0-9]*)/([0-9]*)", part) for part in text.split(":")]
    if not all(parts):
        raise job.refuse("random_distribution", expected="zoned:ACCESS/SIZE:...")
    columns = []
    for at in (1, 2):
        given = [int(part[at]) if part and part[at] else None for part in parts]
        left, free = 100 - sum(value or 0 for value in given), given.count(None)
        columns.append([left // free if value is None else value for value in given])
    if any(sum(column) != 100 or min(column) < 0 for column in columns):
        raise job.refuse("random_distribution", "the shares are not 100 percent")
    return PlaceRule(zones=tuple(zip(*columns, strict=True))) if len(parts) > 2 else None


def check_count(job: FioJob, files: list[FioFile], record: int) -> None:
    """Refuse a list that would be too long. Raises Refused."""
    if any(min(file.amount // record, file.operations or _MOST) > _MOST for file in files):
        raise job.refuse("rw", f"is not built for more than {_MOST} operations of a file", code="too-large")
