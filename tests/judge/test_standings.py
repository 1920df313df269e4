"""All levels of a factor side by side, against scipy and worked cases."""

import math
import random

import pytest
from scipy import stats

from mileage.judge.mean_over_cells import trend_of_runs
from mileage.judge.standings import standings

RATE = "rate_bytes_per_s"


def drawn(means: dict[str, float], n: int = 8, sd: float = 0.01, seed: int = 5) -> dict[str, list[float]]:
    rng = random.Random(seed)
    return {name: [mean * math.exp(rng.gauss(0, sd)) for _ in range(n)] for name, mean in means.items()}


def test_levels_that_differ_have_ranks_of_their_own() -> None:
    found = standings("write", RATE, drawn({"plain": 100.0, "fast": 300.0, "slow": 50.0}))
    assert [(p.level, p.first, p.last) for p in found.places] == [
        ("fast", 1, 1),
        ("plain", 2, 2),
        ("slow", 3, 3),
    ]
    assert found.places[0].share_of_best == 1
    assert found.places[2].share_of_best == pytest.approx(1 / 6, rel=0.02)
    assert found.trend is None, "names are no numbers"


def test_levels_without_a_shown_difference_share_their_ranks() -> None:
    same = [100.0, 101.0, 99.0, 100.5]
    found = standings("write", RATE, {"a": same, "b": list(reversed(same)), "c": [50.0, 51.0, 50.5, 49.5]})
    assert {p.level: (p.first, p.last) for p in found.places} == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}


def test_a_level_that_failed_or_ran_once_stands_without_a_rank() -> None:
    arms = {**drawn({"a": 10.0, "b": 20.0}), "once": [40.0], "never": [], "zero": [0.0, 5.0]}
    found = standings("write", RATE, arms)
    assert [(p.level, p.first, p.n) for p in found.places] == [
        ("b", 1, 8), ("a", 2, 8), ("once", None, 1), ("zero", None, 1),
    ]  # fmt: skip
    assert found.places[0].share_of_best == pytest.approx(0.5, rel=0.01), "the best mean is that of `once`"
    with pytest.raises(ValueError, match="no level has a value"):
        standings("write", RATE, {"never": [], "zero": [0.0]})


@pytest.mark.parametrize("seed", range(20))
def test_the_trend_over_runs_is_that_of_scipy(seed: int) -> None:
    rng = random.Random(seed)
    levels = [[round(rng.gauss(0.3 * place, 1.0), 1) for _ in range(rng.randint(1, 9))] for place in range(5)]
    x = [place for place, values in enumerate(levels) for _ in values]
    y = [value for values in levels for value in values]
    expected = stats.spearmanr(x, y)
    found = trend_of_runs(levels)
    assert found.rho == pytest.approx(expected.statistic, abs=1e-12)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-12)


def test_rising_numbers_have_a_trend_and_others_none() -> None:
    rising = drawn({"2 %": 1.0, "25 %": 2.0, "50 %": 3.0, "98 %": 3.0})
    found = standings("write", RATE, rising).trend
    assert found is not None
    assert found.rho > 0.8
    assert found.p < 1e-6
    assert standings("write", RATE, dict(reversed(rising.items()))).trend is None, "levels fall"
    assert standings("write", RATE, {**rising, "200 %": []}).trend is None, "a level was not measured"
    with pytest.raises(ValueError, match=r"needs 4"):
        trend_of_runs([[1.0], [2.0], [3.0]])
