"""Workloads of the user's own, and the keys that say how I/O is done, from TOML to the value that Rust reads."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mileage import _core
from mileage.plan import Study, TargetFacts, Workload, parse_study, to_toml
from mileage.plan.content import (
    ContentTable,
    IozoneDedup,
    IozonePattern,
    MixedContent,
    SampledVerification,
    VerifyTable,
    read_content,
    read_verify,
)
from mileage.plan.load_model import Cap, Open, Ramp, Think
from mileage.plan.pattern import Access, AccessLine, PatternTable, Stride, Zipf
from mileage.plan.plan_text import describe
from mileage.plan.resolver import resolve
from mileage.plan.transfer_api import ApiTable, EngineOptions, Uring, api_word, read_api

Facts = Callable[..., TargetFacts]

STUDY = """\
name = "own"
target = "TARGET"
[state]
file = "64MiB"
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "only"
measure = ["it"]
[workload.mine]
WORKLOAD
[measure.it]
workload = "mine"
stop = { time = "1 s" }
MEASURE
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "64MiB"
"""


def study(workload: str, measure: str = 'record = "4KiB"', target: str = "dir:/scratch") -> Study:
    text = STUDY.replace("WORKLOAD", workload).replace("MEASURE", measure).replace("TARGET", target)
    return parse_study(text, "own.toml")


def the_workload(found: Study, facts: TargetFacts) -> Workload:
    plan = resolve(found, facts)
    assert len(plan.cells) == 1
    workload = plan.cells[0].workload
    _core.check_workload(workload.to_json())
    return workload


@pytest.mark.parametrize(
    ("toml", "pattern", "reads"),
    [
        ("pattern = { stride = { step_records = 17 } }", PatternTable(stride=Stride(17)), 100),
        ("pattern = { zipf = { theta_hundredths = 99 } }\nreads = 70", PatternTable(zipf=Zipf(99)), 70),
        ('pattern = "backward"\nreads = 0', "backward", 0),
        ('like = "random_read"', "random", 100),
        ('like = "mix"\nreads = 30', "random", 30),
    ],
)
def test_patterns(directory: Facts, toml: str, pattern: object, reads: int) -> None:
    workload = the_workload(study(toml), directory())
    assert workload.pattern == pattern
    assert workload.read_percent == reads


def test_access_lines(directory: Facts) -> None:
    lines = """access = [
        { share = 60, size = "4KiB", reads = 80, random = 100, delay = "10 ms", burst = 4, align = "8KiB" },
        { share = 40, size = "64KiB" },
    ]"""
    workload = the_workload(study(lines, ""), directory())
    expected = (
        AccessLine(4096, 60, 80, 100, delay_ms=10, burst=4, align_bytes=8192),
        AccessLine(65536, 40, 100, 0),
    )
    assert workload.pattern == PatternTable(access=Access(expected))
    assert workload.record_bytes == 65536


def test_every_key_arrives_in_the_workload(directory: Facts) -> None:
    keys = """record = "4KiB"
        reads = 50
        content = "compressible=50,duplicate=20"
        verify = "1 in 8"
        generation = 3
        sync = "fsync"
        sync_every = 16
        rate = 1000
        spacing = "poisson"
        ramp_to = 2000
        ramp_over = "5 s"
        warm_up = "1 s"
        api = "uring:batch=8,sqpoll"
        cache = "cold"
        dsync = true
        settle = "2 s"
        touch = "512 B"
        pin = [0, 1]
        timeout = "30 s"
        interval = "1 s"
        log = true
        span = "16MiB"
        span_start = "4MiB"
        """
    plan = resolve(study('pattern = "random"', keys), directory())
    workload, reach = plan.cells[0].workload, plan.cells[0].reach
    assert reach is not None
    assert workload.read_percent == 50
    assert workload.content == ContentTable(mixed=MixedContent(50, 20))
    assert workload.verify == VerifyTable(SampledVerification(8))
    assert (workload.generation, workload.sync, workload.sync_every) == (3, "fsync", 16)
    assert workload.load.open == Open(1000, "poisson", Ramp(2000, 5 * 10**9))
    assert workload.load.warm_up_ns == 10**9
    assert (workload.span_start_bytes, workload.span_bytes) == (4 << 20, 16 << 20)
    assert reach.options == EngineOptions(
        direct=False,
        api=ApiTable(uring=Uring(batch=8, sqpoll=True)),
        dsync=True,
        pin_cpus=(0, 1),
        timeout_ns=30 * 10**9,
        interval_ns=10**9,
        touch_bytes=512,
    )
    assert (reach.caching.mode, reach.settle_ns, reach.log) == ("cold", 2 * 10**9, True)


def test_think_time(directory: Facts) -> None:
    workload = the_workload(
        study('pattern = "random"', 'record = "4KiB"\nthink = "2 ms"\nburst = 8'), directory()
    )
    assert workload.load.think == Think(2 * 10**6, 8)


def test_more_than_one_in_flight_means_io_uring(directory: Facts) -> None:
    plan = resolve(study('pattern = "random"', 'record = "4KiB"\ndepth = [1, 8]'), directory())
    apis = [api_word(cell.reach.options.api) for cell in plan.cells if cell.reach]
    assert apis == ["pread", "uring"]
    assert all(cell.reach and cell.reach.options.direct for cell in plan.cells)


def test_levels_of_any_key_make_cells(directory: Facts) -> None:
    keys = 'vary = { reads = [100, 50], api = ["pread", "mmap"], cap = [100, "1MiB/s"] }\ncache = "warm"'
    keys += '\nrecord = "4KiB"'
    plan = resolve(study('pattern = "random"', keys), directory())
    assert len(plan.cells) == 8
    assert plan.cells[0].label == "mine 4 KiB, 100 % reads, api pread, cap 100/s"
    assert plan.cells[7].label == "mine 4 KiB, 50 % reads, api mmap, cap 1MiB/s"
    assert {cell.workload.read_percent for cell in plan.cells} == {50, 100}
    assert plan.cells[0].workload.load.cap == Cap(operations_per_s=100)
    assert plan.cells[1].workload.load.cap == Cap(bytes_per_s=1 << 20)


def test_the_resolved_study_reads_back_equal(directory: Facts) -> None:
    keys = 'record = "4KiB"\nvary = { rate = [100, 200] }\nspacing = "poisson"'
    plan = resolve(study("pattern = { stride = { step_records = 5 } }", keys), directory())
    again = parse_study(to_toml(plan.study), "again")
    assert again == plan.study
    assert resolve(again, directory()).hash == plan.hash


def test_what_is_verified_was_written_with_the_same_seed(directory: Facts) -> None:
    text = STUDY.replace("WORKLOAD", 'pattern = "random"').replace("TARGET", "dir:/scratch")
    text = text.replace("MEASURE", 'record = "4KiB"\nVERIFY')
    plain = resolve(parse_study(text.replace("VERIFY", ""), "s"), directory())
    verified = resolve(parse_study(text.replace("VERIFY", 'verify = "all"'), "s"), directory())
    assert len({run.seed for run in plain.runs}) == len(plain.runs)
    assert {run.seed for run in verified.runs} == {verified.study.seed}


REFUSED = [
    ("", "", "workload.mine: found none of like, pattern, access, trace, command, expected exactly one"),
    ('pattern = "random"\nlike = "mix"', "", "workload.mine: found like and pattern of"),
    (
        'pattern = "rnadom"',
        "",
        "workload.mine.pattern: 'rnadom' is not a pattern; expected one of sequential",
    ),
    ("pattern = { stride = { step_records = 0 } }", "", "workload.mine.pattern.stride.step_records: found 0"),
    ("pattern = { stride = { step = 1 } }", "", "unknown field `step`"),
    ("pattern = {}", "", "workload.mine.pattern: found none, expected one of stride"),
    ("access = []", "", "workload.mine.access: found 0: expected 1 to 100"),
    (
        'access = [{ share = 60, size = "4KiB" }]',
        "",
        "mine.access: found 60: expected 100 to 100 (the sum of",
    ),
    ('access = [{ size = "4K" }]', "", "workload.mine.access[0].size: '4K' is not a size"),
    (
        'access = [{ size = "4KiB", delay = "1 us" }]',
        "",
        "access[0].delay: found '1 us', expected whole milli",
    ),
    ('access = [{ size = "4KiB", raeds = 1 }]', "", "access[0].raeds: unknown key; did you mean 'reads'?"),
    (
        'access = [{ size = "4KiB" }]\nreads = 3',
        "",
        "workload.mine.reads: has no effect here: the access lines",
    ),
    ('pattern = "random"\ntimed = true', "", "workload.mine.timed: has no effect without trace"),
    (
        'pattern = "random"',
        'rate = 5\ncap = 5\nrecord = "4KiB"',
        "measure.it.cap: has no effect together with rate",
    ),
    (
        'pattern = "random"',
        'rate = 5\nthink = "1 s"\nrecord = "4KiB"',
        "measure.it.think: has no effect together with rate",
    ),
    (
        'pattern = "random"',
        'sync_every = 5\nsync = "none"\nrecord = "4KiB"',
        "sync_every: has no effect with sync",
    ),
    (
        'pattern = "random"',
        'sync_every = 5\nsync = "fua"\nrecord = "4KiB"',
        'has no effect with sync = "fua"',
    ),
    ('pattern = "random"', 'spacing = "poisson"\nrecord = "4KiB"', "it.spacing: has no effect without rate"),
    ('pattern = "random"', 'burst = 4\nrecord = "4KiB"', "it.burst: has no effect without think"),
    (
        'pattern = "random"',
        'reads = 101\nrecord = "4KiB"',
        "it.reads: found 101, expected a whole number from 0",
    ),
    ('pattern = "random"', 'api = "aio"\nrecord = "4KiB"', "it.api: 'aio' is not an API: expected pread"),
    (
        'pattern = "random"',
        'vary = { depht = [1] }\nrecord = "4KiB"',
        "it.vary.depht: there is no key that varies",
    ),
    ('pattern = "random"', 'vary = { depth = [1] }\nrecord = "4KiB"', "a list may be given to depth itself"),
    ('pattern = "random"', 'vary = { rate = [] }\nrecord = "4KiB"', "it.vary.rate: the list is empty"),
    (
        'pattern = "random"',
        'vary = { rate = [1, 1] }\nrecord = "4KiB"',
        "it.vary.rate[1]: 1 is in the list twice",
    ),
    (
        'pattern = "random"',
        'vary = { rate = ["x"] }\nrecord = "4KiB"',
        'it.vary.rate: found "x", expected a whole number',
    ),
    (
        'pattern = "random"',
        "",
        "measure.it.record: missing; it must be given, since mine has none of its own",
    ),
]


@pytest.mark.parametrize(("workload", "measure", "words"), REFUSED, ids=lambda text: str(text)[:40])
def test_what_makes_no_sense_is_refused_with_its_path(
    refusal: Callable[..., str], workload: str, measure: str, words: str
) -> None:
    line = refusal(lambda: study(workload, measure))
    assert words in line


def test_a_name_of_ours_and_an_unused_table_are_refused(refusal: Callable[..., str]) -> None:
    text = STUDY.replace("WORKLOAD", 'pattern = "random"').replace("MEASURE", 'record = "4KiB"')
    text = text.replace("TARGET", "dir:/x")
    assert "short name of a workload" in refusal(lambda: parse_study(text.replace("mine", "zipf"), "s"))
    unused = text.replace('workload = "mine"', 'workload = "mix"')
    assert "workload.mine: no table uses it" in refusal(lambda: parse_study(unused, "s"))


CALLS = "work on a virtual drive makes no system calls, so this has no effect"


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ('api = "pread"', CALLS),
        ('cache = "warm"', "a virtual drive has no page cache, so this has no effect; leave it out"),
        ("dsync = true", f'{CALLS}; choose sync = "fua"'),
        ("pin = [0]", "the time of a virtual drive is simulated, whatever processors compute it"),
        ('timeout = "1 s"', CALLS),
        ('interval = "1 s"', "the intervals of simulated time are chosen by the simulation"),
        ('settle = "1 s"', CALLS),
        ("touch = 512", CALLS),
    ],
)
def test_a_drive_has_no_calls(drive: TargetFacts, refusal: Callable[..., str], key: str, reason: str) -> None:
    found = study('pattern = "random"', f'record = "4KiB"\n{key}', target="virtual:plain")
    assert reason in refusal(lambda: resolve(found, drive))


def test_the_writes_of_a_drive_can_have_fua(drive: TargetFacts) -> None:
    found = study('pattern = "random"\nreads = 0', 'record = "4KiB"\nsync = "fua"', target="virtual:plain")
    assert the_workload(found, drive).sync == "fua"


def test_a_real_target_has_no_fua(directory: Facts, refusal: Callable[..., str]) -> None:
    found = study('pattern = "random"', 'record = "4KiB"\nsync = "fua"')
    assert "sync: not possible on target 'dir:/scratch': only a virtual drive has fua" in refusal(
        lambda: resolve(found, directory())
    )


@pytest.mark.parametrize(
    "word",
    ["pread", "seek", "mmap", "null", "vectored:4", "stdio", "stdio:64KiB", "uring", "uring:plain,batch=4"],
)
def test_the_words_for_an_api_read_back(word: str) -> None:
    assert api_word(read_api(word)) == word


def test_the_words_for_data() -> None:
    assert read_content("zeros") == "zeros"
    assert read_content("compressible=25") == ContentTable(mixed=MixedContent(25, 0))
    assert read_content("within=98, across=97 ,compress=96%") == ContentTable(
        iozone_dedup=IozoneDedup(98, 97, 96)
    )
    assert read_content("pattern=255") == ContentTable(iozone_pattern=IozonePattern(255, whole=True))
    assert read_content("page=165") == ContentTable(iozone_pattern=IozonePattern(165, whole=False))
    assert read_verify("1 in 100") == VerifyTable(SampledVerification(100))
    for text in ("pattern=256", "pattern=3%", "page=1,pattern=1"):
        with pytest.raises(ValueError, match="not a content"):
            read_content(text)
    for text in ("ones", "compressible=101", "compressible=1,compressible=2", "within=1", "duplicate"):
        with pytest.raises(ValueError, match="not a content"):
            read_content(text)
    for text in ("some", "1 in 1", "2 in 3", "1 in x"):
        with pytest.raises(ValueError, match="not a verification"):
            read_verify(text)


def test_options_have_the_fields_that_the_engine_knows() -> None:
    for api in ("pread", "vectored:4", "stdio:4KiB", "uring:iopoll"):
        text = EngineOptions(api=read_api(api)).to_json()
        assert msgspec.json.decode(text, type=EngineOptions).to_json() == text


def test_threads_are_spread_over_processes(directory: Facts, refusal: Callable[..., str]) -> None:
    head = 'record = "4KiB"\nthreads = 4\nprocesses = '
    plan = resolve(study('pattern = "random"', f"{head}2"), directory())
    (cell,) = plan.cells
    assert cell.reach is not None
    assert cell.reach.processes == 2
    assert "4 threads in 2 processes" in describe(plan, 200)
    assert resolve(parse_study(to_toml(plan.study), "own.toml"), directory()).hash == plan.hash


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("processes = 5", "it.processes: found 5, expected at most the 4 threads that they share"),
        ("processes = 0", "it.processes: found 0, expected a whole number from 1 to 1024"),
        ("processes = 2\nlog = true", "it.log: is written by one process"),
        ('processes = 2\nreads = 50\nverify = "all"', "it.verify: has no use with 2 processes"),
    ],
)
def test_processes_that_make_no_sense_are_refused(
    directory: Facts, refusal: Callable[..., str], keys: str, words: str
) -> None:
    text = f'record = "4KiB"\nthreads = 4\n{keys}'
    assert words in refusal(lambda: resolve(study('pattern = "random"', text), directory()))
