"""Rank 0: has the ranks do a step together, and says which of them was lost.

Scope: a step in four messages: the order, "ready" from each when its threads wait, the instant at which all
begin (a barrier without the way of its last message), and the answer. Clocks are compared before and after; ranks that
read one clock are not. A thread of its own sends and receives all messages, so that a rank is known to live between
steps too.
What it refuses: more members than there are ranks; files that another host does not see.
"""

from __future__ import annotations

import os
import queue
import secrets
import select
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from mileage import _core
from mileage.errors import Refused, RunFailed
from mileage.execute.host_names import addresses_of, is_loopback, is_own_address
from mileage.execute.mpi.futures import lead_spread
from mileage.execute.mpi.messages import Identity, Message, Messages, See, Seen
from mileage.execute.run_failure import Poll
from mileage.execute.workers import Member, Step, Workers, at_barrier, for_other_machine, raise_for
from mileage.scratch import scratch_directory
from mileage.worker import Answer, Order, do_order

A = TypeVar("A")
B = TypeVar("B")

_LOOK_S: Final = 0.01
_EXCHANGES: Final = 40
_EXCHANGE_S: Final = 1.0
_OPEN_NOTICE_NS: Final = 10_000_000
_BEGIN_NOTICE_NS: Final = 20_000_000
"""From the messages to the instants that they name."""
_LOSS_LOOK_S: Final = 0.05
_ANSWER_S: Final = 10.0
"""Time-out for the last answers, after the other ranks answered and all were ordered to stop."""


def _message(reason: str) -> str:
    return f"{reason}; start it again with as many ranks"


