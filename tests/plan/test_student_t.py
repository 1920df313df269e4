"""Quantiles of Student's t agree with scipy, and need none of it."""

from __future__ import annotations

import pytest
from scipy.special import stdtrit

from mileage.plan.quantiles import t_quantile


@pytest.mark.parametrize("probability", [0.5, 0.55, 0.8, 0.9, 0.95, 0.975, 0.99, 0.9995])
def test_t_quantile_agrees_with_scipy(probability: float) -> None:
    for freedom in [*range(1, 200), 999, 1000, 20_001, 100_000]:
        assert t_quantile(freedom, probability) == pytest.approx(
            float(stdtrit(freedom, probability)), rel=1e-10, abs=1e-15
        ), f"{freedom} degrees of freedom"


@pytest.mark.parametrize(("freedom", "probability"), [(0, 0.9), (5, 0.4), (5, 1.0)])
def test_t_quantile_rejects_what_it_does_not_compute(freedom: int, probability: float) -> None:
    with pytest.raises(ValueError, match=r"expected 1 or more, and 0.5 to below 1"):
        t_quantile(freedom, probability)
