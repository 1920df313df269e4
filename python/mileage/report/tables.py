"""The judged cells and the runs behind them as CSV: full precision, units in the column names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from mileage.judge import Comparison
from mileage.judge.rules import bar_clears_zero, bars_apart
from mileage.judge.standings import CellStandings
from mileage.judge.summary import Summary, summarise
from mileage.report.sentence import note_words
from mileage.report.standings import standings_csv
from mileage.report.view import shown_cells
from mileage.report.wording import arithmetic_of, barely_words
from mileage.store.safe_directory import Directory
from mileage.store.text_cells import csv_text

NO_CLASSES: Final[Mapping[str, str]] = MappingProxyType({})
_COLUMNS = (
    *("cell", "measure", "metric", "verdict", "ratio", "ci95_low", "ci95_high", "p_raw", "p_adjusted"),
    *("relevance", "mean_baseline", "mean_candidate", "n_baseline", "n_candidate"),
    *("superiority", "rule_bars_apart", "rule_bar_clears_zero", "note", "class_baseline", "class_candidate"),
    *("difference_arithmetic", "barely"),
)


def cells_csv(comparison: Comparison) -> str:
    """CSV text with a header; `ratio` is candidate over baseline, means are in the metric's unit, empty: unknown.

    Means are geometric; `difference_arithmetic` is that of the arithmetic means, as a share of the baseline's.
    """
    rows = []
    for cell in shown_cells(comparison):
        low, high = cell.ci95 or (None, None)
        head = (cell.cell, cell.measure, cell.metric, cell.verdict, cell.ratio, low, high, cell.p_raw)
        means = (cell.mean_baseline, cell.mean_candidate, cell.n_baseline, cell.n_candidate)
        values = (cell.values_baseline, cell.values_candidate)
        clears = bar_clears_zero(*values) if cell.printed is None else cell.printed.error_bar
        rules = (bars_apart(*values), clears)
        last = (arithmetic_of(cell).change, barely_words(cell))
        tail = (cell.superiority, *rules, note_words(cell, comparison), *comparison.classes, *last)
        rows.append((*head, cell.p_adjusted, cell.relevance, *means, *tail))
    return csv_text(_COLUMNS, rows)


def summaries_csv(comparison: Comparison) -> str:
    """CSV text with a header: the runs of each cell and metric in each arm, in the metric's unit; empty: not available.

    Of a cycle with a sham arm, the torture arm's. `median_confidence` is what the interval of the median truly reaches.
    Pooled rates are in `within.csv`, which has the times of the runs.
    """
    rows = []
    names = [name for name in Summary.__struct_fields__ if name not in ("notes", "pooled")]
    pairs = {"mean_ci95", "median_ci"}
    columns = [f"{name}{end}" for name in names for end in (("_low", "_high") if name in pairs else ("",))]
    for cell in comparison.cells:
        arms = ((comparison.baseline, cell.values_baseline), (comparison.candidate, cell.values_candidate))
        for (arm, values), words in zip(arms, comparison.classes, strict=True):
            found = summarise(values)
            cells_of_row: list[object] = []
            for name in names:
                value = getattr(found, name)
                cells_of_row += (value or (None, None)) if name in pairs else (value,)
            rows.append(
                (cell.cell, cell.measure, cell.metric, arm, *cells_of_row, "; ".join(found.notes), words)
            )
    return csv_text(("cell", "measure", "metric", "arm", *columns, "notes", "class"), rows)


def rows_csv(rows: Sequence[msgspec.Struct]) -> str:
    """CSV text of structs of one type: a header of their fields, a line for each; empty: not known."""
    return csv_text(rows[0].__struct_fields__, map(msgspec.structs.astuple, rows))


def write_tables(
    comparison: Comparison,
    folder: Directory,
    standings: Sequence[CellStandings] = (),
    classes: Mapping[str, str] = NO_CLASSES,
) -> None:
    """Write `cells.csv`, `summaries.csv`, and `standings.csv` where there are any, into the folder `tables` below.

    `classes` has the class of the device by the level of the compared factor, as in `standings_csv`.
    """
    folder.write("tables/cells.csv", cells_csv(comparison).encode())
    folder.write("tables/summaries.csv", summaries_csv(comparison).encode())
    if standings:
        folder.write("tables/standings.csv", standings_csv(standings, classes).encode())
