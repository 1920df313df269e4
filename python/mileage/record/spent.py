"""How long finished runs took, by the wall clock and what belongs to them, such as the journal.

What it models: from the end of the run before, in the same stage, to a run's own end. What happens between stages, once
each, belongs to no run. Where much time went by between two runs, the study was interrupted, and only the run's own
time counts.
What it refuses: nothing; a study without finished runs has spent none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from mileage.record.journal import JournalContent

BETWEEN_MAX_S: Final = 1.0
"""Seconds between two runs at most; where more went by, nobody was at work."""


def spent_s(content: JournalContent) -> dict[int, float]:
    """Seconds that each finished run took, by its number in the plan."""
    found: dict[int, float] = {}
    before: dict[tuple[str, ...], datetime] = {}
    for entry in content.of_kind("run"):
        lane = tuple(str(entry.get(key, "")) for key in ("session", "cycle", "arm", "stage"))
        started = datetime.fromisoformat(entry["started"])
        finished = datetime.fromisoformat(entry["finished"])
        gap = (started - before[lane]).total_seconds() if lane in before else 0.0
        own = (finished - started).total_seconds()
        found[int(entry["run"])] = own + (gap if 0 <= gap <= BETWEEN_MAX_S else 0.0)
        before[lane] = finished
    return found
