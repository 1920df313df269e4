"""Times of syncs and commits that other tools print: from kept files, and from the tools where they are installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mileage.app.importer import metrics_of
from mileage.formats.result import ToolRun
from tests.formats.sample_reader import SAMPLES, by_cell, of, of_text

PG_TEST_FSYNC = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_test_fsync"))), None)
BUCKET = 1 / 64
"""Relative width of fio's buckets."""


def percentiles_us(text: str) -> dict[str, float]:
    """The percentiles below the heading of syncs, which is in microseconds."""
    rows = text.partition("sync percentiles (usec):\n")[2].partition("\n  cpu")[0]
    return {share: float(value) for share, value in re.findall(r"([0-9.]+)th=\[\s*([0-9]+)\]", rows)}


def test_the_normal_output_of_fio_has_the_quantiles_of_its_syncs() -> None:
    text = (SAMPLES / "fio-fdatasync.out").read_text()
    expected = percentiles_us(text)
    (run,) = of(SAMPLES / "fio-fdatasync.out").runs
    assert run.latencies_ns == {
        "sync_p50_ns": 1000 * expected["50.00"],
        "sync_p99_ns": 1000 * expected["99.00"],
    }
    assert metrics_of(run) == ("throughput", "sync_p50", "sync_p99")
    # 1,367 writes and as many calls of fdatasync: what the job waited for is the time of both.
    assert run.latency_sum_ns == pytest.approx(1367 * 1000 * (10.05 + 326.97))
    assert run.elapsed_s is not None
    assert run.latency_sum_ns == pytest.approx(1e9 * run.elapsed_s, rel=0.02)
    assert "1.6 % wide" in run.notes[0]


def test_a_p99_of_few_syncs_is_left_out() -> None:
    (run,) = of(SAMPLES / "fio-sync.out").runs
    assert run.latencies_ns == {"sync_p50_ns": 3_818_000}


def test_terse_output_has_no_times_of_syncs_and_shows_that_there_were_some() -> None:
    (run,) = of(SAMPLES / "fio-fdatasync.terse").runs
    assert run.latencies_ns == {}
    assert any("has no times of syncs" in note for note in run.notes)
    for other in ("fio-terse-4.terse", "fio-terse-5.terse", "fio-three-jobs.terse"):
        assert not any("syncs" in note for run in of(SAMPLES / other).runs for note in run.notes)


@pytest.mark.parametrize(("sync", "durable"), [("dsync", True), ("1", True), ("none", False), ("0", False)])
def test_writes_of_an_open_flag_are_commits(tmp_path: Path, sync: str, durable: bool) -> None:
    text = json.loads((SAMPLES / "fio-fdatasync.json").read_text())
    (job,) = text["jobs"]
    job["job options"] = {**job["job options"], "sync": sync}
    del job["sync"]
    (run,) = of_text(tmp_path, json.dumps(text)).runs
    own = job["write"]["clat_ns"]["percentile"]
    found = {"commit_p50_ns": own["50.000000"], "commit_p99_ns": own["99.000000"]}
    assert run.latencies_ns == (found if durable else {})


def of_sysbench() -> list[ToolRun]:
    return of(SAMPLES / "sysbench-commits.out").runs


def test_sysbench_has_commits_where_each_event_is_one() -> None:
    text = (SAMPLES / "sysbench-commits.out").read_text()
    printed = re.findall(r"99th percentile: +([0-9.]+)", text)
    each, durable, periodic = of_sysbench()
    assert [run.latencies_ns for run in (each, durable)] == [
        {"commit_p99_ns": 1e6 * float(value)} for value in printed
    ]
    assert metrics_of(each) == ("iops", "commit_p99")
    assert periodic.latencies_ns == {}
    assert metrics_of(periodic) == ("iops",)
    assert "times of syncs and commits are not stated" in periodic.notes[-1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("reads/s:                      0.00", "reads/s:                      9.00"),
        ("Using sync", "Using async"),
    ],
)
def test_sysbench_with_reads_or_asynchronous_calls_states_no_commits(
    tmp_path: Path, old: str, new: str
) -> None:
    text = (SAMPLES / "sysbench-commits.out").read_text()
    assert old in text
    for run in of_text(tmp_path, text.replace(old, new)).runs:
        assert run.latencies_ns == {}


