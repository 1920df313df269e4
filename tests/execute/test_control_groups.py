"""Limits that a control group puts on the I/O of a study, on the real kernel: in each run, and when they change."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mileage import app
from mileage.judge.audit import audit
from mileage.model.journal_entries import Run
from mileage.store import StudyFolder
from mileage.targets.filesystem import look_at
from mileage.targets.kernel_text import fields_of, read_text, read_word
from tests.execute.conftest import Small

V1 = Path("/sys/fs/cgroup/blkio")
V2 = Path("/sys/fs/cgroup")
LIMIT = 8_000_000

Limit = Callable[[int], None]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[tuple[Path, Limit]]:
    """A control group of either version with the I/O controller, and a function that limits its reads."""
    disk = read_word(Path("/sys/block") / look_at(tmp_path).disk / "dev")
    version_2 = "io" in fields_of(read_text(V2 / "cgroup.subtree_control"))
    place = (V2 if version_2 else V1) / f"mileage-test-{os.getpid()}"
    if disk is None or os.geteuid() != 0 or not (version_2 or (V1 / "cgroup.procs").exists()):
        pytest.skip("no control group with the I/O controller can be made here")

    def limit(bytes_per_s: int) -> None:
        if version_2:
            (place / "io.max").write_text(f"{disk} rbps={bytes_per_s}")
        else:
            (place / "blkio.throttle.read_bps_device").write_text(f"{disk} {bytes_per_s}")

    try:
        place.mkdir()
    except OSError:
        pytest.skip("no control group with the I/O controller can be made here")
    try:
        limit(LIMIT)
        yield place, limit
    finally:
        place.rmdir()


def started(group: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command that runs in a control group from its start."""
    script = f'echo $$ > {group}/cgroup.procs; exec {sys.executable} -m mileage "$@"'
    return subprocess.Popen(
        ["sh", "-c", script, "sh", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_limit_is_not_called_the_device(group: tuple[Path, Limit], small: Small, tmp_path: Path) -> None:
    place, _ = group
    out = tmp_path / "study"
    done = started(place, "run", str(small.study(f"dir:{tmp_path}")), "--out", str(out))
    output = done.communicate(timeout=300)
    assert done.returncode == 0, output
    facts = app.load(out).seen().facts
    reads = [one for one in facts if one.bytes_read and not one.bytes_written]
    assert reads
    assert all(one.group_limits == {"read_bytes_per_s": LIMIT} for one in reads)
    found = {one.name: one for one in audit(facts, direct=True)}["limited by"]
    assert (found.state, found.kind) == ("warn", "group-limit")
    snapshots = dict(StudyFolder(out).environments())
    assert {one["group.io_limits"] for one in snapshots.values()} == {f"read_bytes_per_s={LIMIT}"}


def test_a_measurement_under_a_limit_has_a_caution(group: tuple[Path, Limit], tmp_path: Path) -> None:
    place, _ = group
    words = ("measure", "-t", f"dir:{tmp_path}", "-w", "sequential_read", "--size", "16MiB", "--for", "1s")
    stdout, stderr = started(place, *words).communicate(timeout=120)
    assert f"a control group limits reads to {LIMIT:,} bytes/s" in " ".join((stdout + stderr).split())


def test_a_limit_that_is_halved_during_a_study_stops_it(
    group: tuple[Path, Limit], small: Small, tmp_path: Path
) -> None:
    place, limit = group
    out = tmp_path / "study"
    process = started(place, "run", str(small.study(f"dir:{tmp_path}")), "--out", str(out))
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not _measured(out):
        time.sleep(0.05)
    limit(LIMIT // 2)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode not in (0, 1)
    assert f"group.io_limits changed from read_bytes_per_s={LIMIT} to read_bytes_per_s={LIMIT // 2}" in stderr


def _measured(folder: Path) -> bool:
    if not (folder / "journal.jsonl").exists():
        return False
    return any(run.role == "measure" for run in StudyFolder(folder).content().of_kind(Run))