def _now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Leader:
    """The ranks of this MPI run, as their first one sees them."""

    def __init__(self, messages: Messages, comm: Any) -> None:
        self._messages = messages
        self._comm = comm
        self.size = messages.size
        self._inbox: queue.Queue[tuple[int, Message]] = queue.Queue()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._losses = LossWatch(messages)
        self._seen: set[str] = set()
        self._looked_s = 0.0
        self._courier = threading.Thread(target=self._carry, name="mileage-messages", daemon=True)
        self._courier.start()

    @property
    def broken(self) -> str | None:
        """Description of the rank that was lost; no rank gets further orders then."""
        return self._losses.found

    @property
    def identities(self) -> list[Identity]:
        """Host name, process and version of every MPI rank, by rank number."""
        return [self._messages.identities[rank] for rank in range(self.size)]

    @property
    def machines(self) -> int:
        """On how many machines they are."""
        return len({found.boot for found in self.identities})

    def workers(self, size: int) -> Workers:
        """The first `size` ranks."""
        if size > self.size:
            raise Refused(
                "",
                f"{size} tasks are needed and this MPI run has {self.size} ranks",
                advice=f"start it with mpiexec -n {size} or more",
                code="too-few",
            )
        return RankWorkers(self, size)

    def spread(self, function: Callable[[A], B], values: Sequence[A]) -> list[B]:
        """`function` of every value, in their order, by all ranks; no messages are sent meanwhile."""
        with self._lock:
            for rank in range(1, self.size):
                self._messages.send(rank, {"spread": True})
            results = lead_spread(self._comm, function, values)
            now_s = time.monotonic()
            self._messages.heard_s.update(dict.fromkeys(range(self.size), now_s))
        return results

    def on_loss(self, handler: Callable[[str], None]) -> AbstractContextManager[None]:
        """In this block, have a handler called with the message when a rank is lost, before `check` raises it."""
        return self._losses.handled_by(lambda reason: handler(_message(reason)))

    def stop_watch(self) -> None:
        """Look for losses a last time: from here on ranks may end. One that was found is reported before."""
        self._losses.end()

    def end(self) -> None:
        """Order all ranks to end; the watch was stopped before."""
        self._ended.set()
        self._courier.join(timeout=2.0)
        for rank in range(1, self.size):
            self._messages.send(rank, {"end": True})
        self._messages.flush(2.0)

    def order_for(self, rank: int, order: Order) -> Order:
        """An order as this rank can do it."""
        is_here = self.identities[rank].boot == self.identities[0].boot
        return order if is_here else for_other_machine(order)

    def send(self, rank: int, message: Message) -> None:
        """Send a message to a rank without waiting for its receipt.

        A lost rank never gets it; `check` reports the loss. The call waits only while another thread hands work to all
        ranks (`spread`).
        """
        with self._lock:
            self._messages.send(rank, message)

    def next(self) -> tuple[int, Message] | None:
        """The next message that came; None when there is none for a moment."""
        try:
            return self._inbox.get(timeout=_LOOK_S)
        except queue.Empty:
            return None

    def check(self, size: int) -> None:
        """Raise RunFailed, with its name, when one of the first `size` ranks is lost; it is reported by then."""
        if self.broken is None and (reason := self._loss_among(range(1, size))):
            self._losses.find(reason)
        if self.broken is not None:
            self._losses.wait()
            raise RunFailed(_message(self.broken), cause="rank")

    def _loss_among(self, ranks: Iterable[int]) -> str | None:
        return next(filter(None, map(self._messages.loss, ranks)), None)

    def _carry(self) -> None:
        others = range(1, self.size)
        while not self._ended.is_set():
            try:
                with self._lock:
                    found = list(self._messages.receive())
                    self._messages.beat(*others)
            except Exception as cause:
                reason = self._loss_among(others) or f"MPI no longer reaches all ranks ({cause})"
                self._losses.find(reason)
                return
            for message in found:
                self._inbox.put(message)
            self._notice_silence()
            time.sleep(0.001 if found else 0.003)

    def _notice_silence(self) -> None:
        """Look now and then whether all ranks were heard of lately."""
        now_s = time.monotonic()
        if now_s - self._looked_s < _LOSS_LOOK_S:
            return
        self._looked_s = now_s
        if reason := self._loss_among(range(1, self.size)):
            self._losses.find(reason)

    def offset(self, rank: int) -> Offset:
        """Offset between a rank's clock and the leader's."""
        own, other = self._messages.identities[0], self._messages.identities[rank]
        if (own.boot, own.clock) == (other.boot, other.clock):
            return SAME_CLOCK
        with self._lock:
            exchanges = self._exchange(rank)
        if not exchanges:
            self.check(self.size)
            raise RunFailed(f"{other.words} did not report its clock in {_EXCHANGE_S:g} s", cause="rank")
        return offset_of(exchanges)

    def _exchange(self, rank: int) -> list[Exchange]:
        """Readings of both clocks; the other rank answers without sleeping meanwhile."""
        found: list[Exchange] = []
        end_s = time.monotonic() + _EXCHANGE_S
        self._messages.send(rank, {"clock": _EXCHANGES})
        for _ in range(_EXCHANGES):
            sent_ns = _now_ns()
            self._messages.send(rank, {"ask_now": True})
            answered = False
            while not answered and time.monotonic() < end_s:
                for source, message in self._messages.receive():
                    if source == rank and "now" in message:
                        found.append((sent_ns, message["now"], _now_ns()))
                        answered = True
                    else:
                        self._inbox.put((source, message))
        return found

    def check_same_file_system(self, size: int, path: Path) -> None:
        """Refuse a place that is not the same file system for all ranks. A file of a random name shows it."""
        place = path.parent
        if str(place) in self._seen or size == 1:
            return
        if path.exists() and stat.S_ISBLK(os.stat(path).st_mode):
            if self.machines > 1:
                raise Refused(
                    path,
                    "a device of one host",
                    advice="several hosts need a directory that all of them see",
                    code="unsupported",
                )
            return
        token = place / f".mileage-seen-{secrets.token_hex(8)}"
        token.touch()
        try:
            question: See = {"see": str(token)}
            for rank, answer in self._ask(dict.fromkeys(range(1, size), question), "seen"):
                self._refuse_unseen(rank, answer)
        finally:
            token.unlink(missing_ok=True)
        self._seen.add(str(place))

    def first_elsewhere(self, hosts: Sequence[str]) -> int | None:
        """The first rank that is not on the host of its number, a name or an address; None when all are.

        Names are resolved here, so that "localhost" is the leader's machine.
        """
        found = self.identities
        asked: dict[int, Message] = {}
        elsewhere = []
        for rank, (host, own) in enumerate(zip(hosts, found, strict=False)):
            addresses = addresses_of(host)
            if is_loopback(addresses):
                is_there = (own.boot, own.host) == (found[0].boot, found[0].host)
            elif rank == 0:
                is_there = host == own.host or any(map(is_own_address, addresses))
            else:
                is_there = True
                if host != own.host:
                    asked[rank] = {"own": addresses}
            elsewhere += [] if is_there else [rank]
        elsewhere += [rank for rank, answer in self._ask(asked, "owned") if not answer["owned"]]
        return min(elsewhere, default=None)

    def _refuse_unseen(self, rank: int, message: Seen) -> None:
        if not message["seen"]:
            place = Path(message["path"]).parent
            raise Refused(
                self._messages.identities[rank].words,
                f"does not see {place}, or has another there",
                advice="all hosts need one file system",
                code="mismatch",
            )

    def _ask(self, questions: Mapping[int, Message], kind: str) -> Iterator[tuple[int, Any]]:
        """Ask ranks, each its question, and yield each rank's answer of this kind when it comes."""
        for rank, question in questions.items():
            self.send(rank, question)
        missing = set(questions)
        while missing:
            self.check(max(questions) + 1)
            rank, answer = self.next() or (0, None)
            if answer is not None and kind in answer:
                missing.discard(rank)
                yield rank, answer


