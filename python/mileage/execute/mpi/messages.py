"""Messages between the ranks, and the failure detector: identity, host and last heartbeat of each rank.

Scope: small messages, sent at once and received as they arrive. No rank blocks inside MPI, so a dead rank
blocks no other. A rank on the same machine is dead when its process has ended; a rank elsewhere is dead when its
heartbeat times out.
What it refuses: a time-out in the environment that is not a positive number.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypedDict, final

from mileage.errors import Refused
from mileage.targets.kernel_text import fields_of, read_text
from mileage.worker import Answer, Order, Ready

SILENCE_S: Final = 8.0
"""A rank that was not heard of for so long is given up, unless the environment has another time-out."""
TIMEOUT_VARIABLE: Final = "MILEAGE_RANK_TIMEOUT"
"""Environment variable: the time-out in seconds, the same for all ranks."""
_LEAST_S: Final = 2.0
"""The shortest time-out: a few heartbeats."""
BEAT_S: Final = 0.5
"""Interval between the heartbeats of a rank."""
_TAG: Final = 7


def silence_limit_s() -> float:
    """After how many seconds of silence a rank is given up. Raises Refused for a time-out that is none."""
    text = os.environ.get(TIMEOUT_VARIABLE, f"{SILENCE_S:g}")
    try:
        limit_s = float(text)
    except ValueError:
        limit_s = math.nan
    if not _LEAST_S <= limit_s < math.inf:
        raise Refused(
            TIMEOUT_VARIABLE,
            found=f"{text!r}",
            expected=f"a number of seconds, at least {_LEAST_S:g}",
            code="out-of-range",
        )
    return limit_s


class Identity(NamedTuple):
    """Identity of a rank: its process and machine."""

    rank: int
    host: str
    pid: int
    started: str
    """The process's start, by which its number is known to be its own still."""
    boot: str
    """The machine since it was started."""
    clock: str
    """Ranks with the same boot and clock read one CLOCK_MONOTONIC_RAW."""
    processes: str
    """Ranks with the same boot and processes see each other among them."""

    @property
    def words(self) -> str:
        """For people: "rank 2 (host a, process 4711)"."""
        return f"rank {self.rank} (host {self.host}, process {self.pid})"


def identity(rank: int) -> Identity:
    """Identity of this process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    spaces = [_namespace("time"), _namespace("pid")]
    pid = os.getpid()
    return Identity(rank, socket.gethostname(), pid, _start_of(pid) or "", boot, *spaces)


def _namespace(name: str) -> str:
    try:
        return os.readlink(f"/proc/self/ns/{name}")
    except OSError:
        return ""


def _start_of(pid: int) -> str | None:
    """When a process was started, in the kernel's ticks; None when it has ended, also when not yet waited for."""
    fields = fields_of(read_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2])
    return None if not fields or fields[0] in "ZX" else fields[19]


@final
class Introduction(TypedDict):
    """The first message of a rank: who it is, and what it was started to do."""

    version: str
    """Version of Mileage."""
    command: list[str]
    silence_s: float
    """Its time-out, in seconds."""
    identity: Identity


@final
class Beat(TypedDict):
    """The sender is there."""

    beat: Literal[True]


@final
class ShareOrder(TypedDict):
    """Message to a rank: start this order when the clock shows `at_ns`."""

    order: Order
    threads: int
    """Number of threads in the whole step."""
    at_ns: int
    """On the receiver's CLOCK_MONOTONIC_RAW."""


@final
class Begin(TypedDict):
    """To a rank: let the threads that wait begin at this instant, on its CLOCK_MONOTONIC_RAW."""

    begin: int


@final
class Stop(TypedDict):
    """To a rank: end the order that it does; its answer comes soon."""

    stop: Literal[True]


@final
class Progress(TypedDict):
    """To the leader: bytes and operations of a rank's order so far."""

    progress: tuple[int, int]


@final
class ShareAnswer(TypedDict):
    """To the leader: what came of an order."""

    answer: Answer


@final
class ClockQuestions(TypedDict):
    """To a rank: the number of `AskNow` that follow; they are answered without sleeping between them."""

    clock: int


@final
class AskNow(TypedDict):
    """To a rank: read your clock."""

    ask_now: Literal[True]


