"""The order, the sizes and the mix of a fio job's operations as a pattern of the engine.

What it refuses: sizes whose shares are not 100 percent, and combinations that the engine does not do, by the option's
name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from mileage.dropin.fio_jobs import FioJob, size_of
from mileage.errors import Refused
from mileage.plan.pattern import Access, AccessLine, HotCold, PartlySequential, Pattern, PatternTable, Zipf

# Trims of a fio job: trim and randtrim by the engine's patterns, trimwrite and randtrimwrite listed one by one.
# Scope: of trimwrite each block is trimmed and then written, in blocks of one or several sizes; random blocks are cut
# where one begins that was trimmed before, unless norandommap is on. Trims go to block devices, or nowhere with null.
# What it refuses: regular files, on which fio fails; what is not built together with trims.

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


_BACKWARD: Final = re.compile(r"(read|write|rw):-")
_READS: Final = {
    "read": 100,
    "randread": 100,
    "write": 0,
    "randwrite": 0,
    "rw": 50,
    "readwrite": 50,
    "randrw": 50,
    **dict.fromkeys(TRIM_MODES, 0),
}


def reads_of(job: FioJob) -> int:
    """Percent of reads. Raises Refused."""
    mode = job.text("rw", "read").partition(":")[0]
    if mode not in _READS:
        raise job.refuse("rw", expected=f"one of {', '.join(_READS)}", code="unsupported")
    reads = _READS[mode]
    if reads != 50:
        return reads
    # The one that was given last counts.
    for key in job.options:
        if key in ("rwmixread", "rwmixwrite"):
            share = job.number(key, 50)
            if not 0 <= share <= 100:
                raise job.refuse(key, expected="0 to 100")
            reads = share if key == "rwmixread" else 100 - share
    return reads


Sizes = list[tuple[int, int]]
"""Sizes with percents."""
_BlockSizes = tuple[Sizes, Sizes]
"""Those of reads and of writes."""


def wanted_sizes(sizes: _BlockSizes, reads: int) -> list[int]:
    """The sizes of what is done."""
    return [
        size for side in (sizes[:1] if reads else ()) + (sizes[1:] if reads < 100 else ()) for size, _ in side
    ]


def _three(sides: list[Sizes]) -> tuple[Sizes, Sizes, Sizes]:
    """Sizes of reads, of writes and of trims: the last that are given hold for what follows."""
    return sides[0], sides[min(1, len(sides) - 1)], sides[min(2, len(sides) - 1)]


def sizes_of(job: FioJob) -> tuple[Sizes, Sizes, Sizes]:
    """Sizes of reads, of writes and of trims. Raises Refused."""

    def one(key: str, text: str) -> int:
        found = size_of(text, job.base)
        if not found:
            raise job.refuse(key, expected="sizes such as 4k")
        return found

    if "bssplit" in job.options:
        sides = [_split(job, side, one) for side in job.text("bssplit").split(",")]
        return _three(sides)
    if "bsrange" in job.options:
        ranges = []
        for side in job.text("bsrange").split(","):
            low, _, high = side.partition("-")
            least, most = one("bsrange", low), one("bsrange", high or low)
            unit = 1 if job.is_on("bs_unaligned") else least
            step = -(-((most - least) // unit + 1) // 100) * unit
            ranges.append(_even([*range(least, most + 1, step)]))
        return _three(ranges)
    parts = job.text("bs", "4k").split(",")
    return _three([[(one("bs", part or "4k"), 100)] for part in parts])


def _even(sizes: list[int]) -> list[tuple[int, int]]:
    """Equal shares in whole percents; the first ones have the rest."""
    each, rest = divmod(100, len(sizes))
    return [(size, each + (at < rest)) for at, size in enumerate(sizes)]


def _split(job: FioJob, text: str, one: Any) -> list[tuple[int, int]]:
    parts = [part.split("/") for part in text.split(":") if part]
    sizes = [one("bssplit", part[0]) for part in parts]
    shares = [int(part[1]) if len(part) > 1 and part[1].isdecimal() else None for part in parts]
    left = 100 - sum(share or 0 for share in shares)
    free = sum(share is None for share in shares)
    found = [
        (size, left // free if share is None else share) for size, share in zip(sizes, shares, strict=True)
    ]
    if sum(share for _, share in found) != 100:
        raise job.refuse("bssplit", "the shares are not 100 percent")
    # As fio: a block is a multiple of the smallest one, unless it need not be aligned.
    least = 1 if job.is_on("bs_unaligned") else min(sizes)
    return [(size - size % least, share) for size, share in found if share]


def pattern_of(job: FioJob, reads: int, sizes: _BlockSizes) -> tuple[Pattern, int, int]:
    """The engine's pattern, its record and its percent of reads."""
    mode = job.text("rw", "read")
    random = mode.startswith("rand")
    of_reads, of_writes = sizes
    wanted = wanted_sizes(sizes, reads)
    if len(set(wanted)) > 1:
        lines = [
            # Random places are multiples of the least block, as in fio.
            AccessLine(
                size, share * part // 100, kind, 100 * random, align_bytes=min(side)[0] if random else 0
            )
            for side, part, kind in ((of_reads, reads, 100), (of_writes, 100 - reads, 0))
            for size, share in side
            if share * part // 100
        ]
        left = 100 - sum(line.share_percent for line in lines)
        lines[0] = msgspec.structs.replace(lines[0], share_percent=lines[0].share_percent + left)
        _refuse_with_sizes(job, random)
        return PatternTable(access=Access(tuple(lines))), max(wanted), 100
    record = wanted[0]
    if not random:
        return "backward" if _BACKWARD.match(mode) else "sequential", record, reads
    if distribution := _distribution(job):
        return distribution, record, reads
    if (jumps := _percent_random(job, reads)) < 100:
        return PatternTable(partly_sequential=PartlySequential(jumps)), record, reads
    return "random" if job.is_on("norandommap") else "shuffled", record, reads


