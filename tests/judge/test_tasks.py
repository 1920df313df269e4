"""Both IOR listings of the study of SSD degradation of 2010 recomputed from their rows, and the tools' formulas."""

from __future__ import annotations

import statistics
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.judge.tasks import (
    DECIMAL,
    MIB,
    bandwidth_mib_s,
    column,
    deviation_over_n,
    mdtest_per_s,
    mdtest_tree_per_s,
    metarates_figures,
    operations_per_s,
    smallest_mean_latency_s,
    summary,
)
from mileage.plan.tasks import Ior


class Row(NamedTuple):
    """A summary row of a listing with the row of its first repetition, the only one that was published."""

    run: str
    operation: str
    bw: str
    wr_rd_s: str
    total_s: str
    max_mib: str
    min_mib: str
    mean_mib: str
    sd_mib: str
    printed_ops: tuple[str, str, str, str]
    mean_s: str
    max_mb: str


SHAPES = {
    "small": Ior(4, transfer_bytes=4096, block_bytes=65536, segments=200_000, files="per_thread"),
    "large": Ior(4, transfer_bytes=262144, block_bytes=1048576, segments=14_000, files="per_thread"),
}
AGGREGATE = {"small": 52_428_800_000, "large": 58_720_256_000}
#: IOR 2.x listings on an Intel X25-E, printed in the appendix of the study ("-a POSIX -b 64k -F -i 10 -s 200000 -t 4k
#: -vv" and "-a POSIX -b 1M -F -i 10 -s 14000 -t 256k -vv", 4 tasks).
ROWS = [
    Row(
        *("small", "write", "198.23", "252.24", "252.24", "198.43", "197.84", "198.19", "0.17"),
        *(("0.25", "0.25", "0.25", "0.00"), "252.28032", "208.07"),
    ),
    Row(
        *("small", "read", "241.51", "207.03", "207.03", "242.43", "240.65", "241.78", "0.47"),
        *(("0.31", "0.31", "0.31", "0.00"), "206.79841", "254.20"),
    ),
    Row(
        *("large", "write", "197.90", "282.96", "282.96", "197.95", "197.68", "197.79", "0.09"),
        *(("0.06", "0.06", "0.06", "0.00"), "283.12821", "207.56"),
    ),
    Row(
        *("large", "read", "241.42", "231.97", "231.97", "242.10", "241.06", "241.56", "0.31"),
        *(("0.07", "0.07", "0.07", "0.00"), "231.82731", "253.86"),
    ),
]
PRINTED_OPS = {
    ("small", "write"): 50_737,
    ("small", "read"): 61_896,
    ("large", "write"): 791,
    ("large", "read"): 966,
}
"""The operations per second that were really done, by the printed mean time."""


