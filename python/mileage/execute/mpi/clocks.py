"""Estimate the offset between two clocks from round-trip messages.

Scope: an exchange is (sent here, read there, received here). Whatever the way took in each direction, the
other clock was read between the two readings here, so the offset lies in [there - received, there - sent]; all
exchanges together leave the intersection of these. Its middle is the estimate, half its width the bound; with one
exchange that is Cristian's rule: the round trip halved (F. Cristian, "Probabilistic clock synchronization", 1989).
Where the exchanges contradict each other, since a clock ran faster or jumped, the one with
the shortest round trip is taken and the bound widened by the contradiction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
