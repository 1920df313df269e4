"""Estimates against scipy.stats, by hand, and at their edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from mileage.judge.ratio import Estimate, contrast, exp, moments, one_sample, pooled, welch

LOGS = st.lists(st.floats(-20, 20), min_size=2, max_size=12)


def draw(seed: int, n: int, centre: float, spread: float) -> list[float]:
    return [float(x) for x in np.random.default_rng(seed).normal(centre, spread, n)]


@pytest.mark.parametrize("n", [2, 3, 10, 30])
def test_paired_estimate_is_scipys(n: int) -> None:
    a, b = draw(1, n, 5.0, 0.1), draw(2, n, 5.1, 0.1)
    estimate = one_sample([y - x for x, y in zip(a, b, strict=True)])
    oracle = stats.ttest_rel(b, a)
    assert estimate.p_value() == pytest.approx(oracle.pvalue, rel=1e-9)
    for confidence in (0.90, 0.95):
        assert estimate.interval(confidence) == pytest.approx(tuple(oracle.confidence_interval(confidence)))


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 9), (10, 10), (30, 4)])
def test_welch_is_scipys(n: int, m: int) -> None:
    a, b = draw(3, n, 5.0, 0.1), draw(4, m, 5.1, 0.4)
    estimate = welch(a, b)
    oracle = stats.ttest_ind(b, a, equal_var=False)
    assert estimate.df == pytest.approx(oracle.df)
    assert estimate.p_value() == pytest.approx(oracle.pvalue, rel=1e-9)
    assert estimate.interval(0.95) == pytest.approx(tuple(oracle.confidence_interval(0.95)))


def test_pooled_is_scipys_equal_variance_test() -> None:
    a, b = draw(5, 4, 5.0, 0.1), draw(6, 7, 5.1, 0.1)
    oracle = stats.ttest_ind(b, a, equal_var=True)
    assert pooled(a, b).p_value() == pytest.approx(oracle.pvalue, rel=1e-9)
    assert pooled(a, b).df == 9


def test_pooled_lends_its_spread_to_a_single_value() -> None:
    estimate = pooled([0.0], [1.0, 2.0, 3.0])
    assert estimate.df == 2
    assert estimate.se == pytest.approx(math.sqrt(1 + 1 / 3))
    with pytest.raises(ValueError, match="at least two"):
        pooled([0.0], [1.0])


def test_contrast_of_four_groups_by_hand() -> None:
    groups = [[0.0, 2.0], [1.0, 3.0], [0.0, 4.0], [5.0, 7.0, 9.0]]
    estimate = contrast(groups[:2], groups[2:])
    shares = [1.0, 1.0, 4.0, 4 / 3]
    assert estimate.log_ratio == pytest.approx(1 + 2 - 2 - 7)
    assert estimate.se == pytest.approx(math.sqrt(sum(shares)))
    expected = sum(shares) ** 2 / (1 + 1 + 16 + (4 / 3) ** 2 / 2)
    assert estimate.df == pytest.approx(expected)


def test_no_spread_gives_a_point_and_a_certain_answer() -> None:
    different, equal = one_sample([0.5, 0.5, 0.5]), welch([3.0, 3.0], [3.0, 3.0, 3.0])
    assert different.interval(0.95) == (0.5, 0.5)
    assert different.p_value() == 0
    assert equal.interval(0.95) == (0.0, 0.0)
    assert equal.p_value() == 1
    assert equal.detectable() == 0


def test_rounding_of_logarithms_is_not_a_difference() -> None:
    logs = [math.log(0.1) + math.log(3), math.log(0.3), math.log(0.6) - math.log(2)]
    assert len(set(logs)) > 1
    estimate = welch(logs, logs[::-1] + logs[:1])
    assert (estimate.log_ratio, estimate.se, estimate.p_value()) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("n", [5, 10, 30])
def test_detectable_effect_is_that_of_two_equal_groups(n: int) -> None:
    group = [0.02 * float(stats.zscore(np.arange(n), ddof=1)[i]) for i in range(n)]
    df = 2 * n - 2
    expected = (stats.t.ppf(0.975, df) + stats.t.ppf(0.8, df)) * 0.02 * math.sqrt(2 / n)
    assert math.log1p(welch(group, group).detectable()) == pytest.approx(expected)


def test_one_value_is_refused() -> None:
    for attempt in (lambda: one_sample([1.0]), lambda: welch([1.0], [1.0, 2.0]), lambda: moments([])):
        with pytest.raises(ValueError, match=r"at least two|empty"):
            attempt()


@pytest.mark.parametrize("log_value", [-1e9, -800.0, 800.0, 1e9])
def test_exponential_stays_finite_and_above_zero(log_value: float) -> None:
    assert 0 < exp(log_value) < math.inf


@given(LOGS, LOGS)
def test_swapping_the_arms_negates_the_estimate(a: list[float], b: list[float]) -> None:
    one, other = welch(a, b), welch(b, a)
    assert one.log_ratio == pytest.approx(-other.log_ratio)
    assert one.p_value() == pytest.approx(other.p_value())


@given(LOGS)
def test_order_changes_not_a_single_bit(logs: list[float]) -> None:
    shuffled = sorted(logs)
    assert one_sample(shuffled) == one_sample(logs)
    assert one_sample(shuffled[::-1]) == one_sample(logs)


@given(LOGS)
def test_ninety_percent_interval_lies_in_the_ninety_five(logs: list[float]) -> None:
    estimate = one_sample(logs)
    low, high = estimate.interval(0.95)
    inner_low, inner_high = estimate.interval(0.90)
    assert low <= inner_low <= estimate.log_ratio <= inner_high <= high
    assert 0 <= estimate.p_value() <= 1


@given(st.floats(-5, 5), st.floats(1e-6, 5), st.floats(1, 100))
def test_p_and_interval_agree(log_ratio: float, se: float, df: float) -> None:
    estimate = Estimate(log_ratio, se, df)
    low, high = estimate.interval(0.95)
    if abs(estimate.p_value() - 0.05) > 1e-9:
        assert (estimate.p_value() < 0.05) == (low > 0 or high < 0)
