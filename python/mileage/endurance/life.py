"""How long a drive lasts at a rate of writing, by each measure of endurance.

Scope: rated bytes (TBW), rated drive writes per day, and wear of the cells, side by side; of a drive that
is in use, how much of each is used up. The three differ: a rating is a promise for one workload, the cells wear
with every byte that is programmed, and the drive's own indicator counts cycles in a way that its maker chose.
What it refuses: to add what is not in these figures. Retention, temperature, read disturb and failures of electronics
are not considered; the text says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from mileage.endurance.conversions import (
    CYCLES_OF_CLASS,
    TB,
    bytes_of_cycles,
    bytes_of_dwpd,
    dwpd_of_bytes,
    years_of_bytes,
)
from mileage.model.data_sheet import DataSheet
from mileage.plan.write_rates import S_PER_YEAR
from mileage.report.quoted_figures import decimal_bytes, terabytes

NOT_CONSIDERED: Final = (
    "retention (how long data stay readable without power), temperature, read disturb, "
    "failures of the electronics"
)
USUAL_YEARS: Final = 5.0
"""Term of a rating where none is stated."""


class Rating(msgspec.Struct, frozen=True):
    """Rated endurance of a drive. None where it is not known."""

    title: str
    capacity_bytes: float
    rated_bytes: float | None = None
    """Bytes that the host may write (TBW)."""
    rated_dwpd: float | None = None
    rated_years: float | None = None
    cycles: float | None = None
    """Program/erase cycles of a cell."""
    raw_bytes: float | None = None
    """Raw capacity of the flash, with spare blocks."""
    notes: tuple[str, ...] = ()
    """Assumptions that were made."""


class Wear(msgspec.Struct, frozen=True):
    """Counters of a drive that is in use. None where it is not known."""

    written_bytes: float | None = None
    percent_used: float | None = None
    """The drive's own indicator: 100 when its rated life is used up."""
    power_on_hours: float | None = None
    source: str = ""


class Measure(msgspec.Struct, frozen=True):
    """One measure of endurance."""

    name: str
    rated: str
    demand: str
    """Load on this measure at the given rate of writing."""
    years: float | None
    """Life at the rate; None where it is not known."""
    used_share: float | None = None
    """Share that is used up; None where it is not known."""


