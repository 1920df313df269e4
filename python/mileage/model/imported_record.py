"""Record of a run of another tool: the figures that it printed, and settings read from its output.

Scope: None where the tool does not say; bytes, seconds and nanoseconds. A run that Mileage did has a
`model.run_record.RunRecord` instead.
What it refuses: guesses; counts below zero or too large for a table.
"""

from __future__ import annotations

import msgspec

from mileage.model.histogram import Histogram
from mileage.model.metrics import METRICS, MetricWord
from mileage.model.number_ranges import Count, Figure


class ImportedSeries(msgspec.Struct):
    """Figures of each interval, as another tool reports them; None where it does not."""

    interval_ns: Count
    bytes_read: list[Count | None]
    bytes_written: list[Count | None]
    ops: list[Count | None]
    latency_sum_ns: list[Count | None]
    counters: dict[str, list[Count]] = {}
    latency_p50_ns: list[Count | None] = []
    latency_p99_ns: list[Count | None] = []
    latency_max_ns: list[Count | None] = []

    @property
    def interval_s(self) -> float:
        """Seconds of an interval."""
        return self.interval_ns / 1e9


class ReportedFigures(msgspec.Struct, frozen=True):
    """The figures that another tool printed."""

    rate_bytes_per_s: Figure | None
    ops_per_s: Figure | None
    latency_p99_ns: Figure | None
    elapsed_s: Figure | None
    latencies_ns: dict[str, Figure] = {}
    """Quantiles of commits and syncs, by the names in `model.metrics`."""

    def figure(self, word: MetricWord) -> float | None:
        """The value of a metric; None where the tool does not print it."""
        name = METRICS[word].figure
        return self.latencies_ns[name] if name in self.latencies_ns else getattr(self, name, None)


class ImportedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Record of a run as another tool reports it."""

    reported: ReportedFigures
    bytes_read: Count | None
    bytes_written: Count | None
    ops_read: Count | None
    ops_written: Count | None
    quantiles_ns: dict[str, Figure]
    """`mean`, `min`, `p50`, `p90`, `p99`, `p99_9`, `max`, as far as the tool prints them."""
    latency_sum_ns: Figure | None
    submission_counted: bool = True
    """Whether that sum includes the time until an operation was submitted."""
    outstanding: Count | None
    """Operations that could be outstanding at once."""
    device_bytes: Count | None
    """Bytes that the device moved during the run, in both directions."""
    latency: dict[str, Histogram]
    series: ImportedSeries
    counters: dict[str, Count]
    notes: list[str]
    error: str | None
    invalid: str | None = None
    """The tool's own statement that the figures are invalid for comparisons."""
    file: str
    line: Count
    printed_names: list[str] = []
    printed_figures: list[float] = []

    @property
    def operations(self) -> int:
        """Operations that the tool lists; 0 where it lists none."""
        return (self.ops_read or 0) + (self.ops_written or 0)
