"""`mileage check --for`: sentence, statuses and values on virtual drives, directories, files and devices."""

from __future__ import annotations

import hashlib
import html
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from mileage.cli import root
from tests.command import mileage
from tests.targets.conftest import loop_device

__all__ = ["loop_device"]

DISK = "virtual:sata-7k2"
OWN = """
[purpose]
title = "a journal of ours"
metric = "commit_p99"
at_most = "{limit}"
source = {{ title = "our own" }}
[state]
file = "4MiB"
[measure.log]
workload = "pattern.sequential_write"
record = "4KiB"
sync = "fdatasync"
sync_every = 1
stop = {{ operations = {operations} }}
"""


def own(place: Path, limit: str, operations: int = 1000) -> str:
    path = place / "our journal.toml"
    path.write_text(OWN.format(limit=limit, operations=operations))
    return str(path)


def values(*words: str, status: int) -> Any:
    done = mileage("check", *words, "--json")
    assert done.returncode == status, done.stderr + done.stdout
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("limit", "status", "outcome"),
    # A revolution of 7,200 rpm is 8.333 ms, and each commit waits for one.
    [("9 ms", 0, "fit"), ("8 ms", 1, "not fit"), ("8.34 ms", 5, "cannot say")],
)
def test_the_answer_comes_first_and_is_the_status(
    limit: str, status: int, outcome: str, tmp_path: Path
) -> None:
    purpose = own(tmp_path, limit)
    found = values(DISK, "--for", purpose, status=status)
    assert (found["status"], found["fitness"]["outcome"], found["purpose"]) == (
        status,
        outcome,
        "our-journal",
    )
    assert found["fitness"]["value"] == pytest.approx(60e9 / 7200, rel=0.01)
    assert found["power_loss"]["tested"] is False
    done = mileage("check", DISK, "--for", purpose)
    assert done.returncode == status
    text = " ".join(done.stdout.partition("-----")[0].split())
    assert text == found["verdict"]
    assert f"limit {limit} (our own)" in text
    assert all(len(line) <= 72 for line in done.stdout.splitlines() if not line.startswith("  mileage "))
    assert "Power loss was not tested" in done.stdout


def test_two_targets_are_answered_and_compared(tmp_path: Path) -> None:
    found = values(DISK, f"{DISK},rpm=15000", "--for", own(tmp_path, "5 ms"), status=1)
    assert [one["fitness"]["outcome"] for one in found["targets"]] == ["not fit", "fit"]
    (cell,) = found["comparison"]["cells"]
    assert (found["comparison"]["baseline"], found["comparison"]["candidate"]) == ("drive A", "drive B")
    assert (cell["metric"], cell["verdict"]) == ("commit_p99_ns", "faster")
    folder = tmp_path / "kept"
    done = mileage("check", DISK, f"{DISK},rpm=15000", "--for", own(tmp_path, "5 ms"), "--save", str(folder))
    assert (folder / "check.txt").read_text() == done.stdout
    assert (folder / "report.html").exists()
    assert [line[:3] for line in done.stdout.splitlines()[:1]] == ["A: "]


