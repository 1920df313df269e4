"""What a run of IOR found: the tasks when a test begins, and the figures of a phase, in seconds and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

Time = TypeVar("Time", int, float)


class StartedTasks(NamedTuple):
    """Tasks of a test when it begins."""

    hosts: tuple[str, ...]
    """Host of each task, by rank."""
    skew_s: float
    """Seconds between the first and the last of them after a barrier."""


class IorPhase(NamedTuple):
    """One phase of one repetition; times in seconds."""

    access: str
    moved_bytes: int
    transfers: int
    open_s: float
    transfer_s: float
    close_s: float
    total_s: float
    latency_s: float
    """The smallest of the tasks' own means."""
    repetition: int
    stonewall_s: float = 0.0
    """Time until the stonewall, with wear-out."""
    stonewall_bytes: int = 0
    """Mean of the tasks' bytes at the stonewall."""


class TaskPhase(NamedTuple):
    """A phase of one task."""

    times_s: tuple[float, ...]
    """Begin and end of opening, of the transfers and of closing."""
    moved_bytes: int
    transfers: int
    file_bytes: int
    """Size of its file afterwards."""


def whole_span(spans: Sequence[tuple[Time, Time]]) -> Time:
    """Time from the earliest start to the latest end of any task."""
    return max(end for _, end in spans) - min(start for start, _ in spans)
