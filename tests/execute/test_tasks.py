"""IOR, mdtest and metarates over processes: every byte in its place, every name made and gone, times that join."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mileage import _core
from mileage.errors import Refused, RunFailed
from mileage.execute.processes import workers_for
from mileage.execute.tasks import perform_tasks, phases_of
from mileage.execute.workers import byte_order, lead
from mileage.model.run_record import Phases, RunRecord, TaskRecord
from mileage.plan.tasks import MDTEST, METARATES, Ior, Mdtest, Metarates, ior_problem, place_of
from mileage.plan.workload import Stop, Workload


def never(_bytes: int, _operations: int) -> bool:
    return False


def done(place: Path, value: Ior | Mdtest | Metarates) -> dict[str, dict[str, Any]]:
    results = perform_tasks(place, value, "test", never)
    assert not place.exists()
    return {result.name: result.record for result in results}


def small(files: str, **more: Any) -> Ior:
    base = Ior(tasks=3, transfer_bytes=4096, block_bytes=16384, segments=5, files=files, seed=7)  # type: ignore[arg-type]
    return msgspec.structs.replace(base, **more)


def reference(path: Path, ior: Ior, seed: int, size: int) -> bytes:
    """What one thread writes into a file from its start to its end."""
    alone = Workload(
        pattern="sequential",
        read_percent=0,
        record_bytes=ior.transfer_bytes,
        span_start_bytes=0,
        span_bytes=size,
        depth=1,
        threads=1,
        stop=Stop(bytes=size),
        seed=seed,
    )
    _core.run_file(path, alone.to_json(), '{"create": true}', never)
    return path.read_bytes()


def test_each_transfer_lies_where_the_layout_says_by_content(tmp_path: Path) -> None:
    """Each task writes with a seed of its own, so that every transfer identifies its writer and its offset."""
    ior = small("shared")
    path, size = tmp_path / "ior", ior.aggregate_bytes
    with workers_for(ior.tasks) as workers:
        orders = [
            byte_order(
                str(path),
                msgspec.structs.replace(ior.workload("write"), seed=100 + task).to_json(),
                '{"create": true}',
                task,
                1,
            )
            for task in range(ior.tasks)
        ]
        workers.do(orders, ior.tasks, never)
    written = path.read_bytes()
    expected = bytearray(size)
    for task in range(ior.tasks):
        of_task = reference(tmp_path / f"by-{task}", ior, 100 + task, size)
        for segment in range(ior.segments):
            for transfer in range(ior.block_bytes // ior.transfer_bytes):
                _, offset = place_of(ior, task, segment, transfer)
                expected[offset : offset + ior.transfer_bytes] = of_task[offset : offset + ior.transfer_bytes]
    assert written == bytes(expected)
    assert len({bytes(expected[at : at + 64]) for at in range(0, size, 4096)}) == size // 4096


@pytest.mark.sampled(3)
@pytest.mark.parametrize("files", ["shared", "per_thread"])
@pytest.mark.parametrize("more", [{}, {"reorder": 1}, {"reorder_random": True}, {"shuffled": True}])
def test_what_is_read_is_what_was_written_whoever_reads_it(
    tmp_path: Path, files: str, more: dict[str, Any]
) -> None:
    ior = small(files, verify="all", **more)
    found = done(tmp_path / "run", ior)
    assert list(found) == ["ior.write", "ior.read"]
    write, read = found["ior.write"], found["ior.read"]
    assert (write.bytes_written, write.bytes_read) == (ior.aggregate_bytes, 0)
    assert (read.bytes_read, read.bytes_written) == (ior.aggregate_bytes, 0)
    assert read.ops_compared == ior.transfers == read.ops_read
    for record in found.values():
        assert sum(task.bytes for task in record.tasks) == ior.aggregate_bytes
        assert sum(task.operations for task in record.tasks) == ior.transfers
        assert sum(count for _, count in record.latency["read"].buckets) == record.ops_read
        assert len({task.pid for task in record.tasks}) == ior.tasks
        assert record.elapsed_ns == record.phases.total_ns > 0


def test_wrong_data_fails_a_reading_task(tmp_path: Path) -> None:
    """A run that only reads what another seed wrote must not pass."""
    ior = small("per_thread", phases=("write",), keep=True)
    with workers_for(ior.tasks) as workers:
        for seed, phase in ((7, "write"), (8, "read")):
            value = msgspec.structs.replace(ior, seed=seed, verify="all")
            options = json.dumps({"create": phase == "write"})
            work = value.workload(phase)
            step = workers.do(
                [byte_order(str(tmp_path / "f"), work.to_json(), options, task, 1) for task in range(3)],
                3,
                never,
            )
            record = RunRecord.from_json(_core.merge_shares(work.to_json(), list(step.shares)))
    assert record.error is not None
    assert record.error.kind == "VERIFY"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["f.0", "f.1", "f.2"]


@given(
    tasks=st.integers(1, 9),
    block=st.integers(1, 5),
    segments=st.integers(1, 6),
    files=st.sampled_from(["shared", "per_thread"]),
)
@settings(max_examples=50)
def test_the_layout_covers_every_byte_of_every_file_once(
    tasks: int, block: int, segments: int, files: Any
) -> None:
    ior = Ior(tasks=tasks, transfer_bytes=512, block_bytes=512 * block, segments=segments, files=files)
    assert ior_problem(ior) is None
    places = sorted(
        place_of(ior, task, segment, transfer)
        for task in range(tasks)
        for segment in range(segments)
        for transfer in range(block)
    )
    each = ior.aggregate_bytes if files == "shared" else ior.aggregate_bytes // tasks
    count = 1 if files == "shared" else tasks
    assert places == [(file, at) for file in range(count) for at in range(0, each, 512)]
    assert len(places) == ior.transfers


def test_a_phase_takes_from_the_earliest_start_to_the_latest_end() -> None:
    """Three tasks with a skew: IOR's definition, worked out by hand."""
    tasks = [
        TaskRecord(0, "", 1, 0, 0, open_ns=(-50, -40), transfer_ns=(5, 100), close_ns=(100, 103)),
        TaskRecord(1, "", 1, 0, 0, open_ns=(-60, -45), transfer_ns=(20, 90), close_ns=(90, 130)),
        TaskRecord(2, "", 1, 0, 0, open_ns=(-48, -30), transfer_ns=(0, 95), close_ns=(96, 97)),
    ]
    assert phases_of(tasks) == Phases(open_ns=30, transfer_ns=100, close_ns=40, total_ns=30 + 130)


