"""hdparm and dd as they print; DiskSpd, IOMeter and IO500 by their documented formats."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from mileage.app.importer import read_files
from mileage.errors import Refused
from mileage.formats.raw_print import Row, result_text
from tests.formats.sample_reader import SAMPLES, by_cell, of, of_text

MIB: Final = 1 << 20

DISKSPD: Final = """\

Command Line: diskspd.exe -b8K -d10 -o4 -t2 -r -w25 -L -c1G test.dat

Input parameters:

\ttimespan:   1
\t-------------
\tduration: 10s
\twarm up time: 5s
\tcool down time: 0s
\tmeasuring latency
\trandom seed: 0
\tpath: 'test.dat'
\t\tthink time: 0ms
\t\tburst size: 0
\t\tusing software cache
\t\tperforming mix test (read/write ratio: 75/25)
\t\tblock size: 8192
\t\tusing random I/O (alignment: 8192)
\t\tnumber of outstanding I/O operations: 4
\t\tthreads per file: 2

System information:

\tcomputer name: HOST
\tstart time: 2026/11/22 02:00:00 UTC

Results for timespan 1:
*******************************************************************************

actual test time:\t10.00s
thread count:\t\t2
proc count:\t\t4

CPU |  Usage |  User  |  Kernel |  Idle
-------------------------------------------
   0|  99.58%|   2.19%|   97.40%|   0.42%
-------------------------------------------
avg.|  99.58%|   2.19%|   97.40%|   0.42%

Total IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
     0 |       409600000 |        50000 |      39.06 |    5000.00 |    0.800 |     0.100 | test.dat (1024MiB)
     1 |       409600000 |        50000 |      39.06 |    5000.00 |    0.800 |     0.100 | test.dat (1024MiB)
-----------------------------------------------------------------------------------------------------
total:         819200000 |       100000 |      78.12 |   10000.00 |    0.800 |     0.100

Read IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
total:         614400000 |        75000 |      58.59 |    7500.00 |    0.700 |     0.100

Write IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
total:         204800000 |        25000 |      19.53 |    2500.00 |    1.100 |     0.100

  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      0.010 |      0.020 |      0.010
   50th |      0.600 |      0.900 |      0.700
   99th |      2.000 |      3.000 |      2.500
3-nines |      4.000 |      5.000 |      4.500
    max |      9.000 |     10.000 |     10.000
