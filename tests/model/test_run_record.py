"""What a run record works out of itself, against sums that the test works out by hand or from single values."""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest

from mileage._core import Drive
from mileage.formats.histogram import histogram_of
from mileage.model.histogram import Histogram, bounds_of, bucket_of
from mileage.model.run_record import RunRecord
from mileage.plan.workload import Stop, Workload
from mileage.targets.profiles import load_profile
from tests.entries import record


def histogram(values: list[int]) -> Histogram:
    return histogram_of({value: values.count(value) for value in values})


def test_merged_histograms_have_the_quantiles_of_all_values() -> None:
    seed = random.randrange(1 << 32)
    drawn = random.Random(seed)
    parts = [[round(drawn.lognormvariate(11, 2)) for _ in range(drawn.randrange(60))] for _ in range(5)]
    merged = Histogram.merge(histogram(part) for part in parts)
    values = sorted(value for part in parts for value in part)
    assert (merged.count, merged.sum_ns) == (len(values), sum(values)), f"seed {seed}"
    for q in (0.0, 0.5, 0.9, 0.99, 1.0):
        found = merged.quantile_ns(q)
        if not values:
            assert found is None
            continue
        true = values[max(int(np.ceil(q * len(values))) - 1, 0)]
        assert found == pytest.approx(true, rel=0.004), f"seed {seed}, q {q}"


@pytest.mark.parametrize("value", [0, 255, 256, 257, 10**6, (1 << 63) - 1])
def test_a_latency_lies_in_its_bucket(value: int) -> None:
    low, high = bounds_of(bucket_of(value))
    assert low <= value <= high
    assert bucket_of(low) == bucket_of(high) == bucket_of(value)


def test_rates_are_all_work_over_elapsed_time() -> None:
    run = record(bytes_read=3000, bytes_written=1000, ops_read=3, ops_discarded=1, elapsed_ns=2_000_000_000)
    assert (run.rate_bytes_per_s, run.ops_per_s, run.elapsed_s) == (2000.0, 2.0, 2.0)
    assert (record().rate_bytes_per_s, record().ops_per_s) == (0.0, 0.0)


def test_records_of_runs_one_after_the_other_add_up() -> None:
    first = record(bytes_written=1, elapsed_ns=10, counters={"a": 1}, latency={"write": histogram([5, 7])})
    second = record(
        bytes_written=2, elapsed_ns=20, counters={"a": 2, "b": 4}, latency={"read": histogram([9])}
    )
    both = RunRecord.merge([first, second])
    assert (both.bytes_written, both.elapsed_ns, both.counters) == (3, 30, {"a": 3, "b": 4})
    assert both.service == histogram([5, 7, 9])


def test_a_run_in_the_open_loop_is_judged_from_when_operations_were_due() -> None:
    closed = record(latency={"read": histogram([5]), "sync": histogram([1000])})
    assert closed.judged_latency == histogram([5])
    due = record(latency={"read": histogram([5]), "response": histogram([50])})
    assert due.judged_latency == histogram([50])


def test_a_series_as_an_array_lacks_the_last_interval() -> None:
    lists = {
        "bytes_read": [1, 2, 3],
        "bytes_written": [4, 5, 6],
        "ops": [1, 1, 1],
        "latency_sum_ns": [0, 0, 0],
    }
    series = record(series={"interval_ns": 500_000_000, **lists}).series
    assert series.bytes_moved == [5, 7, 9]
    assert series.array("ops").tolist() == [1.0, 1.0]
    assert series.interval_s == 0.5


def test_a_record_of_the_core_is_read_and_written_without_a_loss() -> None:
    span = Workload(
        pattern="random",
        read_percent=50,
        record_bytes=4096,
        span_start_bytes=0,
        span_bytes=1 << 24,
        depth=1,
        threads=1,
        stop=Stop(operations=64),
        seed=7,
    )
    profile = load_profile("plain-64gib,blocks_per_plane=8,capacity_bytes=134217728")
    found = RunRecord.from_json(Drive(profile).run(span.to_json()))
    assert found.ops_read + found.ops_written == found.operations == 64
    assert RunRecord.from_json(msgspec.json.encode(found)) == found
