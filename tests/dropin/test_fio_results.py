"""What `mileage fio` leaves when something goes wrong: results, files, logs and device nodes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mileage.dropin.fio_run import _remove
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
    assert "terminating on signal 2" in said
    (job,) = json.loads(out)["jobs"]
    assert (job["jobname"], job["error"]) == ("a", 0)
    assert job["read"]["total_ios"] > 0


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


def test_only_regular_files_are_removed(tmp_path: Path) -> None:
    node = tmp_path / "node"
    os.mkfifo(node)
    _remove(str(node))
    assert node.exists()
    _remove(str(tmp_path / "nothing"))


def test_one_log_holds_the_lines_of_all_copies(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=write", "--size=64k", "--numjobs=3", "--write_bw_log=x")
    assert mileage("fio", *words, "--per_job_logs=0", cwd=tmp_path).returncode == 0
    assert len((tmp_path / "x_bw.log").read_text().splitlines()) >= 3
