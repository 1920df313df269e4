"""Why a difference is there, as far as a drive's own counters tell: what it did beside the host's work, in both arms.

Models the counters as rates per 1,000 operations of the host, so that runs of different length compare. It names what
differs and claims no more: a counter that moves with a rate is an explanation, the counterfactual arm is the proof.
Refuses nothing: a target that counts nothing has no such sentences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mileage.judge import CellVerdict, Comparison

CELLS_MAX: Final = 3
"""Cells that are explained, those that changed most."""
DIFFERS: Final = 0.05
"""Relative difference from which a counter is worth a word."""
_WORDS: Final = {
    "gc_pages_moved": "pages moved by garbage collection",
    "blocks_erased": "blocks erased",
    "slc_pages_folded": "pages folded out of the SLC cache",
    "levelling_pages_moved": "pages moved to level wear",
    "full_merges": "full merges",
    "partial_merges": "partial merges",
    "map_pages_read": "pages of the map read",
    "map_pages_programmed": "pages of the map programmed",
    "read_retries": "read retries",
    "suspensions": "erases and programs interrupted",
}
Records = Mapping[tuple[str, str], Sequence[dict[str, Any]]]


def why(comparison: Comparison, records: Records) -> list[str]:
    """A sentence for each of the decided headline cells that changed most, and one for those without a mechanism."""
    decided = [c for c in comparison.headline if c.verdict in ("faster", "slower") and c.ratio]
    by_size = sorted(decided, key=lambda cell: -abs(math.log(cell.ratio or 1.0)))
    told = [(cell, _parts(comparison, cell, records)) for cell in by_size]
    found = [
        f"{cell.cell}, {comparison.baseline} to {comparison.candidate}: {'; '.join(parts)}."
        for cell, parts in told
        if parts
    ]
    silent = [cell.cell for cell, parts in told if parts == []]
    rest = [f"Nothing that the drive counts differs at {', '.join(silent)}."] if silent else []
    return [*found[:CELLS_MAX], *rest]


def _parts(comparison: Comparison, cell: CellVerdict, records: Records) -> list[str] | None:
    """Each counter that differs, with both figures; None where one of the arms counts nothing."""
    low = _rates(records.get((cell.cell, comparison.baseline), ()))
    high = _rates(records.get((cell.cell, comparison.candidate), ()))
    if low is None or high is None:
        return None
    return [
        f"{words} {_figure(low[words])} to {_figure(high[words])}"
        for words in low
        if words in high and _differ(low[words], high[words])
    ]


def _rates(records: Sequence[dict[str, Any]]) -> dict[str, float] | None:
    """What the drive did per 1,000 operations, and its write amplification; None where it counts nothing."""
    counted = [record for record in records if record["counters"]]
    operations = sum(record["ops_read"] + record["ops_written"] for record in counted)
    if not operations:
        return None
    sums = {name: sum(record["counters"].get(name, 0) for record in counted) for name in _WORDS}
    host, flash = (
        sum(record["counters"].get(name, 0) for record in counted)
        for name in ("host_pages_written", "flash_pages_programmed")
    )
    amplification = {"write amplification": flash / host} if host else {}
    per_thousand = {
        f"{words} per 1,000 operations": 1000 * sums[name] / operations for name, words in _WORDS.items()
    }
    return {**amplification, **per_thousand}


def _differ(low: float, high: float) -> bool:
    return abs(high - low) > DIFFERS * max(low, high)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
