"""A study on a virtual drive below the real kernel: file systems on drives of one state, and nothing is left behind."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from mileage import app
from mileage.app.plan_execution import refuse_another
from mileage.errors import Refused
from mileage.plan import parse_study
from mileage.plan.initial_state import file_system
from mileage.plan.resolver import resolve, steps_of
from mileage.store import measured_cells
from mileage.targets.ledger import LEDGER_VARIABLE
from mileage.targets.loop import ServedDevice
from mileage.targets.profiles import profile_identity
from mileage.targets.spec import parse_target
from mileage.targets.target_kinds import open_target
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

RAW = """
name = "raw"
target = "served:{drive}"
cycles = 1
[[stage]]
name = "write"
measure = ["write"]
[measure.write]
workload = "iops.random_write"
record = "4KiB"
stop = { operations = 512 }
repeat = 2
"""


def study_at(folder: Path) -> Path:
    drive = folder / "drive.toml"
    small = (ROOT / "examples" / "small.toml").read_text(encoding="utf-8")
    larger = small.replace("58_355_712", "233_422_848").replace("{ value = 128,", "{ value = 512,")
    drive.write_text(larger, encoding="utf-8")
    study = folder / "study.toml"
    study.write_text(STUDY.replace("{drive}", str(drive)), encoding="utf-8")
    return study


def test_file_systems_meet_drives_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    study = study_at(tmp_path)
    planned = app.plan(str(study))
    texts = [step.text for step in steps_of(planned.study, planned.facts, planned.runs)]
    assert sum(text.startswith("mount a served drive of ") for text in texts) == 1
    assert sum(text.startswith("mkfs.ext4") for text in texts) == 2
    result = app.run(str(study), out=tmp_path / "out")
    cells = measured_cells(result.folder.content())
    assert {cell.cell.rpartition("mkfs ")[2] for cell in cells} == {"block=4KiB", "block=4KiB,nodiscard"}
    runs = result.folder.content().runs()
    measured = [entry.watch for entry in runs if entry.role == "measure"]
    assert all(watch["served_answers"] >= 200 for watch in measured), "each random write is answered"
    assert all(watch["served_late_p50_ns"] <= watch["served_late_p99_ns"] for watch in measured)
    counted = [entry.record for entry in runs if entry.role == "measure"]
    assert all(200 <= record.counters["host_bytes_written"] // 4096 < 400 for record in counted), (
        "the drive's own counters, of the run alone"
    )
    assert all((record.write_amplification or 0) >= 1 for record in counted)
    identity = profile_identity((tmp_path / "drive.toml").read_text())
    assert identity in planned.facts.identity
    for text in (result.text(verbose=True), (result.folder.path / "report.html").read_text()):
        # Without spaces: a long path is broken where the line ends.
        plain = "".join(text.split())
        said = f"The drive {planned.study.target} ({identity}) is simulated: its answers reach the real"
        assert "".join(said.split()) in plain
        assert "itsanswerswerelate:halfby" in plain
    shown = Path("/proc/self/mounts").read_text() + "".join(
        path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")
    )
    assert "/run/mileage/served-" not in shown
    assert not list((tmp_path / "ledger").glob("*"))


def test_study_knows_the_drive_that_it_was_planned_for_and_the_memory_that_data_needs(tmp_path: Path) -> None:
    study = study_at(tmp_path)
    planned = app.plan(str(study))
    profile = tmp_path / "drive.toml"
    state = tmp_path / "state"
    facts = []
    for content in (b"one", b"two"):
        state.write_bytes(content)
        with open_target(f"served:{profile}@{state}", plan_hash="0" * 16) as target:
            facts.append(target.facts())
    assert facts[0].identity != facts[1].identity
    assert facts[0].identity.startswith(planned.facts.identity)
    host = tmp_path / "host"
    (host / "proc").mkdir(parents=True)
    (host / "proc" / "meminfo").write_text("MemTotal: 99999999 kB\nMemAvailable: 100000 kB\n")
    device = ServedDevice(parse_target(f"served:{profile}"), "0" * 16, root=host)
    assert device.size_bytes > 100_000_000
    assert device.free_bytes == 100_000 * 1024 * 80 // 100
    with open_target(f"served:{profile}", plan_hash="0" * 16) as target:
        little = msgspec.structs.replace(target.facts(), free_bytes=1 << 20)
    raw = parse_study(RAW.replace("{drive}", str(profile)), "raw.toml")
    with pytest.raises(Refused, match=r"writes up to 4 MiB to .* data is in memory, and 1 MiB are free"):
        resolve(raw, little)
    resolve(raw, msgspec.structs.replace(little, free_bytes=4 << 20))
    profile.write_text(profile.read_text().replace("233_422_848", "116_711_424"))
    with (
        open_target(
            f"served:{profile}", plan_hash="0" * 16, made=file_system(planned.settings[0].state)
        ) as target,
        pytest.raises(Refused, match=r"another \w+ than the study was planned for"),
    ):
        refuse_another(planned, planned.settings[0].place, target)
