"""`mileage ior` without a study: IOR's files, bytes, calls, exit statuses, and what is left."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from mileage.dropin.ior import IorPrinter
from mileage.plan.ior_options import IorOptions
from tests.command import mileage
from tests.formats.sample_reader import of_text

SIGNATURE = 27
KIB = 1024


def ior(place: Path, line: str) -> subprocess.CompletedProcess[str]:
    return mileage(*line.split(), cwd=place)


def block(rank: int, words: int, signature: int = SIGNATURE) -> bytes:
    """Data of a transfer with time stamps, by the formula of IOR's source."""
    return b"".join(struct.pack("<Q", (rank << 32) | (signature + at)) for at in range(words))


def test_a_shared_file_has_the_segments_and_bytes_of_the_original(tmp_path: Path) -> None:
    done = ior(tmp_path, f"ior --tasks 2 -w -k -G {SIGNATURE} -t 4k -b 8k -s 2 -o f")
    assert done.returncode == 0, done.stderr
    transfers = [block(rank, 512) * 2 for _ in range(2) for rank in range(2)]
    assert (tmp_path / "f").read_bytes() == b"".join(transfers)


def test_files_of_tasks_have_the_names_of_the_original_and_stay_with_k(tmp_path: Path) -> None:
    for more, names in (
        ("-k", {"f.00000000", "f.00000001"}),
        ("-k -m -i 2", {f"f.0000000{rank}.{repetition}" for rank in range(2) for repetition in range(2)}),
        ("", set()),
    ):
        place = tmp_path / (more.replace(" ", "") or "none")
        place.mkdir()
        assert ior(place, f"ior --tasks 2 -w -F -t 4k -b 8k -o f {more}").returncode == 0
        assert {path.name for path in place.iterdir()} == names


def test_what_one_call_writes_another_reads_and_compares(tmp_path: Path) -> None:
    write = f"ior --tasks 2 -w -k -F -G {SIGNATURE} -t 4k -b 8k -o f -C -g -e"
    read = f"ior --tasks 2 -r -R -k -F -G {SIGNATURE} -t 4k -b 8k -o f -C -g"
    assert ior(tmp_path, write).returncode == 0
    assert ior(tmp_path, read).returncode == 0
    with open(tmp_path / "f.00000001", "r+b") as file:
        file.seek(5000)
        file.write(b"\xff")
    damaged = ior(tmp_path, read)
    # IOR's own status is twice the number of transfers that differ.
    assert damaged.returncode == 2
    assert "Incorrect data on read (1 errors found).\n\nUsed Time Stamp" in damaged.stdout


def test_a_comparison_alone_has_no_row_in_the_summary(tmp_path: Path) -> None:
    assert ior(tmp_path, "ior -w -k -G 5 -t 4k -b 8k -o f").returncode == 0
    compared = ior(tmp_path, "ior -R -k -G 5 -t 4k -b 8k -o f -v")
    rows = [line.split()[0] for line in compared.stdout.splitlines() if line.startswith("read ")]
    assert (compared.returncode, rows) == (0, ["read"])
    assert "\nParticipating tasks : 1\n" in compared.stdout


def test_two_v_print_timer_skew_tasks_and_opened_files(tmp_path: Path) -> None:
    line = "ior --tasks 3 -F -C -t 4k -b 8k -i 2 -o f"
    host = os.uname().nodename
    printed = ior(tmp_path, f"{line} -vv").stdout.splitlines()
    (skew,) = [text.split()[-2] for text in printed if text.startswith("Start time skew across all tasks: ")]
    assert 0 <= float(skew) < 10
    assert "Using synchronized POSIX timer" in printed
    at = printed.index("Participating tasks : 3")
    assert printed[at + 1 : at + 4] == [f"task {rank} on {host}" for rank in range(3)]
    # With -C rank 0 reads what rank 1 has written; each repetition reads once.
    opened = [place for place, text in enumerate(printed) if text.startswith("[RANK ")]
    assert [printed[place] for place in opened] == 2 * ["[RANK 000] open for reading file f.00000001 XXCEL"]
    assert all(printed[place + 1].startswith("Commencing read performance test") for place in opened)
    result = of_text(tmp_path, "\n".join(printed) + "\n")
    assert (result.unread, len(result.runs)) == ([], 4)
    one = ior(tmp_path, f"{line} -v").stdout
    assert not any(text in one for text in (" timer", "skew", f"task 0 on {host}", "[RANK"))


