"""Options of fio's jobs as work of the engine: units, files, limits, rates, verification, and what is refused."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from mileage.dropin.fio import check_late_values, groups_of, results_of
from mileage.dropin.fio_jobs import jobs_of, size_of
from mileage.dropin.fio_plan import JobWork, works_of
from mileage.dropin.flags import read, tool_named
from mileage.errors import Refused
from mileage.execute.fio_jobs.places import trace_of
from mileage.execute.fio_jobs.run import FioResult
from mileage.plan.load_model import Cap, Open
from mileage.plan.pattern import PatternTable

KIB, MIB = 1 << 10, 1 << 20


def works(*words: str) -> list[JobWork]:
    """The work of all copies of the jobs of a command line."""
    jobs = jobs_of(read(tool_named("fio"), ["--name=a", *words]))
    return [work for job in jobs for work in works_of(job)]


def work(*words: str) -> JobWork:
    (found,) = works(*words)
    return found


def refusal(*words: str) -> str:
    with pytest.raises(Refused) as refused:
        works(*words)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "base", "found"),
    [
        ("4k", 1024, 4096),
        ("4KB", 1024, 4096),
        ("4kib", 1024, 4000),
        ("4k", 1000, 4000),
        ("4KiB", 1000, 4096),
        ("1m", 1024, MIB),
        ("0x1000", 1024, 4096),
        ("12b", 1024, 12),
        ("1.5g", 1024, None),
        ("-4k", 1024, None),
        ("4ki", 1024, None),
    ],
)
def test_units_are_those_of_fio(text: str, base: int, found: int | None) -> None:
    assert size_of(text, base) == found


def test_the_value_of_an_option_is_the_next_word_unless_it_is_on_by_itself(tmp_path: Path) -> None:
    words = ["--name", "a", "--time_based", "--rw", "write", "--size", "64k", "--group_reporting", "--thread"]
    given = read(tool_named("fio"), words)
    (job,) = jobs_of(given)
    assert given.operands == []
    assert (job.name, job.text("rw"), job.size("size")) == ("a", "write", 65536)
    assert all(job.is_on(key) for key in ("time_based", "group_reporting", "thread"))
    # As fio 3.33, even where the next word is an option.
    (second,) = jobs_of(read(tool_named("fio"), ["--rw=read", "--write_bw_log", "--name=a", "--name=b"]))
    assert (second.name, second.text("write_bw_log")) == ("b", "--name=a")
    with pytest.raises(Refused, match="needs a value"):
        read(tool_named("fio"), ["--name=a", "--size=4k", "--direct"])
    # In a job file a word alone is on.
    (tmp_path / "j.fio").write_text("[a]\nsize=64k\nwrite_bw_log\nstonewall\n")
    (job,) = jobs_of(read(tool_named("fio"), [str(tmp_path / "j.fio")]))
    assert (job.text("write_bw_log"), job.is_on("stonewall")) == ("1", True)


def test_a_time_with_a_unit_that_fio_does_not_know_is_refused() -> None:
    assert work("--size=4k", "--runtime=100ms").limit_ns == 10**8
    assert work("--size=4k", "--runtime=2m").limit_ns == 120 * 10**9
    assert "runtime" in refusal("--size=4k", "--runtime=30sec")


def test_a_size_is_that_of_all_files_together() -> None:
    three = work("--rw=write", "--size=1m", "--nrfiles=3", "--bs=4k")
    # As in fio, what is less than a block of a third of 1 MiB is not done.
    assert [file.span for file in three.files] == [85 * 4096] * 3
    assert [file.amount for file in three.files] == [file.span for file in three.files]
    each = work("--rw=write", "--filesize=1m", "--size=1m", "--nrfiles=4")
    assert [(file.span, file.amount) for file in each.files] == [(MIB, MIB // 4)] * 4


def test_a_file_has_its_length_though_blocks_do_not_divide_it() -> None:
    # Lengths and operations of fio 3.33.
    (one,) = work("--rw=write", "--size=5000", "--bs=1k").files
    assert (one.end, one.span) == (5000, 4096)
    two = work("--rw=write", "--size=10000", "--bs=4k", "--nrfiles=2").files
    assert [(file.end, file.span) for file in two] == [(5000, 4096)] * 2
    (file,) = work("--rw=write", "--filesize=10000", "--size=4k", "--bs=1k").files
    assert (file.end, file.amount) == (10000, 4096)


def test_limits_of_a_job_are_dealt_to_its_files() -> None:
    moved = work("--rw=write", "--size=4m", "--nrfiles=4", "--io_size=40k", "--loops=2")
    assert sum(file.amount for file in moved.files) == 80 * KIB
    counted = work("--rw=write", "--size=4m", "--nrfiles=4", "--number_ios=10")
    assert [file.operations for file in counted.files] == [3, 3, 2, 2]
    few = work("--rw=write", "--size=4m", "--nrfiles=4", "--number_ios=3")
    assert [file.operations for file in few.files] == [1, 1, 1]


def test_shares_of_a_file_count_from_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(bytes(MIB))
    where = f"--filename={path}"

    def part(*words: str) -> tuple[int, int]:
        (file,) = work(where, *words).files
        return file.start, file.span

    assert part("--size=50%") == (0, MIB // 2)
    assert part("--size=100%", "--offset=256k") == (256 * KIB, 768 * KIB)
    assert part("--size=50%", "--offset=256k") == (256 * KIB, 512 * KIB)
    assert part("--offset=75%") == (768 * KIB, 256 * KIB)
    assert part("--size=64k", "--offset=33%") == (-(-MIB * 33 // 100 // 4096) * 4096, 64 * KIB)
    assert work(where, "--io_size=25%").files[0].amount == 256 * KIB
    assert "size=101%" in refusal(where, "--size=101%")
    assert "no size" in refusal(f"--filename={tmp_path / 'missing'}", "--size=50%")


def test_copies_are_dealt_to_the_directories() -> None:
    copies = works("--rw=write", "--size=4k", "--directory=x:y", "--numjobs=3")
    assert [copy.paths for copy in copies] == [["x/a.0.0"], ["y/a.1.0"], ["x/a.2.0"]]


@pytest.mark.parametrize(
    ("words", "rate", "percent"),
    [
        (("--rw=read", "--rate=1m"), 256, 100),
        (("--rw=write", "--rate=1m,2m"), 512, 0),
        (("--rw=write", "--rate=1m,"), None, 0),
        (("--rw=read", "--rate_iops=0"), None, 100),
        (("--rw=rw", "--rate=1m"), 512, 50),
        (("--rw=rw", "--rwmixread=70", "--rate_iops=300,100"), 400, 75),
    ],
)
def test_a_rate_holds_for_each_direction(words: tuple[str, ...], rate: int | None, percent: int) -> None:
    found = work("--size=1m", *words).workload
    expected = None if rate is None else Open(rate)
    assert (found.load.open, found.read_percent, found.load.cap) == (expected, percent, None)


@pytest.mark.parametrize(
    ("words", "cap"),
    [
        (("--rate=1m", "--thinktime=5"), Cap(bytes_per_s=MIB)),
        (("--rate=1000",), Cap(bytes_per_s=1000)),
        (("--rate=1m", "--bssplit=4k/50:8k/50"), Cap(bytes_per_s=MIB)),
    ],
)
def test_a_rate_that_is_no_schedule_is_a_limit(words: tuple[str, ...], cap: Cap) -> None:
    load = work("--size=1m", *words).workload.load
    assert (load.cap, load.open) == (cap, None)


def test_poisson_arrivals_are_operations() -> None:
    load = work("--size=1m", "--rate=4m", "--bs=4k", "--rate_process=poisson").workload.load
    assert load.open == Open(1024, "poisson")
    assert "rate_process" in refusal("--size=1m", "--rate=4m", "--rate_process=uniform")


def test_the_last_mix_counts() -> None:
    assert work("--size=1m", "--rw=rw", "--rwmixread=70", "--rwmixwrite=40").reads == 60
    assert work("--size=1m", "--rw=rw", "--rwmixwrite=40", "--rwmixread=70").reads == 70
    both = ("--rwmixread=10", "--rwmixwrite=40", "--rwmixread=20")
    assert work("--size=1m", "--rw=rw", *both).reads == 20


@pytest.mark.parametrize(
    "words",
    [
        ("--verify=crc99",),
        ("--verify=pattern",),
        ("--sync=maybe",),
        ("--rw=randrw", "--verify=crc99"),
        ("--rw=write", "--verify=md5", "--zero_buffers"),
        ("--rw=write", "--verify=md5", "--dedupe_percentage=50"),
        ("--rw=rw", "--rate=1m,"),
        ("--rw=rw", "--bs=4k,8k", "--rate=1m"),
        ("--rate=1m", "--rate_iops=100"),
        ("--rw=randread", "--random_distribution=zipf:1.2:0.5"),
        ("--rw=randread", "--random_distribution=zipf:x"),
        ("--rw=randread", "--random_distribution=zoned:50/5:30/15:30/"),
        ("--rw=randread", "--random_distribution=zoned:50/5:30/15:20/", "--loops=2"),
        ("--rw=rw:8k",),
        ("--rw=randread:4k",),
        ("--rw=randread:4", "--rw_sequencer=other"),
        ("--rw=randread:4", "--random_distribution=zipf:1.2"),
        ("--rw=randread:4", "--time_based", "--runtime=1"),
        ("--rw=read", "--rw_sequencer=identical"),
        ("--rw=read:8k", "--time_based", "--runtime=1"),
        ("--rw=write", "--numjobs=2", "--write_iolog=l"),
        ("--ioengine=cpuio", "--cpuload=0"),
        ("--rw=randrw", "--verify=md5", "--verify_only"),
        ("--rw=write", "--verify=md5", "--bsrange=4k-16k", "--verify_only"),
        ("--ioengine=filestat", "--rw=randrw"),
        ("--ioengine=filestat", "--stat_type=statx"),
        ("--ioengine=filecreate", "--rw=write", "--end_fsync=1"),
        ("--ioengine=filedelete", "--time_based", "--runtime=1"),
        ("--rw=write", "--buffer_pattern=0xabcd"),
        ("--rw=write", '--buffer_pattern="ab"'),
        ("--rw=write", "--buffer_pattern='file'"),
        ("--rw=write", "--verify=md5", "--buffer_pattern=0xaa"),
        ("--exit_what=some",),
        ("--verify_state_save=2",),
        ("--rw=randread", "--percentage_random=120"),
        ("--rw=write", "--fsync=4", "--fdatasync=4"),
        ("--fallocate=keep",),
        ("--kb_base=1023",),
        ("--cpus_allowed=a",),
        ("--rw=write", "--size=1000"),
    ],
)
def test_a_value_that_is_not_done_is_refused_with_its_option(words: tuple[str, ...]) -> None:
    name = words[-1].removeprefix("--").partition("=")[0]
    said = refusal("--size=1m", *words)
    assert any(word.removeprefix("--").partition("=")[0] in said for word in words), (name, said)


def test_verification_reads_back_what_a_writer_wrote_and_compares_what_a_reader_reads() -> None:
    writer = work("--size=1m", "--rw=write", "--verify=md5")
    reader = work("--size=1m", "--rw=read", "--verify=md5", "--numjobs=1", "--randseed=7")
    assert (writer.verification.reads_back, writer.workload.verify) == (True, "off")
    assert (reader.verification.reads_back, reader.workload.verify) == (False, "all")
    assert writer.workload.seed == reader.workload.seed
    assert work("--size=1m", "--rw=write", "--verify=null").verification.kind == "read"
    timed = work("--size=1m", "--rw=write", "--verify=md5", "--time_based", "--runtime=1")
    assert not timed.verification.reads_back
    assert "nothing is read back" in timed.notes[0]


def test_the_page_cache_is_dropped_between_passes_where_fio_does() -> None:
    assert work("--size=1m", "--rw=read").drops_cache
    assert work("--size=1m", "--rw=randread", "--ioengine=libaio").drops_cache
    for words in (
        ("--rw=read", "--direct=1"),
        ("--rw=read", "--invalidate=0"),
        ("--rw=randread", "--norandommap"),
        ("--rw=read", "--ioengine=null"),
        ("--rw=read", "--ioengine=mmap"),
    ):
        assert not work("--size=1m", *words).drops_cache, words
    assert work("--size=1m", "--rw=read", "--ioengine=io_uring", "--iodepth=4").drops_cache
    mapped = work("--size=1m", "--rw=read", "--ioengine=mmap", "--loops=2")
    assert any(note.startswith("invalidate:") for note in mapped.notes)


def test_percentiles_are_printed_in_ascending_order() -> None:
    one = work("--size=1m", "--percentile_list=99:50:90.5")
    (shown,) = results_of([FioResult(one, 0)])
    assert shown.wanted == (50, 90.5, 99)
    wrong = work("--size=1m", "--percentile_list=0:101")
    with pytest.raises(Refused, match="percentile_list"):
        results_of([FioResult(wrong, 0)])


def test_random_places_of_blocks_of_several_sizes_are_multiples_of_the_least() -> None:
    words = ("--size=1m", "--rw=randrw", "--bssplit=4k/50:16k/50,8k/100", "--rwmixread=50")
    listed = work(*words)
    assert listed.rule is not None
    assert listed.rule.blocks == (((4096, 50), (16384, 50)), ((8192, 100),))
    # What is repeated until a time is over is not listed.
    words = (*words, "--time_based", "--runtime=9")
    pattern = work(*words).workload.pattern
    assert isinstance(pattern, PatternTable)
    assert pattern.access is not None
    lines = pattern.access.lines
    assert [(line.size_bytes, line.read_percent, line.align_bytes) for line in lines] == [
        (4096, 100, 4096),
        (16384, 100, 4096),
        (8192, 0, 8192),
    ]


@pytest.mark.parametrize(
    "option",
    [
        *("group_reporting=yes", "unlink=maybe", "exitall=2", "log_avg_msec=x", "startdelay=5sec"),
        *("bwavgtime=soon", "percentile_list=101", "wait_for=nothing", "verify_only=?"),
    ],
)
def test_a_wrong_value_is_found_before_the_jobs(option: str) -> None:
    with pytest.raises(Refused, match=option.partition("=")[0]):
        check_late_values([works("--size=4k", f"--{option}")])


def test_processors_are_shared_or_split() -> None:
    words = ("--size=1m", "--numjobs=3", "--cpus_allowed=0-1,4")
    assert [one.processors for one in works(*words)] == [[0, 1, 4]] * 3
    assert [one.processors for one in works(*words, "--cpus_allowed_policy=split")] == [[0], [1], [4]]


def test_global_options_are_apart_from_those_of_a_job(tmp_path: Path) -> None:
    # As in fio's JSON, without options that have no value.
    (tmp_path / "j.fio").write_text("[global]\ngroup_reporting\nbs=8k\nbs=4k\n[b]\nstonewall\nrw=write\n")
    (job,) = jobs_of(read(tool_named("fio"), [str(tmp_path / "j.fio")]))
    assert (job.shared, job.given) == ({"bs": "4k"}, {"rw": "write"})
    assert (job.is_on("group_reporting"), job.is_on("stonewall")) == (True, True)
    (job,) = jobs_of(
        read(tool_named("fio"), ["--bs=4k", "--thread", "--name=c", "--rw=read", "--time_based"])
    )
    assert (job.shared, job.given) == ({"bs": "4k"}, {"name": "c", "rw": "read"})


@pytest.mark.parametrize(
    ("words", "offsets"),
    [
        # Offsets of fio 3.33, from its system calls.
        (("--rw=read:512k", "--bs=1m", "--size=8m"), [0, 1572864, 3145728, 4718592, 6291456]),
        (("--rw=read:4k", "--size=16k"), [0, 8192, 0, 8192]),
        (("--rw=read:6k", "--size=32k"), [0, 10240, 20480]),
        (("--rw=read:-8k", "--size=32k"), [0, 24576, 20480, 16384, 12288, 8192, 4096, 0]),
        (("--rw=read:-12k", "--size=32k"), [0, 20480, 12288, 4096, 20480, 12288, 4096, 20480]),
        (("--rw=write:4k", "--size=16k", "--offset=8k"), [0, 8192]),
    ],
)
def test_places_after_a_skip_are_those_of_fio(words: tuple[str, ...], offsets: list[int]) -> None:
    one = work(*words)
    (file,) = one.files
    assert one.rule is not None
    record = one.workload.record_bytes
    found = trace_of(one.rule, file, record, file.end, one.reads, 1)
    assert [operation.offset_bytes for operation in found] == offsets
    assert {operation.kind for operation in found} == {"read" if one.reads else "write"}


@pytest.mark.parametrize("order", ["sequential", "identical"])
@pytest.mark.parametrize("again", [False, True])
def test_each_random_place_begins_a_run(order: str, again: bool) -> None:
    more = ("--norandommap",) if again else ()
    one = work("--rw=randwrite:5", "--size=4m", f"--rw_sequencer={order}", *more)
    (file,) = one.files
    assert one.rule is not None
    found = [operation.offset_bytes // 4096 for operation in trace_of(one.rule, file, 4096, 0, 0, 7)]
    # As in fio 3.33: all blocks are counted, one in five is drawn, and the first one begins a run.
    assert len(found) == 1024
    step = int(order == "sequential")
    heads = found[::5]
    assert (len(heads) == len(set(heads))) != again
    breaks = [at for at in range(1, 1024) if at % 5 and found[at] != found[at - 1] + step]
    # Only behind the last block of the file.
    assert all(found[at - 1] == 1023 for at in breaks)
    assert step or not breaks


def test_of_a_mix_the_places_follow_those_of_their_direction() -> None:
    one = work("--rw=randrw:1000", "--size=1m")
    (file,) = one.files
    assert one.rule is not None
    found = trace_of(one.rule, file, 4096, 0, 50, 1)
    assert {operation.kind for operation in found} == {"read", "write"}
    for kind in ("read", "write"):
        own = [operation.offset_bytes for operation in found if operation.kind == kind]
        follows = [after - before for before, after in itertools.pairwise(own) if before < 255 * 4096]
        assert set(follows) == {4096}


def test_zones_have_their_shares_of_accesses() -> None:
    one = work("--rw=randrw", "--size=40m", "--random_distribution=zoned:50/5:30/15:20/")
    (file,) = one.files
    assert one.rule is not None
    found = trace_of(one.rule, file, 4096, file.end, one.reads, 1)
    assert len(found) == 10240
    ends = (0.05, 0.2, 1)
    counts = [sum(operation.offset_bytes < end * file.span for operation in found) for end in ends]
    # Three standard deviations of a share are 1.5 percent at most.
    assert [count / 10240 for count in counts] == [pytest.approx(share, abs=0.02) for share in (0.5, 0.8, 1)]
    assert sum(operation.kind == "read" for operation in found) == pytest.approx(5120, abs=200)


def test_a_job_waits_for_the_one_that_it_names() -> None:
    def batches(*words: str) -> list[list[str]]:
        jobs = jobs_of(read(tool_named("fio"), ["--size=4k", "--rw=write", *words]))
        found = groups_of([works_of(job) for job in jobs])
        return [[copies[0].job.name for copies in batch] for batch in found]

    assert batches("--name=a", "--name=b", "--wait_for=a", "--name=c") == [["a"], ["b", "c"]]
    late = ("--name=a", "--name=b", "--stonewall", "--name=c", "--wait_for=a")
    assert batches(*late) == [["a"], ["b", "c"]]
    for words in (("--name=a", "--name=b", "--name=c", "--wait_for=a"), ("--name=a", "--wait_for=b")):
        with pytest.raises(Refused, match="wait_for"):
            batches(*words)
