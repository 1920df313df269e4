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
_MOST_ORDERS: Final = 4
_MOST_LEVELS: Final = 8
_MOST_CELLS: Final = 4


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


def ranking_words(cells: Sequence[CellStandings], factor: str) -> str:
    """Rank all levels of a factor in one sentence ("1st b, 2nd a and c"); empty for fewer than three levels.

    Levels of one place are not distinguished by their ranks. Reads and writes often differ in their order, and have no
    common one. Of many levels the first three places and the last are named.
    """
    orders: dict[str, list[str]] = {}
    for cell in cells:
        ranked = [place for place in cell.places if place.first is not None and place.last is not None]
        if len(ranked) > 2:
            orders.setdefault(_order_words(ranked), []).append(cell.cell)
    if not orders:
        return ""
    most = sorted(orders.items(), key=lambda item: -len(item[1]))
    shown = [f"{_cells_words(cells)}: {order}" for order, cells in most[:_MOST_ORDERS]]
    rest = sum(len(cells) for _, cells in most[_MOST_ORDERS:])
    other = [f"other orders at {rest} tests"] if rest else []
    return f"Ranks by {factor}: {'; '.join([*shown, *other])}."


def _order_words(ranked: Sequence[Standing]) -> str:
    """The places of a cell, best first: "1st b, 2nd a and c (no difference found)"."""
    places: list[list[Standing]] = []
    for place in ranked:
        if places and (place.first or 0) <= (places[-1][-1].last or 0):
            places[-1].append(place)
        else:
            places.append([place])
    words, before = [], 0
    for levels in places:
        names = " and ".join(level.level for level in levels)
        words.append(f"{_ordinal(before + 1)} {names}{' (no difference found)' if len(levels) > 1 else ''}")
        before += len(levels)
    return ", ".join(
        [*words[:3], "...", words[-1]] if len(ranked) > _MOST_LEVELS and len(words) > 4 else words
    )


def _ordinal(place: int) -> str:
    """A place as it is read: "1st", "2nd", "11th"."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th") if place // 10 % 10 != 1 else "th"
    return f"{place}{ending}"


def _cells_words(cells: Sequence[str]) -> str:
    return ", ".join(cells) if len(cells) <= _MOST_CELLS else f"{len(cells)} tests alike"