class RankWorkers(Workers):
    """The first ranks of an MPI run."""

    def __init__(self, leader: Leader, size: int) -> None:
        self._leader = leader
        self.size = size

    @property
    def members(self) -> list[Member]:
        found = self._leader.identities[: self.size]
        return [Member(one.rank, one.host, one.pid) for one in found]

    def do(self, orders: Sequence[Order], threads: int, poll: Poll) -> Step:
        leader = self._leader
        leader.check(self.size)
        leader.check_same_file_system(self.size, Path(orders[0]["path"]))
        before = self._offsets()
        step = _StepUnderWay(leader, self.size)
        try:
            step.order(orders, threads, before)
            shares = step.finish(poll, before)
        finally:
            step.end()
        offsets = [between(*pair) for pair in zip(before, self._offsets(), strict=True)]
        shifts = shifts_of([_origin_of(share) for share in shares], offsets)
        bounds = tuple(offset.bound_ns for offset in offsets)
        differ = tuple(offset.offset_ns for offset in offsets) if any(bounds) else ()
        return Step(tuple(shares), tuple(shifts), bounds, differ)

    def check(self) -> None:
        self._leader.check(self.size)

    def _offsets(self) -> list[Offset]:
        return [SAME_CLOCK, *(self._leader.offset(rank) for rank in range(1, self.size))]


class _StepUnderWay:
    """One step in progress, from its orders to its answers."""

    def __init__(self, leader: Leader, size: int) -> None:
        self._leader = leader
        self._size = size
        self._own: LocalShare | None = None
        self._ready: set[int] = set()
        self._progress = dict.fromkeys(range(size), (0, 0))
        self._answers: dict[int, Answer] = {}

    def order(self, orders: Sequence[Order], threads: int, offsets: Sequence[Offset]) -> None:
        """Send each rank its order, to be begun at one instant."""
        at_ns = _now_ns() + _OPEN_NOTICE_NS
        for rank in range(1, self._size):
            order = self._leader.order_for(rank, orders[rank])
            self._leader.send(
                rank, {"order": order, "threads": threads, "at_ns": at_ns + offsets[rank].offset_ns}
            )
        self._own = LocalShare(orders[0], threads, at_ns)

    def finish(self, poll: Poll, offsets: Sequence[Offset]) -> list[str]:
        """Let all begin when all are ready, and wait for their shares. Raises Refused and RunFailed."""
        begun, stopped_s = False, None
        while len(self._answers) < self._size:
            self._look()
            if not begun and len(self._ready) == self._size:
                begun = True
                self._begin(offsets)
            if (
                poll(*(sum(found) for found in zip(*self._progress.values(), strict=True)))
                and stopped_s is None
            ):
                # A launcher that ends a run because a rank died signals the other ranks to stop.
                self._check()
                stopped_s = self._stop()
            if stopped_s is None and any("share" not in answer for answer in self._answers.values()):
                stopped_s = self._stop()
            if stopped_s is not None and time.monotonic() - stopped_s > _ANSWER_S:
                break
            self._check()
        missing = [rank for rank in range(self._size) if rank not in self._answers]
        answers = [self._answers[rank] for rank in sorted(self._answers)]
        if missing:
            names = ", ".join(self._leader.identities[rank].words for rank in missing)
            answers.append({"lost": f"{names} did not end in {_ANSWER_S:g} s when asked to"})
        return raise_for(answers)

    def _check(self) -> None:
        """Raise RunFailed when a rank is lost whose answer has not come."""
        if any(rank not in self._answers for rank in range(1, self._size)):
            self._leader.check(self._size)

    def _look(self) -> None:
        own = self._own
        assert own is not None
        if own.is_ready:
            self._ready.add(0)
        self._progress[0] = own.progress
        if own.answer is not None:
            self._answers[0] = own.answer
        received = self._leader.next()
        while received is not None:
            rank, message = received
            if "ready" in message:
                self._ready.add(rank)
            elif "progress" in message:
                self._progress[rank] = message["progress"]
            elif "answer" in message:
                self._answers[rank] = message["answer"]
                self._ready.add(rank)
            received = self._leader.next() if len(self._answers) < self._size else None

    def _begin(self, offsets: Sequence[Offset]) -> None:
        at_ns = _now_ns() + _BEGIN_NOTICE_NS
        for rank in range(1, self._size):
            self._leader.send(rank, {"begin": at_ns + offsets[rank].offset_ns})
        assert self._own is not None
        self._own.begin(at_ns)

    def _stop(self) -> float:
        for rank in range(1, self._size):
            if rank not in self._answers:
                self._leader.send(rank, {"stop": True})
        assert self._own is not None
        self._own.stop()
        return time.monotonic()

    def end(self) -> None:
        """Leave nothing at work here."""
        if self._own is None:
            return
        if self._own.answer is None or len(self._answers) < self._size:
            self._stop()
        self._own.end()


