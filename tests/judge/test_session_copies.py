"""A session that stands twice in a history is found; independent sessions, many as they are, are no copies."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mileage.judge.repetitions import are_scaled_copies, holds_scaled_copies


def sessions(seed: int, count: int = 100, runs: int = 5) -> list[list[float]]:
    """Independent sessions with 1 % between runs."""
    rng = np.random.default_rng(seed)
    found: list[list[float]] = np.exp(9 + 0.01 * rng.standard_normal((count, runs))).tolist()
    return found


@pytest.mark.parametrize("factor", [1.0, 1.2])
@pytest.mark.parametrize("seed", range(5))
def test_all_pairs_of_few_sessions_are_looked_at_as_each_pair_is(seed: int, factor: float) -> None:
    made = sessions(seed, 5)
    assert not holds_scaled_copies(made)
    made[4] = [factor * value for value in made[1]]
    assert holds_scaled_copies(made)
    assert any(are_scaled_copies(*pair) for pair in combinations(made, 2))


def test_a_copy_among_a_hundred_sessions_of_several_lengths_is_found() -> None:
    made = [*sessions(1, 50), *sessions(2, 50, 7)]
    assert not holds_scaled_copies(made)
    assert holds_scaled_copies([*made, [0.9 * value for value in made[60]]])


@pytest.mark.parametrize("seed", [46, 48, 281, 390])
def test_the_pairs_of_a_long_history_share_one_error_rate(seed: int) -> None:
    """Each of these has a pair that alone would pass for a copy: 4,950 pairs have many chances."""
    made = sessions(seed)
    assert any(are_scaled_copies(*pair) for pair in combinations(made, 2))
    assert not holds_scaled_copies(made)


def test_equal_values_and_short_sessions_are_no_copies() -> None:
    assert not holds_scaled_copies([[1.0, 1.0, 1.0]] * 4)
    assert not holds_scaled_copies([[1.0, 2.0]] * 4)
    assert not holds_scaled_copies([])


def test_coarse_sessions_that_agree_are_no_copies() -> None:
    """Five values of three agree by chance in one of 243 pairs."""
    assert not holds_scaled_copies([[500.0, 501.0, 500.0, 499.0, 501.0]] * 2)
