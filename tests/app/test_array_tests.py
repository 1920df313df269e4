"""The array test of 2009: every published figure from the rates of arrays, and the page that has them."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from mileage.app.replications import array_figures, simulated_figures
from mileage.errors import Refused
from mileage.plan import builtin_text, parse_study
from mileage.report.replications import CHARTS, charts_svg, figure_rows
from tests.house.repository import ROOT

STUDY = parse_study(builtin_text("anandtech-2009"), "anandtech-2009")
ARRAYS = [str(name) for name in STUDY.factor["array"].levels]
PAGE = ROOT / "docs" / "reference" / "array-tests.md"
RUNS = {name: [100.0 * at, 100.0 * at + 1, 100.0 * at + 2] for at, name in enumerate(ARRAYS, start=1)}


def mean(name: str) -> float:
    return sum(RUNS[name]) / 3


def test_each_figure_follows_from_the_rates() -> None:
    found = {one.figure.figure: one for one in simulated_figures(RUNS)}
    assert found["one X25-E"].simulated == mean("x25e_1")
    assert found["one X25-E over its data sheet, 250 MB/s"].simulated == mean("x25e_1") / 250
    assert found["two SAS disks over one X25-E"].simulated == mean("sas_2") / mean("x25e_1")
    assert found["4 + 4 X25-E on two controllers"].ratio == mean("x25e_4_4") / 1200


def test_arrays_that_do_not_differ_share_their_ranks() -> None:
    rank = next(one for one in simulated_figures(RUNS) if one.figure.unit == "rank")
    assert (rank.simulated, rank.last, rank.ratio) == (1, 1, None)
    tied = {**RUNS, "sas_8_8": [value + 0.1 for value in RUNS["sata_8_8"]]}
    rank = next(one for one in simulated_figures(tied) if one.figure.unit == "rank")
    assert (rank.simulated, rank.last) == (1, 2)


def test_an_array_that_was_not_measured_is_named() -> None:
    without = {name: runs for name, runs in RUNS.items() if name != "sata_4"}
    with pytest.raises(Refused, match="sata_4: has no run of sequential reads"):
        simulated_figures(without)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_the_rate_of_every_array_that_it_compares(name: str) -> None:
    svg = charts_svg({array: mean(array) for array in ARRAYS})[name]
    words = " ".join(ET.fromstring(svg).itertext())
    shown = ARRAYS if name == "members" else ["x25e_8", "x25e_4_4", "sas_8", "sas_8_8", "sata_8", "sata_8_8"]
    for array in shown:
        assert (f"{mean(array):,.0f}" in words) == (name == "controllers" or array != "x25e_4_4")


def test_the_page_has_every_figure_with_its_use() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for row in figure_rows(simulated_figures(RUNS))[1:]:
        line = next(line for line in lines if line.startswith(f"| {row[0]} | {row[1]} |"))
        assert line.endswith(f"| {row[4]} |")
    assert sum(figure.is_fitted for figure in array_figures()) == 3
