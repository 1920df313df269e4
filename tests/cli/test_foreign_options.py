"""What somebody types who knows another tool: the answer says what it is called here, in one line, before any I/O."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mileage.cli import foreign_options
from mileage.cli.measure import command
from mileage.plan.families import _SYNONYMS, WORKLOADS
from tests.cli.test_measure import mileage

OPTIONS = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}

TYPED = [
    ("--bs=4k", "there is no option --bs; here it is --record"),
    ("--rw=randread", "here it is --workload, such as random_read"),
    ("--iodepth=32", "here it is --depth"),
    ("--filename=/tmp/x", "here it is --target file:PATH"),
    ("--numjobs=4", "here it is --threads (or --processes)"),
    ("--runtime=30", "here it is --for"),
    ("--time_based", "here it is --for alone"),
    ("--ioengine=libaio", "here it is --api"),
    ("--fsync=1", "here it is --sync-every N"),
    ("--rwmixread=70", "here it is --reads"),
    ("--rate_iops=500", "here it is --cap in a closed loop, or --rate in an open one"),
    ("--buffer_compress_percentage=50", "here it is --content compressible=50,duplicate=20"),
    ("--scramble_buffers=0", "here it is --content fio_scrambled, or fio_constant for 0"),
    ("--no-such", "no such option: --no-such"),
    ("--depth 1,4,16", "--depth 1,4,16: takes one value; --vary depth=1,4,16 measures with each"),
    ("--record 4KiB,8KiB", "--record 4KiB,8KiB: takes one value; --vary record=4KiB,8KiB measures with each"),
    ("-w mix,random_read", "takes one value; --vary workload=mix,random_read measures with each"),
    ("--repeat 3,5", "--repeat: '3,5' is not a whole number; give one number"),
    ("-w randread", "'randread' is not a workload; did you mean random_read?"),
    ("-w randrw", "did you mean mix?"),
    ("-w RandWrite", "did you mean random_write?"),
    ("-w read", "did you mean sequential_read?"),
    ("-w trim", "did you mean discard?"),
    ("-w create", "did you mean metadata.create?"),
    ("-w iozone", "did you mean iozone.*?"),
    ("-w stride:0", "workload 'stride:0': 0 is out of range; expected a step of 1 record or more"),
    ("-w zipf:9", "9 is out of range; expected an exponent from 0.01 to 3"),
    ("-w zipf:nan", "expected a name, or stride:RECORDS, zipf:EXPONENT"),
    ("-w zipf:inf", "expected a name, or stride:RECORDS, zipf:EXPONENT"),
    ("-w zipf:1.255", "expected a name, or stride:RECORDS, zipf:EXPONENT"),
    ("-w hot_cold:0/90", "expected 1 to 99 percent of the places"),
    ("--threads 8 --operations 4", "--operations: found 4: expected 8 or more (one for each"),
    ("--rate 100 --vary rate=100,200", "--rate: is given together with --vary rate; give it in one place"),
    ("-w mix --vary workload=mix,random_read", "--workload: is given together with --vary workload"),
    ("--depth 1 --vary depth=1,2", "--depth: is given together with --vary depth"),
    ("--no-direct --vary cache=direct,warm", "--direct: is given together with --vary direct"),
    ("-w random:zipf", "expected a name, or stride:RECORDS, zipf:EXPONENT"),
    ("--record 4k", "--record: '4k' is not a size: expected 4KiB (powers of 1024) or 4kB (powers of 1000)"),
    ("--size 16M", "--size: '16M' is not a size: expected 16MiB (powers of 1024) or 16MB"),
    ("--bytes 1.5g -w sequential_write", "--bytes: '1.5g' is not a size: expected 1.5GiB"),
    ("--for 30", "--for: '30' is not a time: expected a number with ns, us, ms, s, min or h"),
    (
        "--rate 10m",
        "'10m' is not a whole number of operations per second; a limit in bytes per second is --cap",
    ),
    ("--cap 10m", "--cap: '10m' is not a rate: expected operations per second such as 5000"),
    ("--vary bs=4KiB,8KiB", "--vary bs=4KiB,8KiB: bs is called record here"),
    ("--vary iodepth=1,2", "iodepth is called depth here"),
    ("--vary frobs=1,2", "expected one of workload, record, threads"),
    ("--verify crc32c", "--verify: 'crc32c' is not a verification: expected off, all"),
    ("-w random_write --verify all", "--verify: found all: it compares reads, and this workload makes none"),
    ("--api libaio --depth 8", "--api: 'libaio' is not an API: expected pread"),
    (
        "--api pread --depth 8",
        "--depth: found 8; pread has one operation of a thread in flight: use 8 threads",
    ),
    ("--api mmap", "--api: mmap goes through the page cache, and the cache is bypassed; add cache"),
    ("--api mmap --no-direct --dsync", "dsync"),
    ("--pin 0,4000", "names processor 4000: this process may run on"),
    ("--threads 0", "--threads: found 0, expected a whole number from 1 to 1024"),
    (
        "--size 10MiB --record 3MiB",
        "--record: 3 MiB does not divide the work file of 10 MiB; choose a --record",
    ),
    (
        "--log no/such.csv",
        "--log: no/such.csv: its directory cannot be used: No such file or directory; make it first",
    ),
    ("--latency-target 99=1ms", "expected one of p50, p90, p99"),
    ("-w metadata.create --size 4KiB", "--size: has no effect on metadata.create; --record says how large"),
    ("-w iozone.write --for 2s", "--for: IOzone's tests end with the file; leave it out"),
    ("-w iozone.write --operations 5", "--operations: IOzone's tests end with the file"),
    ("-w iozone.mix", "--threads: found 1; iozone.mix divides reads and writes"),
    ("-w iozone.read --depth 2", "--depth: iozone.read does one operation at a time"),
]


@pytest.mark.parametrize(("typed", "words"), TYPED)
def test_the_answer_says_what_to_do(tmp_path: Path, typed: str, words: str) -> None:
    result = mileage("measure", "-t", f"dir:{tmp_path}", *typed.split())
    assert result.returncode == 2, result.stdout + result.stderr
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert list(tmp_path.iterdir()) == []


DISK = sorted(os.listdir("/sys/class/block"))[0]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ((), "--target: missing: what is measured, such as -t /mnt/scratch"),
        (
            ("-t", "/mnt/x"),
            "a directory must be made first (mkdir -p /mnt/x, then dir:/mnt/x)",
        ),
        (("-t", DISK), f"did you mean the block device /dev/{DISK}?"),
        (("-t", "dirs:/x"), "did you mean dir:?"),
    ],
)
def test_a_target_is_asked_for_by_its_kind(target: tuple[str, ...], words: str) -> None:
    result = mileage("measure", *target)
    assert result.returncode == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_every_answer_names_what_is_there() -> None:
    for here in foreign_options._HERE:
        for option in re.findall(r"--[a-z-]+", here):
            assert option in OPTIONS, here
    assert not {f"--{word}" for word in foreign_options._WORDS} & OPTIONS
    assert len(foreign_options._WORDS) == sum(len(words) for words in foreign_options._HERE.values())
    short = {name.removeprefix("pattern.") for name in WORKLOADS}
    assert set(_SYNONYMS.values()) <= short
    assert not set(_SYNONYMS) & short


def test_io_uring_may_be_called_by_its_whole_name(tmp_path: Path) -> None:
    words = ("--api", "io_uring", "--depth", "4", "--operations", "200", "--size", "4MiB")
    result = mileage("measure", "-t", f"dir:{tmp_path}", *words)
    assert result.returncode == 0, result.stderr
    assert "; io_uring;" in result.stdout.replace("\n", " ")
