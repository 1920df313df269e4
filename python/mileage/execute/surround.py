"""What is done around a run on a real target: the page cache brought to its state, memory limited.

What it models: the `Caching` of a run, done before its first operation and undone after its last one.
What it refuses: nothing of its own; what the machine does not allow, `target` refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mileage.plan.caching import Caching
from mileage.target import Target
from mileage.target.cache import drop_caches, empty_cache, fill_cache
from mileage.target.memory import limited_memory


@contextmanager
def surrounded(target: Target, caching: Caching) -> Iterator[None]:
    """Bring the page cache to its state, and undo on the way out what was set. Raises Refused and OSError."""
    what = str(target.spec)
    if caching.mode in ("cold", "limited"):
        for path in target.paths:
            empty_cache(path)
    elif caching.mode == "dropped":
        drop_caches(what)
    elif caching.mode == "hot":
        for path in target.paths:
            fill_cache(path)
    if caching.mode != "limited":
        yield
        return
    with limited_memory(caching.limit_bytes, what):
        yield
