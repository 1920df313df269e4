"""What a user asks of imported results of fio and mdtest, whose figures are chosen here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.answers import fio_report
from tests.answers.question import ask, ask_json, suppose
from tests.command import mileage


def samples(folder: Path, study: str, metric: str) -> list[tuple[str, float]]:
    """Cells and values of a metric, a row for each run, in the order of the runs."""
    sql = f"SELECT cell, value FROM samples WHERE metric = '{metric}' ORDER BY run"
    return [(row["cell"], row["value"]) for row in ask_json("query", sql, study, cwd=folder)]


def test_a_file_with_two_jobs_gives_both(tmp_path: Path) -> None:
    """Are both jobs of my fio file there, with the rates that fio reports?

    Truth: the two `iops` fields, read here from the file with the JSON module alone.
    """
    jobs = [
        fio_report.job("oltp", iops=9_321.5, clat_ns=101_000),
        fio_report.job("log", iops=4_200, clat_ns=230_000, rw="randwrite"),
    ]
    name = fio_report.save(tmp_path / "two.json", fio_report.report(jobs))
    ask("import", name, "--out", "out", cwd=tmp_path)
    read = json.loads((tmp_path / name).read_text())["jobs"]
    expected = sorted(job["read"]["iops"] or job["write"]["iops"] for job in read)
    assert sorted(value for _, value in samples(tmp_path, "out", "ops_per_s")) == pytest.approx(expected)


def test_the_jobs_of_numjobs_add_up(tmp_path: Path) -> None:
    """How many IOPS did my four processes do together?

    Truth: the sum of four rates over the same time, by arithmetic: 1,000 + 2,000 + 3,000 + 4,000.
    """
    jobs = [
        fio_report.job("w", iops=1000 * at, clat_ns=9.5e8 / (1000 * at), numjobs="4") for at in (1, 2, 3, 4)
    ]
    ask(
        "import",
        fio_report.save(tmp_path / "four.json", fio_report.report(jobs)),
        "--out",
        "out",
        cwd=tmp_path,
    )
    ((_, value),) = samples(tmp_path, "out", "ops_per_s")
    assert value == pytest.approx(10_000)


def test_status_reports_of_one_run_are_one_run(tmp_path: Path) -> None:
    """How many runs are in the file of one fio call with `--status-interval=1`?

    Truth: one: by construction the ten documents are the growing totals of one job, whose `runtime` is 1, 2, ... 10 s.
    What fio measured is the last of them.
    """
    documents = [
        fio_report.report(
            [fio_report.job("one", iops=10_000 - 20 * at, clat_ns=95_000, runtime_ms=1000 * at)], at
        )
        for at in range(1, 11)
    ]
    ask("import", fio_report.save(tmp_path / "status.json", *documents), "--out", "out", cwd=tmp_path)
    assert [value for _, value in samples(tmp_path, "out", "ops_per_s")] == pytest.approx([9_800])


def test_jobs_on_different_devices_are_different_cells(tmp_path: Path) -> None:
    """How fast is the SSD and how fast is the disk, of one fio file with a job on each?

    Truth: 9,000 and 150 IOPS, by construction; no device does 4,575.
    """
    jobs = [
        fio_report.job("reads", iops=9_000, clat_ns=105_000, filename="/dev/nvme0n1"),
        fio_report.job("reads", iops=150, clat_ns=6_400_000, filename="/dev/sda"),
    ]
    ask(
        "import",
        fio_report.save(tmp_path / "both.json", fio_report.report(jobs)),
        "--out",
        "out",
        cwd=tmp_path,
    )
    found = samples(tmp_path, "out", "ops_per_s")
    assert sorted(value for _, value in found) == pytest.approx([150, 9_000])
    assert len({cell for cell, _ in found}) == 2, found


def test_bandwidth_in_kibibytes_is_bandwidth(tmp_path: Path) -> None:
    """What is the throughput of this sequential read by fio 3.1?

    Truth: fio 3.0 and 3.1 write `bw` in KiB/s and no `bw_bytes`: 256,000 KiB/s are 262,144,000 bytes a second, and the
    file's own `io_bytes` over `runtime` gives the same.
    """
    job = fio_report.job("seq", rw="read", iops=64_000, clat_ns=15_000)
    del job["read"]["bw_bytes"]
    name = fio_report.save(tmp_path / "old.json", fio_report.report([job], version="fio-3.1"))
    ask("import", name, "--out", "out", cwd=tmp_path)
    assert [value for _, value in samples(tmp_path, "out", "rate_bytes_per_s")] == pytest.approx(
        [262_144_000]
    )


def test_a_share_above_the_whole_is_no_pass(tmp_path: Path) -> None:
    """Was there always an operation outstanding?

    Truth: nobody knows: the file's latency times its rate is 1.27 at depth 1, which cannot be, so that a check that is
    computed from both cannot pass.
    """
    job = fio_report.job("odd", iops=13_000, clat_ns=98_000)
    printed = ask("import", fio_report.save(tmp_path / "odd.json", fio_report.report([job])), cwd=tmp_path)
    words = " ".join(printed.split())
    shares = [float(found) for found in re.findall(r"\[✓\] limited by [^\[]*?([\d.]+)%", words)]
    assert all(share <= 100 for share in shares), shares


def test_a_client_that_submits_is_not_idle(tmp_path: Path) -> None:
    """Was my client idle a quarter of the time?

    Truth: no, by arithmetic: 7,500 operations a second, each with 33 us of submission and 98 us until completion, fill
    0.98 of the time at depth 1. Both are in the file, and their sum as `lat_ns`.
    """
    job = fio_report.job("x", iops=7_500, clat_ns=98_000)
    operations = job["read"]["total_ios"]
    job["read"]["slat_ns"] = fio_report.times(33_000, operations, percentiles=False)
    job["read"]["lat_ns"] = fio_report.times(131_000, operations, percentiles=False)
    name = fio_report.save(tmp_path / "clat.json", fio_report.report([job]))
    printed = " ".join(ask("import", name, cwd=tmp_path).split())
    assert "the load generator" not in printed


def test_the_rate_of_a_page_cache_is_marked(tmp_path: Path) -> None:
    """Does my disk read 10 GB/s?

    Truth: 2.5 million reads a second at depth 1 leave 390 ns for each, less than any storage device's latency; the job
    did not ask for `direct=1`, so that the page cache answered.
    """
    job = fio_report.job("x", rw="read", iops=2_500_000, clat_ns=390, runtime_ms=90, direct="0")
    printed = ask("import", fio_report.save(tmp_path / "fast.json", fio_report.report([job])), cwd=tmp_path)
    warned = " ".join(printed.split()).replace("[–] memory not counted", "")
    assert re.search(r"page cache|from memory|served from|cached", warned), printed


def test_the_page_cache_is_no_device(tmp_path: Path) -> None:
    """Did the device limit this read?

    Truth: no: 1.6 million random reads a second, one after the other, leave 625 ns for each.
    """
    job = fio_report.job("x", iops=1_600_000, clat_ns=600, direct="1")
    printed = ask("import", fio_report.save(tmp_path / "tmpfs.json", fio_report.report([job])), cwd=tmp_path)
    assert "limited by      the device" not in printed, printed
    assert printed.index("only memory") < printed.index("MiB/s"), "it stands before the figures"


def test_a_group_of_jobs_has_not_the_name_of_one(tmp_path: Path) -> None:
    """How fast were my random reads next to the log writer, with `group_reporting`?

    Truth: nobody knows: the file has the sum of both jobs, under the name and the options of the first.
    """
    job = fio_report.job("oltp", iops=9_000, clat_ns=105_000)
    job["write"] = fio_report.direction(500, 90_000, 60_000)
    job["job_runtime"] = 120_000
    ask(
        "import", fio_report.save(tmp_path / "g.json", fio_report.report([job])), "--out", "out", cwd=tmp_path
    )
    ((cell, value),) = samples(tmp_path, "out", "ops_per_s")
    suppose(value == 9_500, "the sum of both is read")
    assert "randread" not in cell
    assert "others" in cell


IOR = """\
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Began               : Mon Jun 21 10:00:00 2021
Command line        : ior -w -a POSIX -t 2m -b 9920000m -F
Machine             : Linux node

