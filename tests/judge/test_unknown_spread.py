"""Little known of the spread: figures coarser than it, and arms of two runs against many."""

from __future__ import annotations

import math
import os
import random

import pytest
from scipy import stats

from mileage.judge import Comparison, Sample, compare_arms
from mileage.report.sentence import verdict_sentence

SEED = int(os.environ.get("MILEAGE_TEST_SEED", "1"))


def samples(values: list[float], metric: str = "rate_bytes_per_s") -> list[Sample]:
    return [
        Sample(run, 1, "torture", "after", run + 1, "throughput", "hdparm.buffered", metric, value, True)
        for run, value in enumerate(values)
    ]


def compared(a: list[float], b: list[float], *, paired: bool = False, simulated: bool = False) -> Comparison:
    return compare_arms(
        samples(a), samples(b), relevance={}, paired=paired, labels=("a", "b"), simulated=simulated
    )


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("a", "b"), [([100, 100], [103, 103]), ([100] * 5, [100] * 5)])
def test_arms_without_any_spread_are_undecided_unless_simulated(
    a: list[float], b: list[float], paired: bool
) -> None:
    found = compared(a, b, paired=paired)
    (cell,) = found.cells
    assert (cell.verdict, cell.ci95, cell.p_raw) == ("undecided", None, None)
    assert "There is no interval: the runs show no spread" in verdict_sentence(found)
    (cell,) = compared(a, b, paired=paired, simulated=True).cells
    assert cell.verdict == ("faster" if b[0] > a[0] else "same")


def test_an_arm_without_spread_gets_that_of_all_runs() -> None:
    a, b = [100.0] * 5, [104, 105, 103, 104.5, 104.1, 104.3, 105.5, 103.3, 104.6, 104.2]
    (cell,) = compared(a, b).cells
    logs = [[math.log(value) for value in arm] for arm in (b, a)]
    oracle = stats.ttest_ind(*logs, equal_var=True)
    assert cell.p_raw == pytest.approx(oracle.pvalue)
    interval = oracle.confidence_interval(0.95)
    assert cell.ci95 == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    (simulated,) = compared(a, b, simulated=True).cells
    assert simulated.ci95 is not None
    assert cell.ci95 is not None
    assert cell.ci95[0] < simulated.ci95[0]


def test_figures_rounded_to_two_digits_raise_no_false_alarms() -> None:
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    studies, alarms = 2000, {False: 0, True: 0}
    for _ in range(studies):
        a, b = ([round(1.05 * math.exp(rng.gauss(0, 0.003)), 1) for _ in range(3)] for _ in range(2))
        for simulated in alarms:
            (cell,) = compared(a, b, simulated=simulated).cells
            alarms[simulated] += cell.verdict in ("faster", "slower")
    # 5 % allow 100 +- 3 x 10; three of three runs on either side of the border come by chance in 3 %.
    assert alarms[False] <= 130, alarms
    assert alarms[True] > alarms[False]


@pytest.mark.parametrize("sizes", [(2, 10), (10, 3), (2, 4)])
def test_few_runs_against_many_raise_no_more_false_alarms_than_stated(sizes: tuple[int, int]) -> None:
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    studies, alarms = 1500, 0
    for _ in range(studies):
        a, b = ([100 * math.exp(rng.gauss(0, 0.03)) for _ in range(size)] for size in sizes)
        (cell,) = compared(a, b).cells
        alarms += cell.p_raw is not None and cell.p_raw <= 0.05
    # 5 % and four standard errors; Welch's test alone has 10 % of (2, 10).
    assert alarms <= 0.05 * studies + 4 * math.sqrt(studies * 0.05 * 0.95), alarms
