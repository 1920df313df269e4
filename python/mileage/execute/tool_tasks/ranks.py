"""Processes of one command line that work as the ranks of an MPI program do: numbered, with barriers and reductions.

Scope: rank 0 is the process that was started, the others are forked from it and end with it. Values travel through
pipes to rank 0 and back; nothing is shared but the monotonic clock, which all processes of a machine have in common.
"""

from __future__ import annotations

import errno
import marshal
import mmap
import os
import signal
import struct
import sys
from collections.abc import Callable
from typing import Any, Final

from mileage.errors import MileageError

_HEAD: Final = struct.Struct("<I")
_FAULT_BYTES: Final = 1024
_FAULT_HEAD: Final = struct.Struct("<III")
_PR_SET_PDEATHSIG: Final = 1
"""Of `linux/prctl.h`."""
ABORTED: Final = 255
"""Exit status of a rank that gave up, as MPI_Abort(-1) leaves it."""


class RankLost(Exception):
    """Another rank ended before its time."""


class Faults:
    """What went wrong on each rank, in memory that the ranks share; made before they are."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._memory = mmap.mmap(-1, count * _FAULT_BYTES)

    def note(self, rank: int, number: int, text: str) -> None:
        """Keep the error number (0: none) and the words of a rank's failure."""
        words = text.encode(errors="replace")[: _FAULT_BYTES - _FAULT_HEAD.size]
        self._memory.seek(rank * _FAULT_BYTES)
        self._memory.write(_FAULT_HEAD.pack(1, number, len(words)) + words)

    def first(self) -> tuple[int, str] | None:
        """The failure of the lowest rank that has one."""
        for rank in range(self._count):
            self._memory.seek(rank * _FAULT_BYTES)
            is_noted, number, length = _FAULT_HEAD.unpack(self._memory.read(_FAULT_HEAD.size))
            if is_noted:
                return number, self._memory.read(length).decode(errors="replace")
        return None


class Ranks:
    """One rank among `count`."""

    def __init__(self, rank: int, count: int, links: list[tuple[int, int]]) -> None:
        """`links`: file descriptors to read from and to write to, of rank 0 one pair for each other rank."""
        self.rank = rank
        self.count = count
        self._links = links

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks in their order, on every rank; a barrier. Raises RankLost."""
        if self.rank:
            (link,) = self._links
            _send(link[1], value)
            found: list[Any] = _receive(link[0])
            return found
        values = [value, *(_receive(link[0]) for link in self._links)]
        for link in self._links:
            _send(link[1], values)
        return values

    def barrier(self) -> None:
        """Wait until all ranks are here. Raises RankLost."""
        if self.count > 1:
            self.gather(None)

    def among(self, count: int) -> Ranks:
        """The same rank among the first `count`, of which it must be one."""
        links = self._links if self.rank else self._links[: count - 1]
        return Ranks(self.rank, count, links)

    def first(self, value: Any) -> Any:
        """The value of rank 0, on every rank."""
        return self.gather(value)[0]


def run_ranks(count: int, body: Callable[[Ranks], int]) -> int:
    """Have `count` ranks do the same; the exit status of rank 0, or that of a rank that failed."""
    sys.stdout.flush()
    links: list[tuple[int, int]] = []
    children: list[int] = []
    for rank in range(1, count):
        to_child, to_parent = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            for fd in (to_child[1], to_parent[0], *(fd for link in links for fd in link)):
                os.close(fd)
            _end_with_parent()
            _as_child(body, Ranks(rank, count, [(to_child[0], to_parent[1])]))
        os.close(to_child[0])
        os.close(to_parent[1])
        links.append((to_parent[0], to_child[1]))
        children.append(child)
    status = ABORTED
    try:
        status = body(Ranks(0, count, links))
    except RankLost:
        pass
    finally:
        for link in links:
            os.close(link[0])
            os.close(link[1])
        status = max(status, *(_status_of(child, status) for child in children), 0)
    return status


def status_of_rank(rank: int, faults: Faults, body: Callable[[], int]) -> int:
    """The exit status of what one rank does; what went wrong is noted in `faults`."""
    try:
        return body()
    except OSError as error:
        faults.note(rank, error.errno or 0, error.strerror or str(error))
    except MileageError as error:
        faults.note(rank, 0, str(error))
    except RankLost:
        pass
    return ABORTED


def failure_of_ranks(tool: str, faults: Faults, remove: Callable[[], None]) -> str:
    """What the first rank failed of; empty: of nothing. Where the file system is full, what they made is removed."""
    fault = faults.first()
    if fault is None:
        return ""
    number, text = fault
    if number in (errno.ENOSPC, errno.EDQUOT):
        remove()
        text += f" ({tool}: what was made is removed)"
    return text


def _status_of(child: int, own: int) -> int:
    """The exit status of a child; one that still works when rank 0 has given up is ended."""
    if own == ABORTED:
        os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else ABORTED


def _as_child(body: Callable[[Ranks], int], ranks: Ranks) -> None:
    status = ABORTED
    try:
        status = body(ranks)
        sys.stdout.flush()
    except (RankLost, KeyboardInterrupt):
        pass
    except BaseException as error:  # A child must not return into the code of its parent.
        sys.stderr.write(f"mileage: {error}\n")
    finally:
        os._exit(status)


def _end_with_parent() -> None:
    """Have the kernel end this process when rank 0 dies."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() == 1:
        os._exit(ABORTED)


def _send(fd: int, value: Any) -> None:
    text = marshal.dumps(value)
    left = memoryview(_HEAD.pack(len(text)) + text)
    try:
        while left:
            left = left[os.write(fd, left) :]
    except BrokenPipeError as error:
        raise RankLost from error


def _receive(fd: int) -> Any:
    (length,) = _HEAD.unpack(_exactly(fd, _HEAD.size))
    return marshal.loads(_exactly(fd, length))


def _exactly(fd: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length:
        part = os.read(fd, length)
        if not part:
            raise RankLost
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
