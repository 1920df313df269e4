"""How changes and quantities are written."""

import pytest

from mileage.model.metrics import METRICS, Metric
from mileage.report.wording import (
    digits,
    five_digits,
    interval,
    p_value,
    percent,
    plain,
    quantity,
    second_quantity,
    shortened,
)


@pytest.mark.parametrize(
    ("ratio", "printed"),
    [
        (0.937, "-6.3 %"),
        (1.0, "0.0 %"),
        (1.00049, "0.0 %"),
        (0.99951, "0.0 %"),
        (1.052, "+5.2 %"),
        (1.9, "+90.0 %"),
        (2.5, "2.50 times"),
        (3.4, "3.40 times"),
        (0.01, "-99.0 %"),
        (None, "n/a"),
    ],
)
def test_a_ratio_is_printed_as_a_change(ratio: float | None, printed: str) -> None:
    assert plain(percent(ratio)) == printed


@pytest.mark.parametrize(
    ("ends", "printed"),
    [
        ((0.916, 0.959), "-8.4 to -4.1 %"),
        ((0.9998, 1.0003), "-0.02 to +0.03 %"),
        ((0.5, 40.0), "-50 to +3900 %"),
        ((0.5, 1e9), "-50 to > +10000 %"),
        ((124.2, 126.0), "124 to 126 times"),
        ((124.8, 125.1), "124.8 to 125.1 times"),
        ((3.5981, 3.6018), "3.598 to 3.602 times"),
        ((3.6, 3.6), "no spread"),
        ((1.0, 1.0), "no spread"),
        ((0.77291, 0.77309), "-22.71 to -22.69 %"),
        (None, "no interval"),
    ],
)
def test_an_interval_is_printed_as_changes(ends: tuple[float, float] | None, printed: str) -> None:
    assert plain(interval(ends)) == printed


@pytest.mark.parametrize(
    ("ends", "estimate", "printed"),
    [
        ((0.85, 56.9), 6.97, "0.85 to 56.9 times"),
        ((1.9, 1e9), 16.6, "1.90 to > 100 times"),
        ((2.46, 3.83), 3.07, "2.46 to 3.83 times"),
        ((0.5, 40.0), 1.9, "-50 to +3900 %"),
    ],
)
def test_an_interval_has_the_unit_of_its_estimate(
    ends: tuple[float, float], estimate: float, printed: str
) -> None:
    assert plain(interval(ends, estimate)) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [(610_600.4, "610600"), (25.1, "25.1"), (2.2, "2.2"), (0.00004567, "0.00004567"), (0, "0"), (3, "3")],
)
def test_a_measured_value_has_no_exponent(value: float, printed: str) -> None:
    assert five_digits(value) == printed


@pytest.mark.parametrize(
    ("metric", "value", "printed"),
    [
        ("rate_bytes_per_s", 252706816.0, "253 MB/s"),
        ("ops_per_s", 12345.6, "12,346 IOPS"),
        ("latency_p99_ns", 0.5, "0.5 ns"),
        ("latency_p99_ns", 1_240_000.0, "1.24 ms"),
        ("latency_p99_ns", 87_000.0, "87.0 µs"),
        ("ops_per_s", None, "n/a"),
    ],
)
def test_a_quantity_has_the_unit_that_fits(metric: str, value: float | None, printed: str) -> None:
    assert plain(quantity(metric, value)) == printed


@pytest.mark.parametrize("row", METRICS.values(), ids=lambda row: row.word)
def test_every_metric_has_a_unit(row: Metric) -> None:
    """A metric that is new has one too: its own name is no unit."""
    unit = plain(quantity(row.figure, 2e6)).partition(" ")[2]
    assert unit == ("ms" if row.quantile else {"throughput": "MB/s", "iops": "IOPS", "time": "s"}[row.word])


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.0, "0"),
        (1.5e-7, "0.00000015"),
        (0.0123, "0.0123"),
        (61_999_996_928.0, "62,000,000,000"),
        (9.87e6, "9,870,000"),
    ],
)
def test_no_number_has_an_exponent(value: float, printed: str) -> None:
    assert digits(value) == printed


def test_only_rates_have_a_second_unit() -> None:
    assert plain(second_quantity("rate_bytes_per_s", 252706816.0)) == "241 MiB/s"
    assert second_quantity("ops_per_s", 1.0) == ""


def test_p_values_have_two_digits_and_a_floor() -> None:
    assert [p_value(p) for p in (None, 1e-9, 0.00123, 0.5)] == ["n/a", "< 0.0001", "0.0012", "0.50"]


def test_shortened_names_keep_their_ends() -> None:
    assert shortened("throughput.random_write 16 MiB", 20) == "throughput.ra…16 MiB"
    assert shortened("short", 20) == "short"
