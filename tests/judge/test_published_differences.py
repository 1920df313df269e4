"""A printed table judged again: the counts that can be worked out from it, and what it contradicts."""

import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from mileage.formats.published_table import read_published
from mileage.judge.published_differences import (
    PublishedCell,
    _verdict,
    loss_margin_percent,
    own_rule,
    reanalyse,
)
from tests.house.repository import ROOT

TABLES = ROOT / "examples" / "published"


@pytest.fixture(scope="module")
def sandforce() -> tuple[PublishedCell, ...]:
    return read_published(TABLES / "sandforce_kernel_diff.csv")[1]


def test_the_counts_of_the_kernel_table(sandforce: tuple[PublishedCell, ...]) -> None:
    found = reanalyse(sandforce, columns=("metric", "record_size", "compressibility"), runs=10)
    both, alone = found.assumptions
    assert [found.own_rule.count(rule) for rule in ("different", "nothing can be said", "tie")] == [
        235,
        176,
        3,
    ]
    assert (both.df, both.below("raw", 0.05), both.below("bh", 0.05), both.below("holm", 0.05)) == (
        18,
        247,
        232,
        136,
    )
    assert (alone.df, alone.below("bh", 0.05), alone.below("holm", 0.05)) == (9, 213, 104)
    assert (both.equivalent, alone.equivalent) == (268, 265)
    assert len({highlight.test for highlight in found.highlights}) == 17


def test_every_p_and_interval_is_what_scipy_and_statsmodels_say(sandforce: tuple[PublishedCell, ...]) -> None:
    found = reanalyse(sandforce, columns=("metric",), runs=10)
    both, alone = found.assumptions
    p_raw = []
    for cell, verdict, other in zip(sandforce, both.cells, alone.cells, strict=True):
        se = cell.sd_percent * math.sqrt(2 / 10)
        oracle = stats.ttest_ind_from_stats(
            100 + cell.difference_percent, cell.sd_percent, 10, 100, cell.sd_percent, 10
        )
        assert verdict.p_raw == pytest.approx(oracle.pvalue, rel=1e-9)
        p_raw.append(oracle.pvalue)
        assert verdict.ci90_percent == pytest.approx(
            stats.t.interval(0.90, 18, cell.difference_percent, se), abs=1e-9
        )
        assert other.ci95_percent == pytest.approx(
            stats.t.interval(0.95, 9, cell.difference_percent, se), abs=1e-9
        )
    for name, method in (("p_bh", "fdr_bh"), ("p_holm", "holm")):
        oracle = multipletests(p_raw, method=method)[1]
        assert [getattr(cell, name) for cell in both.cells] == pytest.approx(oracle, rel=1e-9)


def test_the_highlights_that_the_appendix_contradicts(sandforce: tuple[PublishedCell, ...]) -> None:
    second = read_published(TABLES / "sandforce_highlights.csv")[1]
    found = reanalyse(sandforce, columns=("metric",), runs=10, against=second).disagreements
    assert {entry.cell.keys: tuple(cell.keys[1:] for cell in entry.elsewhere) for entry in found} == {
        ("fwrite", "1MB", "2"): (),
        ("frewrite", "1MB", "98"): (("8MB", "98"),),
        ("reread", "4MB", "50"): (),
        ("random_read", "1MB", "2"): (("16MB", "2"),),
    }


def test_the_order_of_the_rows_changes_nothing(sandforce: tuple[PublishedCell, ...]) -> None:
    shuffled = list(sandforce)
    random.Random(7).shuffle(shuffled)
    here, there = (reanalyse(cells, columns=("metric",), runs=10) for cells in (sandforce, shuffled))
    by_keys = [
        dict(zip((cell.keys for cell in found.cells), found.assumptions[0].cells, strict=True))
        for found in (here, there)
    ]
    assert by_keys[0] == by_keys[1]


@given(st.floats(0.01, 20), st.sampled_from((1, -1)), st.floats(0.01, 3), st.floats(0.5, 10))
def test_exchanged_arms_are_judged_the_same(size: float, sign: int, spread: float, margin: float) -> None:
    """A margin of 5 % is from 1/1.05 to 1.05: its two ends are exchanged with the arms."""
    assert loss_margin_percent(5) == pytest.approx(100 * (1 - 1 / 1.05))

    def exchanged(percent: float) -> float:
        return 100 * (1 / (1 + percent / 100) - 1)

    difference = sign * size
    ends = (difference - spread, difference + spread)
    back = (exchanged(ends[1]), exchanged(ends[0]))
    if min(abs(abs(math.log1p(end / 100)) - math.log1p(margin / 100)) for end in ends) > 1e-9:
        for p in (0.01, 0.5):
            forth = _verdict(difference, ends, p, margin, 0.05)
            other = {"faster": "slower", "slower": "faster"}.get(forth, forth)
            assert _verdict(exchanged(difference), back, p, margin, 0.05) == other


@pytest.mark.parametrize(
    ("difference", "spread", "word"),
    [(2, 1, "different"), (-1, 2, "nothing can be said"), (-1.5, 1.5, "tie")],
)
def test_the_error_bar_rule(difference: float, spread: float, word: str) -> None:
    assert own_rule(PublishedCell(("a",), difference, spread)) == word


@pytest.mark.parametrize(
    ("cells", "output"),
    [
        ([], "no cell"),
        ([PublishedCell(("a",), math.nan, 1)], "cell a: found nan"),
        ([PublishedCell(("a",), 1, -1)], "deviation of 0 or more"),
        ([PublishedCell(("a", "b"), 1, 1)] * 2, "cell a, b appears twice"),
    ],
)
def test_what_cannot_be_judged_is_refused(cells: list[PublishedCell], output: str) -> None:
    with pytest.raises(ValueError, match=output):
        reanalyse(cells, columns=("metric",), runs=10)


def test_no_spread_at_all_is_certainty_not_an_error() -> None:
    found = reanalyse(
        [PublishedCell(("a",), -3, 0), PublishedCell(("b",), 0, 0)], columns=("metric",), runs=5
    )
    assert [cell.verdict for cell in found.assumptions[0].cells] == ["slower", "same"]


def test_a_table_read_from_a_file_is_refused_by_line(tmp_path: Path) -> None:
    from mileage.errors import Refused

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
            read_published(path)


def test_a_table_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"\xef\xbb\xbfcell,diff_percent,std_percent\na,1,2\n")
    assert read_published(path) == (("cell",), (PublishedCell(("a",), 1, 2),))
