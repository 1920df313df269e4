"""The course of a run: each change is found and called what it is, and noise is not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mileage.judge.rate_over_time import INTERVALS_MIN, course, levels_within, repetition_trend

N = 120
T = np.arange(N)
SHAPES = {
    "steady": np.ones(N),
    "fall": np.where(T < 60, 1.0, 0.1),
    "rise": np.where(T < 80, 0.5, 1.0),
    "several levels": np.select([T < 40, T < 80], [1.0, 0.4], 0.7),
    "drift": 1 - 0.5 * T / N,
    "alternating": np.where(T % 2, 1.0, 0.1),
}


def noise(seed: int, phi: float, n: int, deviation: float = 0.03) -> NDArray[np.float64]:
    """Noise that remembers (first-order autoregression)."""
    draw = np.random.default_rng(seed)
    found = draw.normal(size=n) * deviation
    for at in range(1, n):
        found[at] = phi * found[at - 1] + (1 - phi**2) ** 0.5 * found[at]
    return found


@pytest.mark.parametrize("kind", list(SHAPES))
@pytest.mark.parametrize("deviation", [0.0, 0.01])
def test_each_change_has_its_name(kind: str, deviation: float) -> None:
    assert course(list(SHAPES[kind] + noise(1, 0.2, N, deviation))).kind == kind


@pytest.mark.parametrize("intervals", [2, 5, 11, 12, 30])
def test_a_start_is_found_with_its_length(intervals: int) -> None:
    slow = np.where(intervals > T, 0.2, 1.0) + noise(2, 0.2, N, 0.02)
    found = course(list(slow))
    assert found.kind == "slow start"
    assert found.intervals == pytest.approx(intervals, abs=1)
    assert found.change == pytest.approx(-0.8, abs=0.1)
    assert course(list(2 - slow)).kind == ("fast start" if intervals < 11 else "fall")


@pytest.mark.parametrize("period", [2, 4, 6, 10, 16])
def test_an_alternation_is_found_with_its_period(period: int) -> None:
    wave = np.where(T % period < period / 2, 1.0, 0.6) + noise(3, 0.0, N, 0.02)
    found = course(list(wave))
    assert (found.kind, found.intervals) == ("alternating", period)
    assert found.change == pytest.approx(0.25, abs=0.02)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("n", [INTERVALS_MIN, 120, 500])
def test_noise_is_no_change_of_level(phi: float, n: int) -> None:
    # Of 200 series with one level at most 3 may be called changed: 1 % with its 95 % bound is 5.
    changed = [
        found.kind for seed in range(200) if (found := course(list(1 + noise(seed, phi, n)))).changes_level
    ]
    assert len(changed) <= 5, changed


def test_what_is_too_short_or_nothing_is_not_judged() -> None:
    assert course([1.0] * (INTERVALS_MIN - 1)).kind == "too short"
    assert course([0.0] * 100).kind == "too short"
    assert not course([]).changes_level
    with pytest.raises(ValueError, match="finite and at least 0"):
        course([1.0, -1.0] * 50)


def test_a_trend_over_repetitions_is_reported() -> None:
    falling = [1000.0 * at for at in range(10, 0, -1)]
    found = repetition_trend(falling)
    assert found is not None
    # The line through the logarithms by numpy's own fit.
    assert found.change == pytest.approx(np.expm1(9 * np.polyfit(range(10), np.log(falling), 1)[0]))
    assert (found.n, found.rho) == (10, pytest.approx(-1))
    # Five in order: 2 of 120 orders are as extreme, which is enough for one cell and not for four.
    assert repetition_trend([1.0, 1.1, 1.2, 1.3, 1.4]) is not None
    assert repetition_trend([1.0, 1.1, 1.2, 1.3, 1.4], cells=4) is None
    assert repetition_trend([1.0, 1.001, 1.002, 1.003, 1.004]) is None
    assert repetition_trend(falling[:4]) is None
    assert repetition_trend([0.0, *falling]) is None


def test_repetitions_in_random_order_have_a_trend_as_often_as_chance_makes() -> None:
    draw = np.random.default_rng(5)
    found = sum(repetition_trend(list(np.exp(draw.normal(size=7) * 0.2))) is not None for _ in range(400))
    # 5 % of 400 at most: 20, with the 99 % bound of a count that is 32.
    assert found <= 32


def test_a_start_shorter_than_a_level_is_one() -> None:
    """Five intervals at 140, then two hundred at 20: a fall, not one level; of 26 intervals nothing is claimed."""
    rng = np.random.default_rng(3)
    series = np.concatenate([np.full(5, 140.0), np.full(200, 20.0)]) * np.exp(rng.normal(0, 0.05, 205))
    found = levels_within(series.tolist())
    assert found.kind == "cliff"
    assert found.cuts == (5,)
    assert [round(segment.level, -1) for segment in found.segments] == [140, 20]
    assert levels_within([20.0, 20.1] * 13).kind == "too short"
    assert levels_within((20 * np.exp(rng.normal(0, 0.05, 200))).tolist()).kind == "flat"
