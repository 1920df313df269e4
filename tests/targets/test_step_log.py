"""Every privileged step is logged: what, on what, and the result. The log is off until MILEAGE_LOG asks for it."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mileage.errors import MileageError, RunFailed
from mileage.targets.ledger import Ledger, repair
from mileage.targets.memory_limit import find_controller, limited_memory
from mileage.targets.page_cache import DROP_CACHES, drop_caches, empty_cache
from mileage.targets.privileged_steps import ChangedSetting, LockedDrive, MadeDirectory
from mileage.targets.programs import call
from mileage.targets.purge import discard
from tests.command import mileage

pytestmark = pytest.mark.xdist_group("devices")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "mileage")
    return caplog


def test_a_step_of_the_ledger_and_its_undoing_are_logged(
    log: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    knob = tmp_path / "knob"
    knob.write_text("1")
    ledger = Ledger(tmp_path / "ledger")
    ledger.take(ChangedSetting(str(knob), "1", "2"), lambda: knob.write_text("2"))
    ledger.undo_all()
    done, undone = log.messages
    assert done.startswith(f"setting: path {knob}, before 1, wanted 2: done in ")
    assert undone == f"undo setting: path {knob}, before 1, wanted 2: set {knob} back to 1"


def test_a_step_that_fails_is_logged_with_its_cause(log: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    place = tmp_path / "not" / "there"
    with pytest.raises(FileNotFoundError):
        Ledger(tmp_path / "ledger").take(MadeDirectory(str(place)), place.mkdir)
    assert "No such file or directory" in log.messages[0]
    assert f"directory: path {place}: failed after" in log.messages[0]


def test_what_a_killed_process_left_is_logged_when_it_is_undone(
    log: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    place = tmp_path / "left"
    code = (
        "import os, sys; from pathlib import Path; from mileage.targets.ledger import Ledger;"
        "from mileage.targets.privileged_steps import MadeDirectory; place = Path(sys.argv[1]);"
        "Ledger(Path(sys.argv[2])).take(MadeDirectory(str(place)), place.mkdir); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(place), str(tmp_path / "ledger")], check=False)
    assert place.is_dir()
    repair(tmp_path / "ledger")
    assert log.messages == [f"undo directory: path {place}: removed the directory {place}"]


def test_programs_are_logged_with_their_status_and_without_passwords(
    log: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    call("a target", "blkid", "-V")
    with pytest.raises(RunFailed):
        call("a target", "mkfs.ext4", "--security-erase", "sesame", str(tmp_path / "missing"))
    succeeded, failed = log.messages
    assert succeeded.startswith("blkid -V: a target: exit status 0, blkid ")
    assert failed.startswith(f"mkfs.ext4 --security-erase *** {tmp_path}/missing: a target: exit status 1")
    step = LockedDrive("/dev/none", "sesame")
    # Where hdparm is not installed, the undoing fails as well.
    with pytest.raises((OSError, MileageError)):
        Ledger(tmp_path / "ledger").take(step, lambda: Path("/dev/none/x").read_text())
    assert "sesame" not in log.text


@pytest.mark.skipif(os.geteuid() != 0, reason="privileged steps need root")
def test_steps_on_a_device_and_on_the_whole_machine_are_logged(
    log: pytest.LogCaptureFixture, loop_device: Path
) -> None:
    discard("a target", loop_device)
    empty_cache(loop_device)
    drop_caches("a target")
    asked = [
        f"discard all of it (BLKDISCARD): {loop_device}",
        f"empty the page cache (BLKFLSBUF): {loop_device}",
        f"drop the page cache (write 3): {DROP_CACHES}",
    ]
    assert [message.partition(": done in ")[0] for message in log.messages] == asked


@pytest.mark.skipif(
    os.geteuid() != 0 or find_controller() is None, reason="needs a memory controller and root"
)
def test_a_memory_limit_is_logged_from_its_group_to_its_end(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MILEAGE_LEDGER", str(tmp_path / "ledger"))
    with limited_memory(4 << 30, "a target"):
        pass
    made, limited, undone = log.messages
    assert made.startswith("cgroup: path ")
    assert limited.startswith("limit memory: ")
    assert f" {4 << 30}, process {os.getpid()} moved there" in limited
    assert undone.startswith("undo cgroup: path ")


def test_a_level_of_another_name_is_refused() -> None:
    done = mileage("list", "drives", env={"MILEAGE_LOG": "loud"})
    assert done.returncode == 2
    assert (
        done.stderr == "mileage: MILEAGE_LOG='loud': expected info or debug; without it nothing is logged\n"
    )


def test_the_log_goes_to_standard_error_and_is_off_by_default(tmp_path: Path) -> None:
    words = (
        *("measure", "-t", "dir:.", "-w", "random_read", "--size", "1MiB", "--operations", "64"),
        *("--api", "uring", "--cold", "--json"),
    )
    command = [sys.executable, "-m", "mileage", *words]
    (silent, logged) = (
        subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **extra}, capture_output=True, text=True, check=True
        )
        for extra in ({}, {"MILEAGE_LOG": "info"})
    )
    assert "mileage.engine" not in silent.stderr
    rings = [line for line in logged.stderr.splitlines() if "INFO mileage.engine: ring: set up path=" in line]
    assert rings, logged.stderr
    for fact in ("depth=", "submission_entries=", "completion_entries=", "asked=", "granted="):
        assert fact in rings[0]
    assert "registered_buffers=" in rings[0]
    assert json.loads(logged.stdout)[0]["runs"] == 1
