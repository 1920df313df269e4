"""The rule by which two runs of fio print alike: measured figures may differ, nothing else may."""

from __future__ import annotations

import pytest

from tests.dropin.fio_lines import fixed_by, lines_of

TEXT = """a: (g=0): rw=write, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1
fio-3.33
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=32011: Thu Nov 26 16:06:32 2026
  write: IOPS=18.9k, BW=73.7MiB/s (77.2MB/s)(1024KiB/14msec); 0 zone resets
    clat (usec): min=34, max=144, avg=74.19, stdev=19.44
     lat (usec): min=38, max=12.8k, avg=86.95, stdev=67.60
    clat percentiles (usec):
     |  1.00th=[   37],  5.00th=[   45], 50.00th=[   74],
     | 99.99th=[  145]
   bw (  KiB/s): min= 4096, max= 8192, per=100.00%, avg=6144.00, stdev=12.34, samples=2
   iops        : min= 1024, max= 2048, avg=1536.00, stdev= 3.40, samples=2
  lat (usec)   : 50=4.69%, 100=81.25%, 250=14.06%
  lat (msec)   : 2=0.01%
  cpu          : usr=0.00%, sys=50.00%, ctx=149, majf=0, minf=12
  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=0,256,0,0 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
  WRITE: bw=73.7MiB/s (77.2MB/s), 73.7MiB/s-73.7MiB/s (77.2MB/s-77.2MB/s), io=1024KiB (1049kB), run=14-14msec

Disk stats (read/write):
  vda: ios=0/0, merge=0/0, ticks=0/0, in_queue=0, util=0.00%
"""
SIZED, TIMED, MIXED = fixed_by(["--rw=write"]), fixed_by(["--time_based"]), fixed_by(["--rw=randrw"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pid=32011: Thu Nov 26", "pid=7: Fri Nov 27"),
        ("IOPS=18.9k, BW=73.7MiB/s (77.2MB/s)", "IOPS=512, BW=2048KiB/s (2097kB/s)"),
        ("clat (usec): min=34, max=144", "clat (nsec): min=340, max=1.44k"),
        ("avg=74.19", "avg= 4.19"),
        ("50.00th=[   74],\n     | 99.99th", "50.00th=[    7], 99.99th"),
        ("  lat (msec)   : 2=0.01%\n", ""),
        ("usr=0.00%, sys=50.00%, ctx=149", "usr=10.00%, sys=5.00%, ctx=1"),
        ("run=14-14msec", "run=9-11msec"),
        ("   iops        : min= 1024, max= 2048, avg=1536.00, stdev= 3.40, samples=2\n", ""),
        ("util=0.00%", "util=9.00%"),
    ],
)
def test_measured_figures_may_differ(before: str, after: str) -> None:
    assert before in TEXT
    assert lines_of(TEXT.replace(before, after), SIZED) == lines_of(TEXT, SIZED)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rw=write", "rw=randwrite"),
        ("jobs=1", "jobs=2"),
        ("err= 0", "err=5"),
        ("; 0 zone resets", ""),
        ("(1024KiB/", "(1020KiB/"),
        ("clat (usec)", "slat (usec)"),
        ("avg=74.19", "avg=74.2"),
        ("99.99th", "99.90th"),
        ("250=14.06%", "250=14.1%"),
        ("usr=0.00%", "usr=0.0%"),
        ("1=100.0%", "1=99.9%"),
        ("total=0,256,0,0", "total=0,255,0,0"),
        ("short=0", "short=1"),
        ("io=1024KiB", "io=1020KiB"),
        ("     lat (usec): min=38, max=12.8k, avg=86.95, stdev=67.60\n", ""),
    ],
)
def test_everything_else_must_not(before: str, after: str) -> None:
    assert before in TEXT
    assert lines_of(TEXT.replace(before, after), SIZED) != lines_of(TEXT, SIZED)


def test_counts_are_compared_where_the_line_fixes_them() -> None:
    fewer = (
        TEXT.replace("total=0,256", "total=0,255").replace("1024KiB", "1020KiB").replace("1049kB", "1044kB")
    )
    assert lines_of(fewer, TIMED) == lines_of(TEXT, TIMED)
    # Of a mix only the sum.
    assert lines_of(TEXT.replace("total=0,256", "total=100,156"), MIXED) == lines_of(TEXT, MIXED)
    assert lines_of(TEXT.replace("total=0,256", "total=100,155"), MIXED) != lines_of(TEXT, MIXED)
    # Samples are compared of a job that runs long enough.
    without = "".join(line for line in TEXT.splitlines(True) if "iops  " not in line)
    assert lines_of(without, TIMED) != lines_of(TEXT, TIMED)
