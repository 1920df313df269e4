"""Measure by simulation what the check of levels within runs prevents.

False verdicts about arms with equal final levels and different beginnings.

Scope: runs of drives that were measured before they were steady: a fresh level that differs from arm to arm, for a time
that differs from run to run, and then a level that is the same in both. A verdict about the drives is false; one about
the means of the runs is not, which is why no test of means can see it. Everything follows from the seed.
"""

from __future__ import annotations

import numpy as np

from mileage.analysis.steady_state_checks import Courses, RunCourse, changing
from mileage.judge import Sample, compare_arms
from mileage.judge.rate_over_time import course

RUNS = 5
INTERVALS = 40
FRESH = (4.0, 6.0)
"""Level of a fresh drive over that where it stays, by arm."""
FRESH_SHARE = (0.3, 0.5)
"""Share of a run for which it is fresh, at least and at most."""
NOISE = 0.03
"""Between intervals, and between runs."""


def false_verdicts(studies: int, seed: int, *, transient: bool) -> tuple[int, int]:
    """Studies that call one arm faster, without and with the check that every run has one level."""
    plain = checked = 0
    for index in range(studies):
        rng = np.random.default_rng([seed, 3, int(transient), index])
        arms: list[list[Sample]] = [[], []]
        courses = Courses()
        for arm, fresh in enumerate(FRESH):
            for run in range(RUNS):
                level = np.exp(rng.normal() * NOISE)
                series = level * (1 + NOISE * rng.standard_normal(INTERVALS))
                if transient:
                    series[: int(INTERVALS * rng.uniform(*FRESH_SHARE))] *= fresh
                arms[arm].append(_sample(run, float(series.mean())))
                courses.runs.append(RunCourse(f"arm {arm}", "measured", course(series.tolist()), ""))
        found = compare_arms(*arms, relevance={}, paired=False, labels=("A", "B"))
        false = found.cells[0].verdict in ("faster", "slower")
        plain += false
        checked += false and not changing(courses)
    return plain, checked


def _sample(run: int, value: float) -> Sample:
    return Sample(
        run=run,
        cycle=1,
        arm="torture",
        stage="measured",
        block=run + 1,
        measure="iops",
        cell="random writes",
        metric="ops_per_s",
        value=value,
        higher_is_better=True,
    )
