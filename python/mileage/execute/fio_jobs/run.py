"""fio's jobs done: files made, processes side by side, groups one after the other.

Scope: every copy of a job is a process, and the copies of all jobs between two stonewalls begin together. `process`
is what each does; results travel to the first process as records of the engine.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from mileage.execute.fio_jobs.layout import Targets
from mileage.execute.fio_jobs.link import ReportLines, Requests
from mileage.execute.fio_jobs.process import do_process
from mileage.plan.fio_work import FioWork

GroupEnd = Literal["done", "interrupted", "ended"]
"""How a group of jobs has ended."""


Work = TypeVar("Work", bound=FioWork)


class FioResult(msgspec.Struct, Generic[Work]):
    """What one process did."""

    work: Work
    group: int
    pid: int = 0
    records: list[dict[str, Any]] = []
    """Of the engine, one for each file."""
    verified: list[dict[str, Any]] = []
    """Of what was read back; likewise."""
    is_done: bool = False
    """Whether it has ended and reported all."""
    mismatches: list[Any] = []
    """The first places whose data differ."""
    error: str = ""
    errno: int = 0
    process_ms: int = 0
    major_faults: int = 0
    minor_faults: int = 0


def run_group(
    results: Sequence[FioResult[Work]],
    targets: Targets,
    requests: Requests,
    timer: ReportTimer,
    interrupted: Callable[[int], None],
) -> GroupEnd:
    """Do the work of a group: all processes begin together; `ended`: one ends all that follows too.

    An interrupt ends the engine of every process: what was done until then is in the results, as with fio.
    """
    sys.stdout.flush()
    links = _start(results, targets, requests)
    end: GroupEnd = "done"

    def end_all(group: int | None = None) -> None:
        for result in links.values():
            if group in (None, result.group):
                with suppress(ProcessLookupError):
                    os.kill(result.pid, signal.SIGTERM)

    def interrupt(number: int, _frame: object) -> None:
        nonlocal end
        if end != "interrupted":
            interrupted(number)
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
                if result.work.ends:
                    end_all(result.group if result.work.ends == "group" else None)
                    end = "ended" if result.work.ends == "all" and end == "done" else end
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


def _start(
    results: Sequence[FioResult[Work]], targets: Targets, requests: Requests
) -> dict[int, FioResult[Work]]:
    """Fork a process for each result, and open the gate for all; the results by the pipes from which they come."""
    links: dict[int, FioResult[Work]] = {}
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
            do_process(result.work, targets, link[1], gate[0], requests)
        os.close(link[1])
        result.pid = child
        links[link[0]] = result
    os.close(gate[0])
    os.close(gate[1])
    return links


def _take(result: FioResult[Work], line: bytes) -> None:
    """Take what a process has done so far, or in all."""
    found = json.loads(line)
    result.is_done = found.pop("is_end", False)
    for name, value in found.items():
        setattr(result, name, value)


# When what the jobs have done so far is wanted: after every interval, and at SIGUSR1, as fio does.

_TIMEOUT_S: Final = 1.0
"""Longest wait for the processes' answers; of one that is late the last answer is printed."""


class ReportTimer:
    """Asks for reports in time, and shows them when all processes have answered."""

    def __init__(self, interval_s: float | None, show: Callable[[], None]) -> None:
        self._interval_s = interval_s
        self._show = show
        self._next = time.monotonic() + interval_s if interval_s else None
        self._is_wanted = False
        self._until: float | None = None
        self.wake, self._waker = os.pipe()
        """A pipe with a byte for each signal."""
        os.set_blocking(self._waker, False)
        self._before = signal.signal(signal.SIGUSR1, self._want)

    def _want(self, *_: object) -> None:
        self._is_wanted = True
        with suppress(BlockingIOError):
            os.write(self._waker, b"\0")

    def seconds_left(self) -> float | None:
        """How long to wait for messages; None without an end."""
        end = self._next if self._until is None else self._until
        return None if end is None else max(end - time.monotonic(), 0.0)

    def is_due(self) -> bool:
        """Whether to ask now: never while answers are awaited."""
        now = time.monotonic()
        is_time = self._next is not None and now >= self._next
        if self._until is not None or not (is_time or self._is_wanted):
            return False
        if self._next is not None and self._interval_s is not None:
            while self._next <= now:
                self._next += self._interval_s
        self._is_wanted = False
        self._until = now + _TIMEOUT_S
        return True

    def show_if_complete(self, asked: Collection[int]) -> None:
        """Show what was answered, once all have, or the wait is over; `asked`: who has not."""
        if self._until is not None and (not asked or time.monotonic() >= self._until):
            self._until = None
            self._show()

    def close(self) -> None:
        """Ask no more."""
        signal.signal(signal.SIGUSR1, self._before)
        os.close(self.wake)
        os.close(self._waker)
