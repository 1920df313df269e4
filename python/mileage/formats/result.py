"""Results read from another tool's file: runs with the tool's figures, in Mileage's units.

Scope: a run is one execution of one test at one setting. Bytes, seconds and nanoseconds; what the tool does
not say is None or missing, never a guess. `printed` keeps the tool's own numbers under the tool's own names.
Readers refuse a file as a whole, and name lines that they do not understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from mileage.errors import Refused
from mileage.model.cell_key import CellKey
from mileage.model.histogram import Histogram
from mileage.model.imported_record import ImportedSeries
from mileage.model.metrics import QUANTILES
from mileage.plan.quantiles import quantile_is_supported

Kind = Literal["throughput", "iops", "time"]

SHOWN_MAX: Final = 80
"""Characters of a line that are shown."""
SAMPLE_METRICS = ("rate_bytes_per_s", "ops_per_s", "latency_p99_ns", "elapsed_s")
"""Figures of a run that are judged; the names are those of the table `samples`."""


def shown(text: str) -> str:
    """A line as it is named: shortened, without line ends."""
    text = text.strip()
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 3]}..."


class Unread(msgspec.Struct, frozen=True):
    """A line that was not understood, or a part that is lost."""

    line: int
    """From 1; 0 for the file as a whole."""
    text: str
    """The text that was not understood, shortened."""
    why: str
    """The text that was expected."""


class ToolRun(msgspec.Struct, kw_only=True):
    """One run as the tool reports it. Sizes in bytes, times in seconds or nanoseconds; None: the tool does not say."""

    cell: str
    """Test and setting, "fio.randread 4 KiB, depth 32"; runs with equal cells are repetitions."""
    key: CellKey = CellKey()
    """Identity of the measurement, as for the cells of a study.

    Without threads and depth where the file does not state enough.
    """
    kind: Kind
    """Kind of the main figure: throughput, operations or time."""
    title: str = ""
    """Description of the test in a few words."""
    line: int = 0
    """Line of the run in the file, from 1; 0 when the file has no lines."""
    call: int = 0
    """The line in which its call of the tool begins; 0 where the file is of one call, or does not say."""
    levels: dict[str, str] = {}
    """Settings in the file, by name."""
    session: str = ""
    """What the file calls the session in which it was measured; empty where it does not."""
    rate_bytes_per_s: float | None = None
    ops_per_s: float | None = None
    latency_p99_ns: float | None = None
    elapsed_s: float | None = None
    latencies_ns: dict[str, float] = {}
    """Quantiles of syncs and commits, by the names in `model.metrics`."""
    bytes_read: int | None = None
    bytes_written: int | None = None
    ops_read: int | None = None
    ops_written: int | None = None
    latency: dict[str, Histogram] = {}
    """Histograms as the table `latency` has them, by kind of operation; see `histogram`."""
    quantiles_ns: dict[str, float] = {}
    """Latencies of the most frequent kind of operation, as the tool prints them.

    Keys: `mean`, `min`, `p50`, `p90`, `p99`, `p99_9`, `max`.
    """
    latency_sum_ns: float | None = None
    """Sum of all latencies, for Little's law."""
    submission_counted: bool = True
    """Whether the sum of latencies includes the time until an operation was submitted.

    Without it the sum is a lower bound.
    """
    outstanding: int | None = None
    """Operations that could be outstanding at once."""
    device_bytes: int | None = None
    """Bytes that the device moved during the run, in both directions."""
    series: ImportedSeries | None = None
    """Per interval, as the table `series` has it; see `fio_logs`."""
    counters: dict[str, int] = {}
    """Whole numbers that explain the result."""
    printed: list[tuple[str, float]] = []
    """Every number of this run that the tool gives, under the tool's own name."""
    notes: list[str] = []
    """Notes that a reader needs next to the figures."""
    error: str | None = None
    """Error that the tool reports."""
    invalid: str | None = None
    """The tool's own statement that the figures are invalid for comparisons; the figures are still shown."""

    def keep_quantiles(self, latency: str, quantiles_ns: Mapping[str, float], count: int | None) -> bool:
        """Keep the judged quantiles of commits or syncs that `count` of them support; None: their number is not known.

        Returns whether there was one.
        """
        for row in QUANTILES.values():
            name = f"p{100 * row.quantile:g}"
            if row.latency != latency or name not in quantiles_ns:
                continue
            if count is None or quantile_is_supported(count, row.quantile):
                self.latencies_ns[row.figure] = quantiles_ns[name]
        return bool(self.latencies_ns)

    @property
    def measured(self) -> bool:
        """Whether the run has a figure that can be judged."""
        return bool(self.latencies_ns) or any(getattr(self, name) is not None for name in SAMPLE_METRICS)


class Result(msgspec.Struct, kw_only=True):
    """Contents of one file."""

    tool: str
    """"fio", "iozone", "ior" ..."""
    version: str | None
    """Version as the tool writes it; None where the file does not state it."""
    layout: str
    """Name of the reader."""
    runs: list[ToolRun]
    began: str | None = None
    """Start time as the tool writes it."""
    command: str | None = None
    """The command line, where the file has it."""
    machine: dict[str, str] = {}
    """Facts of the machine in the file: host, kernel."""
    facts: dict[str, str] = {}
    """Other facts of the whole run in the file."""
    unread: list[Unread] = []
    """Lines that were not understood."""
    lost: list[str] = []
    """Descriptions of the missing parts of a damaged file."""

    def skip(self, line: int, text: str, why: str) -> None:
        """Report a line that is not understood; `why`: what was expected."""
        self.unread.append(Unread(line, shown(text), why))

    def refuse_empty(
        self, where: object, text: str, *, advice: str = "", code: str = "not-understood"
    ) -> None:
        """Raise Refused where there is no run."""
        if not self.runs:
            raise Refused(where, text, advice=advice, code=code)
