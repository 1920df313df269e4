"""What happened to the members of an array, in the order in which it happened, from the counters of the runs.

Scope: an event as the first interval of a run in which its counter is not zero; the time is the end of that interval.
Targets that are no arrays have no such sentences, and their runs are not read for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mileage.model.journal_entries import Run
from mileage.targets.profiles import figures_of_target

_LOST: Final = "array_lost"
"""A gauge: a run has it in its series only."""
_EVENTS: Final = {
    "members_timed_out": (
        "a member did not answer in time",
        "the first of {} members did not answer in time",
    ),
    "members_failed": ("a member failed", "the first of {} members failed"),
    "degraded_reads": ("a read needed the other members", "the first of {} reads needed the other members"),
    "degraded_writes": (
        "a write needed the other members",
        "the first of {} writes needed the other members",
    ),
    "rebuilds_started": (
        "a spare took its place, and its rebuild began",
        "the first of {} spares took its place",
    ),
    "rebuilds_completed": ("the rebuild ended", "the first of {} rebuilds ended"),
    _LOST: ("the array was lost, because more members had failed than its level bears", ""),
}
"""Counters in the order of cause and effect, and what one and the first of several of them mean."""


def is_array(target: str) -> bool:
    """Whether a target is a virtual array."""
    return figures_of_target(target).get("kind") == "array"


def array_events(targets: Sequence[str], runs: Sequence[Run]) -> list[str]:
    """A sentence for each run in which something happened to a member, in the order of the runs."""
    if not any(is_array(target) for target in targets):
        return []
    return [line for entry in runs if (line := _line(entry))]


def _line(entry: Run) -> str:
    events = sorted(_events(entry))
    if not events:
        return ""
    levels = "".join(f", {level}" for level in entry.levels.values())
    where = f"{entry.stage}, {entry.cell or entry.role}{levels} (run {entry.run})"
    return f"{where}: " + "; ".join(f"after {seconds:.3g} s {words}" for seconds, _, words in events) + "."


def _events(entry: Run) -> Iterator[tuple[float, int, str]]:
    """Time in seconds, place in the order of causes, words."""
    series = entry.record.series
    for place, (name, (one, several)) in enumerate(_EVENTS.items()):
        values = series.counters.get(name, [])
        total = entry.record.counters.get(name, values[-1] if values and name == _LOST else 0)
        if not total:
            continue
        at = next((at for at, value in enumerate(values) if value), len(values) - 1)
        words = one if total == 1 else several.format(f"{total:,}")
        yield (at + 1) * series.interval_s, place, words
