"""Independent work spread over the ranks of an MPI run by mpi4py.futures, or over processes of this machine.

Scope: a function of one value, done for many; the results come in the order of the values, whoever made them.
The function and the values must be known by name to every process (they are pickled).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from mileage.execute.workers import ranks_here

A = TypeVar("A")
B = TypeVar("B")


def spread(
    function: Callable[[A], B],
    values: Sequence[A],
    *,
    processes: int | None = None,
    advance: Callable[[], None] = lambda: None,
) -> list[B]:
    """`function` of every value, in their order; `advance` is called whenever processes have done one.

    Under an MPI launcher the ranks do it (the first one hands out the work); otherwise `processes` processes, by
    default one per processor; one value or one process is done here.
    """
    ranks = ranks_here()
    if ranks is not None and len(values) > 1:
        return ranks.spread(function, values)
    count = min(processes or os.cpu_count() or 1, len(values))
    if count < 2:
        found = []
        for value in values:
            found.append(function(value))
            advance()
        return found
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        futures = [pool.submit(function, value) for value in values]
        try:
            for future in as_completed(futures):
                future.result()
                advance()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _end_with_parent() -> None:
    """In a process of the pool: end when the one that started it was killed, from which it would wait for work."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(3)

    threading.Thread(target=watch, name="mileage-parent", daemon=True).start()


def lead_spread(comm: Any, function: Callable[[A], B], values: Sequence[A]) -> list[B]:
    """On the first rank: distribute the work to the other ranks, which must be in `serve_spread`."""
    from mpi4py.futures import MPICommExecutor

    pool: Any
    with MPICommExecutor(comm, root=0) as pool:
        return list(pool.map(function, values))


def serve_spread(comm: Any) -> None:
    """On every other rank: do the work that the first rank sends, until it has no more."""
    from mpi4py.futures import MPICommExecutor

    with MPICommExecutor(comm, root=0):
        pass
