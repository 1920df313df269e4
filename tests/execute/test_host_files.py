"""Work on files on a modelled host: metadata, metarates, mdtest and IOR in virtual time."""

import json
from typing import Literal

import msgspec
import pytest

from mileage.execute.host_files import names_on_host, suite_on_host, tasks_on_host
from mileage.model import run_record
from mileage.model.run_record import RunRecord
from mileage.plan.file_job import JobOptions
from mileage.plan.iozone_suite import Suite, SuiteValue
from mileage.plan.name_operations import METADATA, Names, NamesValue
from mileage.plan.tasks import MDTEST, Ior, Mdtest, Metarates
from mileage.plan.workload import Files
from mileage.targets.host_target import HostTarget
from mileage.targets.target_kinds import open_target

SMALL = "plain-64gib@server-2025,memory_bytes=268435456,cache_bytes=134217728,journal_bytes=16777216"


def opened(changes: str = "") -> HostTarget:
    target = open_target(f"virtual:{SMALL}{changes}", plan_hash="0123456789abcdef")
    assert isinstance(target, HostTarget)
    return target


def done(target: HostTarget, wanted: Ior | Mdtest | Metarates) -> dict[str, RunRecord]:
    found = tasks_on_host(target.host, wanted, "a test", lambda *_: False)
    return {result.name: result.record for result in found}


def never(byte_count: int, operations: int) -> bool:
    return False


def suite(mode: Literal["intended", "fidelity"], workers: int | None) -> SuiteValue:
    return SuiteValue(
        mode=mode,
        tests=() if workers is None else ("write", "read", "stride", "backward"),
        file_bytes=4 << 20,
        record_bytes=65536,
        workers=workers,
        retests=True,
        flush_timed=False,
        direct=False,
        dsync=False,
        content=None,
        timeout_ns=0,
    )


