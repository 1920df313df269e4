"""Disturbed and short runs of the two compared sides, as caveats."""

from __future__ import annotations

import dataclasses

import msgspec

from mileage.analysis.disturbance_caveats import (
    RunsByTest,
    disturbance_caveats,
    group_limit_caveats,
    runs_by_test,
    short_run_caveats,
)
from mileage.analysis.run_facts import JournalReading, RunReading
from mileage.judge import Comparison, Sample, compare_arms
from mileage.judge.audit import RunFacts
from mileage.model.caveat import BOTH, Caveat
from mileage.report.caveat_words import caveat_words

BUSY_US = 2_000_000


def reading(test: str, others: float = 0.0, stage: str = "before", lasted_s: float = 0.5) -> RunReading:
    """A run of which other programs had this share of all processor time."""
    watch = {
        "wall_us": BUSY_US,
        "cpu_all_us": 2 * BUSY_US,
        "cpu_idle_us": 0,
        "client_cpu_us": round(2 * BUSY_US * (1 - others)),
    }
    return RunReading(test, stage, "torture", 1, watch, None, ((lasted_s, test),), ())


def compared(ratio: float, tests: tuple[str, ...] = ("a",)) -> Comparison:
    def side(scale: float) -> list[Sample]:
        return [
            Sample(
                cell=test,
                metric="rate_bytes_per_s",
                measure="throughput",
                higher_is_better=True,
                value=1e8 * scale * (1 + 0.001 * (n % 3)),
                stage="s",
                arm="torture",
                cycle=1,
                block=n + 1,
                run=n,
            )
            for test in tests
            for n in range(11)
        ]

    return compare_arms(side(1), side(ratio), relevance={}, paired=False, labels=("x", "y"), simulated=False)


def caveats(ratio: float, baseline: RunsByTest, candidate: RunsByTest) -> dict[str, Caveat]:
    return {one.code: one for one in disturbance_caveats(compared(ratio), baseline, candidate)}


def test_other_programs_in_all_runs_veto_whatever_the_ratio() -> None:
    """3.4 times as fast, with other programs at 100 % in 22 of 22 runs."""
    loaded, others = ({"a": [reading("a", 1.0) for _ in range(11)]} for _ in range(2))
    found = caveats(3.4, loaded, others)["other-load"]
    assert (found.severity, found.sides, found.tests) == ("vetoes", ("baseline", "candidate"), ("a",))
    assert found.figures == {"worst_share": 1.0, "limit_share": 0.1, "disturbed_runs": 22, "runs": 22}
    assert "100.0% of all processor time (above 10% in 22 of 22 runs)" in caveat_words(found)
    assert caveats(3.4, loaded, {})["other-load"].is_veto


def test_a_disturbance_that_cannot_change_the_answer_is_no_veto() -> None:
    loaded, quiet = {"a": [reading("a", 0.3)]}, {"a": [reading("a")]}
    found = caveats(3.4, loaded, quiet)["other-load"]
    assert (found.severity, found.sides) == ("limits", ("baseline",))
    assert caveats(1.0, loaded, quiet)["other-load"].is_veto
    assert caveats(1.0, quiet, quiet) == {}
    swapped = caveats(1 / 3.4, quiet, loaded)["other-load"]
    assert swapped == found.of(*(BOTH[side == "baseline"] for side in reversed(found.sides)))


def test_only_the_tests_that_were_disturbed_are_listed() -> None:
    (found,) = disturbance_caveats(
        compared(1.0, ("a", "b")), {"a": [reading("a")], "b": [reading("b", 0.5)]}, {"a": [reading("a")]}
    )
    assert (found.code, found.tests, found.is_veto) == ("other-load", ("b",), True)


def test_runs_of_other_cells_and_stages_have_no_part() -> None:
    seen = JournalReading(each=[reading("a"), reading("b", 1.0), reading("a", 1.0, stage="after")])
    found = runs_by_test(seen, {"a": "A"}, "before")
    assert {label: len(runs) for label, runs in found.items()} == {"A": 1}
    assert found["A"][0].watch == seen.each[0].watch


def test_short_runs_limit_a_conclusion() -> None:
    runs = {"a": [reading("a", lasted_s=0.039), reading("a", lasted_s=61.0)]}
    (found,) = short_run_caveats(runs)
    assert (found.code, found.severity, found.tests) == ("short-runs", "limits", ("a",))
    assert found.figures == {"shortest_s": 0.039, "enough_s": 60.0, "short_runs": 1, "runs": 2}
    assert "1 of 2 runs are shorter than 60 s (the shortest 39 ms)" in caveat_words(found)
    assert short_run_caveats({"a": [reading("a", lasted_s=60.0)]}) == []


def test_runs_at_the_limit_of_a_control_group_are_listed() -> None:
    facts = RunFacts(
        cell="a",
        latency_sum_ns=1,
        elapsed_ns=1_000_000_000,
        outstanding=1,
        bytes_read=950,
        bytes_written=0,
        group_limits={"read_bytes_per_s": 1000},
    )
    held = {"a": [dataclasses.replace(reading("a"), facts=facts)]}
    (found,) = group_limit_caveats(held)
    assert (found.code, found.severity, found.tests) == ("group-limit", "limits", ("a",))
    assert "limited reads to 1,000 bytes/s" in caveat_words(found)
    slow = msgspec.structs.replace(facts, bytes_read=800)
    assert group_limit_caveats({"a": [dataclasses.replace(reading("a"), facts=slow)]}) == []
