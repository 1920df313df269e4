"""The switches of IOzone that no other key of a study covers.

Scope: the `iozone = { ... }` table of a [measure.NAME], as it is written; `value_of` gives what the core takes
in place of what `file_job.iozone_job` says by itself.
What it refuses: numbers out of range, and a file's name that leaves the target's directory.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mileage.errors import Refusal
from mileage.plan import sizes
from mileage.plan.iozone_manner import MannerKeys, manner_of, problem_of_manner
from mileage.plan.ranges import Count, Percent

PAUSE: Final = "2 s"
"""Pause that IOzone makes after each test of several children."""


class IozoneSwitches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Switches of IOzone; an omitted switch is as IOzone has it without the option in brackets."""

    file: int | str
    """Size of each file (-s)."""
    name: str | None = None
    """Name of the file in the target's directory (-f), one word; None for one of Mileage's own. Children append a
    dot and their number."""
    files: tuple[str, ...] = ()
    """Names of the children's files (-F), in the target's directory."""
    together: bool = False
    """Children, even if there is one (-t 1): IOzone's order and calls differ from those of a single stream."""
    processes: bool = False
    """Children are processes, as IOzone's without -T; else threads."""
    exactly: bool = False
    """Only the tests that are named: nothing is written first, and what is read is there."""
    stride: Count = 17
    """Distance of the stride read in records (-j)."""
    retests: bool = True
    """Rewrite, reread and their like (not -+n)."""
    flush: bool = False
    """The flush counts in the time (-e)."""
    close: bool = False
    """Closing counts in the time (-c)."""
    osync: bool = False
    """Every write is durable with its metadata (-o)."""
    stonewall: bool = True
    """A child counts until the first is done (not -x)."""
    mix_reads: Percent | None = None
    """Share of the mix's children that read, in percent (-+p); None for every second one."""
    mix_sequential: bool = False
    """The mix goes through its files in order (-+B)."""
    pause: str | None = None
    """Rest after each test of children, such as "2 s"."""
    keep: bool = False
    """The files stay (-w)."""
    compare: bool = False
    """Every byte that is read is compared in the time of the test (-+d)."""
    manner: MannerKeys = MannerKeys()
    """How the records are moved, and what is done around them."""


def problem_of(switches: IozoneSwitches) -> Refusal | None:
    """The first switch that cannot be; None when all can."""
    for name in (*((switches.name,) if switches.name is not None else ()), *switches.files):
        if not name or "/" in name or name in (".", ".."):
            return Refusal(
                "name",
                found=f"{name!r}",
                expected="the name of a file in the target's directory",
                code="wrong-value",
            )
    problem = problem_of_manner(switches.manner)
    return None if problem is None else problem.below("manner")


def value_of(switches: IozoneSwitches, threads: int) -> dict[str, Any]:
    """The fields of the core's value that these switches say."""
    together = switches.together or threads > 1
    return {
        "file_bytes": sizes.size_bytes(switches.file),
        "workers": threads if together else None,
        "stride_records": switches.stride,
        "retests": switches.retests,
        "flush_timed": switches.flush,
        "close_timed": switches.close,
        "osync": switches.osync,
        "stonewall": switches.stonewall,
        "mix_read_percent": switches.mix_reads,
        "mix_sequential": switches.mix_sequential,
        "pause_ns": 0 if switches.pause is None else sizes.parse_time_ns(switches.pause),
        "keep": switches.keep,
        "compare": switches.compare,
        "manner": manner_of(switches.manner),
    }
