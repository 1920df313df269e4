"""Makes this process a rank of an MPI run: the leader, or one that serves it.

Scope: every rank other than the first does the leader's orders and prints nothing. A rank that receives no
heartbeat of the leader until its time-out ends itself.
What it refuses: a launcher without mpi4py, and a rank with another command or version.
"""

from __future__ import annotations

import math
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from mileage import _core
from mileage.errors import Refused
from mileage.execute.host_names import is_own_address
from mileage.execute.mpi.leader import Leader, LocalShare
from mileage.execute.mpi.messages import TIMEOUT_VARIABLE, Identity, Introduction, Message, Messages
from mileage.execute.signals import handled
from mileage.execute.workers import lead

_JOIN_S: Final = 60.0
_GRACE_S: Final = 3.0
"""From SIGTERM to the end of a rank that serves."""
_LOST: Final = 3
"""Exit status of a rank whose leader has died."""


def world(variable: str) -> Any:
    """The communicator of this MPI run. Raises Refused when mpi4py is not here."""
    try:
        import mpi4py

        mpi4py.rc.thread_level = "serialized"
        from mpi4py import MPI
    except (ImportError, RuntimeError) as cause:
        reason = "" if isinstance(cause, ModuleNotFoundError) else f" ({cause})"
        raise Refused(
            "",
            f"started by an MPI launcher ({variable} is set), and mpi4py cannot be used{reason}: pip "
            "install 'mileage[mpi]', or start without the launcher",
            code="needs-package",
        ) from None
    return MPI.COMM_WORLD


def run_as_rank(variable: str, command: Callable[[], int]) -> int:
    """Do a command as the leader of this MPI run, or serve it; the exit status. Raises Refused."""
    comm = world(variable)
    messages = Messages(comm)
    if messages.size == 1:
        return command()
    _core.clock_ns()
    if messages.rank != 0:
        return _Server(messages, comm).serve()
    _identify_all(messages)
    leader = Leader(messages, comm)
    lead(leader)
    status = _LOST
    try:
        with _end_on_signal(leader):
            status = command()
    finally:
        lead(None)
        sys.stdout.flush()
        sys.stderr.flush()
        leader.stop_watch()
        if leader.broken is None:
            leader.end()
        else:
            # MPI_Finalize would wait for a rank that has died.
            comm.Abort(status or _LOST)
    return status


@contextmanager
def _end_on_signal(leader: Leader) -> Iterator[None]:
    """On SIGTERM report the rank whose loss made the launcher send it; without a lost rank act as on Ctrl-C.

    SIGHUP, which ends a launcher when its terminal closes, is handled in the same way.
    """

    def check_and_interrupt(_signal: int, _frame: object) -> None:
        leader.check(leader.size)
        raise KeyboardInterrupt

    with handled((signal.SIGTERM, signal.SIGHUP), check_and_interrupt):
        yield


def _introduction(messages: Messages) -> Introduction:
    """Introduce this rank to the leader: its identity and the command it was started for."""
    from mileage import __version__

    return {
        "version": __version__,
        "command": sys.argv[1:],
        "silence_s": messages.silence_s,
        "identity": messages.identities[messages.rank],
    }


def _identify_all(messages: Messages) -> None:
    """Hear from every rank who it is. Raises Refused when one does not come, or came for something else."""
    own = _introduction(messages)
    end_s = time.monotonic() + _JOIN_S
    problem = ""
    while len(messages.identities) < messages.size:
        for source, message in messages.receive():
            if "identity" not in message:
                continue
            messages.identities[source] = Identity(*message["identity"])
            problem = problem or _difference(messages, source, own, message)
        if time.monotonic() > end_s:
            missing = [rank for rank in range(messages.size) if rank not in messages.identities]
            raise Refused(
                f"rank {missing[0]} of {messages.size}",
                f"did not identify itself within {_JOIN_S:g} s",
                code="lost-rank",
            )
        time.sleep(0.001)
    if problem:
        for rank in range(1, messages.size):
            messages.send(rank, {"end": True})
        messages.flush(2.0)
        raise Refused("", problem, code="mismatch")


