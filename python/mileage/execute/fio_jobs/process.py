"""One process of a fio job: its files one after the other, and what is read back.

Scope: runs the engine on each file within the limits of the job; `link` reports the engine's records. What
only some jobs need is imported where it is used, because a small call must start fast.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import time
from contextlib import ExitStack, suppress
from typing import Any, Final, NoReturn

import msgspec

from mileage import _core
from mileage.execute.fio_jobs.layout import IOLOG, Targets, length_of
from mileage.execute.fio_jobs.link import ParentLink, Requests
from mileage.model.operation_kind import OperationKind
from mileage.plan.fio_work import FioFile, FioWork
from mileage.plan.load_model import Load
from mileage.plan.pattern import Pattern, TraceOp
from mileage.plan.workload import Stop
from mileage.targets.door import result_file

_LOGS: Final = ExitStack()
"""Holds the directory of this process's logs."""
_log_of: Final[dict[str, str]] = {}
"""By file, its last log; under "" their directory."""
_SHOWN: Final = 3
"""Differences that are printed."""


def do_process(work: FioWork, targets: Targets, pipe: int, gate: int, requests: Requests) -> NoReturn:
    """Do the work of one process once the gate opens, write its results to the pipe, and end."""
    parent = ParentLink(pipe, requests)
    status = parent.status
    try:
        os.read(gate, 1)
        parent.sleep(work.start_delay_ns / 1e9)
        parent.begin()
        if work.processors:
            os.sched_setaffinity(0, work.processors)
        if work.does == "processor":
            from mileage.execute.fio_jobs.steps import use_processor

            use_processor(work, parent)
        elif work.does != "transfers":
            from mileage.execute.fio_jobs.steps import handle_files

            handle_files(work, targets, parent)
        elif not work.only_lays_out:
            _do_files(work, targets, parent)
            if work.iolog:
                _write_iolog(work)
        if work.removes:
            for file in work.files:
                with suppress(FileNotFoundError):
                    # Copies of a job may share it.
                    targets[file.path].remove()
    except Exception as error:
        status["error"], status["errno"] = str(error), getattr(error, "errno", None) or errno.EINVAL
    finally:
        _LOGS.close()
        parent.end()
        os._exit(0)


