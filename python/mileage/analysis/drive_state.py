"""The state in which the compared runs began, by the plan and the journal, and in what two sides differ in it.

Scope: how the drive was emptied, what had been written to it since, and on virtual drives the gauges when the runs
began: erased blocks in stock, and free pages of the SLC cache. Of several runs the median counts. A stress between two
stages is what such a study asks about, so this is for levels, workloads and studies.
Of a drive whose content was kept, what had been written before is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

import msgspec

from mileage.model.caveat import Caveat, limit
from mileage.model.journal_entries import Run
from mileage.plan import Plan

DIFFERENCE_MIN: Final = 0.1
"""Difference of two shares, or relative difference of two gauges, that counts."""
CHURN_MAX: Final = 3.0
"""Capacities written from which a drive counts as used, however much more was written."""
_GAUGES: Final = ("free_blocks", "slc_free_pages")


class DriveState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a target when the compared runs began. None: not known, or it has no such thing."""

    target: str
    start: str
    """How it was emptied last: "kept", or the way of the purge, or "trim"."""
    precondition: str
    """What the plan wrote for that before anything was measured: "none", "quick", "snia-dependent" ..."""
    fill: str
    """Share that files fill, as the plan has it; "none" without."""
    written_capacities: float | None
    """Bytes written since it was emptied, over the capacity."""
    free_blocks: float | None = None
    """Erased blocks in stock."""
    slc_free_pages: float | None = None


class Beginnings:
    """The state before each measured run, of the runs of a study that are taken in the order of its plan."""

    def __init__(self, plan: Plan) -> None:
        """Begin without any run."""
        self._plan = plan
        self._written: dict[tuple[str, int, str, int], int] = {}
        self._emptied: dict[tuple[str, int, str, int], str] = {}

    def take(self, entry: Run) -> DriveState | None:
        """Take a run: the state in which it began if it was measured."""
        run = self._plan.runs[entry.run]
        setting = self._plan.setting_of(run)
        key = (run.part, run.cycle, run.arm, setting.instance)
        if run.role == "reset" and run.cell in ("purge", "trim"):
            self._written[key] = 0
            self._emptied[key] = run.cell
        written = self._written.get(key, 0)
        self._written[key] = written + entry.record.bytes_written
        if run.role != "measure":
            return None
        state, facts = setting.state, self._plan.facts_of(setting)
        start = "kept" if state.start == "kept" else self._emptied.get(key, "purge")
        capacities = written / facts.capacity_bytes if facts.capacity_bytes else None
        return DriveState(
            target=setting.target,
            start=f"purge ({state.purge})" if start == "purge" and not facts.virtual else start,
            precondition=state.precondition or "none",
            fill=state.fill or state.aged or "none",
            written_capacities=None if start == "kept" else capacities,
            **_gauges(entry),
        )


def drive_state(began: Sequence[DriveState]) -> DriveState | None:
    """The state in which some runs began together; None of none."""
    if not began:
        return None
    starts = [state.start for state in began]
    values = {
        name: [one for state in began if (one := getattr(state, name)) is not None]
        for name in (*_GAUGES, "written_capacities")
    }
    return msgspec.structs.replace(
        began[0],
        start=max(dict.fromkeys(starts), key=starts.count),
        **{name: median(found) if found else None for name, found in values.items()},
    )


def _gauges(entry: Run) -> dict[str, float | None]:
    """The gauges of a virtual drive at the end of the first interval of a run."""
    series = entry.record.series.counters
    return {name: float(series[name][0]) if series.get(name) else None for name in _GAUGES}


def state_caveats(a: DriveState | None, b: DriveState | None) -> list[Caveat]:
    """The differences of two states, each of which limits a conclusion."""
    if a is None or b is None:
        return []
    found = [
        _differs(words, getattr(a, name), getattr(b, name))
        for name, words in _SETTINGS.items()
        if getattr(a, name) != getattr(b, name)
    ]
    one, other = (state.written_capacities for state in (a, b))
    if one is not None and other is not None and _is_apart(min(one, CHURN_MAX), min(other, CHURN_MAX)):
        words = "the amount written before the runs, in multiples of the drive's capacity,"
        found.append(_differs(words, f"{one:.2f}", f"{other:.2f}"))
    if a.target == b.target:
        for name, words in _GAUGE_WORDS.items():
            first, second = getattr(a, name), getattr(b, name)
            if None not in (first, second) and abs(first - second) > DIFFERENCE_MIN * max(first, second):
                found.append(_differs(words, f"{first:,.0f}", f"{second:,.0f}"))
    return found


def _is_apart(one: float, other: float) -> bool:
    return abs(one - other) > DIFFERENCE_MIN * max(one, other, 1.0)


def _differs(key: str, baseline: str, candidate: str) -> Caveat:
    return limit("state-differs", key=key, baseline=baseline, candidate=candidate)


_SETTINGS: Final[Mapping[str, str]] = {
    "start": "how the target was emptied",
    "precondition": "the preconditioning",
    "fill": "the share that files fill",
}
_GAUGE_WORDS: Final[Mapping[str, str]] = {
    "free_blocks": "the stock of erased blocks",
    "slc_free_pages": "the free part of the SLC cache, in pages,",
}