@pytest.mark.parametrize("tasks", [1, 2, 4])
@pytest.mark.parametrize("own", [False, True])
def test_metarates_makes_looks_and_removes(tmp_path: Path, tasks: int, own: bool) -> None:
    value = Metarates(tasks=tasks, files=40 * tasks, tests=tuple(METARATES), own_directories=own)
    found = done(tmp_path / "run", value)
    assert list(found) == [f"metarates.{test}" for test in METARATES]
    for record in found.values():
        assert record.ops_metadata == 40 * tasks
        assert [task.operations for task in record.tasks] == [40] * tasks
        assert sum(count for _, count in record.latency["metadata"].buckets) == 40 * tasks
        starts = [task.operate_ns[0] for task in record.tasks]
        ends = [task.operate_ns[1] for task in record.tasks]
        assert record.elapsed_ns == max(ends) - min(starts)


def test_metarates_keeps_its_files_when_asked(tmp_path: Path) -> None:
    from mileage.execute.tasks import Conductor

    value = Metarates(tasks=2, files=6, tests=("create",), own_directories=True, keep=True)
    with workers_for(2) as workers:
        Conductor(workers, tmp_path, "test", never).metarates(value)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["0/n0f0", "0/n0f1", "0/n0f2", "1/n1f0", "1/n1f1", "1/n1f2"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"depth": 2, "branch": 2},
        {"depth": 1, "branch": 3, "leaves_only": True},
        {"own_directories": True, "depth": 1, "branch": 2},
        {"stride": 1, "write_bytes": 600, "read_bytes": 600},
        {"shuffled": True, "fsync": True},
    ],
)
def test_mdtest_does_all_its_tests(tmp_path: Path, more: dict[str, Any]) -> None:
    value = Mdtest(tasks=3, files=63, tests=tuple(MDTEST), **more)
    found = done(tmp_path / "run", value)
    assert set(found) == {f"mdtest.{test}" for test in MDTEST}
    trees = 3 if value.own_directories else 1
    nodes = sum(value.branch**level for level in range(value.depth + 1)) * trees
    for name, record in found.items():
        assert record.ops_metadata == (nodes if "tree" in name else 63), name
    assert found["mdtest.file_create"].bytes_written == value.write_bytes * 63
    assert found["mdtest.file_read"].bytes_read == value.read_bytes * 63


def test_names_are_those_that_mdtest_itself_leaves(tmp_path: Path) -> None:
    """`mpirun -n 2 mdtest -C -F -I 1 -u -z 1 -b 2` (4.0.0) leaves these below its `test-dir.0-0`."""
    from mileage.execute.tasks import Conductor

    value = Mdtest(
        tasks=2, files=6, tests=("file_create",), own_directories=True, depth=1, branch=2, keep=True
    )
    with workers_for(2) as workers:
        Conductor(workers, tmp_path, "test", never).mdtest(value)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_dir()}
    roots = ["mdtest_tree.0.0", "mdtest_tree.1.0"]
    assert left == {*roots, *(f"{root}/{root[:-1]}{node}" for root in roots for node in (1, 2))}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == [f"file.mdtest.{t}.{i}" for t in (0, 1) for i in range(3)]
    assert {path.parent.relative_to(tmp_path).parts[0] for path in files if ".1." in path.name} == {roots[1]}


def test_some_of_the_tests_alone_clean_up_too(tmp_path: Path) -> None:
    found = done(tmp_path / "run", Mdtest(tasks=2, files=8, tests=("file_stat", "dir_rename")))
    assert set(found) == {"mdtest.file_stat", "mdtest.dir_rename"}


def test_a_refusal_in_a_task_is_reported_as_refusal(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="span_bytes"):
        done(tmp_path / "run", small("shared", transfer_bytes=1024, block_bytes=1536))
    assert not (tmp_path / "run").exists()


def test_a_full_file_system_ends_the_run_as_failed(tmp_path: Path) -> None:
    limit = os.path.getsize(__file__) and 1 << 16
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(RunFailed, match="EFBIG"):
            done(tmp_path / "run", small("shared"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_mpi_run_is_led_unless_one_was_begun() -> None:
    from mileage.execute.workers import ranks_here

    assert ranks_here() is None
    lead(None)
    assert ranks_here() is None
