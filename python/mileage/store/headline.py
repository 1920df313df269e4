"""The one figure by which a run is known while a study still runs: the first of its metrics.

What it models: bytes or operations over elapsed time; writing that is not measured is known by its rate in bytes.
What it refuses: percentiles, which need the histogram; a cell whose first metric is one is known by its operations.
"""

from __future__ import annotations

from typing import Any

from mileage.store.tables import each_test

_OPERATIONS = ("ops_read", "ops_written", "ops_discarded", "ops_metadata")


def headline_of(entry: dict[str, Any]) -> dict[str, float]:
    """The figure of each cell of a finished run, by label; 0 for one that took no time."""
    return {str(one["cell"]): _figure(one) for one in each_test(entry)}


def _figure(entry: dict[str, Any]) -> float:
    record = entry["record"]
    elapsed_s = record["elapsed_ns"] / 1e9
    if elapsed_s <= 0:
        return 0.0
    if entry["metrics"] and entry["metrics"][0] == "time":
        return float(elapsed_s)
    if entry["metrics"] and entry["metrics"][0] != "throughput":
        return float(sum(record.get(kind, 0) for kind in _OPERATIONS) / elapsed_s)
    return float((record["bytes_read"] + record["bytes_written"]) / elapsed_s)
