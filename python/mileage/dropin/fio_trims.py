"""Trims of a fio job: trim and randtrim by the engine's patterns, trimwrite and randtrimwrite listed one by one.

Scope: of trimwrite each block is trimmed and then written, in blocks of one or several sizes; random blocks are cut
where one begins that was trimmed before, unless norandommap is on. Trims go to block devices, or nowhere with null.
What it refuses: regular files, on which fio fails; what is not built together with trims.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from mileage.dropin.fio_jobs import FioJob
from mileage.errors import Refused

TrimKind = Literal["", "only", "pairs"]
TRIM_MODES: Final[dict[str, TrimKind]] = {
    "trim": "only",
    "randtrim": "only",
    "trimwrite": "pairs",
    "randtrimwrite": "pairs",
}
_WITHOUT: Final = ("verify", "rate", "rate_iops", "number_ios", "fsync", "fdatasync", "percentage_random")


def trims_of(job: FioJob) -> TrimKind:
    """What a job trims."""
    return TRIM_MODES.get(job.text("rw", "read").partition(":")[0], "")


def check_trims(job: FioJob, sides: Sequence[list[tuple[int, int]]], *, timed: bool) -> None:
    """Refuse what is not built together with trims; `sides`: sizes of reads, writes and trims. Raises Refused."""
    kind = trims_of(job)
    for key in _WITHOUT:
        if job.options.get(key, "0") != "0":
            raise job.refuse(key, "is not built together with trims", code="not-built")
    if ":" in job.text("rw"):
        raise job.refuse("rw", "with a number is not built for trims", code="not-built")
    if kind == "only" and len(sides[2]) > 1:
        raise job.refuse("rw", "of blocks of several sizes is not built", code="not-built")
    # With norandommap fio gives every write the size of its trim, whatever that of writes is.
    follows = job.text("rw").startswith("rand") and job.is_on("norandommap")
    if kind == "pairs" and sides[1] != sides[2] and not follows:
        raise job.refuse("rw", "with other sizes of writes than of trims is not built", code="not-built")
    if kind == "pairs" and (timed or job.text("random_distribution", "random") != "random"):
        raise job.refuse(
            "rw", "is not built together with time_based or random_distribution", code="not-built"
        )


def check_targets(job: FioJob, paths: Sequence[str]) -> None:
    """Refuse to trim anything but block devices. Raises Refused."""
    for path in paths:
        if job.text("ioengine") != "null" and not Path(path).is_block_device():
            raise Refused(f"fio: {path}", "is no block device: fio does not trim files", code="unsupported")
