"""How many cycles of a study run concurrently. `mileage plan` asks for it, without what runs them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from mileage.plan import Plan

if TYPE_CHECKING:
    from concurrent.futures import Executor


class CyclePool(NamedTuple):
    """Threads that do the cycles of a study first, and then other work that waits for one of them."""

    executor: Executor
    all_queued: Callable[[], None]
    """Called when every cycle has been handed to the executor."""


def calibrates(plan: Plan) -> bool:
    """Whether any cell of a plan has a count that the first run must determine."""
    return any(table.stop is not None and table.stop.at_least for table in plan.study.measure.values())


def cycles_at_once(plan: Plan) -> int:
    """Number of cycles that run concurrently: on virtual drives one per processor, elsewhere one.

    Where the first run of a cell finds its count, the cycles follow each other, so that it is the same every time.
    """
    if calibrates(plan):
        return 1
    return min(plan.study.cycles, os.cpu_count() or 1) if plan.virtual else 1
