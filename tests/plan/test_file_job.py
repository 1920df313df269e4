"""Work on files in a plan: one set of IOzone's tests for its cells, metadata operations each alone."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mileage.plan import Study, TargetFacts, parse_study
from mileage.plan.estimate import estimate
from mileage.plan.resolver import resolve

Facts = Callable[..., TargetFacts]

STUDY = """\
name = "files"
target = "TARGET"
[state]
file = "64MiB"
[[stage]]
name = "only"
measure = ["it"]
[measure.it]
workload = WORKLOAD
repeat = 2
MORE
"""


def study(workload: str, more: str = 'record = "64KiB"', target: str = "dir:/scratch") -> Study:
    text = STUDY.replace("WORKLOAD", workload).replace("MORE", more).replace("TARGET", target)
    return parse_study(text, "files.toml")


def test_one_set_of_tests_measures_its_cells(directory: Facts) -> None:
    plan = resolve(study('["iozone.read", "iozone.stride_read", "iozone.rewrite"]'), directory())
    assert [cell.label for cell in plan.cells] == [
        "iozone.read 64 KiB",
        "iozone.stride_read 64 KiB",
        "iozone.rewrite 64 KiB",
    ]
    assert [run.cell for run in plan.runs] == ["iozone 64 KiB"] * 2
    job = plan.runs[0].job
    assert job is not None
    assert job.value.tests == ("write", "read", "stride")
    assert job.value.retests
    assert job.value.file_bytes == 64 << 20
    assert job.value.seed == plan.runs[0].seed != plan.runs[1].seed
    assert job.names == ("iozone.read", "iozone.stride_read", "iozone.rewrite")
    assert estimate(plan).bytes_written > 64 << 20


def test_a_family_is_measured_at_each_record(directory: Facts) -> None:
    plan = resolve(
        study('"iozone.*"', 'record = ["64KiB", "1MiB"]\nthreads = 2\ncache = "warm"'), directory()
    )
    assert len(plan.cells) == 26
    assert {run.cell for run in plan.runs} == {"iozone 64 KiB", "iozone 1 MiB"}
    job = plan.runs[0].job
    assert job is not None
    assert job.value.workers == 2
    assert not job.value.direct
    assert job.occupies == 2 * (64 << 20)


def test_the_work_file_is_small_where_no_run_uses_it(directory: Facts) -> None:
    plan = resolve(study('"metadata.create"', ""), directory())
    assert plan.allocated_bytes(0) == 64 << 10


def test_metadata_operations_are_done_on_a_number_of_files(directory: Facts) -> None:
    more = (
        'record = "4KiB"\nthreads = [1, 4]\nfiles = "per_thread"\nsync = "fsync"\nstop = { operations = 500 }'
    )
    plan = resolve(study('"metadata.create"', more), directory())
    assert [cell.label for cell in plan.cells] == [
        "metadata.create 4 KiB, 1 thread",
        "metadata.create 4 KiB, 4 threads",
    ]
    job = plan.cells[1].job
    assert job is not None
    expected = {"operation": "create", "files": 500, "threads": 4, "directories": "per_worker"}
    assert expected.items() <= msgspec.to_builtins(job.value).items()
    assert job.value.file_bytes == 4096
    assert job.value.fsync
    assert plan.cells[1].metrics == ("iops", "p99")


@pytest.mark.parametrize(
    ("workload", "more", "words"),
    [
        ('"iozone.read"', 'record = "64KiB"\ndepth = 2', "depth: iozone.read does one operation at a time"),
        ('"iozone.read"', 'record = "64KiB"\nreads = 2', "reads: has no effect on IOzone's tests"),
        (
            '"iozone.read"',
            'record = "64KiB"\nstop = { time = "1 s" }',
            "stop.time: IOzone's tests end with the file",
        ),
        ('"ior.*"', 'stop = { time = "1 s" }', "stop.time: IOR ends with the file"),
        (
            '"ior.*"',
            'record = "48KiB"',
            "block: found 1048576 bytes, expected a multiple of the record of 49152",
        ),
        (
            '"ior.*"',
            "threads = 2\nreorder = 2",
            "reorder: found 2, expected a distance of 0 to 1 tasks, or random",
        ),
        ('"ior.*"', 'cache = "cold"', "cache: IOR writes, then reads: the cache is left as it is"),
        ('"ior.*"', "processes = 2", "processes: has no effect on ior.*, which know block, segments"),
        ('"mdtest.*"', 'tree = "2"', "tree: found '2', expected DEPTHxBRANCH such as 2x3"),
        ('"mdtest.*"', "threads = 2\nstride = 2", "stride: found 2, expected 0 to 1 tasks"),
        ('"metarates.*"', 'record = "4KiB"', "record: metarates makes empty files"),
        ('"metarates.*"', "threads = 3", "stop.operations: found 10000, expected a multiple of the 3 tasks"),
        ('"metarates.*"', 'stop = { time = "1 s" }', "stop.time: metarates.create ends with its files"),
        (
            '"random_read"',
            'record = "4KiB"\nstop = { time = "1 s" }\nblock = "1MiB"',
            "block: has no effect on",
        ),
        ('"iozone.read"', 'record = "64KiB"\ncache = "dropped"', "cache: IOzone's tests follow each other"),
        (
            '"iozone.read"',
            'record = "64KiB"\ncache = "cold"\nfidelity = true',
            "cache: cold, which IOzone has not",
        ),
        ('"iozone.read"', 'record = "64KiB"\nspan = "1MiB"', "span: iozone.read uses its file whole"),
        ('"iozone.mix"', 'record = "64KiB"', "threads: found 1; iozone.mix divides"),
        (
            '"iozone.read"',
            'record = "64KiB"\niozone = { file = "1MiB", processes = true }',
            "iozone.processes: found true for a single stream, expected children",
        ),
        ('"iozone.read"', 'record = "64KiB"\nvary = { span = ["1MiB"] }', "span: iozone.read uses its file"),
        ('"iozone.read"', "", "record: missing; it must be given"),
        ('"metadata.stat"', "fidelity = true", "fidelity: has no effect on metadata.stat"),
        ('"metadata.stat"', 'api = "uring"', "api: has no effect on metadata operations"),
        ('"metadata.stat"', 'sync = "fdatasync"', "sync: found fdatasync"),
        (
            '"metadata.stat"',
            'stop = { bytes = "1MiB" }',
            "stop.bytes: metadata operations end after operations",
        ),
        (
            '"random_read"',
            'record = "4KiB"\nstop = { time = "1 s" }\nfidelity = true',
            "fidelity: has no effect on",
        ),
    ],
)
def test_what_files_do_not_know_is_refused(
    directory: Facts, refusal: Callable[..., str], workload: str, more: str, words: str
) -> None:
    assert words in refusal(lambda: resolve(study(workload, more), directory()))


@pytest.mark.parametrize("target", ["virtual:plain", "null:"])
def test_files_need_a_directory(refusal: Callable[..., str], target: str) -> None:
    assert "is a file workload" in refusal(lambda: study('"iozone.read"', target=target))


def test_a_device_has_files_only_with_a_file_system(directory: Facts, refusal: Callable[..., str]) -> None:
    on_device = study('"iozone.read"', target="block:/dev/x")
    device = directory(kind="block", host_layer=False)
    assert "makes files of its own, found block:/dev/x, expected dir:PATH" in refusal(
        lambda: resolve(on_device, device)
    )
    state = msgspec.structs.replace(on_device.state, filesystem="ext4")
    with_one = msgspec.structs.replace(on_device, state=state)
    assert resolve(with_one, directory()).cells