def _refuse_with_sizes(job: FioJob, random: bool) -> None:
    """Refuse what the engine does not do with blocks of several sizes. Raises Refused."""
    if _BACKWARD.match(job.text("rw", "read")):
        raise job.refuse("rw", "backwards in blocks of several sizes is not built", code="not-built")
    for key in ("random_distribution", "percentage_random"):
        if random and job.text(key, "random") not in ("random", "100"):
            raise job.refuse(key, "is not built with blocks of several sizes", code="not-built")


def _distribution(job: FioJob) -> PatternTable | None:
    """The engine's pattern of a random distribution; None for the uniform one. Raises Refused."""
    text = job.text("random_distribution", "random")
    kind, _, figure = text.partition(":")
    if text == "random":
        return None
    if kind == "zipf" and re.fullmatch(r"([0-9]+\.?[0-9]*)?", figure):
        theta = round(100 * float(figure or "1.1"))
        # fio refuses an exponent of 1.
        if 1 <= theta <= 300 and theta != 100:
            return PatternTable(zipf=Zipf(theta))
    if kind == "zoned" and figure.count(":") > 1:
        # Listed one by one (fio_places).
        return None
    if kind == "zoned" and (zones := re.fullmatch(r"([0-9]+)/([0-9]+):([0-9]*)/([0-9]*)", figure)):
        accesses, size = int(zones[1]), int(zones[2])
        rest = (int(zones[3] or 100 - accesses), int(zones[4] or 100 - size))
        if rest == (100 - accesses, 100 - size) and 1 <= size <= 99 and 0 <= accesses <= 100:
            return PatternTable(hot_cold=HotCold(size, accesses))
    raise job.refuse(
        "random_distribution",
        expected="random, zipf:THETA with 0.01 to 3 but not 1, or zoned with two zones that are 100 % together",
        code="unsupported",
    )


def _percent_random(job: FioJob, reads: int) -> int:
    """Percent of places that are random, of reads and of writes alike. Raises Refused."""
    found = job.sides("percentage_random") or (100, 100)
    share = found[0] if reads else found[1]
    if share > 100 or (0 < reads < 100 and found[0] != found[1]):
        raise job.refuse(
            "percentage_random", expected="0 to 100, equal for reads and writes", code="unsupported"
        )
    return share
