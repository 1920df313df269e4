"""One run spread over several processes, which begin at one instant and whose figures merge exactly.

What it models: `python -m mileage.worker` for each share of the workload's threads, fed and watched through pipes.
What it refuses: nothing of its own; what the engine refuses in one of them is told as that. A process that dies without
a word ends the run as failed, and the others with it: nothing waits for it, and none is left behind.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import mileage
from mileage.errors import Refused, RunFailed
from mileage.execute.record import Poll

_LOOK_S: Final = 0.05
_END_S: Final = 10.0
"""How long the processes may take to end when one has failed or all are told to stop; then they are killed."""
_HEARD_BYTES: Final = 1 << 16

Message = dict[str, Any]


def run_in_processes(path: str, workload: str, options: str, processes: int, poll: Poll) -> str:
    """Do a workload (JSON) on a path in so many processes and return its record (JSON).

    Raises Refused and RunFailed. No process is left behind.
    """
    from mileage import _core

    threads = int(json.loads(workload)["threads"])
    with tempfile.TemporaryDirectory(prefix="mileage-meeting-") as place:
        meeting = str(Path(place, "meeting"))
        _core.make_meeting(meeting, threads)
        jobs = []
        for first, count in shares_of(threads, processes):
            share = json.dumps({"first_thread": first, "threads": count, "meeting": meeting})
            jobs.append({"path": path, "workload": workload, "options": options, "share": share})
        with _crew(jobs) as crew:
            shares = crew.finish(poll)
        return _core.merge_shares(workload, shares)


def shares_of(threads: int, processes: int) -> list[tuple[int, int]]:
    """First thread and number of threads of each process; the first ones take the remainder."""
    each, rest = divmod(threads, processes)
    counts = [each + (number < rest) for number in range(processes)]
    return [(sum(counts[:number]), count) for number, count in enumerate(counts)]


@contextmanager
def _crew(jobs: Sequence[Message]) -> Iterator[_Crew]:
    """A process for each job, at work; on the way out, whatever the way is, all have ended."""
    crew = _Crew()
    try:
        crew.begin(jobs)
        yield crew
    finally:
        crew.end()


class _Crew:
    """The processes of one run."""

    def __init__(self) -> None:
        self._workers: list[subprocess.Popen[bytes]] = []
        self._done: dict[int, Message] = {}
        """The last message of each process: its `share`, or why there is none."""
        self._told: list[tuple[int, int]] = []
        """Bytes and operations of each process, as far as they are known."""
        self._rest: list[bytes] = []

    def begin(self, jobs: Sequence[Message]) -> None:
        """Start the processes and give each its job. Raises OSError when there is no room for one more."""
        # The module is the one that runs here, whatever lies in the working directory.
        source = str(Path(mileage.__file__).parents[1])
        places = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
        # Ctrl-C reaches every process of a terminal at once. The parent alone decides: the others are born deaf to it,
        # and the parent hears it when all of them are its to end.
        with _unheard({signal.SIGINT, signal.SIGTERM}):
            for _ in jobs:
                self._workers.append(
                    subprocess.Popen(
                        [sys.executable, "-P", "-m", "mileage.worker"],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        env=environment,
                    )
                )
                self._told.append((0, 0))
                self._rest.append(b"")
        for worker, job in zip(self._workers, jobs, strict=True):
            assert worker.stdin is not None
            # One that is dead already is noticed when its output ends.
            with suppress(BrokenPipeError):
                worker.stdin.write(json.dumps(job).encode() + b"\n")
                worker.stdin.flush()

    def finish(self, poll: Poll) -> list[str]:
        """Wait for all shares and return them. Raises Refused and RunFailed."""
        deadline: float | None = None
        with selectors.DefaultSelector() as selector:
            for number, worker in enumerate(self._workers):
                assert worker.stdout is not None
                selector.register(worker.stdout, selectors.EVENT_READ, number)
            while len(self._done) < len(self._workers) and (deadline is None or time.monotonic() < deadline):
                for key, _ in selector.select(_LOOK_S):
                    if not self._hear(int(key.data)):
                        selector.unregister(key.fileobj)
                if deadline is None and any("share" not in message for message in self._done.values()):
                    # The others end soon, and one of them may know better why.
                    self._stop()
                    deadline = time.monotonic() + _END_S
                if poll(sum(told[0] for told in self._told), sum(told[1] for told in self._told)):
                    self._stop()
        return self._shares()

    def end(self) -> None:
        """See that all processes have ended: those that do not when they are told to are killed."""
        self._stop()
        deadline = time.monotonic() + _END_S
        for worker in self._workers:
            try:
                # Reads what is still said, so that nobody waits for a full pipe.
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
            message = json.loads(line)
            if "bytes" in message:
                self._told[number] = (int(message["bytes"]), int(message["operations"]))
            else:
                self._done[number] = message
        if not heard and number not in self._done:
            which = f"process {number + 1} of {len(self._workers)}"
            self._done[number] = {"lost": f"{which} {_end_of(worker)} before it had done its share"}
        return bool(heard)

    def _shares(self) -> list[str]:
        """Every share. A refusal counts more than a process that died, and that more than what both made of others."""
        for kind, error in (
            ("refused", Refused),
            ("lost", lambda text: RunFailed(text, cause="process")),
            ("failed", RunFailed),
        ):
            for number in sorted(self._done):
                if kind in self._done[number]:
                    raise error(str(self._done[number][kind]))
        if len(self._done) < len(self._workers):
            raise RunFailed(f"a process did not end in {_END_S:g} s when it was told to", cause="process")
        return [str(self._done[number]["share"]) for number in sorted(self._done)]

    def _stop(self) -> None:
        """The end of their standard input tells the processes to stop."""
        for worker in self._workers:
            if worker.stdin is not None:
                with suppress(BrokenPipeError):
                    worker.stdin.close()
                worker.stdin = None


@contextmanager
def _unheard(signals: set[signal.Signals]) -> Iterator[None]:
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
