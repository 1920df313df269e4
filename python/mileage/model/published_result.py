"""Results of a study as its source printed them, and what a repetition of it found, as values.

Scope: one figure or statement for a cell of a study, where it is printed, and whether a profile was fitted to it; next
to it the simulated (or measured) figure. What it refuses: nothing; `formats.published_results` reads and checks files.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

CHANGE: Final = "change %"
RATIO: Final = "ratio"
UNITS: Final = {CHANGE: "", RATIO: "", "MB/s": "rate_bytes_per_s", "IOPS": "ops_per_s"}
"""Units of a figure, with the metric that a rate is taken from."""
STATEMENTS: Final = ("changed", "same", "not stated", "")
"""What a source says of a change; "" for a rate."""
FITTED: Final = "fitted"

Reading = Literal["slower", "faster", "same", "undecided", "not stated"]


class PublishedResult(msgspec.Struct, frozen=True, kw_only=True):
    """A figure, or a statement without one, of a cell. Rates in `unit`, changes in percent of the baseline."""

    name: str
    """The cell in words."""
    place: str
    workload: str
    record_bytes: int | None
    threads: int | None
    levels: dict[str, str]
    """Levels of the study's factors."""
    over: dict[str, str]
    """Of a ratio: the levels of what is below the line."""
    low: float | None
    high: float | None
    unit: str
    spread_percent: float | None
    """Standard deviation of the runs, where printed."""
    statement: str
    use: str
    note: str
    why_off: str
    """The mechanism that a simulation lacks, or the reason why the source may be wrong."""

    @property
    def is_fitted(self) -> bool:
        """Whether a figure of a profile was chosen for this one."""
        return self.use.startswith(FITTED)

    @property
    def middle(self) -> float | None:
        """The figure, or the middle of its range."""
        return None if self.low is None or self.high is None else (self.low + self.high) / 2


class PublishedStudy(msgspec.Struct, frozen=True):
    """The results of one source."""

    name: str
    source: tuple[str, ...]
    """Title, place and date, and what its figures mean, a sentence or more each."""
    results: tuple[PublishedResult, ...]


class ComparedResult(msgspec.Struct, frozen=True, kw_only=True):
    """A published result and the one found here, in the same unit; `found` is None for what was not done."""

    published: PublishedResult
    published_reading: Reading
    found: float | None
    found_reading: Reading
    relevance_percent: float
    """The smallest change that matters in the study."""
    missing: str = ""
    """Why nothing was found."""
    cell: str = ""
    metric: str = ""
    """Of a change: the cell of the comparison that it was found in, and what was compared."""
