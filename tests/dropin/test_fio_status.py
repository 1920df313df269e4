"""Results of fio's jobs while they run: `--status-interval` and SIGUSR1, in each format, and read by the importer."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.command import mileage

PROGRAM = str(Path(sys.executable).with_name("mileage"))
JOBS = "[global]\nbs=4k\nsize=1m\nrate_iops=200\ntime_based\nruntime=1\n[one]\nrw=randrw\n[two]\nstonewall\nrw=read\n"


def documents(text: str) -> list[dict[str, Any]]:
    """JSON documents, one after another."""
    found, decoder = [], json.JSONDecoder()
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def fio(place: Path, *words: str) -> str:
    done = mileage("fio", *words, cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_documents_of_one_run_add_up_and_grow(tmp_path: Path) -> None:
    (tmp_path / "two.fio").write_text(JOBS)
    found = documents(fio(tmp_path, "two.fio", "--status-interval=300ms", "--output-format=json"))
    assert len(found) >= 3
    for document in found:
        assert [job["jobname"] for job in document["jobs"]] == ["one", "two"]
        for job in document["jobs"]:
            for side in (job["read"], job["write"]):
                assert side["io_bytes"] == 4096 * side["total_ios"]
                assert side["clat_ns"]["N"] == side["total_ios"]
                assert ("percentile" in side["clat_ns"]) == (side["total_ios"] > 0)
                assert side["bw_bytes"] == 1000 * side["io_bytes"] // max(side["runtime"], 1)
    for name in ("total_ios", "io_bytes", "runtime"):
        for job, direction in ((0, "read"), (0, "write"), (1, "read")):
            grown = [document["jobs"][job][direction][name] for document in found]
            assert grown == sorted(grown)
            assert grown[-1] > 0
    first, last = found[0]["jobs"], found[-1]["jobs"]
    assert first[1]["read"]["total_ios"] == first[1]["job_runtime"] == 0, "the second job has not begun"
    assert 0 < first[0]["read"]["total_ios"] < last[0]["read"]["total_ios"]
    # The first job has ended when the second one begins: it is printed as it was.
    ended = [document["jobs"][0] for document in found if document["jobs"][1]["job_runtime"]]
    assert len(ended) >= 2
    assert all(job["read"] == last[0]["read"] and job["write"] == last[0]["write"] for job in ended)
    # fio counts a second that has begun; both jobs together last two.
    assert first[0]["elapsed"] >= 1
    assert last[0]["elapsed"] >= 3


def test_a_report_of_a_group_adds_its_processes(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=randread", "--size=1m", "--numjobs=2", "--time_based", "--runtime=1")
    more = ("--rate_iops=100", "--group_reporting", "--status-interval=400ms", "--output-format=json")
    jobs = [document["jobs"] for document in documents(fio(tmp_path, *words, *more))]
    assert len(jobs) >= 2
    assert all(job["read"]["total_ios"] == job["read"]["clat_ns"]["N"] for (job,) in jobs)
    # Each process does a hundred.
    assert jobs[-1][0]["read"]["total_ios"] > 150


def test_the_normal_output_repeats_jobs_and_groups(tmp_path: Path) -> None:
    (tmp_path / "two.fio").write_text(JOBS)
    text = fio(tmp_path, "two.fio", "--status-interval=400ms")
    heads = re.findall(r"^(one|two): \(groupid=([01]), jobs=1\): err= 0: pid=[1-9]", text, re.M)
    assert heads[0] == ("one", "0"), "a job that has not begun is not printed"
    assert heads[-2:] == [("one", "0"), ("two", "1")]
    groups = re.findall(r"^Run status group ([01])", text, re.M)
    assert groups == ["0", "1"] * (len(groups) // 2)
    assert len(groups) >= 4
    # As fio: an empty line before each report, none between jobs.
    assert all(f"\n\n{part}" in text for part in ("one: (groupid", "Run status group 0"))
    assert "\n\ntwo: (groupid" not in text


def test_the_terse_output_has_a_line_for_each_job_of_each_report(tmp_path: Path) -> None:
    (tmp_path / "two.fio").write_text(JOBS)
    lines = fio(tmp_path, "two.fio", "--status-interval=400ms", "--minimal").splitlines()
    fields = [line.split(";") for line in lines]
    assert [line[2] for line in fields] == ["one", "two"] * (len(lines) // 2)
    assert {len(line) for line in fields} == {121}
    moved = [int(line[5]) for line in fields[::2]]
    assert moved == sorted(moved)
    assert 0 < moved[0] < moved[-1]


def test_what_is_read_back_and_processor_time_are_reported_too(tmp_path: Path) -> None:
    (tmp_path / "two.fio").write_text(
        "[check]\nrw=write\nsize=400k\nrate_iops=100\nverify=crc32c\n"
        "[burn]\nioengine=cpuio\ncpuload=50\ntime_based\nruntime=1\n[late]\nrw=read\nsize=4k\nstartdelay=1\n"
    )
    found = documents(fio(tmp_path, "two.fio", "--status-interval=300ms", "--output-format=json"))
    written = [document["jobs"][0]["write"]["total_ios"] for document in found]
    assert written[0] < written[-1] == 100
    assert [document["jobs"][0]["read"]["total_ios"] for document in found][-1] == 100
    assert any(0 < document["jobs"][1]["usr_cpu"] <= 100 for document in found[:-1])
    assert (found[0]["jobs"][2]["read"]["total_ios"], found[-1]["jobs"][2]["read"]["total_ios"]) == (0, 1)


def test_the_reports_are_one_run_for_the_importer(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=randread", "--size=1m", "--time_based", "--runtime=2500ms", "--rate_iops=100")
    more = ("--status-interval=1", "--output-format=json", "--output=out.json")
    fio(tmp_path, *words, *more)
    found = documents((tmp_path / "out.json").read_text())
    assert len(found) >= 2
    done = mileage("import", "out.json", "--out", "study", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{len(found)} status reports of one run" in done.stdout + done.stderr


def handles(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal, which would end it otherwise."""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)


def test_sigusr1_prints_what_was_done_and_the_jobs_continue(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=randread", "--size=1m", "--time_based", "--runtime=60", "--rate_iops=200")
    with subprocess.Popen(
        [PROGRAM, "fio", *words, "--minimal"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        while not (tmp_path / "a.0.0").exists() or (tmp_path / "a.0.0").stat().st_size < 1 << 20:
            assert run.poll() is None
            time.sleep(0.01)
        while not handles(run.pid, signal.SIGUSR1):
            time.sleep(0.01)
        moved = []
        for _ in range(3):
            run.send_signal(signal.SIGUSR1)
            moved.append(int(run.stdout.readline().split(";")[5]))
        run.send_signal(signal.SIGINT)
        *_, last = run.stdout.read().splitlines()
    assert moved == sorted(moved)
    assert moved[-1] <= int(last.split(";")[5])
    assert run.returncode == 128


@pytest.mark.parametrize("value", ["0", "999us", "1x", "abc"])
def test_an_interval_that_fio_does_not_take_ends_with_1(tmp_path: Path, value: str) -> None:
    done = mileage("fio", "--name=a", "--size=4k", f"--status-interval={value}", cwd=tmp_path)
    assert (done.returncode, "--status-interval" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
