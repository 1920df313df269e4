"""Changes over two properties of the cells: every cell has a place of its own, and skipped cells are stated."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import msgspec
import pytest

from mileage.report.before_after_chart import before_after_chart
from mileage.report.change_grid import (
    Grid,
    _shade,
    change_charts,
    fields_of,
    heat_chart,
    ink_on,
    level_fields,
    most_changed,
    number_of,
)
from mileage.report.chart_data import LevelRuns
from tests.report.conftest import comparison

CELL = comparison().headline[0]


def cells(names: list[str]) -> list[Any]:
    """Cells of these names, the later ones with the larger change."""
    return [
        msgspec.structs.replace(
            CELL, cell=name, ratio=1 - 0.001 * at, ci95=(0.5, 1.5), values_baseline=(), values_candidate=()
        )
        for at, name in enumerate(names)
    ]


def test_cells_with_equal_properties_have_panels_of_their_own() -> None:
    """Five cells on two records: those that would lie upon another get a panel next to it."""
    names = ["a 4 KiB", "a 4 KiB, x", "a 64 KiB", "b 4 KiB", "b 64 KiB"]
    places = {name: {"test": name[0], "record": "4 KiB" if " 4 KiB" in name else "64 KiB"} for name in names}
    fields, row, column = fields_of(cells(names), places)
    assert (row, column) == ("record", "")
    assert len(fields) == 5
    assert set(Counter((field.test, field.row, field.column) for field in fields).values()) == {1}


def test_levels_of_cells_that_differ_in_threads_have_panels_of_their_own() -> None:
    places = {f"t {n}": {"test": "t", "record": "4 KiB", "threads": n} for n in ("1", "2")}
    levels = [LevelRuns(cell=cell, metric="ops_per_s", levels={"x": [1.0], "y": [2.0]}) for cell in places]
    fields = level_fields(levels, places, "x", {})
    assert [field.test for field in fields] == ["t, threads 1", "t, threads 2"]


def test_of_many_tests_those_that_changed_most_are_drawn_and_it_is_said() -> None:
    """Forty tests at two numbers of threads: 30 panels, and the number of those that are not there."""
    names = [f"t{at} {threads}" for at in range(40) for threads in (1, 2)]
    places = {name: {"test": name.split()[0], "record": "", "threads": name.split()[1]} for name in names}
    fields, row, column = fields_of(cells(names), places)
    kept, left = most_changed(fields)
    assert left == "The 30 of 40 tests that changed most"
    assert {field.test for field in kept} == {f"t{at}" for at in range(10, 40)}
    assert most_changed(kept) == (kept, "")
    assert heat_chart([Grid(kept, row, column)]) is not None
    assert len(change_charts(kept, row=row, column=column)) == 30


def test_an_interval_that_knows_nothing_leaves_the_bars_to_be_seen() -> None:
    """A change of 10 % whose interval ends at 10^12 %: the axis ends within five times the bars."""
    found = cells(["t 1", "t 2"])
    found = [msgspec.structs.replace(cell, ratio=1.1, ci95=(0.9, 1e10)) for cell in found]
    places = {cell.cell: {"test": "t", "threads": cell.cell[-1]} for cell in found}
    fields, row, column = fields_of(found, places)
    text = str(change_charts(fields, row=row, column=column))
    assert "1000000000000" not in text
    assert "999999999900" not in text


def areas(part: dict[str, Any]) -> list[list[tuple[Any, ...]]]:
    """The places of the rectangles of each panel, by what they are drawn at."""
    found = [
        [
            tuple(
                row.get(key) for key in ("x", "left", "right", "row", "column", "top", "bottom") if key in row
            )
            for layer in part.get("layer", ())
            if (layer["mark"] if isinstance(layer["mark"], str) else layer["mark"]["type"]) == "rect"
            for row in layer["data"]["values"]
        ]
    ]
    below = [inner for key in ("vconcat", "concat") for inner in part.get(key, ())]
    return [places for places in found if places] + [places for inner in below for places in areas(inner)]


def test_no_two_marks_of_a_chart_share_a_place() -> None:
    """Cells that differ in a property on no axis would be drawn over each other."""
    many = [
        msgspec.structs.replace(cell, cell=f"{cell.cell}, {threads} threads, {content}")
        for cell in comparison().headline
        for threads in (1, 4)
        for content in ("zeros", "random")
    ]
    places = {
        cell.cell: {
            "test": cell.cell.partition(" ")[0],
            "record": cell.cell.partition(" ")[2].partition(",")[0],
            "threads": cell.cell.split(", ")[1].partition(" ")[0],
            "content": cell.cell.rpartition(" ")[2],
        }
        for cell in many
    }
    fields, row, column = fields_of(many, places)
    assert len(fields) == len(many)
    charts = [
        heat_chart([Grid(fields, row, column)]),
        heat_chart([Grid(fields, row, column)], narrow=True),
        {"concat": list(change_charts(fields, row=row, column=column).values())},
        before_after_chart(many, baseline="before", candidate="after"),
    ]
    for chart in charts:
        assert chart is not None
        drawn = areas(chart)
        assert sum(map(len, drawn)) >= len(many)
        assert [panel for panel in drawn if len(set(panel)) < len(panel)] == []


def test_a_change_within_the_margin_looks_small() -> None:
    """-0.003 % on a margin of 2 %: the bar has a thousandth of the axis, the field is nearly as pale as no change."""
    found = [
        msgspec.structs.replace(cell, ratio=1 - 3e-5, ci95=(1 - 4e-5, 1 - 2e-5), relevance=0.02)
        for cell in cells(["t 1", "t 2"])
    ]
    places = {cell.cell: {"test": "t", "threads": cell.cell[-1]} for cell in found}
    fields, row, column = fields_of(found, places)
    (chart,) = change_charts(fields, row=row, column=column).values()
    (bars,) = [layer for layer in chart["layer"] if layer["encoding"].get("x2")]
    low, high = bars["encoding"]["y"]["scale"]["domain"]
    assert abs(bars["data"]["values"][0]["change"]) < 0.001 * (high - low)
    drawn = heat_chart([Grid(fields, row, column)])
    assert drawn is not None
    (shade,) = {row["shade"] for row in drawn["concat"][0]["layer"][0]["data"]["values"]}
    assert min(int(shade[at : at + 2], 16) for at in (1, 3, 5)) > 0xE8


def test_a_property_that_distinguishes_tests_alone_is_not_in_the_name_of_a_panel() -> None:
    places = {
        f"{test} 4 KiB": {"test": test, "record": "4 KiB", "threads": n}
        for test, n in (("a", "1"), ("b", "8"))
    }
    levels = [LevelRuns(cell=cell, metric="ops_per_s", levels={"x": [1.0], "y": [2.0]}) for cell in places]
    assert [field.test for field in level_fields(levels, places, "x", {})] == ["a", "b"]


def test_numbers_and_sizes_are_read_and_addresses_are_none() -> None:
    levels = {"4 KiB": 4096.0, "16": 16.0, "0.5": 0.5, "127.0.0.1": None, "1.2.3": None, "nfs": None}
    assert {level: number_of(level) for level in levels} == levels


@pytest.mark.parametrize("share", [at / 50 for at in range(-50, 51)])
def test_every_field_of_the_map_is_legible(share: float) -> None:
    """By WCAG's formula, written out: 4.5 to 1 or more on every shade from the worst to the best."""

    def luminance(colour: str) -> float:
        linear = []
        for part in re.findall("..", colour[1:]):
            value = int(part, 16) / 255
            linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    ground = _shade(share)
    lighter, darker = sorted((luminance(ground), luminance(ink_on(ground))), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5
