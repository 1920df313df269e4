"""Results of fio's jobs: sums over files, processes and groups, and how they are printed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mileage.formats.fio_print import document, normal, number_text, terse
from mileage.formats.fio_results import JobResult, RateSamples, group_rates
from tests.formats.sample_reader import SAMPLES

MIB = 1 << 20


def latencies(counts: dict[int, int]) -> dict[str, Any]:
    """A histogram of latencies below 256 ns, whose buckets are the nanoseconds themselves."""
    return {
        "count": sum(counts.values()),
        "sum_ns": sum(value * count for value, count in counts.items()),
        "min_ns": min(counts, default=0),
        "max_ns": max(counts, default=0),
        "buckets": sorted(counts.items()),
    }


def record(
    read: int = 0, written: int = 0, elapsed_ms: float = 1000, series: list[int] | None = None
) -> dict[str, Any]:
    """A record of operations of 1 MiB that took 100 ns each."""
    moved = series or [0] * 10
    empty = latencies({})
    return {
        "bytes_read": read * MIB,
        "bytes_written": written * MIB,
        "ops_read": read,
        "ops_written": written,
        "elapsed_ns": elapsed_ms * 1e6,
        "latency": {
            "read": latencies({100: read} if read else {}),
            "write": latencies({100: written} if written else {}),
            "sync": empty,
        },
        "series": {
            "interval_ns": 100_000_000,
            "bytes_read": moved if read else [0] * len(moved),
            "bytes_written": moved if written else [0] * len(moved),
        },
        "usage": {"user_ns": 1_000_000, "system_ns": 0, "switches_voluntary": 1, "switches_involuntary": 2},
    }


def job(name: str = "a", group: int = 0, **more: Any) -> JobResult:
    return JobResult(name, group, 1, depth=1, level=1, options={"name": name}, jobs=1, **more)


def test_times_of_files_one_after_the_other_add_up_and_those_side_by_side_do_not() -> None:
    one = job()
    one.add_process([record(read=2, elapsed_ms=300), record(read=2, elapsed_ms=500)], 500)
    assert one.directions["read"].runtime_ms == 800
    one.add_process([record(read=4, elapsed_ms=700)], 500)
    assert (one.directions["read"].runtime_ms, one.directions["read"].operations) == (800, 8)
    assert one.directions["read"].bytes_per_s == 8 * MIB * 1000 // 800
    assert one.directions["write"].runtime_ms == 0


def test_what_a_writer_reads_back_has_its_own_time() -> None:
    one = job()
    one.add_process([record(written=8, elapsed_ms=900), record(read=8, elapsed_ms=100)], 500)
    assert (one.directions["write"].runtime_ms, one.directions["read"].runtime_ms) == (900, 100)


def test_rates_are_those_of_whole_intervals_in_which_something_moved() -> None:
    moved = [MIB] * 5 + [0] * 5 + [2 * MIB] * 5 + [9 * MIB] * 2
    one = job()
    one.add_process([record(read=24, elapsed_ms=1700, series=moved)], 500)
    rates = one.directions["read"].kib_per_s
    assert (rates.count, rates.least, rates.most, rates.mean) == (2, 10 * 1024, 20 * 1024, 15 * 1024)
    assert one.directions["read"].ops_per_s.most == 20


def test_an_interval_may_hold_several_files() -> None:
    one = job()
    short = record(read=3, elapsed_ms=300, series=[MIB] * 3)
    one.add_process([short, record(written=2, elapsed_ms=400), short, short, short], 500)
    # 1,200 ms of reading, a tenth of a second 1 MiB: two whole intervals of 500 ms.
    rates = one.directions["read"].kib_per_s
    assert (rates.count, rates.mean) == (2, pytest.approx(10240))
    assert one.directions["read"].ops_per_s.mean == pytest.approx(10)


def test_rates_of_processes_side_by_side_add_up() -> None:
    one = RateSamples.of([10, 20])
    one.add(RateSamples.of([30]))
    assert (one.least, one.most, one.count, one.mean, one.squares) == (40, 50, 3, 45, 50)
    assert one.deviation == 5


def test_the_share_of_a_group_is_that_of_the_mean_rate() -> None:
    first, second = job("a"), job("b")
    first.add_process([record(read=10, series=[MIB] * 10)], 500)
    second.add_process([record(read=30, series=[3 * MIB] * 10)], 500)
    assert group_rates([first, second])[0, "read"] == 40 * MIB
    found = json.loads(document([first, second], {}, 1))["jobs"]
    assert [row["read"]["bw_agg"] for row in found] == [25, 75]
    assert "per=25.00%" in normal([first, second], 1)
    assert ";25.000000%;" in terse([first, second])


def test_processor_time_is_a_share_of_the_time_of_all_processes() -> None:
    one = job(process_ms=100)
    one.add_process([record(read=1)], 500)
    found = json.loads(document([one], {"bs": "1m"}, 3.9))
    (row,) = found["jobs"]
    assert (row["usr_cpu"], row["ctx"], row["job_runtime"], row["elapsed"]) == (1, 3, 100, 4)
    assert found["global options"] == {"bs": "1m"}


def test_a_share_that_is_less_than_is_printed_is_not_nothing() -> None:
    one = job()
    found = record(read=100_000)
    found["latency"]["read"] = latencies({60: 99_999, 240: 1})
    one.add_process([found], 500)
    assert one.latency_shares()["latency_ns"]["250"] == 0.01
    assert "250=0.01%" in normal([one], 1)


@pytest.mark.parametrize(
    ("value", "digits", "binary", "text"),
    [
        (999, 4, False, "999"),
        (9999, 4, False, "9999"),
        (68_019, 4, False, "68.0k"),
        (68_960, 4, False, "69.0k"),
        (17_510_123, 6, False, "17510k"),
        (17_510_500, 6, False, "17511k"),
        (5_388_673, 6, False, "5388.7k"),
        (278_000_000, 4, False, "278M"),
        (277_872_640, 4, True, "265Mi"),
        (1_028 * 1024, 4, True, "1028Ki"),
    ],
)
def test_numbers_are_shortened_as_fio_does(value: int, digits: int, binary: bool, text: str) -> None:
    assert number_text(value, digits, binary=binary) == text


def test_percentiles_stand_in_rows_as_wide_as_those_of_fio() -> None:
    one = job()
    found = record(read=100)
    found["latency"]["read"] = latencies(dict.fromkeys(range(100, 200), 1))
    one.add_process([found], 500)
    lines = normal([one], 1).splitlines()
    at = lines.index("    clat percentiles (nsec):")
    assert lines[at + 1] == ("     |  1.00th=[  100],  5.00th=[  104], 10.00th=[  109], 20.00th=[  119],")
    assert lines[at + 5] == "     | 99.99th=[  199]"
    assert "    clat (nsec): min=100, max=199, avg=149.50, stdev=29.01" in lines


def test_a_job_without_operations_is_not_in_the_normal_output() -> None:
    assert normal([job()], 1) == "\n\nRun status group 0 (all jobs):\n"


def test_latencies_of_which_percentiles_are_printed() -> None:
    one = job(percentiles_of=("lat",), description="text")
    one.add_process([record(read=1)], 500)
    (row,) = json.loads(document([one], {}, 1, plus=True))["jobs"]
    assert row["desc"] == "text"
    assert "percentile" not in row["read"]["clat_ns"]
    assert row["read"]["lat_ns"]["percentile"]["99.000000"] == 100
    assert row["read"]["lat_ns"]["bins"] == {"100": 1}
    assert "    lat percentiles (nsec):" in normal([one], 1)


def keys(value: Any, place: str = "") -> set[str]:
    """The keys of a document with the types of their values."""
    if isinstance(value, dict):
        return {found for key, own in value.items() for found in keys(own, f"{place}/{key}")}
    if isinstance(value, list):
        return {found for own in value for found in keys(own, f"{place}[]")}
    return {f"{place} {type(value).__name__}"}


def test_the_json_has_the_keys_and_types_of_fio() -> None:
    real = json.loads((SAMPLES / "fio-3.33-jobs.json").read_text())
    names = ("global options", "disk_util")
    one = job()
    one.add_process([record(read=24, written=24, elapsed_ms=1700, series=[MIB] * 17)], 500)
    own = json.loads(document([one], {}, 1))
    both = [row for row in real["jobs"] if row["read"]["total_ios"] and row["write"]["total_ios"]]
    for found in (real, own):
        for name in names:
            found.pop(name, None)
    for row in (*both, *own["jobs"]):
        del row["job options"]
    assert keys({**real, "jobs": both}) == keys(own)
