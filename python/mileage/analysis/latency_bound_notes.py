"""What the latencies of a closed loop hide, told of the run that hides most.

Where the journal meets `judge.overload.omission`. Refuses nothing: a run whose longest operation is a small share of it
hides nothing.
"""

from __future__ import annotations

from typing import Any

from mileage.judge.overload import STOPPED_MIN, omission
from mileage.store.histogram import of_all_kinds, quantile_ns


class Hidden:
    """Of all measured runs the one whose latencies hide most."""

    def __init__(self) -> None:
        """Of no run yet."""
        self._most = (0.0, "")

    @property
    def notes(self) -> list[str]:
        """It in a sentence; none if none hides anything."""
        return [self._most[1]] if self._most[1] else []

    def add(self, entry: dict[str, Any]) -> None:
        """Take a run."""
        record = entry["record"]
        latency = record["latency"]
        if entry["role"] != "measure" or record["submit_ns"] == 0:
            return
        longest_ns = max(latency["read"]["max_ns"], latency["write"]["max_ns"])
        response = latency.get("response")
        if not (response and response["count"]) and longest_ns / record["submit_ns"] <= STOPPED_MIN:
            return
        service = quantile_ns(of_all_kinds(latency), 0.99)
        if service is None:
            return
        sentence = omission(
            service_p99_ns=service,
            response_p99_ns=quantile_ns(response, 0.99) if response else None,
            longest_ns=longest_ns,
            elapsed_ns=record["submit_ns"],
        )
        if sentence:
            told = f"{entry['cell']}, {entry['stage']}: {sentence}"
            self._most = max(self._most, (longest_ns / record["submit_ns"], told))
