"""Audits: each catches what it is for, and does not call unknown good."""

import msgspec
import pytest

from mileage.judge.audit import RunFacts, audit

SOUND = RunFacts(
    cell="iops.random_read 4 KiB",
    latency_sum_ns=31_900_000_000,
    elapsed_ns=1_000_000_000,
    outstanding=32,
    bytes_read=1 << 30,
    bytes_written=0,
    fetched_bytes=1 << 30,
    device_bytes=1 << 30,
)


def states(*runs: RunFacts, direct: bool = True) -> dict[str, str]:
    return {found.name: found.state for found in audit(runs, direct=direct)}


def test_a_sound_run_passes_every_audit() -> None:
    assert set(states(SOUND).values()) == {"ok"}
    assert all(found.veto is None for found in audit([SOUND], direct=True))


@pytest.mark.parametrize(
    ("name", "change", "state", "vetoed"),
    [
        ("Little's law", {"latency_sum_ns": 33_000_000_000}, "bad", True),
        ("limited by", {"latency_sum_ns": 28_000_000_000}, "warn", False),
        ("memory", {"fetched_bytes": 1 << 29}, "bad", True),
        ("interference", {"device_bytes": (1 << 30) + (1 << 26)}, "warn", False),
        ("memory", {"fetched_bytes": None}, "unknown", False),
        ("interference", {"device_bytes": None}, "unknown", False),
        ("Little's law", {"outstanding": None}, "unknown", False),
    ],
)
def test_one_bad_run_among_good_ones_is_found(
    name: str, change: dict[str, int], state: str, vetoed: bool
) -> None:
    changed = msgspec.structs.replace(SOUND, cell="the odd one", **change)
    runs = [changed] if state == "unknown" else [SOUND, changed, SOUND]
    found = {entry.name: entry for entry in audit(runs, direct=True)}[name]
    assert found.state == state
    assert (found.veto is not None) == vetoed
    if state != "unknown":
        assert found.figures["cell"] == "the odd one"


def test_memory_is_a_veto_only_where_the_plan_promised_none() -> None:
    cached = msgspec.structs.replace(SOUND, fetched_bytes=0)
    assert states(cached)["memory"] == "bad"
    assert states(cached, direct=False)["memory"] == "warn"


def test_no_run_is_unknown_throughout() -> None:
    assert set(states().values()) == {"unknown"}


def test_an_open_loop_is_paced_by_its_rate_or_by_a_device_that_falls_behind() -> None:
    # 400 per second for a second; nothing is outstanding most of the time, as it should be.
    kept = msgspec.structs.replace(SOUND, latency_sum_ns=36_000_000, offered_per_s=400.0, operations=400)
    lost = msgspec.structs.replace(kept, cell="the odd one", operations=390)
    assert states(kept)["limited by"] == "ok"
    found = {entry.name: entry for entry in audit([kept, lost], direct=True)}["limited by"]
    assert found.state == "warn"
    assert (found.kind, found.figures) == ("device-behind", {"cell": "the odd one", "due_share": 0.975})
    mixed = msgspec.structs.replace(SOUND, cell="idle", latency_sum_ns=1_000_000)
    assert {e.name: e for e in audit([kept, mixed], direct=True)}["limited by"].figures["cell"] == "idle"


def test_a_study_of_the_cache_is_not_vetoed_for_its_warm_runs() -> None:
    warm = msgspec.structs.replace(SOUND, cell="warm", fetched_bytes=0, bypasses=False)
    assert states(SOUND, warm)["memory"] == "warn"
    leaking = msgspec.structs.replace(SOUND, cell="leaking", fetched_bytes=1 << 29)
    found = {entry.name: entry for entry in audit([SOUND, warm, leaking], direct=True)}["memory"]
    assert found.veto is not None
    assert (found.veto.code, found.veto.tests) == ("read-from-memory", ("leaking",))
    assert found.veto.figures == {"memory_share": 0.5}


def test_a_share_of_time_is_printed_only_where_the_figures_give_it() -> None:
    # 33 of 32 places: the figures contradict each other, and no share is right.
    above = msgspec.structs.replace(SOUND, latency_sum_ns=33_000_000_000)
    assert states(above)["limited by"] == "unknown"
    # Completion alone fills 60 %; how long submission took is not recorded.
    part = msgspec.structs.replace(SOUND, latency_sum_ns=19_000_000_000, latency_whole=False)
    assert states(part, SOUND)["limited by"] == "unknown"
    idle = msgspec.structs.replace(SOUND, latency_sum_ns=19_000_000_000)
    assert states(part, SOUND, idle)["limited by"] == "warn"
    full = msgspec.structs.replace(SOUND, latency_sum_ns=32_300_000_000)
    found = {entry.name: entry for entry in audit([full], direct=True)}["limited by"]
    assert (found.kind, found.figures) == ("device", {"queue_share": 1.0})


@pytest.mark.parametrize(
    ("limits", "state", "kind"),
    [
        ({"read_bytes_per_s": 1 << 30}, "warn", "group-limit"),
        ({"read_bytes_per_s": 2 << 30}, "ok", "device"),
        ({"write_bytes_per_s": 1}, "ok", "device"),
        ({"read_ops_per_s": 1000}, "warn", "group-limit"),
        ({}, "ok", "device"),
    ],
)
def test_a_run_at_the_limit_of_a_control_group_is_not_limited_by_the_device(
    limits: dict[str, int], state: str, kind: str
) -> None:
    run = msgspec.structs.replace(SOUND, group_limits=limits, operations=1000)
    found = {entry.name: entry for entry in audit([run], direct=True)}["limited by"]
    assert (found.state, found.kind) == (state, kind)
    assert {key: found.figures.get(key) for key in limits if state == "warn"} == (
        limits if state == "warn" else {}
    )
