"""Conditions around a run on a real target: state of the page cache, memory limit, rest before the run.

Scope: the `Caching` of a run, done before its first operation and undone after its last one, and its `settle`.
What the machine does not allow, `targets` refuses.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mileage.errors import Interrupted
from mileage.execute.run_failure import Poll
from mileage.plan.page_cache_state import Caching
from mileage.targets import Target
from mileage.targets.memory_limit import limited_memory
from mileage.targets.page_cache import drop_caches, empty_cache, fill_cache

_SLICE_S: Final = 0.1
"""Seconds between two polls for an interruption during a rest."""


@contextmanager
def surrounded(target: Target, caching: Caching) -> Iterator[None]:
    """Bring the page cache to its state, and undo on the way out what was set. Raises Refused and OSError."""
    what = str(target.spec)
    if caching.mode in ("cold", "limited"):
        for path, own in zip(target.paths, target.identities, strict=True):
            empty_cache(path, own)
    elif caching.mode == "dropped":
        drop_caches(what)
    elif caching.mode == "hot":
        for path, own in zip(target.paths, target.identities, strict=True):
            fill_cache(path, own)
    if caching.mode != "limited":
        yield
        return
    with limited_memory(caching.limit_bytes, what):
        yield


def settle(rest_ns: int, poll: Poll) -> None:
    """Write out what is dirty, of whatever target, and leave the machine alone for `rest_ns` nanoseconds.

    Raises Interrupted when `poll` asks to stop.
    """
    if rest_ns:
        os.sync()
        rest(rest_ns, poll)


def rest(rest_ns: int, poll: Poll) -> None:
    """Let `rest_ns` nanoseconds pass. Raises Interrupted when `poll` asks to stop."""
    end = time.monotonic() + rest_ns / 1e9
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _SLICE_S))
        if poll(0, 0):
            raise Interrupted()
