"""The closed forms of arrays agree with the exact solution of the chains that they approximate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

from mileage.endurance.drive_selection import (
    LEVELS,
    Level,
    data_drives,
    is_possible,
    loss_probability,
    simulated_loss_probability,
    writes_per_host_write,
)

HOURS = 8766
REDUNDANT = {"1": 1, "5": 1, "6": 2}


def exact(
    level: Level, drives: int, afr: float, years: float, repair_h: float, *, at_once: bool = False
) -> float:
    """The probability of loss, from the generator of a Markov chain: drives failed, the last state is loss.

    Of mirrors, pairs are independent. One drive is repaired at a time, or all `at_once`, at an exponential rate.
    """
    if level == "10":
        return 1 - (1 - exact("1", 2, afr, years, repair_h)) ** (drives // 2)
    rate, spare = -math.log1p(-afr) / HOURS, REDUNDANT[level]
    chain = np.zeros((spare + 2, spare + 2))
    for failed in range(spare + 1):
        chain[failed, failed + 1] = (drives - failed) * rate
        if failed:
            chain[failed, failed - 1] = (failed if at_once else 1) / repair_h
        chain[failed, failed] = -chain[failed].sum()
    return float(expm(chain * years * HOURS)[0, -1])


@pytest.mark.parametrize("afr", [0.005, 0.02, 0.08])
@pytest.mark.parametrize(("level", "drives"), [("1", 2), ("10", 8), ("5", 3), ("5", 8), ("6", 6), ("6", 12)])
@pytest.mark.parametrize("repair_h", [12.0, 100.0])
def test_the_closed_form_is_that_of_the_chain(level: Level, drives: int, afr: float, repair_h: float) -> None:
    found = loss_probability(level, drives, afr, 5, repair_h)
    # The closed form neglects f R against 1, and the repairs at the beginning, before any drive has failed.
    margin = 2.5 * drives * afr / HOURS * repair_h + 3 * repair_h / (5 * HOURS)
    assert found == pytest.approx(exact(level, drives, afr, 5, repair_h), rel=margin, abs=1e-12)


@pytest.mark.parametrize(("level", "drives"), [("1", 2), ("10", 8), ("5", 8), ("6", 8)])
@pytest.mark.parametrize(("afr", "repair_h"), [(0.02, 24.0), (0.08, 100.0), (0.5, 300.0)])
def test_the_simulation_is_that_of_the_chain(level: Level, drives: int, afr: float, repair_h: float) -> None:
    mean, low, high = simulated_loss_probability(level, drives, afr, 5, repair_h)
    wanted = exact(level, drives, afr, 5, repair_h, at_once=True)
    # The interval holds 95 % of the time; twice as wide an interval 99.99 %, and the seed is fixed.
    assert abs(mean - wanted) < high - low < 0.3 * wanted
    assert low < mean < high


def test_a_simulation_without_redundancy_or_failures_needs_no_chain() -> None:
    cases: tuple[tuple[Level, int], ...] = (("none", 1), ("0", 8))
    for level, drives in cases:
        # The first failure is forced to happen in time and is the loss, so histories do not differ.
        for found in simulated_loss_probability(level, drives, 0.02, 5, 24):
            assert found == pytest.approx(1 - 0.98 ** (5 * drives), rel=1e-9)
    assert simulated_loss_probability("6", 8, 0, 5, 24) == (0, 0, 0)
    with pytest.raises(ValueError, match="RAID 6 of 3 drives"):
        simulated_loss_probability("6", 3, 0.02, 5, 24)


def test_an_array_without_redundancy_survives_when_all_drives_do() -> None:
    for drives in (2, 8):
        assert loss_probability("0", drives, 0.02, 5, 24) == pytest.approx(1 - 0.98 ** (5 * drives))
    assert loss_probability("none", 1, 0.02, 1, 24) == pytest.approx(0.02)
    # Eight drives of 3 % a year, striped: seven in ten survive a year and a half, no more.
    assert loss_probability("0", 8, 0.03, 1.5, 24) > 0.3
    assert loss_probability("10", 8, 0.03, 1.5, 24) < 1e-4


def test_capacity_and_writes_of_each_level() -> None:
    assert [data_drives(level, 8) for level in ("0", "5", "6", "10")] == [8, 7, 6, 4]
    assert writes_per_host_write("5", 5, random=False) == 1.25
    assert [writes_per_host_write(level, 6, random=True) for level in ("0", "5", "6", "10")] == [1, 2, 3, 2]
    for level in LEVELS:
        assert not is_possible(level, 0)
        with pytest.raises(ValueError, match="RAID"):
            data_drives(level, 0)
    assert [count for count in range(1, 9) if is_possible("10", count)] == [4, 6, 8]
    assert [count for count in range(1, 9) if is_possible("1", count)] == [2]
