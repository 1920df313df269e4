"""Rates from samples of counters: growth that is known comes out, and what cannot be read is skipped and said."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.endurance.watch_text import watch_text, wear_out_day
from mileage.endurance.wear_monitor import watched
from mileage.endurance.wear_rate import WRAP, Counter, Sample, wear_rate

TB, YEAR_S = 1e12, 365 * 86_400
GAPS = st.lists(st.tuples(st.floats(1, 1e5), st.integers(0, 10**9)), min_size=1, max_size=60)


def sample(
    time_s: float, value: int | None, *, boot: str = "a", since_boot: bool = False, unit: int = 512
) -> Sample:
    counters = {} if value is None else {"kernel": Counter(value, unit, since_boot)}
    return Sample(time_s, boot, counters)


def rate_of(*samples: Sample) -> tuple[float, tuple[str, ...]]:
    found = wear_rate(samples, "kernel")
    assert found is not None
    return found.bytes_per_s, found.events


@given(GAPS, st.integers(0, 2**50))
def test_the_rate_is_all_growth_over_all_time(gaps: list[tuple[float, int]], first: int) -> None:
    samples, time_s, value = [sample(0, first)], 0.0, first
    for gap, growth in gaps:
        time_s, value = time_s + gap, value + growth
        samples.append(sample(time_s, value))
    found = wear_rate(samples, "kernel")
    assert found is not None
    assert found.written_bytes == 512 * (value - first)
    assert found.bytes_per_s == pytest.approx(512 * (value - first) / time_s)
    assert found.events == ()
    if found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.bytes_per_s * (1 + 1e-9)
        assert found.high >= found.bytes_per_s * (1 - 1e-9)


@given(GAPS, st.integers(0, 60))
def test_a_watch_that_was_ended_and_begun_again_gives_the_same_rate(
    gaps: list[tuple[float, int]], cut: int
) -> None:
    samples, time_s, value = [sample(0, 5)], 0.0, 5
    for gap, growth in gaps:
        time_s, value = time_s + gap, value + growth
        samples.append(sample(time_s, value))
    # A pause: the samples of its time are missing, the growth is not.
    kept = [samples[0], *samples[min(1 + cut, len(samples) - 1) :]]
    assert rate_of(*kept)[0] == pytest.approx(rate_of(*samples)[0])


def test_a_restart_of_the_machine_skips_the_interval() -> None:
    for second in (100, 10_000):  # Also where the new count is the larger one by chance.
        rate, events = rate_of(
            sample(0, 1000, since_boot=True),
            sample(10, 3000, since_boot=True),
            sample(3610, second, boot="b", since_boot=True),
            sample(3620, second + 2000, boot="b", since_boot=True),
        )
        assert rate == 4000 * 512 / 20
        assert events == ("1 h are skipped: the machine was restarted, and the counter began anew",)


def test_a_lasting_counter_goes_on_over_a_restart() -> None:
    rate, events = rate_of(sample(0, 1000), sample(1000, 3000, boot="b"))
    assert (rate, events) == (2000 * 512 / 1000, ())


def test_a_counter_that_goes_backwards_skips_the_interval() -> None:
    rate, events = rate_of(sample(0, 10**6), sample(10, 2 * 10**6), sample(20, 5), sample(30, 10**6 + 5))
    assert rate == 2 * 10**6 * 512 / 20
    assert "the counter went backwards" in events[0]


@given(st.integers(0, WRAP // 10 - 1), st.integers(1, WRAP // 10 - 1))
def test_a_counter_of_32_bits_that_wraps_is_continued(after: int, before: int) -> None:
    rate, events = rate_of(sample(0, WRAP - before), sample(10, after))
    assert rate == pytest.approx((after + before) * 512 / 10)
    assert events == ("the counter of 32 bits wrapped and is continued",)


def test_a_counter_that_disappears_ends_the_rate() -> None:
    rate, events = rate_of(sample(0, 0), sample(10, 100), sample(20, None), sample(30, None))
    assert rate == 5120
    assert events == ("the counter is missing in the last 2 samples: the rate ends before",)
    rate, events = rate_of(sample(0, 0), sample(10, None), sample(20, 200))
    assert rate == 5120
    assert "missing in between" in events[0]
    assert wear_rate([sample(0, None)], "kernel") is None
    assert wear_rate([sample(0, 1)], "kernel") is None


def test_a_clock_that_goes_backwards_skips_the_interval() -> None:
    rate, events = rate_of(sample(100, 0), sample(110, 100), sample(50, 150), sample(60, 250))
    assert rate == 5120
    assert "the clock" in events[0]


def test_another_unit_is_not_compared() -> None:
    assert wear_rate([sample(0, 1), sample(1, 5, unit=1024)], "kernel") is None


def test_the_interval_covers_the_true_rate_about_as_often_as_it_says(request: pytest.FixtureRequest) -> None:
    seed = 20261124
    random_ = random.Random(seed)
    hits, studies = 0, 1000
    for _ in range(studies):
        samples, value = [sample(0, 0)], 0
        for number in range(1, 41):
            value += round(random_.expovariate(1 / 10_000))
            samples.append(sample(number * 60.0, value))
        found = wear_rate(samples, "kernel")
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 10_000 * 512 / 60 <= found.high
    assert 0.90 <= hits / studies <= 0.98, f"seed {seed}: {hits} of {studies}"


def test_the_day_of_wear_out() -> None:
    now = 1_790_000_000.0  # 2026-09-21, UTC
    assert str(wear_out_day(now, 365 * 86_400)) == "2027-09-21"
    assert wear_out_day(now, 1001 * YEAR_S) is None
    step = round(100 * TB / YEAR_S * 3600 / 512)
    found = watched([sample(now + 3600 * hour, step * hour) for hour in range(200)])
    text = watch_text(
        found,
        target="/srv",
        now_s=now,
        capacity_bytes=10**12,
        rated_bytes=300 * TB,
        written_bytes=100 * TB,
        width=80,
    )
    assert "/srv is written at 100.0 TB/year (95 % CI 100.0 to 100.0)" in text
    assert "0.274 drive writes a day" in " ".join(text.split())
    assert "Wear-out of 300 TB, 100 TB of them written: 2028-09-20" in " ".join(text.split())
    assert "has not seen a week" not in text
    assert max(map(len, text.splitlines())) <= 80
