"""Permutation p values against scipy and against plain enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from mileage.judge.exact import rank_sum, sign_flip


def plain_sign_flip(values: list[float]) -> float:
    seen = abs(sum(values)) - 1e-9
    sums = [abs(sum(map(math.prod, zip(values, s, strict=True)))) for s in signs(len(values))]
    return sum(s >= seen for s in sums) / len(sums)


def signs(n: int) -> "itertools.product[tuple[int, ...]]":
    return itertools.product((-1, 1), repeat=n)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9))
def test_sign_flip_counts_every_pattern(values: list[int]) -> None:
    found = sign_flip([float(v) for v in values])
    assert found is not None
    assert found.p == pytest.approx(plain_sign_flip([float(v) for v in values]))
    assert found.floor == 2.0 ** (1 - len(values))
    assert found.p >= found.floor


def test_sign_flip_of_twenty_agrees_with_scipy() -> None:
    values = [float(x) for x in np.random.default_rng(7).normal(0.4, 1, 20)]
    found = sign_flip(values)
    oracle = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        n_resamples=200_000,
        rng=np.random.default_rng(8),
    )
    assert found is not None
    assert found.p == pytest.approx(oracle.pvalue, abs=0.005)


def test_all_of_one_sign_reach_the_floor() -> None:
    found = sign_flip([0.1] * 20)
    assert found is not None
    assert found.p == found.floor == 2 / 2**20


@pytest.mark.parametrize("n", [0, 21])
def test_sign_flip_is_not_available_outside_its_range(n: int) -> None:
    assert sign_flip([0.1] * n) is None


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 5), (5, 5), (10, 10), (20, 20), (3, 17)])
def test_rank_sum_is_scipys_exact_test(n: int, m: int) -> None:
    rng = np.random.default_rng(n * 100 + m)
    a, b = [float(x) for x in rng.normal(0, 1, n)], [float(x) for x in rng.normal(0.7, 1, m)]
    found = rank_sum(a, b)
    assert found is not None
    assert found.p == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)
    assert found.floor == pytest.approx(2 / math.comb(n + m, n))


def test_rank_sum_refuses_ties() -> None:
    assert rank_sum([1.0, 2.0], [2.0, 3.0]) is None


def test_known_floors() -> None:
    floors = {5: 0.00794, 8: 1.55e-4, 10: 1.08e-5}
    for n, floor in floors.items():
        found = rank_sum([float(i) for i in range(n)], [float(i + n) for i in range(n)])
        assert found is not None
        assert found.p == pytest.approx(found.floor) == pytest.approx(floor, rel=0.01)
