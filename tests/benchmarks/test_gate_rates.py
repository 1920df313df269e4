"""The gate over simulated fio results: it fails for a loss that it can see, and not for noise."""

from __future__ import annotations

from benchmarks.gate_rates.simulated_gate import failures


def test_a_loss_of_a_tenth_breaks_the_rule_and_noise_of_a_tenth_does_not() -> None:
    rule = "slower > 5%"
    assert failures(rule, change=-0.1, noise=0.02, runs=6, times=8, seed=1) == 8
    assert failures(rule, change=0.0, noise=0.1, runs=6, times=8, seed=1) <= 2