def _origin_of(share: str) -> int:
    """Instant at which the threads of a share began, on their own clock."""
    import json

    found: Any = json.loads(share)
    return int(found["origin_ns"])


# Estimate the offset between two clocks from round-trip messages.
# Scope: an exchange is (sent here, read there, received here). Whatever the way took in each direction, the
# other clock was read between the two readings here, so the offset lies in [there - received, there - sent]; all
# exchanges together leave the intersection of these. Its middle is the estimate, half its width the bound; with one
# exchange that is Cristian's rule: the round trip halved (F. Cristian, "Probabilistic clock synchronization", 1989).
# Where the exchanges contradict each other, since a clock ran faster or jumped, the one with
# the shortest round trip is taken and the bound widened by the contradiction.

Exchange = tuple[int, int, int]


class Offset(NamedTuple):
    """Nanoseconds to add to a reading of the local clock to get the other clock's reading."""

    offset_ns: int
    bound_ns: int
    """Maximum error of the offset, in nanoseconds."""
    round_trip_ns: int
    """The shortest."""


SAME_CLOCK = Offset(0, 0, 0)


def offset_of(exchanges: Sequence[Exchange]) -> Offset:
    """The offset of the other clock; at least one exchange."""
    sent, there, received = min(exchanges, key=lambda exchange: exchange[2] - exchange[0])
    shortest_ns = received - sent
    low = max(read - got for _, read, got in exchanges)
    high = min(read - out for out, read, _ in exchanges)
    if low <= high:
        return Offset((low + high) // 2, (high - low + 1) // 2 + 1, shortest_ns)
    return Offset(there - (sent + received) // 2, (shortest_ns + 1) // 2 + (low - high), shortest_ns)


def between(before: Offset, after: Offset) -> Offset:
    """The offset in the time between two estimates: their mean, its bound widened by half of what it drifted."""
    drifted_ns = abs(after.offset_ns - before.offset_ns)
    return Offset(
        (before.offset_ns + after.offset_ns) // 2,
        max(before.bound_ns, after.bound_ns) + (drifted_ns + 1) // 2,
        min(before.round_trip_ns, after.round_trip_ns),
    )


def shifts_of(origins_ns: Sequence[int], offsets: Sequence[Offset]) -> list[int]:
    """Nanoseconds to add to each member's times so that all count from the earliest start, on the first member's clock.

    `origins_ns` are the starts, each on the member's own clock.
    """
    here = [origin_ns - offset.offset_ns for origin_ns, offset in zip(origins_ns, offsets, strict=True)]
    return [at_ns - min(here) for at_ns in here]


# The failure detector of rank 0: reports the first rank that is lost, at once and from a thread of its own.
# An MPI launcher that loses a rank ends all others. Open MPI's (PRRTE 3.0, `prte_odls_base_default_kill_local_procs`)
# sends SIGTERM 250 ms after the death and SIGKILL another 250 ms later, each earlier when a further process ends. In
# that time the thread that measures may hang in a system call, write the report or wait for the disk. The watch
# therefore waits for none of that: pidfds of the ranks on this machine wake it, it writes one line to standard error,
# and only then calls the handlers, which write to the journal and wait for the disk.
# Invariants: a loss is reported once; `wait` returns when standard error and the handlers have it; a handler is not
# called after its `handled_by` block has ended. The watch takes no lock that is held during a call of MPI: a rank that
# dies in the middle of a message may keep such a call from returning.

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


# The share of a run that this process does in a separate thread while the caller supervises.
# Scope: a start barrier with one member: when the threads of the share are ready, the caller says when they
# begin.
# What the core refuses is the answer.


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
