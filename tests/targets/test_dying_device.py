"""A device whose server dies: what stands on it is undone all the same, by the study itself or by the next repair."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mileage.errors import MileageError
from mileage.plan.filesystems import file_system_of
from mileage.targets import open_target
from mileage.targets.ledger import LEDGER_VARIABLE, repair
from mileage.targets.mounts import read_mounts

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
HASH = "deadbeef" * 8


class ServedLoop:
    """A loop device over a file that another process serves."""

    def __init__(self, place: Path) -> None:
        server = Path(__file__).with_name("fuse_drive.py")
        self.server = subprocess.Popen(
            [sys.executable, str(server), str(place), str(32 * MIB)], stdout=subprocess.PIPE, text=True
        )
        assert self.server.stdout is not None
        assert self.server.stdout.readline() == "ready\n"
        done = subprocess.run(
            ["losetup", "--find", "--show", str(place / "drive")],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.device = done.stdout.strip()

    def die(self) -> None:
        self.server.kill()
        self.server.wait(timeout=60)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedLoop]:
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        pytest.skip("a FUSE mount by mount(2) needs root and /dev/fuse")
    if shutil.which("losetup") is None or shutil.which("mkfs.ext4") is None:
        pytest.skip("losetup or mkfs.ext4 is not installed")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    place = tmp_path / "fuse"
    place.mkdir()
    found = ServedLoop(place)
    try:
        yield found
    finally:
        found.die()
        subprocess.run(["losetup", "--detach", found.device], check=False, timeout=60)
        subprocess.run(["umount", str(place)], check=False, timeout=60)


def mounted() -> list[str]:
    return [m.mount_point for m in read_mounts() if m.mount_point == "/run/mileage/deadbeef"]


def live(served: ServedLoop, *, dies: bool) -> None:
    """Put a file system on the device and use it while the server dies; the process itself may die of it too."""
    with open_target(
        f"block:{served.device}",
        plan_hash=HASH,
        destroy=served.device,
        made=file_system_of("ext4", "", "noatime"),
        settings={"scheduler": "mq-deadline"},
    ) as target:
        target.prepare(MIB)
        assert mounted()
        assert target.path is not None
        target.path.write_bytes(b"x" * MIB)
        served.die()
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)


def scheduler(served: ServedLoop) -> str:
    return Path("/sys/block", Path(served.device).name, "queue/scheduler").read_text()


def test_the_study_leaves_nothing_on_a_device_that_died(served: ServedLoop) -> None:
    before = scheduler(served)
    try:
        live(served, dies=False)
    except MileageError:
        repair()
    assert not mounted()
    assert scheduler(served) == before
    assert repair() == []


def test_repair_undoes_what_a_killed_study_left_on_a_device_that_died(served: ServedLoop) -> None:
    before = scheduler(served)
    child = os.fork()
    if child == 0:
        try:
            live(served, dies=True)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert mounted()
    assert scheduler(served) != before
    undone = repair()
    assert [step.text for step in undone if "unmounted" in step.text]
    assert not [step for step in undone if step.failed]
    assert not mounted()
    assert scheduler(served) == before
    assert not Path("/run/mileage/deadbeef").exists()
