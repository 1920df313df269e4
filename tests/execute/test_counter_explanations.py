"""What a drive's counters say of a difference: the mechanism by name, or that none shows."""

from mileage.analysis.counter_explanations import why
from mileage.analysis.run_variation import RunSums
from mileage.judge import Sample, compare_arms
from tests import entries


def arm(values: list[float], cell: str = "write") -> list[Sample]:
    return [
        Sample(n, 1, "torture", "measured", n, "iops", cell, "ops_per_s", value, True)
        for n, value in enumerate(values, 1)
    ]


def record(**counters: int) -> RunSums:
    return RunSums.of(entries.record(ops_written=2000, counters=counters))


def sentences(low: list[RunSums], high: list[RunSums]) -> list[str]:
    judged = compare_arms(
        arm([100.0, 101.0, 99.0]), arm([20.0, 21.0, 19.0]), relevance={}, paired=True, labels=("a", "b")
    )
    return why(judged, {("write", "a"): low, ("write", "b"): high})


def test_what_differs_is_named_with_both_figures() -> None:
    fresh = record(host_bytes_written=2000, flash_bytes_programmed=2000, gc_pages_moved=0, blocks_erased=0)
    worn = record(
        host_bytes_written=2000, flash_bytes_programmed=10_000, gc_pages_moved=8000, blocks_erased=40
    )
    assert sentences([fresh, fresh], [worn]) == [
        "write, a → b: write amplification 1 → 5; per 1,000 operations: pages moved by garbage collection 0 → 4,000, "
        "blocks erased 0 → 20."
    ]


def test_a_difference_without_a_mechanism_is_said_to_have_none() -> None:
    low = record(host_bytes_written=2000, flash_bytes_programmed=2000, service_ns=5000)
    high = record(host_bytes_written=2000, flash_bytes_programmed=2000, service_ns=9000)
    assert sentences([low], [high]) == [
        "No counter of the drive differs by more than 5 % at write, apart from the time that its commands took."
    ]


def test_a_counter_without_words_is_looked_at_as_well() -> None:
    low, high = record(flushes=1, trimmed_pages=7), record(flushes=500, trimmed_pages=7)
    assert sentences([low], [high]) == ["write, a → b: per 1,000 operations: flushes 0.5 → 250."]


def test_a_target_that_counts_nothing_is_not_explained() -> None:
    assert sentences([record()], [record()]) == []
    assert sentences([], []) == []
