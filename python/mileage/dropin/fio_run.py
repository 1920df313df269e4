"""fio's jobs done: files made, processes side by side, groups one after the other.

Scope: every copy of a job is a process, and the copies of all jobs between two stonewalls begin together. Results
travel to the first process as records of the engine.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from mileage import _core
from mileage.dropin.fio_plan import FioWork, length_of
from mileage.errors import RunFailed

_LAYOUT_BYTES: Final = 1 << 20


@dataclass
class FioResult:
    """What one process did: the engine's records, one for each file."""

    work: FioWork
    group: int
    pid: int = 0
    records: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    errno: int = 0
    ended: float = 0.0
    elapsed_s: float = 0.0


def groups_of(works: list[list[FioWork]]) -> list[list[list[FioWork]]]:
    """The jobs between two stonewalls, in order."""
    found: list[list[list[FioWork]]] = []
    for copies in works:
        if not found or copies[0].job.is_on("stonewall"):
            found.append([])
        found[-1].append(copies)
    return found


def lay_out(works: list[FioWork], say: Callable[[str], None]) -> None:
    """Make the files that are read, as fio does. Raises RunFailed."""
    for work in works:
        if work.workload["pattern"] is None or work.options["api"] == "null":
            continue
        made = 0
        for path in work.paths:
            if os.path.dirname(path) and not os.path.isdir(os.path.dirname(path)):
                raise RunFailed(f"fio: {os.path.dirname(path)}: No such directory", cause="ENOENT")
            held = length_of(path)
            needs = work.reads > 0 or work.job.is_on("overwrite")
            if os.path.exists(path) and not os.path.isfile(path):
                continue
            if held is not None and held >= work.file_bytes:
                continue
            made += 1
            if needs:
                _fill(path, work.file_bytes)
            else:
                _extend(path, work.file_bytes, allocate=work.job.text("fallocate") != "none")
        if made:
            mib = made * work.file_bytes >> 20
            files = "1 file" if made == 1 else f"{made} files"
            say(f"{work.job.name}: Laying out IO file{'s' if made > 1 else ''} ({files} / {mib}MiB)")


def _extend(path: str, length: int, *, allocate: bool) -> None:
    """A new file of this length, with its blocks where the file system can."""
    with open(path, "ab") as file:
        if allocate:
            try:
                os.posix_fallocate(file.fileno(), 0, length)
                return
            except OSError as error:
                if error.errno not in (22, 95):
                    raise RunFailed.from_os_error(f"fio: {path}", error) from error
        os.truncate(file.fileno(), length)


def _fill(path: str, length: int) -> None:
    record = min(_LAYOUT_BYTES, length & -length) if length % _LAYOUT_BYTES else _LAYOUT_BYTES
    record = max(record, 512)
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
        "sync": "none",
        "sync_timed": False,
    }
    _core.run_file(path, json.dumps(workload), json.dumps({"create": True}), None)


def run_group(results: list[FioResult]) -> bool:
    """Do the work of a group: all processes begin together; whether an interrupt ended them early.

    An interrupt ends the engine of every process: what was done until then is in the results, as with fio.
    """
    started = time.time()
    pipes: dict[int, tuple[int, FioResult]] = {}
    sys.stdout.flush()
    gate = os.pipe()
    for result in results:
        link = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(gate[1])
            os.close(link[0])
            _as_child(result.work, link[1], gate[0])
        os.close(link[1])
        result.pid = child
        pipes[child] = (link[0], result)
    os.close(gate[0])
    os.close(gate[1])
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        for child in pipes:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for child, (source, result) in list(pipes.items()):
            text = b"".join(_parts(source))
            os.close(source)
            os.waitpid(child, 0)
            del pipes[child]
            result.ended, result.elapsed_s = time.time(), time.time() - started
            found: dict[str, Any] = (
                json.loads(text) if text else {"error": "the job was lost", "errno": 5, "records": []}
            )
            result.records, result.error, result.errno = found["records"], found["error"], found["errno"]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return interrupted


def _parts(link: int) -> Iterator[bytes]:
    while True:
        part = os.read(link, 1 << 16)
        if not part:
            return
        yield part


def _as_child(work: FioWork, link: int, gate: int) -> None:
    """Do the work of one process and end it."""
    status: dict[str, Any] = {"records": [], "error": "", "errno": 0}
    try:
        interrupt = _Interrupt()
        os.read(gate, 1)
        interrupt.sleep((work.job.time_ns("startdelay") or 0) / 1e9)
        for path in work.paths:
            if interrupt.came:
                break
            status["records"].append(_one_file(work, path, interrupt))
            if error := status["records"][-1].get("error"):
                status["error"], status["errno"] = (
                    str(error.get("message", error)),
                    int(error.get("errno") or 5),
                )
                break
        if work.job.is_on("unlink"):
            for path in work.paths:
                _remove(path)
    except Exception as error:
        status["error"], status["errno"] = str(error), getattr(error, "errno", None) or 22
    finally:
        text = memoryview(json.dumps(status).encode())
        while text:
            text = text[os.write(link, text) :]
        os._exit(0)


class _Interrupt:
    """Whether a signal has asked this process to end."""

    def __init__(self) -> None:
        self.came = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._come)

    def _come(self, *_: object) -> None:
        self.came = True

    def poll(self, *_: object) -> bool:
        """Whether the engine is to stop."""
        return self.came

    def sleep(self, seconds: float) -> None:
        """Rest, but not longer than until the signal."""
        until = time.monotonic() + seconds
        while not self.came and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))


def _one_file(work: FioWork, path: str, interrupt: _Interrupt) -> dict[str, Any]:
    """The records of one file; with verify, of what is read back as well."""
    job, workload = work.job, dict(work.workload)
    if job.is_on("create_only"):
        return {}
    if job.is_on("invalidate", True) and work.options["api"] != "null" and os.path.isfile(path):
        with open(path, "rb") as file:
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    options = json.dumps(work.options)
    text = "{}"
    if not job.is_on("verify_only"):
        text = _core.run_file(path, json.dumps(workload), options, interrupt.poll)
    record: dict[str, Any] = json.loads(text)
    if work.verifies and job.is_on("do_verify", True) and not (record.get("error") or interrupt.came):
        back = {**workload, "verify": "all", "read_percent": 100, "sync": "none", "sync_every": 0, "load": {}}
        if isinstance(back["pattern"], dict) and "access" in back["pattern"]:
            back |= {"pattern": "sequential", "record_bytes": 512}
        checked = json.loads(_core.run_file(path, json.dumps(back), options, interrupt.poll))
        if checked.get("ops_mismatched"):
            for place in checked["mismatches"][:3]:
                sys.stderr.write(f"verify: bad block at {place}\n")
            record["error"] = {"message": f"{checked['ops_mismatched']} blocks differ", "errno": 84}
        record["verified"] = checked
    return record


def _remove(path: str) -> None:
    """Remove a file of a job; copies of a job may share it, and a device node stays."""
    if os.path.isfile(path):
        with suppress(FileNotFoundError):
            os.unlink(path)
