"""The text of `mileage plan`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mileage.plan import Study, TargetFacts, builtin_text, parse_study
from mileage.plan.plan_text import describe
from mileage.plan.resolver import resolve
from mileage.plan.sizes import duration

Facts = Callable[..., TargetFacts]


def test_the_page_of_the_built_in_study(drive: TargetFacts) -> None:
    degradation = parse_study(builtin_text("degradation"), "degradation")
    facts = msgspec.structs.replace(drive, name="intel-x25e-64gb")
    plan = resolve(degradation, facts)
    assert (
        describe(plan).replace(plan.hash_short, "0123456789abcdef")
        == """\
degradation: Does sustained writing make this drive slower?

target            virtual:intel-x25e-64gb, 59.6 GiB, simulated time
work area         the whole drive, rounded down to whole records: 59.6 GiB
design            3 cycles of all stages, each from a purged target: a stress
                  arm, then a control that idles for as long
compared          after with before
detectable        3 cycles give 80 % power to detect a difference of 4.4
                  standard deviations: 4.4 % if the standard deviation is 1 %,
                  22 % if it is 5 %
seed              2010
plan              0123456789abcdef (equal plans have equal numbers)

stage prepare     prepare: fill-large (sequential writes, 1 MiB, 1 thread, 59.6
                  GiB)
stage before      measure 6 tests in 5 randomised blocks
stage torture     torture: fill-large (sequential writes, 1 MiB, 1 thread, 59.6
                  GiB), churn-small (writes at uniformly random offsets, 4 KiB,
                  8 threads, 131 GiB)
stage after       measure 6 tests in 5 randomised blocks
test              throughput.write 128 KiB: sequential writes, 128 KiB, 1
                  thread, 256 MiB; throughput; 5 blocks
test              throughput.write 1 MiB: sequential writes, 1 MiB, 1 thread,
                  256 MiB; throughput; 5 blocks
test              throughput.read 128 KiB: sequential reads, 128 KiB, 1 thread,
                  256 MiB; throughput; 5 blocks
test              throughput.read 1 MiB: sequential reads, 1 MiB, 1 thread, 256
                  MiB; throughput; 5 blocks
test              iops.random_write 4 KiB: writes at uniformly random offsets, 4
                  KiB, 8 threads, 20000 operations; iops, p99; 5 blocks
test              iops.random_read 4 KiB: reads at uniformly random offsets, 4
                  KiB, 8 threads, 20000 operations; iops, p99; 5 blocks

tests             6
runs              378 (6 prepare, 360 measure, 6 torture, 6 idle)
estimated time    about 63 s; assumes 6 million simulated 4 KiB pages of the
                  host per second, and 4 s or more for the report; idling takes
                  no time
bytes to write    964 GiB at most; 34.6 GiB to read
drive writes      16.2 times the capacity
endurance used    unknown: the drive's rated endurance is not known

privileged steps  none
refused           nothing
"""
    )


def test_the_page_of_a_quick_look_at_a_directory(small: Study, directory: Facts) -> None:
    plan = resolve(small, directory(rated_write_bytes=600 << 40), quick=True, target="dir:/scratch")
    assert (
        describe(plan).replace(plan.hash_short, "0123456789abcdef")
        == """\
small: Is it slower?

target            dir:/scratch, 100 GiB, real time
work area         a work file: 64 MiB
design            1 cycle of all stages, from a purged target, no idle control
                  (a cycle that idles instead of the torture); verdicts hold for
                  this cycle only
compared          after with before
detectable        2 runs of each arm give 80 % power to detect a difference of
                  5.4 standard deviations: 5.4 % if the standard deviation is 1
                  %, 27 % if it is 5 %
other days        this is one session; against a history of 10 such ones a loss
                  is found with 80 % power from 3.5 % at 1%, 6 % at 2%, 14 % at
                  5% spread between sessions (1 % between runs)
seed              7
plan              0123456789abcdef (equal plans have equal numbers)

stage prepare     prepare: fill (sequential writes, 1 MiB, 1 thread, 64 MiB)
stage before      measure 5 tests in 3 randomised blocks
stage torture     torture: fill (sequential writes, 1 MiB, 1 thread, 64 MiB),
                  churn (writes at uniformly random offsets, 4 KiB, 4 threads,
                  141 MiB or 20 s)
stage rest        idle 1 s
stage after       measure 5 tests in 3 randomised blocks
test              throughput.write 128 KiB: sequential writes, 128 KiB, 1
                  thread, 8 MiB or 0.5 s; throughput; 3 blocks
test              throughput.write 1 MiB: sequential writes, 1 MiB, 1 thread, 8
                  MiB or 0.5 s; throughput; 3 blocks
test              throughput.read 128 KiB: sequential reads, 128 KiB, 1 thread,
                  8 MiB or 0.5 s; throughput; 3 blocks
test              throughput.read 1 MiB: sequential reads, 1 MiB, 1 thread, 8
                  MiB or 0.5 s; throughput; 3 blocks
test              iops.random_read 4 KiB: reads at uniformly random offsets, 4
                  KiB, 4 threads, 1000 operations or 0.5 s; iops, p99; 2 blocks

tests             5
runs              32 (1 prepare, 28 measure, 2 torture, 1 idle)
estimated time    about 16 s; assumes 150 MB/s sequential, 5000 operations/s
                  elsewhere, whatever the device
bytes to write    365 MiB at most; 112 MiB to read
drive writes      0.00356 times the capacity; 5.7 times the work file
endurance used    0.000058 % of the rated 600 TiB

privileged steps  none
refused           nothing
"""
    )


def test_refusals_are_on_the_page(small: Study, directory: Facts) -> None:
    plan = resolve(small, directory(free_bytes=0), target="dir:/scratch", refuse=False)
    assert describe(plan).endswith("""\
privileged steps  none
refused           small: state.file: the work file needs 64 MiB and 0 B are free
                  on dir:/scratch; free some space, give a smaller state.file,
                  or use --quick
""")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_asked(small: Study, drive: TargetFacts, width: int) -> None:
    lines = describe(resolve(small, drive), width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines == [line.rstrip() for line in lines]


@pytest.mark.parametrize(
    ("time_s", "words"),
    [(0.0, "1 s"), (12.4, "12 s"), (99.4, "99 s"), (99.6, "2 min"), (5900, "98 min"), (7200, "2.0 h")],
)
def test_durations_in_words(time_s: float, words: str) -> None:
    assert duration(time_s) == words
