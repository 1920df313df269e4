"""Lives, conversions and cases as text.

Scope: plain lines of at most the given width. What is not known is "not known".
"""

from __future__ import annotations

from collections.abc import Sequence

from mileage.endurance.cases import Case, Row, case_contradictions
from mileage.endurance.conversions import TB
from mileage.endurance.life import NOT_CONSIDERED, Life, Measure
from mileage.report.quoted_figures import decimal_bytes, terabytes
from mileage.terminal import wrapped


def life_text(life: Life, width: int) -> str:
    """The life of a drive: one sentence, the three measures side by side, warnings and notes."""
    rate = (
        f"{terabytes(life.bytes_per_year / TB)} TB/year ({decimal_bytes(life.bytes_per_year / 365)} a day, "
        f"{drive_writes(life.drive_writes_per_day)} a day)"
    )
    if life.years is None:
        first = f"{life.title}: no measure of its endurance is known; the host writes {rate}."
    else:
        first = f"{life.title}, written at {rate}, reaches its rated endurance in {_years(life.years)}."
    lines = [*wrapped(first, width), ""]
    lines += _table(life.measures)
    lines += [""] if life.warnings else []
    for warning in life.warnings:
        lines += wrapped(f"[!] {warning}", width, indent="    ")
    lines.append("")
    for note in (*life.notes, f"not considered: {NOT_CONSIDERED}"):
        lines += wrapped(f"{note[:1].upper()}{note[1:]}.", width, indent="  ")
    return "\n".join(lines) + "\n"


def drive_writes(count: float) -> str:
    """A number of drive writes: "3.88 drive writes", "1 drive write"."""
    return f"{count:.3g} drive write{'' if f'{count:.3g}' == '1' else 's'}"


def _table(measures: Sequence[Measure]) -> list[str]:
    has_use = any(measure.used_share is not None for measure in measures)
    rows = [
        ("measure", "rated", "at this rate", "used" if has_use else "", "life left" if has_use else "life")
    ]
    for one in measures:
        used = "" if not has_use else "not known" if one.used_share is None else f"{one.used_share:.1%}"
        rows.append((one.name, one.rated, one.demand, used, _years(one.years)))
    return columns_of_rows(rows)


def _years(years: float | None) -> str:
    if years is None:
        return "not known"
    if years < 1 / 12:
        return f"{years * 365:.3g} days"
    words = f"{years:.3g}" if years < 1000 else f"{years:,.0f}"
    return f"{words} {'year' if words == '1' else 'years'}"


def columns_of_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns as wide as their widest text, without columns that are empty."""
    kept = [at for at in range(len(rows[0])) if any(row[at] for row in rows)]
    widths = {at: max(len(row[at]) for row in rows) for at in kept}
    return ["  ".join(f"{row[at]:<{widths[at]}}" for at in kept).rstrip() for row in rows]


def case_text(case: Case, width: int) -> str:
    """Every quantity of a case, stated and derived, and where the slides contradict themselves."""
    lines = [*wrapped(f"{case.title} ({case.name})", width)]
    lines += [*wrapped(f"D. Traynor, Understanding SSD Storage performance, 2017, {case.source}", width), ""]
    rows = [("quantity", "value", "unit", "kind")]
    rows += [
        (row.quantity.replace("_", " "), row_value(row), row.unit, "derived" if row.derived else "stated")
        for row in case.row
    ]
    lines += columns_of_rows(rows)
    found = case_contradictions(case)
    lines += (
        ["", *(line for words in found for line in wrapped(f"[!] {words}", width, indent="    "))]
        if found
        else []
    )
    if case.need.note:
        lines += [
            "",
            *wrapped(f"For `mileage endurance choose --case {case.name}`: {case.need.note}.", width),
        ]
    return "\n".join(lines) + "\n"


def row_value(row: Row) -> str:
    """Text of a computed lifetime or rate; "low to high" where it is a range."""
    if row.low is None or row.high is None:
        return "little" if row.quantity == "expected_write_amplification" else "-"
    if row.unit == "bool":
        return "yes" if row.low else "no"
    low, high = f"{row.low:,.3g}", f"{row.high:,.3g}"
    if row.low >= 1000:
        low, high = f"{row.low:,.0f}", f"{row.high:,.0f}"
    return low if low == high else f"{low} to {high}"
