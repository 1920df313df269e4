"""What was measured in a cell: rates run by run, latencies of all runs together."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from mileage.formats.histogram import histogram_of
from mileage.model.journal_entries import Run
from mileage.store.cell_measurements import measured_cells
from mileage.store.journal import JournalContent
from tests.entries import entry_of, record, run


def entry(number: int, cell: str, seconds: int, latencies: list[int], **more: Any) -> Run:
    done = record(
        bytes_read=4096 * len(latencies),
        ops_read=len(latencies),
        elapsed_ns=seconds * 10**9,
        latency={"read": histogram_of(Counter(latencies))},
        counters={"pages": 2},
        **more,
    )
    return run(number, stage="s", cell=cell, record=done)


def content(*entries: Run) -> JournalContent:
    return JournalContent([*entries], 0, 0)


def test_the_runs_of_a_cell_come_together() -> None:
    found = measured_cells(
        content(entry(2, "b", 1, [7]), entry(3, "a", 2, [10, 30]), entry(1, "a", 1, [20, 20]))
    )
    assert [cell.cell for cell in found] == ["a", "b"]
    first = found[0]
    assert first.runs == 2
    assert first.ops_per_s == (2.0, 1.0)
    assert first.rate_bytes_per_s == (8192.0, 4096.0)
    assert first.latency["read"].count == 4
    assert first.latency["read"].mean_ns == 20
    whole = first.latency["all"]
    # A median needs ten operations on either side.
    assert (whole.min_ns, whole.p50_ns, whole.max_ns) == (10, None, 30)
    assert "write" not in first.latency
    assert first.counters == {"pages": 4}
    assert first.cpu_ns_per_op is None


def test_what_a_run_cost_the_machine() -> None:
    usage = {
        "user_ns": 10**8,
        "system_ns": 10**8,
        "clock": "tsc",
        "overhead_ps": 4000,
        "limited_by": "device",
    }
    (cell,) = measured_cells(content(entry(0, "a", 1, [1] * 100, usage=usage)))
    assert cell.cpu_ns_per_op == 2 * 10**6
    assert cell.cpu_cores == pytest.approx(0.2)
    assert cell.overhead_ns_per_op == 4.0
    assert cell.limited_by == ("device",)


def test_what_the_device_did_not_read_came_from_memory() -> None:
    device = {"read_bytes": 1024}
    (cell,) = measured_cells(
        content(
            entry(0, "a", 1, [1], usage={"device": device}),
            entry(1, "a", 1, [1] * 2, usage={"device": device}),
        )
    )
    assert cell.memory_percent == (75.0, 87.5)


def test_a_device_that_read_more_leaves_nothing_to_memory() -> None:
    (cell,) = measured_cells(content(entry(0, "a", 1, [1], usage={"device": {"read_bytes": 9999}})))
    assert cell.memory_percent == (0.0,)


def test_seconds_are_whole_and_the_last_is_omitted() -> None:
    series = {
        "interval_ns": 5 * 10**8,
        "bytes_read": [10, 20, 30, 40, 50, 60, 1],
        "bytes_written": [0] * 7,
        "ops": [],
        "latency_sum_ns": [],
    }
    (cell,) = measured_cells(content(entry(0, "a", 3, [1], series=series)))
    assert cell.per_second_bytes == (30.0, 110.0)


def test_what_the_device_counted_is_summed_and_every_note_stands_once() -> None:
    usage = {"clock": "tsc", "user_ns": 1, "system_ns": 1, "device": {"reads": 3, "read_bytes": 8192}}
    output = {"usage": usage, "notes": ["one thread was left behind", "the log lacks 2 of 9 operations"]}
    found = measured_cells(content(entry(1, "a", 1, [7], **output), entry(2, "a", 1, [7], **output)))
    assert found[0].device == {"reads": 6, "read_bytes": 16384}
    assert found[0].notes == ("one thread was left behind", "the log lacks 2 of 9 operations")
    assert measured_cells(content(entry(1, "a", 1, [7])))[0].device == {}


def test_quantiles_are_known_from_ten_operations_beyond_them() -> None:
    few, enough = (
        measured_cells(content(entry(0, "a", 1, [*range(count)])))[0].latency["all"] for count in (999, 1000)
    )
    assert (few.p90_ns is None, few.p99_ns, few.p99_9_ns) == (False, None, None)
    assert (enough.p99_ns is None, enough.p99_9_ns) == (False, None)


def test_a_failed_run_that_was_not_repeated_is_counted() -> None:
    """Runs 0 and 1 failed; 1 was done again."""
    planned = [
        SimpleNamespace(index=at, stage="s", cell="a", role="measure", arm="torture") for at in range(3)
    ]
    plan: Any = SimpleNamespace(runs=planned, cells=())
    lost = [entry_of({"kind": "failed", "run": at, "cause": "io", "message": "x"}) for at in (0, 1)]
    journal = JournalContent([*lost, entry(1, "a", 1, [7]), entry(2, "a", 1, [7])], 0, 0)
    (cell,) = measured_cells(journal, plan)
    assert (cell.runs, cell.failed) == (2, 1)


def committed(times: list[int], unfinished: list[int]) -> dict[str, Any]:
    latency = {"commit": histogram_of(Counter(times)), "unfinished_commit": histogram_of(Counter(unfinished))}
    return {"latency": {kind: found for kind, found in latency.items() if found.count}}


@pytest.mark.parametrize(
    ("unfinished", "bounds"),
    [
        ([], ()),
        ([10**9], ("mean_ns", "max_ns")),
        ([10**9] * 12, ("mean_ns", "p99_ns", "max_ns")),
        ([5], ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")),
    ],
)
def test_commits_of_failed_runs_that_never_ended_bound_quantiles_from_below(
    unfinished: list[int], bounds: tuple[str, ...]
) -> None:
    """1,000 commits of 10 to 1,009 ns; those that never ended come with a run that failed and was not repeated."""
    planned = [
        SimpleNamespace(index=at, stage="s", cell="a", role="measure", arm="torture") for at in range(2)
    ]
    plan: Any = SimpleNamespace(runs=planned, cells=())
    done = run(0, stage="s", cell="a", record=record(**committed([*range(10, 1010)], [])))
    ended = record(**committed([10**6], unfinished))
    lost = entry_of({"kind": "failed", "run": 1, "cause": "EIO", "message": "x"})
    lost = msgspec.structs.replace(lost, record=ended)
    (cell,) = measured_cells(JournalContent([done, lost], 0, 0), plan)
    commit = cell.latency["commit"]
    # What did end in a failed run is not a part of the figures, as nothing of that run is.
    assert (commit.count, commit.unfinished) == (1000 + len(unfinished), len(unfinished))
    assert commit.at_least == bounds
    assert commit.max_ns == max([1009, *unfinished])
    (repeated,) = measured_cells(
        JournalContent([done, lost, msgspec.structs.replace(done, run=1)], 0, 0), plan
    )
    assert repeated.latency["commit"].unfinished == 0
