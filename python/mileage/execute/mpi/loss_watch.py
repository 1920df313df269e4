"""The failure detector of rank 0: reports the first rank that is lost, at once and from a thread of its own.

An MPI launcher that loses a rank ends all others. Open MPI's (PRRTE 3.0, `prte_odls_base_default_kill_local_procs`)
sends SIGTERM 250 ms after the death and SIGKILL another 250 ms later, each earlier when a further process ends. In
that time the thread that measures may hang in a system call, write the report or wait for the disk. The watch
therefore waits for none of that: pidfds of the ranks on this machine wake it, it writes one line to standard error,
and only then calls the handlers, which write to the journal and wait for the disk.

Invariants: a loss is reported once; `wait` returns when standard error and the handlers have it; a handler is not
called after its `handled_by` block has ended. The watch takes no lock that is held during a call of MPI: a rank that
dies in the middle of a message may keep such a call from returning.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from mileage.execute.mpi.messages import Messages

_LOOK_MS: Final = 50
"""Interval between looks at /proc, which are needed only where the kernel has no pidfds."""
_REPORT_S: Final = 5.0
"""How long `wait` waits for a disk that does not answer."""

Handler = Callable[[str], None]


class LossWatch:
    """Detects dead MPI ranks on this machine, and reports those that other machines found dead."""

    def __init__(self, messages: Messages) -> None:
        """Watch the ranks after all of them have sent their identities."""
        self._messages = messages
        self._local = [
            rank for rank in range(messages.size) if rank != messages.rank and messages.is_seen(rank)
        ]
        self.found: str | None = None
        """Description of the rank that was lost."""
        self._is_reported = False
        self._is_ended = False
        self._handlers: list[Handler] = []
        self._lock = threading.Lock()
        """Held while handlers are called, and to change them."""
        # Never closed: a signal handler may write to it at any time, and the number would be another file's.
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = threading.Thread(target=self._watch, name="mileage-losses", daemon=True)
        self._thread.start()

    def find(self, reason: str) -> None:
        """Report a loss that was found elsewhere; the first one counts. Does not wait."""
        self.found = self.found or reason
        with suppress(OSError):
            os.eventfd_write(self._wake, 1)

    def wait(self) -> None:
        """Wait until the loss that was found is reported."""
        # No lock: this is called by signal handlers too, which may interrupt this very call.
        end_s = time.monotonic() + _REPORT_S
        while not self._is_reported and self._thread.is_alive() and time.monotonic() < end_s:
            time.sleep(0.002)

    @contextmanager
    def handled_by(self, handler: Handler) -> Iterator[None]:
        """Have a handler called, in the watch's thread, when a rank is lost in this block."""
        with self._lock:
            self._handlers.append(handler)
        try:
            yield
        finally:
            with self._lock:
                self._handlers.remove(handler)

    def end(self) -> None:
        """Look a last time and stop; a loss that was found is reported before."""
        self._is_ended = True
        with suppress(OSError):
            os.eventfd_write(self._wake, 1)
        self._thread.join(timeout=_REPORT_S)

    def _watch(self) -> None:
        poller = select.poll()
        poller.register(self._wake, select.POLLIN)
        opened: list[int] = []
        for rank in self._local:
            with suppress(OSError):
                opened.append(os.pidfd_open(self._messages.identities[rank].pid))
                poller.register(opened[-1], select.POLLIN)
        try:
            while self.found is None and not self._is_ended:
                poller.poll(_LOOK_MS)
                self._look()
            if self.found is not None:
                self._report(self.found)
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def _look(self) -> None:
        for rank in self._local:
            self.found = self.found or self._messages.death(rank)

    def _report(self, reason: str) -> None:
        # Not by sys.stderr, whose lock may be held by a thread that hangs.
        with suppress(OSError):
            os.write(2, f"mileage: {reason}\n".encode())
        with self._lock:
            for handler in self._handlers:
                with suppress(Exception):
                    handler(reason)
        self._is_reported = True
