"""A choice as text: what was needed, the drives that meet it with their reasons, and why the others do not.

Scope: plain lines of at most the given width. What is not known is in a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from mileage.endurance.cases import Requirement
from mileage.endurance.conversions import TB, dwpd_of_bytes
from mileage.endurance.drive_selection import Choice, Offer, Terms
from mileage.endurance.life_text import drive_writes
from mileage.report.quantity import figure
from mileage.report.quoted_figures import decimal_bytes, terabytes
from mileage.terminal import wrapped


def choice_text(choice: Choice, need: Requirement, terms: Terms, width: int) -> str:
    """The need in a sentence, the ranked drives, the excluded ones, and how the figures were made."""
    lines = wrapped(f"Needed: {_needed(need, terms)}.", width)
    total = len(choice.offers) + len(choice.excluded)
    verb = "meets" if len(choice.offers) == 1 else "meet"
    lines += wrapped(f"{len(choice.offers)} of {total} data sheets {verb} it{_order(choice)}.", width)
    for rank, offer in enumerate(choice.offers, 1):
        lines += ["", *wrapped(f"{rank}. {offer.title} ({offer.name})", width)]
        for text in _facts(offer, need, terms):
            lines += wrapped(text, width, first="   ", indent="     ")
    if choice.excluded:
        lines += ["", "Excluded:"]
        for one in choice.excluded:
            lines += wrapped(f"{one.name}: {'; '.join(one.reasons)}", width, first="  ", indent="      ")
    lines.append("")
    for note in _notes(choice, need, terms):
        lines += wrapped(note, width, indent="  ")
    return "\n".join(lines) + "\n"


def _needed(need: Requirement, terms: Terms) -> str:
    parts = [f"{decimal_bytes(need.capacity_bytes)} usable"]
    if need.tbw:
        daily = dwpd_of_bytes(need.tbw * TB, need.capacity_bytes, need.years)
        parts.append(
            f"{terabytes(need.tbw)} TB written in {need.years:.3g} years ({terabytes(need.tbw / need.years)} TB/year, "
            f"{drive_writes(daily)} a day)"
        )
    parts.append(f"mostly {'at random' if need.pattern == 'random' else 'in sequence'}")
    unit = "IOPS" if need.pattern == "random" else "MB/s"
    parts += [f"reads of {figure(need.read_rate)} {unit}"] if need.read_rate else []
    parts += [f"writes of {figure(need.write_rate)} {unit}"] if need.write_rate else []
    parts += ["power-loss protection"] if need.power_loss_protection else []
    parts += ["hot swap"] if need.hot_swap else []
    parts += [f"link {need.link}"] if need.link else []
    parts += [f"RAID {terms.level}"] if terms.level != "none" else []
    parts += [f"at most {terms.budget:,.2f} {terms.currency}"] if terms.budget is not None else []
    return ", ".join(parts)


def _order(choice: Choice) -> str:
    """The criterion by which the offers are ranked, in words."""
    if len(choice.offers) < 2:
        return ""
    priced = sum(offer.cost is not None for offer in choice.offers)
    if not priced:
        return "; without prices, the one with the least capacity beyond the need comes first"
    rest = "" if priced == len(choice.offers) else ", those without a price at the end"
    return f"; the cheapest comes first{rest}"


def _facts(offer: Offer, need: Requirement, terms: Terms) -> Iterator[str]:
    count = f"{offer.drives} drives, " if offer.drives > 1 else ""
    yield f"{count}{decimal_bytes(offer.usable_bytes)} usable, {decimal_bytes(need.capacity_bytes)} needed"
    if offer.rated_tb is not None:
        life = "" if offer.years is None else f": {offer.years:.3g} years at this rate"
        needed = f", {terabytes(need.tbw)} needed" if need.tbw else ""
        yield f"{terabytes(offer.rated_tb)} TBW{needed}{life}"
    unit = "IOPS at random" if need.pattern == "random" else "MB/s in sequence"
    quoted = [
        f"{verb} {figure(rate)}"
        for verb, rate in (("reads", offer.read_rate), ("writes", offer.write_rate))
        if rate is not None
    ]
    if quoted:
        yield f"{', '.join(quoted)} {unit}, as quoted"
    yield from _costs(offer, need, terms)
    if offer.loss is not None:
        yield f"probability of data loss in {need.years:.3g} years: {_probability(offer.loss)}{_simulation(offer)}"
    yield from offer.notes


def _costs(offer: Offer, need: Requirement, terms: Terms) -> Iterator[str]:
    unit = terms.currency
    if offer.price is not None and offer.cost is not None:
        energy = "" if offer.energy_cost is None else f" with energy of {offer.energy_cost:,.2f}"
        parts = [f"{offer.cost / (offer.usable_bytes / TB):,.2f} per TB"]
        if offer.rated_tb:
            parts.append(f"{offer.cost / offer.rated_tb:,.3f} per TBW")
        if offer.read_rate:
            name = "1,000 read IOPS" if need.pattern == "random" else "MB/s read"
            scale = 1000 if need.pattern == "random" else 1
            parts.append(f"{scale * offer.cost / offer.read_rate:,.3f} per {name}")
        yield f"{offer.cost:,.2f} {unit}{energy}: {', '.join(parts)}"
    if offer.energy_kwh is not None:
        yield f"{offer.energy_kwh:,.0f} kWh in {need.years:.3g} years"


def _simulation(offer: Offer) -> str:
    if offer.simulated_loss is None:
        return ""
    mean, low, high = (_probability(share) for share in offer.simulated_loss)
    return f"; simulated {mean} (95 % CI {low} to {high})"


def _probability(share: float) -> str:
    return f"{share:.2%}" if share >= 0.001 else f"{share:.1e}"


def _notes(choice: Choice, need: Requirement, terms: Terms) -> Iterator[str]:
    if need.note:
        yield f"Assumed: {need.note}."
    if any(offer.price is None for offer in choice.offers):
        yield "Prices that are not known: give --price NAME=AMOUNT."
    if any(offer.energy_kwh is None for offer in choice.offers):
        yield "Energy is not known where the sheet states no power."
    if any(offer.loss is None for offer in choice.offers):
        yield "Data loss is not known where the sheet states no MTBF or failure rate: give --afr PERCENT."
    if any(offer.loss is not None for offer in choice.offers):
        both = (
            " The closed form repairs one drive at a time, the simulation all that failed, which halves the loss at "
            "RAID 6."
        )
        yield (
            f"Data loss: drives that fail independently, replaced in {terms.repair_h:g} h; without unreadable "
            f"sectors and failures that drives of one batch share.{both if terms.level == '6' else ''}"
        )
    yield "Rates are quoted ones: measure a drive before you buy many: `mileage check DIR`."
