"""The one figure by which a run is known while a study still runs: the first of its metrics.

Scope: bytes or operations over elapsed time; writing that is not measured is known by its rate in bytes.
What it refuses: percentiles, which need the histogram; a cell whose first metric is one is known by its operations.
"""

from __future__ import annotations

from mileage.model.journal_entries import Run
from mileage.store.tables import each_test


def headline_of(entry: Run) -> dict[str, float]:
    """The main figure of each measured cell of a run, by the label of the cell; 0 for a run that took no time."""
    return {one.cell: _figure(one) for one in each_test(entry)}


def _figure(entry: Run) -> float:
    first = entry.metrics[0] if entry.metrics else "throughput"
    if first == "time":
        return entry.record.elapsed_s
    return entry.record.rate_bytes_per_s if first == "throughput" else entry.record.ops_per_s
