"""How far disturbances could have moved a ratio, and where that vetoes a verdict."""

from __future__ import annotations

import math
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.judge import CellVerdict, compare_arms
from mileage.judge.audit import RunFacts
from mileage.judge.disturbance_bound import DisturbedRun, disturbance_bound, disturbed_verdict, shares
from mileage.judge.samples import Sample

QUIET = {
    "wall_us": 2_000_000,
    "cpu_all_us": 4_000_000,
    "cpu_idle_us": 2_000_000,
    "client_cpu_us": 2_000_000,
    "steal_us": 0,
    "pressure_memory_us": 0,
}
FACTS = RunFacts(
    cell="a",
    latency_sum_ns=1,
    elapsed_ns=1,
    outstanding=1,
    bytes_read=1_000_000,
    bytes_written=0,
    fetched_bytes=1_000_000,
    device_bytes=1_000_000,
)


def loaded(share: float) -> DisturbedRun:
    return DisturbedRun({**QUIET, "client_cpu_us": 2_000_000 - round(4_000_000 * share)})


def test_a_bound_is_the_mean_over_the_runs_of_a_side() -> None:
    assert disturbance_bound([]) == 0
    assert disturbance_bound([DisturbedRun(QUIET), DisturbedRun({})]) == 0
    assert disturbance_bound([loaded(0.09)]) == 0
    assert disturbance_bound([loaded(0.2), loaded(0.0)]) == pytest.approx(-math.log(0.8) / 2)


@pytest.mark.parametrize(
    ("watch", "facts", "share"),
    [
        ({"steal_us": 400_000}, None, 0.1),
        ({"pressure_memory_us": 200_000}, None, 0.1),
        ({"client_cpu_us": 1_200_000}, None, 0.2),
        ({"client_cpu_us": 1_200_000, "steal_us": 400_000}, None, 0.3),
        ({}, {"device_bytes": 1_250_000}, 0.2),
        ({}, {"device_bytes": 1_250_000, "bypasses": False}, 0.0),
        ({}, {"device_bytes": 1_005_000}, 0.0),
        ({"client_cpu_us": -9_000_000}, None, 0.999),
    ],
)
def test_shares_above_their_limits_add_up(
    watch: dict[str, int], facts: dict[str, int] | None, share: float
) -> None:
    run = DisturbedRun({**QUIET, **watch}, None if facts is None else msgspec.structs.replace(FACTS, **facts))
    assert disturbance_bound([run]) == pytest.approx(-math.log(1 - share))


def test_what_was_not_counted_is_missing() -> None:
    assert shares(DisturbedRun({"wall_us": 1_000_000})) == {}


def verdict_on(ratio: float, metric: str = "rate_bytes_per_s", spread: float = 0.001) -> CellVerdict:
    chance = random.Random(2010)

    def side(scale: float) -> list[Sample]:
        return [
            Sample(
                cell="a",
                metric=metric,
                measure="throughput",
                higher_is_better=metric != "latency_p99_ns",
                value=1e6 * scale * math.exp(spread * chance.uniform(-1, 1)),
                stage="s",
                arm="torture",
                cycle=1,
                block=n + 1,
                run=n,
            )
            for n in range(9)
        ]

    found = compare_arms(side(1), side(ratio), relevance={}, paired=False, labels=("x", "y"), simulated=False)
    return found.cells[0]


@pytest.mark.parametrize(
    ("ratio", "baseline", "candidate", "severity"),
    [
        # Twice as fast, the candidate disturbed: it may be faster still.
        (2.0, 0.0, 1.0, "limits"),
        # Twice as fast, the baseline disturbed: it may have been as fast.
        (2.0, 1.0, 0.0, "vetoes"),
        (2.0, 0.3, 0.0, "limits"),
        (0.5, 1.0, 0.0, "limits"),
        (0.5, 0.0, 1.0, "vetoes"),
        # As fast, to 2 %: more than that on either side may have hidden a difference.
        (1.0, 0.03, 0.0, "vetoes"),
        (1.0, 0.0, 0.03, "vetoes"),
        (1.0, 0.01, 0.0, "informs"),
        # 10 % faster, and perhaps only 1 %: across the margin.
        (1.1, 0.085, 0.0, "vetoes"),
        (1.1, 0.01, 0.0, "informs"),
    ],
)
def test_a_bound_vetoes_where_it_could_move_the_ratio_across_no_change_or_the_margin(
    ratio: float, baseline: float, candidate: float, severity: str
) -> None:
    assert disturbed_verdict(verdict_on(ratio), baseline, candidate) == severity


def test_a_latency_may_be_lower_by_the_bound_of_its_side() -> None:
    slower = verdict_on(2.0, "latency_p99_ns")
    assert disturbed_verdict(slower, 0.0, 1.0) == "vetoes"
    assert disturbed_verdict(slower, 1.0, 0.0) == "limits"


bounds = st.floats(0, 3)


@given(ratio=st.floats(0.2, 5), baseline=bounds, candidate=bounds)
def test_a_swap_keeps_the_severity(ratio: float, baseline: float, candidate: float) -> None:
    one = verdict_on(ratio)

    def invert(ci: tuple[float, float] | None) -> tuple[float, float] | None:
        return None if ci is None else (1 / ci[1], 1 / ci[0])

    other = msgspec.structs.replace(
        one, ratio=1 / (one.ratio or 1), ci95=invert(one.ci95), ci90=invert(one.ci90)
    )
    assert disturbed_verdict(one, baseline, candidate) == disturbed_verdict(other, candidate, baseline)


def test_a_cell_without_an_estimate_is_not_vetoed_again() -> None:
    none = msgspec.structs.replace(verdict_on(1.0), ci95=None, ci90=None)
    assert disturbed_verdict(none, 1.0, 0.0) == "limits"
