"""The page of a published table: a figure for each test, the printed tables, the rule of the error bar."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from mileage.formats.published_table import read_published
from mileage.judge.published_differences import PublishedCell, Reanalysis, reanalyse
from mileage.report.published_table_page import judged_rows, part_of, render_published, write_published
from mileage.store.safe_directory import Directory
from tests.house.repository import ROOT

TABLE = ROOT / "examples" / "published" / "sandforce_kernel_diff.csv"


@pytest.fixture(scope="module")
def kernels() -> Reanalysis:
    columns, cells = read_published(TABLE)
    return reanalyse(cells, columns=columns, runs=10)


def test_seventeen_figures_and_the_tables_of_180_210_and_24_cells(
    kernels: Reanalysis, tmp_path: Path
) -> None:
    """Oracle: the sizes of tables 14 to 16 and the figures of the article, whose order the table keeps."""
    write_published(kernels, TABLE.name, Directory.open(tmp_path), drawn=True)
    assert (
        len(list((tmp_path / "figures").glob("*.svg")))
        == len(list((tmp_path / "figures").glob("*.png")))
        == 17
    )
    for path in (tmp_path / "figures").glob("*.svg"):
        root = ET.fromstring(path.read_text(encoding="utf-8"))
        bars = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}title") if "±" in (e.text or "")]
        assert len(bars) == (6 if path.stem.endswith("iops") else 30), path.stem
    printed = {
        row["metric"] + row["record_size"] + row["compressibility"]: row
        for row in csv.DictReader(TABLE.open())
    }
    sizes = {"differences_write": 180, "differences_read": 210, "differences_iops": 24}
    for name, size in sizes.items():
        rows = list(csv.DictReader(io.StringIO((tmp_path / "tables" / f"{name}.csv").read_text())))
        assert len(rows) == size
        for row in rows:
            source = printed[row["metric"] + row["record_size"] + row["compressibility"]]
            assert float(row["difference_percent"]) == float(source["diff_percent"])
            assert float(row["sd_percent"]) == float(source["std_percent"])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 17
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)


def test_the_large_change_with_a_large_deviation_is_marked(kernels: Reanalysis) -> None:
    found = {row.cell.keys: row for row in judged_rows(kernels)}
    assert "exceeds half" in found["record_rewrite", "1MB", "2"].barely
    assert found["write_iops", "4KB", "98"].barely == ""


def test_names_of_strangers_stay_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\u202e write"
    cells = [PublishedCell((hostile, size), 1.0, 0.5) for size in ("4KB", hostile)]
    found = reanalyse(cells, columns=("test", "<b>"), runs=3)
    write_published(found, "<i>", Directory.open(tmp_path), drawn=True)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "\u202e" not in page
    assert "<i>" not in page


def test_a_page_without_pictures(kernels: Reanalysis) -> None:
    one = msgspec.structs.replace(kernels, highlights=())
    page = render_published(one, "t", [])
    assert "<svg" not in page
    assert "Largest differences" not in page


@pytest.mark.parametrize(
    ("test", "part"),
    [
        ("fwrite", "write"),
        ("stride_read", "read"),
        ("read_iops", "iops"),
        ("mix", "other"),
        ("ior.write", "write"),
    ],
)
def test_tests_are_in_the_table_of_what_they_do(test: str, part: str) -> None:
    assert part_of(test) == f"differences_{part}"
