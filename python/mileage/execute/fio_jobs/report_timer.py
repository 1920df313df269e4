"""When what the jobs have done so far is wanted: after every interval, and at SIGUSR1, as fio does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

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
