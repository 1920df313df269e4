"""One process of a fio job: its files one after the other, and what is read back.

Scope: runs the engine on each file within the limits of the job; `fio_link` reports the engine's records.
"""

from __future__ import annotations

import csv
import errno
import functools
import itertools
import json
import os
import random
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any, Final, NoReturn

from mileage import _core
from mileage.dropin.fio_files import FioFile, length_of
from mileage.dropin.fio_link import ParentLink, Requests
from mileage.dropin.fio_places import trace_of
from mileage.dropin.fio_plan import FioWork, syncs_apart
from mileage.dropin.fio_steps import handle_files, unwritten, use_processor
from mileage.dropin.fio_trims import pairs_of
from mileage.targets.door import result_file

IOLOG: Final = "fio-iolog"
"""Kind of a result: the operations of a job."""
_SHOWN: Final = 3
"""Differences that are printed."""


def do_process(work: FioWork, pipe: int, gate: int, requests: Requests) -> NoReturn:
    """Do the work of one process once the gate opens, write its results to the pipe, and end."""
    parent = ParentLink(pipe, requests)
    status = parent.status
    try:
        os.read(gate, 1)
        parent.sleep((work.job.time_ns("startdelay") or 0) / 1e9)
        parent.begin()
        if work.processors:
            os.sched_setaffinity(0, work.processors)
        if work.job.text("ioengine") == "cpuio":
            use_processor(work, parent)
        elif work.options["api"] == "files":
            handle_files(work, parent)
        elif not work.job.is_on("create_only"):
            _do_files(work, parent)
            if "write_iolog" in work.job.options:
                _write_iolog(work)
        if work.job.is_on("unlink"):
            for file in work.files:
                with suppress(FileNotFoundError):
                    # Copies of a job may share it.
                    file.target.remove()
    except Exception as error:
        status["error"], status["errno"] = str(error), getattr(error, "errno", None) or errno.EINVAL
    finally:
        for file in work.files:
            remove_log(file)
        parent.end()
        os._exit(0)


