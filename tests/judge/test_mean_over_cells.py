"""Mean ratios, rankings and trends over many cells."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mileage.judge.mean_over_cells import mean_ratio, ranking, trend


def test_the_interval_of_the_mean_ratio_covers_the_truth() -> None:
    covered = 0
    for index in range(300):
        rng = np.random.default_rng([4, index])
        blocks = rng.normal(0, 0.02, 20)
        table = [0.05 * cell / 6 + blocks + rng.normal(0, 0.01, 20) for cell in range(6)]
        found = mean_ratio(table, seed=index)
        truth = math.exp(0.05 * 2.5 / 6)
        covered += found.ci95[0] <= truth <= found.ci95[1]
    # The percentile bootstrap of 20 blocks covers 92 % of the time (0.921 on normal data).
    assert 0.88 <= covered / 300 <= 0.97


def test_few_blocks_get_an_interval_that_covers_as_promised() -> None:
    covered = 0
    for index in range(1000):
        rng = np.random.default_rng([8, index])
        table = [0.03 + rng.normal(0, 0.02, 5) for _ in range(4)]
        found = mean_ratio(table, seed=1)
        covered += found.ci95[0] <= math.exp(0.03) <= found.ci95[1]
    assert stats.binomtest(covered, 1000, 0.95).pvalue > 0.001, covered
    assert mean_ratio([[800.0, 801.0], [-800.0, 900.0]], seed=1).highest > 1e300, "no overflow"


def test_the_mean_ratio_is_the_geometric_mean_and_its_inverse_the_reciprocal() -> None:
    table = np.log([[1.1, 1.2, 1.3], [0.9, 1.0, 1.1]])
    found, back = mean_ratio(table.tolist(), seed=1), mean_ratio((-table).tolist(), seed=1)
    assert found.ratio == pytest.approx(stats.gmean(np.exp(table), axis=None))
    assert back.ratio == pytest.approx(1 / found.ratio)
    assert back.ci95 == pytest.approx((1 / found.ci95[1], 1 / found.ci95[0]))
    with pytest.raises(ValueError, match=r"\[2, 3\] blocks"):
        mean_ratio([[1.0, 2.0], [1.0, 2.0, 3.0]], seed=1)


def test_arms_without_a_shown_difference_share_their_ranks() -> None:
    rng = np.random.default_rng(6)
    arms = {
        name: (level * np.exp(rng.normal(0, 0.02, 10))).tolist()
        for name, level in (("disk", 140.0), ("nvme", 2000.0), ("sata a", 500.0), ("sata b", 502.0))
    }
    found = {rank.name: (rank.first, rank.last) for rank in ranking(arms)}
    assert found == {"nvme": (1, 1), "sata a": (2, 3), "sata b": (2, 3), "disk": (4, 4)}
    assert [rank.name for rank in ranking(arms)] == [
        rank.name for rank in ranking(dict(reversed(arms.items())))
    ]
    with pytest.raises(ValueError, match="one: a ranking needs two"):
        ranking({"one": [1.0]})


@given(st.lists(st.integers(0, 30), min_size=4, max_size=8))
def test_a_short_trend_counts_every_order(values: list[int]) -> None:
    found = trend([float(value) for value in values])
    oracle = stats.spearmanr(range(len(values)), values) if len(set(values)) > 1 else None
    assert found.rho == pytest.approx(0.0 if oracle is None else float(oracle.statistic), abs=1e-9)
    assert found.exact
    assert 2 / math.factorial(len(values)) <= found.p * (1 + 1e-9)


def test_trends() -> None:
    up = trend([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (up.rho, up.p) == (pytest.approx(1), pytest.approx(2 / 120))
    values = np.random.default_rng(2).normal(size=30)
    oracle = stats.spearmanr(range(30), values)
    long = trend(values.tolist())
    assert (long.rho, long.p) == (pytest.approx(oracle.statistic), pytest.approx(oracle.pvalue, rel=1e-9))
    assert trend([float(i) for i in range(20)]).p == 0
    with pytest.raises(ValueError, match="needs 4 or more"):
        trend([1.0, 2.0, 3.0])
