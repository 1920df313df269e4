"""IOR's listing, JSON and CSV, mdtest, metarates and elbencho: their figures, their units, and what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mileage.errors import Refused
from tests.formats.sample_reader import SAMPLES, by_cell, of, of_text

MIB = 1 << 20

IOR_2 = """\
IOR-2.10.2: MPI Coordinated Test of Parallel I/O

Run began: Tue Sep 28 09:13:37 2010
Command line used: ./IOR -a POSIX -b 64k -F -i 2 -s 1000 -t 4k -vv
Machine: Linux node 2.6.30 #5 SMP x86_64
Using synchronized MPI timer
Start time skew across all tasks: 0.05 sec
Path: /scratch
FS: 58.7 GiB   Used FS: 0.2%   Inodes: 3.7 Mi   Used Inodes: 0.0%
Participating tasks: 4
task 0 on node
Summary:
\tapi                = POSIX
\ttest filename      = testFile
\taccess             = file-per-process
\tpattern            = strided (1000 segments)
\tordering in a file = sequential offsets
\tclients            = 4 (4 per node)
\trepetitions        = 2
\txfersize           = 4096 bytes
\tblocksize          = 65536 bytes
\taggregate filesize = 250 MiB

Using Time Stamp 1285679617 (0x4ca1ea01) for Data Signature
Commencing write performance test.
Tue Sep 28 09:13:37 2010

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s) total(s)  iter
------    ---------  ---------- ---------  --------   --------   --------  --------   ----
write     125.00     64.00      4.00       0.049995   1.99       0.10       2.00       0     XXCEL
[RANK 000] open for reading file testFile.00000000 XXCEL
Commencing read performance test.
read      250.00     64.00      4.00       0.046069   0.99       0.01       1.00       0    XXCEL
write     62.50      64.00      4.00       0.049995   3.99       0.10       4.00       1     XXCEL
read      500.00     64.00      4.00       0.046069   0.49       0.01       0.50       1    XXCEL

Operation  Max (MiB)  Min (MiB)  Mean (MiB)   Std Dev  Max (OPs)  Min (OPs)  Mean (OPs)   Std Dev  Mean (s)
---------  ---------  ---------  ----------   -------  ---------  ---------  ----------   -------  --------
write         125.00      62.50       93.75     31.25        0.25       0.25        0.25      0.00  3.00000
read          500.00     250.00      375.00    125.00        0.31       0.31        0.31      0.00  0.75000

Max Write: 125.00 MiB/sec (131.07 MB/sec)
Max Read:  500.00 MiB/sec (524.29 MB/sec)

