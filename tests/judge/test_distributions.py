"""The distributions of the core agree with SciPy's, tails included, and with closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from mileage import _core

FREEDOMS = [*range(1, 60), 1.3, 2.5, 4.7, 12.3, 99, 250, 999.5, 5000, 100_000]
RELATIVE = 1e-10


def same(found: float, expected: float, what: object) -> None:
    assert found == pytest.approx(expected, rel=RELATIVE, abs=1e-300), what


@pytest.mark.parametrize("t", [0.0, 1e-6, 1e-3, 0.1, 0.7, 1.0, 2.0, 3.3, 5.0, 12.0, 40.0, 1e4])
def test_p_values_of_t(t: float) -> None:
    for freedom in FREEDOMS:
        same(_core.t_two_sided(freedom, -t), 2 * special.stdtr(freedom, -t), (freedom, t))


@pytest.mark.parametrize(
    "probability", [1e-9, 1e-4, 0.003, 0.025, 0.2, 0.4999, 0.5, 0.55, 0.8, 0.9, 0.975, 0.9995, 1 - 1e-7]
)
def test_quantiles_of_t(probability: float) -> None:
    for freedom in FREEDOMS:
        found = _core.t_quantile(freedom, probability)
        # SciPy's own quantile is less exact far out: its probability of the value is compared.
        chance = float(special.stdtr(freedom, -abs(found)))
        assert chance == pytest.approx(min(probability, 1 - probability), rel=1e-9), (freedom, probability)
        assert (found > 0, found < 0) == (probability > 0.5, probability < 0.5)


def test_t_of_one_and_two_degrees_has_closed_forms() -> None:
    for probability in (0.51, 0.6, 0.9, 0.99, 0.99999):
        same(_core.t_quantile(1, probability), math.tan(math.pi * (probability - 0.5)), probability)
        share = 2 * probability - 1
        same(_core.t_quantile(2, probability), share * math.sqrt(2 / (1 - share * share)), probability)


def test_t_of_many_degrees_is_normal_and_what_has_no_value_is_nan() -> None:
    same(_core.t_quantile(math.inf, 0.975), float(special.ndtri(0.975)), "normal")
    same(_core.t_two_sided(math.inf, 2.0), 2 * float(special.ndtr(-2.0)), "normal")
    assert _core.t_two_sided(3, math.inf) == 0
    assert all(math.isnan(_core.t_quantile(*pair)) for pair in ((0, 0.9), (3, 1.5), (3, math.nan), (-1, 0.5)))


@pytest.mark.parametrize("probability", [1e-6, 1e-3, 1 / 64, 0.05, 0.3, 0.9])
def test_binomial_tails(probability: float) -> None:
    pairs = [
        (count, total) for total in (1, 2, 5, 30, 414, 5000) for count in (1, 2, 3, total) if count <= total
    ]
    found = _core.binomial_tails([one for one, _ in pairs], [other for _, other in pairs], probability)
    for value, (count, total) in zip(found, pairs, strict=True):
        same(value, float(special.bdtrc(count - 1, total, probability)), (count, total))
    assert _core.binomial_tails([3], [2], probability) == [0]


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 19, 120, 1000])
def test_chi_square(freedom: int) -> None:
    for value in np.geomspace(1e-6, 4, 40) * freedom:
        same(_core.chi_square_below(freedom, value), float(special.chdtr(freedom, value)), value)
    assert _core.chi_square_below(freedom, 0) == 0


@pytest.mark.parametrize("freedom", [2, 3, 5, 11, 40, 99])
def test_noncentral_t(freedom: int) -> None:
    for value in (-1.0, 0.0, 0.5, 1.7, 4.3, 30.0):
        for shift in (-0.5, 0.0, 0.3, 1.0, 2.5, 8.0, 35.0):
            expected = 1 - float(special.nctdtr(freedom, shift, value))
            if not math.isnan(expected):
                assert _core.noncentral_t_above(freedom, shift, value) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("probability", [1e-4, 0.025, 0.05, 0.5, 0.95, 0.975, 1 - 1e-4])
def test_bounds_of_a_share(probability: float) -> None:
    for total in (1, 2, 10, 300, 10_000):
        for count in {0, total // 2, total - 1}:
            found = _core.beta_quantile(count + 1, total - count, probability)
            same(found, float(special.betaincinv(count + 1, total - count, probability)), (count, total))
