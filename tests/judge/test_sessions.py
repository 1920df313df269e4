"""Ratios between sessions against closed forms, and against R's mixed models on 200 random designs."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import nct
from scipy.stats import t as student

from mileage.judge import Comparison, Sample, compare_arms
from mileage.judge.gate_rules import parse_rule, results_of
from mileage.judge.ratio import Estimate
from mileage.judge.session_size import detectable, needed, power_of
from mileage.judge.sessions import between_sessions, spread_of

ORACLE = Path(__file__).parent / "oracle"
Runs = list[list[float]]


class Design(NamedTuple):
    """A design and what R makes of it."""

    number: int
    sides: tuple[Runs, Runs]
    balanced: bool
    boundary: bool
    se: float
    df: float


def designs() -> Iterator[Design]:
    values: dict[int, dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    with (ORACLE / "sessions.csv").open() as file:
        for row in csv.DictReader(file):
            values[int(row["design"])][row["side"].strip()][row["session"]].append(float(row["y"]))
    with (ORACLE / "sessions_fits.csv").open() as file:
        for row in csv.DictReader(file):
            number = int(row["design"])
            sides = [list(values[number][side].values()) for side in ("a", "b")]
            flags = (row["balanced"].strip() == "TRUE", row["boundary"].strip() == "TRUE")
            yield Design(number, (sides[0], sides[1]), *flags, float(row["se"]), float(row["df"]))


def estimate_of(baseline: Runs, candidate: Runs, history: Runs | None = None) -> Estimate:
    judged = between_sessions(baseline, candidate, history or ())
    assert judged is not None
    return judged[0]


def is_widened(design: Design) -> bool:
    """Whether one side has three sessions and the other more: then the wider interval of Welch and Student is taken."""
    counts = [len(side) for side in design.sides]
    return min(counts) < 4 and counts[0] != counts[1]


def test_balanced_designs_have_the_error_and_the_degrees_of_freedom_of_r() -> None:
    """lmerTest, Satterthwaite, each side with a spread of its own; without fits on the boundary."""
    compared = 0
    for design in designs():
        if not design.balanced or design.boundary:
            continue
        found = estimate_of(*design.sides)
        assert found.se >= design.se * (1 - 1e-3), design.number
        if not is_widened(design):
            compared += 1
            assert found.se == pytest.approx(design.se, rel=1e-3), design.number
            assert found.df == pytest.approx(design.df, rel=1e-2), design.number
    assert compared > 40


def test_unbalanced_designs_have_nearly_the_error_of_r() -> None:
    """Sessions of two to eight runs: the means of sessions are not weighted by their runs."""
    ratios = [
        estimate_of(*design.sides).se / design.se
        for design in designs()
        if not design.balanced and not design.boundary and not is_widened(design)
    ]
    assert len(ratios) > 30
    assert 0.99 < float(np.median(ratios)) < 1.02
    assert 0.9 < min(ratios) < max(ratios) < 1.16


def test_fits_on_the_boundary_are_not_narrower_than_r_where_it_sees_no_spread() -> None:
    """Where R sees no spread between sessions, it takes the degrees of freedom of the runs; sessions stay the unit."""
    for design in designs():
        if design.boundary:
            found = estimate_of(*design.sides)
            assert found.df <= len(design.sides[0]) + len(design.sides[1]) - 2 + 1e-9


def test_balanced_components_are_those_of_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        values = rng.normal(size=(6, 1)) * 0.02 + rng.normal(size=(6, 4)) * 0.01
        found = spread_of(values.tolist())
        between_ms = 4 * float(values.mean(axis=1).var(ddof=1))
        within_ms = float(values.var(axis=1, ddof=1).mean())
        assert found.within == pytest.approx(within_ms)
        assert found.between == pytest.approx(max((between_ms - within_ms) / 4, 0.0))


def test_one_session_against_several_is_a_prediction() -> None:
    """With equal numbers of runs: t with n - 1 degrees of freedom and the error s sqrt(1 + 1/n)."""
    rng = np.random.default_rng(4)
    values = (rng.normal(size=(8, 1)) * 0.02 + rng.normal(size=(8, 5)) * 0.005).tolist()
    one = (0.05 + rng.normal(size=5) * 0.005).tolist()
    found = estimate_of(values, [one])
    means = [float(np.mean(runs)) for runs in values]
    assert found.log_ratio == pytest.approx(float(np.mean(one)) - float(np.mean(means)))
    assert found.se == pytest.approx(float(np.std(means, ddof=1)) * math.sqrt(1 + 1 / 8))
    assert found.df == 7
    half = float(student.ppf(0.975, 7)) * found.se
    assert found.interval(0.95) == pytest.approx((found.log_ratio - half, found.log_ratio + half))
    back = estimate_of([one], values)
    assert (back.log_ratio, back.se, back.df) == (pytest.approx(-found.log_ratio), found.se, found.df)


def test_one_against_one_has_the_spread_of_a_history_or_none() -> None:
    rng = np.random.default_rng(5)
    history = (rng.normal(size=(9, 1)) * 0.02 + rng.normal(size=(9, 5)) * 0.005).tolist()
    one, other = ((rng.normal(size=5) * 0.005).tolist() for _ in range(2))
    assert between_sessions([one], [other]) is None
    assert between_sessions([one], [other], history[:2]) is None
    found = estimate_of([one], [other], history)
    deviation = float(np.std([np.mean(runs) for runs in history], ddof=1))
    assert (found.se, found.df) == (pytest.approx(deviation * math.sqrt(2)), 8)


def samples(sessions: Runs, first: int) -> list[Sample]:
    return [
        Sample(
            at,
            1,
            "torture",
            "s",
            at + 1,
            "throughput",
            "t",
            "rate_bytes_per_s",
            math.exp(log),
            True,
            first + n,
        )
        for n, runs in enumerate(sessions)
        for at, log in enumerate(runs)
    ]


def compared(low: list[Sample], high: list[Sample], *, worse_only: bool = False) -> Comparison:
    how = {"relevance": {"throughput": 0.0}, "paired": False, "simulated": False, "worse_only": worse_only}
    return compare_arms(low, high, labels=("a", "b"), **how)  # type: ignore[arg-type]


def outcomes(found: Comparison, rule: str = "slower") -> set[str]:
    return {result.outcome for result in results_of(parse_rule(rule), found)}


def drawn(seed: int, sessions: int, shift: float = 0.0) -> Runs:
    rng = np.random.default_rng(seed)
    return [(19 + shift + rng.normal() * 0.02 + rng.normal(size=5) * 0.005).tolist() for _ in range(sessions)]


def test_one_session_each_describes_and_cannot_be_judged() -> None:
    low, high = samples(drawn(1, 1), 1), samples(drawn(2, 1, -0.3), 2)
    for found in (compared(low, high), compared(high, low)):
        (cell,) = found.cells
        assert (cell.verdict, cell.p_raw, cell.p_holm, found.sessions) == ("undecided", None, None, (1, 1))
        assert cell.ci95 is not None
        assert [caveat.code for caveat in found.vetoes] == ["one-session"]
        assert outcomes(found) == {"cannot be judged"}


def test_one_session_for_both_sides_is_judged_by_run() -> None:
    low, high = samples(drawn(1, 1), 1), samples(drawn(2, 1, -0.3), 1)
    found = compared(low, high)
    assert (found.unit, found.vetoes, found.cells[0].verdict) == ("run", (), "slower")


def test_a_simulation_has_no_sessions_and_a_real_side_has_one() -> None:
    simulated, real = samples(drawn(1, 1), 0), samples(drawn(2, 1), 1)
    found = compared(simulated, real)
    (caveat,) = found.vetoes
    assert (caveat.code, caveat.sides) == ("one-session", ("candidate",))
    assert compared(simulated, samples(drawn(2, 1), 0)).vetoes == ()


def test_a_history_fails_a_loss_and_keeps_what_varies() -> None:
    history = samples(drawn(3, 12), 1)
    same, lost = samples(drawn(4, 1), 20), samples(drawn(4, 1, -0.12), 20)
    assert outcomes(compared(history, same, worse_only=True)) == {"kept"}
    found = compared(history, lost, worse_only=True)
    assert outcomes(found) == {"broken"}
    assert (found.unit, found.sessions) == ("session", (12, 1))
    both = compared(history, lost).cells[0].p_raw
    assert both is not None
    assert found.cells[0].p_raw == pytest.approx(both / 2), "whether it is worse is asked one-sided"


@pytest.mark.parametrize(
    ("tests", "expected"), [(1, (2.8, 2.6, 2.6)), (10, (4.4, 3.8, 3.7)), (50, (5.6, 4.6, 4.4))]
)
def test_the_loss_that_a_history_finds(tests: int, expected: tuple[float, float, float]) -> None:
    """In standard deviations of a session mean, of histories of 10, 20 and 30 sessions."""
    assert tuple(round(detectable(n, tests=tests), 1) for n in (10, 20, 30)) == expected


def test_the_power_is_that_of_noncentral_t_and_sessions_grow_with_the_spread() -> None:
    critical = student.ppf(0.95, 9)
    assert power_of(3.0, 10, 0.05) == pytest.approx(float(nct.sf(critical, 9, 3 / math.sqrt(1.1))))
    counts = {(one.loss, one.runs): one.sessions for one in needed(0.01, 0.02)}
    assert counts[0.10, 5] == 3
    assert counts[0.02, 1] is None, "a single session varies by more than that"
    few, many = counts[0.05, 10], counts[0.05, 3]
    assert few is not None
    assert many is not None
    assert few < many
