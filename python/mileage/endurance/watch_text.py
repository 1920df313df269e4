"""Result of a watch as text: the rate in TB per year with its interval, and the expected day of wear-out.

Scope: plain lines of at most the given width. What is not known is said to be not known.
"""

from __future__ import annotations

import datetime
from typing import Final

from mileage.endurance.conversions import TB
from mileage.endurance.life_text import columns_of_rows, drive_writes
from mileage.endurance.wear_monitor import WearEvaluation
from mileage.endurance.wear_rate import WearRate
from mileage.endurance.write_counters import TITLES
from mileage.plan.sizes import duration
from mileage.plan.write_rates import S_PER_DAY, S_PER_YEAR
from mileage.report.quantity import figure
from mileage.report.quoted_figures import decimal_bytes, terabytes
from mileage.terminal import wrapped

YEARS_MAX: Final = 1000.0
SHORT_S: Final = 7 * S_PER_DAY
"""A watch that is shorter has not seen a week."""


def watch_text(
    found: WearEvaluation,
    *,
    target: str,
    now_s: float,
    capacity_bytes: int,
    rated_bytes: float | None,
    written_bytes: float | None,
    width: int,
) -> str:
    """Describe a wear log: one sentence, a row for each counter, the day of wear-out, and skipped samples."""
    rate = found.rate
    samples = "1 sample" if found.samples == 1 else f"{found.samples} samples"
    if rate is None:
        first = f"{target}: {samples}; no counter was read twice yet, so that the rate is not known."
        return "\n".join(wrapped(first, width)) + "\n"
    daily = rate.bytes_per_s * S_PER_DAY
    per_drive = f", {drive_writes(daily / capacity_bytes)} a day" if capacity_bytes else ""
    first = (
        f"{target} is written at {_per_year(rate.bytes_per_s)} TB/year{_interval(rate)}: "
        f"{decimal_bytes(daily)} a day{per_drive}; {samples} over {_span(found.span_s)}, "
        f"counted by {TITLES[found.chosen]}."
    )
    lines = [*wrapped(first, width), ""]
    rows = [("counter", "written", "TB/year", "95 % interval", "counted")]
    for name, one in found.rates.items():
        ends = (
            "not known"
            if one.low is None or one.high is None
            else f"{_per_year(one.low)} to {_per_year(one.high)}"
        )
        rows.append(
            (
                TITLES[name],
                decimal_bytes(one.written_bytes),
                _per_year(one.bytes_per_s),
                ends,
                _span(one.counted_s),
            )
        )
    lines += [*columns_of_rows(rows), ""]
    lines += wrapped(_wear_out(rate, now_s, rated_bytes, written_bytes), width)
    if found.last_used is not None:
        lines += wrapped(
            f"Wear indicator of the drive: {found.first_used} % at the beginning, {found.last_used} % now.",
            width,
        )
    for name, one in found.rates.items():
        for event in one.events:
            lines += wrapped(f"[!] {TITLES[name]}: {event}", width, indent="    ")
    if found.span_s < SHORT_S:
        words = "[!] the watch has not seen a week: days of other load are not in the interval"
        lines += wrapped(words, width, indent="    ")
    return "\n".join(lines) + "\n"


def _per_year(bytes_per_s: float) -> str:
    return figure(bytes_per_s * S_PER_YEAR / TB)


def _interval(rate: WearRate) -> str:
    if rate.low is None or rate.high is None:
        return ""
    return f" (95 % CI {_per_year(rate.low)} to {_per_year(rate.high)})"


def _span(time_s: float) -> str:
    return duration(time_s) if time_s < 2 * S_PER_DAY else f"{time_s / S_PER_DAY:.1f} days"


def _wear_out(rate: WearRate, now_s: float, rated_bytes: float | None, written_bytes: float | None) -> str:
    """The day on which the rated bytes are written, with its interval."""
    if rated_bytes is None:
        return "Wear-out: not known, because the rated endurance is not; give --tbw or --datasheet."
    before = written_bytes or 0.0
    source = (
        f"{terabytes(before / TB)} TB of them written"
        if written_bytes is not None
        else "0 of them assumed written"
    )
    head = f"Wear-out of {terabytes(rated_bytes / TB)} TB, {source}:"
    left = rated_bytes - before
    if left <= 0:
        return f"{head} the rating is used up."
    if rate.bytes_per_s <= 0:
        return f"{head} never, nothing was written."
    day = _day(now_s, left / rate.bytes_per_s)
    if rate.low is None or rate.high is None:
        return f"{head} {day}."
    earliest = _day(now_s, left / rate.high)
    latest = _day(now_s, left / rate.low) if rate.low > 0 else "never"
    return f"{head} {day} (95 % CI {earliest} to {latest})."


def wear_out_day(now_s: float, left_s: float) -> datetime.date | None:
    """The day, UTC, `left_s` seconds from `now_s`; None after more than 1,000 years."""
    if left_s > YEARS_MAX * S_PER_YEAR:
        return None
    moment = datetime.datetime.fromtimestamp(now_s, datetime.UTC) + datetime.timedelta(seconds=left_s)
    return moment.date()


def _day(now_s: float, left_s: float) -> str:
    day = wear_out_day(now_s, left_s)
    return f"in more than {YEARS_MAX:,.0f} years" if day is None else day.isoformat()
