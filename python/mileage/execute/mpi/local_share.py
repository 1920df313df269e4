"""The share of a run that this process does in a separate thread while the caller supervises.

Scope: a start barrier with one member: when the threads of the share are ready, the caller says when they
begin.
What the core refuses is the answer.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack

from mileage import _core
from mileage.execute.workers import at_barrier
from mileage.scratch import scratch_directory
from mileage.worker import Answer, Order, do_order


class LocalShare:
    """The local share of a run; it begins as soon as it is created."""

    def __init__(self, order: Order, threads: int, at_ns: int) -> None:
        """`threads` of the whole step; `at_ns` when the order is begun, on this machine's CLOCK_MONOTONIC_RAW."""
        self._own = order["share"]["threads"] if order["kind"] == "bytes" else 1
        self._stop = threading.Event()
        self.progress = (0, 0)
        self.answer: Answer | None = None
        self._opened = ExitStack()
        path = str(self._opened.enter_context(scratch_directory()) / "barrier")
        self._barrier = _core.StartBarrier(path, threads)
        self._thread = threading.Thread(
            target=self._do, args=(at_barrier(order, path, at_ns),), name="mileage-share", daemon=True
        )
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether the threads wait at the start barrier, or have failed before it."""
        return self.answer is not None or self._barrier.arrived >= self._own

    def begin(self, at_ns: int) -> None:
        """Let its threads begin at an instant of CLOCK_MONOTONIC_RAW."""
        self._barrier.begin_at(at_ns)

    def stop(self) -> None:
        """End it; its answer comes soon."""
        self._stop.set()

    def end(self) -> None:
        """Wait for its thread and remove what it left."""
        self._thread.join()
        self._opened.close()

    def _do(self, order: Order) -> None:
        def poll(byte_count: int, operations: int) -> bool:
            self.progress = (byte_count, operations)
            return self._stop.is_set()

        try:
            self.answer = do_order(order, poll)
        except Exception as cause:
            self.answer = {"failed": f"{type(cause).__name__}: {cause}"}
