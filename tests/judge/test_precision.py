"""The precision of a few repetitions, against statsmodels' interval and power."""

import math
import random

import pytest

from mileage.judge.precision import precision


def test_one_cell_has_the_width_of_students_interval() -> None:
    from statsmodels.stats.weightstats import DescrStatsW

    values = [100.0, 103.0, 98.0, 101.0, 99.5, 100.2]
    low, high = DescrStatsW([math.log(value) for value in values]).tconfint_mean()
    assert precision([values]).half_width == pytest.approx(math.expm1((high - low) / 2), rel=1e-9)


def test_cells_pool_their_noise_and_not_their_levels() -> None:
    rng = random.Random(1)
    noise = [[math.exp(rng.gauss(0, 0.02)) for _ in range(10)] for _ in range(20)]
    spread_out = [[10**number * value for value in cell] for number, cell in enumerate(noise)]
    assert precision(spread_out).half_width == pytest.approx(precision(noise).half_width, rel=1e-9)
    squares = [(math.log(v) - sum(map(math.log, cell)) / 10) ** 2 for cell in noise for v in cell]
    sd = math.sqrt(sum(squares) / 180)
    assert precision(noise).half_width == pytest.approx(math.expm1(1.9732 * sd / math.sqrt(10)), rel=1e-4)


def test_the_detectable_effect_is_the_one_that_a_power_calculation_gives() -> None:
    from statsmodels.stats.power import TTestIndPower

    rng = random.Random(2)
    cells = [[math.exp(rng.gauss(0, 0.05)) for _ in range(20)] for _ in range(2)]
    found = precision(cells)
    sd = math.log1p(found.half_width) * math.sqrt(20) / 2.0244
    exact = TTestIndPower().solve_power(nobs1=20, alpha=0.05, power=0.8) * sd
    assert math.log1p(found.detectable) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("cells", [[[1.0]], [[0.0, 1.0]], [[1.0, math.nan, 2.0]], [[1.0, 2.0], [5.0]]])
def test_where_nothing_is_known_the_width_is_infinite(cells: list[list[float]]) -> None:
    assert precision(cells).half_width == math.inf


def test_no_cell_is_an_error() -> None:
    with pytest.raises(ValueError, match="no cell"):
        precision([])
