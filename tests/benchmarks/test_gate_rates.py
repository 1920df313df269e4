"""The gate over simulated fio results: it fails for a loss that it can see, and not for noise."""

from __future__ import annotations

from benchmarks.gate_rates.simulated_gate import failures, history_failures


def test_a_loss_of_a_tenth_breaks_the_rule_and_noise_of_a_tenth_does_not() -> None:
    rule = "slower > 5%"
    assert failures(rule, change=-0.1, noise=0.02, runs=6, times=8, seed=1) == 8
    assert failures(rule, change=0.0, noise=0.1, runs=6, times=8, seed=1) <= 2


def test_one_session_against_a_history_fails_for_a_loss_and_not_for_another_day() -> None:
    counts = [
        history_failures(
            "slower", change=change, between=0.01, noise=0.01, sessions=10, runs=3, times=8, seed=1
        )
        for change in (-0.1, 0.0)
    ]
    assert counts[0] == 8
    assert counts[1] <= 1
