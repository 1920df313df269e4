"""The files of fio's jobs: checked before anything is done, and made where they are missing or too short.

Scope: what each job does to its files, as the door asks (`targets.door`): writing, and removing with unlink=1 and
filedelete. A file that is read and too short is laid out, which is writing. Room for all files together.
What it refuses: what the door refuses, more than fits, and places of results that must not be replaced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Final

from mileage import _core
from mileage.dropin.fio_files import FioFile, length_of
from mileage.dropin.fio_logs import LOG, paths_of_logs
from mileage.dropin.fio_plan import FioWork
from mileage.dropin.fio_process import IOLOG
from mileage.errors import RunFailed
from mileage.targets.door import Door, check_result
from mileage.targets.room import Room

_LAYOUT_BYTES: Final = 1 << 20


def check_files(works: Sequence[FioWork], door: Door) -> None:
    """Refuse files that must not be written or removed, and what does not fit. Raises Refused."""
    uses: dict[str, tuple[bool, bool]] = {}
    room = Room("fio")
    for work in works:
        for path in paths_of_logs(work):
            check_result("fio", path, LOG)
        if "write_iolog" in work.job.options:
            check_result("fio", work.job.text("write_iolog"), IOLOG)
        for file in work.files if work.options["api"] != "null" else ():
            is_short = (length_of(file.path) or 0) < file.end
            changes = work.writes and not work.job.is_on("verify_only")
            writes, removes = uses.get(file.path, (False, False))
            removed = work.job.is_on("unlink") or work.job.text("ioengine") == "filedelete"
            uses[file.path] = (writes or changes or is_short, removes or removed)
            if is_short or changes:
                room.add(file.path, _bytes_of(work, file))
            if work.job.is_on("unlink"):
                door.passing(file.path)
    for work in works:
        for file in work.files if work.options["api"] != "null" else ():
            writes, removes = uses[file.path]
            file.work = door.work(file.path, writes=writes, removes=removes)
    room.check()
    door.list_passing()


def _bytes_of(work: FioWork, file: FioFile) -> int:
    """Space that a file needs: all of it, unless it is only written and grows as it is."""
    if work.job.text("ioengine") == "filecreate":
        return 0
    grows = work.job.text("fallocate") in ("none", "0", "truncate") and work.reads == 0
    return min(file.end, file.amount) if grows and file.amount else file.end


def lay_out(works: Sequence[FioWork], say: Callable[[str], None]) -> None:
    """Make the files that are read, as fio does. Raises RunFailed."""
    for work in works:
        if work.options["api"] == "null" or work.job.text("ioengine") == "filecreate":
            continue
        made: list[FioFile] = []
        for file in work.files:
            folder = os.path.dirname(file.path)
            if folder and not os.path.isdir(folder):
                raise RunFailed(f"fio: {folder}: No such directory", cause="ENOENT")
            held = length_of(file.path)
            if file.target.is_device or (held is not None and held >= file.end):
                continue
            made.append(file)
            try:
                if work.reads > 0 or work.job.is_on("overwrite"):
                    _fill(file, work.sizes[1][1], synced=work.job.is_on("create_fsync", True))
                else:
                    allocates = work.job.text("fallocate") not in ("none", "0", "truncate")
                    file.target.resize(file.end, allocate=allocates)
            except OSError as error:
                raise RunFailed.from_os_error(f"fio: {file.path}", error) from error
        if made:
            mib = sum(file.end for file in made) >> 20
            files = f"1 file / {mib}MiB" if len(made) == 1 else f"{len(made)} files / total {mib}MiB"
            say(f"{work.job.name}: Laying out IO file{'s' if len(made) > 1 else ''} ({files})")


def _fill(file: FioFile, block: int, *, synced: bool) -> None:
    """Write a file as fio does: in the job's largest blocks of writes, as far as they divide it, and a sync.

    Raises OSError and RunFailed.
    """
    length = file.end
    record = block if length % block == 0 else max(min(_LAYOUT_BYTES, length & -length), 512)
    workload = {
        "pattern": "sequential",
        "read_percent": 0,
        "record_bytes": record,
        "span_start_bytes": 0,
        "span_bytes": -(-length // record) * record,
        "depth": 1,
        "threads": 1,
        "stop": {"bytes": -(-length // record) * record},
        "seed": 1,
        "content": "incompressible",
        "sync": "fsync" if synced else "none",
        "sync_timed": False,
    }
    options = {"create": True, **file.target.engine_options(writes=True)}
    record = json.loads(
        _core.run_file(file.target.engine_path, json.dumps(workload), json.dumps(options), None)
    )
    if error := record.get("error"):
        raise RunFailed(f"fio: {file.path}: {error.get('message', error)}", cause=error.get("kind") or "EIO")
    # Written in whole records, which may end behind the length.
    file.target.resize(length)
