"""What the judge promises of itself: false alarms, coverage, power to show equality. Seeds are printed."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pytest

from mileage.judge import CellVerdict, Sample, compare_arms, compare_stages

Make = Callable[..., list[Sample]]

EXPERIMENTS: Final = 2500
RELEVANCE = {"iops": 0.05}


def experiments(design: str, seed: int, truth: float, arm: Make, stages: Make) -> list[CellVerdict]:
    """One judged cell per experiment; `truth` is the true log ratio."""
    print(f"design {design!r}, seed {seed}, {EXPERIMENTS} experiments")
    rng = np.random.default_rng(seed)
    judged: list[CellVerdict] = []
    for index in range(EXPERIMENTS):
        if design.startswith("cycles"):
            samples = stages([seed, index], cycles=3, blocks=4, sham=design == "cycles, sham", effect=truth)
            comparison = compare_stages(samples, baseline="before", candidate="after", relevance=RELEVANCE)
        elif design == "one cycle, sham":
            samples = stages([seed, index], cycles=1, blocks=8, effect=truth, between=0.0, noise=0.02)
            comparison = compare_stages(samples, baseline="before", candidate="after", relevance=RELEVANCE)
        else:
            block = rng.normal(0, 0.05 if design == "paired" else 0, 10)
            a = arm(np.exp(block + rng.normal(0, 0.02, 10)))
            b = arm(np.exp(block + truth + rng.normal(0, 0.02, 10)))
            comparison = compare_arms(
                a, b, relevance=RELEVANCE, paired=design == "paired", labels=("old", "new")
            )
        judged += comparison.cells
    return judged


def share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags)


DESIGNS = ["paired", "unpaired", "cycles", "cycles, sham", "one cycle, sham"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("design", DESIGNS)
def test_false_alarms_of_the_uncorrected_test(design: str, arm: Make, stages: Make) -> None:
    cells = experiments(design, 20, 0.0, arm, stages)
    assert 0.03 <= share([c.p_raw is not None and c.p_raw <= 0.05 for c in cells]) <= 0.07


@pytest.mark.sampled(2)
@pytest.mark.parametrize("design", DESIGNS)
def test_coverage_of_the_interval(design: str, arm: Make, stages: Make) -> None:
    cells = experiments(design, 21, 0.04, arm, stages)
    truth = math.exp(0.04)
    covered = share([c.ci95 is not None and c.ci95[0] <= truth <= c.ci95[1] for c in cells])
    assert 0.93 <= covered <= 0.97


def test_equal_arms_are_mostly_shown_equal(arm: Make, stages: Make) -> None:
    verdicts = Counter(c.verdict for c in experiments("paired", 22, 0.0, arm, stages))
    assert verdicts["same"] > 0.9 * EXPERIMENTS
    assert verdicts["faster"] + verdicts["slower"] <= 0.001 * EXPERIMENTS


@pytest.mark.parametrize("design", ["paired", "unpaired"])
def test_a_difference_at_the_margin_is_seldom_called_the_same(design: str, arm: Make, stages: Make) -> None:
    cells = experiments(design, 23, math.log1p(0.05), arm, stages)
    assert share([c.verdict in ("same", "real but irrelevant") for c in cells]) <= 0.07


def test_the_detectable_effect_is_detected_in_four_of_five(arm: Make, stages: Make) -> None:
    design, spread, n = "unpaired", 0.02, 10
    effect = (2.1009 + 0.8620) * spread * math.sqrt(2 / n)
    cells = experiments(design, 24, effect, arm, stages)
    assert 0.76 <= share([c.p_raw is not None and c.p_raw <= 0.05 for c in cells]) <= 0.84


def test_a_whole_headline_raises_one_false_alarm_in_twenty_studies(arm: Make) -> None:
    seed, studies, width = 25, 400, 20
    print(f"seed {seed}, {studies} studies of {width} cells")
    rng = np.random.default_rng(seed)
    alarms = 0
    for _ in range(studies):
        a, b = (
            [s for i in range(width) for s in arm(np.exp(rng.normal(0, 0.02, 8)), cell=f"cell {i}")]
            for _ in "ab"
        )
        comparison = compare_arms(a, b, relevance=RELEVANCE, paired=False, labels=("a", "b"))
        alarms += any((c.p_holm or 0) <= 0.05 for c in comparison.headline)
    assert alarms / studies <= 0.08
