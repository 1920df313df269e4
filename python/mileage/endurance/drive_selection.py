"""Find the drives that meet a requirement, from their data sheets.

Scope: for each data sheet the smallest number of drives at a RAID level that meets the need, with cost,
energy, life and the probability of loss. What meets the need is ranked by cost; without prices by the least
capacity beyond the need. What does not meet it is excluded with every reason.
What it refuses: to guess. A figure that a sheet does not state excludes the drive where the need asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec

from mileage.endurance.cases import Requirement
from mileage.endurance.conversions import TB
from mileage.endurance.life import rated_bytes_of, rating_of
from mileage.model.data_sheet import DataSheet
from mileage.plan.data_sheet_reader import HOURS_PER_YEAR
from mileage.report.quantity import figure
from mileage.report.quoted_figures import decimal_bytes, terabytes

# Arrays of equal drives: what they hold, what they write, and how probable the loss of their data is.
# Scope: closed forms for drives that fail independently at a constant rate and are repaired one at a time
# (Patterson, Gibson and Katz, A Case for Redundant Arrays of Inexpensive Disks, 1988, with the mean time to data
# loss as the rate of an exponential distribution). With n drives, a failure rate f per hour and R hours of repair,
# the rate of loss per hour is n f without redundancy, n f (f R) of mirrors, n (n-1) f^2 R of RAID 5, n (n-1) (n-2)
# f^3 R^2 of RAID 6.
# Without redundancy nothing is repaired and the form is exact. The simulation of the other levels repairs failed drives
# at the same time, each in an exponential time, so for RAID 6 it finds half the closed form.
# What it refuses: numbers of drives that a level cannot have, by ValueError. Unreadable sectors, failures that
# drives of one batch share, and controllers are not considered.

Level = Literal["none", "0", "1", "5", "6", "10"]
LEVELS: Final[tuple[Level, ...]] = ("none", "0", "1", "5", "6", "10")
HISTORIES: Final = 20_000
"""Arrays that are simulated: the interval ends within some percent of the mean."""
DRIVES_MIN: Final[dict[Level, int]] = {"none": 1, "0": 2, "1": 2, "5": 3, "6": 4, "10": 4}


def is_possible(level: Level, drives: int) -> bool:
    """Whether a level can have this number of drives."""
    if level in ("none", "1"):
        return drives == DRIVES_MIN[level]
    return drives >= DRIVES_MIN[level] and not (level == "10" and drives % 2)


def data_drives(level: Level, drives: int) -> float:
    """The capacity of an array, in drives. Raises ValueError."""
    if not is_possible(level, drives):
        raise ValueError(f"RAID {level} of {drives} drives")
    spare = {"none": 0, "0": 0, "1": 1, "5": 1, "6": 2, "10": drives // 2}
    return drives - spare[level]


def writes_per_host_write(level: Level, drives: int, *, random: bool) -> float:
    """Bytes that all drives together write for each byte of the host.

    Mirrors write twice. Parity is written once for a full stripe, and with each write that is smaller than one.
    """
    if level in ("1", "10"):
        return 2.0
    parity = {"5": 1, "6": 2}.get(level, 0)
    if not parity:
        return 1.0
    return 1.0 + parity if random else drives / data_drives(level, drives)


def operations_per_host_write(level: Level, drives: int, *, random: bool) -> float:
    """Operations of all drives together for each write of the host.

    A write smaller than a stripe reads the old data and each old parity and writes all of them anew: 4 operations at
    RAID 5, 6 at RAID 6. A full stripe is only written.
    """
    if random and level in ("5", "6"):
        return 4.0 if level == "5" else 6.0
    return writes_per_host_write(level, drives, random=random)


def has_exact_loss(level: Level) -> bool:
    """Whether the closed form is exact: without redundancy the first failure loses data, and nothing is repaired."""
    return level in ("none", "0")


def loss_probability(level: Level, drives: int, afr: float, years: float, repair_h: float) -> float:
    """The probability that an array loses data within some years.

    `afr`: annual failure rate of a drive, 0 to below 1. Raises ValueError for a number of drives that the level cannot
    have.
    """
    data_drives(level, drives)
    rate = -math.log1p(-afr) / HOURS_PER_YEAR
    hours = years * HOURS_PER_YEAR
    if has_exact_loss(level):
        loss = drives * rate
    elif level in ("1", "10"):
        loss = drives * rate * (rate * repair_h)
    elif level == "5":
        loss = drives * (drives - 1) * rate**2 * repair_h
    else:
        loss = drives * (drives - 1) * (drives - 2) * rate**3 * repair_h**2
    return -math.expm1(-loss * hours)


def simulated_loss_probability(
    level: Level, drives: int, afr: float, years: float, repair_h: float
) -> tuple[float, float, float]:
    """The probability of `loss_probability` by simulation, and the ends of its 95 % interval.

    The seed is fixed, so equal arrays give equal figures. Without failures nothing is lost. Raises ValueError for a
    number of drives that the level cannot have.
    """
    from mileage._core import simulated_array_loss

    data_drives(level, drives)
    if not afr:
        return 0.0, 0.0, 0.0
    rate = -math.log1p(-afr) / HOURS_PER_YEAR
    number = 0 if level == "none" else int(level)
    hours = years * HOURS_PER_YEAR
    return simulated_array_loss(number, drives, rate, repair_h, hours, HISTORIES, 1)


DRIVES_MAX: Final = 24


class Terms(msgspec.Struct, frozen=True):
    """Conditions of the choice: protection, prices and energy."""

    level: Level = "none"
    drives: int | None = None
    """Exactly this number of drives; None for the fewest that meet the need."""
    currency: str = "USD"
    budget: float | None = None
    """For drives and energy."""
    prices: Mapping[str, float] = {}
    """Prices by name of the data sheet, in place of those of the sheets."""
    kwh_price: float | None = None
    active_share: float = 0.5
    """Share of the time in which a drive is active."""
    afr: float | None = None
    """Annual failure rate of a drive, 0 to 1, where the sheet states none."""
    repair_h: float = 24.0
    """Hours until a failed drive is replaced and filled."""


class Offer(msgspec.Struct, frozen=True):
    """Properties of a drive, or of an array of equal drives, as a candidate. None where it is not known."""

    name: str
    title: str
    drives: int
    usable_bytes: float
    rated_tb: float | None
    """Terabytes that the host may write to the whole."""
    years: float | None
    """Life at the rate of the need."""
    read_rate: float | None
    """Quoted read rate of the whole array: random reads per second, or sequential MB/s."""
    write_rate: float | None
    price: float | None
    energy_kwh: float | None
    energy_cost: float | None
    loss: float | None
    """Probability that data are lost within the years of the need, by the closed form."""
    simulated_loss: tuple[float, float, float] | None = None
    """The same by simulation, with the ends of its 95 % interval; None where the closed form is exact, or not known."""
    notes: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """Cost of drives and energy."""
        return None if self.price is None else self.price + (self.energy_cost or 0.0)


class ExcludedDrive(msgspec.Struct, frozen=True):
    """A drive that does not meet the need, with every reason."""

    name: str
    title: str
    reasons: tuple[str, ...]


class Choice(msgspec.Struct, frozen=True):
    """The drives that meet a need, the best first, and the others."""

    offers: tuple[Offer, ...]
    excluded: tuple[ExcludedDrive, ...]


def choose(sheets: Sequence[DataSheet], need: Requirement, terms: Terms) -> Choice:
    """Rank the drives that meet a need, and give the reasons why others do not."""
    offers, excluded = [], []
    for sheet in sheets:
        offer = _offer(sheet, need, terms, _drives(sheet, need, terms))
        reasons = tuple(_reasons(sheet, need, terms, offer))
        if reasons:
            excluded.append(ExcludedDrive(sheet.name, sheet.title, reasons))
        else:
            offers.append(_simulated(offer, sheet, need, terms))
    offers.sort(key=lambda one: (one.cost is None, one.cost or 0.0, one.usable_bytes, -(one.years or 0.0)))
    return Choice(tuple(offers), tuple(excluded))


def _drives(sheet: DataSheet, need: Requirement, terms: Terms) -> int:
    """The fewest drives that meet capacity, endurance and rates; where none do, the most that are tried."""
    if terms.drives is not None:
        return terms.drives
    counts = [count for count in range(1, DRIVES_MAX + 1) if is_possible(terms.level, count)]
    for count in counts:
        offer = _offer(sheet, need, terms, count)
        if not list(_too_small(need, offer)):
            return count
    return counts[-1] if _grows(sheet, need, terms, counts) else counts[0]


def _grows(sheet: DataSheet, need: Requirement, terms: Terms, counts: Sequence[int]) -> bool:
    """Whether more drives would come closer to the requirement.

    They do not supply a figure that the data sheet omits.
    """
    first, last = (_offer(sheet, need, terms, count) for count in (counts[0], counts[-1]))
    return list(_too_small(need, last)) != list(_too_small(need, first))


def _offer(sheet: DataSheet, need: Requirement, terms: Terms, drives: int) -> Offer:
    random = need.pattern == "random"
    amplified = writes_per_host_write(terms.level, drives, random=random)
    operations = operations_per_host_write(terms.level, drives, random=random)
    rated, derived = rated_bytes_of(rating_of(sheet))
    whole = None if rated is None else rated * drives / amplified / TB
    reads, writes, cached = _rates(sheet, random=random)
    price = terms.prices.get(sheet.name)
    if price is None and sheet.price is not None and sheet.price.currency == terms.currency:
        price = sheet.price.value
    energy = _energy_kwh(sheet, need.years, terms.active_share)
    energy = None if energy is None else energy * drives
    afr = _afr(sheet, terms)
    notes = [derived] if derived else []
    if cached:
        notes.append("the quoted write rate holds within the write cache only")
    return Offer(
        name=sheet.name,
        title=sheet.title,
        drives=drives,
        usable_bytes=data_drives(terms.level, drives) * sheet.capacity_bytes.value,
        rated_tb=whole,
        years=None if whole is None or not need.tbw else whole / (need.tbw / need.years),
        read_rate=None if reads is None else reads * drives,
        write_rate=None if writes is None else writes * drives / operations,
        price=None if price is None else price * drives,
        energy_kwh=energy,
        energy_cost=None if energy is None or terms.kwh_price is None else energy * terms.kwh_price,
        loss=None if afr is None else loss_probability(terms.level, drives, afr, need.years, terms.repair_h),
        notes=tuple(notes),
    )


def _simulated(offer: Offer, sheet: DataSheet, need: Requirement, terms: Terms) -> Offer:
    """The offer with its simulated loss: not for every number of drives that is tried, since it takes milliseconds."""
    afr = _afr(sheet, terms)
    if afr is None or has_exact_loss(terms.level):
        return offer
    found = simulated_loss_probability(terms.level, offer.drives, afr, need.years, terms.repair_h)
    return msgspec.structs.replace(offer, simulated_loss=found)


def _rates(sheet: DataSheet, *, random: bool) -> tuple[float | None, float | None, bool]:
    """The quoted rates of reads and writes, and whether that of writes holds within a cache only.

    A rate of long writes is taken where the sheet has one; of the others the largest.
    """
    order, unit = ("random", "iops") if random else ("sequential", "mb_per_s")
    quoted = [rate for rate in sheet.rate if rate.unit == unit and rate.workload.startswith(order)]
    reads = [rate.value for rate in quoted if rate.workload.endswith("read")]
    writes = [rate for rate in quoted if rate.workload.endswith("write")]
    lasting = [rate.value for rate in writes if rate.state in ("sustained", "whole-disk")]
    cached = not lasting and any(rate.state == "cached" for rate in writes)
    best = max(lasting or [rate.value for rate in writes], default=None)
    return max(reads, default=None), best, cached


def _energy_kwh(sheet: DataSheet, years: float, active_share: float) -> float | None:
    if sheet.power_idle_w is None or sheet.power_active_w is None:
        return None
    watts = sheet.power_active_w.value * active_share + sheet.power_idle_w.value * (1 - active_share)
    return watts * years * HOURS_PER_YEAR / 1000


def _afr(sheet: DataSheet, terms: Terms) -> float | None:
    """The annual failure rate of a drive: stated, from its MTBF, or that of the terms."""
    if sheet.afr_percent is not None:
        return min(sheet.afr_percent.value / 100, 0.999)
    if sheet.mtbf_hours is not None:
        return min(HOURS_PER_YEAR / sheet.mtbf_hours.value, 0.999)
    return terms.afr


def _too_small(need: Requirement, offer: Offer) -> Iterator[str]:
    """The needs that more drives could meet."""
    if offer.usable_bytes < need.capacity_bytes:
        yield f"{decimal_bytes(offer.usable_bytes)} usable, {decimal_bytes(need.capacity_bytes)} needed"
    if need.tbw and offer.rated_tb is None:
        yield f"rated endurance not stated, {terabytes(need.tbw)} TBW needed"
    elif need.tbw and offer.rated_tb is not None and offer.rated_tb < need.tbw * (1 - 1e-9):
        yield f"{terabytes(offer.rated_tb)} TBW, {terabytes(need.tbw)} TBW needed"
    unit = "IOPS at random" if need.pattern == "random" else "MB/s in sequence"
    rates = (("reads", need.read_rate, offer.read_rate), ("writes", need.write_rate, offer.write_rate))
    for verb, wanted, quoted in rates:
        if wanted and quoted is None:
            yield f"{verb} {unit}: no rate quoted, {figure(wanted)} needed"
        elif wanted and quoted is not None and quoted < wanted:
            yield f"{verb} {figure(quoted)} {unit} as quoted, {figure(wanted)} needed"


def _reasons(sheet: DataSheet, need: Requirement, terms: Terms, offer: Offer) -> Iterator[str]:
    """Every need that an offer does not meet."""
    count = "" if terms.level == "none" else f" with {offer.drives} drives at RAID {terms.level}"
    yield from (f"{reason}{count}" for reason in _too_small(need, offer))
    asked = (
        ("power-loss protection", need.power_loss_protection, sheet.power_loss_protection),
        ("hot swap", need.hot_swap, sheet.hot_swap),
    )
    for name, wanted, stated in asked:
        if wanted and stated is None:
            yield f"{name} not stated, but needed"
        elif wanted and stated is not None and not stated.value:
            yield f"no {name}, but needed"
    if need.link and (sheet.link is None or not sheet.link.value.startswith(need.link)):
        yield f"link {'not stated' if sheet.link is None else sheet.link.value}, {need.link} needed"
    if terms.budget is not None and offer.cost is None:
        yield f"price in {terms.currency} not known (--price {sheet.name}=AMOUNT)"
    elif terms.budget is not None and offer.cost is not None and offer.cost > terms.budget:
        yield f"costs {offer.cost:,.2f} {terms.currency}, budget {terms.budget:,.2f}"
