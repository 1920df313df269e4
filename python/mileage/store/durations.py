"""Durations of finished runs and stages by the wall clock, including overhead such as the journal.

Scope: from the end of the run before, in the same stage, to a run's own end. What happens at the end of a
stage, such as keeping the state of a drive, belongs to the stage. Where much time went by between two runs, the study
was interrupted, and only the run's own time counts.
A study without finished runs has spent none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from mileage.model.journal_entries import Run, StageEnd, StageKey
from mileage.store.journal import JournalContent

BETWEEN_MAX_S: Final = 1.0
"""Seconds between two runs at most; where more went by, nobody was at work."""


def spent_s(content: JournalContent) -> dict[int, float]:
    """Seconds that each finished run took, by its number in the plan."""
    found: dict[int, float] = {}
    before: dict[StageKey, datetime] = {}
    for entry in content.of_kind(Run):
        lane = entry.stage_key
        started = datetime.fromisoformat(entry.started)
        finished = datetime.fromisoformat(entry.finished)
        gap = (started - before[lane]).total_seconds() if lane in before else 0.0
        own = (finished - started).total_seconds()
        found[entry.run] = own + (gap if 0 <= gap <= BETWEEN_MAX_S else 0.0)
        before[lane] = finished
    return found


def closed_s(content: JournalContent) -> dict[StageKey, float]:
    """Seconds from the last run of each finished stage to its end, by part, cycle, arm and stage."""
    last: dict[StageKey, datetime] = {}
    for entry in content.of_kind(Run):
        last[entry.stage_key] = datetime.fromisoformat(entry.finished)
    found = {}
    for end in content.of_kind(StageEnd):
        stage = end.stage_key
        if stage in last:
            found[stage] = max((datetime.fromisoformat(end.at) - last[stage]).total_seconds(), 0.0)
    return found