def _do_files(work: FioWork, parent: ParentLink) -> None:
    """Do all files, then read back what was written; with loops both again and again."""
    status = parent.status
    # Read once before the first file and once after each: time between two readings would be missing in the results.
    now_ns = time.monotonic_ns()
    until_ns = now_ns + work.limit_ns
    loops = max(work.job.number("loops", 1), 1) if work.verification.reads_back and not work.timed else 1
    for loop in range(loops):
        done: list[dict[str, Any]] = []
        for at, file in enumerate(work.files):
            left = len(work.files) * (loops - loop) - at
            limit_ns = max((until_ns - now_ns) // left, 0) if work.limit_ns else 0
            if parent.came or (work.limit_ns and not limit_ns):
                break
            _invalidate(work, file)
            stop = _stop_of(work, file, limit_ns, loops)
            if work.writes and work.job.is_on("verify_only"):
                record = unwritten(_blocks_of(work, file, stop), work.workload["record_bytes"])
            else:
                record = _run(file, work, parent, stop, warms_up=at + loop == 0)
                _lengthen(record, stop, parent)
                if work.writes and syncs_apart(work.job):
                    _sync_at_end(work, file, record)
            now_ns = time.monotonic_ns()
            done.append(record)
            status["records"].append(record)
            if _failed(status, record):
                return
        if work.verification.reads_back:
            _read_back(work, parent, done)
            now_ns = time.monotonic_ns()
        if status["error"]:
            return


def _stop_of(work: FioWork, file: FioFile, limit_ns: int, loops: int) -> dict[str, int]:
    """The limits of a file in one of `loops` equal loops."""
    stop: dict[str, int] = {}
    record = work.workload["record_bytes"]
    if limit_ns:
        stop["time_ns"] = limit_ns
    if file.amount:
        stop["bytes"] = max(file.amount // loops // record, 1) * record
    if file.operations is not None:
        stop["operations"] = max(file.operations // loops, 1)
    return stop


def _blocks_of(work: FioWork, file: FioFile, stop: dict[str, int]) -> int:
    """Operations that a file has within its limits."""
    record: int = work.workload["record_bytes"]
    count = stop.get("bytes", file.span) // record
    listed = len(_listed(work, file)) if work.rule is not None else count
    return min(count, listed, stop.get("operations", count))


def _lengthen(record: dict[str, Any], stop: dict[str, int], parent: ParentLink) -> None:
    """Count the rest of the time in which a limited rate or a pause let nothing begin, as fio does."""
    moved, operations = (
        sum(record.get(f"{unit}_{kind}", 0) for kind in ("read", "written", "discarded"))
        for unit in ("bytes", "ops")
    )
    is_done = moved >= stop.get("bytes", moved + 1) or operations >= stop.get("operations", operations + 1)
    if "time_ns" in stop and not is_done and not record.get("error") and not parent.came:
        record["elapsed_ns"] = max(record["elapsed_ns"], stop["time_ns"])


def _sync_at_end(work: FioWork, file: FioFile, record: dict[str, Any]) -> None:
    """Sync a file whose syncs between writes are counted, without counting this one; end_fsync counts its time."""
    began_ns = time.monotonic_ns()
    with open(file.path, "rb") as opened:
        os.fsync(opened.fileno())
    if work.job.is_on("end_fsync"):
        record["elapsed_ns"] += time.monotonic_ns() - began_ns


def _invalidate(work: FioWork, file: FioFile) -> None:
    """Drop a file or device from the page cache; what is dirty stays, as fio does not sync here."""
    if not work.job.is_on("invalidate", True) or work.options["api"] == "null":
        return
    with suppress(FileNotFoundError), open(file.path, "rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _run(
    file: FioFile,
    work: FioWork,
    parent: ParentLink,
    stop: dict[str, int],
    *,
    kind: str = "records",
    warms_up: bool = True,
    **changes: Any,
) -> dict[str, Any]:
    """The engine's record of one file; `kind`: where it will be in the results."""
    workload = {
        **work.workload,
        "span_start_bytes": file.start,
        "span_bytes": file.span,
        "stop": stop,
        **changes,
    }
    if work.rule is not None and "pattern" not in changes:
        operations = _listed(work, file)
        workload |= {"pattern": _trace(operations), "read_percent": 100}
        workload["record_bytes"] = max(operation["length_bytes"] for operation in operations)
        stop["operations"] = min(len(operations), stop.get("operations", len(operations)))
        stop.pop("bytes", None)
    if not warms_up:
        workload["load"] = {**workload["load"], "warm_up_ns": 0}
    options = dict(work.options)
    if work.options["api"] != "null":
        options |= file.target.engine_options(writes=work.writes and "pattern" not in changes)
    is_logged = (work.is_mix and work.verification.reads_back) or "write_iolog" in work.job.options
    if is_logged and "pattern" not in changes:
        # The engine writes a log to no file that is there.
        remove_log(file)
        options["log"] = log_of(file)
    if work.drops_cache and "pattern" not in changes:
        options["drop_cache_every_bytes"] = file.span
    found: dict[str, Any] = json.loads(
        _core.run_file(
            file.target.engine_path if work.options["api"] != "null" else file.path,
            json.dumps(workload),
            json.dumps(options),
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
        for place in record["mismatches"][:_SHOWN]:
            sys.stderr.write(f"verify: bad block at {place}\n")
        status["error"], status["errno"] = f"{wrong} blocks differ", errno.EILSEQ
    elif error := record.get("error"):
        status["error"], status["errno"] = (
            str(error.get("message", error)),
            int(error.get("errno") or errno.EIO),
        )
    return bool(status["error"])


def _read_back(work: FioWork, parent: ParentLink, done: list[dict[str, Any]]) -> None:
    """Read and compare the places that were written; `done`: the records of the files."""
    changes: dict[str, Any] = {
        "read_percent": 100,
        "sync": "none",
        "sync_every": 0,
        "sync_last": True,
        "load": {},
        "verify": "all" if work.verification.kind == "compare" else "off",
    }
    for file, record in zip(work.files, done, strict=False):
        if parent.came:
            return
        places = _places_of_mix(work, file) if work.is_mix else _places(work, file, record)
        if places is None:
            continue
        pattern, count = places
        changes["pattern"] = pattern
        checked = _run(file, work, parent, {"operations": count}, kind="verified", **changes)
        parent.status["verified"].append(checked)
        if _failed(parent.status, checked):
            return


def _listed(work: FioWork, file: FioFile) -> list[dict[str, Any]]:
    """The operations of a job whose places are listed."""
    assert work.rule is not None
    held = file.end if work.options["api"] == "null" else length_of(file.path) or file.end
    record, seed = work.workload["record_bytes"], work.workload["seed"]
    if work.rule.trims:
        loops = max(work.job.number("loops", 1), 1)
        found = pairs_of(work.job, list(work.rule.trims), file.span, loops, random.Random(seed))
        # Limits of the job hold for writes and trims alike.
        moved = itertools.accumulate(operation["length_bytes"] for operation in found[::2])
        return found[: 2 * sum(before < file.amount for before in (0, *moved))]
    return trace_of(work.rule, file, record, held, work.reads, seed)


def _trace(operations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"trace": {"operations": operations, "timed": False}}


def _reading(places: set[tuple[int, int]]) -> tuple[Any, int] | None:
    """Reads of places, each once; None where there are none."""
    operations = [
        {"at_ns": 0, "kind": "read", "offset_bytes": offset, "length_bytes": length}
        for offset, length in sorted(places)
    ]
    return (_trace(operations), len(operations)) if operations else None


def _places(work: FioWork, file: FioFile, record: dict[str, Any]) -> tuple[Any, int] | None:
    """The pattern of writing, now of reads, and how many operations to do of it; None for nothing."""
    pattern = work.workload["pattern"]
    if isinstance(pattern, dict) and "access" in pattern:
        lines = [{**line, "read_percent": 100} for line in pattern["access"]["lines"]]
        pattern = {"access": {"lines": lines}}
    record_bytes = work.workload["record_bytes"]
    blocks = file.span // record_bytes
    count = record.get("ops_written", 0)
    if work.rule is not None:
        done = _listed(work, file)[:count]
        return _reading({(one["offset_bytes"], one["length_bytes"]) for one in done})
    if work.is_visited_once:
        count = min(count, blocks)
    return (pattern, count) if count else None


def _places_of_mix(work: FioWork, file: FioFile) -> tuple[Any, int] | None:
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
    sync = "datasync" if work.workload["sync"] == "fdatasync" else "sync"
    with result_file("fio", work.job.text("write_iolog"), IOLOG, text=True) as file:
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


def log_of(file: FioFile) -> str:
    """The engine's log of operations of a file, which is removed at the end of the process."""
    return os.path.join(tempfile.gettempdir(), f"mileage-fio-{os.getpid()}-{abs(hash(file.path))}")


def remove_log(file: FioFile) -> None:
    """Remove the log of a file."""
    with suppress(FileNotFoundError):
        os.unlink(log_of(file))
