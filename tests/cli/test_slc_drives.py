"""Drives that were sold with a cache of one-bit cells: where their cliff is, found in the series, not by eye."""

import json
from itertools import accumulate

import pytest

from mileage.judge.regimes import regimes
from tests.command import mileage

Series = tuple[list[float], list[float]]


def written(name: str, size: str) -> Series:
    """Rates in MB/s of a copy of `size` bytes to a new drive, 1 MiB at a time, and GB written after each interval.

    The drives have their whole capacity: what is simulated are the pages that are written, and that takes seconds.
    """
    words = [
        "drive",
        "run",
        name,
        "-w",
        "sequential_write",
        "-r",
        "1MiB",
        "-d",
        "1",
        "--size",
        size,
        "--json",
    ]
    result = mileage(*words)
    assert result.returncode == 0, result.stderr
    series = json.loads(result.stdout)["series"]
    moved = series["bytes_written"][:-1]
    seconds = series["interval_ns"] / 1e9
    return [count / seconds / 1e6 for count in moved], [count / 1e9 for count in accumulate(moved)]


def test_the_bx200_falls_to_its_three_bit_cells_behind_3_gb() -> None:
    rates, written_gb = written("crucial-bx200-240gb", "11GB")
    found = regimes(rates)
    assert found.kind == "cliff", found
    (cut,) = found.cuts
    # An interval is as long as it is; and the write buffer takes 8 MiB more.
    assert written_gb[cut - 1] - 0.02 <= 3.0 <= written_gb[cut] + 0.02
    fast, slow = (segment.level for segment in found.segments)
    assert fast == pytest.approx(490, rel=0.02)
    assert slow == pytest.approx(60, rel=0.02)


def test_the_600p_writes_560_mb_per_s_only_below_17_5_gb() -> None:
    rates, written_gb = written("intel-600p-512gb", "40GB")
    found = regimes(rates)
    first = found.segments[0]
    assert first.level == pytest.approx(560, rel=0.02)
    assert written_gb[first.end - 1] - 0.3 <= 17.5 <= written_gb[first.end] + 0.3
    # Behind the cliff it goes up and down as blocks are folded; the level is that of the whole rest.
    behind = rates[first.end :]
    assert sum(behind) / len(behind) == pytest.approx(95, rel=0.02)
    assert max(behind) < 560


def test_a_copy_that_fits_the_cache_never_sees_the_cliff() -> None:
    rates, _ = written("intel-600p-512gb", "10.7GB")
    found = regimes(rates)
    assert len(found.segments) == 1, found
    assert found.segments[0].level == pytest.approx(560, rel=0.02)
