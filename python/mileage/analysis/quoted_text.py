"""Quoted and measured rates as a table of text.

Scope: lines of at most the given width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mileage.analysis.quoted_rates import QuotedPair
from mileage.model.data_sheet import DataSheet
from mileage.plan.sizes import format_bytes
from mileage.report.quantity import figure
from mileage.report.quoted_figures import conditions
from mileage.terminal import wrapped

_UNITS: Final = {"iops": "IOPS", "mb_per_s": "MB/s"}


def quoted_text(sheet: DataSheet, pairs: Sequence[QuotedPair], width: int) -> list[str]:
    """Quoted | measured | ratio, a line for each quoted rate, with the conditions of both below it."""
    lines = wrapped(f"Data sheet of {sheet.title} ({sheet.name}): quoted, measured", width)
    lines.append(f"  {'':<18}{'quoted':>15}{'measured':>15}{'ratio':>7}")
    for pair in pairs:
        unit = _UNITS[pair.quoted.unit]
        name = pair.quoted.workload.replace("_", " ")
        value = "-" if pair.value is None else f"{figure(pair.value)} {unit}"
        ratio = "-" if pair.ratio is None else f"{pair.ratio:.2f}"
        lines.append(f"  {name:<18}{figure(pair.quoted.value) + ' ' + unit:>15}{value:>15}{ratio:>7}")
        for text in _remarks(pair):
            lines += wrapped(text, width, first="    ", indent="      ")
    lines += wrapped(
        "A ratio is given where every condition that the sheet states is that of the measurement.", width
    )
    return lines


def _remarks(pair: QuotedPair) -> list[str]:
    quoted = f"quoted: {conditions(pair.quoted)}"
    if pair.measured is None:
        return [f"{quoted}; not measured"]
    rate = pair.measured
    stage = f"{rate.stage}: " if rate.stage not in ("measure", "check", "") else ""
    measured = f"measured: {stage}{format_bytes(rate.record_bytes)}, depth {rate.depth}"
    measured += f", within {format_bytes(rate.span_bytes)}"
    if pair.value is None:
        measured += "; not estimable, since a run failed or did nothing"
    if pair.low is not None and pair.high is not None:
        measured += f"; 95 % CI {figure(pair.low)} to {figure(pair.high)}"
    differs = [f"not the same conditions: {'; '.join(pair.differs)}"] if pair.differs else []
    return [quoted, measured, *differs]
