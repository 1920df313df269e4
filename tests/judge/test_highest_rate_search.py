"""The search for a rate finds the edge of a target whose edge is known."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from mileage.judge.highest_rate_search import TOLERANCE, Probe, best_of, next_rate, probe_of

GOAL_NS = 1e6


def search(edge: float, closed: float, noise: random.Random | None = None) -> list[Probe]:
    """A target whose latency is 0.1 ms below the edge and 10 ms from there on."""
    probes: list[Probe] = []
    while (rate := next_rate(probes, closed)) is not None:
        assert len(probes) < 60, probes
        at = edge * (noise.uniform(0.97, 1.03) if noise else 1.0)
        probes.append(probe_of(rate, min(rate, closed), 1e5 if rate < at else 1e7, GOAL_NS))
    return probes


@given(st.floats(100, 1e7), st.floats(0.002, 0.999))
def test_the_edge_is_found_within_the_tolerance(closed: float, share: float) -> None:
    edge = closed * share
    best = best_of(search(edge, closed))
    if edge < 2 * closed / 1024 + 2:
        return
    assert best is not None
    assert best.rate < edge
    assert best.rate * TOLERANCE * 1.05 + 2 >= edge


@given(st.floats(100, 1e7))
def test_a_goal_that_always_holds_is_held_by_the_closed_rate(closed: float) -> None:
    best = best_of(search(closed * 10, closed))
    assert best is not None
    assert best.rate == round(closed)


@given(st.floats(100, 1e7))
def test_a_goal_that_never_holds_has_no_answer(closed: float) -> None:
    assert best_of(search(0.0, closed)) is None


@given(st.floats(1000, 1e7), st.floats(0.1, 0.9), st.integers(0, 2**32))
def test_noise_does_not_keep_it_from_ending(closed: float, share: float, seed: int) -> None:
    best = best_of(search(closed * share, closed, random.Random(seed)))
    assert best is not None
    assert 0.85 * closed * share <= best.rate <= 1.04 * closed * share + 2


def test_what_did_not_keep_up_did_not_hold() -> None:
    assert not probe_of(1000, 970, 1e5, GOAL_NS).kept
    assert probe_of(1000, 981, 1e6, GOAL_NS).kept