"""

IO500: Final = """\
IO500 version io500-sc23_v1-0 (standard)
[RESULT]       ior-easy-write        2.066023 GiB/s : time 310.934 seconds
[RESULT]    mdtest-easy-write       12.500000 kIOPS : time 301.100 seconds
[RESULT]       ior-hard-write        0.100000 GiB/s : time 299.000 seconds [INVALID]
[SCORE ] Bandwidth 1.234 GiB/s : IOPS 5.678 kiops : TOTAL 2.647
"""

IOMETER: Final = result_text(
    "a mix",
    "2026-11-22 02:00:00",
    "/data",
    [
        Row(
            "4 KiB; 67% Read",
            2,
            8,
            10.0,
            6700,
            3300,
            6700 * 4096,
            3300 * 4096,
            (2e6, 1e6, 3e6),
            (9e6, 8e6, 9e6),
        )
    ],
)


def test_hdparm_has_megabytes_of_two_to_the_twentieth() -> None:
    result = of(SAMPLES / "hdparm.out")
    assert (result.tool, result.unread) == ("hdparm", [])
    assert {cell: (run.rate_bytes_per_s or 0) / MIB for cell, run in by_cell(result).items()} == {
        "hdparm.cached": 7289.40,
        "hdparm.buffered": 166.82,
        "hdparm.cached_direct": 3249.57,
        "hdparm.buffered_direct": 5199.87,
    }


def test_dd_is_bytes_over_seconds() -> None:
    result = of(SAMPLES / "dd.out")
    assert (result.tool, result.unread) == ("dd", [])
    assert [run.rate_bytes_per_s for run in result.runs] == [67108864 / 0.115462, 67108864 / 0.00811327]
    assert [run.levels["bs"] for run in result.runs] == ["1048576"] * 2


def test_two_tools_in_one_file_are_distinguished(tmp_path: Path) -> None:
    both = (SAMPLES / "hdparm.out").read_text() + (SAMPLES / "dd.out").read_text()
    result = of_text(tmp_path, both)
    assert (result.tool, len(result.runs)) == ("hdparm", 4)
    assert [entry.why for entry in result.unread] == ["of dd, in a file of hdparm; keep them apart"] * 2


def test_diskspd(tmp_path: Path) -> None:
    result = of_text(tmp_path, DISKSPD)
    (run,) = result.runs
    assert result.unread == []
    assert (run.cell, run.kind) == ("diskspd.random_mix 8 KiB", "iops")
    assert (run.rate_bytes_per_s, run.ops_per_s, run.elapsed_s) == (81_920_000, 10_000, 10)
    assert (run.bytes_read, run.ops_read, run.bytes_written, run.ops_written) == (
        614400000,
        75000,
        204800000,
        25000,
    )
    assert run.quantiles_ns == pytest.approx(
        {
            "mean": 800_000,
            "min": 10_000,
            "p50": 700_000,
            "p99": 2_500_000,
            "p99_9": 4_500_000,
            "max": 10_000_000,
        }
    )
    assert (run.latency_p99_ns, run.outstanding) == (2_500_000, 8)
    assert run.latency_sum_ns == pytest.approx(10e9 * 8), "Little's law holds in the sample"


def test_iometer_reads_what_its_drop_in_command_prints(tmp_path: Path) -> None:
    result = of_text(tmp_path, IOMETER)
    (run,) = result.runs
    assert (result.unread, result.facts) == ([], {"rows DISK": "1"})
    assert (run.cell, run.ops_per_s, run.levels["Queue Depth"]) == ("iometer.4 KiB; 67% Read", 1000, "8")
    assert run.rate_bytes_per_s == pytest.approx(10_000 * 4096 / 10, rel=1e-6)
    assert (run.bytes_read, run.ops_written) == (6700 * 4096, 3300)
    assert run.quantiles_ns == {"mean": 2e6, "max": 9e6}
    older = (
        IOMETER.replace("MiBps (Binary)", "MBps")
        .replace("Read MBps,", "Read x,")
        .replace("Write MBps,", "Write x,")
    )
    assert "2^20" in of_text(tmp_path, older).runs[0].notes[0]


def test_io500(tmp_path: Path) -> None:
    result = of_text(tmp_path, IO500)
    found = by_cell(result)
    assert result.unread == []
    assert found["io500.ior_easy_write"].rate_bytes_per_s == 2.066023 * 2**30
    assert found["io500.mdtest_easy_write"].ops_per_s == 12_500
    assert found["io500.ior_hard_write"].notes == ["IO500 says of ior-hard-write: [INVALID]"]
    assert result.facts["score"].endswith("TOTAL 2.647")


IO500_SCRIPT: Final = """\
[RESULT] BW   phase 1            ior_easy_write                8.581 GB/s : time  58.27 seconds
[RESULT-invalid] IOPS phase 1         mdtest_easy_write               20.608 kiops : time 333.32 seconds
[RESULT] IOPS phase 3                      find              305.930 kiops : time  24.64 seconds
[SCORE-invalid] Bandwidth 8.581 GB/s : IOPS 14.8749 kiops : TOTAL 4.90749
"""


def test_io500_as_the_script_of_2019_writes_it(tmp_path: Path) -> None:
    result = of_text(tmp_path, IO500_SCRIPT)
    found = by_cell(result)
    assert (result.unread, result.lost, result.facts["score"].split()[-1]) == ([], [], "4.90749")
    assert found["io500.ior_easy_write"].rate_bytes_per_s == 8.581 * 2**30
    assert found["io500.mdtest_easy_write"].notes == ["IO500 says of mdtest_easy_write: invalid"]
    assert found["io500.mdtest_easy_write"].invalid == "IO500 says of mdtest_easy_write: invalid"
    assert found["io500.find"].invalid is None
    assert (found["io500.find"].ops_per_s, found["io500.find"].elapsed_s) == (305_930, 24.64)


def test_io500_prints_each_line_twice_where_all_its_output_was_kept(tmp_path: Path) -> None:
    rows = IO500_SCRIPT.replace("[SCORE", "\n[Summary] Results files in /x\n[SCORE")
    twice = (
        "[Starting] ior_easy_write\n[Exec] mpirun ior -w\n[Results] in /x/ior_easy_write.txt.\n" + rows + rows
    )
    assert len(by_cell(of_text(tmp_path, twice))) == 3
    other = IO500_SCRIPT.replace("58.27", "58.31")
    assert len(of_text(tmp_path, rows + other).runs) == 4, "another result of one phase is a repetition"


def test_io500_phases_that_are_not_scored_or_failed(tmp_path: Path) -> None:
    text = IO500 + "[      ]            timestamp        0.000000 kIOPS : time 0.000 seconds\n"
    text += "[RESULT]   ior-rnd4K-easy-read        0.250000 GiB/s : time 300.000 seconds\n"
    text += "[RESULT]     mdtest-hard-stat        0.000000 kIOPS : time 1.000 seconds [INVALID]\n"
    result = of_text(tmp_path, text)
    assert by_cell(result)["io500.ior_rnd4K_easy_read"].rate_bytes_per_s == 2**28
    assert [(entry.line, entry.why) for entry in result.unread] == [
        (8, "no figure: the phase failed or was not done")
    ]


def test_the_settings_of_io500_come_from_the_listings_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "2026.11.23-13.40.06"
    folder.mkdir()
    (folder / "result_summary.txt").write_text(IO500)
    (folder / "ior-easy-write.txt").write_bytes((SAMPLES / "ior-in-io500.out").read_bytes())
    (folder / "mdtest-easy-write.txt").write_bytes((SAMPLES / "mdtest-rate-time.out").read_bytes())
    (folder / "find.txt").write_text("found 10\n")
    ((source, result),) = read_files([folder])
    found = by_cell(result)
    assert (source.path.name, result.lost) == ("result_summary.txt", [])
    assert found["io500.ior_easy_write"].levels["xfersize"] == "262144 bytes"
    assert found["io500.mdtest_easy_write"].levels["options"] == "-F -N 1 -W 1 -u"
    assert found["io500.ior_hard_write"].levels == {}
    with pytest.raises(Refused, match=r"a folder without the result_summary\.txt of IO500"):
        read_files([tmp_path])


def test_ior_inside_io500_is_whole() -> None:
    result = of(SAMPLES / "ior-in-io500.out")
    (run,) = result.runs
    assert (result.lost, result.unread) == ([], [])
    assert run.bytes_written == 8 << 20, "the stonewall was not reached"


def test_ior_that_was_ended_early_moved_its_rate_times_its_time(tmp_path: Path) -> None:
    text = (SAMPLES / "ior-in-io500.out").read_text()
    text = text.replace("blocksize           : 4 MiB", "blocksize           : 9920000 MiB")
    (run,) = of_text(tmp_path, text).runs
    assert run.bytes_written == round(1540.25 * 0.005194 * (1 << 20))
    assert "ended the write early" in run.notes[0]
    torn = of_text(tmp_path, text[: text.index("write   ")])
    assert torn.lost == ["IOR, begun in line 1, did not come to its end"]
