"""Agreement with a published study: signs, sizes, verdicts and rates, counted by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.judge.published_score import is_near, scores, sign_agrees
from mileage.model.published_result import ComparedResult, PublishedResult, Reading


def result(
    low: float | None,
    found: float | None,
    *,
    high: float | None = None,
    unit: str = "change %",
    readings: tuple[Reading, Reading] = ("same", "same"),
    use: str = "predicted",
) -> ComparedResult:
    published = PublishedResult(
        name="w", place="", workload="w", record_bytes=None, threads=None, levels={}, over={}, low=low,
        high=low if high is None else high, unit=unit, spread_percent=None, statement="", use=use, note="", why_off="",
    )  # fmt: skip
    return ComparedResult(
        published=published,
        published_reading=readings[0],
        found=found,
        found_reading=readings[1],
        relevance_percent=2,
    )


def test_shares_are_those_counted_by_hand() -> None:
    slower: Reading = "slower"
    found = scores(
        [
            result(-20, -15, readings=(slower, slower)),  # sign and size
            result(-20, -5, readings=(slower, slower)),  # sign
            result(-20, -0.05, readings=(slower, "same")),  # too small for a sign
            result(-20, 4, readings=(slower, "faster")),
            result(None, 0.1),  # "no difference", and none
            result(None, 9, readings=("same", "faster")),
            result(None, 9, readings=("not stated", "faster")),  # nobody can agree with it
            result(-20, -20, readings=(slower, slower), use="fitted: x"),  # not predicted
            result(-20, None, readings=(slower, "not stated")),  # not done
            result(100, 114, unit="MB/s"),
            result(100, 199, unit="MB/s"),
            result(100, 40, unit="MB/s"),
        ]
    )
    assert [(share.agree, share.of, share.nothing_changes, share.beats_nothing) for share in found] == [
        (2, 4, 0, True),
        (1, 4, 0, True),
        (3, 6, 2, True),
        (1, 3, None, None),
        (2, 3, None, None),
    ]


@given(st.floats(-60, 60).filter(lambda x: abs(x) > 0.5), st.floats(0.3, 3))
def test_a_size_is_near_when_its_logarithm_is_within_a_factor_of_two(percent: float, factor: float) -> None:
    found = 100 * math.expm1(factor * math.log1p(percent / 100))
    if abs(factor - 0.5) > 0.01 and abs(factor - 2) > 0.01:
        assert is_near(percent, found) == (0.5 < factor < 2)
    assert not is_near(percent, -found)


def test_a_range_is_near_from_half_its_smaller_to_twice_its_larger_end() -> None:
    assert is_near(-15, -8, high=-13)
    assert is_near(-15, -26, high=-13)
    assert not is_near(-15, -6, high=-13)
    assert not is_near(-15, 14, high=-13)


@pytest.mark.parametrize(("found", "agrees"), [(-0.2, True), (-0.05, False), (0.2, False), (0.0, False)])
def test_a_change_below_a_tenth_of_a_percent_has_no_sign(found: float, agrees: bool) -> None:
    assert sign_agrees(-10, found) is agrees
