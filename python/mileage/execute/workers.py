"""The workers that share a run: processes of this machine, or the ranks of an MPI run.

Scope: steps. In a step each worker does one order (a share of a workload, or of an operation on names). All
begin at the same instant; each returns its share of the result, with its clock's offset to the others.
When workers fail for several reasons, a refused request is reported first, then
a dead worker, then the errors that follow from either.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar

from mileage.errors import Refused, RunFailed
from mileage.execute.run_failure import Poll
from mileage.worker import Answer, ByteOrder, MetadataOrder, Order, ThreadShare

A = TypeVar("A")
B = TypeVar("B")


class Member(NamedTuple):
    """One participant of a run that is spread over several processes."""

    number: int
    """From 0."""
    host: str
    pid: int


class Step(NamedTuple):
    """Results of one step of all members."""

    shares: tuple[str, ...]
    """Shares as JSON for the core's merging functions, one for each member."""
    shifts_ns: tuple[int, ...]
    """Nanoseconds to add to the times of each share, so that all count from the same instant on one clock."""
    bounds_ns: tuple[int, ...]
    """Maximum error of each of these shifts, in nanoseconds; 0 for members with the same clock."""
    offsets_ns: tuple[int, ...] = ()
    """Offset of each member's clock against the first one's; empty where all share a clock."""


class Workers(ABC):
    """The members of a run."""

    size: int

    @property
    @abstractmethod
    def members(self) -> list[Member]:
        """The members, in order."""

    @abstractmethod
    def do(self, orders: Sequence[Order], threads: int, poll: Poll) -> Step:
        """Have each member do its order, `threads` threads in all, that begin at one instant.

        Raises Refused and RunFailed; the workers accept no further order then.
        """

    @abstractmethod
    def check(self) -> None:
        """Raise RunFailed, with its name, when a member is known to be lost."""


class Identity(Protocol):
    """Identity of a rank."""

    @property
    def rank(self) -> int:
        """Index of this worker among all workers of the run, from 0."""

    @property
    def host(self) -> str:
        """Its machine, by name."""

    @property
    def pid(self) -> int:
        """Its process."""


class Ranks(Protocol):
    """The ranks of an MPI run, of which this process is the first."""

    size: int

    @property
    def identities(self) -> Sequence[Identity]:
        """Identities of the ranks, in order."""

    @property
    def machines(self) -> int:
        """On how many machines they are."""

    def workers(self, size: int) -> Workers:
        """The first `size` ranks. Raises Refused when there are fewer."""

    def check(self, size: int) -> None:
        """Raise RunFailed, with its name, when one of the first `size` ranks is lost."""

    def first_elsewhere(self, hosts: Sequence[str]) -> int | None:
        """The first rank that is not on the host of its number, a name or an address; None when all are."""

    def on_loss(self, handler: Callable[[str], None]) -> AbstractContextManager[None]:
        """In this block, have a handler called with the message when a rank is lost, before `check` raises it.

        By a thread of the ranks' own. What the handler raises is ignored.
        """

    def spread(self, function: Callable[[A], B], values: Sequence[A]) -> list[B]:
        """`function` of every value, in their order, by all ranks."""


_HERE: list[Ranks] = []


def ranks_here() -> Ranks | None:
    """The MPI run that this process leads; None when it leads none."""
    return _HERE[-1] if _HERE else None


def lead(ranks: Ranks | None) -> None:
    """From here on runs in several processes are done by these ranks; by processes of this machine for None."""
    _HERE[:] = [ranks] if ranks is not None else []


def refuse_elsewhere(mode: str, what: str) -> None:
    """Refuse a state of the page cache that is set on this machine alone, while others take part."""
    ranks = ranks_here()
    if ranks is not None and ranks.machines > 1 and mode not in ("direct", "warm"):
        raise Refused(
            what,
            found=f"cache {mode} on {ranks.machines} machines, and only this one's is emptied or limited",
            expected="direct or warm",
            code="unsupported",
        )


def byte_order(path: str, workload: str, options: str, first: int, count: int) -> ByteOrder:
    """An order for `count` threads of a workload (JSON), from thread `first` on, on the file at `path`."""
    return {
        "kind": "bytes",
        "path": path,
        "workload": workload,
        "options": options,
        "share": {"first_thread": first, "threads": count},
    }


def metadata_order(directory: str, metadata: str, options: str) -> MetadataOrder:
    """An order for a share of an operation on names (JSON) in a directory."""
    return {"kind": "metadata", "path": directory, "metadata": metadata, "options": options}


def for_other_machine(order: Order) -> Order:
    """The order as another machine can do it: there the same file system has another device number."""
    if order["kind"] == "iozone":
        suite = json.loads(order["suite"])
        if suite.get("directory"):
            suite["directory"]["device"] = None
        moved = order.copy()
        moved["suite"] = json.dumps(suite)
        return moved
    options = json.loads(order["options"])
    for identity in (options.get("directory"), (options.get("within") or (None, None))[1]):
        if identity:
            identity["device"] = None
    for identity in options.get("expects", ()):
        identity["device"] = None
    for_there = order.copy()
    for_there["options"] = json.dumps(options)
    return for_there


def at_barrier(order: Order, barrier: str, at_ns: int) -> Order:
    """The order as it is sent: with the file of its barrier and the instant at which it is begun."""
    if order["kind"] == "metadata":
        return {**order, "barrier": barrier, "at_ns": at_ns}
    share: ThreadShare = {**order["share"], "barrier": barrier}
    if order["kind"] == "iozone":
        return {**order, "share": share, "at_ns": at_ns}
    return {**order, "share": share, "at_ns": at_ns}


def raise_for(answers: Sequence[Answer]) -> list[str]:
    """The shares that the members of a step answered. Raises Refused and RunFailed when one of them has none."""
    for answer in answers:
        if "refused" in answer:
            raise Refused(answer["refused"], code="refused")
    for answer in answers:
        if "lost" in answer:
            raise RunFailed(answer["lost"], cause="process")
    for answer in answers:
        if "failed" in answer:
            raise RunFailed(answer["failed"])
    return [answer["share"] for answer in answers if "share" in answer]
