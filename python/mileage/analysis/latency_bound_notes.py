"""Note about latencies that a closed loop cannot show (coordinated omission), for the run in which it hides most.

Where the journal meets `judge.overload.omission`. A run whose longest operation is a small share of it
hides nothing.
"""

from __future__ import annotations

from typing import Final

from mileage.judge.overload import STOPPED_MIN, omission
from mileage.model.journal_entries import Run
from mileage.plan.quantiles import quantile_is_supported
from mileage.report.load_words import omission_words

P99: Final = 0.99


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
        service = record.service.quantile_ns(P99)
        # A p99 of the open loop is printed, and so needs its operations.
        if service is None or (response.count and not quantile_is_supported(response.count, P99)):
            return
        found = omission(
            service_p99_ns=service,
            response_p99_ns=response.quantile_ns(P99),
            longest_ns=longest_ns,
            elapsed_ns=record.submit_ns,
        )
        if found is not None:
            note = f"{entry.cell}, {entry.stage}: {omission_words(found)}"
            self._most = max(self._most, (longest_ns / record.submit_ns, note))
