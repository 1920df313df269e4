"""Tests by aspect: each has a chart, a file of its own name and a place in the tables."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any

import msgspec
import pytest

from mileage.judge import Sample, compare_stages
from mileage.report import StudyView, render_html, render_text
from mileage.report.aspects import axes_of, drawn_tests, grouped_tests
from mileage.report.chart_data import ChartData
from mileage.report.difference_tables import difference_tables, differences_csv, printed_table
from mileage.report.paired_bars import paired_bars
from mileage.report.workload_charts import bar_pictures, change_pictures, map_picture
from tests.report.conftest import example

TESTS = ("write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read", "record_rewrite",
         "stride_read", "fwrite", "frewrite", "fread", "freread")  # fmt: skip
RECORDS = ("16 MiB", "64 KiB", "1 MiB", "8 MiB", "4 MiB")
TASKS = ("4", "1", "2")


def sources_view() -> StudyView:
    """The tests of the study of 2010: 13 of throughput on five records, 4 of IOPS, 3 of metadata at three NP."""
    places: dict[str, dict[str, str]] = {}
    for test in TESTS:
        for record in RECORDS:
            places[f"iozone.{test} {record}"] = {"test": f"iozone.{test}", "record": record}
    for test in ("write", "random_write", "read", "random_read"):
        places[f"iozone.{test} 4 KiB"] = {"test": f"iozone.{test}", "record": "4 KiB"}
    for test in ("create", "stat", "utime"):
        for tasks in TASKS:
            places[f"metarates.{test} {tasks} threads"] = {"test": f"metarates.{test}", "threads": tasks}
    found = []
    for at, (cell, place) in enumerate(places.items()):
        rate = "iozone" in cell and place["record"] != "4 KiB"
        metric, measure = ("rate_bytes_per_s", "throughput") if rate else ("ops_per_s", "iops")
        for stage, value in (("before", 100e6), ("after", 90e6)):
            for block in (1, 2, 3):
                noisy = value * (1 + 0.001 * block + 0.0001 * at)
                found.append(
                    Sample(
                        at, 1, "torture", stage, block, measure, cell, metric, noisy, higher_is_better=True
                    )
                )
    judged = compare_stages(found, baseline="before", candidate="after", relevance={})
    return example(comparison=judged, evidence=ChartData(places=places))


VIEW = sources_view()


def test_each_test_has_one_chart_and_a_name_of_its_own() -> None:
    files = [own.file for own in drawn_tests(VIEW)]
    assert len(files) == len(set(files)) == 13 + 4 + 3
    aspects = {own.file: own.aspect for own in drawn_tests(VIEW)}
    assert list(aspects.values()) == ["throughput"] * 13 + ["iops"] * 4 + ["metadata"] * 3
    assert aspects["iozone_write"] == "throughput"
    assert aspects["iozone_write_iops"] == "iops"
    assert aspects["metarates_create"] == "metadata"
    assert [made.name for made in bar_pictures(VIEW)] == files
    changes = [made.name for made in change_pictures(VIEW)]
    assert len(set(changes)) == len(changes) >= 13 + 3
    assert map_picture(VIEW, narrow=True) is not None


@pytest.mark.parametrize(
    ("test", "labels", "bars"),
    [
        ("iozone.read", ["64 KiB", "1 MiB", "4 MiB", "8 MiB", "16 MiB"], 10),
        ("metarates.create", ["NP=1", "NP=2", "NP=4"], 6),
    ],
)
def test_pairs_stand_in_the_order_of_the_sizes_on_an_axis_from_zero(
    test: str, labels: list[str], bars: int
) -> None:
    own = next(found for found in grouped_tests(VIEW) if found.test == test)
    places = VIEW.evidence.places
    chart = paired_bars(test, own.cells, places, axes_of(own.cells, places), ("before", "after"))
    assert chart is not None
    axis = chart["layer"][1]["encoding"]["x"]["axis"]["labelExpr"]
    assert [axis.index(f"'{label}'") for label in labels] == sorted(
        axis.index(f"'{label}'") for label in labels
    )
    drawn: list[dict[str, Any]] = chart["layer"][0]["data"]["values"]
    assert len(drawn) == bars
    places_taken = sorted((row["left"], row["right"]) for row in drawn)
    assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(places_taken))
    assert chart["layer"][0]["encoding"]["y"]["scale"]["domain"][0] == 0


def test_the_tables_are_split_as_articles_split_them() -> None:
    """Oracle: the means and deviations of the standard library."""
    found = {table.name: table for table in difference_tables(VIEW)}
    rows = {name: list(csv.DictReader(io.StringIO(differences_csv(table)))) for name, table in found.items()}
    assert {name: len(own) for name, own in rows.items()} == {
        "differences_write": 6 * 5,
        "differences_read": 7 * 5,
        "differences_iops": 4,
        "differences_metadata": 3 * 3,
    }
    cells = {cell.cell: cell for cell in VIEW.comparison.cells}
    for row in (row for own in rows.values() for row in own):
        before, after = cells[row["cell"]].values_baseline, cells[row["cell"]].values_candidate
        assert float(row["difference_percent"]) == pytest.approx(100 * (fmean(after) / fmean(before) - 1))
        assert float(row["sd_percent"]) == pytest.approx(100 * stdev(after) / fmean(after))
    shown = printed_table(found["differences_read"], VIEW.evidence.places)
    assert [name for name, _ in shown.rows] == ["64 KiB", "1 MiB", "4 MiB", "8 MiB", "16 MiB"]
    assert all(len(texts) == 7 and all(texts) for _, texts in shown.rows)


def test_the_page_has_a_section_for_each_aspect() -> None:
    page = render_html(VIEW, drawn=False)
    for anchor, title in (("throughput", "Throughput"), ("iops", "IOPS"), ("metadata", "Metadata")):
        assert f'id="aspect-{anchor}"' in page
        assert f"<h2>{title}</h2>" in page
    assert "<small>arithmetic</small>" in page


def test_a_name_that_other_pictures_have_is_changed() -> None:
    names = ("torture", "layout.x", "wear_narrow")
    renamed = zip(VIEW.headline, names, strict=False)
    cells = [msgspec.structs.replace(cell, cell=name) for cell, name in renamed]
    view = example(comparison=msgspec.structs.replace(VIEW.comparison, cells=tuple(cells), headline=()))
    assert [own.file for own in grouped_tests(view)] == [
        "test_torture_",
        "test_layout_x_",
        "test_wear_narrow_",
    ]


def test_a_barely_decided_cell_is_marked_in_text_page_and_table() -> None:
    cell = next(cell for cell in VIEW.headline if cell.ratio)
    wide = msgspec.structs.replace(
        cell, verdict="faster", ratio=1.1695, ci95=(1.05, 1.29), relevance=0.02,
        values_baseline=(100.0, 86.0, 114.0), values_candidate=(117.0, 101.0, 133.0),
    )  # fmt: skip
    clear = msgspec.structs.replace(wide, values_baseline=(99.9, 100.1), values_candidate=(116.9, 117.1))
    for own, marked in ((wide, True), (clear, False)):
        judged = msgspec.structs.replace(VIEW.comparison, cells=(own,), headline=())
        view = example(comparison=judged)
        assert ("faster, barely" in render_text(view)) == marked
        assert ("exceeds half the change" in render_html(view, drawn=False)) == marked
