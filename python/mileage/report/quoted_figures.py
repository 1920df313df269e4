"""A data sheet as text: every figure with its source and confidence, the quoted rates with their conditions.

Scope: plain lines. What a sheet does not state is printed as not stated.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from mileage.model.data_sheet import DataSheet, Price, QuotedFigure, QuotedRate
from mileage.plan.data_sheet_reader import contradictions
from mileage.plan.sizes import format_bytes
from mileage.report.datasheet import Figure, data_sheet

_UNITS: Final = {"iops": "IOPS", "mb_per_s": "MB/s", "mean_us": "µs on average"}
_WORDS: Final = {
    "capacity_bytes": "capacity",
    "rated_tbw": "rated endurance",
    "rated_dwpd": "rated endurance",
    "rated_years": "rated for",
    "raw_bytes": "flash in all",
    "cache_bytes": "cache",
    "rpm": "revolutions",
    "pe_cycles": "program/erase cycles",
    "power_idle_w": "idle power",
    "power_active_w": "active power",
    "mtbf_hours": "MTBF",
    "afr_percent": "annual failure rate",
    "power_loss_protection": "power-loss protection",
    "hot_swap": "hot swap",
    "form_factor": "form factor",
}
_SUFFIX: Final = {
    "rated_tbw": " TBW",
    "rated_dwpd": " DWPD",
    "rated_years": " years",
    "rpm": " rpm",
    "power_idle_w": " W",
    "power_active_w": " W",
    "mtbf_hours": " h",
    "afr_percent": " %",
}
_STATES: Final = {
    "fresh": "a fresh drive",
    "cached": "within the write cache",
    "sustained": "sustained",
    "outer-zone": "outermost zone",
    "whole-disk": "mean of the whole disk",
}


def data_sheet_text(sheet: DataSheet, width: int = 100) -> str:
    """The whole sheet in lines of at most `width` columns."""
    figures = [*_figures(sheet), *(_rate_figure(rate) for rate in sheet.rate)]
    text = data_sheet(sheet.title, figures, width)
    notes = [f"Contradiction: {words}." for words in contradictions(sheet)]
    missing = ", ".join(_WORDS.get(key, key) for key in _missing(sheet))
    notes += [f"Not stated: {missing}."] if missing else []
    notes.append(
        f"Virtual drive: virtual:{sheet.drive}." if sheet.drive else "No virtual drive models this one."
    )
    return text + "".join(
        line + "\n" for note in notes for line in textwrap.wrap(note, width, subsequent_indent="  ")
    )


def _figures(sheet: DataSheet) -> Iterator[Figure]:
    for key in sheet.__struct_fields__:
        figure = getattr(sheet, key)
        if isinstance(figure, QuotedFigure):
            yield _WORDS.get(key, key), _value(key, figure.value), figure.source, figure.confidence
        elif isinstance(figure, Price):
            value = f"{figure.value:,.10g} {figure.currency}"
            yield "price", value, f"{figure.source}; {figure.date}", figure.confidence


def _value(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key == "capacity_bytes":
        assert isinstance(value, int)
        return decimal_bytes(value)
    if key.endswith("_bytes"):
        assert isinstance(value, int)
        return format_bytes(value)
    number = f"{value:,.10g}" if isinstance(value, int | float) else str(value)
    return number + _SUFFIX.get(key, "")


def decimal_bytes(size: float) -> str:
    """A size in powers of 1000, as drives are sold: "512 GB", "1.92 TB"."""
    for unit, scale in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size:.4g} B"


def terabytes(amount: float) -> str:
    """A number of TB: four digits below 1,000, whole numbers from there on."""
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:.4g}"


def _rate_figure(rate: QuotedRate) -> Figure:
    value = f"{rate.value:,.10g} {_UNITS[rate.unit]}"
    name = rate.workload.replace("_", " ")
    return name, value, f"{conditions(rate)}; {rate.source}", rate.confidence


def conditions(rate: QuotedRate) -> str:
    """The conditions of a quoted rate in words; those that the sheet does not state come last."""
    stated = []
    if rate.record_bytes is not None:
        stated.append(format_bytes(rate.record_bytes))
    if rate.depth is not None:
        stated.append(f"depth {rate.depth}")
    if rate.span_bytes is not None:
        stated.append(f"within {decimal_bytes(rate.span_bytes)}")
    if rate.state is not None:
        stated.append(_STATES[rate.state])
    if rate.content is not None:
        stated.append(f"{rate.content} data")
    names = {"record_bytes": "record size", "depth": "depth", "state": "state"}
    missing = [word for key, word in names.items() if getattr(rate, key) is None]
    if missing:
        stated.append(f"{', '.join(missing)} not stated")
    text = ", ".join(stated)
    return text[:1].upper() + text[1:]


def _missing(sheet: DataSheet) -> list[str]:
    """The figures that a buyer asks for and the sheet does not state."""
    asked = ("rated_tbw", "power_idle_w", "power_active_w", "mtbf_hours", "power_loss_protection", "price")
    return [
        key
        for key in asked
        if getattr(sheet, key) is None
        and not (key == "rated_tbw" and sheet.rated_dwpd is not None)
        and not (key == "mtbf_hours" and sheet.afr_percent is not None)
    ]