Options:
api                 : POSIX
access              : file-per-process
segments            : 1
nodes               : 1
tasks               : 32
clients per node    : 32
repetitions         : 1
xfersize            : 2 MiB
blocksize           : 9920000 MiB
aggregate filesize  : 302.73 TiB
stonewallingTime    : 300

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     6640.64    3320.32    0.009        10158080000 2048.00  0.001      300.0      0.001      300.000000 0
Finished            : Mon Jun 21 10:05:00 2021
"""


def test_a_phase_that_ended_early_moved_what_it_moved(tmp_path: Path) -> None:
    """How much did IOR write until its deadline?

    Truth: 6,640.64 MiB/s for 300 s are 1.9 TiB, by arithmetic; the 303 TiB of the options were never written.
    """
    (tmp_path / "ior.out").write_text(IOR)
    printed = " ".join(ask("import", "ior.out", "--out", "out", cwd=tmp_path).split())
    assert "1.90 TiB of 303 TiB were moved" in printed, printed


def test_columns_of_large_figures_stay_apart(tmp_path: Path) -> None:
    """How many MiB/s did this cluster read?

    Truth: 256 million records of 4 KiB a second are 1,000,000 MiB/s and 1,048,576 MB/s, by arithmetic; each is a word
    of its own.
    """
    job = fio_report.job("all", rw="read", iops=256_000_000, clat_ns=98_000)
    printed = ask("import", fio_report.save(tmp_path / "wide.json", fio_report.report([job])), cwd=tmp_path)
    (row,) = [line for line in printed.splitlines() if line.startswith("fio.read")]
    assert {"1,000,000", "1,048,576"} <= set(row.split()), row


def mdtest_table(rates: dict[str, float]) -> str:
    """A table as mdtest 3.3 prints it, of one iteration."""
    rows = [
        f"   {name:<26}: {rate:>14.3f} {rate:>14.3f} {rate:>14.3f} {0:>14.3f}\n"
        for name, rate in rates.items()
    ]
    return (
        "   Operation                      Max            Min           Mean        Std Dev\n"
        "   ---------                      ---            ---           ----        -------\n" + "".join(rows)
    )


def mdtest_call(options: str, files: int, *tables: tuple[str, dict[str, float]]) -> str:
    """One call of mdtest 3.3 with its head and its tables."""
    head = (
        "-- started at 06/01/2021 10:00:00 --\n\n"
        "mdtest-3.3.0 was launched with 2 total task(s) on 1 node(s)\n"
        f"Command line used: ./mdtest {options} '-d' '/mnt/x'\n"
        "Path: /mnt/x\nFS: 252.0 GiB   Used FS: 17.6%   Inodes: 16.0 Mi   Used Inodes: 4.0%\n\nNodemap: 11\n"
        f"2 tasks, {files} files\n"
    )
    bodies = "".join(f"\nSUMMARY {kind}: (of 1 iterations)\n{mdtest_table(rows)}" for kind, rows in tables)
    return head + bodies + "\n-- finished at 06/01/2021 10:00:20 --\n"


def test_mdtest_times_are_not_rates(tmp_path: Path) -> None:
    """How many files a second did `mdtest -P` create?

    Truth: 200,000 files in 10 s, by construction: the table of rates says 20,000, and the table of times below it 10.
    """
    call = mdtest_call(
        "'-n' '100000' '-F' '-u' '-P'",
        200_000,
        ("rate", {"File creation": 20_000, "File stat": 100_000, "File removal": 25_000}),
        ("time", {"File creation": 10, "File stat": 2, "File removal": 8}),
    )
    (tmp_path / "md.out").write_text(call)
    ask("import", "md.out", "--out", "out", cwd=tmp_path)
    found = [value for cell, value in samples(tmp_path, "out", "ops_per_s") if "creat" in cell]
    assert found == pytest.approx([20_000])


def test_mdtest_calls_with_other_options_are_other_cells(tmp_path: Path) -> None:
    """What does a directory for each task bring, by the two mdtest calls in my log?

    Truth: 30,000 creations a second with `-u` against 12,000 without, by construction; they are two settings, and a
    mean of both belongs to neither.
    """
    own = mdtest_call("'-n' '1000' '-F' '-u'", 2000, ("rate", {"File creation": 30_000}))
    shared = mdtest_call("'-n' '1000' '-F'", 2000, ("rate", {"File creation": 12_000}))
    (tmp_path / "md.out").write_text(own + shared)
    ask("import", "md.out", "--out", "out", cwd=tmp_path)
    found = samples(tmp_path, "out", "ops_per_s")
    assert sorted(value for _, value in found) == pytest.approx([12_000, 30_000])
    assert len({cell for cell, _ in found}) == 2, found


def test_mdtest_iterations_are_the_runs_where_they_are_printed(tmp_path: Path) -> None:
    """How many files a second did the three iterations of `mdtest -v` create?

    Truth: 100, 200 and 300, on three lines of the file. The table below them is that of mdtest 1.9.3, which takes for
    each iteration the fastest task as if it were all: 250 in the mean (github.com/hpc/ior, issue 183).
    """
    lines = "".join(
        f"V-1: main: * iteration {at} *\nV-1:   File creation     : {2000 / rate:14.3f} sec, {rate:14.3f} ops/sec\n"
        for at, rate in enumerate((100, 200, 300), 1)
    )
    row = f"   File creation     : {400:14.3f} {120:14.3f} {250:14.3f} {80:14.3f}\n"
    call = mdtest_call("-n 1000 -F -v -i 3", 2000, ("", {})).replace("-3.3.0", "-1.9.3")
    call = call.replace("\nSUMMARY : (of 1 iter", f"{lines}\nSUMMARY: (of 3 iter").replace(
        "\n-- finished", f"{row}\n-- finished"
    )
    (tmp_path / "md.out").write_text(call)
    ask("import", "md.out", "--out", "out", cwd=tmp_path)
    assert [value for _, value in samples(tmp_path, "out", "ops_per_s")] == pytest.approx([100, 200, 300])


DISKSPD = """
Command Line: diskspd.exe -b8K -d10 -o4 -t2 -r -w0 -L -c1G test.dat

