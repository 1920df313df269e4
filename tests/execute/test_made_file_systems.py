"""Studies on file systems that Mileage makes: factors of their options, a limit of memory, and what is left behind."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mileage import app
from mileage.errors import Refused
from mileage.model.journal_entries import Run
from mileage.plan.resolver import steps_of
from mileage.store import measured_cells
from mileage.targets.kernel_text import read_word
from mileage.targets.ledger import LEDGER_VARIABLE
from mileage.targets.memory_limit import find_controller
from mileage.targets.mounts import read_mounts

pytestmark = pytest.mark.xdist_group("devices")

STUDY = """
name = "made"
target = "{target}"
[state]
{state}
{factor}
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "read"
measure = ["read"]
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "file"
[measure.read]
workload = "iops.random_read"
record = "4KiB"
stop = {{ operations = {operations} }}
repeat = 2
[compare]
arms = "{arms}"
"""


@pytest.fixture(autouse=True)
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("file systems are made by root")
    if any(shutil.which(f"mkfs.{kind}") is None for kind in ("ext4", "btrfs")):
        pytest.skip("mkfs.ext4 or mkfs.btrfs is not installed")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    monkeypatch.chdir(tmp_path)


def study(tmp_path: Path, *, state: str, factor: str, arms: str, target: str, operations: int = 100) -> str:
    path = tmp_path / "made.toml"
    path.write_text(
        STUDY.format(target=target, state=state, factor=factor, arms=arms, operations=operations), "utf-8"
    )
    return str(path)


def left(tmp_path: Path) -> list[str]:
    """Loop devices over files of this test's folder, what is mounted from them, and the files themselves."""
    loops = {
        f"/dev/{file.parent.parent.name}"
        for file in Path("/sys/block").glob("loop*/loop/backing_file")
        if str(tmp_path) in (read_word(file) or "")
    }
    mounts = [m.mount_point for m in read_mounts() if m.source in loops]
    return [*loops, *mounts, *(path.name for path in tmp_path.glob(".mileage-*"))]


def test_every_level_has_a_file_system_of_its_own(tmp_path: Path) -> None:
    name = study(
        tmp_path,
        target=f"loop:160MiB@{tmp_path}",
        state='file = "4MiB"',
        factor='[factor.filesystem]\nlevels = ["ext4", "btrfs"]\n[factor.write_cache]\nlevels = ["back", "through"]',
        arms="filesystem",
    )
    planned = app.plan(name)
    texts = [step.text for step in steps_of(planned.study, planned.facts, planned.runs)]
    assert sum(text.startswith("mkfs.") for text in texts) == 2
    assert sum("write_cache" in text for text in texts) == 2
    result = app.run(name, out=tmp_path / "out")
    cells = measured_cells(result.folder.content())
    assert len(cells) == 4
    kinds = {
        snapshot["target.fs_type"]
        for _, snapshot in result.folder.environments()
        if "target.fs_type" in snapshot
    }
    assert kinds == {"ext4", "btrfs"}
    assert not left(tmp_path)


def test_a_limit_leaves_its_share_in_memory_and_the_cache_all_of_it(tmp_path: Path) -> None:
    if find_controller() is None:
        pytest.skip("there is no memory controller")
    name = study(
        tmp_path,
        target=f"loop:384MiB@{tmp_path}",
        state='filesystem = "ext4"\nfile = "4x limit"',
        factor='[factor.cache]\nlevels = ["direct", "cold", "hot", "limited:64MiB"]',
        arms="cache",
        operations=2000,
    )
    result = app.run(name, out=tmp_path / "out")
    share = {}
    for cell in measured_cells(result.folder.content()):
        share[cell.cell.rpartition("cache ")[2]] = max(cell.memory_percent)
    assert share["direct"] == 0
    assert share["hot"] > 99
    # A quarter of the file at most can be in memory, and less while that fills; never more.
    assert share["limited:64MiB"] < 26
    assert share["cold"] < 26
    assert not left(tmp_path)


def test_a_factor_of_file_systems_needs_devices_of_our_own(tmp_path: Path) -> None:
    name = study(
        tmp_path,
        target=f"dir:{tmp_path}",
        state='file = "4MiB"',
        factor='[factor.filesystem]\nlevels = ["ext4", "btrfs"]',
        arms="filesystem",
    )
    with pytest.raises(Refused, match="needs a device for each level"):
        app.plan(name)


def test_the_files_of_a_torture_s_tasks_are_made_on_it(tmp_path: Path) -> None:
    name = study(
        tmp_path,
        target=f"loop:96MiB@{tmp_path}",
        state='filesystem = "ext4"\nfile = "4MiB"',
        factor='[factor.cache]\nlevels = ["direct", "warm"]',
        arms="cache",
    )
    text = Path(name).read_text("utf-8")
    of_tasks = '[torture.fill]\ntasks = 2\nspan = "2MiB"\nrounds = 2\nread_back = true'
    text = text.replace("[torture.fill]", of_tasks).replace('amount = "file"', 'amount = "2MiB"')
    Path(name).write_text(text, "utf-8")
    result = app.run(name, out=tmp_path / "out")
    records = [run.record for run in result.folder.content().of_kind(Run) if run.role == "prepare"]
    moved = [record.bytes_read + record.bytes_written for record in records]
    assert moved == [2 << 20] * 4
    assert not left(tmp_path)
