"""Explanations of a difference by a drive's own counters: its work in addition to the host's, in both arms.

Scope: all counters as rates per 1,000 operations of the host, so that runs of different length compare. It names what
differs and claims no more: a counter that moves with a rate is an explanation, the counterfactual arm is the proof.
A target that counts nothing has no such sentences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from mileage.analysis.run_variation import RunSums
from mileage.judge import CellVerdict, Comparison
from mileage.model.run_record import summed
from mileage.model.write_amplification import write_amplification

CELLS_MAX: Final = 3
"""Cells that are explained, those that changed most."""
DIFFERS: Final = 0.05
"""Relative difference from which a counter is worth a word."""
_AMPLIFICATION: Final = "write amplification"
_WORDS: Final = {
    _AMPLIFICATION: _AMPLIFICATION,
    "gc_pages_moved": "pages moved by garbage collection",
    "blocks_erased": "blocks erased",
    "slc_pages_programmed": "pages programmed in the SLC cache",
    "slc_pages_folded": "pages folded out of the SLC cache",
    "levelling_pages_moved": "pages moved to level wear",
    "full_merges": "full merges",
    "partial_merges": "partial merges",
    "map_pages_read": "pages of the map read",
    "map_pages_programmed": "pages of the map programmed",
    "read_retries": "read retries",
    "suspensions": "erases and programs interrupted",
    "member_reads": "reads of members",
    "member_writes": "writes to members",
    "full_stripe_writes": "writes of whole rows",
    "read_modify_writes": "read-modify-writes",
    "reconstruct_writes": "reconstruct-writes",
    "degraded_writes": "degraded writes",
    "degraded_reads": "degraded reads",
    "coalesced_writes": "writes joined with another of their row",
    "cache_read_hits": "reads from the cache",
    "cache_full_waits": "writes that waited for room in the cache",
    "destages": "destages",
}
"""Counters in the order in which they are printed; those that are not here follow by their own names."""
_TIMES: Final = frozenset({"queue_wait_ns", "service_ns"})
"""Counters of what is to be explained: how long commands took."""
_PROGRAMMED: Final = frozenset({"flash_pages_programmed", "flash_bytes_programmed"})
"""Counters that write amplification stands for."""
_NOTHING: Final = (
    f"No counter of the drive differs by more than {100 * DIFFERS:g} % at {{cells}}, apart from the time that its "
    "commands took."
)
Records = Mapping[tuple[str, str], Sequence[RunSums]]


def why(comparison: Comparison, records: Records) -> list[str]:
    """A sentence for each of the decided headline cells that changed most, and one for those without a mechanism."""
    decided = [c for c in comparison.headline if c.verdict in ("faster", "slower") and c.ratio]
    by_size = sorted(decided, key=lambda cell: -abs(math.log(cell.ratio or 1.0)))
    explained = [(cell, _parts(comparison, cell, records)) for cell in by_size]
    found = [
        f"{cell.cell}, {comparison.baseline} → {comparison.candidate}: {'; '.join(parts)}."
        for cell, parts in explained
        if parts
    ]
    silent = [cell.cell for cell, parts in explained if parts == []]
    rest = [_NOTHING.format(cells=", ".join(silent))] if silent else []
    return [*found[:CELLS_MAX], *rest]


def _parts(comparison: Comparison, cell: CellVerdict, records: Records) -> list[str] | None:
    """Every counter that differs between two arms, with both figures; None where an arm counts nothing."""
    low = _rates(records.get((cell.cell, comparison.baseline), ()))
    high = _rates(records.get((cell.cell, comparison.candidate), ()))
    if low is None or high is None:
        return None
    # A counter that stayed 0 is missing from a record, so a missing name means 0 here.
    figures = {name: (low.get(name, 0.0), high.get(name, 0.0)) for name in [*low, *high]}
    omitted = set(_TIMES)
    if _AMPLIFICATION in low and _AMPLIFICATION in high:
        omitted |= _PROGRAMMED
    else:
        omitted.add(_AMPLIFICATION)
    order = [*_WORDS, *(name for name in figures if name not in _WORDS)]
    words = {
        name: f"{_WORDS.get(name, name.replace('_', ' '))} {_figure(figures[name][0])} → {_figure(figures[name][1])}"
        for name in order
        if name in figures and name not in omitted and _differ(*figures[name])
    }
    first = words.pop(_AMPLIFICATION, None)
    counts = [f"per 1,000 operations: {', '.join(words.values())}"] if words else []
    return [*([first] if first else []), *counts]


def _rates(records: Sequence[RunSums]) -> dict[str, float] | None:
    """Every counter per 1,000 operations, and write amplification; None where nothing is counted."""
    counted = [record for record in records if record.counters]
    operations = sum(record.transfers for record in counted)
    if not operations:
        return None
    sums = summed(record.counters for record in counted)
    amplified = write_amplification(sums)
    # Of an array its own counters count: those of each member are in the run's record.
    rates = {name: 1000 * total / operations for name, total in sums.items() if "." not in name}
    return rates if amplified is None else {_AMPLIFICATION: amplified, **rates}


def _differ(low: float, high: float) -> bool:
    return abs(high - low) > DIFFERS * max(low, high)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
