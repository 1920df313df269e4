"""Start and end of each stage by the wall clock, the duration of the study, and the gap before each stage.

Scope: a gap as the time from the end of the last run of a stage to the start of the first run of the next stage of the
same cycle and arm. A stage without a finished run has no times, and an unfinished study no whole. What a device
discarded in each stage, as the stage's end counted it.
"""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from mileage.judge.samples import SHAM
from mileage.model.journal_entries import DISCARDED, DISCARDED_OUTSIDE, Choice, End, Run, StageEnd, StageKey
from mileage.plan.sizes import format_bytes
from mileage.store.journal import JournalContent


class StageTimes:
    """First start and last end of each stage, over the runs that were added."""

    def __init__(self) -> None:
        """Begin without any run."""
        self._spans: dict[StageKey, tuple[datetime, datetime]] = {}

    def add(self, entry: Run) -> None:
        """Take a run."""
        started, finished = datetime.fromisoformat(entry.started), datetime.fromisoformat(entry.finished)
        first, last = self._spans.get(entry.stage_key, (started, finished))
        self._spans[entry.stage_key] = min(first, started), max(last, finished)

    def gaps_s(self) -> dict[tuple[str, str], list[float]]:
        """Seconds before each stage, one for each cycle, by both stages' names; the sham arm is not among them."""
        lanes: dict[tuple[str, int, str], list[tuple[datetime, datetime, str]]] = {}
        for (session, cycle, arm, stage), (first, last) in self._spans.items():
            if arm != SHAM:
                lanes.setdefault((session, cycle, arm), []).append((first, last, stage))
        found: dict[tuple[str, str], list[float]] = {}
        for spans in lanes.values():
            ordered = sorted(spans)
            for (_, last, before), (first, _, after) in pairwise(ordered):
                found.setdefault((before, after), []).append((first - last).total_seconds())
        return found

    def words(self) -> dict[str, str]:
        """The gaps as a report lists them: "gap torture to after" is "0.01 to 0.03 s"."""
        return {
            f"gap {before} to {after}": _span([max(gap, 0.0) for gap in gaps])
            for (before, after), gaps in self.gaps_s().items()
        }


def wall_time(content: JournalContent) -> dict[str, str]:
    """The time from the start of a study to its end, with its variants of the drive model and with interruptions.

    Empty before its end, and of an imported study, whose end is that of the import.
    """
    head, ends = content.study, content.of_kind(End)
    if (
        head is None
        or head.started is None
        or head.imported_at is not None
        or not ends
        or not ends[-1].finished
    ):
        return {}
    last = max(
        [ends[-1].finished, *(choice.at for choice in content.of_kind(Choice))], key=datetime.fromisoformat
    )
    spent = datetime.fromisoformat(last) - datetime.fromisoformat(head.started)
    return {"wall time": clock(max(spent.total_seconds(), 0.0))}


def discard_words(content: JournalContent) -> dict[str, str]:
    """What the device discarded in each stage, all cycles together; stages without discards are omitted."""
    found: dict[str, list[int]] = {}
    for end in content.of_kind(StageEnd):
        if end.watch.get(DISCARDED):
            counts = found.setdefault(end.stage, [0, 0])
            counts[0] += end.watch[DISCARDED]
            counts[1] += end.watch.get(DISCARDED_OUTSIDE, 0)
    return {
        f"discards of {stage}": f"{format_bytes(total)}, of which {format_bytes(outside)} outside its runs, when the "
        "file system committed"
        for stage, (total, outside) in found.items()
    }


def clock(time_s: float) -> str:
    """Seconds as "12.3 s", "4 min 5 s" or "2 h 03 min"."""
    if time_s < 60:
        return f"{time_s:.1f} s"
    if time_s < 3600:
        return f"{int(time_s) // 60} min {int(time_s) % 60} s"
    return f"{int(time_s) // 3600} h {int(time_s) % 3600 // 60:02d} min"


def _span(times_s: list[float]) -> str:
    low, high = min(times_s), max(times_s)
    if high < 60:
        first, last = f"{low:.2f}", f"{high:.2f}"
        return f"{last} s" if first == last else f"{first} to {last} s"
    return clock(high) if clock(low) == clock(high) else f"{clock(low)} to {clock(high)}"