def per_s(record: RunRecord) -> float:
    return record.operations / record.elapsed_ns * 1e9


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_metarates_does_its_tests_and_leaves_nothing(tasks: int) -> None:
    target = opened()
    free_bytes = target.host.free_bytes
    records = done(target, Metarates(tasks=tasks, files=40, own_directories=tasks == 4))
    assert list(records) == ["metarates.create", "metarates.stat", "metarates.utime"]
    for record in records.values():
        assert record.ops_metadata == 40
        assert [task.operations for task in record.tasks] == [40 // tasks] * tasks
        assert all(task.operate_ns is not None and task.operate_ns[1] > 0 for task in record.tasks)
        assert record.elapsed_ns > 0
    again = done(opened(), Metarates(tasks=tasks, files=40, own_directories=tasks == 4))
    assert [one.elapsed_ns for one in again.values()] == [one.elapsed_ns for one in records.values()]
    target.host.empty_caches()
    # A directory keeps its blocks when its entries are removed: at most one of the root.
    assert free_bytes - target.host.free_bytes <= 4096


def test_tasks_share_the_processors_of_the_host() -> None:
    alone = done(opened(",processors=1"), Metarates(tasks=4, files=4000, tests=("stat",)))
    shared = done(opened(",processors=4"), Metarates(tasks=4, files=4000, tests=("stat",)))
    assert per_s(shared["metarates.stat"]) == pytest.approx(4 * per_s(alone["metarates.stat"]), rel=0.02)


def test_synced_creation_follows_the_drive_and_cached_stat_does_not() -> None:
    wanted = Metarates(tasks=1, files=200, tests=("create", "stat"), fsync=True)
    fast, slow = done(opened(), wanted), done(opened(",program_us=2000"), wanted)
    assert per_s(fast["metarates.create"]) > 1.5 * per_s(slow["metarates.create"])
    assert per_s(fast["metarates.stat"]) == per_s(slow["metarates.stat"])


def test_synced_creation_follows_the_file_system_alone() -> None:
    wanted = Metarates(tasks=1, files=200, tests=("create",), fsync=True)
    ext4, xfs = (done(opened(f",file_system={kind}"), wanted)["metarates.create"] for kind in ("ext4", "xfs"))
    assert ext4.counters["host_bytes_written"] > 1.5 * xfs.counters["host_bytes_written"]
    assert per_s(xfs) != per_s(ext4)


@pytest.mark.parametrize("own", [False, True])
def test_mdtest_does_all_its_tests(own: bool) -> None:
    tests = tuple(MDTEST)
    wanted = Mdtest(
        tasks=2,
        files=24,
        tests=tests,
        own_directories=own,
        depth=2,
        branch=2,
        stride=1,
        write_bytes=5000,
        read_bytes=5000,
    )
    records = done(opened(), wanted)
    assert sorted(records) == sorted(f"mdtest.{test}" for test in tests)
    assert records["mdtest.tree_create"].ops_metadata == 7 * (2 if own else 1)
    items = [record for test, record in records.items() if "tree" not in test]
    assert [record.ops_metadata for record in items] == [24] * 8
    assert records["mdtest.file_create"].bytes_written == records["mdtest.file_read"].bytes_read == 24 * 5000


@pytest.mark.parametrize("files", ["shared", "per_thread"])
def test_ior_writes_and_reads_its_blocks(files: Files) -> None:
    wanted = Ior(
        tasks=4, transfer_bytes=65536, block_bytes=1 << 20, segments=2, files=files, sync="fsync", reorder=1
    )
    records = done(opened(), wanted)
    write, read = records["ior.write"], records["ior.read"]
    assert write.bytes_written == read.bytes_read == wanted.aggregate_bytes
    for record in (write, read):
        phases = record.phases
        assert phases is not None
        assert record.elapsed_ns == phases.total_ns
        assert phases.total_ns >= phases.transfer_ns > 0
        assert [task.bytes for task in record.tasks] == [2 << 20] * 4
    assert write.counters["host_bytes_written"] >= wanted.aggregate_bytes
    assert read.counters["host_cache_pages_missed"] == 0


@pytest.mark.parametrize("test", [test for test in METADATA if test != "read"])
@pytest.mark.parametrize("threads", [1, 3])
def test_each_operation_on_names_is_done(test: str, threads: int) -> None:
    value = NamesValue(test, 60, threads, "per_worker", 0, fsync=False, time_ns=None, seed=1)
    job = Names(value, JobOptions(), (), bytes=0)
    record = names_on_host(opened().host, job, test, lambda *_: False)
    assert record.ops_metadata == (threads if test == "readdir" else 60)
    assert len(record.threads) == threads
    if test == "readdir":
        assert record.counters["entries"] == 60


@pytest.mark.parametrize("mode", ["intended", "fidelity"])
def test_the_suite_of_iozone_has_thirteen_tests_on_a_host(mode: Literal["intended", "fidelity"]) -> None:
    value = suite(mode, workers=None)
    done = msgspec.json.decode(
        suite_on_host(opened().host, Suite(value, JobOptions(), (), bytes=0), "a test", never)
    )
    results = [result for result in done["results"] if result["reported"]]
    assert len(results) == 13
    records = [result["record"] for result in results]
    for record in records:
        assert record["error"] is None
        assert record["bytes_read"] + record["bytes_written"] > 0
    rates = {one["name"]: (one["record"]["bytes_read"], one["record"]["elapsed_ns"]) for one in results}
    # All is in memory: tests that read take the time of the copy, whatever their order.
    assert rates["iozone.reread"] == rates["iozone.read"] == rates["iozone.backward_read"]


def test_children_of_iozone_have_files_and_rates_of_their_own() -> None:
    value = suite("intended", workers=3)
    host = opened().host
    free_bytes = host.free_bytes
    done = msgspec.json.decode(suite_on_host(host, Suite(value, JobOptions(), (), bytes=0), "a test", never))
    assert [len(result["workers"]["children"]) for result in done["results"]] == [3] * len(done["results"])
    write = done["results"][0]["record"]
    assert write["bytes_written"] == 3 * value.file_bytes
    host.empty_caches()
    assert free_bytes - host.free_bytes <= 4096, "one block of the root directory at most"


def results_of(target: HostTarget, value: SuiteValue) -> list[run_record.TestResult]:
    text = suite_on_host(target.host, Suite(value, JobOptions(), (), bytes=0), "a test", never)
    return msgspec.json.decode(json.dumps(json.loads(text)["results"]), type=list[run_record.TestResult])


@pytest.mark.parametrize("mode", ["intended", "fidelity"])
def test_a_flush_of_iozone_is_inside_the_clock_of_reads_too_where_iozone_has_it(
    mode: Literal["intended", "fidelity"],
) -> None:
    value = msgspec.structs.replace(suite(mode, workers=2), flush_timed=True)
    syncs = {one.name: one.record.latency_of("sync").count for one in results_of(opened(), value)}
    reads = {test for test in syncs if "read" in test}
    assert len(reads) == 4
    # One for each child.
    assert {test: syncs[test] for test in reads} == dict.fromkeys(reads, 2 if mode == "fidelity" else 0)
    assert syncs["iozone.write"] == 2


def test_close_of_iozone_is_inside_the_clock_where_asked() -> None:
    value = suite("fidelity", workers=None)
    timed = msgspec.structs.replace(value, close_timed=True)
    without, within = (
        {one.name: one.record.elapsed_ns for one in results_of(opened(), it)} for it in (value, timed)
    )
    assert within["iozone.read"] > without["iozone.read"]


def test_dirty_pages_are_written_back_while_the_children_of_iozone_pause() -> None:
    """The next test rewrites what the flusher wrote meanwhile, or what is still dirty."""
    value = suite("intended", workers=2)
    ended_ns = {}
    for pause_ns in (0, 5_000_000_000):
        target = opened()
        results = results_of(target, msgspec.structs.replace(value, pause_ns=pause_ns))
        ended_ns[pause_ns] = target.host.now_ns
        records = [one.record for one in results]
    assert ended_ns[5_000_000_000] - ended_ns[0] == pytest.approx(5e9 * len(records), rel=0.01)


def test_a_reread_is_from_memory_below_its_size_and_from_the_drive_above() -> None:
    host = opened().host
    rates = {}
    for size in (32 << 20, 256 << 20):
        value = msgspec.structs.replace(
            suite("intended", workers=None), file_bytes=size, record_bytes=1 << 20, tests=("write", "read")
        )
        done = msgspec.json.decode(
            suite_on_host(host, Suite(value, JobOptions(), (), bytes=0), "a test", never)
        )
        reread = next(one["record"] for one in done["results"] if one["name"] == "iozone.reread")
        rates[size] = size / reread["elapsed_ns"]
        # The cache has 128 MiB.
        assert (reread["counters"]["host_bytes_read"] >= size) == (size > 128 << 20)
    small, large = rates.values()
    assert small > 3 * large