def test_a_file_that_is_missing_is_said_in_words(tmp_path: Path) -> None:
    done = ior(tmp_path, "ior -r -o f")
    assert done.returncode == 255
    assert 'ERROR: open64("f", 0) failed: No such file or directory, (mileage)' in done.stdout
    done = ior(tmp_path, "ior -w -o d/f")
    assert 'ERROR: open64("d/f", 66, 0664) failed. Error: No such file or directory, (mileage)' in done.stdout


def test_a_directory_for_each_file_has_the_name_that_ior_makes(tmp_path: Path) -> None:
    for name, left in (("file", "f0/ile.00000000"), ("d/file", "d/0/file.00000000")):
        (tmp_path / "d").mkdir(exist_ok=True)
        assert ior(tmp_path, f"ior -w -k -F -u -t 4k -b 8k -o {name}").returncode == 0
        assert (tmp_path / left).is_file()


@pytest.mark.parametrize("kind", ["timestamp", "offset", "incompressible", "random"])
def test_every_kind_of_data_is_found_again(tmp_path: Path, kind: str) -> None:
    done = ior(tmp_path, f"ior -w -W -r -R -k -G 5 -l {kind} -t 12344 -b 24688 -s 2 -o f")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "f").stat().st_size == 2 * 24688


def test_a_shuffled_order_visits_every_transfer_once(tmp_path: Path) -> None:
    line = "ior --tasks 2 -w -k -z -t 4k -b 64k -s 2 -o f --random-offset-seed 5 -G 9"
    assert ior(tmp_path, line).returncode == 0
    assert (tmp_path / "f").stat().st_size == 2 * 2 * 64 * KIB
    content = (tmp_path / "f").read_bytes()
    ranks = [struct.unpack_from("<Q", content, at)[0] >> 32 for at in range(0, len(content), 4096)]
    assert set(ranks) == {0, 1}
    # Both segments are dealt to the tasks alike.
    assert ranks[:32] == ranks[32:]


def test_a_stonewall_ends_a_phase_and_wear_out_evens_the_tasks(tmp_path: Path) -> None:
    line = "ior --tasks 2 -w -k -F -t 64k -b 64k -s 100000000 -D 1 -o f -O stoneWallingWearOut=1"
    done = ior(tmp_path, f"{line} -O stoneWallingStatusFile=status -T 1")
    assert done.returncode == 0, done.stdout
    count = int((tmp_path / "status").read_text())
    sizes = {(tmp_path / f"f.0000000{rank}").stat().st_size for rank in range(2)}
    assert sizes == {count * 64 * KIB}


def test_exit_statuses_are_those_of_the_original(tmp_path: Path) -> None:
    refused = ior(tmp_path, "ior -t 3k -b 16k")
    assert (refused.returncode, list(tmp_path.iterdir())) == (255, [])
    assert "ERROR: block size must be a multiple of transfer size" in refused.stdout
    assert ior(tmp_path, "ior -r -o nothing").returncode == 255
    assert ior(tmp_path, "ior --help").returncode == 1
    assert ior(tmp_path, "ior -a MPIIO").returncode == 2


def test_a_script_runs_its_tests_in_order(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(
        "IOR START\napi=POSIX\ntestFile=f # comment\nblockSize=8k,transferSize=4k\nkeepFile=1\nRUN\n"
        "fileperproc=1\ntestFile=g\nRUN\nIOR STOP\n"
    )
    done = ior(tmp_path, "ior -f script -O summaryFormat=JSON")
    assert done.returncode == 0, done.stdout
    value = json.loads(done.stdout)
    assert [test["Path"] for test in value["tests"]] == ["f", "g.00000000"]
    assert [row["operation"] for row in value["summary"]] == ["write", "read"] * 2
    assert {path.name for path in tmp_path.iterdir()} == {"script", "f", "g.00000000"}


def test_a_file_stays_that_a_later_test_of_a_script_makes_again_and_keeps(tmp_path: Path) -> None:
    test = "IOR START\ntestFile=f\nblockSize=8k\ntransferSize=4k\nRUN\n"
    (tmp_path / "script").write_text(f"{test}keepFile=1\nRUN\nIOR STOP\n")
    assert ior(tmp_path, "ior -f script").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"script", "f"}
    (tmp_path / "script").write_text(f"{test}RUN\nIOR STOP\n")
    assert ior(tmp_path, "ior -f script").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"script"}


