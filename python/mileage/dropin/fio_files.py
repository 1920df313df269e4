"""Files of one process of a fio job: names, the part of each that is worked on, and how much is done there.

Scope: the rules of fio (filesetup.c). size is that of all files together; filesize that of each. A share in percent is
one of what a file holds. Limits of a job (size, io_size, number_ios, loops) are dealt to its files in equal parts.
What it refuses: a part that is smaller than a block, percents of a file that is not there.
"""

from __future__ import annotations

import os
import re
from typing import Final

from mileage.dropin.fio_jobs import FioJob
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.execute.fio_jobs.layout import length_of
from mileage.plan.fio_work import FioFile

_NULL_BYTES: Final = 1 << 40
"""Length of a file of the engine null."""
_FILES_MAX: Final = 1_000_000


def files_of(job: FioJob, number: int, record: int, least: int, *, timed: bool) -> list[FioFile]:
    """The files of copy `number`; blocks have `least` to `record` bytes. Raises Refused."""
    paths = _paths(job, number)
    found = [_part(job, path, number, record, least, (at, len(paths))) for at, path in enumerate(paths)]
    if timed:
        return found
    loops = max(job.number("loops", 1), 1)
    share, amount = job.percent_or_size("io_size")
    if amount:
        for file, blocks in zip(found, _dealt(max(amount // record, 1), len(found)), strict=True):
            file.amount = blocks * record * loops
    else:
        for file in found:
            part = file.span if share is None else file.span * share // 100 // record * record
            file.amount = max(part, record) * loops
        _cut(job, found, record * loops)
    if "number_ios" in job.options and (count := job.number("number_ios", 0)):
        for file, operations in zip(found, _dealt(count * loops, len(found)), strict=True):
            file.operations = operations
    return [file for file in found if file.amount and file.operations != 0]


def _cut(job: FioJob, files: list[FioFile], block: int) -> None:
    """With filesize and a smaller size, no more than size is done in all files together."""
    percent, size = job.percent_or_size("size")
    if "filesize" not in job.options or percent is not None or not size:
        return
    loops = max(job.number("loops", 1), 1)
    if size * loops < sum(file.amount for file in files):
        for file, blocks in zip(files, _dealt(max(size * loops // block, 1), len(files)), strict=True):
            file.amount = blocks * block


def _dealt(total: int, count: int) -> list[int]:
    """Equal parts; the first ones have the rest."""
    each, rest = divmod(total, count)
    return [each + (at < rest) for at in range(count)]


def _paths(job: FioJob, number: int) -> list[str]:
    """The files of one copy: those that are named, or fio's own names."""
    directories = [name for name in re.split(r"(?<!\\):", job.text("directory")) if name]
    named = [name.replace("\\:", ":") for name in re.split(r"(?<!\\):", job.text("filename")) if name]
    if not named:
        count = max(job.number("nrfiles", 1), 1)
        if count > _FILES_MAX:
            raise Refused(
                f"fio: [{job.name}] nrfiles={count}", expected=f"at most {_FILES_MAX:,}", code="out-of-range"
            )
        form = job.text("filename_format", "$jobname.$jobnum.$filenum")
        base = job.name.replace("/", "_")
        named = [
            form.replace("$jobname", base).replace("$jobnum", str(number)).replace("$filenum", str(file))
            for file in range(count)
        ]
    # fio deals the copies of a job to the directories.
    directory = directories[number % len(directories)].replace("\\:", ":") if directories else ""
    return [os.path.join(directory, name) if directory else name for name in named]


def _part(job: FioJob, path: str, number: int, record: int, least: int, place: tuple[int, int]) -> FioFile:
    """The part that is worked on of the file at `place`: its index, and how many there are. Raises Refused."""
    at, count = place
    held = _NULL_BYTES if job.text("ioengine") == "null" else length_of(path) or 0
    start = _start(job, held, number, least)
    percent, size = job.percent_or_size("size")
    filesize = job.size("filesize")
    if filesize is not None:
        span = filesize - start
    elif size:
        # What does not divide is given to the first files in whole blocks.
        rest = (size - size // count * count) // least
        span = size // count + (least if at < rest else 0)
    elif held:
        span = held - start
    else:
        raise ToolRefusal(
            "fio",
            f"fio: [{job.name}]",
            f"no size: {path} is not there or empty",
            expected="size=",
            code="missing",
        )
    if percent is not None:
        span = min((span + start) * percent // 100, span)
    if span < record:
        raise job.refuse("size", f"is smaller than a block in {path}", code="out-of-range")
    if start % (record if record == least else 512):
        raise job.refuse(
            "offset", f"{start} is no multiple of the block, which is not built", code="not-built"
        )
    return FioFile(path, start, span // record * record, start + span)


def _start(job: FioJob, held: int, number: int, least: int) -> int:
    """First byte of a file; one from percents is rounded up to a block."""
    share, offset = job.percent_or_size("offset")
    step_share, step = job.percent_or_size("offset_increment")
    found = (held * share // 100 if share is not None else offset or 0) + number * (
        held * step_share // 100 if step_share is not None else step or 0
    )
    if share is None and step_share is None:
        return found
    align = job.size("offset_align") or least
    return -(-found // align) * align
