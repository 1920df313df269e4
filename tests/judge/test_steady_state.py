"""Steady state: the industry's rule on worked cases, and the decays that it passes."""

import math

import numpy as np
import pytest
from scipy import stats

from mileage.judge.steady_state import DRIFT_ROUNDS, PTS_WINDOW, drift, pts_window


def test_the_rule_to_the_letter_on_a_worked_window() -> None:
    rounds = [11_626, 11_876, 11_726, 11_676, 11_726]
    window = pts_window(rounds, 4)
    slope = stats.linregress(range(5), rounds).slope
    assert (window.mean, window.range) == (11_726, 250)
    assert window.excursion == pytest.approx(abs(slope) * 4)
    assert window.steady


@pytest.mark.parametrize(
    ("rounds", "steady"),
    [
        ([90, 110, 100, 110, 90], True),  # range exactly 20 % of the mean
        ([89.9, 110, 100, 110, 90.1], False),
        ([95, 97.5, 100, 102.5, 105], True),  # excursion exactly 10 %
        ([94.9, 97.45, 100, 102.55, 105.1], False),
        ([0, 0, 0, 0, 0], True),
    ],
)
def test_the_limits_count_in(rounds: list[float], steady: bool) -> None:
    assert pts_window(rounds, 4).steady is steady


def test_a_window_needs_five_rounds() -> None:
    with pytest.raises(ValueError, match="needs 5 rounds"):
        pts_window([100.0] * 12, 3)


def decay(rng: np.random.Generator, start: float, tau: float, rounds: int) -> list[float]:
    level = 1 + (start - 1) * np.exp(-np.arange(rounds) / tau)
    return (level * (1 + rng.normal(0, 0.02, rounds))).tolist()


@pytest.mark.parametrize(("start", "tau", "rule_bias"), [(2, 5, 0.14), (2, 20, 0.83), (4, 40, 2.77)])
def test_a_slow_decay_passes_the_rule_and_not_the_drift(start: float, tau: float, rule_bias: float) -> None:
    """The biases of the rule are those of its published analysis: 14 %, 83 % and 277 % above the end."""
    biases, honest = [], []
    for index in range(60):
        rounds = decay(np.random.default_rng([round(start), round(tau), index]), start, tau, 400)
        at = next(last for last in range(PTS_WINDOW - 1, 400) if pts_window(rounds, last).steady)
        biases.append(float(np.mean(rounds[at - 4 : at + 1])) - 1)
        # The last half of the rounds so far, as the stop rule of a study takes them.
        settled = next(
            last
            for last in range(DRIFT_ROUNDS - 1, 400)
            if drift(rounds[last + 1 - max(DRIFT_ROUNDS, (last + 1) // 2) : last + 1]).state == "steady"
        )
        honest.append(1 + (start - 1) * math.exp(-settled / tau) - 1)
    assert np.mean(biases) == pytest.approx(rule_bias, rel=0.15)
    assert np.mean(honest) < 0.06


def test_a_steady_series_is_called_steady_and_noise_is_not() -> None:
    rng = np.random.default_rng(1)
    calm = [drift((1 + rng.normal(0, 0.02, 60)).tolist()).state for _ in range(100)]
    assert calm.count("steady") >= 98
    assert calm.count("drifting") == 0
    loud = [drift((1 + rng.normal(0, 0.2, 60)).tolist()).state for _ in range(200)]
    assert loud.count("not shown") >= 150
    at_the_margin = 1 + 0.05 / 19 * (np.arange(60) - 29.5)
    border = [drift((at_the_margin + rng.normal(0, 0.02, 60)).tolist()).state for _ in range(200)]
    assert border.count("steady") <= 0.09 * 200
    rising = drift((1 + 0.01 * np.arange(60)).tolist())
    assert rising.state == "drifting"
    assert rising.per_20_rounds == pytest.approx(0.01 * 19 / (1 + 0.01 * 29.5))
    assert drift([1.0] * 19).state == "too short"
    assert drift([1.0] * 20).state == "steady"
    with pytest.raises(ValueError, match="finite"):
        drift([math.nan] * 20)