Run finished: Tue Sep 28 10:31:01 2010
"""


def test_ior_4_prints_a_run_per_phase_and_repetition() -> None:
    for name in ("ior-vv.out", "ior-plain.out"):
        result = of(SAMPLES / name)
        assert (result.unread, result.lost, result.version) == ([], [], "4.1.0+dev")
        assert [run.cell for run in result.runs] == [
            "ior.write 64 KiB",
            "ior.read 64 KiB",
        ] * 3
        for run in result.runs:
            assert (run.bytes_read or 0) + (run.bytes_written or 0) == 2 * 4 * 256 * 1024
            moved_per_s = 2 * MIB / (run.elapsed_s or 1)
            assert run.rate_bytes_per_s == pytest.approx(moved_per_s, rel=0.001), (
                "bw is the bytes over total(s)"
            )
            assert run.latency_p99_ns is None
    assert dict(result.runs[0].printed)["Latency(s)"] == 0.000381
    assert of(SAMPLES / "ior-vv.out").machine["kernel"].startswith("6.")


def test_ior_s_json_and_csv() -> None:
    data = json.loads((SAMPLES / "ior-json.out").read_text())
    result = of(SAMPLES / "ior-json.out")
    assert (result.unread, result.lost) == ([], [])
    output = data["tests"][0]["Results"]
    assert [run.rate_bytes_per_s for run in result.runs] == [entry["bwMiB"] * MIB for entry in output]
    assert [run.elapsed_s for run in result.runs] == [entry["totalTime"] for entry in output]
    table = of(SAMPLES / "ior.csv")
    assert [run.cell for run in table.runs] == [run.cell for run in result.runs]
    assert (table.unread, len(table.runs)) == ([], 6)
    assert all(run.bytes_read is None or run.bytes_read == 0 for run in table.runs), (
        "a CSV does not say how much"
    )


def test_a_torn_json_keeps_the_whole_results(tmp_path: Path) -> None:
    text = (SAMPLES / "ior-json.out").read_text()
    whole = of(SAMPLES / "ior-json.out").runs
    ends = [found.end() for found in re.finditer(r'"totalTime": [0-9.]+\s*\}', text)]
    for cut in range(ends[0] + 1, ends[-1], 97):
        result = of_text(tmp_path, text[:cut])
        assert [run.rate_bytes_per_s for run in result.runs] == (
            [run.rate_bytes_per_s for run in whole[: sum(end <= cut for end in ends)]]
        )
        assert any("is damaged" in text for text in result.lost)


def test_ior_2_has_other_columns(tmp_path: Path) -> None:
    result = of_text(tmp_path, IOR_2)
    assert (result.version, result.unread, result.lost) == ("2.10.2", [], [])
    assert [(run.cell, (run.rate_bytes_per_s or 0) / MIB, run.elapsed_s) for run in result.runs] == [
        ("ior.write 4 KiB", 125, 2),
        ("ior.read 4 KiB", 250, 1),
        ("ior.write 4 KiB", 62.5, 4),
        ("ior.read 4 KiB", 500, 0.5),
    ]
    assert result.runs[0].bytes_written == 4 * 1000 * 65536
    assert result.runs[0].ops_per_s is None, "IOR 2.10 does not print it"


def test_missing_parts_of_a_listing_are_reported(tmp_path: Path) -> None:
    lines = IOR_2.splitlines(keepends=True)
    without = "".join(line for line in lines if not line.startswith("write     62"))
    result = of_text(tmp_path, without)
    assert result.lost == ["ior.write 4 KiB: 1 of 2 repetitions are in the file"]
    wrong = of_text(tmp_path, IOR_2.replace("read          500.00", "read          501.00"))
    assert [entry.why for entry in wrong.unread] == [
        "the summary's maximum is 501.0 MiB/s, that of the lines 500.00"
    ]
    alone = of_text(tmp_path, "".join(line for line in lines if "XXCEL" not in line))
    assert [(run.rate_bytes_per_s or 0) / MIB for run in alone.runs] == [93.75, 375]
    assert "is IOR's mean of 2 repetitions" in alone.runs[0].notes[0]
    torn = of_text(tmp_path, IOR_2[: IOR_2.index("Operation")])
    assert torn.lost == ["IOR, begun in line 1, did not come to its end"]
    noisy = of_text(
        tmp_path, IOR_2.replace("Commencing read", "ior ERROR: write() failed, errno 28\nCommencing read")
    )
    assert [entry.text for entry in noisy.unread] == ["ior ERROR: write() failed, errno 28"]


def test_mdtest_gives_single_rates_where_its_table_has_them(tmp_path: Path) -> None:
    one = by_cell(of(SAMPLES / "mdtest-one.out"))
    assert one["mdtest.file_creation"].ops_per_s == 15179.155
    assert one["mdtest.file_creation"].notes == []
    several = of(SAMPLES / "mdtest.out")
    assert (several.unread, several.lost, len(several.runs)) == ([], [], 10)
    assert "mean of 3 iterations" in by_cell(several)["mdtest.file_stat"].notes[0]
    text = (SAMPLES / "mdtest.out").read_text().replace("(of 3 iterations)", "(of 2 iterations)")
    two = [run.ops_per_s for run in of_text(tmp_path, text).runs if run.cell == "mdtest.file_stat"]
    assert two == [934663.844, 24965.724]
    torn = of_text(tmp_path, text[: text.index("Tree removal")])
    assert torn.lost == ["mdtest, begun in line 3, did not come to its end"]


def test_metarates_total_is_what_it_is_known_by(tmp_path: Path) -> None:
    result = of(SAMPLES / "metarates.out")
    assert result.unread == []
    assert {cell: run.ops_per_s for cell, run in by_cell(result).items()} == {
        "metarates.create": 75217.287604,
        "metarates.stat": 959246.197827,
        "metarates.utime": 588261.430575,
    }
    words = (
        "run parameters:\nnumber of files used per process in tests = 10\n"
        "max rate = 5.0 creates per second, min rate = 3.0 creates per second, avg rate = 4.0 creates per second, "
        "total rate = 6.0 creates per second\nreal\t0m1.50s\n"
    )
    spelt = of_text(tmp_path, words)
    assert [(run.cell, run.ops_per_s) for run in spelt.runs] == [("metarates.create", 6.0)]
    assert (spelt.facts, spelt.unread) == ({"real": "0m1.50s"}, [])


HEAD = (
    "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random aligned,"
    "IO depth,shared paths,truncate,operation,time ms [first],time ms [last],entries/s [first],entries/s [last],"
    "IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],CPU% [first],CPU% [last],entries [first],entries [last],"
    "MiB [first],MiB [last],Ent lat us [min],Ent lat us [avg],Ent lat us [max],IO lat us [min],IO lat us [avg],"
    "IO lat us [max],rwmix read IOPS [last],rwmix read MiB/s [last],rwmix read MiB [last],version,command\n"
)


def test_elbencho_by_the_names_of_its_columns(tmp_path: Path) -> None:
    plain = "2026-11-22T02:00:00+0000,,file,1,1,4,,,1048576,4096,1,1,1,16,1,0,"
    rows = (
        plain
        + "READ,900,1000,,,1100,1000,4.3,3.90625,50,60,,,4,3.90625,,,,10,60,900,,,,3.0-3,elbencho -r a,b\n",
        plain
        + "WRITE,900,1000,,,1100,1000,4.3,3.90625,50,60,,,4,3.90625,,,,10,60,900,500,1.953125,1.953125,3.0-3,x\n",
        plain + "RMFILES,1,2,10,8000,,,,,1,1,1,16,,,5,6,7,,,,,,,3.0-3,x\n",
        plain + "SYNC,1,2,,,,,,,1,1,,,,,,,,,,,,,,3.0-3,x\n",
        "garbage,row\n",
    )
    result = of_text(tmp_path, HEAD + "".join(rows))
    read, mixed, removed = result.runs
    assert (read.cell, read.rate_bytes_per_s, read.ops_per_s) == (
        "elbencho.random_read 4 KiB, depth 16, 4 threads",
        3.90625 * MIB,
        1000,
    )
    assert (read.elapsed_s, read.outstanding, read.quantiles_ns["mean"]) == (1, 64, 60_000)
    assert (read.bytes_read, read.bytes_written) == (4096 * 1000, 0)
    assert (mixed.ops_per_s, mixed.bytes_read) == (1500, 2048 * 1000)
    assert "mixed with reads" in mixed.cell
    assert (removed.cell, removed.ops_per_s) == ("elbencho.rmfiles, 4 threads", 8000)
    assert result.command == "elbencho -r a,b"
    assert [(entry.line, entry.text) for entry in result.unread] == [(6, "garbage,row")]


def test_a_file_of_another_tool_is_refused_by_the_reader_that_was_named() -> None:
    for layout in (
        "fio-json",
        "iozone-text",
        "iozone-sheet",
        "ior-text",
        "ior-data",
        "mdtest",
        "elbencho-csv",
    ):
        other = SAMPLES / ("metarates.out" if layout != "metarates" else "ior.csv")
        with pytest.raises(Refused) as refusal:
            of(other, layout)
        assert "\n" not in str(refusal.value)


def test_a_phase_that_ended_early_moved_what_its_rate_and_time_say(tmp_path: Path) -> None:
    text = (SAMPLES / "ior-plain.out").read_text()
    # 2 tasks x 4 segments x 38 TiB were asked for; at 287.65 MiB/s for 6944.1 s 1.9 TiB were written.
    text = text.replace("blocksize           : 262144 bytes", "blocksize           : 38 TiB")
    text = re.sub(r"^(write .*0\.001488 +)0\.006953", r"\g<1>6944.100000", text, flags=re.MULTILINE)
    run = of_text(tmp_path, text).runs[0]
    assert run.bytes_written == pytest.approx(287.65 * MIB * 6944.1)
    assert "ended the write early" in run.notes[0]
    whole = of(SAMPLES / "ior-plain.out").runs
    assert {run.bytes_read or run.bytes_written for run in whole} == {2 * MIB}
    assert not any(run.notes for run in whole)
