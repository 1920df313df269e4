"""`virtual:DRIVE@HOST`: the target, its cache, its state, and what is refused."""

import json
from pathlib import Path

import msgspec
import pytest

from mileage import _core
from mileage.errors import Refused
from mileage.model.run_record import RunRecord
from mileage.model.target_kind import capabilities_of, drive_and_host
from mileage.plan.content import Content, read_content
from mileage.plan.io_options import Reach
from mileage.plan.page_cache_state import Caching, Mode
from mileage.plan.transfer_api import EngineOptions
from mileage.plan.workload import Stop, Workload
from mileage.targets.host_profiles import host_names, load_hosted
from mileage.targets.host_target import HostTarget
from mileage.targets.profiles import load_profile
from mileage.targets.spec import parse_target
from mileage.targets.target_kinds import open_target

MIB = 1 << 20
SMALL = "virtual:plain-64gib@server-2025,memory_bytes=268435456,cache_bytes=134217728,journal_bytes=16777216"
PLAN = "0123456789abcdef"


PACKING = SMALL.replace(
    "plain-64gib@server-2025", "sandforce-1222-64gb@server-2025,capacity_bytes=499998720,blocks_per_plane=36"
)
CONTENTS = {
    "incompressible": 1.0,
    "zeros": 0.125,
    "compressible=98": 0.125,
    "compressible=50,duplicate=20": 0.5,
}
"""Contents, and what a drive that stores multiples of 512 bytes stores of a page of 4 KiB."""


def opened(text: str = SMALL) -> HostTarget:
    target = open_target(text, plan_hash=PLAN)
    assert isinstance(target, HostTarget)
    return target


def measured(
    target: HostTarget,
    mode: Mode,
    *,
    reads: int = 100,
    size: int = 16 * MIB,
    content: Content = "incompressible",
) -> RunRecord:
    workload = Workload(
        pattern="sequential",
        span_start_bytes=0,
        depth=1,
        threads=1,
        seed=1,
        read_percent=reads,
        record_bytes=65536,
        span_bytes=size,
        stop=Stop(bytes=size),
        sync="fdatasync",
        sync_timed=True,
        content=content,
    )
    reach = Reach(EngineOptions(direct=mode == "direct"), Caching(mode))
    return RunRecord.from_json(target.run(workload.to_json(), lambda *_: False, reach))


def test_a_warm_file_is_read_from_memory_and_a_cold_one_from_the_drive() -> None:
    target = opened()
    target.prepare(16 * MIB)
    cold, warm, direct = (measured(target, mode) for mode in ("cold", "warm", "direct"))
    assert cold.counters["host_bytes_read"] >= 16 * MIB
    assert warm.counters["host_requests_read"] == 0
    assert direct.counters["host_direct_bytes"] == 16 * MIB
    assert warm.elapsed_ns < cold.elapsed_ns
    hot = measured(target, "hot")
    assert hot.counters["host_cache_pages_missed"] == 0


def test_writes_and_their_sync_reach_the_drive_and_counters_of_both_are_there() -> None:
    target = opened()
    target.prepare(16 * MIB)
    record = measured(target, "warm", reads=0)
    # The flusher writes a part before the sync does; no page is written twice.
    causes = [record.counters[f"host_pages_written_{cause}"] for cause in ("background", "old", "sync")]
    assert sum(causes) == record.counters["host_pages_written"] == 16 * MIB // 4096
    assert causes[-1] > 0
    assert record.counters["host_pages_dirtied"] == 16 * MIB // 4096
    assert record.counters["flash_pages_programmed"] >= 16 * MIB // 4096
    assert record.counters["host_requests_flushed"] + record.counters["host_requests_fua"] >= 1