Input parameters:

    timespan:   1
    -------------
    duration: 10s
    warm up time: 5s
    cool down time: 0s
    measuring latency
    random seed: 0
    path: 'test.dat'
        think time: 0ms
        burst size: 0
        software cache disabled
        performing read test
        block size: 8192
        using random I/O (alignment: 8192)
        number of outstanding I/O operations: 4
        threads per file: 2
        IO priority: normal

Results for timespan 1:
*******************************************************************************

actual test time:    10.00s
thread count:        2
proc count:        4

Total IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
     0 |       409600000 |        50000 |      39.06 |    5000.00 |    0.800 |     0.100 | test.dat (1024MiB)
     1 |       409600000 |        50000 |      39.06 |    5000.00 |    0.800 |     0.100 | test.dat (1024MiB)
-----------------------------------------------------------------------------------------------------
total:         819200000 |       100000 |      78.12 |   10000.00 |    0.800 |     0.100
"""


def test_diskspd_indented_by_blanks_keeps_its_settings(tmp_path: Path) -> None:
    """Which block size did DiskSpd use?

    Truth: 8,192 bytes, which stand in the text and in its command line. Copying from a terminal turns the tabs, by
    which DiskSpd indents, into blanks, as in most texts that are published.
    """
    (tmp_path / "diskspd.txt").write_text(DISKSPD)
    ask("import", "diskspd.txt", "--out", "out", cwd=tmp_path)
    ((cell, value),) = samples(tmp_path, "out", "ops_per_s")
    suppose(value == 10_000, "the rate is read")
    assert "8 KiB" in cell


def iozone_call(rates: list[int]) -> str:
    """One call of IOzone with as many of its tests as there are rates, in kB/s, by the columns of its table."""
    heads = "".join(f"{name:>9}" for name in ("write", "rewrite", "read", "reread", "read", "write", "read"))
    heads += "".join(f"{name:>9}" for name in ("rewrite", "read", "fwrite", "frewrite", "fread", "freread"))
    return (
        "\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.471 $\n\n"
        "\tCommand line used: iozone -s 8m -r 1m\n\tOutput is in kBytes/sec\n"
        f"              kB  reclen{heads}\n            8192    1024{''.join(f'{rate:>9}' for rate in rates)}\n\n"
        "iozone test complete.\n"
    )


def iozone_rates(call: int, factor: float = 1.0) -> list[int]:
    """Thirteen rates of a call, each a few percent off its test's own, in another way in each call."""
    return [
        round(factor * 100_000 * (1 + test) * (1 + 0.02 * ((7 * call + 5 * test) % 9 - 4)))
        for test in range(13)
    ]