def test_a_directive_that_ior_does_not_know_ends_with_255_and_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"kept")
    for name in ("dryRun", "dummy", "direct", "posix.odirect", "randomSeed", "aggregate", "__doc__"):
        done = ior(tmp_path, f"ior -w -t 4k -b 8k -o f -O {name}=1")
        assert (done.returncode, (tmp_path / "f").read_bytes()) == (1, b"kept"), name
        assert "Unrecognized parameter" in done.stdout
    assert ior(tmp_path, "ior -w -t 4k -b 8k -o g -O useO_DIRECT=0,reorderTasksConstant=1").returncode == 0


def test_a_summary_file_is_that_of_the_first_task(tmp_path: Path) -> None:
    line = "ior --tasks 3 -w -r -t 4k -b 8k -o f -O summaryFile=s,summaryFormat=JSON"
    assert ior(tmp_path, line).returncode == 0
    assert [row["operation"] for row in json.loads((tmp_path / "s").read_text())["summary"]] == [
        "write",
        "read",
    ]


def test_fewer_tasks_than_there_are_do_the_work(tmp_path: Path) -> None:
    for tasks, own in ((2, 1), (4, 3)):
        done = ior(tmp_path, f"ior --tasks {tasks} -N {own} -w -r -F -k -t 4k -b 8k -o f{own}")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(list(tmp_path.glob(f"f{own}.*"))) == own
        assert f"{'tasks':<20}: {own}" in done.stdout


def test_the_times_of_each_rank_are_saved(tmp_path: Path) -> None:
    line = "ior --tasks 2 -w -r -t 4k -b 8k -o f -O saveRankPerformanceDetailsCSV=ranks.csv"
    assert ior(tmp_path, line).returncode == 0
    rows = [row.split(",") for row in (tmp_path / "ranks.csv").read_text().splitlines()]
    assert [row[:2] for row in rows] == [["write", "0"], ["write", "1"], ["read", "0"], ["read", "1"]]
    for row in rows:
        total_s, transfer_s, total_rate, rate = map(float, row[2:])
        assert total_s >= transfer_s > 0
        # A task moves 8 KiB.
        assert total_s * total_rate == pytest.approx(8192)
        assert transfer_s * rate == pytest.approx(8192)


def test_a_warning_is_an_error_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    line = "ior -w -k -t 4k -b 8k -o f --destroy f"
    assert ior(tmp_path, f"{line} --warningAsErrors").returncode == 255
    assert (tmp_path / "f").read_bytes() == b"old"
    done = ior(tmp_path, f"{line} -i 0")
    assert (done.returncode, "too few test repetitions. Using value of 1" in done.stdout) == (0, True)


def test_times_far_from_the_mean_are_warned_of() -> None:
    options = IorOptions(outlierthreshold=1, numtasks=2)
    test = IorPrinter(0, options, 1)
    said: list[str] = []
    test.warn = said.append  # type: ignore[method-assign,assignment]
    test.compares_times("write", [[0, 1, 1, 2, 2, 3], [0, 1, 1, 6, 6, 7]])
    assert [line.partition(" write ")[2].partition(" is ")[0] for line in said] == [
        "elapsed transfer time",
        "end time",
    ]
    assert "is 5.000000 (mean=3.000000, stddev=2.000000)" in said[0]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_calls_are_a_seek_and_a_write_for_each_transfer(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mileage",
        "ior",
        "-w",
        "-e",
        "-t",
        "4k",
        "-b",
        "64k",
        "-s",
        "2",
        "-o",
        "f",
    ]
    trace = tmp_path / "trace"
    subprocess.run(
        ["strace", "-o", str(trace), "-e", "trace=openat,lseek,write,fsync", *command],
        cwd=tmp_path,
        check=True,
    )
    lines = trace.read_text().splitlines()
    opened = next(at for at, line in enumerate(lines) if '"f", O_RDWR|O_CREAT' in line)
    number = lines[opened].rsplit("= ", 1)[1]
    own = [
        line.partition("(")[0]
        for line in lines[opened + 1 :]
        if line.partition("(")[2].startswith(f"{number},")
    ]
    assert own[: 2 * 32] == ["lseek", "write"] * 32
    assert f"fsync({number})" in "\n".join(lines)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_sync_after_every_write_is_that_of_the_backend_and_that_of_the_loop(tmp_path: Path) -> None:
    """Counted with IOR 4.1: 2 calls for each of 16 writes, and one of -e."""
    trace = tmp_path / "trace"
    line = "mileage ior -w -Y -e -t 4k -b 64k -o f"
    subprocess.run(
        ["strace", "-o", str(trace), "-e", "trace=fsync", sys.executable, "-m", *line.split()],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert trace.read_text().count("fsync(") == 2 * 16 + 1
