"""A data sheet: what a maker promises of a drive, each figure with its source and how far to trust it.

Scope: quoted rates with the conditions that the sheet states (None where it states none), rated endurance,
power, price, reliability, form factor and link. A data sheet may exist for a drive that no profile models.
`plan.data_sheet_reader` reads and checks the file.
"""

from __future__ import annotations

from typing import Final, Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")

Confidence = Literal["source", "seed", "inferred", "memory", "assumed"]
"""Confidence in a figure, as in drive profiles; a data sheet has no fitted or defined figures."""
Medium = Literal["slc", "mlc", "tlc", "qlc", "flash", "xpoint", "disk", "smr-disk"]
"""Storage medium; "flash" where the kind of cell is not stated."""
FormFactor = Literal["2.5-inch", "3.5-inch", "m.2", "u.2", "u.3", "e1.s", "pcie-card"]
RateWorkload = Literal["random_read", "random_write", "sequential_read", "sequential_write"]
RateUnit = Literal["mb_per_s", "iops", "mean_us"]
"""MB/s are 10^6 bytes; `mean_us` is a mean latency in microseconds."""
RateState = Literal["fresh", "cached", "sustained", "outer-zone", "whole-disk"]
"""State of the drive: new or trimmed; writes within a cache; long writes; the fastest zone; the mean of all zones."""
RateContent = Literal["incompressible", "compressible"]

FLASH: Final = ("slc", "mlc", "tlc", "qlc", "flash")
DISKS: Final = ("disk", "smr-disk")


class QuotedFigure(msgspec.Struct, Generic[T], frozen=True, forbid_unknown_fields=True):
    """One figure of a data sheet."""

    value: T
    source: str
    confidence: Confidence


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Price of one drive on a date."""

    value: float
    """Above 0, in units of the currency."""
    currency: str
    """Three capital letters, as ISO 4217 has them."""
    date: str
    """YYYY-MM-DD."""
    source: str
    confidence: Confidence


class QuotedRate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate that a data sheet promises. A condition that is None is not stated by the sheet."""

    workload: RateWorkload
    value: float
    unit: RateUnit
    source: str
    confidence: Confidence
    record_bytes: int | None = None
    depth: int | None = None
    span_bytes: int | None = None
    """Range of addresses that is accessed."""
    state: RateState | None = None
    content: RateContent | None = None


class DataSheet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The figures that a maker states for one model of a drive."""

    name: str
    """Name of the drive, equal to that of the file."""
    title: str
    capacity_bytes: QuotedFigure[int]
    medium: QuotedFigure[Medium]
    models: tuple[str, ...] = ()
    """Regular expressions, one of which the model name that a drive reports matches in whole."""
    drive: str = ""
    """The virtual drive that models this one; empty without one."""
    form_factor: QuotedFigure[FormFactor] | None = None
    link: QuotedFigure[str] | None = None
    """A name of `LINKS_MB_PER_S`."""
    raw_bytes: QuotedFigure[int] | None = None
    """Flash of the drive, spare included."""
    cache_bytes: QuotedFigure[int] | None = None
    rpm: QuotedFigure[int] | None = None
    rated_tbw: QuotedFigure[float] | None = None
    """Rated endurance, in TB (10^12 bytes) that the host writes."""
    rated_dwpd: QuotedFigure[float] | None = None
    """Rated endurance, in drive writes per day over `rated_years`."""
    rated_years: QuotedFigure[float] | None = None
    """Years for which the endurance is rated, usually those of the warranty."""
    pe_cycles: QuotedFigure[int] | None = None
    """Program/erase cycles of a cell."""
    power_idle_w: QuotedFigure[float] | None = None
    power_active_w: QuotedFigure[float] | None = None
    mtbf_hours: QuotedFigure[float] | None = None
    afr_percent: QuotedFigure[float] | None = None
    """Annual failure rate."""
    power_loss_protection: QuotedFigure[bool] | None = None
    """Whether acknowledged writes survive a loss of power."""
    hot_swap: QuotedFigure[bool] | None = None
    price: Price | None = None
    rate: tuple[QuotedRate, ...] = ()


_PCIE_LANE_MB_PER_S: Final = {1: 250.0, 2: 500.0, 3: 984.6, 4: 1969.2, 5: 3938.5}
"""Data rate of one lane in one direction: 2.5 and 5 GT/s with 8b/10b, then 8, 16 and 32 GT/s with 128b/130b."""

LINKS_MB_PER_S: Final[dict[str, float | None]] = {
    "sata": None,
    "sata-1": 150.0,
    "sata-2": 300.0,
    "sata-3": 600.0,
    "sas": None,
    "sas-1": 300.0,
    "sas-2": 600.0,
    "sas-3": 1200.0,
    **{
        f"pcie-{generation}-x{lanes}": speed * lanes
        for generation, speed in _PCIE_LANE_MB_PER_S.items()
        for lanes in (1, 2, 4, 8, 16)
    },
}
"""Highest data rate of each link in MB/s, by its name in drive profiles; None where its generation is not stated.

SATA 1.5, 3 and 6 Gb/s and SAS 3, 6 and 12 Gb/s carry 8 of 10 bits as data.
"""
