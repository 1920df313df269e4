"""Places of a fio job that no pattern of the engine has, listed one by one as a trace.

Scope: rw=MODE:SKIP and rw=RANDOM:N, by fio's rule for its next place (io_u.c), and random places in several zones. With
RANDOM:N one place in N is random, none of these comes again unless norandommap is on, and the others follow the one
before of their direction, or are equal to it (rw_sequencer=identical). Zones are shares of the accesses and of the
size; places of a zone are uniform and may come again.
What it refuses: what is repeated until a time is over, loops, and more operations than a list should have.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any, Final

from mileage.dropin.fio_files import FioFile
from mileage.dropin.fio_jobs import FioJob, size_of

_MOST: Final = 1 << 19
"""Operations of a list."""


@dataclass(frozen=True)
class PlaceRule:
    """How the next place follows from the one before."""

    skip: int = 0
    """Bytes from the end of a block to the next one; negative to go back."""
    zones: tuple[tuple[int, int], ...] = ()
    """Percent of accesses and percent of the size of each zone."""
    run: int = 0
    """Operations to each random place: itself and those that follow it; 0 for no such rule."""
    repeats: bool = False
    """Whether those that follow have the same place."""
    comes_again: bool = False
    """Whether a random place may come again before all were drawn."""
    trims: tuple[tuple[int, int], ...] = ()
    """Sizes with percents of blocks that are trimmed and then written."""


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


def trace_of(
    rule: PlaceRule, file: FioFile, record: int, held: int, reads: int, seed: int
) -> list[dict[str, Any]]:
    """The operations on a file of `held` bytes, in order."""
    count = file.amount // record
    count = count if file.operations is None else min(count, file.operations)
    draw = random.Random(seed)
    if rule.run:
        return _runs(rule, file.span // record, record, reads, count, draw)
    places = _zoned(rule, file.span // record, count, draw) if rule.zones else None
    offsets = (
        [place * record for place in places]
        if places is not None
        else _skipped(rule, file, record, held, count)
    )
    return [
        {
            "at_ns": 0,
            "kind": "read" if draw.randrange(100) < reads else "write",
            "offset_bytes": offset,
            "length_bytes": record,
        }
        for offset in offsets
    ]


def _runs(
    rule: PlaceRule, blocks: int, record: int, reads: int, count: int, draw: random.Random
) -> list[dict[str, Any]]:
    """Runs of operations, each run from a random place, or up to a random place of the end of the file."""
    found = []
    free: list[int] = []
    last = {"read": -1, "write": -1}
    left = 1
    for _ in range(count):
        kind = "read" if draw.randrange(100) < reads else "write"
        left -= 1
        place = last[kind] + (not rule.repeats)
        if not left or place >= blocks:
            if not rule.comes_again and not free:
                free = draw.sample(range(blocks), blocks)
            place = draw.randrange(blocks) if rule.comes_again else free.pop()
            left = left or rule.run
        last[kind] = place = max(place, 0)
        found.append({"at_ns": 0, "kind": kind, "offset_bytes": place * record, "length_bytes": record})
    return found


def _zoned(rule: PlaceRule, blocks: int, count: int, draw: random.Random) -> list[int]:
    bounds, begin = [], 0
    for _, share in rule.zones:
        bounds.append((blocks * begin // 100, max(blocks * share // 100, 1)))
        begin += share
    weights = [access for access, _ in rule.zones]
    found = []
    for first, length in draw.choices(bounds, weights, k=count):
        found.append(min(first + draw.randrange(length), blocks - 1))
    return found


def _skipped(rule: PlaceRule, file: FioFile, record: int, held: int, count: int) -> list[int]:
    """Offsets from the first byte, until what is to be done is done or the file has ended."""
    found: list[int] = []
    place = 0
    while len(found) < count:
        if place + record > file.span:
            break
        found.append(place)
        end = place + record
        if file.start + end >= held and rule.skip > 0:
            break
        place = end + rule.skip
        if place >= held:
            place = file.start
        elif place < 0:
            place = (file.span if held > file.span else held) + rule.skip
    return found