def _difference(messages: Messages, rank: int, own: Introduction, other: Introduction) -> str:
    """Name the setting (version, arguments, ...) in which an MPI rank differs from rank 0; empty when all agree."""
    words, first = messages.identities[rank].words, messages.identities[0].words
    if other.get("version") != own["version"]:
        found = other.get("version", "an older one")
        return f"{words} is Mileage {found} and {first} is {own['version']}; all hosts need the same version"
    if other["command"] != own["command"]:
        commands = [shlex.join(["mileage", *which["command"]]) for which in (other, own)]
        return f"{words} was given `{commands[0]}` and {first} `{commands[1]}`; give all ranks one command"
    if other["silence_s"] != own["silence_s"]:
        return (
            f"{words} has a time-out of {other['silence_s']:g} s and {first} one of {own['silence_s']:g} s; "
            f"give all ranks one {TIMEOUT_VARIABLE} (mpiexec -x {TIMEOUT_VARIABLE})"
        )
    return ""


class _Server:
    """A rank that does what the leader says."""

    def __init__(self, messages: Messages, comm: Any) -> None:
        self._messages = messages
        self._comm = comm
        self._work: LocalShare | None = None
        self._said_ready = False
        self._reported = (0, 0)
        self._over = False
        self._last_s = math.inf
        """Deadline by which this rank ends after a signal to stop."""

    def serve(self) -> int:
        """Until the leader says that there is nothing more to do."""
        # Ctrl-C reaches every process of a terminal at once; the leader alone decides.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # A launcher that lost a rank signals the other ranks to end. This rank stays alive for a while, so that the
        # leader finds only the lost rank dead and reports that one.
        with handled((signal.SIGTERM, signal.SIGHUP), self._note_signal):
            return self._serve()

    def _serve(self) -> int:
        messages = self._messages
        messages.send(0, _introduction(messages))
        while not self._over:
            for _, message in messages.receive():
                self._obey(message)
            messages.beat(0)
            self._look()
            if (
                time.monotonic() > self._last_s
                or time.monotonic() - messages.heard_s[0] > 2 * messages.silence_s
            ):
                # MPI would wait for the leader at its end.
                os._exit(_LOST)
            time.sleep(0.002)
        messages.flush(1.0)
        return 0

    def _note_signal(self, _signal: int, _frame: object) -> None:
        self._last_s = min(self._last_s, time.monotonic() + _GRACE_S)

    def _obey(self, message: Message) -> None:
        if "order" in message:
            self._work = LocalShare(message["order"], message["threads"], message["at_ns"])
            self._said_ready = False
            self._reported = (0, 0)
        elif "begin" in message and self._work is not None:
            self._work.begin(message["begin"])
        elif "stop" in message and self._work is not None:
            self._work.stop()
        elif "clock" in message:
            self._answer_clock(message["clock"])
        elif "see" in message:
            path = message["see"]
            self._messages.send(0, {"seen": Path(path).is_file(), "path": path})
        elif "own" in message:
            self._messages.send(0, {"owned": any(map(is_own_address, message["own"]))})
        elif "spread" in message:
            from mileage.execute.mpi.futures import serve_spread

            serve_spread(self._comm)
            self._messages.heard_s[0] = time.monotonic()
        elif "end" in message:
            self._over = True

    def _answer_clock(self, count: int) -> None:
        """Answer `count` clock questions in a row, without sleeping between them."""
        end_s = time.monotonic() + 1.0
        while count and time.monotonic() < end_s:
            for _, message in self._messages.receive():
                if "ask_now" in message:
                    self._messages.send(0, {"now": time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)})
                    count -= 1
                else:
                    self._obey(message)

    def _look(self) -> None:
        work = self._work
        if work is None:
            return
        if work.is_ready and not self._said_ready:
            self._said_ready = True
            self._messages.send(0, {"ready": True})
        if work.progress != self._reported:
            self._reported = work.progress
            self._messages.send(0, {"progress": self._reported})
        if work.answer is not None:
            work.end()
            self._messages.send(0, {"answer": work.answer})
            self._work = None
