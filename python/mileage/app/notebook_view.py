"""A comparison as text and as HTML, for an interpreter and a notebook: sentence, table, and a chart of the intervals.

Names come from study files of strangers: control characters are removed, and HTML is escaped.
"""

from __future__ import annotations

import html
import math
from typing import Final

from mileage.judge import CellVerdict, Comparison
from mileage.report.sentence import statements
from mileage.report.view import shown_cells
from mileage.report.wording import interval, percent, plain, row_name, verdict_words
from mileage.terminal import harmless

_WIDTH: Final = 240
_HEIGHT: Final = 16
_SMALLEST_SPAN: Final = math.log(1.1)
"""Least half of the axis, as the logarithm of a ratio: a change of 1 % does not fill the chart."""
_SHOWN: Final = 100
"""Rows that are shown; a notebook with thousands would not open."""


class ShownComparison(Comparison, frozen=True):
    """A comparison that an interpreter and a notebook show by its verdict."""

    def __repr__(self) -> str:
        """The verdict and a line for each cell."""
        return comparison_text(self)

    def _repr_html_(self) -> str:
        """The same for a notebook, with a chart of the intervals."""
        return comparison_html(self)


def shown(comparison: Comparison) -> ShownComparison:
    """The same comparison, in the form that shows itself."""
    return ShownComparison(**{name: getattr(comparison, name) for name in comparison.__struct_fields__})


def comparison_text(comparison: Comparison) -> str:
    """The verdict, and a line for each cell: change, 95 % interval, verdict."""
    lines = [harmless(text) for text in statements(comparison)]
    rows = [_words(cell) for cell in shown_cells(comparison)[:_SHOWN]]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    lines += [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([*lines, *_omitted(comparison)])


def comparison_html(comparison: Comparison) -> str:
    """The verdict, and a table whose rows show the interval of each ratio on one logarithmic axis."""
    cells = shown_cells(comparison)[:_SHOWN]
    span = max([_SMALLEST_SPAN, *(abs(math.log(end)) for cell in cells for end in _ends(cell))])
    head = "".join(
        f"<th>{word}</th>" for word in ("test", "change", "95 % interval", "verdict", "ratio, logarithmic")
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{html.escape(text)}</td>" for text in _words(cell))
        + f"<td>{_interval_svg(cell, span)}</td></tr>"
        for cell in cells
    )
    sentence, *notes = (html.escape(harmless(text)) for text in statements(comparison))
    more = "".join(f"<p>{line}</p>" for line in [*notes, *_omitted(comparison)])
    return f"<p><b>{sentence}</b></p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _omitted(comparison: Comparison) -> list[str]:
    more = len(comparison.cells) - _SHOWN
    return [f"and {more} more tests"] if more > 0 else []


def _words(cell: CellVerdict) -> tuple[str, str, str, str]:
    change, ends = percent(cell.ratio), interval(cell.ci95, cell.ratio)
    return harmless(row_name(cell)), plain(change), plain(ends), verdict_words(cell)


def _ends(cell: CellVerdict) -> list[float]:
    return [end for end in (cell.ratio, *(cell.ci95 or ())) if end is not None and 0 < end < math.inf]


def _interval_svg(cell: CellVerdict, span: float) -> str:
    """The interval and the ratio of one cell; empty where there is no ratio."""
    if cell.ratio is None or not _ends(cell):
        return ""

    def at(ratio: float) -> float:
        return _WIDTH / 2 * (1 + math.log(ratio) / (1.05 * span))

    low, high = at(min(_ends(cell))), at(max(_ends(cell)))
    middle = _HEIGHT / 2
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{html.escape(", ".join(_words(cell)[1:3]))}">'
        f'<line x1="{_WIDTH / 2}" x2="{_WIDTH / 2}" y1="0" y2="{_HEIGHT}" stroke="gray"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-width="2"/>'
        f'<circle cx="{at(cell.ratio):.1f}" cy="{middle}" r="3.5" fill="currentColor"/></svg>'
    )