def test_pg_test_fsync_has_means_and_no_quantile() -> None:
    result = of(SAMPLES / "pg_test_fsync.out")
    text = (SAMPLES / "pg_test_fsync.out").read_text()
    printed = re.findall(r"^ +(\S.*?) +([0-9.]+) ops/sec +([0-9]+) usecs/op$", text, re.MULTILINE)
    assert (result.tool, result.unread, len(printed)) == ("pg_test_fsync", [], 16)
    assert [(run.levels["method"], run.ops_per_s) for run in result.runs] == [
        (method, float(rate)) for method, rate, _ in printed
    ]
    for run, (_, _, mean_us) in zip(result.runs, printed, strict=True):
        assert run.quantiles_ns.keys() == {"mean"}
        assert run.quantiles_ns["mean"] == pytest.approx(1000 * float(mean_us), abs=501)
        assert metrics_of(run) == ("iops",)
    runs = by_cell(result)
    one, two = runs["pg_test_fsync.fdatasync, 1 x 8 KiB"], runs["pg_test_fsync.fdatasync, 2 x 8 KiB"]
    assert one.rate_bytes_per_s == 8192 * 5676.876
    assert two.rate_bytes_per_s == 16384 * 2926.811
    assert runs["pg_test_fsync.write, fsync, close"].rate_bytes_per_s is None


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_real_fio_says_the_same_in_both_of_its_outputs(tmp_path: Path) -> None:
    words = ("--name=a", "--rw=write", "--ioengine=sync", "--fdatasync=1", "--bs=1000", "--size=1200000")
    done = subprocess.run(
        ["fio", *words, f"--directory={tmp_path}", "--output-format=normal,json"],
        capture_output=True,
        text=True,
        check=True,
    )
    normal, brace, rest = done.stdout.partition("\n{\n")
    document, _, ending = rest.rpartition("\n}\n")
    (shown,) = of_text(tmp_path, normal + "\n" + ending).runs
    (exact,) = of_text(tmp_path, brace + document + "\n}\n").runs
    assert shown.latencies_ns.keys() == exact.latencies_ns.keys() == {"sync_p50_ns", "sync_p99_ns"}
    for name, value_ns in exact.latencies_ns.items():
        # The text has whole micro- or milliseconds, as much as it needs for its largest percentile.
        assert shown.latencies_ns[name] == pytest.approx(value_ns, rel=BUCKET, abs=1e6), name


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_real_sysbench_syncs_in_each_event(tmp_path: Path) -> None:
    """As many fsyncs as writes, and a mean time that the rate of a single thread agrees with."""
    words = ["sysbench", "fileio", "--file-num=1", "--file-total-size=1M", "--file-test-mode=rndwr"]
    subprocess.run([*words, "prepare"], cwd=tmp_path, capture_output=True, check=True)
    ended = ["--time=0", "--events=40", "--percentile=50", "--file-fsync-all=on", "run"]
    done = subprocess.run([*words, *ended], cwd=tmp_path, capture_output=True, text=True, check=True)
    (run,) = of_text(tmp_path, done.stdout).runs
    figures = dict(run.printed)
    assert figures["fsyncs/s"] == pytest.approx(figures["writes/s"], rel=0.1)
    assert run.latencies_ns == {"commit_p50_ns": run.quantiles_ns["p50"]}


@pytest.mark.skipif(PG_TEST_FSYNC is None, reason="pg_test_fsync is not installed")
def test_the_output_of_a_real_pg_test_fsync_is_understood(tmp_path: Path) -> None:
    """It writes each line when it has the figure; the first two tests are enough."""
    command = [str(PG_TEST_FSYNC), "-s", "1", "-f", str(tmp_path / "file")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        lines: list[str] = []
        while sum("usecs/op" in line for line in lines) < 2:
            lines.append(running.stdout.readline())
            assert lines[-1], "it ended"
        running.terminate()
    result = of_text(tmp_path, "".join(lines))
    assert result.unread == []
    assert [run.levels["method"] for run in result.runs] == ["open_datasync", "fdatasync"]
    for run in result.runs:
        assert run.ops_per_s
        assert run.quantiles_ns["mean"] == pytest.approx(1e9 / run.ops_per_s)
