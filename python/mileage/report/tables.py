"""The judged cells as CSV: one row per cell and metric, full precision, units in the column names."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from mileage.judge import Comparison
from mileage.judge.rules import bar_clears_zero, bars_apart
from mileage.judge.standings import CellStandings
from mileage.report.standings import standings_csv

_COLUMNS = (
    *("cell", "measure", "metric", "verdict", "ratio", "ci95_low", "ci95_high", "p_raw", "p_adjusted"),
    *("relevance", "mean_baseline", "mean_candidate", "n_baseline", "n_candidate"),
    *("superiority", "rule_bars_apart", "rule_bar_clears_zero", "note"),
)


def cells_csv(comparison: Comparison) -> str:
    """CSV text with a header; `ratio` is candidate over baseline, means are in the metric's unit, empty: unknown."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for cell in comparison.cells:
        low, high = cell.ci95 or (None, None)
        head = (cell.cell, cell.measure, cell.metric, cell.verdict, cell.ratio, low, high, cell.p_raw)
        means = (cell.mean_baseline, cell.mean_candidate, cell.n_baseline, cell.n_candidate)
        values = (cell.values_baseline, cell.values_candidate)
        rules = (bars_apart(*values), bar_clears_zero(*values))
        writer.writerow((*head, cell.p_adjusted, cell.relevance, *means, cell.superiority, *rules, cell.note))
    return text.getvalue()


def write_tables(comparison: Comparison, folder: Path, standings: Sequence[CellStandings] = ()) -> None:
    """Write `cells.csv`, and `standings.csv` where there are any, into an existing folder."""
    (folder / "cells.csv").write_text(cells_csv(comparison), encoding="utf-8")
    if standings:
        (folder / "standings.csv").write_text(standings_csv(standings), encoding="utf-8")
