"""Ranking of all levels of a factor: lines for a terminal, rows of the page, and the CSV.

Scope: one table per cell, the best level first. A range of ranks says that the level does not differ from its
neighbours; a trend is named only with its test.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mileage.judge.mean_over_cells import Trend
from mileage.judge.standings import CellStandings, Standing
from mileage.report.wording import p_value, plain, quantity
from mileage.store.text_cells import csv_text
from mileage.terminal import columns_of, cut, padded, wrapped

RULE: Final = "A range of ranks: no difference shown (Welch on logs, Holm over all pairs of the cell, 5 %)."
ALPHA: Final = 0.05


def rank_words(place: Standing) -> str:
    """The ranks in words: a number, two with a hyphen between, or a hyphen where the level could not be ranked."""
    if place.first is None:
        return "-"
    return str(place.first) if place.first == place.last else f"{place.first}-{place.last}"


def trend_words(found: Trend | None, factor: str) -> str:
    """Trend of the means with rising level, and its test; empty without a trend."""
    if found is None:
        return ""
    shown = p_value(found.p)
    test = f"Spearman's rho {found.rho:+.2f}, p {shown if shown.startswith('<') else f'= {shown}'}"
    if found.p > ALPHA:
        return f"no trend with {factor} is shown ({test})"
    return f"{'rises' if found.rho > 0 else 'falls'} with {factor} ({test})"


def standing_lines(cells: Sequence[CellStandings], factor: str, width: int) -> list[str]:
    """Each cell's levels, best first, in lines of at most `width` columns."""
    if not cells:
        return []
    lines = [*wrapped(f"All levels of {factor}, by geometric mean. {RULE}", width), ""]
    name_width = min(
        max(columns_of(factor), *(columns_of(place.level) for cell in cells for place in cell.places)),
        width - 34,
    )
    lines.append(f"  {'rank':>5}  {padded(factor, name_width)} {'mean':>14} {'of best':>8}")
    for cell in cells:
        lines.append(cut(cell.cell, width))
        for place in cell.places:
            figure = plain(quantity(cell.metric, place.mean))
            name = padded(place.level, name_width)
            share = f"{100 * place.share_of_best:.1f} %"
            lines.append(f"  {rank_words(place):>5}  {name} {figure:>14} {share:>8}")
        trend = trend_words(cell.trend, factor)
        lines += [cut(f"         {trend}", width)] if trend else []
    return lines


def standing_rows(cells: Sequence[CellStandings], factor: str) -> list[dict[str, Any]]:
    """Rankings for the page: per cell its label, its trend and (rank, level, mean, share of the best, runs)."""
    return [
        {
            "cell": cell.cell,
            "trend": trend_words(cell.trend, factor),
            "places": [
                (
                    rank_words(place).replace("-", "\N{EN DASH}"),
                    place.level,
                    quantity(cell.metric, place.mean),
                    f"{100 * place.share_of_best:.1f}",
                    place.n,
                )
                for place in cell.places
            ],
        }
        for cell in cells
    ]


def standings_csv(cells: Sequence[CellStandings], classes: Mapping[str, str]) -> str:
    """CSV text with a header; means in the metric's unit, ranks empty where a level could not be ranked.

    `classes` has the class of the device of each level, or under an empty name that of all.
    """
    rows = []
    for cell in cells:
        for place in cell.places:
            figures = (place.mean, place.n, place.share_of_best, place.first, place.last)
            device = classes.get(place.level, classes.get("", ""))
            rows.append((cell.cell, cell.metric, place.level, *figures, device))
    columns = ("mean", "n", "share_of_best", "rank_first", "rank_last")
    return csv_text(("cell", "metric", "level", *columns, "device_class"), rows)
