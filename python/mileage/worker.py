"""One process of a run that is spread over several: `python -m mileage.worker`.

Scope: an order, which is one share of a run: of a workload on a file (`bytes`), of an operation on names
and inodes (`metadata`), or of one of IOzone's tests (`iozone`). As a process of its own, started by
`execute.processes`, it takes orders one by one, each a line of JSON on standard input; on standard output it says
that it is `ready`, how far it is (`bytes`, `operations`), and at last its `share`, or why there is none (`refused`,
`failed`). The end of standard input means that the run is to stop: so does the death of the parent.
It imports only what a share needs, to begin soon.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Callable
from typing import Any, Final, Literal, NotRequired, TypedDict, final

from mileage import _core
from mileage.errors import Refused


class ThreadShare(TypedDict):
    """The threads of a workload that a process runs."""

    first_thread: int
    """Number of the first thread of the share, from 0."""
    threads: int
    barrier: NotRequired[str]
    """Path of the file in which the threads of all processes meet before they start."""


@final
class ByteOrder(TypedDict):
    """An order for some threads of a workload on one file or device."""

    kind: Literal["bytes"]
    path: str
    workload: str
    """JSON, as the core takes it; so are the options."""
    options: str
    share: ThreadShare
    at_ns: NotRequired[int]
    """Start time on CLOCK_MONOTONIC_RAW; immediately when missing."""


@final
class MetadataOrder(TypedDict):
    """An order for one task of an operation on names and inodes."""

    kind: Literal["metadata"]
    path: str
    """The directory."""
    metadata: str
    """JSON, as the core takes it; so are the options."""
    options: str
    barrier: NotRequired[str]
    """Path of the file in which the tasks of all processes meet before they start."""
    at_ns: NotRequired[int]
    """Start time, as for a `ByteOrder`."""


@final
class IozoneOrder(TypedDict):
    """An order for some children of one of IOzone's tests."""

    kind: Literal["iozone"]
    path: str
    suite: str
    """JSON, as the core takes it."""
    step: int
    known: list[Any]
    """The files that the tests before opened, as the core returned them."""
    share: ThreadShare
    at_ns: NotRequired[int]
    """Start time, as for a `ByteOrder`."""


Order = ByteOrder | MetadataOrder | IozoneOrder


@final
class Share(TypedDict):
    """The result of an order that was completed."""

    share: str
    """JSON, as the core's merging functions take it."""


@final
class RefusedShare(TypedDict):
    """An order that was refused before anything was done."""

    refused: str


@final
class FailedShare(TypedDict):
    """An order that failed."""

    failed: str


@final
class LostShare(TypedDict):
    """An order whose process or rank has died."""

    lost: str


Answer = Share | RefusedShare | FailedShare | LostShare


@final
class Ready(TypedDict):
    """A process that can take an order, or a rank whose threads wait for the start."""

    ready: Literal[True]


@final
class ProgressMessage(TypedDict):
    """Progress of a process in its order."""

    bytes: int
    operations: int


_SPIN_NS: Final = 200_000
"""The last bit of a wait is spent looking at the clock, since sleeping ends late."""


def do_order(order: Order, poll: Callable[[int, int], bool]) -> Answer:
    """Do a share and return it as `share` (JSON), or why there is none as `refused` or `failed`."""
    wait_until(order.get("at_ns", 0))
    try:
        if order["kind"] == "metadata":
            share = _core.run_metadata_share(
                order["path"], order["metadata"], order["barrier"], poll, order["options"]
            )
        elif order["kind"] == "iozone":
            part = json.dumps({field: order[field] for field in ("step", "known", "share")})
            share = _core.run_iozone_share(order["path"], order["suite"], part, poll)
        else:
            threads = json.dumps(order["share"])
            share = _core.run_share(order["path"], order["workload"], order["options"], threads, poll)
    except BrokenPipeError:
        raise
    except (Refused, ValueError) as refusal:
        return {"refused": str(refusal)}
    except OSError as cause:
        return {"failed": str(cause)}
    return {"share": share}


def wait_until(at_ns: int) -> None:
    """Wait for an instant of CLOCK_MONOTONIC_RAW, a second at most; one that has passed is not waited for."""
    left_ns = min(at_ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), 1_000_000_000)
    end_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + left_ns
    if left_ns > _SPIN_NS:
        time.sleep((left_ns - _SPIN_NS) / 1e9)
    while time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) < end_ns:
        pass


def main() -> int:
    """Do the shares that standard input asks for. Returns the exit status of the process."""
    if level := os.environ.get("MILEAGE_LOG"):
        from mileage.log import start_log

        start_log(level)
    try:
        return _serve()
    except BrokenPipeError:
        # The parent has died: discard buffered output, which would only cause an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3


def _serve() -> int:
    def poll(byte_count: int, operations: int) -> bool:
        _say({"bytes": byte_count, "operations": operations})
        ready, _, _ = select.select([sys.stdin.buffer], [], [], 0)
        return bool(ready)

    # Read the engine's clock once now, because the first reading calibrates it and takes milliseconds.
    _core.clock_ns()
    _say({"ready": True})
    # A line without an end comes from a parent that was killed while it wrote.
    while (line := sys.stdin.buffer.readline()).endswith(b"\n"):
        answer = do_order(json.loads(line), poll)
        _say(answer)
        if "share" not in answer:
            return 2 if "refused" in answer else 3
    return 0


def _say(message: Answer | Ready | ProgressMessage) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
