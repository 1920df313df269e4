"""Power cuts on a modelled host lose acknowledged writes where the contract of fsync is broken, and nowhere else."""

import pytest

from benchmarks.power_cuts.__main__ import Row, rows


def found(cuts: int) -> dict[tuple[str, str, bool, str], Row]:
    made = rows("phenom-8gib", cuts, seed=29)
    return {(row.drive.name, row.drive.cache, row.barriers, row.drive.changes): row for row in made}


@pytest.mark.parametrize("cuts", [50, pytest.param(1000, marks=pytest.mark.thorough)])
def test_only_a_volatile_cache_without_barriers_loses_what_was_acknowledged(cuts: int) -> None:
    made = found(cuts)
    assert len(made) == 14
    losing = {(cache, barriers) for (_, cache, barriers, _), row in made.items() if row.losing}
    assert losing == {("volatile", False)}
    assert all(row.cuts == cuts and row.holds for row in made.values())


def test_the_rates_that_a_reader_of_the_array_tests_reports_are_of_this_order() -> None:
    made = found(100)
    slow = made["intel-x25e-64gb", "volatile", True, ",write_buffer_power=volatile,flush_us=10000"]
    safe = made["intel-x25e-64gb", "off", False, ""]
    assert slow.synced_per_s == pytest.approx(50, rel=0.2)
    assert 1200 / 2 < safe.synced_per_s < 1200 * 2
