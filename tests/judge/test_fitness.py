"""Fit, not fit, cannot say: by intervals computed here, and by how often a verdict is wrong."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from mileage.judge.fitness import RESOLUTION, RUNS_MIN, Fitness, fitness
from mileage.judge.summary import summarise
from mileage.model.caveat import limit, veto
from mileage.model.metrics import METRICS

SYNC, RATE = METRICS["sync_p99"], METRICS["throughput"]
T_4 = 2.7764451051977987
"""Student's t of four degrees of freedom at 0.975, from a table."""
LIMIT = 10e6


def around(mean: float, spread: float) -> list[float]:
    """Five values whose geometric mean and standard deviation of logarithms are these."""
    steps = [-2, -1, 0, 1, 2]
    sd = math.sqrt(sum(step * step for step in steps) / 4)
    return [mean * math.exp(spread * step / sd) for step in steps]


def test_the_interval_is_that_of_students_t_over_runs() -> None:
    found = fitness(around(3.1e6, 0.08), SYNC, LIMIT)
    half = T_4 * 0.08 / math.sqrt(5)
    assert found.value == pytest.approx(3.1e6)
    assert found.ci95 == pytest.approx((3.1e6 * math.exp(-half), 3.1e6 * math.exp(half)))
    assert found.outcome == "fit"


@pytest.mark.parametrize(
    ("share", "outcome"),
    [
        (0.80, "fit"),
        (0.905, "fit"),
        (0.93, "cannot say"),
        (1.0, "cannot say"),
        (1.07, "cannot say"),
        (1.12, "not fit"),
    ],
)
def test_only_a_whole_interval_on_one_side_of_the_limit_decides(share: float, outcome: str) -> None:
    """Half the interval is 8 %: T_4 x 0.0644 / sqrt(5)."""
    assert fitness(around(share * LIMIT, 0.0644), SYNC, LIMIT).outcome == outcome
    # Of a rate more is better, so that the limit is broken below it.
    assert fitness(around(LIMIT / share, 0.0644), RATE, LIMIT).outcome == outcome


def test_the_runs_that_would_decide_are_the_fewest_whose_interval_excludes_the_limit() -> None:
    values = around(9.5e6, 0.1)
    found = fitness(values, SYNC, LIMIT)
    assert (found.outcome, found.runs_needed) == ("cannot say", 20)
    # By the table of t: 19 degrees of freedom 2.0930, 18 degrees of freedom 2.1009.
    distance = math.log(10 / 9.5) - RESOLUTION
    assert 2.0930 * 0.1 / math.sqrt(20) < distance <= 2.1009 * 0.1 / math.sqrt(19)


def test_no_number_of_runs_decides_at_the_limit() -> None:
    assert fitness(around(LIMIT, 0.1), SYNC, LIMIT).runs_needed is None
    equal = fitness([LIMIT] * 5, SYNC, LIMIT)
    assert (equal.outcome, [one.code for one in equal.reasons]) == ("cannot say", ["within-resolution"])


def test_equal_runs_are_judged_beyond_the_resolution_of_a_histogram() -> None:
    for share, outcome in ((0.99, "fit"), (0.998, "cannot say"), (1.002, "cannot say"), (1.01, "not fit")):
        assert fitness([share * LIMIT] * 5, SYNC, LIMIT).outcome == outcome


def test_too_few_runs_and_a_failed_one_say_nothing() -> None:
    few = fitness([1e6] * (RUNS_MIN - 1), SYNC, LIMIT)
    assert (few.outcome, [one.code for one in few.reasons]) == ("cannot say", ["few-runs"])
    assert fitness([1e6] * 5, SYNC, LIMIT, failed=1).outcome == "cannot say"
    assert fitness([], SYNC, LIMIT).outcome == "cannot say"
    assert fitness([], SYNC, None).outcome == "cannot say"


def test_without_a_limit_the_figure_is_given() -> None:
    found = fitness(around(5e6, 0.1), SYNC, None)
    assert (found.outcome, found.value) == ("no limit", pytest.approx(5e6))


