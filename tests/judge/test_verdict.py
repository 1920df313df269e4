"""The five words at their borders, by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.judge.verdict import DEFAULT_RELEVANCE, VERDICTS, Verdict, decide, relevance_of

MARGIN = math.log1p(0.02)
JUST_OUT = math.nextafter(MARGIN, 1)


@pytest.mark.parametrize(
    ("log_ratio", "interval", "p", "expected"),
    [
        (0.10, (0.05, 0.15), 0.001, "faster"),
        (-0.10, (-0.15, -0.05), 0.001, "slower"),
        (0.10, (0.05, 0.15), 0.05, "faster"),
        (0.10, (0.05, 0.15), math.nextafter(0.05, 1), "undecided"),
        (0.01, (0.005, 0.015), 0.001, "real but irrelevant"),
        (0.01, (0.0, MARGIN), 0.05, "real but irrelevant"),
        (0.01, (0.0, JUST_OUT), 0.05, "faster"),
        (-0.01, (-MARGIN, 0.0), 0.05, "real but irrelevant"),
        (-0.01, (-JUST_OUT, 0.0), 0.05, "slower"),
        (0.00, (-MARGIN, MARGIN), 0.5, "same"),
        (0.00, (-MARGIN, JUST_OUT), 0.5, "undecided"),
        (0.00, (-JUST_OUT, MARGIN), 0.5, "undecided"),
        (0.00, (-0.5, 0.5), 1.0, "undecided"),
        (0.0, (0.0, 0.0), 1.0, "same"),
        (0.5, (0.5, 0.5), 0.0, "faster"),
    ],
)
def test_borders(log_ratio: float, interval: tuple[float, float], p: float, expected: Verdict) -> None:
    assert decide(log_ratio, interval, p, relevance=0.02, alpha=0.05, higher_is_better=True) == expected


@pytest.mark.parametrize(("log_ratio", "expected"), [(0.2, "slower"), (-0.2, "faster")])
def test_faster_means_better_for_a_latency(log_ratio: float, expected: Verdict) -> None:
    interval = (log_ratio - 0.01, log_ratio + 0.01)
    assert decide(log_ratio, interval, 0.0, relevance=0.1, alpha=0.05, higher_is_better=False) == expected


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5), st.booleans())
def test_mirror_image_gets_the_mirror_word(
    log_ratio: float, half: float, p: float, relevance: float, better: bool
) -> None:
    mirror = {"faster": "slower", "slower": "faster"}
    one = decide(
        log_ratio,
        (log_ratio - half, log_ratio + half),
        p,
        relevance=relevance,
        alpha=0.05,
        higher_is_better=better,
    )
    other = decide(
        -log_ratio,
        (-log_ratio - half, -log_ratio + half),
        p,
        relevance=relevance,
        alpha=0.05,
        higher_is_better=better,
    )
    assert one in VERDICTS
    if log_ratio != 0:
        assert other == mirror.get(one, one)


def test_relevance_is_as_given_or_the_default() -> None:
    assert relevance_of("ops_per_s", {"iops": 0.01}) == 0.01
    assert relevance_of("latency_p99_ns", {"iops": 0.01}) == DEFAULT_RELEVANCE["p99"] == 0.10
    assert relevance_of("rate_bytes_per_s", {"throughput": 0.0}) == 0


@pytest.mark.parametrize("bad", [-0.01, math.inf, math.nan])
def test_relevance_must_be_a_relative_change(bad: float) -> None:
    with pytest.raises(ValueError, match="relative change"):
        relevance_of("ops_per_s", {"iops": bad})


def test_unknown_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="no relevance"):
        relevance_of("furlongs", {})
