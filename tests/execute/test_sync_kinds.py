"""Every kind of durability has its latencies in the run record: as many as the workload asks for, at every driver."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mileage.model.histogram import bounds_of
from mileage.model.journal_entries import DidNotFinish
from mileage.store import StudyFolder
from tests.command import mileage

HOST = "virtual:intel-x25e-64gb@server-2025"


def counts(record: dict[str, Any]) -> dict[str, int]:
    """The operations of each kind that has some."""
    return {kind: own["count"] for kind, own in record["latency"].items() if own["count"]}


def kept(folder: Path, *words: str) -> dict[str, dict[str, int]]:
    """The latencies of each test of a drop-in command line, which is kept as a study."""
    tool, *rest = words
    done = mileage(tool, "--study", "kept", *rest, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, (folder / "kept" / "journal.jsonl").open())
    (record,) = [line["record"] for line in lines if line["kind"] == "run"]
    return {one["name"]: counts(one["record"]) for one in record["results"]}


@pytest.mark.parametrize("flag", ["-o", "-+D"])
def test_writes_of_iozone_that_are_durable_are_commits(tmp_path: Path, flag: str) -> None:
    found = kept(tmp_path, "iozone", flag, "-s", "256k", "-r", "64k", "-i", "0", "-i", "6", "-f", "file")
    durable = {"write": 4, "commit": 4, "durable_write": 4}
    assert found["iozone.write"] == found["iozone.rewrite"] == durable
    # IOzone opens streams without the flag.
    assert found["iozone.fwrite"] == found["iozone.frewrite"] == {"write": 4}


def test_a_final_sync_of_each_worker_is_a_sync_and_no_commit(tmp_path: Path) -> None:
    words = ("-e", "-t", "2", "-s", "256k", "-r", "64k", "-i", "0", "-F", "one", "two")
    found = kept(tmp_path, "iozone", *words)
    assert found["iozone.write"] == found["iozone.rewrite"] == {"write": 8, "sync": 2}


@pytest.mark.parametrize(
    ("words", "test"),
    [
        (("metarates", "-d", "dir", "-n", "40", "-C", "-u", "-s"), "metarates.create"),
        (("metarates", "--tasks", "2", "-d", "dir", "-n", "40", "-C", "-u", "-s"), "metarates.create"),
        (("mdtest", "-d", "dir", "-n", "40", "-F", "-C", "-w", "100", "-y"), "mdtest.file_create"),
    ],
    ids=" ".join,
)
def test_each_file_that_is_synced_when_it_is_made_has_a_sync(
    tmp_path: Path, words: tuple[str, ...], test: str
) -> None:
    (tmp_path / "dir").mkdir()
    assert kept(tmp_path, *words)[test] == {"metadata": 40, "sync": 40}


def measured(folder: Path, *words: str) -> dict[str, Any]:
    done = mileage("measure", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)
    assert isinstance(cell, dict)
    return cell


@pytest.mark.parametrize("target", ["dir:.", HOST])
def test_the_sync_of_a_new_file_is_a_part_of_its_creation(tmp_path: Path, target: str) -> None:
    words = ("-w", "metarates.create", "--operations", "40", "--sync", "fsync")
    latency = measured(tmp_path, "-t", target, *words)["latency"]
    assert {kind: own["count"] for kind, own in latency.items()} == {"all": 40, "metadata": 40, "sync": 40}
    assert 0 < latency["sync"]["mean_ns"] < latency["metadata"]["mean_ns"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--dsync",), {"commit": 4, "durable_write": 4}),
        (("--sync", "fsync"), {"sync": 1}),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("target", ["dir:.", HOST])
def test_engine_and_host_have_the_same_commits(
    tmp_path: Path, target: str, words: tuple[str, ...], expected: dict[str, int]
) -> None:
    sizes = ("-w", "iozone.write", "-r", "64KiB", "--size", "256KiB")
    latency = measured(tmp_path, "-t", target, *sizes, *words)["latency"]
    found = {kind: own["count"] for kind, own in latency.items() if kind not in ("all", "write", "sync")}
    assert found == {kind: count for kind, count in expected.items() if kind != "sync"}
    assert latency["sync"]["count"] == 1 if "sync" in expected else True


@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(os.geteuid() != 0, reason="loop devices are made by root")
def test_a_flush_of_a_block_device_is_a_sync(tmp_path: Path) -> None:
    words = ("-w", "random_write", "-r", "4KiB", "--size", "1MiB", "--operations", "32", "--sync-every", "4")
    cell = measured(tmp_path, "-t", "loop:16MiB", *words)
    assert {kind: own["count"] for kind, own in cell["latency"].items()} == {
        "all": 32,
        "write": 32,
        "sync": 8,
        "commit": 8,
        "durable_write": 32,
    }
    assert cell["commit_setting"] == {"writes": 4.0, "threads": 1, "depth": 1, "layout": "device"}


def test_processes_merge_their_commits(tmp_path: Path) -> None:
    words = ("-w", "random_write", "-r", "4KiB", "--size", "1MiB", "--operations", "32", "--sync-every", "2")
    cell = measured(tmp_path, "-t", "dir:.", *words, "--processes", "2", "--threads", "2", "--no-direct")
    assert cell["latency"]["sync"]["count"] == cell["latency"]["commit"]["count"] == 16
    assert cell["latency"]["durable_write"]["count"] == 32
    assert cell["commit_setting"] == {"writes": 2.0, "threads": 2, "depth": 1, "layout": "preallocated"}


@pytest.mark.parametrize(
    ("words", "layout"),
    [
        (("-w", "random_write", "--sync-every", "1"), "overwrite"),
        (("-w", "iozone.write", "--dsync"), "append"),
        (("-w", "iozone.rewrite", "--dsync"), "overwrite"),
    ],
    ids=" ".join,
)
def test_where_commits_go(tmp_path: Path, words: tuple[str, ...], layout: str) -> None:
    sizes = ("-r", "64KiB", "--size", "256KiB")
    ended = ("--operations", "20") if "random_write" in words else ()
    setting = measured(tmp_path, "-t", HOST, *words, *sizes, *ended)["commit_setting"]
    assert (setting["writes"], setting["layout"]) == (1.0, layout)


FAULTY = """
lost_command_every = {{ value = {every}, source = "a fault", confidence = "defined" }}
command_timeout_s = {{ value = 30, source = "a fault", confidence = "defined" }}
"""


def test_a_commit_that_times_out_makes_quantiles_lower_bounds(tmp_path: Path) -> None:
    """A drive that loses one command in 5,000: the third run of 1,200 writes and syncs ends with a time-out."""
    profile = mileage("drive", "show", "plain-64gib", "--toml", cwd=tmp_path).stdout
    (tmp_path / "faulty.toml").write_text(profile + FAULTY.format(every=5000))
    words = (
        "-w",
        "random_write",
        "-r",
        "4KiB",
        "--size",
        "16MiB",
        "--sync-every",
        "1",
        "--operations",
        "1200",
    )
    study = mileage(
        "measure", "-t", "virtual:./faulty.toml", *words, "--repeat", "4", "--as-study", cwd=tmp_path
    )
    # All runs on one drive, which counts its commands.
    (tmp_path / "study.toml").write_text(study.stdout.replace('"purge-each"', '"none"'))
    assert mileage("run", "study.toml", "-o", "kept", cwd=tmp_path).returncode == 0
    (cell,) = json.loads(mileage("report", "kept", "--json", cwd=tmp_path).stdout)["cells"]
    assert (cell["runs"], cell["ops_written"]) == (2, 2400)
    for kind in ("commit", "sync"):
        latency = cell["latency"][kind]
        assert (latency["count"], latency["unfinished"]) == (2401, 1)
        assert latency["at_least"] == ["mean_ns", "max_ns"]
        assert latency["max_ns"] >= 30e9
        assert latency["p99_ns"] < 1e9
    assert cell["latency"]["write"]["at_least"] == []
    (failed,) = StudyFolder(tmp_path / "kept").content().of_kind(DidNotFinish)
    unfinished = failed.record.latency_of("unfinished_commit")
    assert (unfinished.count, unfinished.max_ns) == (1, cell["latency"]["commit"]["max_ns"])
    assert "its commit takes 30 s at least" in failed.message
    assert "max ≥ 30 s" in mileage("report", "kept", cwd=tmp_path).stdout


STALL = """
stall_s = {{ value = {stall_s}, source = "a fault", confidence = "defined" }}
stall_every_s = {{ value = {every_s}, source = "a fault", confidence = "defined" }}
"""


@pytest.mark.parametrize(("rate", "late"), [("50", 200), ("", 10)], ids=["open loop", "closed loop"])
def test_in_the_open_loop_a_commit_waits_from_when_it_was_due(tmp_path: Path, rate: str, late: int) -> None:
    """A drive stalls for 0.4 s in each 2 s, and 50 commits a second are due for 20 s: 20 of each 100 come in a stall.

    Those wait for what is left of it, which falls evenly from 0.4 s to 0. In a closed loop one commit waits in a stall.
    """
    profile = mileage("drive", "show", "plain-64gib", "--toml", cwd=tmp_path).stdout
    (tmp_path / "stalls.toml").write_text(profile + STALL.format(stall_s=0.4, every_s=2))
    words = ("-t", "virtual:./stalls.toml", "-w", "random_write", "-r", "4KiB", "--size", "16MiB")
    ended = ("--rate", rate, "--operations", "1000") if rate else ("--for", "20s")
    study = ("--save", "kept", "--sync-every", "1", *ended)
    cell = measured(tmp_path, *words, *study)
    lines = map(json.loads, (tmp_path / "kept" / "journal.jsonl").open())
    (record,) = [line["record"] for line in lines if line["kind"] == "run"]
    buckets = [
        (bounds_of(bucket)[0] / 1e9, count) for bucket, count in record["latency"]["commit"]["buckets"]
    ]
    assert sum(count for low_s, count in buckets if low_s > 0.002) == pytest.approx(late, rel=0.1, abs=1)
    if rate:
        assert sum(count for low_s, count in buckets if low_s > 0.2) == pytest.approx(late / 2, rel=0.1)
    assert cell["latency"]["commit"]["max_ns"] / 1e9 == pytest.approx(0.4, abs=0.025)