@pytest.mark.parametrize("content", CONTENTS)
def test_a_drive_that_compresses_stores_its_share_of_what_is_written(content: str) -> None:
    target = opened(PACKING)
    target.prepare(16 * MIB)
    for mode in ("warm", "direct"):
        found = measured(target, mode, reads=0, content=read_content(content)).counters
        assert found["packing_bytes_in"] >= 16 * MIB
        assert found["packing_bytes_stored"] / found["packing_bytes_in"] == pytest.approx(
            CONTENTS[content], abs=0.002
        )
        assert found["flash_bytes_programmed"] / found["packing_bytes_stored"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("content", "left"),
    [("incompressible", 1.0), ("zeros", 0.125), ("within=50,across=100,compress=0", 0.5625)],
)
def test_tests_of_iozone_write_their_content_on_a_host(content: str, left: float) -> None:
    host = opened(PACKING).host
    suite = {
        "mode": "fidelity",
        "file_bytes": 16 * MIB,
        "record_bytes": 16384,
        "tests": ["write"],
        "flush_timed": True,
        "content": msgspec.to_builtins(read_content(content)),
    }
    results = json.loads(host.run_iozone("file", json.dumps(suite)))["results"]
    assert [one["name"] for one in results] == ["iozone.write", "iozone.rewrite"]
    for found in (one["record"]["counters"] for one in results):
        assert found["packing_bytes_in"] >= 16 * MIB
        assert found["packing_bytes_stored"] / found["packing_bytes_in"] == pytest.approx(left, abs=0.005)


def test_a_restored_host_measures_what_the_saved_one_measures() -> None:
    first, second = opened(), opened()
    first.prepare(16 * MIB)
    measured(first, "cold", size=8 * MIB)
    second.restore(first.save())
    assert measured(first, "warm") == measured(second, "warm")
    assert first.save() == second.save()


def test_a_state_of_another_host_is_refused() -> None:
    state = opened().save()
    with pytest.raises(Refused, match="other figures"):
        opened(SMALL + ",commit_s=6").restore(state)


def test_a_host_begins_on_the_drive_as_its_state_has_it_in_every_cycle(tmp_path: Path) -> None:
    drive = "plain-64gib,capacity_bytes=268435456,blocks_per_plane=16"
    used = _core.Drive(load_profile(drive))
    used.run(
        Workload(
            pattern="random",
            read_percent=0,
            record_bytes=4096,
            span_start_bytes=0,
            span_bytes=256 * MIB,
            depth=8,
            threads=1,
            stop=Stop(bytes=512 * MIB),
            seed=1,
        ).to_json()
    )
    file = tmp_path / "used.state"
    file.write_bytes(used.save())
    fresh = SMALL.replace("plain-64gib", drive)
    target = opened(f"{fresh},state={file}")
    assert dict(target.host.counters())["host_bytes_written"] == 512 * MIB
    target.prepare(64 * MIB)
    first = measured(target, "direct", reads=0, size=64 * MIB)
    assert str(file) in target.purge()
    assert measured(target, "direct", reads=0, size=64 * MIB) == first
    assert first.write_amplification is not None
    assert first.write_amplification > 1.1
    new = opened(fresh)
    new.prepare(64 * MIB)
    assert measured(new, "direct", reads=0, size=64 * MIB).write_amplification == pytest.approx(1, abs=0.01)
    assert new.facts().identity != target.facts().identity
    assert opened(f"{fresh},state=").facts().identity == new.facts().identity
    with pytest.raises(Refused, match="other figures"):
        opened(f"{SMALL},state={file}")
    with pytest.raises(Refused, match="nothing is no file"):
        opened(f"{fresh},state=nothing")


def test_changes_reach_the_host_or_the_drive_by_their_key() -> None:
    drive, host = load_hosted("plain-64gib@server-2025,read_us=70,barrier=false")
    assert "70" in drive
    assert "changed from" in drive
    assert "changed from" in host


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("virtual:plain-64gib@server-2052", "did you mean @server-2025?"),
        ("virtual:plain-64gib@server-2025,scheduler=cfq", "scheduler is cfq"),
        ("virtual:plain-64gib@server-2025,turbo=1", "turbo"),
        ("virtual:sandforce-1222-64gb@server-2025,dedupe_contents=1000", "finds duplicates"),
        ("virtual:raid0(2*sandforce-1222-64gb)@server-2025", "is an array of sandforce-1222-64gb"),
    ],
)
def test_what_there_is_not_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        open_target(parse_target(text), plan_hash=PLAN)
    assert words in str(refused.value)


def test_an_at_in_a_path_is_no_host() -> None:
    assert drive_and_host("./my@drive.toml") == ("./my@drive.toml", "")
    assert drive_and_host("./my.toml,read_us=5@a,b=c") == ("./my.toml,read_us=5", "a,b=c")
    assert capabilities_of("virtual:plain@a").has_host
    assert not capabilities_of("virtual:plain").has_host


def test_the_hosts_that_ship_are_listed() -> None:
    assert set(host_names()) >= {"phenom-8gib", "hpe-dl60-2gib", "server-2025"}