def test_an_odd_call_of_iozone_is_marked(tmp_path: Path) -> None:
    """Are my ten calls of IOzone alike?

    Truth: no: the fourth is at half the speed in all its tests, by construction. That is one event, which thirteen
    tests saw, and not thirteen findings.
    """
    for name, factor in (("odd", 0.5), ("even", 1.0)):
        calls = [iozone_call(iozone_rates(at, factor if at == 4 else 1.0)) for at in range(1, 11)]
        (tmp_path / f"{name}.out").write_text("".join(calls))
        printed = " ".join(ask("import", f"{name}.out", "--out", name, cwd=tmp_path).split())
        assert ("is unlike the other 9" in printed) is (factor != 1), printed
        slower = [float(share) for share in re.findall(r"13 tests are together ([\d.]+)% slower", printed)]
        assert slower == ([] if factor == 1 else [pytest.approx(50, abs=2)])
    compared = " ".join(ask("compare", "even", "odd", cwd=tmp_path).split())
    assert "is unlike the other 9" in compared


def test_the_tests_of_one_call_are_one_block(tmp_path: Path) -> None:
    """Which runs of my file were made together?

    Truth: those of one call: the first call did two tests, the second all thirteen, so that its reads, the first in the
    file, are of the second block.
    """
    calls = [iozone_call(iozone_rates(1)[:2]), iozone_call(iozone_rates(2))]
    (tmp_path / "two.out").write_text("".join(calls))
    ask("import", "two.out", "--out", "out", cwd=tmp_path)
    sql = "SELECT block, COUNT(*) AS runs FROM samples GROUP BY block ORDER BY block"
    rows = ask_json("query", sql, "out", cwd=tmp_path)
    assert [(row["block"], row["runs"]) for row in rows] == [(1, 2), (2, 13)]