def test_what_slowed_the_runs_takes_back_not_fit_and_leaves_fit() -> None:
    foreign = limit("other-load", worst_share=0.5)
    assert fitness([1e6] * 5, SYNC, LIMIT, caveats=[foreign], slowed=1.0).outcome == "fit"
    assert fitness([15e6] * 5, SYNC, LIMIT, caveats=[foreign], slowed=0.3).outcome == "not fit"
    held = fitness([15e6] * 5, SYNC, LIMIT, caveats=[foreign], slowed=0.5)
    assert (held.outcome, [one.code for one in held.reasons]) == ("cannot say", ["disturbed"])
    group = fitness([15e6] * 5, SYNC, LIMIT, caveats=[limit("group-limit")])
    assert (group.outcome, [one.code for one in group.reasons]) == ("cannot say", ["group-limit"])
    assert fitness([1e6] * 5, SYNC, LIMIT, caveats=[limit("group-limit")]).outcome == "fit"
    # A rate is higher without what slowed it.
    assert fitness([5e6] * 5, RATE, LIMIT, slowed=1.0).outcome == "cannot say"
    assert fitness([5e6] * 5, RATE, LIMIT, slowed=0.5).outcome == "not fit"


def test_a_veto_forbids_every_verdict() -> None:
    for values in ([1e6] * 5, [90e6] * 5):
        found = fitness(values, SYNC, LIMIT, caveats=[veto("level-change")])
        assert (found.outcome, found.value) == ("cannot say", pytest.approx(values[0]))


@pytest.mark.slow
def test_verdicts_at_the_limit_are_wrong_in_one_of_forty_cases() -> None:
    """Storage whose median run is at the limit: of 2,000 checks 2.5 % may say fit, and 2.5 % not fit."""
    draw = random.Random(7)
    trials = 2000

    def outcome() -> Fitness:
        return fitness([LIMIT * math.exp(draw.gauss(0, 0.2)) for _ in range(5)], SYNC, LIMIT)

    outcomes = [outcome().outcome for _ in range(trials)]
    for word in ("fit", "not fit"):
        # Three standard errors of a share of 2.5 %: 1.0 %.
        assert outcomes.count(word) / trials <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / trials)
    assert outcomes.count("cannot say") / trials >= 0.93


def test_runs_that_are_like_their_neighbours_are_worth_fewer_in_what_is_advised() -> None:
    """The same values in an order without dependence need fewer runs."""
    values = [LIMIT * math.exp(-0.02 + 0.2 * math.sin(number / 4)) for number in range(40)]
    mixed = random.Random(3).sample(values, len(values))
    one, other = (fitness(order, SYNC, LIMIT) for order in (values, mixed))
    assert "dependent-runs" in {caveat.code for caveat in one.caveats}
    assert not other.caveats
    assert other.runs_needed is not None
    assert (one.runs_needed or math.inf) > 2 * other.runs_needed


def test_runs_that_are_like_their_neighbours_widen_the_interval() -> None:
    """First-order autoregressions of 30 runs: the interval holds the true mean about as often as it says."""
    seed = 20_261_129
    generator, phi, kept, alike = np.random.default_rng(seed), 0.7, [0, 0], 0
    for _ in range(400):
        log, values = 0.0, []
        for _ in range(230):
            log = phi * log + float(generator.normal(0, 0.1))
            values.append(math.exp(log))
        found = fitness(values[-30:], METRICS["sync_p99"], None)
        alike += "dependent-runs" in {caveat.code for caveat in found.caveats}
        plain = summarise(values[-30:]).mean_ci95
        for at, ends in enumerate((found.ci95, plain)):
            assert ends is not None
            kept[at] += ends[0] <= 1 <= ends[1]
    assert alike > 360, f"seed {seed}"
    assert kept[0] / 400 > 0.88 > 0.75 > kept[1] / 400, f"seed {seed}: {kept}"
