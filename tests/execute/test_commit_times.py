"""Times of commits and syncs: by the engine's log, by the kernel's tracepoints, and on disks whose truth is known."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from mileage.app.study import plan
from tests.command import mileage

REVOLUTION_S = 60 / 7200
BUCKET = 1 / 128
"""Relative width of a bucket of a histogram."""
IN_PLACE = (
    *("-w", "fixed_write", "-r", "4KiB", "--size", "16MiB", "--sync-every", "1", "--operations", "1200"),
)
"""One block, written again and again, each time followed by a sync."""


def measured(*words: str, cwd: Path) -> list[Any]:
    done = mileage("measure", *words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_log(path: Path) -> dict[str, list[int]]:
    """Latencies in nanoseconds by kind, computed from the single operations of each thread."""
    found: dict[str, list[int]] = {"sync": [], "commit": [], "durable_write": []}
    with path.open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["thread"]))
    for _, own in groupby(rows, key=lambda row: row["thread"]):
        begun: list[int] = []
        for row in own:
            start_ns, end_ns = int(row["due_ns"] or row["start_ns"]), int(row["end_ns"])
            if row["kind"] == "write":
                begun.append(start_ns)
            elif row["kind"] == "sync":
                found["sync"].append(end_ns - int(row["start_ns"]))
                found["commit"] += [end_ns - min(begun)] if begun else []
                found["durable_write"] += [end_ns - one for one in begun]
                begun.clear()
    return found


@pytest.mark.parametrize(
    "words",
    [
        ("--sync-every", "1"),
        ("--sync-every", "4", "--threads", "2"),
        ("--sync-every", "8", "--depth", "4", "--api", "uring"),
        ("--sync-every", "4", "--rate", "400"),
    ],
    ids=" ".join,
)
def test_the_histograms_are_those_of_the_log(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "target").mkdir()
    sizes = ("-w", "random_write", "-r", "4KiB", "--size", "4MiB", "--operations", "256", "--no-direct")
    log = tmp_path / "log.csv"
    target = ("-t", f"dir:{tmp_path / 'target'}")
    kept = ("--log", str(log), "--save", str(tmp_path / "saved"))
    (cell,) = measured(*target, *sizes, *words, *kept, cwd=tmp_path)
    for kind, expected in of_log(log).items():
        latency = cell["latency"][kind]
        assert latency["count"] == len(expected), kind
        assert (latency["min_ns"], latency["max_ns"]) == (min(expected), max(expected)), kind
        assert latency["mean_ns"] == pytest.approx(sum(expected) / len(expected)), kind
    # The intervals of the run hold the same commits.
    asked = "SELECT sum(ops) AS n, sum(latency_sum_ns) AS total, max(latency_max_ns) AS most FROM commits"
    (row,) = json.loads(mileage("query", asked, "saved", "--json", cwd=tmp_path).stdout)
    commit = of_log(log)["commit"]
    assert (row["n"], row["total"], row["most"]) == (len(commit), sum(commit), max(commit))


@contextlib.contextmanager
def traced(folder: Path, call: str) -> Iterator[Path]:
    """An instance of the kernel's tracer that records the calls of fsync or of fdatasync."""
    folder.mkdir()
    if os.geteuid() or subprocess.call(["mount", "-t", "tracefs", "nodev", folder]):
        pytest.skip("tracefs cannot be mounted")
    own = folder / "instances" / f"mileage-{os.getpid()}"
    try:
        own.mkdir()
        try:
            (own / "trace_clock").write_text("mono_raw")
            for name in (f"sys_enter_{call}", f"sys_exit_{call}"):
                event = own / "events" / "syscalls" / name / "enable"
                if not event.exists():
                    pytest.skip("this kernel has no tracepoints of system calls")
                event.write_text("1")
            yield own
        finally:
            own.rmdir()
    finally:
        subprocess.run(["umount", folder], check=True)


def syncs_seen(trace: str, call: str, tids: list[int]) -> list[int]:
    """Nanoseconds of each sync that the tracepoints saw of these threads, one thread after the other."""
    line = re.compile(rf"-(\d+)\s+\[\d+\]\s+\S+\s+([0-9.]+): sys_{call}(\(| ->)")
    entered: dict[int, float] = {}
    found: dict[int, list[int]] = {tid: [] for tid in tids}
    for number, at_s, what in line.findall(trace):
        tid = int(number)
        if tid in found and what == "(":
            entered[tid] = float(at_s)
        elif tid in found:
            found[tid].append(round(1e9 * (float(at_s) - entered.pop(tid))))
    return [one for tid in tids for one in found[tid]]


