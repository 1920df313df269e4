"""Report whether a target kept up with a fixed rate, and from which rate on it did not.

Scope: the runs of an open loop whose rate is constant: operations completed in each interval against those that were
due (see `judge.overload`). A run too short to see a backlog grow, a ramp and a closed loop have no
sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mileage.model.journal_entries import Run
from mileage.plan import Plan
from mileage.report.load_words import overload_words
from mileage.store.journal import JournalContent


def load_notes(resolved: Plan, content: JournalContent) -> list[str]:
    """One sentence about a single rate that the target could not keep, or about the limit among several rates.

    Empty if it kept all.
    """
    rates = {
        cell.label: float(cell.workload.load.open.operations_per_s)
        for cell in resolved.cells
        if cell.workload is not None
        and cell.workload.load.open is not None
        and cell.workload.load.open.ramp is None
    }
    return _sentences(rates, [run for run in content.runs() if run.cell in rates]) if rates else []


def _sentences(rates: Mapping[str, float], entries: Sequence[Run]) -> list[str]:
    # Imported here, next to the numbers, because only studies with an open loop need it.
    from mileage.judge.overload import INTERVALS_MIN, knee, overload

    points = []
    for entry in entries:
        series = entry.record.series
        # The last interval is cut short by the end of the run.
        done = series.ops[:-1]
        if len(done) >= INTERVALS_MIN:
            points.append(overload(done, interval_s=series.interval_s, offered=rates[entry.cell]))
    found = knee(points)
    if found.lost is None:
        return []
    lost = min((point for point in points if point.offered == found.lost), key=lambda point: point.achieved)
    grows = "response times there grow for as long as a run lasts"
    if found.kept is None or found.kept >= found.lost:
        return [f"at {found.lost:,.0f} operations/s it is saturated ({overload_words(lost)}): {grows}"]
    kept = f"it keeps up with {found.kept:,.0f} operations/s"
    return [f"{kept} and is saturated at {found.lost:,.0f} ({overload_words(lost)}): {grows}"]