class Life(msgspec.Struct, frozen=True):
    """How long a drive lasts, by each measure."""

    title: str
    bytes_per_year: float
    drive_writes_per_day: float
    write_amplification: float
    measures: tuple[Measure, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def years(self) -> float | None:
        """The life that the host's rating gives; without one, that of the cells."""
        return next((measure.years for measure in self.measures if measure.years is not None), None)


def rating_of(sheet: DataSheet) -> Rating:
    """The rating that a data sheet states; class figures stand in for cycles that it does not state."""
    notes = []
    medium = sheet.medium.value
    cycles = float(sheet.pe_cycles.value) if sheet.pe_cycles is not None else None
    if cycles is None and medium in CYCLES_OF_CLASS:
        cycles = float(CYCLES_OF_CLASS[medium])
        notes.append(f"cycles are not stated: {cycles:,.0f} are usual for {medium.upper()}")
    return Rating(
        title=sheet.title,
        capacity_bytes=sheet.capacity_bytes.value,
        rated_bytes=sheet.rated_tbw.value * TB if sheet.rated_tbw is not None else None,
        rated_dwpd=sheet.rated_dwpd.value if sheet.rated_dwpd is not None else None,
        rated_years=sheet.rated_years.value if sheet.rated_years is not None else None,
        cycles=cycles,
        raw_bytes=sheet.raw_bytes.value if sheet.raw_bytes is not None else None,
        notes=tuple(notes),
    )


def rated_bytes_of(rating: Rating) -> tuple[float | None, str]:
    """Bytes that a drive is rated for, and how they were derived where it states drive writes per day only."""
    if rating.rated_bytes is not None:
        return rating.rated_bytes, ""
    if rating.rated_dwpd is None:
        return None, ""
    years = rating.rated_years or USUAL_YEARS
    term = f"{years:g} years" if rating.rated_years else f"{years:g} years, the usual term"
    derived = f"TBW is not stated: {rating.rated_dwpd:g} DWPD over {term}"
    return bytes_of_dwpd(rating.rated_dwpd, rating.capacity_bytes, years), derived


def life_of(
    rating: Rating, bytes_per_s: float, write_amplification: float | None = None, wear: Wear | None = None
) -> Life:
    """The life of a drive that the host writes at a rate.

    `write_amplification` matters to the cells alone; None where it is not known: 1, the least, is then assumed.
    """
    per_year = bytes_per_s * S_PER_YEAR
    notes = list(rating.notes)
    worn = wear or Wear()
    rated, derived = rated_bytes_of(rating)
    if derived:
        notes.append(derived)
    amplification = write_amplification
    if amplification is None:
        amplification = 1.0
        notes.append(
            "write amplification is not known: the life of the cells assumes 1, the smallest without compression"
        )
    raw = rating.raw_bytes
    if raw is None and rating.cycles is not None:
        raw = rating.capacity_bytes
        notes.append("the flash behind the capacity is not stated: the capacity is taken")
    elif raw is not None and rating.cycles is not None:
        notes.append(f"the cells are {decimal_bytes(raw)} of flash")
    if worn.source:
        notes.append(worn.source)
    daily = per_year / 365 / rating.capacity_bytes
    cells = None
    if rating.cycles is not None and raw is not None:
        cells = bytes_of_cycles(rating.cycles, raw, amplification)
    measures = tuple(_measures(rating, rated, cells, per_year, amplification, worn))
    warnings = tuple(_warnings(rating, rated, cells, per_year, daily))
    return Life(rating.title, per_year, daily, amplification, measures, warnings, tuple(notes))


def _measures(
    rating: Rating,
    rated: float | None,
    cells: float | None,
    per_year: float,
    amplification: float,
    worn: Wear,
) -> Iterator[Measure]:
    written = worn.written_bytes
    left = None if rated is None else max(rated - (written or 0.0), 0.0)
    yield Measure(
        "host bytes (TBW)",
        "not stated" if rated is None else f"{terabytes(rated / TB)} TB",
        f"{terabytes(per_year / TB)} TB/year",
        None if left is None else left / per_year,
        None if rated is None or written is None else written / rated,
    )
    daily = per_year / 365 / rating.capacity_bytes
    dwpd, years = rating.rated_dwpd, rating.rated_years or USUAL_YEARS
    if dwpd is None and rated is not None:
        dwpd = dwpd_of_bytes(rated, rating.capacity_bytes, years)
    promised = None if dwpd is None else bytes_of_dwpd(dwpd, rating.capacity_bytes, years)
    yield Measure(
        "drive writes (DWPD)",
        "not stated" if dwpd is None else f"{dwpd:.3g} for {years:g} years",
        f"{daily:.3g}",
        None if promised is None else max(promised - (written or 0.0), 0.0) / per_year,
        None if written is None or promised is None else written / promised,
    )
    indicator = worn.percent_used
    demand = f"{terabytes(per_year * amplification / TB)} TB/year to cells"
    life = None if cells is None else years_of_bytes(cells, per_year)
    if life is not None and indicator is not None:
        life *= max(1 - indicator / 100, 0.0)
    stated = "not stated" if rating.cycles is None else f"{rating.cycles:,.0f} cycles"
    yield Measure("wear of the cells", stated, demand, life, None if indicator is None else indicator / 100)


def _warnings(
    rating: Rating, rated: float | None, cells: float | None, per_year: float, daily: float
) -> Iterator[str]:
    if rating.rated_dwpd is not None and daily > rating.rated_dwpd:
        yield f"{daily:.3g} drive writes per day are more than the rated {rating.rated_dwpd:g}"
    if rated is not None and rating.rated_years is not None and rated / per_year < rating.rated_years:
        yield (
            f"the rated {terabytes(rated / TB)} TB are written in {rated / per_year:.3g} years, before the "
            f"{rating.rated_years:g} years of the rating end"
        )
    if rated is not None and cells is not None and cells < rated:
        yield (
            f"the cells allow {terabytes(cells / TB)} TB at this write amplification, less than the rated "
            f"{terabytes(rated / TB)} TB"
        )
