"""The page of a published table of differences: a figure for each test, the printed tables, the error bars."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from mileage.app.comparison_report import write_pair
from mileage.app.published_means_report import judged_table, printed_view
from tests.command import mileage
from tests.house.repository import ROOT

TABLE = ROOT / "examples" / "published" / "sandforce_kernel_diff.csv"


def written(table: Path, out: Path, level: str = "full") -> str:
    """The page of a table, as text."""
    cells, found = judged_table(table, None, 10, None)
    return write_pair(printed_view(table, cells, found, []), out, level).read_text(encoding="utf-8")


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


def test_seventeen_figures_and_the_tables_of_180_210_and_24_cells(tmp_path: Path) -> None:
    """Oracle: the sizes of tables 14 to 16 and the figures of the article, whose order the table keeps."""
    page = written(TABLE, tmp_path / "out")
    charts = sorted((tmp_path / "out" / "figures").glob("*_change.svg"))
    assert len(charts) == len([*(tmp_path / "out" / "figures").glob("*_change.png")]) == 17
    for path in charts:
        root = ET.fromstring(path.read_text(encoding="utf-8"))
        titles = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}title")]
        bars = [text for text in titles if "95 % interval" in text]
        assert len(bars) == (6 if "iops" in path.stem else 30), path.stem
    printed = {" ".join(list(row.values())[1:4]): row for row in rows_of(TABLE)}
    sizes = {"differences_write": 180, "differences_read": 210, "differences_iops": 24}
    for name, size in sizes.items():
        rows = rows_of(tmp_path / "out" / "tables" / f"{name}.csv")
        assert len(rows) == size
        for row in rows:
            source = printed[row["cell"]]
            assert float(row["difference_percent"]) == pytest.approx(float(source["diff_percent"]))
            assert float(row["sd_percent"]) == pytest.approx(float(source["std_percent"]))
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    rules = [row["rule_bar_clears_zero"] for row in rows_of(tmp_path / "out" / "tables" / "cells.csv")]
    assert [rules.count(word) for word in ("different", "nothing can be said", "tie")] == [235, 176, 3]


def test_the_large_change_with_a_large_deviation_is_marked(tmp_path: Path) -> None:
    written(TABLE, tmp_path / "out", "text")
    found = {row["cell"]: row["barely"] for row in rows_of(tmp_path / "out" / "tables" / "cells.csv")}
    assert "exceeds half" in found["record_rewrite 1MB 2"]
    assert found["write_iops 4KB 98"] == ""


def test_names_of_strangers_stay_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\u202e write"
    table = tmp_path / "<i>.csv"
    lines = ["test,<q>,diff_percent,std_percent", *(f"{hostile},{size},1.0,0.5" for size in ("4KB", hostile))]
    table.write_text("\n".join(lines), encoding="utf-8")
    page = written(table, tmp_path / "out")
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "<i>" not in page
    assert "<q>" not in page


def test_every_door_has_the_verdicts_and_the_codes(tmp_path: Path) -> None:
    """A table of differences has the forms and rules of every comparison."""
    table = tmp_path / "t.csv"
    table.write_text("test,size,diff_percent,std_percent\nwrite,4KB,-9,1\nread,4KB,0.1,0.1\n")
    words = ("compare", "--table", str(table), "--runs", "5")
    for form, expected in (
        ("markdown", "| write 4KB |"),
        ("junit", 'name="write 4KB"'),
        ("github", "::error"),
    ):
        done = mileage(*words, "--format", form, "--fail-if", "slower > 5%")
        assert done.returncode == 1, done.stderr
        assert expected in done.stdout
    assert mileage(*words, "--fail-if", "rate slower > 10%").returncode == 0
    assert mileage(*words, "--fail-if", "p99 slower").returncode == 2