@pytest.mark.xdist_group("devices")
@pytest.mark.parametrize(("call", "threads"), [("fdatasync", 1), ("fsync", 2)])
def test_syncs_are_those_of_the_kernel(tmp_path: Path, call: str, threads: int) -> None:
    """Each lasts as long as the kernel says, and no shorter; how much longer is looked at on an idle machine only."""
    (tmp_path / "target").mkdir()
    log, saved = tmp_path / "log.csv", tmp_path / "saved"
    words = ("-w", "random_write", "-r", "2300", "--size", "4MiB", "--no-direct", "--threads", str(threads))
    ended = ("--sync", call, "--sync-every", "1", "--operations", "400")
    kept = ("--log", str(log), "--save", str(saved))
    with traced(tmp_path / "tracing", call) as tracing:
        (cell,) = measured("-t", f"dir:{tmp_path / 'target'}", *words, *ended, *kept, cwd=tmp_path)
        trace = (tracing / "trace").read_text()
    (run,) = [line for line in map(json.loads, (saved / "journal.jsonl").open()) if line.get("record")]
    seen = syncs_seen(trace, call, [thread["tid"] for thread in run["record"]["threads"]])
    logged = of_log(log)["sync"]
    assert len(seen) == len(logged) == cell["latency"]["sync"]["count"] == 400
    pairs = list(zip(seen, logged, strict=True))
    # The engine's clock is read before and after the call; the trace has whole microseconds.
    assert all(ours >= kernels - 2_000 for kernels, ours in pairs)
    # Two threads and the kernel's own share two processors: a thread is woken late.
    if threads == 1 and os.environ.get("MILEAGE_TEST_PROFILE") == "thorough":
        far = [pair for pair in pairs if abs(pair[0] - pair[1]) > max(20_000, 0.05 * pair[1])]
        assert len(far) <= 4, far


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists(),
    reason="serving a drive needs root, /dev/fuse and /dev/loop-control",
)
def test_each_sync_is_a_flush_of_a_served_drive_and_no_shorter(tmp_path: Path) -> None:
    """The drive is a second witness, of the device's side: it counts its flushes, each of which takes 2 ms."""
    drive = "served:intel-x25e-64gb,write_buffer_power=volatile,flush_us=2000"
    words = ("-w", "fixed_write", "-r", "4KiB", "--size", "16MiB", "--direct", "--operations", "200")
    (cell,) = measured("-t", drive, *words, "--sync-every", "1", cwd=tmp_path)
    sync = cell["latency"]["sync"]
    assert sync["count"] == cell["counters"]["flushes"] == 200
    assert sync["min_ns"] >= 2_000_000
    assert cell["latency"]["commit"]["min_ns"] >= sync["min_ns"]


def test_a_block_that_is_overwritten_in_place_waits_a_revolution(tmp_path: Path) -> None:
    """The head passes the block once in a revolution; with a host that does not journal an overwrite it does too."""
    for target in ("hpe-7k2-500gb", "hpe-7k2-500gb@server-2025"):
        (cell,) = measured("-t", f"virtual:{target}", *IN_PLACE, cwd=tmp_path)
        revolutions = cell["latency"]["commit"]["p50_ns"] / 1e9 / REVOLUTION_S
        assert round(revolutions) >= 1
        assert revolutions == pytest.approx(round(revolutions), rel=BUCKET), target
        assert cell["latency"]["commit"]["count"] == 1200


def test_a_cache_without_barriers_answers_in_microseconds(tmp_path: Path) -> None:
    (cell,) = measured("-t", "virtual:hpe-7k2-500gb@server-2025,barrier=false", *IN_PLACE, cwd=tmp_path)
    assert cell["latency"]["commit"]["p50_ns"] < 200_000


@pytest.mark.parametrize(
    ("target", "words"),
    [("virtual:intel-x25e-64gb", ("--sync", "fua")), ("virtual:intel-x25e-64gb@server-2025", ("--dsync",))],
)
def test_where_a_write_is_durable_when_it_completes_it_is_a_commit(
    tmp_path: Path, target: str, words: tuple[str, ...]
) -> None:
    sizes = ("-w", "random_write", "-r", "4KiB", "--size", "16MiB", "--operations", "200")
    (cell,) = measured("-t", target, *sizes, *words, cwd=tmp_path)
    assert cell["latency"]["commit"] == cell["latency"]["write"] == cell["latency"]["durable_write"]


def test_commits_are_asked_for_where_there_are_some(tmp_path: Path) -> None:
    words = ("-t", "virtual:intel-x25e-64gb", "-w", "random_write", "-r", "4KiB", "--size", "16MiB")
    study = tmp_path / "study.toml"
    synced = mileage(
        "measure", *words, "--sync-every", "1", "--operations", "2000", "--as-study", cwd=tmp_path
    )
    study.write_text(synced.stdout)
    (cell,) = plan(str(study)).cells
    assert cell.metrics == ("iops", "commit_p50", "commit_p99")
    study.write_text(synced.stdout.replace("pattern.random_write", "pattern.mix"))
    (mixed,) = plan(str(study)).cells
    # What is read is in no commit, so its p99 is judged too.
    assert mixed.metrics == ("iops", "p99", "commit_p50", "commit_p99")
    text = synced.stdout.replace("repeat = 1", 'repeat = 1\nmetric = ["iops", "commit_p99"]')
    study.write_text(text.replace("sync_every = 1", "sync_every = 0"))
    refused = mileage("plan", str(study), cwd=tmp_path)
    assert refused.returncode == 2
    assert "commit_p99" in refused.stderr


def test_the_page_draws_commit_times_over_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILEAGE_REPORT", "full")
    words = ("-t", "virtual:intel-x25e-64gb", "-w", "random_write", "-r", "4KiB", "--size", "16MiB")
    titles = {"Rate and commit times over time": ("--sync-every", "1"), "Rate over time": ()}
    for at, (title, more) in enumerate(titles.items()):
        measured(*words, *more, "--operations", "3000", "--save", f"study-{at}", cwd=tmp_path)
        page = (tmp_path / f"study-{at}" / "report.html").read_text()
        assert title in page
        assert ("commit time, ms" in page) == bool(more)