def _do_files(work: FioWork, targets: Targets, parent: ParentLink) -> None:
    """Do all files, then read back what was written; with loops both again and again."""
    status = parent.status
    # Read once before the first file and once after each: time between two readings would be missing in the results.
    now_ns = time.monotonic_ns()
    until_ns = now_ns + work.limit_ns
    loops = work.loops if work.verification.reads_back and not work.timed else 1
    for loop in range(loops):
        done: list[dict[str, Any]] = []
        for at, file in enumerate(work.files):
            left = len(work.files) * (loops - loop) - at
            limit_ns = max((until_ns - now_ns) // left, 0) if work.limit_ns else 0
            if parent.came or (work.limit_ns and not limit_ns):
                break
            _invalidate(work, file)
            stop = _stop_of(work, file, limit_ns, loops)
            if work.writes and work.omits_writes:
                from mileage.execute.fio_jobs.steps import unwritten

                record = unwritten(_blocks_of(work, file, stop), work.workload.record_bytes)
            else:
                record = _run(file, work, targets, parent, stop, warms_up=at + loop == 0)
                _lengthen(record, stop, parent)
                if work.writes and work.last_sync:
                    _sync_at_end(work, file, record)
            now_ns = time.monotonic_ns()
            done.append(record)
            status["records"].append(record)
            if _failed(status, record):
                return
        if work.verification.reads_back:
            _read_back(work, targets, parent, done)
            now_ns = time.monotonic_ns()
        if status["error"]:
            return


def _stop_of(work: FioWork, file: FioFile, limit_ns: int, loops: int) -> Stop:
    """The limits of a file in one of `loops` equal loops."""
    record = work.workload.record_bytes
    return Stop(
        bytes=max(file.amount // loops // record, 1) * record if file.amount else None,
        operations=None if file.operations is None else max(file.operations // loops, 1),
        time_ns=limit_ns or None,
    )


def _blocks_of(work: FioWork, file: FioFile, stop: Stop) -> int:
    """Operations that a file has within its limits."""
    count = (file.span if stop.bytes is None else stop.bytes) // work.workload.record_bytes
    listed = len(_listed(work, file)) if work.rule is not None else count
    return min(count, listed, count if stop.operations is None else stop.operations)


def _lengthen(record: dict[str, Any], stop: Stop, parent: ParentLink) -> None:
    """Count the rest of the time in which a limited rate or a pause let nothing begin, as fio does."""
    moved, operations = (
        sum(record.get(f"{unit}_{kind}", 0) for kind in ("read", "written", "discarded"))
        for unit in ("bytes", "ops")
    )
    is_done = any(
        limit is not None and done >= limit
        for done, limit in ((moved, stop.bytes), (operations, stop.operations))
    )
    if stop.time_ns is not None and not is_done and not record.get("error") and not parent.came:
        record["elapsed_ns"] = max(record["elapsed_ns"], stop.time_ns)


def _sync_at_end(work: FioWork, file: FioFile, record: dict[str, Any]) -> None:
    """Sync a file whose syncs between writes are counted, without counting this one; end_fsync counts its time."""
    began_ns = time.monotonic_ns()
    with open(file.path, "rb") as opened:
        os.fsync(opened.fileno())
    if work.last_sync == "timed":
        record["elapsed_ns"] += time.monotonic_ns() - began_ns


def _invalidate(work: FioWork, file: FioFile) -> None:
    """Drop a file or device from the page cache; what is dirty stays, as fio does not sync here."""
    if not (work.invalidates and work.has_files):
        return
    with suppress(FileNotFoundError), open(file.path, "rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _run(
    file: FioFile,
    work: FioWork,
    targets: Targets,
    parent: ParentLink,
    stop: Stop,
    *,
    kind: str = "records",
    warms_up: bool = True,
    **changes: Any,
) -> dict[str, Any]:
    """The engine's record of one file; `kind`: where it will be in the results; `changes`: of what is read back."""
    if work.rule is not None and not changes:
        from mileage.execute.fio_jobs.places import pattern_of

        operations = _listed(work, file)
        changes = {
            "pattern": pattern_of(operations),
            "read_percent": 100,
            "record_bytes": max(operation.length_bytes for operation in operations),
        }
        count = len(operations) if stop.operations is None else min(len(operations), stop.operations)
        stop = Stop(operations=count, time_ns=stop.time_ns)
    workload = work.on_file(file, stop, **changes)
    if not warms_up:
        load = msgspec.structs.replace(workload.load, warm_up_ns=0)
        workload = msgspec.structs.replace(workload, load=load)
    more: dict[str, Any] = {}
    if work.has_files:
        more |= targets[file.path].engine_options(writes=work.writes and kind == "records")
    if kind == "records" and work.is_logged:
        # The engine writes a log to no file that is there.
        more["log"] = new_log(file)
    if kind == "records" and work.drops_cache:
        more["drop_cache_every_bytes"] = file.span
    found: dict[str, Any] = json.loads(
        _core.run_file(
            targets[file.path].engine_path if work.has_files else file.path,
            workload.to_json(),
            msgspec.structs.replace(work.options, **more).to_json(),
            parent.poll,
            functools.partial(parent.interim, kind),
        )
    )
    return found


def _failed(status: dict[str, Any], record: dict[str, Any]) -> bool:
    """Take over the error of a record, or what differed."""
    if (record.get("log") or {}).get("lost"):
        status["error"], status["errno"] = "operations are missing from the log", errno.EIO
    if wrong := record.get("ops_mismatched"):
        status["mismatches"] = record["mismatches"][:_SHOWN]
        status["error"], status["errno"] = f"{wrong} blocks differ", errno.EILSEQ
    elif error := record.get("error"):
        status["error"], status["errno"] = (
            str(error.get("message", error)),
            int(error.get("errno") or errno.EIO),
        )
    return bool(status["error"])


def _read_back(work: FioWork, targets: Targets, parent: ParentLink, done: list[dict[str, Any]]) -> None:
    """Read and compare the places that were written; `done`: the records of the files."""
    changes: dict[str, Any] = {
        "read_percent": 100,
        "sync": "none",
        "sync_every": 0,
        "sync_last": True,
        "load": Load(),
        "verify": "all" if work.verification.kind == "compare" else "off",
    }
    for file, record in zip(work.files, done, strict=False):
        if parent.came:
            return
        places = _places_of_mix(work, file) if work.is_mix else _places(work, file, record)
        if places is None:
            continue
        changes["pattern"], count = places
        stop = Stop(operations=count)
        checked = _run(file, work, targets, parent, stop, kind="verified", **changes)
        parent.status["verified"].append(checked)
        if _failed(parent.status, checked):
            return


def _listed(work: FioWork, file: FioFile) -> list[TraceOp]:
    """The operations of a job whose places are listed."""
    from mileage.execute.fio_jobs.places import operations_of

    return operations_of(work, file, length_of(file.path) or file.end if work.has_files else file.end)


def _reading(places: set[tuple[int, int]]) -> tuple[Pattern, int] | None:
    """Reads of places, each once; None where there are none."""
    from mileage.execute.fio_jobs.places import pattern_of

    kind: OperationKind = "read"
    operations = [TraceOp(0, kind, offset, length) for offset, length in sorted(places)]
    return (pattern_of(operations), len(operations)) if operations else None


def _places(work: FioWork, file: FioFile, record: dict[str, Any]) -> tuple[Pattern, int] | None:
    """The pattern of writing, now of reads, and how many operations to do of it; None for nothing."""
    count = record.get("ops_written", 0)
    if work.rule is not None:
        done = _listed(work, file)[:count]
        return _reading({(one.offset_bytes, one.length_bytes) for one in done})
    if work.is_visited_once:
        count = min(count, file.span // work.workload.record_bytes)
    return (work.places_of_reads(), count) if count else None


def _places_of_mix(work: FioWork, file: FioFile) -> tuple[Pattern, int] | None:
    """The places of a mix that were written, each once; None where there are none."""
    name = log_of(file)
    try:
        with open(name) as log:
            rows = [row.rstrip("\n").split(",") for row in log][1:]
    except FileNotFoundError:
        return None
    return _reading({(int(row[5]) - file.start, int(row[6])) for row in rows if row[4] == "write"})


def _write_iolog(work: FioWork) -> None:
    """Write the operations as fio's log of version 3: microseconds, file, operation, offset, length."""
    import csv

    sync = "datasync" if work.workload.sync == "fdatasync" else "sync"
    with result_file("fio", work.iolog, IOLOG, text=True) as file:
        file.write("fio version 3 iolog\n")
        base_us = 0
        for one in work.files:
            with open(log_of(one)) as log:
                found = [row for row in csv.reader(log) if row[0] != "start_ns"]
            file.write(f"{base_us} {one.path} add\n{base_us} {one.path} open\n")
            last_us = base_us
            for start_ns, _, _, _, kind, offset, length in sorted(found, key=lambda row: int(row[0])):
                last_us = base_us + int(start_ns) // 1000
                word = {"sync": sync, "discard": "trim"}.get(kind, kind)
                file.write(f"{last_us} {one.path} {word} {offset} {length}\n")
            file.write(f"{last_us} {one.path} close\n")
            base_us = last_us


def new_log(file: FioFile) -> str:
    """A path for the engine's log of operations of a file, which must not exist; it is removed with the process."""
    from mileage.scratch import scratch_directory

    if not _log_of:
        _log_of[""] = str(_LOGS.enter_context(scratch_directory()))
    _log_of[file.path] = os.path.join(_log_of[""], str(len(os.listdir(_log_of[""]))))
    return _log_of[file.path]


def log_of(file: FioFile) -> str:
    """The last log of a file; nothing is there where it was not worked on."""
    return _log_of.get(file.path, "")