def half(text: str) -> float:
    """Half a unit of the last printed digit."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


def interval(text: str) -> tuple[float, float]:
    """What a printed figure may have been."""
    return float(text) - half(text), float(text) + half(text)


def overlap(found: tuple[float, float], printed: str) -> bool:
    """Whether a recomputed interval and a printed figure agree."""
    low, high = interval(printed)
    return min(found) <= high + 1e-9 and max(found) >= low - 1e-9


def of_each(function: object, text: str) -> tuple[float, float]:
    """A falling function over all that a printed figure may have been."""
    low, high = interval(text)
    return tuple(sorted((function(low), function(high))))  # type: ignore[operator,return-value]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.run}-{row.operation}")
def test_every_figure_of_the_listings_follows_from_its_rows(row: Row) -> None:
    ior, size = SHAPES[row.run], AGGREGATE[row.run]
    assert ior.aggregate_bytes == size == ior.tasks * ior.segments * ior.block_bytes
    assert ior.transfers == ior.tasks * ior.segments * (ior.block_bytes // ior.transfer_bytes)
    # The row of the first repetition: bw is the aggregate over the total.
    assert overlap(of_each(lambda total_s: bandwidth_mib_s(size, total_s), row.total_s), row.bw)
    # It is one of the repetitions of the summary.
    assert float(row.min_mib) <= float(row.bw) <= float(row.max_mib)
    assert float(row.min_mib) <= float(row.mean_mib) <= float(row.max_mib)
    # The mean time is that of the mean rate, but for the spread of the ten (Jensen's difference, below 1e-5 of it).
    at_mean = of_each(lambda mean_s: bandwidth_mib_s(size, mean_s), row.mean_s)
    spread = (float(row.sd_mib) + half(row.sd_mib)) ** 2 / float(row.mean_mib)
    assert overlap((at_mean[0], at_mean[1] + spread), row.mean_mib)
    # Ten values between the two extremes, of which each is one: the largest deviation over n is half of the range, the
    # smallest that of two values at the ends and eight in the middle.
    span = float(row.max_mib) - float(row.min_mib)
    assert span / 20**0.5 - 0.01 <= float(row.sd_mib) <= span / 2 + 0.01
    # Max Write and Max Read in both units.
    assert overlap(tuple(end * DECIMAL for end in interval(row.max_mib)), row.max_mb)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.run}-{row.operation}")
def test_the_operations_column_done_right_and_the_printed_one_explained(row: Row) -> None:
    """50,737 operations per second are printed as 0.25: the transfers of one of 200,000 segments over the time."""
    ior, size = SHAPES[row.run], AGGREGATE[row.run]
    mean_s = float(row.mean_s)
    right = operations_per_s(ior.transfers, mean_s)
    assert round(right) == PRINTED_OPS[row.run, row.operation]
    assert right == pytest.approx(bandwidth_mib_s(size, mean_s) * MIB / ior.transfer_bytes)
    times_s = [size / MIB / float(text) for text in (row.max_mib, row.min_mib, row.mean_mib)]
    for time_s, printed in zip(times_s, row.printed_ops, strict=False):
        wrong = operations_per_s(ior.tasks * (ior.block_bytes // ior.transfer_bytes), time_s)
        assert f"{wrong:.2f}" == printed
        assert wrong * ior.segments == pytest.approx(operations_per_s(ior.transfers, time_s))
    deviation = float(row.sd_mib) / float(row.mean_mib) * float(row.printed_ops[2])
    assert f"{deviation:.2f}" == row.printed_ops[3]


@given(st.lists(st.floats(1.0, 1e4), min_size=2, max_size=20))
def test_the_summary_agrees_with_the_standard_library(totals_s: list[float]) -> None:
    found = summary(1 << 30, 4096, totals_s)
    rates = [1024 / total_s for total_s in totals_s]
    assert found.mib_s.max == pytest.approx(max(rates))
    assert found.mib_s.min == pytest.approx(min(rates))
    assert found.mib_s.mean == pytest.approx(statistics.fmean(rates))
    assert found.mib_s.deviation_over_n == pytest.approx(statistics.pstdev(rates), abs=1e-6)
    assert found.operations_per_s.mean == pytest.approx(4 * found.mib_s.mean)
    assert found.mean_s == pytest.approx(statistics.fmean(totals_s))


def test_deviations_divide_by_n() -> None:
    assert deviation_over_n([1.0, 3.0]) == 1.0
    assert column([2.0]) == (2.0, 2.0, 2.0, 0.0)


def test_the_smallest_mean_is_the_fastest_task() -> None:
    assert smallest_mean_latency_s([2.0, 1.0, 4.0], [1000, 1000, 1000]) == 0.001


def test_mdtest_and_metarates_take_the_slowest_task() -> None:
    assert mdtest_per_s([100, 100], [0.5, 1.0]) == 200.0
    assert mdtest_tree_per_s(3 * 21, 3, 0.5) == 42.0
    figures = metarates_figures(200, [0.5, 1.0])
    assert figures.max_rate == 200.0
    assert figures.min_rate == 100.0
    assert figures.average_rate == pytest.approx(133.333, abs=1e-3)
    assert figures.total_rate == 200.0
