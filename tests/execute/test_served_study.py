"""A study on a virtual drive below the real kernel: file systems on drives of one state, and nothing is left behind."""

import os
import shutil
from pathlib import Path

import pytest

from mileage import app
from mileage.plan.privileged_steps import steps_of
from mileage.store import measured_cells
from mileage.targets.ledger import LEDGER_VARIABLE
from tests.house.repository import ROOT

CAN_SERVE = os.geteuid() == 0 and Path("/dev/fuse").exists() and Path("/dev/loop-control").exists()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("devices"),
    pytest.mark.skipif(not CAN_SERVE, reason="serving a drive needs root, /dev/fuse and /dev/loop-control"),
    pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="mkfs.ext4 is not installed"),
]

STUDY = """
name = "served"
target = "served:{drive}"
cycles = 1
[state]
filesystem = "ext4"
file = "32MiB"
[factor.mkfs]
levels = ["block=4KiB", "block=4KiB,nodiscard"]
[[stage]]
name = "write"
measure = ["write"]
[measure.write]
workload = "iops.random_write"
record = "4KiB"
stop = { operations = 200 }
repeat = 2
[compare]
arms = "mkfs"
"""


def test_file_systems_meet_drives_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    drive = tmp_path / "drive.toml"
    small = (ROOT / "examples" / "small.toml").read_text(encoding="utf-8")
    larger = small.replace("58_355_712", "233_422_848").replace("{ value = 128,", "{ value = 512,")
    drive.write_text(larger, encoding="utf-8")
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace("{drive}", str(drive)), encoding="utf-8")
    planned = app.plan(str(study))
    texts = [step.text for step in steps_of(planned.study, planned.facts, planned.runs)]
    assert sum(text.startswith("mount a served drive of ") for text in texts) == 1
    assert sum(text.startswith("mkfs.ext4") for text in texts) == 2
    result = app.run(str(study), out=tmp_path / "out")
    cells = measured_cells(result.folder.content())
    assert {cell.cell.rpartition("mkfs ")[2] for cell in cells} == {"block=4KiB", "block=4KiB,nodiscard"}
    shown = Path("/proc/self/mounts").read_text() + "".join(
        path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")
    )
    assert "/run/mileage/served-" not in shown
    assert not list((tmp_path / "ledger").glob("*"))
