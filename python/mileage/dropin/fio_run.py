"""fio's jobs done: files made, processes side by side, groups one after the other.

Scope: every copy of a job is a process, and the copies of all jobs between two stonewalls begin together. `fio_process`
is what each does; results travel to the first process as records of the engine.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from mileage.dropin.fio_jobs import FioJob
from mileage.dropin.fio_link import ReportLines, Requests
from mileage.dropin.fio_plan import FioWork
from mileage.dropin.fio_process import do_process
from mileage.dropin.fio_timer import ReportTimer

GroupEnd = Literal["done", "interrupted", "ended"]
"""How a group of jobs has ended."""


@dataclass
class FioResult:
    """What one process did."""

    work: FioWork
    group: int
    pid: int = 0
    records: list[dict[str, Any]] = field(default_factory=list)
    """Of the engine, one for each file."""
    verified: list[dict[str, Any]] = field(default_factory=list)
    """Of what was read back; likewise."""
    is_done: bool = False
    """Whether it has ended and reported all."""
    error: str = ""
    errno: int = 0
    process_ms: int = 0
    major_faults: int = 0
    minor_faults: int = 0


def groups_of(works: Sequence[Sequence[FioWork]]) -> list[list[Sequence[FioWork]]]:
    """The jobs between two stonewalls, in order."""
    found: list[list[Sequence[FioWork]]] = []
    for copies in works:
        job = copies[0].job
        waits = "wait_for" in job.options and _waits_for_all(job, found)
        if not found or job.is_on("stonewall") or waits:
            found.append([])
        found[-1].append(copies)
    return found


def _waits_for_all(job: FioJob, batches: list[list[Sequence[FioWork]]]) -> bool:
    """Whether a job waits for the last ones, rather than for earlier ones, which have ended. Raises Refused."""
    name = job.text("wait_for")
    at = next((at for at, own in enumerate(batches) if any(one[0].job.name == name for one in own)), None)
    if at is None:
        raise job.refuse("wait_for", "there is no such job before", code="not-found")
    if at < len(batches) - 1:
        return False
    if any(one[0].job.name != name for one in batches[-1]):
        raise job.refuse("wait_for", "is not built while other jobs run next to that one", code="not-built")
    return True


def run_group(results: list[FioResult], requests: Requests, timer: ReportTimer) -> GroupEnd:
    """Do the work of a group: all processes begin together; `ended`: exitall ends all that follows too.

    An interrupt ends the engine of every process: what was done until then is in the results, as with fio.
    """
    sys.stdout.flush()
    links = _start(results, requests)
    end: GroupEnd = "done"

    def end_all(group: int | None = None) -> None:
        for result in links.values():
            if group in (None, result.group):
                with suppress(ProcessLookupError):
                    os.kill(result.pid, signal.SIGTERM)

    def interrupt(number: int, _frame: object) -> None:
        nonlocal end
        if end != "interrupted":
            sys.stdout.write(f"\nfio: terminating on signal {number}\n")
        end = "interrupted"
        end_all()

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    lines = ReportLines(links, timer.wake)
    # Links of processes that have not answered the last request.
    asked: set[int] = set()
    try:
        while links:
            for link, line in lines.wait(timer.seconds_left()):
                asked.discard(link)
                if line is not None:
                    _take(links[link], line)
                    continue
                result = links.pop(link)
                os.waitpid(result.pid, 0)
                if not result.is_done:
                    result.error, result.errno = "the job was lost", errno.EIO
                if result.work.job.is_on("exitall"):
                    scope = result.work.job.text("exit_what", "group")
                    end_all(result.group if scope == "group" else None)
                    end = "ended" if scope == "all" and end == "done" else end
            if timer.is_due():
                requests.add()
                asked = set(links)
            # Once all have ended, the next report is that of the end, or of the next group.
            if links:
                timer.show_if_complete(asked)
    finally:
        lines.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    return end


def _start(results: list[FioResult], requests: Requests) -> dict[int, FioResult]:
    """Fork a process for each result, and open the gate for all; the results by the pipes from which they come."""
    links: dict[int, FioResult] = {}
    gate = os.pipe()
    for result in results:
        link: tuple[int, int] | None = None
        try:
            link = os.pipe()
            child = os.fork()
        except OSError:
            # The gate stays shut: those that wait at it must not begin.
            for begun in links.values():
                os.kill(begun.pid, signal.SIGKILL)
                os.waitpid(begun.pid, 0)
            for descriptor in (*gate, *links, *(link or ())):
                os.close(descriptor)
            raise
        if child == 0:
            os.close(gate[1])
            os.close(link[0])
            do_process(result.work, link[1], gate[0], requests)
        os.close(link[1])
        result.pid = child
        links[link[0]] = result
    os.close(gate[0])
    os.close(gate[1])
    return links


def _take(result: FioResult, line: bytes) -> None:
    """Take what a process has done so far, or in all."""
    found = json.loads(line)
    result.is_done = found.pop("is_end", False)
    for name, value in found.items():
        setattr(result, name, value)
