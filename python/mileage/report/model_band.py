"""The model band as tables: each unpublished choice with what it makes of the result, for the terminal and the page.

Scope: the cell that the verdict sentence speaks of in the terminal, every cell on the page; the choice that
moves that cell most comes first.
A choice without a result says why.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mileage.judge import CellVerdict, Comparison
from mileage.judge.model_band import BandChoice
from mileage.report.sentence import band_range, lead_of, moved_by_model
from mileage.report.wording import percent, plain, row_name
from mileage.terminal import cut, padded, wrapped

_CHANGE: Final = 9
CAUTION: Final = "Combinations of changes are not tried: the range may be wider."


class BandRow(NamedTuple):
    """A choice on the page."""

    change: str
    instead_of: str
    reason: str
    changes: list[str]
    """Change of each cell."""


def _lead(comparison: Comparison) -> CellVerdict | None:
    named = lead_of(comparison) or moved_by_model(comparison)
    return named or next((cell for cell in comparison.family if cell.ratio is not None), None)


def _sorted(comparison: Comparison) -> list[BandChoice]:
    lead = _lead(comparison)
    if comparison.band is None or lead is None:
        return []
    return comparison.band.by_effect(lead.cell, lead.metric, lead.ratio or 1.0)


def band_lines(comparison: Comparison, width: int) -> list[str]:
    """The table of the terminal, ending in an empty line; empty where no choice was tried."""
    lead, choices = _lead(comparison), _sorted(comparison)
    if lead is None or not choices:
        return []
    room = max(width - _CHANGE - 2, 20)
    name_width = min(max(len(choice.change) for choice in choices), room // 2)
    head = f"Variants of the drive model, each with one unpublished figure changed: {row_name(lead)}, one cycle each."
    lines = [*wrapped(head, width), ""]
    for choice in choices:
        ratio = choice.ratio(lead.cell, lead.metric)
        text = f"instead of {choice.instead_of}" if ratio is not None else choice.failure or "not measured"
        change = f"{plain(percent(ratio)):>{_CHANGE}}"
        lines.append(f"{padded(choice.change, name_width)} {change}  {cut(text, room - name_width)}")
    lines.append(
        f"{padded('as in the profile', name_width)} {plain(percent(lead.ratio)):>{_CHANGE}}  "
        f"range: {band_range(comparison, lead)}"
    )
    return [*lines, *wrapped(CAUTION, width), ""]


def band_cells(comparison: Comparison) -> list[str]:
    """The columns of the page's table: the judged cells, the headline first."""
    return [row_name(cell) for cell in _cells(comparison)] if comparison.band is not None else []


def band_ranges(comparison: Comparison) -> list[str]:
    """The range of each of these cells."""
    return [band_range(comparison, cell) or "n/a" for cell in _cells(comparison)]


def band_rows(comparison: Comparison) -> list[BandRow]:
    """The choices of the page's table, and last the study's own drive; empty where no choice was tried."""
    choices = _sorted(comparison)
    cells = _cells(comparison)
    rows = [
        BandRow(
            choice.change,
            choice.instead_of,
            choice.failure or choice.reason,
            [percent(choice.ratio(cell.cell, cell.metric)) for cell in cells],
        )
        for choice in choices
    ]
    own = BandRow("as in the profile", "", "", [percent(cell.ratio) for cell in cells])
    return [*rows, own] if rows else []


def _cells(comparison: Comparison) -> list[CellVerdict]:
    return [cell for cell in (*comparison.family, *comparison.beyond) if cell.ratio is not None]
