"""What `mileage fio` leaves when something goes wrong: results, files, logs and device nodes."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mileage.execute.fio_jobs import process as fio_process
from mileage.plan.workload import Stop
from tests.command import mileage


def test_an_interrupt_ends_the_jobs_and_their_results_are_printed(tmp_path: Path) -> None:
    words = ["--name=a", "--rw=randread", "--size=64k", "--time_based", "--runtime=60", "--startdelay=0"]
    later = ["--name=b", "--rw=read", "--size=64k", "--stonewall"]
    command = [sys.executable, "-m", "mileage", "fio", *words, *later, "--output-format=json"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "b.0.0").exists():
        time.sleep(0.05)
    time.sleep(1)
    os.kill(process.pid, signal.SIGINT)
    out, said = process.communicate(timeout=30)
    assert process.returncode == 128
    # Both on standard output, as with fio, and the job that had not begun among the results.
    line, _, text = out.lstrip().partition("\n")
    assert (line, said) == ("fio: terminating on signal 2", "")
    job, later_job = json.loads(text)["jobs"]
    assert (job["jobname"], job["error"], later_job["jobname"]) == ("a", 0, "b")
    assert job["read"]["total_ios"] > later_job["read"]["total_ios"] == 0


def test_the_output_file_is_opened_before_the_jobs(tmp_path: Path) -> None:
    done = mileage("fio", "--name=a", "--rw=write", "--size=64k", "--output=missing/o", cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
    assert "missing/o" in done.stderr


def test_copies_of_a_job_may_share_a_file_that_is_removed(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=write", "--size=64k", "--numjobs=3", "--filename=f", "--unlink=1")
    done = mileage("fio", *words, "--output-format=json", cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (0, []), done.stderr
    jobs = json.loads(done.stdout)["jobs"]
    assert [(job["error"], job["write"]["io_bytes"]) for job in jobs] == [(0, 65536)] * 3


def test_one_log_holds_the_lines_of_all_copies(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=write", "--size=64k", "--numjobs=3", "--write_bw_log=x")
    assert mileage("fio", *words, "--per_job_logs=0", cwd=tmp_path).returncode == 0
    assert len((tmp_path / "x_bw.log").read_text().splitlines()) >= 3


def document(place: Path, *words: str) -> list[dict[str, Any]]:
    done = mileage("fio", *words, "--output-format=json", cwd=place)
    assert done.returncode == 0, done.stderr
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return jobs


def test_a_log_that_cannot_be_written_is_refused_before_the_jobs(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=write", "--size=64k", "--write_bw_log=missing/x", "--output-format=json")
    done = mileage("fio", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (1, "", [])
    assert "missing/x_bw.1.log" in done.stderr


def test_the_runtime_of_a_limited_rate_is_the_whole_time(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=write", "--size=1m", "--time_based", "--runtime=700ms", "--rate_iops=3")
    (job,) = document(tmp_path, *words)
    # The third operation is due after 667 ms, and another one after the end.
    assert job["write"]["total_ios"] == 3
    assert 700 <= job["write"]["runtime"] <= job["job_runtime"]


def test_an_ended_job_ends_its_group_with_exitall(tmp_path: Path) -> None:
    long = ("--name=a", "--rw=read", "--size=64k", "--time_based", "--runtime=100", "--exitall")
    a, b = document(tmp_path, *long, "--name=b", "--rw=write", "--size=64k", "--exitall")
    assert a["error"] == 0
    assert a["read"]["runtime"] < 60_000
    assert b["write"]["io_bytes"] == 65536


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(
    ("words", "calls", "counted"),
    [
        # Calls of fio 3.33: writes, fsync, fdatasync.
        ("--size=16k --fsync=1", "WSWSWSW", 3),
        ("--size=20k --fsync=2", "WWSWWSW", 2),
        ("--size=16k --fsync=4", "WWWW", 0),
        ("--size=20k --fsync=4 --end_fsync=1", "WWWWSWS", 1),
        ("--size=16k --fsync=2 --fsync_on_close=1", "WWSWWS", 1),
        ("--size=16k --fdatasync=2", "WWDWW", 1),
        ("--size=16k --fdatasync=2 --end_fsync=1", "WWDWWS", 1),
        ("--size=16k --end_fsync=1", "WWWWS", 0),
    ],
)
def test_syncs_stand_where_fio_has_them(tmp_path: Path, words: str, calls: str, counted: int) -> None:
    command = [sys.executable, "-m", "mileage", "fio", "--name=a", "--rw=write", *words.split()]
    watch = ["strace", "-f", "-y", "-o", "trace", "-e", "trace=pwrite64,fsync,fdatasync"]
    command = [*watch, *command, "--output-format=json", "--output=out"]
    subprocess.run(command, cwd=tmp_path, check=True)
    letters = {"pwrite64": "W", "fsync": "S", "fdatasync": "D"}
    lines = (tmp_path / "trace").read_text().splitlines()
    found = [line.split()[1].partition("(")[0] for line in lines if "/a.0." in line]
    assert "".join(letters[name] for name in found) == calls
    (job,) = json.loads((tmp_path / "out").read_text())["jobs"]
    assert job["sync"]["total_ios"] == counted


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_the_page_cache_is_dropped_before_each_pass(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mileage", "fio", "--name=a", "--rw=read", "--size=64k"]
    trace = tmp_path / "trace"
    ring = "--loops=3 --ioengine=io_uring --iodepth=4"
    for more, count in (("--loops=3", 3), (ring, 3), ("--loops=3 --invalidate=0", 0)):
        command = ["strace", "-f", "-o", str(trace), "-e", "trace=fadvise64", *words, *more.split()]
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
        assert trace.read_text().count("POSIX_FADV_DONTNEED") == count


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(
    ("words", "advice"),
    [
        # Calls of fio 3.33.
        ("--rw=read", "POSIX_FADV_SEQUENTIAL"),
        ("--rw=randread", "POSIX_FADV_RANDOM"),
        ("--rw=randrw --ioengine=io_uring --iodepth=4", "POSIX_FADV_RANDOM"),
        ("--rw=randread --ioengine=mmap", "POSIX_FADV_RANDOM MADV_RANDOM"),
        ("--rw=randread --fadvise_hint=sequential", "POSIX_FADV_SEQUENTIAL"),
        ("--rw=randread --fadvise_hint=0", ""),
    ],
)
def test_the_kernel_is_advised_on_the_order_of_reads(tmp_path: Path, words: str, advice: str) -> None:
    command = [sys.executable, "-m", "mileage", "fio", "--name=a", "--size=64k", *words.split()]
    watch = ["strace", "-f", "-o", "trace", "-e", "trace=fadvise64,madvise"]
    subprocess.run([*watch, *command], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    kinds = "POSIX_FADV_RANDOM|POSIX_FADV_SEQUENTIAL|MADV_RANDOM|MADV_SEQUENTIAL"
    assert re.findall(kinds, (tmp_path / "trace").read_text()) == advice.split()


@pytest.mark.parametrize(
    "words",
    [
        ("--rw=randwrite", "--norandommap"),
        ("--rw=randwrite", "--random_distribution=zipf:1.2"),
        ("--rw=write", "--number_ios=5"),
        ("--rw=write", "--io_size=2m"),
        ("--rw=randwrite", "--bssplit=4k/50:16k/50"),
        ("--rw=write", "--numjobs=3", "--filename=f"),
        ("--rw=write", "--nrfiles=3", "--loops=2"),
        ("--rw=randrw", "--offset=64k"),
        ("--rw=rw", "--bssplit=4k/50:16k/50", "--nrfiles=2"),
    ],
)
def test_no_damage_is_found_where_there_is_none(tmp_path: Path, words: tuple[str, ...]) -> None:
    jobs = document(tmp_path, "--name=a", "--size=256k", "--verify=md5", *words)
    assert all(job["error"] == 0 and job["read"]["total_ios"] > 0 for job in jobs)


def test_of_a_mix_the_places_that_were_written_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(logs))
    monkeypatch.setenv("TMPDIR", str(logs))
    words = ("--name=a", "--filename=f", "--rw=randrw", "--size=256k", "--verify=md5")
    (job,) = document(tmp_path, *words)
    # 64 blocks are read or written, and those that were written are read again.
    assert job["read"]["total_ios"] == 64
    assert 0 < job["write"]["total_ios"] < 64
    assert list(logs.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "written", "read"),
    [
        # Operations of fio 3.33.
        (("--rw=write", "--loops=2"), 32, 32),
        (("--rw=randwrite", "--loops=3"), 48, 48),
        (("--rw=write", "--io_size=128k"), 16, 16),
        (("--rw=write", "--io_size=32k"), 8, 8),
        (("--rw=write", "--number_ios=5"), 5, 5),
        (("--rw=write", "--loops=2", "--do_verify=0"), 32, 0),
    ],
)
def test_passes_of_writing_and_of_reading_back(
    tmp_path: Path, words: tuple[str, ...], written: int, read: int
) -> None:
    (job,) = document(tmp_path, "--name=a", "--size=64k", "--verify=md5", *words)
    assert (job["write"]["total_ios"], job["read"]["total_ios"]) == (written, read)


@pytest.mark.parametrize(
    ("words", "written", "read"),
    [
        # Operations of fio 3.33.
        (("--rw=write",), 16, 16),
        (("--rw=randwrite", "--loops=2"), 32, 32),
        (("--rw=write", "--io_size=32k"), 8, 8),
        (("--rw=write", "--number_ios=5"), 5, 5),
        (("--rw=write", "--do_verify=0"), 16, 0),
        (("--rw=randread",), 0, 16),
    ],
)
def test_writes_that_verify_only_omits_are_counted(
    tmp_path: Path, words: tuple[str, ...], written: int, read: int
) -> None:
    base = ("--name=a", "--filename=f", "--size=64k", "--verify=md5")
    document(tmp_path, *base, "--rw=write", "--do_verify=0")
    before = (tmp_path / "f").stat().st_mtime_ns
    (job,) = document(tmp_path, *base, *words, "--verify_only")
    assert (job["write"]["total_ios"], job["write"]["io_bytes"]) == (written, written * 4096)
    assert (job["read"]["total_ios"], job["write"]["runtime"]) == (read, 0)
    assert (tmp_path / "f").stat().st_mtime_ns == before


def test_a_reading_job_compares_what_another_one_wrote(tmp_path: Path) -> None:
    base = ("--filename=f", "--size=256k", "--verify=crc32c", "--output-format=json")
    assert mileage("fio", "--name=w", "--rw=randwrite", "--do_verify=0", *base, cwd=tmp_path).returncode == 0
    read = ("fio", "--name=r", "--rw=read", "--loops=3", *base)
    done = mileage(*read, cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["jobs"][0]["read"]["total_ios"]) == (0, 64)
    with open(tmp_path / "f", "r+b") as file:
        file.seek(5000)
        file.write(b"\xff\xff\xff\xff")
    damaged = mileage(*read, cwd=tmp_path)
    assert damaged.returncode == 1
    assert json.loads(damaged.stdout)["jobs"][0]["error"] == 84
    assert "1 blocks differ" in damaged.stderr


def test_the_scope_of_exitall_is_a_group_of_results_a_batch_or_everything(tmp_path: Path) -> None:
    short = ("--name=a", "--rw=write", "--size=64k", "--exitall")
    other = ("--name=b", "--rw=read", "--size=64k", "--new_group", "--time_based", "--runtime=700ms")
    later = ("--name=c", "--rw=write", "--size=64k", "--stonewall")
    for scope, names, is_whole in (("group", "abc", True), ("stonewall", "abc", False), ("all", "ab", False)):
        jobs = document(tmp_path, *short, f"--exit_what={scope}", *other, *later)
        assert "".join(job["jobname"] for job in jobs) == names
        assert (jobs[1]["read"]["runtime"] >= 700) == is_whole, scope


def test_the_operations_are_written_as_a_log_that_fio_reads(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=randrw", "--size=32k", "--nrfiles=2", "--write_iolog=log", "--end_fsync=1")
    (job,) = document(tmp_path, *words)
    first, *lines = (tmp_path / "log").read_text().splitlines()
    assert first == "fio version 3 iolog"
    rows = [line.split() for line in lines]
    times = [int(row[0]) for row in rows]
    assert times == sorted(times)
    for kind in ("read", "write"):
        moved = [int(row[4]) for row in rows if row[2] == kind]
        assert sum(moved) == job[kind]["io_bytes"]
    for file in ("a.0.0", "a.0.1"):
        own = [row[2] for row in rows if row[1] == file]
        assert (own[:2], own[-1]) == (["add", "open"], "close")


def test_a_share_of_a_processor_is_used(tmp_path: Path) -> None:
    words = ("--name=a", "--ioengine=cpuio", "--cpuload=30", "--cpuchunks=30000", "--runtime=1")
    (job,) = document(tmp_path, *words)
    assert job["job_runtime"] >= 1000
    assert 0 < job["usr_cpu"] < 60
    # As fio: a cycle is 30 ms of work, a read of no bytes, and 70 ms of rest.
    assert 1 < job["read"]["total_ios"] <= 10
    assert job["read"]["clat_ns"]["min"] >= 30e6
    assert (job["read"]["io_bytes"], job["read"]["runtime"]) == (0, 0)
    assert list(tmp_path.iterdir()) == []


def test_processors_at_work_are_printed_as_fio_does(tmp_path: Path) -> None:
    words = (
        "--name=a",
        "--ioengine=cpuio",
        "--cpuload=50",
        "--runtime=100ms",
        "--numjobs=2",
        "--cpumode=qsort",
    )
    lines = mileage("fio", *words, cwd=tmp_path).stdout.splitlines()
    head = "a (qsort): ioengine=cpuio, cpuload=50, cpucycle=50000"
    assert lines[:5] == ["...", "fio-3.33", "Starting 2 processes", head, head]
    assert sum(line.startswith("     issued rwts: total=1,0,0,0 ") for line in lines) == 2
    assert not any("IOPS=" in line for line in lines)
    assert lines[-2:] == ["", "Run status group 0 (all jobs):"]


def test_directions_are_reported_as_one_or_besides(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=randrw", "--size=256k")
    (job,) = document(tmp_path, *words, "--unified_rw_reporting=1")
    # Keys of fio 3.33.
    assert [key for key in ("read", "write", "trim", "sync", "mixed") if key in job] == ["mixed"]
    assert (job["mixed"]["total_ios"], job["mixed"]["io_bytes"], job["mixed"]["lat_ns"]["N"]) == (
        64,
        262144,
        64,
    )
    (job,) = document(tmp_path, *words, "--unified_rw_reporting=both")
    keys = [key for key in job if key in ("read", "write", "trim", "sync", "mixed")]
    assert keys == ["read", "write", "trim", "sync", "mixed"]
    parts = [job[key]["total_ios"] for key in ("read", "write", "mixed")]
    assert (parts[0] + parts[1], parts[2], 0 not in parts) == (64, 64, True)
    assert job["mixed"]["clat_ns"]["max"] == max(job[key]["clat_ns"]["max"] for key in ("read", "write"))

    def text(*more: str) -> str:
        return mileage("fio", *words, *more, cwd=tmp_path).stdout

    lines = text("--unified_rw_reporting=mixed").splitlines()
    assert any(line.startswith("     issued rwts: total=64,0,0,0 ") for line in lines)
    assert [line.split(":")[0].strip() for line in lines if " bw=" in line or "IOPS=" in line] == [
        "mixed",
        "MIXED",
    ]
    # Fields of fio 3.33 without those of its disk.
    fields = [
        text(f"--unified_rw_reporting={kind}", "--minimal").count(";") + 1 for kind in ("0", "1", "both")
    ]
    assert fields == [121, 80, 162]


def test_files_are_made_looked_up_and_removed(tmp_path: Path) -> None:
    def names() -> list[str]:
        return sorted(path.name for path in tmp_path.iterdir())

    words = ("--name=a", "--filesize=8k", "--nrfiles=3", "--loops=2")
    (job,) = document(tmp_path, *words, "--ioengine=filecreate", "--rw=write")
    # Blocks as operations, calls as latencies, as in fio.
    found = job["write"]
    assert (found["total_ios"], found["io_bytes"], found["clat_ns"]["N"]) == (12, 49152, 6)
    assert (found["lat_ns"]["N"], sum(job["latency_us"].values()), job["read"]["total_ios"]) == (0, 0, 0)
    assert names() == ["a.0.0", "a.0.1", "a.0.2"]
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {0}
    (job,) = document(tmp_path, *words, "--ioengine=filestat", "--stat_type=lstat")
    assert job["read"]["total_ios"] == 12
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {8192}
    (job,) = document(tmp_path, *words[:-1], "--ioengine=filedelete")
    assert (job["read"]["total_ios"], names()) == (6, [])


def test_a_file_that_cannot_be_removed_again_is_an_error_of_the_job(tmp_path: Path) -> None:
    words = ("--name=a", "--filesize=4k", "--nrfiles=3", "--loops=2", "--ioengine=filedelete")
    done = mileage("fio", *words, "--output-format=json", cwd=tmp_path)
    assert done.returncode == 1
    (job,) = json.loads(done.stdout)["jobs"]
    assert (job["error"], job["read"]["total_ios"]) == (2, 3)


@pytest.mark.parametrize("engine", ["filecreate", "filedelete"])
def test_readonly_keeps_files_as_they_are(tmp_path: Path, engine: str) -> None:
    done = mileage("fio", "--readonly", "--name=a", f"--ioengine={engine}", "--filesize=4k", cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "readonly" in done.stderr


def test_the_null_engine_submits_nothing_at_a_depth_of_one(tmp_path: Path) -> None:
    words = ("--name=a", "--ioengine=null", "--size=64k")
    for depth, share in ((1, 0.0), (2, 100.0)):
        (job,) = document(tmp_path, *words, f"--iodepth={depth}")
        assert job["iodepth_submit"]["4"] == job["iodepth_complete"]["4"] == share


def test_a_delay_before_the_first_file_takes_nothing_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[Stop] = []

    def run(
        _file: object, _work: object, _targets: object, _parent: object, stop: Stop, **_: object
    ) -> dict[str, int]:
        limits.append(stop)
        return dict.fromkeys(("bytes_read", "bytes_written", "ops_read", "ops_written", "elapsed_ns"), 0)

    clock = SimpleNamespace(monotonic_ns=partial(next, itertools.count(0, 4_000_000)))
    monkeypatch.setattr(fio_process, "time", clock)
    monkeypatch.setattr(fio_process, "_invalidate", lambda *_: None)
    monkeypatch.setattr(fio_process, "_run", run)
    file = SimpleNamespace(amount=None, operations=None)
    work = SimpleNamespace(
        loops=1,
        files=[file],
        limit_ns=700_000_000,
        writes=False,
        timed=True,
        workload=SimpleNamespace(record_bytes=4096),
        verification=SimpleNamespace(reads_back=False),
    )
    parent = SimpleNamespace(status={"records": [], "error": None}, came=False)
    fio_process._do_files(cast("Any", work), {}, cast("Any", parent))
    assert limits == [Stop(time_ns=700_000_000)]
    assert parent.status["records"][0]["elapsed_ns"] == 700_000_000
