"""Commands that Mileage advises about devices, mounts, served drives and what killed processes left: they can be typed.

Truth: their exit status, as in `test_advice`, whose scenarios need no root.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mileage import app
from mileage.errors import RunFailed
from mileage.targets.filesystem_setup import MOUNTS
from mileage.targets.ledger import LEDGER_VARIABLE, Ledger
from mileage.targets.privileged_steps import MadeDirectory
from tests.answers.advice import printed
from tests.answers.advice_scenarios import DRIVE
from tests.answers.question import ask, ask_both
from tests.answers.test_advice import check_printed, run_as_printed
from tests.cli.test_ordinary_user import as_nobody, home
from tests.execute.kill_kinds import block_device
from tests.targets.conftest import loop_device, small_ext4
from tests.targets.test_served_drive import CAN_SERVE

__all__ = ["home", "loop_device", "small_ext4"]

pytestmark = pytest.mark.xdist_group("devices")
SERVES = pytest.mark.skipif(not CAN_SERVE, reason="needs root, FUSE and loop devices")
SHORT = ("--seconds", "0.02")


@pytest.fixture(autouse=True)
def _ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))


@contextmanager
def running(command: str, place: Path, until: str) -> Iterator[str]:
    """A command that lasts until Ctrl-C, once it has printed `until`: what it printed. It must end with status 0."""
    words = [sys.executable, "-m", "mileage", *shlex.split(command)[1:]]
    with subprocess.Popen(
        words, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said = ""
        try:
            while until not in said and (line := process.stdout.readline()):
                said += line
            yield said
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, said + process.stdout.read()
        finally:
            process.kill()


def test_a_check_of_a_mounted_device_advises_its_directory(loop_device: Path, small_ext4: Path) -> None:
    advised = printed(ask("check", f"block:{loop_device}", *SHORT, cwd=small_ext4))
    check_printed(advised, "app/check_findings.py: mileage check {}")
    for command in advised:
        run_as_printed(f"{command} {shlex.join(SHORT)}", small_ext4)


@pytest.mark.parametrize("target", ["device", "directory", "drive"])
def test_a_check_advises_a_sustained_study_that_can_be_planned(
    target: str, loop_device: Path, tmp_path: Path
) -> None:
    named = {"device": f"block:{loop_device}", "directory": ".", "drive": "virtual:intel-x25e-64gb"}[target]
    advised = printed(ask("check", named, *SHORT, cwd=tmp_path))
    where = {
        "drive": "app/check_findings.py: mileage {} sustained --target {}",
        "directory": "app/check_findings.py: mileage {} {}",
        "device": "app/check_findings.py: mileage {} {}",
    }
    check_printed(advised, where[target])
    for command in advised:
        if command.startswith("mileage plan"):
            run_as_printed(command, tmp_path)


@pytest.mark.thorough
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", ["device", "directory", "drive"])
def test_a_check_advises_a_sustained_study_that_runs(
    target: str, small_ext4: Path, loop_device: Path, tmp_path: Path
) -> None:
    """On 24 MiB, so that it ends; the same free space as the check had."""
    named = {
        "device": f"block:{loop_device}",
        "directory": str(small_ext4),
        "drive": "virtual:intel-x25e-64gb",
    }[target]
    if target == "device":
        subprocess.run(["umount", small_ext4], check=True)
    for command in printed(ask("check", named, *SHORT, cwd=tmp_path)):
        run_as_printed(command, tmp_path)


def test_the_drive_that_hdparm_is_asked_about_is_examined(loop_device: Path, tmp_path: Path) -> None:
    _, refused = ask_both("hdparm", "-i", str(loop_device), cwd=tmp_path, status=2)
    check_printed(printed(refused), "dropin/tools/hdparm.toml: mileage doctor block:DEVICE")
    for command in printed(refused):
        run_as_printed(command, tmp_path, {"DEVICE": str(loop_device)})


@SERVES
@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_the_power_cuts_that_a_check_for_a_purpose_advises_run(tmp_path: Path) -> None:
    text = ask("check", str(tmp_path), "--for", "ceph-journal", *SHORT, cwd=tmp_path, status=5)
    check_printed(printed(text), "app/fitness.py: mileage powercut --app fsync-loop --fs ext4")
    for command in printed(text):
        run_as_printed(command, tmp_path)


def leave_behind(place: Path) -> None:
    """What a killed process leaves: a step in the ledger, and a work file."""
    child = os.fork()
    if child == 0:
        Ledger().take(MadeDirectory(str(place / "made")), (place / "made").mkdir)
        os._exit(0)
    os.waitpid(child, 0)
    (place / ".mileage-01234567.dat").touch()


def test_what_a_killed_process_left_is_undone_as_the_doctor_says(tmp_path: Path) -> None:
    place = tmp_path / "my place"
    place.mkdir()
    leave_behind(place)
    ask("measure", *DRIVE, "--save", "a study", cwd=tmp_path)
    advised = printed(ask("doctor", f"dir:{place}", cwd=tmp_path))
    check_printed(
        advised, "cli/doctor.py: mileage doctor --repair", "cli/doctor.py: mileage doctor --repair {}"
    )
    for command in advised:
        run_as_printed(command, tmp_path)
    left = printed(ask("doctor", "--repair", f"dir:{place}", cwd=tmp_path))
    check_printed(left, "cli/doctor.py: mileage run FOLDER")
    for command in left:
        run_as_printed(command, tmp_path, {"FOLDER": "'a study'"})
    assert not (place / "made").exists()


def test_a_step_that_could_not_be_undone_is_undone_as_the_message_says(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.take(MadeDirectory(str(tmp_path / "made")), (tmp_path / "made").mkdir)
    (tmp_path / "made" / "of others").touch()
    with pytest.raises(RunFailed) as failed:
        ledger.undo_all()
    (tmp_path / "made" / "of others").unlink()
    advised = printed(str(failed.value))
    check_printed(advised, "targets/ledger.py: mileage doctor --repair")
    for command in advised:
        run_as_printed(command, tmp_path)


def test_a_place_where_something_is_mounted(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    with block_device(tmp_path) as device:
        study.write_text(
            f'name = "made"\ntarget = "block:{device}"\n[state]\nfilesystem = "ext4"\nfile = "4MiB"\n'
            '[[stage]]\nname = "one"\nmeasure = ["all"]\n[measure.all]\nworkload = "throughput.write"\n'
            'record = "1MiB"\nstop = { bytes = "file" }\n'
        )
        place = MOUNTS / app.plan(str(study), destroy=device).hash[:8]
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
        try:
            _, refused = ask_both("run", "study.toml", "--destroy", device, cwd=tmp_path, status=2)
        finally:
            subprocess.run(["umount", place], check=True)
            place.rmdir()
        advised = printed(refused)
        check_printed(advised, "targets/filesystem_setup.py: mileage doctor --repair")
        for command in advised:
            run_as_printed(command, tmp_path)


@SERVES
def test_commands_for_a_served_drive(tmp_path: Path) -> None:
    """Those that a served drive prints, and the one that serves it where none is."""
    _, refused = ask_both("drive", "control", "no drive", "stats", cwd=tmp_path, status=2)
    (serve,) = printed(refused)
    check_printed([serve], "targets/served_drive.py: mileage drive serve PROFILE --at {}")
    with running(serve.replace("PROFILE", "plain-64gib"), tmp_path, "Ctrl-C ends it") as said:
        advised = printed(said)
        check_printed(advised, "cli/drive.py: mileage drive control {} stats")
        for command in advised:
            run_as_printed(command, tmp_path)


@SERVES
def test_serving_where_something_is_mounted(tmp_path: Path) -> None:
    place = tmp_path / "at"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        _, refused = ask_both("drive", "serve", "plain-64gib", "--at", "at", cwd=tmp_path, status=2)
    finally:
        subprocess.run(["umount", place], check=True)
    check_printed(printed(refused), "targets/served_drive.py: mileage doctor --repair")
    for command in printed(refused):
        run_as_printed(command, tmp_path)


@SERVES
@pytest.mark.parametrize("refusal", ["memory", "root"])
def test_a_drive_that_is_not_served_for_a_study(refusal: str, home: Path, tmp_path: Path) -> None:
    """Its data does not fit into the memory, or the user may not attach a loop device."""
    target = "served:micron-7450-pro-1920gb"
    if refusal == "memory":
        _, refused = ask_both("plan", "sustained", "-t", target, cwd=tmp_path, status=2)
        where = "plan/resolver.py: mileage drive serve {} --at DIR --data FILE"
    else:
        refused = as_nobody(home, f"plan degradation -t {target}").stderr
        where = "targets/loop.py: mileage drive serve {} --at DIR"
    check_printed(printed(refused), where)
    for command in printed(refused):
        typed = re.sub("FILE", "'the data'", command.replace("DIR", "'my place'"))
        with running(typed, tmp_path, "Ctrl-C ends it") as said:
            assert "Ctrl-C ends it" in said


def test_the_rate_of_writing_is_watched(tmp_path: Path) -> None:
    _, refused = ask_both("endurance", "life", "-d", "intel-600p-512gb", cwd=tmp_path, status=2)
    check_printed(printed(refused), "cli/endurance.py: mileage endurance watch {}")
    for command in printed(refused):
        with running(command.replace("TARGET", str(tmp_path)), tmp_path, "first sample") as said:
            assert "first sample" in said


@pytest.mark.slow
def test_a_killed_measurement_is_skipped_in_its_history_and_can_be_resumed(tmp_path: Path) -> None:
    history, new = tmp_path / "my history", tmp_path / "new"
    for _ in range(3):
        ask("measure", *DRIVE, "--save", str(history), "--append", cwd=tmp_path)
    ask("measure", *DRIVE, "--save", str(new), cwd=tmp_path)
    finished = set(history.iterdir())
    longer = [word if word != "100" else "200000" for word in DRIVE]
    command = [sys.executable, "-m", "mileage", "measure", *longer, "--save", str(history), "--append"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not {path.parent for path in history.glob("*/journal.jsonl")} - finished:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    (killed,) = set(history.iterdir()) - finished
    _, warned = ask_both("compare", "--history", str(history), str(new), cwd=tmp_path)
    (resume,) = printed(warned)
    check_printed([resume], "app/multi_study.py: mileage run {}")
    assert killed.name in resume
    assert not app.history([str(history), str(new)], warn=lambda _: None).vetoes
    run_as_printed(resume, tmp_path)
    assert killed.name not in ask_both("compare", "--history", str(history), str(new), cwd=tmp_path)[1]
