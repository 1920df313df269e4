"""What repetitions say of themselves: copies, dependence, two regimes and an outlier, on made-up values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mileage.judge import Comparison, Sample, compare_arms
from mileage.judge.repetitions import (
    are_copies,
    are_scaled_copies,
    dependence,
    inflation,
    outlier,
    resolution_of,
    two_regimes,
    widened,
)

RNG = np.random.default_rng(2010)
HONEST = [float(x) for x in np.round(500 * (1 + 0.01 * RNG.standard_normal(12)), 3) * 1e6]


def sides(low: list[float], high: list[float], *, simulated: bool = False) -> Comparison:
    def arm(values: list[float]) -> list[Sample]:
        return [
            Sample(at, 1, "torture", "s", at + 1, "throughput", "t", "rate_bytes_per_s", value, True, 1)
            for at, value in enumerate(values)
        ]

    return compare_arms(
        arm(low), arm(high), relevance={}, paired=False, labels=("a", "b"), simulated=simulated
    )


def codes(found: Comparison) -> set[str]:
    return {caveat.code for caveat in found.caveats}


@pytest.mark.parametrize(
    ("values", "step"),
    [([488.514e6, 489.749e6, 486.734e6], 1e3), ([100.0, 101.0, 99.0], 1.0), ([2048.0, 4096.0 * 3], 2048.0)],
)
def test_the_printed_step_is_the_common_divisor(values: list[float], step: float) -> None:
    assert resolution_of(values) == pytest.approx(step)


def test_values_repeated_are_copies_and_leave_no_interval() -> None:
    copied = HONEST[:3] * 4
    assert are_copies(copied)
    found = sides(copied, HONEST)
    assert found.cells[0].ci95 is None
    assert found.cells[0].verdict == "undecided"
    (caveat,) = [caveat for caveat in found.caveats if caveat.code == "copied-runs"]
    assert (caveat.sides, caveat.tests) == (("baseline",), ("t",))


def test_copies_with_a_little_noise_or_a_factor_are_copies() -> None:
    noisy = [value * (1 + 1e-5 * float(RNG.standard_normal())) for value in HONEST[:3] * 4]
    scaled = [*HONEST[:6], *(1.2 * value for value in HONEST[:6])]
    assert are_copies(noisy)
    assert are_copies(scaled)
    assert not are_copies(HONEST)


def test_coarse_values_that_agree_are_no_copies() -> None:
    assert not are_copies([500e6, 501e6, 500e6, 499e6, 501e6, 500e6, 499e6, 502e6])


def test_a_trend_is_no_copy_of_itself() -> None:
    assert not are_copies([1000.0 * at for at in range(10, 0, -1)])


def test_one_file_under_two_names_is_one_measurement() -> None:
    assert are_scaled_copies(HONEST[:5], HONEST[:5])
    assert "copied-runs" in codes(sides(HONEST[:5], HONEST[:5]))
    # Half as fast in each run is suspicious, but takes nothing from the interval.
    assert sides(HONEST[:5], [value / 2 for value in HONEST[:5]]).cells[0].verdict == "slower"


def test_equal_runs_of_a_simulation_are_what_it_is() -> None:
    assert codes(sides(HONEST[:3] * 4, HONEST, simulated=True)) == set()


def test_dependent_runs_widen_the_interval_to_what_they_are_worth() -> None:
    series = [[0.0], [0.0]]
    rng = np.random.default_rng(7)
    for side in series:
        for _ in range(29):
            side.append(0.8 * side[-1] + 0.01 * float(rng.standard_normal()))
    found = dependence(*series)
    assert found is not None
    assert 0.5 < found.phi < 0.97
    assert found.effective_baseline == pytest.approx(30 / inflation(found.phi, 30))
    plain = sides(*([1e8 * math.exp(x) for x in side] for side in series))
    assert {"dependent-runs"} <= codes(plain)
    wide = widened(*series, found)
    assert plain.cells[0].ci95 == pytest.approx(tuple(map(math.exp, wide.interval(0.95))))
    assert dependence(series[0][:14], series[1][:14]) is None, "fewer than fifteen cannot be tested"


def test_the_inflation_is_the_variance_of_the_mean_of_an_autoregression() -> None:
    """Oracle: the sum of the covariance matrix of the runs."""
    for phi, count in ((0.0, 5), (0.7, 20), (0.9, 15)):
        at = np.arange(count)
        covariance = phi ** np.abs(at[:, None] - at[None, :])
        assert inflation(phi, count) == pytest.approx(float(covariance.sum()) / count)


def test_two_levels_are_named_with_their_runs() -> None:
    values = [350e6, 500.2e6, 351e6, 499.5e6, 350.5e6, 500.9e6, 349.1e6, 501.3e6]
    found = two_regimes(values)
    assert found is not None
    assert (found.low_runs, found.high_runs) == (4, 4)
    assert (found.low, found.high) == (pytest.approx(350.15e6), pytest.approx(500.475e6))
    assert "two-regimes" in codes(sides(values, HONEST))
    assert two_regimes(HONEST) is None
    assert two_regimes(values[:5]) is None, "three of each are needed"


def test_an_outlier_is_named_with_the_answer_without_it() -> None:
    values = [*HONEST[:4], 10 * HONEST[4]]
    assert outlier(values) == 4
    found = sides(HONEST[5:10], values)
    (caveat,) = [caveat for caveat in found.caveats if caveat.code == "one-outlier"]
    assert caveat.sides == ("candidate",)
    assert caveat.figures["run"] == 5
    kept = sides(HONEST[5:10], values[:4]).cells[0]
    assert caveat.figures["ratio_without"] == pytest.approx(kept.ratio)
    assert found.cells[0].verdict == "undecided"


def test_a_failed_repetition_is_a_result() -> None:
    found = sides(HONEST[:5], [*HONEST[5:9], 0.0])
    assert found.cells[0].ratio is None
    (caveat,) = found.cells[0].caveats
    assert (caveat.code, caveat.figures["completed"], caveat.figures["runs"]) == ("no-logarithm", 9, 10)