IO500_2019 = """\
[RESULT] BW   phase 1            ior_easy_write                2.000 GB/s : time 301.25 seconds
[RESULT-invalid] IOPS phase 1         mdtest_easy_write               20.500 kiops : time  30.50 seconds
[SCORE-invalid] Bandwidth 2.0 GB/s : IOPS 20.5 kiops : TOTAL 6.40312
"""
IO500_ISC20 = """\
IO500 version io500-isc20_v4
[RESULT]       ior-easy-write        2.000000 GiB/s  : time 301.250 seconds
[RESULT-invalid]    mdtest-easy-write       20.500000 kIOPS : time 30.500 seconds
[SCORE-invalid] Bandwidth 2.000000 GB/s : IOPS 20.500000 kiops : TOTAL 6.403124
"""
IOR_INSIDE_IO500 = """\
IOR-4.1.0+dev: MPI Coordinated Test of Parallel I/O
Began               : Mon Nov 23 13:40:06 2026
Command line        : ./ior -C -Q 1 -g -k -e -o out/f -O stoneWallingWearOut=1 -D 300 -t 2m -b 9920000m -F -w
Machine             : Linux vm
Path                : out/f.00000000
FS                  : 252.0 GiB   Used FS: 7.2%   Inodes: 16.0 Mi   Used Inodes: 3.0%

Options:
api                 : POSIX
tasks               : 10
repetitions         : 1
xfersize            : 2 MiB
blocksize           : 9.46 TiB
aggregate filesize  : 94.60 TiB
stonewallingTime    : 300
stoneWallingWearOut : 1

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
stonewalling pairs accessed min: 29000 max: 30000 -- min data: 56.6 GiB mean data: 57.7 GiB time: 300.1s
write     1940.25    970.13     0.010318    10158080000 2048.00   0.000083   309.24     0.000008   309.24     0
"""


