"""The files of fio's jobs: checked before anything is done, and made where they are missing or too short.

Scope: what each job does to its files, as the door asks (`targets.door`): writing, and removing with unlink=1 and
filedelete. A file that is read and too short is laid out, which is writing. Room for all files together.
What it refuses: what the door refuses, more than fits, and places of results that must not be replaced.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mileage import _core
from mileage.errors import Refused, RunFailed
from mileage.plan.fio_work import FioFile, FioOptions, FioWork, FioWorkload
from mileage.plan.workload import Stop
from mileage.targets.door import Door, WorkPath, check_result
from mileage.targets.room import Room

IOLOG: Final = "fio-iolog"
"""Kind of a result: the operations of a job."""
Targets = Mapping[str, WorkPath]
"""The files by their paths, as the door has checked them."""


def check_files(works: Sequence[FioWork], door: Door) -> Targets:
    """The files of all processes; refuses those that must not be written or removed, and what does not fit.

    Raises Refused.
    """
    uses: dict[str, tuple[bool, bool]] = {}
    room = Room("fio")
    # A file that one of the jobs keeps stays.
    passing: dict[str, bool] = {}
    for work in works:
        if work.iolog:
            check_result("fio", work.iolog, IOLOG)
        for file in work.files if work.has_files else ():
            is_short = (length_of(file.path) or 0) < file.end
            changes = work.writes and not work.omits_writes
            writes, removes = uses.get(file.path, (False, False))
            removed = work.removes or work.does == "delete"
            uses[file.path] = (writes or changes or is_short, removes or removed)
            if is_short or changes:
                room.add(file.path, _bytes_of(work, file))
            passing[file.path] = passing.get(file.path, True) and work.removes
    targets = {
        path: door.work(path, writes=writes, removes=removes) for path, (writes, removes) in uses.items()
    }
    room.check()
    for path in (path for path, passes in passing.items() if passes):
        door.passing(path)
    door.list_passing()
    return targets


def _bytes_of(work: FioWork, file: FioFile) -> int:
    """Space that a file needs: all of it, unless it is only written and grows as it is."""
    if work.does == "create":
        return 0
    grows = not work.layout.allocates and work.reads == 0
    return min(file.end, file.amount) if grows and file.amount else file.end


def lay_out(works: Sequence[FioWork], targets: Targets, say: Callable[[str], None]) -> None:
    """Make the files that are read, as fio does. Raises RunFailed."""
    for work in works:
        if not work.has_files or work.does == "create":
            continue
        made: list[FioFile] = []
        for file in work.files:
            folder = os.path.dirname(file.path)
            if folder and not os.path.isdir(folder):
                raise RunFailed(f"fio: {folder}: No such directory", cause="ENOENT")
            held, target = length_of(file.path), targets[file.path]
            if target.is_device or (held is not None and held >= file.end):
                continue
            made.append(file)
            try:
                if work.layout.fills:
                    _fill(file.end, target, work.sizes[1][1], syncs=work.layout.syncs)
                else:
                    target.resize(file.end, allocate=work.layout.allocates)
            except OSError as error:
                raise RunFailed.from_os_error(f"fio: {file.path}", error) from error
        if made:
            mib = sum(file.end for file in made) >> 20
            files = f"1 file / {mib}MiB" if len(made) == 1 else f"{len(made)} files / total {mib}MiB"
            say(f"{work.name}: Laying out IO file{'s' if len(made) > 1 else ''} ({files})")


def _fill(length: int, target: WorkPath, block: int, *, syncs: bool) -> None:
    """Write a file as fio does: in the job's largest blocks of writes, the last one as short as the rest, and a sync.

    Raises OSError and RunFailed.
    """
    rest = length % block
    target.resize(length)
    for start, span, record in ((0, length - rest, block), (length - rest, rest, rest)):
        if not span:
            continue
        workload = FioWorkload(
            pattern="sequential",
            read_percent=0,
            record_bytes=record,
            span_start_bytes=start,
            span_bytes=span,
            depth=1,
            threads=1,
            stop=Stop(bytes=span),
            seed=1,
            sync="fsync" if syncs and start + span == length else "none",
        )
        options = FioOptions(create=True, **target.engine_options(writes=True))
        done = json.loads(_core.run_file(target.engine_path, workload.to_json(), options.to_json(), None))
        if error := done.get("error"):
            raise RunFailed(
                f"fio: {target.path}: {error.get('message', error)}", cause=error.get("kind") or "EIO"
            )


def length_of(path: str) -> int | None:
    """Bytes of a file or block device; None where it is not there. Raises Refused for anything else."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if stat.S_ISBLK(found.st_mode):
        with open(path, "rb") as device:
            return device.seek(0, os.SEEK_END)
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"fio: {path}", "is neither a file nor a block device", code="unsupported")
    return found.st_size
