"""Run one workload in several processes that start at the same instant, and merge their results exactly.

Scope: `python -m mileage.worker` for each share of a run, fed and watched through pipes.
It reports what the engine refuses in a worker. A worker that dies without an answer
fails the run and ends the other workers: nothing waits for a dead worker, and no worker survives the run.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import mileage
from mileage.errors import Interrupted
from mileage.execute.run_failure import Poll
from mileage.execute.signals import ENDING
from mileage.execute.workers import Member, Step, Workers, at_barrier, byte_order, raise_for, ranks_here
from mileage.scratch import scratch_directory
from mileage.worker import Answer, Order, ProgressMessage, Ready

_LOOK_S: Final = 0.05
_END_S: Final = 10.0
"""Time in which the processes must end after one failed or all were ordered to stop; then they are killed."""
_HEARD_BYTES: Final = 1 << 16

_NOTICE_NS: Final = 2_000_000
"""From the orders to the instant at which all begin to open their files."""


def run_in_processes(path: str, workload: str, options: str, processes: int, poll: Poll) -> str:
    """Do a workload (JSON) on a path in `processes` processes and return its record (JSON).

    Raises Refused and RunFailed. No process is left behind.
    """
    from mileage import _core

    threads = int(json.loads(workload)["threads"])
    with workers_for(processes) as workers:
        orders = [
            byte_order(path, workload, options, first, count)
            for first, count in shares_of(threads, workers.size)
        ]
        step = workers.do(orders, threads, poll)
        return _core.merge_shares(workload, list(step.shares), list(step.shifts_ns))


def shares_of(threads: int, processes: int) -> list[tuple[int, int]]:
    """First thread and number of threads of each process; the first ones take the remainder."""
    each, rest = divmod(threads, processes)
    counts = [each + (number < rest) for number in range(processes)]
    return [(sum(counts[:number]), count) for number, count in enumerate(counts)]


@contextmanager
def workers_for(size: int) -> Iterator[Workers]:
    """`size` processes for a run: the ranks of this MPI run if there is one, otherwise processes of this machine.

    When the context ends, also by an exception, the processes that it started have ended. Raises Refused.
    """
    if ranks := ranks_here():
        yield ranks.workers(size)
        return
    workers = LocalWorkers(size)
    try:
        workers.begin()
        yield workers
    finally:
        workers.end()


class LocalWorkers(Workers):
    """Processes of this machine, each with its number in the run."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._workers: list[subprocess.Popen[bytes]] = []
        self._done: dict[int, Answer] = {}
        """The last message of each process in this step: its `share`, or why there is none."""
        self._progress: list[tuple[int, int]] = []
        """Bytes and operations of each process in this step, as far as they are known."""
        self._rest: list[bytes] = []
        self._ready: set[int] = set()
        self._stopped_s: float | None = None
        """When the processes were ordered to stop, on the monotonic clock."""

    @property
    def members(self) -> list[Member]:
        host = socket.gethostname()
        return [Member(number, host, worker.pid) for number, worker in enumerate(self._workers)]

    def begin(self) -> None:
        """Start the processes. Raises OSError when there is no room for one more."""
        # The workers must import this installation, whatever is in the working directory.
        source = str(Path(mileage.__file__).parents[1])
        places = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
        # Ctrl-C, and the end of a terminal, reach all its processes at once. The parent alone decides: these signals
        # are blocked in the others from their start, and in the parent until it has all of them to end.
        with _unheard(ENDING):
            for _ in range(self.size):
                self._workers.append(
                    subprocess.Popen(
                        [sys.executable, "-P", "-m", "mileage.worker"],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        env=environment,
                    )
                )
                self._rest.append(b"")

    def do(self, orders: Sequence[Order], threads: int, poll: Poll) -> Step:
        from mileage import _core

        self._done = {}
        self._progress = [(0, 0)] * self.size
        with scratch_directory() as place:
            barrier = str(place / "barrier")
            _core.make_start_barrier(barrier, threads)
            self._wait_until_ready(poll)
            at_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + _NOTICE_NS
            for worker, order in zip(self._workers, orders, strict=True):
                assert worker.stdin is not None
                # Ignore a process that is already dead: the end of its output is noticed below.
                with suppress(BrokenPipeError):
                    worker.stdin.write(json.dumps(at_barrier(order, barrier, at_ns)).encode() + b"\n")
                    worker.stdin.flush()
            shares = self._finish(poll)
        return Step(tuple(shares), (0,) * len(shares), (0,) * len(shares))

    def check(self) -> None:
        # A process that ends is noticed in the step that it was to do.
        return

    def _wait_until_ready(self, poll: Poll) -> None:
        """Until every process has started, or has ended instead. Raises Interrupted."""
        with self._listening() as selector:
            while len(self._ready | self._done.keys()) < self.size:
                self._listen(selector)
                if poll(0, 0):
                    raise Interrupted()

    def _finish(self, poll: Poll) -> list[str]:
        """Wait for all shares and return them. Raises Refused and RunFailed."""
        with self._listening() as selector:
            while len(self._done) < self.size and not self._is_late():
                self._listen(selector)
                totals = sum(done[0] for done in self._progress), sum(done[1] for done in self._progress)
                # Stop the others but keep listening: another process may know the cause better than the first that
                # failed.
                if poll(*totals) or any("share" not in message for message in self._done.values()):
                    self._stop()
        return self._shares()

    @contextmanager
    def _listening(self) -> Iterator[selectors.BaseSelector]:
        with selectors.DefaultSelector() as selector:
            for number, worker in enumerate(self._workers):
                assert worker.stdout is not None
                selector.register(worker.stdout, selectors.EVENT_READ, number)
            yield selector

    def _listen(self, selector: selectors.BaseSelector) -> None:
        """Take in what is said within a moment."""
        for key, _ in selector.select(_LOOK_S):
            if not self._hear(int(key.data)):
                selector.unregister(key.fileobj)

    def end(self) -> None:
        """Wait until all processes have ended; kill those that exceed the time-out."""
        self._stop()
        assert self._stopped_s is not None
        deadline = self._stopped_s + _END_S
        for worker in self._workers:
            try:
                # Keep reading, so that no process blocks on a full pipe.
                worker.communicate(timeout=max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.communicate()

    def _hear(self, number: int) -> bool:
        """Take in what a process says; False when it has nothing more to say."""
        worker = self._workers[number]
        assert worker.stdout is not None
        heard = os.read(worker.stdout.fileno(), _HEARD_BYTES)
        *lines, self._rest[number] = (self._rest[number] + heard).split(b"\n")
        for line in lines:
            message: Answer | Ready | ProgressMessage = json.loads(line)
            if "ready" in message:
                self._ready.add(number)
            elif "bytes" in message:
                self._progress[number] = (message["bytes"], message["operations"])
            else:
                self._done[number] = message
        if not heard and number not in self._done:
            lost = f"{self._name(number)} {_end_of(worker)} before it had done its share"
            self._done[number] = {"lost": lost}
        return bool(heard)

    def _shares(self) -> list[str]:
        late = [number for number in range(self.size) if number not in self._done]
        if late:
            names = ", ".join(
                f"{self._name(number)} (process {self._workers[number].pid})" for number in late
            )
            lost = f"{names} did not end in {_END_S:g} s when asked to"
            raise_for([*self._done.values(), {"lost": lost}])
        return raise_for([self._done[number] for number in range(self.size)])

    def _name(self, number: int) -> str:
        return f"process {number + 1} of {self.size}"

    def _is_late(self) -> bool:
        """Whether the time-out for ending has expired."""
        return self._stopped_s is not None and time.monotonic() > self._stopped_s + _END_S

    def _stop(self) -> None:
        """Close the standard input of the processes: they stop at its end."""
        if self._stopped_s is None:
            self._stopped_s = time.monotonic()
        for worker in self._workers:
            if worker.stdin is not None:
                with suppress(BrokenPipeError):
                    worker.stdin.close()
                worker.stdin = None


@contextmanager
def _unheard(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """Keep signals waiting, here and for good in the processes that are started meanwhile."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_of(worker: subprocess.Popen[bytes]) -> str:
    """How a process that has closed its output ended: "was killed by SIGKILL"."""
    try:
        status = worker.wait(_END_S)
    except subprocess.TimeoutExpired:
        return "fell silent"
    if status >= 0:
        return f"ended with status {status}"
    known = {number.value: number.name for number in signal.Signals}
    return f"was killed by {known.get(-status, f'signal {-status}')}"
