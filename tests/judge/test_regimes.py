"""Regimes inside a run: series whose truth is known."""

import math
from itertools import pairwise

import numpy as np
import pytest
import ruptures
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mileage.judge.regimes import SEGMENT_MIN, _partition, regimes

N = 300


def noise(rng: np.random.Generator, phi: float, cv: float = 0.03, n: int = N) -> NDArray[np.float64]:
    """Stationary first-order autoregression with standard deviation `cv`."""
    shocks = rng.normal(size=n) * cv * math.sqrt(1 - phi**2)
    series = np.empty(n)
    series[0] = rng.normal() * cv
    for i in range(1, n):
        series[i] = phi * series[i - 1] + shocks[i]
    return series


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6, 0.9])
def test_a_cliff_is_found_where_it_is_and_steady_noise_is_flat(phi: float) -> None:
    rng = np.random.default_rng(round(100 * phi))
    for _ in range(20):
        steady = 1 + noise(rng, phi)
        assert regimes(steady).kind == "flat"
        cut = int(rng.integers(30, N - 30))
        fallen = steady.copy()
        fallen[cut:] *= 0.6
        found = regimes(fallen)
        assert found.kind == "cliff"
        assert abs(found.cuts[0] - cut) <= 3
        ratio = found.segments[1].level / found.segments[0].level
        assert ratio == pytest.approx(0.6, rel=0.15 if phi == 0.9 else 0.05)


def test_the_kinds_by_name() -> None:
    rng = np.random.default_rng(11)
    small = noise(rng, 0.3, 0.02)
    t = np.arange(N)
    shapes = {
        "flat": np.ones(N),
        "warm-up": np.where(t < 40, 0.7, 1.0),
        "cliff": np.where(t < 100, 1.0, 0.5),
        "drift": 1 - 0.3 * t / N,
        "sawtooth": np.where((t // 50) % 2 == 0, 1.0, 0.7),
        "multi-regime": np.select([t < 80, t < 170], [1.0, 0.6], 0.4),
    }
    assert {name: regimes(shape + small).kind for name, shape in shapes.items()} == {
        name: name for name in shapes
    }


def test_the_noise_is_reported() -> None:
    rng = np.random.default_rng(3)
    for phi in (0.0, 0.5, 0.9):
        found = [regimes(1 + noise(rng, phi)) for _ in range(40)]
        assert np.mean([f.phi for f in found]) == pytest.approx(phi, abs=0.05)
        assert np.mean([f.sd for f in found]) == pytest.approx(0.03, rel=0.2)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 50))
def test_the_search_is_the_optimum_that_an_independent_one_finds(seed: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    series = rng.normal(size=80) + np.repeat(rng.normal(size=4) * 2, 20)
    mine = _partition(series, penalty)
    theirs = ruptures.KernelCPD(kernel="linear", min_size=SEGMENT_MIN).fit(series).predict(pen=penalty)[:-1]

    def cost(cuts: list[int]) -> float:
        parts = [series[a:b] for a, b in pairwise([0, *cuts, len(series)])]
        return sum(float(((part - part.mean()) ** 2).sum()) for part in parts) + penalty * len(cuts)

    assert cost(mine) <= cost(theirs) + 1e-9


@given(st.floats(1e-6, 1e12), st.integers(0, 2**32 - 1))
def test_a_change_of_unit_changes_the_levels_alone(unit: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    series = np.where(np.arange(120) < 70, 1.0, 0.7) + noise(rng, 0.2, n=120)
    here, there = regimes(series), regimes(series * unit)
    assert (here.kind, here.cuts) == (there.kind, there.cuts)
    for a, b in zip(here.segments, there.segments, strict=True):
        assert b.level == pytest.approx(a.level * unit, rel=1e-9)


def test_a_series_without_noise_and_one_that_stands_still() -> None:
    assert regimes([5.0] * 100).kind == "flat"
    assert regimes([0.0] * 100).kind == "flat"
    exact = regimes([5.0] * 50 + [3.0] * 50)
    assert (exact.kind, exact.cuts) == ("cliff", (50,))
    stopped = regimes([5.0] * 50 + [0.0] * 50)
    assert (stopped.kind, stopped.cuts, stopped.segments[1].level) == ("cliff", (50,), 0.0)


def test_short_series_are_not_cut_and_bad_ones_refused() -> None:
    assert regimes([1.0, 9.0] * (SEGMENT_MIN - 1)).kind == "too short"
    assert regimes([]).segments == ()
    for bad in ([math.nan] * 40, [-1.0] * 40, [math.inf] * 40):
        with pytest.raises(ValueError, match="finite and at least 0"):
            regimes(bad)
    with pytest.raises(ValueError, match="relevance is 0"):
        regimes([1.0] * 40, relevance=0)
