"""A printed table of differences judged again: the counts that can be worked out from it, and what it contradicts."""

import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from mileage.errors import Refused
from mileage.formats.published_table import read_differences
from mileage.judge import Comparison
from mileage.judge.published_means import PrintedDifference, compare_differences
from mileage.judge.ratio import Estimate
from mileage.judge.rules import PrintedFigures
from mileage.judge.verdict import decide
from tests.house.repository import ROOT

TABLES = ROOT / "examples" / "published"


def cell(name: str, difference: float, sd: float) -> PrintedDifference:
    return PrintedDifference(name, "throughput", PrintedFigures(difference, sd))


def figures_of(found: Comparison, code: str) -> list[dict[str, float | int | str]]:
    return [caveat.figures for caveat in found.caveats if caveat.code == code]


@pytest.fixture(scope="module")
def sandforce() -> tuple[PrintedDifference, ...]:
    return read_differences(TABLES / "sandforce_kernel_diff.csv")[1]


def test_the_counts_of_the_kernel_table(sandforce: tuple[PrintedDifference, ...]) -> None:
    found = compare_differences(sandforce, runs=10)
    assert figures_of(found, "error-bars") == [{"different": 235, "nothing": 176, "ties": 3}]
    assert figures_of(found, "equal-spread") == [
        {
            "cells": 414,
            "df": 18,
            "uncorrected": 247,
            "different": 232,
            "holm": 136,
            "within": 268,
            "df_alone": 9,
            "different_alone": 213,
            "within_alone": 265,
        }
    ]
    assert (found.headline, found.is_printed, found.vetoes) == ((), True, ())
    other = [one for one in found.cells if any(c.code == "printed-spread-only" for c in one.caveats)]
    assert len(other) == 22


def test_every_p_and_interval_is_what_scipy_and_statsmodels_say(
    sandforce: tuple[PrintedDifference, ...],
) -> None:
    found = compare_differences(sandforce, runs=10)
    p_raw = []
    for printed, judged in zip(sandforce, found.cells, strict=True):
        difference, sd = printed.printed.difference_percent, printed.printed.sd_percent
        oracle = stats.ttest_ind_from_stats(100 + difference, sd, 10, 100, sd, 10)
        assert judged.p_raw == pytest.approx(oracle.pvalue, rel=1e-9)
        p_raw.append(oracle.pvalue)
        for confidence, ends in ((0.90, judged.ci90), (0.95, judged.ci95)):
            assert ends is not None
            expected = stats.t.interval(confidence, 18, difference, sd * math.sqrt(2 / 10))
            assert [100 * (end - 1) for end in ends] == pytest.approx(expected, abs=1e-9)
    oracle = multipletests(p_raw, method="fdr_bh")[1]
    assert [judged.p_adjusted for judged in found.cells] == pytest.approx(oracle, rel=1e-9)


def test_the_highlights_that_the_appendix_contradicts(sandforce: tuple[PrintedDifference, ...]) -> None:
    second = read_differences(TABLES / "sandforce_highlights.csv")[1]
    found = compare_differences(sandforce, runs=10, against=second)
    caveats = [caveat for caveat in found.caveats if caveat.code == "printed-twice"]
    assert {caveat.tests[0]: caveat.figures["elsewhere"] for caveat in caveats} == {
        "fwrite 1MB 2": "",
        "frewrite 1MB 98": "frewrite 8MB 98",
        "reread 4MB 50": "",
        "random_read 1MB 2": "random_read 16MB 2",
    }
    assert (caveats[0].figures["here_sd_percent"], caveats[0].figures["there_sd_percent"]) == (0.48, 0.41)
    with pytest.raises(ValueError, match="of the second table is not in the first"):
        compare_differences([cell("a", 1, 1)], runs=10, against=[cell("b", 1, 1)])


