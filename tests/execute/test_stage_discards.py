"""Discards that a commit sends after the run that removed the file belong to the stage of the run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mileage import app
from mileage.analysis.stage_times import discard_words
from mileage.execute import cycle, environment_guard
from mileage.model.journal_entries import DISCARDED, DISCARDED_OUTSIDE, StageEnd
from mileage.targets import open_target
from mileage.targets.ledger import LEDGER_VARIABLE

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
STUDY = """
name = "discards"
target = "loop:96MiB@{folder}"
report = "none"
[state]
filesystem = "{kind}"
mount = "{mount}"
file = "8MiB"
cache = "warm"
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "churn"
torture = ["churn"]
[[stage]]
name = "read"
measure = ["read"]
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[torture.churn]
workload = "throughput.write"
record = "1MiB"
amount = "8MiB"
span = "8MiB"
tasks = 1
rounds = 3
[measure.read]
workload = "iops.random_read"
record = "4KiB"
repeat = 1
stop = {{ operations = 16 }}
"""


def ends_of(tmp_path: Path, kind: str, mount: str) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """What was counted of each stage, and what its runs counted themselves."""
    (tmp_path / "study.toml").write_text(STUDY.format(folder=tmp_path, kind=kind, mount=mount))
    content = app.run(str(tmp_path / "study.toml"), out=tmp_path / "out").folder.content()
    words = discard_words(content)
    assert ("discards of churn" in words) == ("discard" in mount.split(","))
    runs: dict[str, int] = {}
    for run in content.runs():
        runs[run.stage] = runs.get(run.stage, 0) + run.watch.get(DISCARDED, 0)
    return {end.stage: end.watch for end in content.of_kind(StageEnd)}, runs


@pytest.fixture(autouse=True)
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mkfs.ext4") is None, reason="a file system is made by root"
)


@needs_root
@pytest.mark.parametrize("kind", ["ext3", "ext4"])
def test_what_a_stage_removes_is_discarded_within_it(kind: str, tmp_path: Path) -> None:
    """Three rounds write a file of 8 MiB and remove it; the kernel discards the free space around it as well.

    None is left for the stage that only reads: without the wait at the end of the stage there is.
    """
    ends, runs = ends_of(tmp_path, kind, "discard")
    assert ends["churn"][DISCARDED] >= 3 * 8 * MIB
    assert ends["churn"][DISCARDED_OUTSIDE] > 0
    assert ends["churn"][DISCARDED] == ends["churn"][DISCARDED_OUTSIDE] + runs["churn"]
    assert ends["read"][DISCARDED] == 0


@needs_root
def test_without_the_option_nothing_is_waited_for(tmp_path: Path) -> None:
    ends, _ = ends_of(tmp_path, "ext4", "nodiscard")
    assert ends == {"prepare": {}, "churn": {}, "read": {}}


def test_a_file_or_directory_of_the_users_is_never_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its device is shared: what others have it discard would be counted, and would hold the stage up."""
    root = tmp_path / "machine"
    for path, text in {
        root / "sys/block/vdz/stat": "10 0 80 5 20 0 160 5 0 0 0 3 0 1000 0",
        root / "sys/class/block/vdz/dev": "253:9",
        root / "proc/self/mountinfo": "21 1 0:99 / / rw,discard - ext4 /dev/vdz rw",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    monkeypatch.setattr(environment_guard, "HOST", root)
    (tmp_path / "data").write_bytes(bytes(MIB))
    (tmp_path / "study.toml").write_text(
        f'name = "kept"\ntarget = "file:{tmp_path}/data"\nreport = "none"\n[state]\nstart = "kept"\ncache = "warm"\n'
        '[[stage]]\nname = "read"\nmeasure = ["m"]\n[measure.m]\nworkload = "iops.random_read"\nrecord = "4KiB"\n'
        "repeat = 1\nstop = { operations = 8 }\n"
    )
    content = app.run(str(tmp_path / "study.toml"), out=tmp_path / "out").folder.content()
    assert [end.watch for end in content.of_kind(StageEnd)] == [{}]


def test_what_comes_after_the_last_run_is_counted_and_what_runs_counted_is_not_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device of files that gets 100 sectors in a run and 50 after it, when the file system is synced."""
    root = tmp_path / "machine"
    stat = root / "sys/block/vdz/stat"
    for path, text in {
        stat: "10 0 80 5 20 0 160 5 0 0 0 3 0 1000 0",
        root / "sys/class/block/vdz/dev": "253:9",
        root / "proc/self/mountinfo": "21 1 0:99 / / rw,discard - ext4 /dev/vdz rw",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    monkeypatch.setattr(environment_guard, "HOST", root)
    monkeypatch.setattr(cycle, "QUIET_S", 0.01)
    monkeypatch.setattr(
        cycle,
        "sync_file_system",
        lambda _place: stat.write_text("10 0 80 5 20 0 160 5 0 0 0 5 0 1150 0"),
    )
    with open_target(f"dir:{tmp_path}", plan_hash="0" * 16) as target:
        found = cycle.StageDiscards([target])
        found.add({DISCARDED: 100 * 512})
        assert found.settle() == {DISCARDED: 150 * 512, DISCARDED_OUTSIDE: 50 * 512}
