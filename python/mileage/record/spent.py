"""How long finished runs took, by the wall clock, with what belongs to them: the journal, saved states, snapshots.

What it models: from the end of the run before, in the same cycle, to a run's own end. Where much more time went by
than the run itself took, the study was interrupted, and only the run's own time counts.
What it refuses: nothing; a study without finished runs has spent none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from mileage.record.journal import JournalContent

BETWEEN_MAX_S: Final = 5.0
"""Seconds between two runs at most; where more went by, nobody was at work."""


def spent_s(content: JournalContent) -> dict[int, float]:
    """Seconds that each finished run took, by its number in the plan."""
    found: dict[int, float] = {}
    before: dict[tuple[str, int], datetime] = {}
    for entry in content.of_kind("run"):
        lane = (str(entry.get("session", "")), int(entry["cycle"]))
        started = datetime.fromisoformat(entry["started"])
        finished = datetime.fromisoformat(entry["finished"])
        gap = (started - before[lane]).total_seconds() if lane in before else 0.0
        own = (finished - started).total_seconds()
        found[int(entry["run"])] = own + (gap if 0 <= gap <= BETWEEN_MAX_S else 0.0)
        before[lane] = finished
    return found
