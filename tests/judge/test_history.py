"""Changes over many studies: false alarms, places, and a worked split."""

import numpy as np
import pytest

from mileage.judge.history import _best_split, changes


def test_a_steady_history_has_no_change_more_often_than_promised() -> None:
    alarms = 0
    for index in range(150):
        rng = np.random.default_rng([8, index])
        alarms += bool(changes({"read": np.exp(rng.normal(0, 0.02, 24)).tolist()}, seed=index))
    assert alarms / 150 <= 0.10


def test_a_change_is_found_with_place_and_size() -> None:
    rng = np.random.default_rng(9)
    values = 500 * np.exp(rng.normal(0, 0.01, 30))
    values[12:] *= 0.9
    values[22:] *= 1.2
    found = changes({"write": values.tolist(), "read": (300 * np.exp(rng.normal(0, 0.01, 30))).tolist()})
    assert [(change.cell, change.study) for change in found] == [("write", 12), ("write", 22)]
    assert [change.ratio for change in found] == pytest.approx([0.9, 1.2], rel=0.02)


def test_the_energy_of_a_worked_split() -> None:
    values = np.asarray([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    at, energy = _best_split(np.abs(values[:, None] - values[None, :]))
    within = 2 * (1 + 1 + 2) / (3 * 2)
    assert at == 3
    assert energy == pytest.approx((9 / 6) * (2 * 10 - within - within))


def test_the_seed_gives_the_same_answer_and_bad_values_are_refused() -> None:
    values = {"write": [1.0, 1.1, 0.9, 2.0, 2.1, 1.9, 2.0]}
    assert changes(values, seed=3) == changes(values, seed=3)
    assert changes({"short": [1.0] * 5}) == ()
    with pytest.raises(ValueError, match="short: a history needs"):
        changes({"short": [1.0, 0.0]})
