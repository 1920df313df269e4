"""Disturbances during the runs: which are quiet, flagged, or not known."""

from __future__ import annotations

import pytest

from mileage.judge.disturbance import disturbances

QUIET = {
    "wall_us": 2_000_000,
    "cpu_all_us": 4_000_000,
    "cpu_idle_us": 2_000_000,
    "client_cpu_us": 1_900_000,
    "steal_us": 10_000,
    "pressure_memory_us": 0,
    "cpu_throttles": 0,
    "device_millicelsius_first": 40_000,
    "device_millicelsius_most": 43_000,
}


def states(*runs: dict[str, int]) -> dict[str, str]:
    return {found.name: found.state for found in disturbances([("cell", run) for run in runs])}


def test_a_quiet_machine() -> None:
    found = disturbances([("a", QUIET), ("b", QUIET)])
    assert {audit.state for audit in found} == {"ok"}
    assert not any(audit.veto for audit in found)
    assert (found[0].kind, found[0].figures["cell"]) == ("steal", "b")
    assert found[0].figures["worst_share"] == 0.0025


@pytest.mark.parametrize(
    ("name", "change", "figures"),
    [
        (
            "steal",
            {"steal_us": 100_000},
            {"worst_share": 0.025, "disturbed_runs": 1, "runs": 2},
        ),
        (
            "other programs",
            {"client_cpu_us": 1_000_000},
            {"worst_share": 0.25, "disturbed_runs": 1, "runs": 2},
        ),
        (
            "memory pressure",
            {"pressure_memory_us": 30_000},
            {"worst_share": 0.015, "disturbed_runs": 1, "runs": 2},
        ),
        ("temperature", {"cpu_throttles": 3}, {"throttles": 3}),
        ("temperature", {"device_millicelsius_first": 46_000}, {"rise_celsius": 6.0}),
    ],
)
def test_a_disturbed_run_is_flagged_with_its_share(
    name: str, change: dict[str, int], figures: dict[str, float]
) -> None:
    found = {audit.name: audit for audit in disturbances([("quiet", QUIET), ("loud", {**QUIET, **change})])}
    assert found[name].state == "warn"
    assert found[name].figures | figures == found[name].figures
    assert [audit.name for audit in found.values() if audit.state != "ok"] == [name]


def test_what_was_not_counted_is_unknown() -> None:
    assert set(states({"wall_us": 1_000_000}).values()) == {"unknown"}
    assert disturbances([]) == ()


def test_a_run_too_short_for_the_ticks_has_no_share() -> None:
    short = {**QUIET, "wall_us": 20_000, "cpu_all_us": 40_000, "steal_us": 10_000}
    assert states(short)["steal"] == "unknown"


@pytest.mark.parametrize(("p50_us", "state"), [(99, "ok"), (101, "warn")])
def test_lateness_of_a_served_drive_is_a_warning_from_a_tenth_of_the_time_between_answers(
    p50_us: int, state: str
) -> None:
    # 2,000 answers in 2 s: one in 1,000 us.
    late = {"served_answers": 2000, "served_late_p50_ns": p50_us * 1000}
    run = {**QUIET, **late, "served_late_p99_ns": 450_000, "served_late_max_ns": 2_000_000}
    found = disturbances([("a", run), ("b", {**run, "served_late_p99_ns": 100_000})])[0]
    assert (found.name, found.state, found.veto) == ("served drive", state, None)
    figures = {"cell": "a", "late_p50_ns": p50_us * 1000, "late_p99_ns": 450_000, "late_max_ns": 2_000_000}
    assert found.figures | figures == found.figures
    assert "served drive" not in states(QUIET)
