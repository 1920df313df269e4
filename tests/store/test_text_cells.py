"""Texts in CSV do nothing to who opens it, and are read back exactly, wherever Mileage writes CSV."""

import csv

from mileage.judge.standings import CellStandings, Standing
from mileage.report.imported_study import ReportedCell, imported_csv
from mileage.report.standings import standings_csv
from mileage.store.text_cells import csv_text, meant
from tests.house.repository import modules


def test_texts_are_protected_and_figures_are_as_they_were() -> None:
    rows = [("=1+1", -1.5, None, True), ("-2", -2, "", False), ("a\nb", 0, "'", None)]
    text = csv_text(("a", "b", "c", "d"), rows)
    assert text.splitlines()[1:] == ["'=1+1,-1.5,,True", "'-2,-2,,False", "a\\u000ab,0,'',"]
    assert [meant(line[0]) for line in csv.reader(text.splitlines()[1:])] == [row[0] for row in rows]


def test_the_tables_of_reports_are_protected() -> None:
    """Names of stages and tables are harmless words, but cells of other tools, and of forged plans, are any text."""
    cell = ReportedCell("=1+1", "", 1, (5.0,), (), (), {})
    assert imported_csv((cell,)).splitlines()[1].startswith("'=1+1,1,5.0,")
    value = CellStandings(
        cell="@cell", metric="ops_per_s", places=(Standing("+level", 1.0, 1, 1.0, 1, 1),), trend=None
    )
    row = standings_csv([value], {"": "=TLC"}).splitlines()[1]
    assert row.endswith(",'=TLC")
    assert row.startswith("'@cell,ops_per_s,'+level,1.0,")


def test_every_table_of_a_report_is_written_by_the_one_rule() -> None:
    """A module that makes CSV by itself has a rule of its own, or none."""
    makers = [path.name for path in modules() if "csv.writer(" in path.read_text(encoding="utf-8")]
    assert makers == ["text_cells.py"]
