"""Note about latencies that a closed loop cannot show (coordinated omission), for the run in which it hides most.

Where the journal meets `judge.overload.omission`. A run whose longest operation is a small share of it
hides nothing.
"""

from __future__ import annotations

from mileage.judge.overload import STOPPED_MIN, omission
from mileage.model.journal_entries import Run


class HiddenLatency:
    """Of all measured runs, the one in which a pause of the target hid the most operations."""

    def __init__(self) -> None:
        """Begin without any run."""
        self._most = (0.0, "")

    @property
    def notes(self) -> list[str]:
        """One sentence on the run whose latencies are most incomplete; an empty list if none is."""
        return [self._most[1]] if self._most[1] else []

    def add(self, entry: Run) -> None:
        """Take a run."""
        record = entry.record
        if entry.role != "measure" or record.submit_ns == 0:
            return
        longest_ns = record.latency_of("read", "write").max_ns
        response = record.latency_of("response")
        if not response.count and longest_ns / record.submit_ns <= STOPPED_MIN:
            return
        service = record.service.quantile_ns(0.99)
        if service is None:
            return
        sentence = omission(
            service_p99_ns=service,
            response_p99_ns=response.quantile_ns(0.99),
            longest_ns=longest_ns,
            elapsed_ns=record.submit_ns,
        )
        if sentence:
            note = f"{entry.cell}, {entry.stage}: {sentence}"
            self._most = max(self._most, (longest_ns / record.submit_ns, note))
