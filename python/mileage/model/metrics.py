"""The metrics by which a test is judged: one row for each, which every package reads.

Scope: the words of study files, CSV columns and rules; the figures that samples carry; the margins and names of both.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

MetricWord = Literal[
    "throughput",
    "iops",
    "p99",
    "commit_p50",
    "commit_p99",
    "durable_p50",
    "durable_p99",
    "sync_p50",
    "sync_p99",
    "time",
]
"""The words of a study file."""


class Metric(NamedTuple):
    """What one metric is."""

    word: MetricWord
    """Its name in a study file."""
    figure: str
    """The name that samples carry; the unit is last."""
    margin: str
    """The key of a study's relevance that holds for it."""
    title: str
    """Its name in a text: "p99 latency"."""
    latency: str = ""
    """For a quantile, the latencies it is of: `judged` (`RunRecord.judged_latency`) or a kind of a run record."""
    quantile: float = 0.0
    """0..1 for a quantile; 0 for another metric."""
    higher_is_better: bool = False

    @property
    def unit(self) -> str:
        """What the latencies of a quantile are of, one of them."""
        return {"commit": "commit", "sync": "sync", "durable_write": "durable write"}.get(
            self.latency, "operation"
        )


METRICS: Final[dict[MetricWord, Metric]] = {
    row.word: row
    for row in (
        Metric("throughput", "rate_bytes_per_s", "throughput", "rate", higher_is_better=True),
        Metric("iops", "ops_per_s", "iops", "operations per second", higher_is_better=True),
        Metric("p99", "latency_p99_ns", "p99", "p99 latency", "judged", 0.99),
        Metric("commit_p50", "commit_p50_ns", "p99", "median commit time", "commit", 0.5),
        Metric("commit_p99", "commit_p99_ns", "p99", "p99 commit time", "commit", 0.99),
        Metric(
            "durable_p50", "durable_p50_ns", "p99", "median time of a durable write", "durable_write", 0.5
        ),
        Metric("durable_p99", "durable_p99_ns", "p99", "p99 time of a durable write", "durable_write", 0.99),
        Metric("sync_p50", "sync_p50_ns", "p99", "median sync time", "sync", 0.5),
        Metric("sync_p99", "sync_p99_ns", "p99", "p99 sync time", "sync", 0.99),
        Metric("time", "elapsed_s", "time", "time"),
    )
}
"""In the order in which a test is judged by them."""

QUANTILES: Final = {word: row for word, row in METRICS.items() if row.quantile}
"""Those that need a number of operations."""
