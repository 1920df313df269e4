"""Adjusted p values against statsmodels, and what every adjustment must keep."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped, unused-ignore]

from mileage.judge.correction import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), max_size=30)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("adjust", "oracle"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_adjustment_is_that_of_statsmodels(adjust: object, oracle: str, seed: int) -> None:
    p_values = [float(p) for p in np.random.default_rng(seed).beta(0.3, 2, size=1 + 10 * seed)]
    p_values += p_values[:3]
    expected = multipletests(p_values, method=oracle)[1]
    assert adjust(p_values) == pytest.approx(list(expected))  # type: ignore[operator]


def test_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_no_and_one_value(adjust: object) -> None:
    assert adjust([]) == []  # type: ignore[operator]
    assert adjust([0.2]) == [0.2]  # type: ignore[operator]


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_only_probabilities(bad: float) -> None:
    with pytest.raises(ValueError, match="not a probability"):
        holm([0.5, bad])
    with pytest.raises(ValueError, match="not a probability"):
        benjamini_hochberg([0.5, bad])


@given(P_VALUES)
def test_adjusted_is_monotone_and_never_below_raw(p_values: list[float]) -> None:
    for adjusted in (holm(p_values), benjamini_hochberg(p_values)):
        assert all(raw <= new <= 1 for raw, new in zip(p_values, adjusted, strict=True))
        ascending = [adjusted[i] for i in sorted(range(len(p_values)), key=lambda i: p_values[i])]
        assert ascending == sorted(ascending)


@given(P_VALUES)
def test_holm_is_the_stricter(p_values: list[float]) -> None:
    pairs = zip(holm(p_values), benjamini_hochberg(p_values), strict=True)
    assert all(strict >= loose * (1 - 1e-12) for strict, loose in pairs)


@given(P_VALUES)
def test_order_of_the_family_is_irrelevant(p_values: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg):
        assert adjust(p_values[::-1]) == adjust(p_values)[::-1]