def test_the_order_of_the_rows_changes_nothing(sandforce: tuple[PrintedDifference, ...]) -> None:
    shuffled = list(sandforce)
    random.Random(7).shuffle(shuffled)
    here, there = (compare_differences(cells, runs=10) for cells in (sandforce, shuffled))
    assert {one.cell: one for one in here.cells} == {one.cell: one for one in there.cells}
    assert here.caveats == there.caveats


@given(st.floats(0.01, 20), st.sampled_from((1, -1)), st.floats(0.01, 3), st.floats(0.5, 10))
def test_exchanged_ends_are_judged_the_same(size: float, sign: int, spread: float, margin: float) -> None:
    """A margin of 5 % is from 1/1.05 to 1.05: its two ends are exchanged with the arms."""
    change, half = sign * size / 100, spread / 100
    ends = Estimate(math.log1p(change), half / stats.t.ppf(0.95, 18), 18, is_share=True).interval(0.9)
    assert [math.expm1(end) for end in ends] == pytest.approx([change - half, change + half], abs=1e-9)
    if min(abs(abs(end) - math.log1p(margin / 100)) for end in ends) > 1e-9:
        for p in (0.01, 0.5):
            forth, back = (
                decide(log_ratio, both, p, relevance=margin / 100, alpha=0.05, higher_is_better=True)
                for log_ratio, both in (
                    (math.log1p(change), ends),
                    (-math.log1p(change), (-ends[1], -ends[0])),
                )
            )
            assert back == {"faster": "slower", "slower": "faster"}.get(forth, forth)


@pytest.mark.parametrize(
    ("difference", "spread", "word"),
    [(2, 1, "different"), (-1, 2, "nothing can be said"), (-1.5, 1.5, "tie")],
)
def test_the_error_bar_rule(difference: float, spread: float, word: str) -> None:
    assert PrintedFigures(difference, spread).error_bar == word


@pytest.mark.parametrize(
    ("cells", "output"),
    [
        ([], "no row"),
        ([cell("a", math.nan, 1)], "cell a: found nan"),
        ([cell("a", -100, 1)], "a difference above -100 %"),
        ([cell("a", 1, -1)], "deviation of 0 or more"),
        ([cell("a b", 1, 1)] * 2, "cell a b appears twice"),
    ],
)
def test_what_cannot_be_judged_is_refused(cells: list[PrintedDifference], output: str) -> None:
    with pytest.raises(ValueError, match=output):
        compare_differences(cells, runs=10)
    with pytest.raises(ValueError, match="1 runs per cell"):
        compare_differences([cell("a", 1, 1)], runs=1)


def test_a_spread_that_reaches_below_nothing_has_an_end_just_above_it() -> None:
    (found,) = compare_differences([cell("a", -50, 80)], runs=2).cells
    assert found.ci95 is not None
    assert 0 < found.ci95[0] < 1e-300
    assert found.verdict == "undecided"


def test_no_spread_at_all_is_certainty_not_an_error() -> None:
    found = compare_differences([cell("a", -3, 0), cell("b", 0, 0)], runs=5)
    assert [one.verdict for one in found.cells] == ["slower", "same"]


def test_a_table_read_from_a_file_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for text, output in (
        ("", "an empty file"),
        ("test,diff_percent\n", "line 1: no column std_percent"),
        ("diff_percent,std_percent\n", "no column before diff_percent"),
        ("test,diff_percent,std_percent\na,1\n", "line 2: 2 fields; expected 3"),
        ("test,diff_percent,std_percent\na,1,x\n", "line 2: std_percent is 'x'"),
    ):
        path.write_text(text)
        with pytest.raises(Refused, match=output):
            read_differences(path)


def test_a_table_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"\xef\xbb\xbfcell,size,diff_percent,std_percent\na,4KB,1,2\n")
    places = {"test": "a", "size": "4KB"}
    expected = PrintedDifference("a 4KB", "throughput", PrintedFigures(1, 2), places)
    assert read_differences(path) == (("cell", "size"), (expected,))