def test_the_saved_page_has_the_answer_at_its_head(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    words = ("check", DISK, "--for", own(tmp_path, "9 ms"), "--save", str(folder))
    done = mileage(*words, env={"MILEAGE_REPORT": "text"})
    assert done.returncode == 0
    answer = " ".join(done.stdout.partition("-----")[0].split())
    for _ in range(2):
        page = html.unescape((folder / "report.html").read_text())
        assert f'<p class="verdict">{answer}' in page
        assert done.stdout.rstrip() in page
        assert mileage("report", str(folder), "--report", "text").returncode == 0


def test_a_name_is_completed() -> None:
    found = ShellComplete(root, {}, "mileage", "_MILEAGE_COMPLETE").get_completions(["check", "--for"], "z")
    assert [one.value for one in found] == ["zfs-intent-log"]


def test_too_few_commits_say_nothing(tmp_path: Path) -> None:
    found = values(DISK, "--for", own(tmp_path, "9 ms", operations=999), status=5)
    codes = [caveat["code"] for caveat in found["fitness"]["caveats"] if caveat["severity"] == "vetoes"]
    assert (codes, found["fitness"]["value"]) == (["few-operations"], None)
    assert (
        values(DISK, "--for", own(tmp_path, "9 ms"), "--seconds", "0.5", status=5)["fitness"]["value"] is None
    )


def test_a_figure_that_the_load_does_not_have_is_refused(tmp_path: Path) -> None:
    path = Path(own(tmp_path, "9 ms"))
    path.write_text(path.read_text().replace("sync_every = 1\n", "").replace("fdatasync", "none"))
    done = mileage("check", DISK, "--for", str(path))
    assert done.returncode == 2, done.stdout
    assert "commit_p99" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--for", "etcd", "--quick"),
        ("--for", "etcd", "-d", "samsung-960-pro-512gb"),
        ("--for", "etcd", "--runs", "4"),
        ("--for", "etc"),
        ("--for", "none.toml"),
        ("--runs", "6"),
        ("--destroy", "/x"),
    ],
)
def test_what_has_no_effect_or_is_not_known_is_refused(words: tuple[str, ...]) -> None:
    done = mileage("check", DISK, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert words[-2] in done.stderr or words[-1] in done.stderr


def test_purposes_are_listed_and_shown() -> None:
    rows = json.loads(mileage("list", "purposes", "--json").stdout)
    assert len(rows) == 12
    limits = {row["name"]: row["title"].rpartition("; ")[2] for row in rows}
    assert limits["etcd"] == "limit 10 ms (etcd documentation)"
    assert limits["sqlite-wal"] == "no limit is published"
    assert "[purpose]" in mileage("list", "purposes", "--show", "etcd").stdout
    assert mileage("list", "purposes", "--show", "etc").returncode == 2


def test_a_real_directory_is_answered_and_left_empty(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "mine").write_text("mine")
    done = mileage("check", str(place), "--for", "etcd", "--seconds", "5", "--json")
    assert done.returncode in (0, 1, 5), done.stderr
    found = json.loads(done.stdout)
    assert found["fitness"]["outcome"] == {0: "fit", 1: "not fit", 5: "cannot say"}[done.returncode]
    assert found["power_loss"]["how"] == "drive"
    assert "at most to dir:" in done.stderr
    assert [path.name for path in place.iterdir()] == ["mine"]


def test_content_is_lost_only_with_destroy(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(os.urandom(5 << 20))
    before = hashlib.sha256(data.read_bytes()).hexdigest()
    purpose = own(tmp_path, "9 s")
    done = mileage("check", str(data), "--for", purpose)
    assert done.returncode == 2
    assert f"--destroy {data}" in done.stderr
    assert hashlib.sha256(data.read_bytes()).hexdigest() == before
    done = mileage("check", str(data), "--for", purpose, "--destroy", str(data), "--seconds", "0.2")
    assert done.returncode in (0, 5), done.stderr
    assert hashlib.sha256(data.read_bytes()).hexdigest() != before
    assert data.stat().st_size == 5 << 20


@pytest.mark.xdist_group("devices")
def test_a_device_is_written_only_with_destroy(loop_device: Path, tmp_path: Path) -> None:
    purpose = own(tmp_path, "9 s")
    assert mileage("check", str(loop_device), "--for", purpose).returncode == 2
    assert not any(loop_device.read_bytes()[: 1 << 20])
    words = ("check", str(loop_device), "--for", purpose, "--destroy", str(loop_device), "--seconds", "0.2")
    assert mileage(*words).returncode in (0, 5)
    assert any(loop_device.read_bytes()[: 1 << 20])


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
def test_a_limit_of_a_control_group_takes_back_not_fit(loop_device: Path, tmp_path: Path) -> None:
    """200 writes a second take 5 ms each, whatever the device can do."""
    top = Path("/sys/fs/cgroup/blkio")
    if not os.access(top, os.W_OK):
        pytest.skip("needs the control group controller blkio, version 1")
    group = top / f"mileage-test-fit-{os.getpid()}"
    group.mkdir()
    try:
        numbers = Path(f"/sys/block/{loop_device.name}/dev").read_text().strip()
        (group / "blkio.throttle.write_iops_device").write_text(f"{numbers} 200")
        command = [sys.executable, "-m", "mileage", "check", str(loop_device), "--json", "--for"]
        command += [own(tmp_path, "1 ms"), "--destroy", str(loop_device)]
        shell = f'echo $$ > {group}/cgroup.procs && exec "$@"'
        done = subprocess.run(
            ["/bin/sh", "-c", shell, "sh", *command], capture_output=True, text=True, check=False
        )
    finally:
        group.rmdir()
    found = json.loads(done.stdout)
    assert done.returncode == 5, found["verdict"]
    assert found["fitness"]["value"] > 4e6
    assert "group-limit" in [
        one["code"] for one in found["fitness"]["caveats"] if one["severity"] == "vetoes"
    ]


def test_memory_and_a_small_file_are_refused(tmp_path: Path) -> None:
    if Path("/dev/shm").is_mount():
        assert "is a tmpfs" in mileage("check", "/dev/shm", "--for", "etcd").stderr
    (tmp_path / "small").write_bytes(b"x" * 5000)
    done = mileage("check", str(tmp_path / "small"), "--for", "etcd", "--destroy", str(tmp_path / "small"))
    assert done.returncode == 2
    assert "needs 22 MiB" in done.stderr
    assert (tmp_path / "small").read_bytes() == b"x" * 5000