@final
class Now(TypedDict):
    """Message of a rank to the leader: its clock reading (CLOCK_MONOTONIC_RAW, ns), to estimate clock offsets."""

    now: int


@final
class See(TypedDict):
    """To a rank: does this path name a file where you are?"""

    see: str


@final
class Seen(TypedDict):
    """To the leader: whether the path names a file."""

    seen: bool
    path: str


@final
class AddressQuestion(TypedDict):
    """To a rank: is one of these addresses your machine's?"""

    own: list[str]


@final
class AddressAnswer(TypedDict):
    """To the leader: whether one of the addresses is the sender's."""

    owned: bool


@final
class Spread(TypedDict):
    """To a rank: take part in a computation of all ranks."""

    spread: Literal[True]


@final
class End(TypedDict):
    """To a rank: there is nothing more to do."""

    end: Literal[True]


Message = (
    Introduction
    | Beat
    | ShareOrder
    | Begin
    | Stop
    | Ready
    | Progress
    | ShareAnswer
    | ClockQuestions
    | AskNow
    | Now
    | See
    | Seen
    | AddressQuestion
    | AddressAnswer
    | Spread
    | End
)


class Messages:
    """The messages of this rank. For one thread at a time."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.silence_s = silence_limit_s()
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self._sent: list[Any] = []
        self._coming: dict[int, list[Any]] = {rank: [] for rank in range(self.size)}
        """For each rank, the messages that have arrived in part."""
        self.heard_s = dict.fromkeys(range(self.size), time.monotonic())
        self.identities: dict[int, Identity] = {self.rank: identity(self.rank)}
        self._beat_s = 0.0

    def send(self, to: int, message: Message) -> None:
        """Send a message; it is on its way when this returns."""
        self._sent = [request for request in self._sent if not request.Test()]
        self._sent.append(self._comm.isend(message, dest=to, tag=_TAG))

    def receive(self) -> Iterator[tuple[int, Message]]:
        """Messages that have arrived, in order, each with its sender; heartbeats are recorded and not returned.

        An incomplete message stays in the queue: a rank that was killed while sending never sends the rest.
        """
        from mpi4py import MPI

        status = MPI.Status()
        while (found := self._comm.improbe(source=MPI.ANY_SOURCE, tag=_TAG, status=status)) is not None:
            self._coming[status.Get_source()].append(found.irecv())
        for source, coming in self._coming.items():
            while coming:
                whole, message = coming[0].test()
                if not whole:
                    break
                del coming[0]
                self.heard_s[source] = time.monotonic()
                if "beat" not in message:
                    yield source, message

    def beat(self, *others: int) -> None:
        """Say that this rank is there, now and then."""
        now_s = time.monotonic()
        if now_s - self._beat_s >= BEAT_S:
            self._beat_s = now_s
            for other in others:
                self.send(other, {"beat": True})

    def is_seen(self, rank: int) -> bool:
        """Whether a rank is a process that is visible here, on the same machine."""
        found, own = self.identities[rank], self.identities[self.rank]
        return (found.boot, found.processes) == (own.boot, own.processes)

    def death(self, rank: int) -> str | None:
        """A sentence if a rank of this machine died; None while its process lives, and for other machines."""
        found, own = self.identities[rank], self.identities[self.rank]
        if not self.is_seen(rank):
            return None
        started = _start_of(found.pid)
        # The start time of a process is given on the clock of the machine that asks.
        if started is None or (found.clock == own.clock and started != found.started):
            return f"{found.words} died"
        return None

    def loss(self, rank: int) -> str | None:
        """Reason why a rank is considered lost, in words; None while it is alive."""
        if died := self.death(rank):
            return died
        silent_s = time.monotonic() - self.heard_s[rank]
        if silent_s > self.silence_s:
            return f"{self.identities[rank].words} has not been heard of for {silent_s:.0f} s"
        return None

    def flush(self, limit_s: float) -> None:
        """Wait until what was sent has been taken, or for so long."""
        end_s = time.monotonic() + limit_s
        while self._sent and time.monotonic() < end_s:
            with suppress(Exception):
                self._sent = [request for request in self._sent if not request.Test()]
            time.sleep(0.001)
