"""From the text of a data sheet to a checked `DataSheet`.

Scope: TOML with a table for each figure (`value`, `source`, `confidence`) and a table `[[rate]]` for each
quoted rate. All faults are reported together, each with its key and line.
What it refuses: unknown keys; a figure without source or confidence; values that no drive can have: rates above what
its link carries, less flash than capacity, more power idle than active. Figures of a sheet that contradict each
other, as DWPD and TBW often do, are kept: `contradictions` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_type_hints

import msgspec

from mileage.errors import Refusal, closest
from mileage.model.data_sheet import DISKS, FLASH, LINKS_MB_PER_S, DataSheet, QuotedRate
from mileage.plan.conversion import mismatch_of, shown
from mileage.plan.faults import Faults, join
from mileage.plan.study_reader import parse_toml

DAYS_PER_YEAR: Final = 365
"""Days per year as makers count: TBW = DWPD x capacity x 365 x years."""
HOURS_PER_YEAR: Final = 8766
CONTRADICTION_MIN: Final = 0.02
"""Share by which two statements of one quantity differ when that is reported."""

_PLAIN: Final = ("name", "title", "models", "drive", "rate")
_TYPES: Final[dict[str, Any]] = get_type_hints(DataSheet)
_REQUIRED: Final = ("name", "title", "capacity_bytes", "medium")
_FIGURE_KEYS: Final = ("value", "source", "confidence")
_PRICE_KEYS: Final = ("value", "currency", "date", "source", "confidence")
_RATE_REQUIRED: Final = ("workload", "value", "unit", "source", "confidence")
_MOST: Final = {
    "capacity_bytes": 1e18,
    "raw_bytes": 1e18,
    "cache_bytes": 1e18,
    "rpm": 1e5,
    "rated_tbw": 1e9,
    "rated_dwpd": 1e3,
    "rated_years": 50.0,
    "pe_cycles": 1e8,
    "power_idle_w": 1e3,
    "power_active_w": 1e3,
    "mtbf_hours": 1e9,
    "afr_percent": 100.0,
    "price": 1e9,
}
"""The largest value of each number; all are above 0."""
_DATE: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")


def parse_data_sheet(text: str, source: str) -> DataSheet:
    """The data sheet that a TOML text describes. `source` names the text in messages.

    Raises BrokenStudy with everything that is wrong; `located` gives each fault its line.
    """
    raw = parse_toml(text, source, "a data sheet")
    faults = Faults(source)
    for path in _without_unknown(faults, "", raw, DataSheet.__struct_fields__):
        del raw[path]
    for key in _REQUIRED:
        if key not in raw:
            faults.add(key, "missing", advice="it must be given", code="missing")
    found = {key: value for key, value in raw.items() if key != "rate" and _is_read(faults, key, value)}
    if "rate" in raw:
        found["rate"] = list(_rates(faults, raw["rate"]))
    faults.refuse_any()
    sheet = msgspec.convert(found, DataSheet)
    for fault in _impossible(sheet):
        faults.add_refusal(fault)
    faults.refuse_any()
    return sheet


def _without_unknown(
    faults: Faults, path: str, table: Mapping[str, Any], known: tuple[str, ...]
) -> list[str]:
    """Report the keys of a table that are not known; they are returned."""
    unknown = [key for key in table if key not in known]
    for key in unknown:
        close = closest(key, known)
        hint = f"did you mean {close!r}?" if close else f"expected one of {', '.join(known)}"
        faults.add(join(path, key), "unknown key", advice=hint, code="unknown-key")
    return unknown


def _is_read(faults: Faults, key: str, value: Any) -> bool:
    """Whether the value of a key can be read; a fault is reported."""
    if key not in _PLAIN:
        keys = _PRICE_KEYS if key == "price" else _FIGURE_KEYS
        if not isinstance(value, dict):
            faults.add(key, found=shown(value), expected=f"a table with {', '.join(keys)}", code="wrong-type")
            return False
        if key == "price" and "date" in value:
            # TOML parses dates itself, so the value is no text.
            value["date"] = str(value["date"])
        if not _is_whole(faults, key, value, keys, keys):
            return False
    return _is_converted(faults, key, {key: value}, _only(key))


def _is_whole(
    faults: Faults, path: str, table: dict[str, Any], known: tuple[str, ...], required: tuple[str, ...]
) -> bool:
    """Whether a table has all required keys, no unknown ones, and a source that is not empty."""
    wrong = bool(_without_unknown(faults, path, table, known))
    for key in required:
        if key not in table:
            faults.add(join(path, key), "missing", advice="it must be given", code="missing")
            wrong = True
    if isinstance(source := table.get("source"), str) and not source.strip():
        faults.add(
            join(path, "source"), found="an empty text", expected="where the figure is from", code="empty"
        )
        wrong = True
    return not wrong


def _only(key: str) -> type[msgspec.Struct]:
    """A struct with one field of a data sheet."""
    return msgspec.defstruct("Part", [(key, _TYPES[key])])


def _is_converted(faults: Faults, path: str, value: Any, struct: type[msgspec.Struct]) -> bool:
    try:
        msgspec.convert(value, struct)
    except msgspec.ValidationError as error:
        wrong = mismatch_of(error, struct)
        at, found = "", value
        for step in wrong.steps:
            at = f"{at}[{step}]" if isinstance(found, list) else join(at, step)
            found = found[int(step)] if isinstance(found, list) else found.get(step)
        faults.add_refusal(wrong.refusal(at if at.startswith(path) else join(path, at), found))
        return False
    return True


def _rates(faults: Faults, rates: Any) -> Iterator[Any]:
    if not isinstance(rates, list):
        faults.add("rate", found=shown(rates), expected="tables, each [[rate]]", code="wrong-type")
        return
    for index, rate in enumerate(rates):
        path = f"rate[{index}]"
        if not isinstance(rate, dict):
            faults.add(path, found=shown(rate), expected="a table", code="wrong-type")
        elif _is_whole(faults, path, rate, QuotedRate.__struct_fields__, _RATE_REQUIRED) and _is_converted(
            faults, path, rate, QuotedRate
        ):
            yield rate


def _impossible(sheet: DataSheet) -> Iterator[Refusal]:
    """Values that no drive can have."""
    for key, most in _MOST.items():
        figure = getattr(sheet, key)
        if figure is not None and not 0 < figure.value <= most:
            where = f"{key}.value"
            yield Refusal(
                where, f"{figure.value:g}", f"a number above 0, at most {most:g}", code="out-of-range"
            )
    if not re.fullmatch("[a-z0-9._-]+", sheet.name):
        expected = "lower-case letters, digits, '.', '-' and '_', as the file is called"
        yield Refusal("name", shown(sheet.name), expected, code="wrong-value")
    for index, model in enumerate(sheet.models):
        try:
            re.compile(model)
        except re.error as error:
            expected = f"a regular expression ({error})"
            yield Refusal(f"models[{index}]", shown(model), expected, code="wrong-value")
    yield from _impossible_parts(sheet)
    for index, rate in enumerate(sheet.rate):
        yield from _impossible_rate(sheet, f"rate[{index}]", rate)


def _impossible_parts(sheet: DataSheet) -> Iterator[Refusal]:
    link, price = sheet.link, sheet.price
    if link is not None and link.value not in LINKS_MB_PER_S:
        close = closest(link.value, LINKS_MB_PER_S)
        advice = f"did you mean {close!r}?" if close else ""
        expected = "sata, sata-1 to -3, sas, sas-1 to -3, or pcie-1-x1 to pcie-5-x16"
        yield Refusal("link.value", shown(link.value), expected, advice, "unknown-word")
    if price is not None and not re.fullmatch("[A-Z]{3}", price.currency):
        yield Refusal(
            "price.currency", shown(price.currency), 'three capital letters, as "EUR"', code="wrong-value"
        )
    if price is not None and not _DATE.fullmatch(price.date):
        yield Refusal("price.date", shown(price.date), 'a date, as "2026-11-24"', code="wrong-value")
    if sheet.raw_bytes is not None and sheet.raw_bytes.value < sheet.capacity_bytes.value:
        capacity = f"the capacity of {sheet.capacity_bytes.value} bytes or more"
        yield Refusal("raw_bytes.value", str(sheet.raw_bytes.value), capacity, code="wrong-value")
    idle, active = sheet.power_idle_w, sheet.power_active_w
    if idle is not None and active is not None and idle.value > active.value:
        expected = f"the {active.value:g} W of power_active_w or less"
        yield Refusal("power_idle_w.value", f"{idle.value:g}", expected, code="wrong-value")
    medium = sheet.medium.value
    for key in ("pe_cycles", "raw_bytes"):
        if getattr(sheet, key) is not None and medium not in FLASH:
            yield Refusal(key, text=f"only flash has this figure, not {medium}", code="no-effect")
    if sheet.rpm is not None and medium not in DISKS:
        yield Refusal("rpm", text=f"only disks have this figure, not {medium}", code="no-effect")


def _impossible_rate(sheet: DataSheet, path: str, rate: QuotedRate) -> Iterator[Refusal]:
    if not 0 < rate.value <= 1e12:
        yield Refusal(
            f"{path}.value", f"{rate.value:g}", "a number above 0, at most 1e+12", code="out-of-range"
        )
        return
    for key in ("record_bytes", "depth", "span_bytes"):
        value = getattr(rate, key)
        if value is not None and value < 1:
            yield Refusal(f"{path}.{key}", str(value), "1 or more", code="out-of-range")
    if rate.span_bytes is not None and rate.span_bytes > sheet.capacity_bytes.value:
        expected = f"the capacity of {sheet.capacity_bytes.value} bytes or less"
        yield Refusal(f"{path}.span_bytes", str(rate.span_bytes), expected, code="out-of-range")
    zoned = rate.state in ("outer-zone", "whole-disk")
    if rate.state is not None and zoned != (sheet.medium.value in DISKS) and (zoned or rate.state == "fresh"):
        expected = "fresh, cached or sustained" if zoned else "outer-zone or whole-disk"
        yield Refusal(f"{path}.state", shown(rate.state), f"{expected} for this medium", code="conflict")
    carried = LINKS_MB_PER_S.get(sheet.link.value) if sheet.link is not None else None
    moved = rate_mb_per_s(rate)
    if carried is not None and moved is not None and moved > carried:
        assert sheet.link is not None
        expected = f"at most {carried:g} MB/s, which {sheet.link.value} carries"
        yield Refusal(f"{path}.value", f"{moved:g} MB/s", expected, code="wrong-value")


def rate_mb_per_s(rate: QuotedRate) -> float | None:
    """Quoted rate in MB/s; None where the size of its records is not stated, or it is a latency."""
    if rate.unit == "mb_per_s":
        return rate.value
    if rate.unit == "mean_us" or rate.record_bytes is None:
        return None
    return rate.value * rate.record_bytes / 1e6


def contradictions(sheet: DataSheet) -> list[str]:
    """Pairs of figures of a sheet that state the same quantity and differ by more than 2 %, each as a sentence."""
    found = []
    tbw, dwpd, years = sheet.rated_tbw, sheet.rated_dwpd, sheet.rated_years
    if tbw is not None and dwpd is not None and years is not None:
        capacity_tb = sheet.capacity_bytes.value / 1e12
        follows = tbw.value / (capacity_tb * DAYS_PER_YEAR * years.value)
        if abs(follows / dwpd.value - 1) > CONTRADICTION_MIN:
            found.append(
                f"{tbw.value:,g} TBW over {years.value:g} years are {follows:.3g} DWPD; the sheet says "
                f"{dwpd.value:g} DWPD"
            )
    mtbf, afr = sheet.mtbf_hours, sheet.afr_percent
    if mtbf is not None and afr is not None:
        follows = 100 * HOURS_PER_YEAR / mtbf.value
        if abs(follows / afr.value - 1) > CONTRADICTION_MIN and round(follows, 2) != round(afr.value, 2):
            found.append(
                f"an MTBF of {mtbf.value:,g} h is an annual failure rate of {follows:.2f} %; the sheet says "
                f"{afr.value:g} %"
            )
    return found
