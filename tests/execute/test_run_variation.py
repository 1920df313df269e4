"""What the runs of an arm say of themselves: worked sums, and series of known memory."""

import numpy as np
import pytest

from mileage.analysis.run_variation import RunSums, _of
from mileage.judge.within_run import within_run
from mileage.model.run_record import Series
from tests import entries


def record(ops: list[int], *, written: int, elapsed_s: float) -> RunSums:
    series = Series(interval_ns=1, bytes_read=[], bytes_written=[], ops=ops, latency_sum_ns=[])
    return RunSums.of(
        entries.record(
            elapsed_ns=round(elapsed_s * 1e9), bytes_written=written, ops_written=sum(ops), series=series
        )
    )


def test_all_work_over_all_time_weighs_runs_by_their_length() -> None:
    found = _of(
        "write", "before", [record([10], written=100, elapsed_s=1), record([20], written=300, elapsed_s=3)]
    )
    assert (found.bytes_per_s, found.operations_per_s) == (100, 7.5)
    assert (found.intervals, found.intervals_effective, found.half_width_percent) == (0, None, None)
    assert _of("write", "before", [record([], written=0, elapsed_s=0)]).bytes_per_s == 0


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_a_series_with_memory_is_worth_fewer_intervals(memory: float) -> None:
    rng = np.random.default_rng([5, int(memory * 10)])
    rates, level = [], 0.0
    for step in rng.normal(0, 20, 2000):
        level = memory * level + float(step)
        rates.append(round(1000 + level))
    found = _of("write", "before", [record([*rates, 1], written=1, elapsed_s=1)])
    expected = within_run([float(rate) for rate in rates])
    assert found.intervals == 2000
    assert found.intervals_effective == expected.n_eff
    assert expected.half_width is not None
    assert found.half_width_percent == pytest.approx(100 * expected.half_width / expected.mean)
    worth = 2000 * (1 - memory) / (1 + memory)
    assert found.intervals_effective == pytest.approx(worth, rel=0.35)
