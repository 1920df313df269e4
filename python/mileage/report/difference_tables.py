"""Differences in percent of the baseline's mean, one table for write tests, read tests, IOPS, metadata and time.

Scope: the tables that benchmark articles print: a row for each size and setting, a column for each test, in it the
difference of the arithmetic means and the standard deviation of the candidate's runs (n - 1), in percent of their mean;
next to both, in the CSV files, the change that is judged. A test that reads and writes is in the table
of other tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mileage.judge import CellVerdict
from mileage.report.aspects import DrawnTest, aspect_title, axes_of, grouped_tests, level_words
from mileage.report.change_grid import ordered_levels
from mileage.report.view import StudyView, cleaned
from mileage.report.wording import NOT_AVAILABLE, VERDICT_GLYPHS, arithmetic_of, barely_words
from mileage.store.safe_directory import Directory
from mileage.store.text_cells import csv_text

_COLUMNS: Final = (
    *("test", "cell", "difference_percent", "sd_percent", "sd_baseline_percent"),
    *("change_percent", "ci95_low_percent", "ci95_high_percent", "verdict", "barely"),
)


class DifferenceTable(NamedTuple):
    """The tests of one table. `name` is that of its file: "differences_write"."""

    name: str
    title: str
    aspect: str
    tests: list[DrawnTest]


class PrintedTable(NamedTuple):
    """A table of percent differences as text cells: column names, and per row its name and one text per test."""

    title: str
    heads: list[str]
    rows: list[tuple[str, list[str]]]


def difference_tables(view: StudyView) -> list[DifferenceTable]:
    """The tables that have a test, in the order of the aspects."""
    found: dict[str, DifferenceTable] = {}
    for own in grouped_tests(view):
        part, title = _part(own)
        table = found.setdefault(part, DifferenceTable(f"differences_{part}", title, own.aspect, []))
        table.tests.append(own)
    return list(found.values())


def _part(own: DrawnTest) -> tuple[str, str]:
    """The table that a test belongs to, and its title."""
    if own.aspect != "throughput":
        return own.aspect, aspect_title(own.aspect)
    last = own.test.rpartition(".")[2]
    for verb in ("write", "read"):
        if last.endswith(verb):
            return verb, f"{verb.capitalize()} tests"
    return "other", "Other tests"


def differences_csv(table: DifferenceTable) -> str:
    """CSV text with a header: one row per cell, in percent; empty: not available."""
    rows = []
    for own in table.tests:
        for cell in own.cells:
            change = _percent(None if cell.ratio is None else cell.ratio - 1)
            low, high = (100 * (end - 1) for end in cell.ci95) if cell.ci95 else (None, None)
            printed = (_percent(value) for value in arithmetic_of(cell))
            tail = (change, low, high, cell.verdict, barely_words(cell))
            rows.append((own.test, cell.cell, *printed, *tail))
    return csv_text(_COLUMNS, rows)


def write_differences(view: StudyView, folder: Directory) -> None:
    """Write each table as `tables/NAME.csv`."""
    for table in difference_tables(cleaned(view)):
        folder.write(f"tables/{table.name}.csv", differences_csv(table).encode())


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def printed_table(table: DifferenceTable, places: Mapping[str, Mapping[str, str]]) -> PrintedTable:
    """The table as a page shows it: rows are sizes and settings, columns tests."""
    cells = [cell for own in table.tests for cell in own.cells]
    axes = axes_of(cells, places)
    names = [name for name in (axes.row, *axes.columns) if name]
    found: dict[tuple[str, ...], dict[int, str]] = {}
    for at, own in enumerate(table.tests):
        for cell in own.cells:
            place = places.get(cell.cell, {})
            row = tuple(level_words(own.test, name, place.get(name, "")) for name in names)
            texts = found.setdefault(row, {})
            # Cells that differ in nothing but their labels cannot share a row.
            texts = found.setdefault((*row, cell.cell), {}) if at in texts else texts
            texts[at] = _text(cell)
    order = sorted(found, key=lambda row: [_rank(row, found, at) for at in range(len(names))])
    rows = [
        (", ".join(filter(None, row)) or "all", [found[row].get(at, "") for at in range(len(table.tests))])
        for row in order
    ]
    return PrintedTable(table.title, [own.test for own in table.tests], rows)


def _rank(row: Sequence[str], rows: Mapping[tuple[str, ...], object], at: int) -> int:
    return ordered_levels({other[at] for other in rows}).index(row[at])


def _text(cell: CellVerdict) -> str:
    difference, deviation, _ = arithmetic_of(cell)
    if difference is None:
        return NOT_AVAILABLE
    spread = "" if deviation is None else f" ± {100 * deviation:.2f}"
    mark = " barely" if barely_words(cell) else ""
    sign = "+" if difference > 0 else "\N{MINUS SIGN}" if difference < 0 else ""
    return f"{VERDICT_GLYPHS[cell.verdict]} {sign}{abs(100 * difference):.2f}{spread}{mark}"
