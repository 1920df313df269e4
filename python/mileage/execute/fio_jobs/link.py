"""Messages between the processes of fio's jobs and the first process.

Scope: a page that all share has the number of reports that were asked for. Each process writes lines of JSON to its
pipe: what it has done so far, when that is asked for, and at its end. Signals end the engine; what was done until then
is in the last line.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_READ_BYTES = 1 << 16


class Requests:
    """The number of reports that were asked for, in a page that forked processes share."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE)

    @property
    def count(self) -> int:
        """Reports that were asked for."""
        return int.from_bytes(self._page[:8], "little")

    def add(self) -> None:
        """Ask for a report."""
        self._page[:8] = (self.count + 1).to_bytes(8, "little")


class ParentLink:
    """The first process, as seen by one that works: signals to end, requests for reports, and where they go."""

    def __init__(self, pipe: int, requests: Requests) -> None:
        self.came = False
        """Whether a signal has asked this process to end."""
        self.status: dict[str, Any] = {"records": [], "verified": [], "error": "", "errno": 0}
        self._pipe = pipe
        self._requests = requests
        self._answered = requests.count
        self._before = resource.getrusage(resource.RUSAGE_SELF)
        self._began = time.monotonic()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._come)

    def _come(self, *_: object) -> None:
        self.came = True

    def begin(self) -> None:
        """The time of the process counts from now."""
        self._began = time.monotonic()

    def poll(self, *_: object) -> bool:
        """Whether the engine is to stop."""
        return self.came

    def interim(self, kind: str) -> Callable[[str], None] | None:
        """Who is to have the engine's record so far, which is one of this kind; None where nobody asks."""
        if not self.is_asked():
            return None
        return lambda record: self._report({**self.status, kind: [*self.status[kind], json.loads(record)]})

    def is_asked(self) -> bool:
        """Whether a report is wanted."""
        return self._requests.count != self._answered

    def answer(self) -> None:
        """Report what was done, if that is asked for, while the engine does nothing."""
        if self.is_asked():
            self._report(self.status)

    def sleep(self, seconds: float) -> None:
        """Rest, but not longer than until the signal."""
        until = time.monotonic() + seconds
        while not self.came and (left := until - time.monotonic()) > 0:
            self.answer()
            time.sleep(min(left, 0.05))

    def end(self) -> None:
        """Report all that was done."""
        self._report({**self.status, "is_end": True})

    def _report(self, status: dict[str, Any]) -> None:
        self._answered = self._requests.count
        after = resource.getrusage(resource.RUSAGE_SELF)
        text = memoryview(
            json.dumps(
                {
                    **status,
                    "process_ms": max(round(1000 * (time.monotonic() - self._began)), 1),
                    "major_faults": after.ru_majflt - self._before.ru_majflt,
                    "minor_faults": after.ru_minflt - self._before.ru_minflt,
                }
            ).encode()
            + b"\n"
        )
        while text:
            text = text[os.write(self._pipe, text) :]


class ReportLines:
    """The lines that processes write to their pipes."""

    def __init__(self, pipes: Iterable[int], wake: int) -> None:
        """`wake`: a pipe whose bytes only end a wait."""
        self._selector = selectors.DefaultSelector()
        self._rests = dict.fromkeys(pipes, b"")
        self._wake = wake
        for pipe in (*self._rests, wake):
            self._selector.register(pipe, selectors.EVENT_READ)

    def wait(self, seconds: float | None) -> Iterator[tuple[int, bytes | None]]:
        """Each pipe that has a line, with it, or None where it ended and is closed here; nothing when late."""
        for key, _ in self._selector.select(seconds):
            part = os.read(key.fd, _READ_BYTES)
            if key.fd == self._wake:
                continue
            *lines, self._rests[key.fd] = (self._rests[key.fd] + part).split(b"\n")
            yield from ((key.fd, line) for line in lines)
            if not part:
                self._selector.unregister(key.fd)
                os.close(key.fd)
                yield key.fd, None

    def close(self) -> None:
        """Watch nothing more."""
        self._selector.close()