@pytest.mark.parametrize("text", [IO500_2019, IO500_ISC20], ids=["2019", "isc20"])
def test_io500_of_2019_and_of_2020_are_read_alike(tmp_path: Path, text: str) -> None:
    """How fast were writes in my IO500 result of 2019 (the shell script), and of 2020 (the C program)?

    Truth: 2 x 2^30 bytes a second in both: the script divides IOR's MiB/s by 1,024 and calls that GB/s. Creations are
    20,500 a second.
    """
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "result_summary.txt").write_text(text)
    ask("import", "results", "--out", "out", cwd=tmp_path)
    assert samples(tmp_path, "out", "rate_bytes_per_s") == [("io500.ior_easy_write", 2 * 2**30)]
    assert samples(tmp_path, "out", "ops_per_s") == [("io500.mdtest_easy_write", 20_500)]


def test_an_invalid_io500_result_is_not_compared_without_a_word(tmp_path: Path) -> None:
    """Is my new result, of which IO500 itself says that a phase is invalid, faster than the one before?

    Truth: nobody can say so. The list refuses such results; what is said of them goes before the verdict.
    """
    valid = IO500_ISC20.replace("-invalid", "")
    for name, text in (("old", valid), ("new", IO500_ISC20), ("newer", valid)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result_summary.txt").write_text(text)
        ask("import", name, "--out", f"{name}-study", cwd=tmp_path)
    summary = " ".join(ask("compare", "old-study", "new-study", cwd=tmp_path).split())
    assert summary.startswith(
        "Not conclusive because IO500 says of mdtest-easy-write: invalid (in new-study"
    ), summary
    assert "invalid" not in ask("compare", "old-study", "newer-study", cwd=tmp_path)


def test_ior_inside_io500_is_whole(tmp_path: Path) -> None:
    """Is the listing `ior-easy-write.txt` in my IO500 folder damaged?

    Truth: no: IOR that IO500 calls prints no "Finished" line, and the one repetition of its command is there.
    """
    (tmp_path / "ior-easy-write.txt").write_text(IOR_INSIDE_IO500)
    printed = ask("import", "ior-easy-write.txt", "--out", "out", "--strict", cwd=tmp_path)
    assert "lost" not in printed
    assert samples(tmp_path, "out", "rate_bytes_per_s") == [("ior.write 2 MiB", 1940.25 * 2**20)]


SYSBENCH = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1

CPU speed:
    events per second:  1200.10
"""
CRYSTAL = """[Read]
  SEQ    1MiB (Q=  8, T= 1):  3512.345 MB/s [   3349.6 IOPS] <  2386.12 us>
  RND    4KiB (Q= 32, T= 1):   512.345 MB/s [ 125084.2 IOPS] <   255.12 us>
"""


FIO_TERSE = (
    "3;fio-3.33;a;0;0;4096;45010;11252;91;0;0;0.000000;0.000000;61;312;86.203486;13.872431;1.000000%=64\n"
)
FIO_ERROR = "fio: unrecognized option '--nosuch=1'\n"
DISKSPD_XML = "<Results>\n  <System>\n    <ComputerName>HOST</ComputerName>\n  </System>\n</Results>\n"
ELBENCHO = '{\n  "ISO DATE": "2026-11-22T02:03:04",\n  "operation": "WRITE"\n}\n'
VDBENCH = """Copyright (c) 2000, 2018, Oracle and/or its affiliates. All rights reserved.
Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018
For documentation, see 'vdbench.pdf'.
"""
BONNIE = "host,300M,9000,90,8000,30,7000,20,6000,80,9000,10,500.1,1,16,+++++,+++,+++++,+++\n"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("fio's terse output", FIO_TERSE),
        ("error message of fio", FIO_ERROR),
        ("DiskSpd's XML", DISKSPD_XML),
        ("elbencho", ELBENCHO),
        ("vdbench", VDBENCH),
        ("sysbench", SYSBENCH),
        ("CrystalDiskMark", CRYSTAL),
        ("bonnie++", BONNIE),
    ],
    ids=["terse", "error", "xml", "elbencho", "vdbench", "sysbench", "crystaldiskmark", "bonnie"],
)
def test_a_refusal_names_the_tool(tmp_path: Path, tool: str, text: str) -> None:
    """Why is my file not read?

    Truth: it is the text of a tool whose name stands in it, which a reader sees at once.
    """
    (tmp_path / "result.txt").write_text(text)
    done = mileage("import", "result.txt", cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert tool.lower() in done.stderr.split("--layout")[0].lower(), done.stderr
