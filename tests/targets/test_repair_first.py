"""What a killed study has mounted is undone before the guards look at its device."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.plan.filesystems import file_system_of
from mileage.targets import open_target
from mileage.targets.ledger import LEDGER_VARIABLE, left_behind
from mileage.targets.mounts import read_mounts
from tests.execute.kill_kinds import block_device

pytestmark = pytest.mark.xdist_group("devices")

HASH = "beefcafe" * 8


@pytest.fixture(autouse=True)
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("needs root and mkfs.ext4")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))


@pytest.mark.parametrize("formats", [True, False])
def test_the_mount_of_a_killed_study_is_undone_before_the_guards_look(tmp_path: Path, formats: bool) -> None:
    made = file_system_of("ext4", "", "") if formats else None
    with block_device(tmp_path) as device:
        child = os.fork()
        if child == 0:
            try:
                target = open_target(f"block:{device}", plan_hash=HASH, destroy=device, made=made)
                target.prepare(8 << 20)
                target.purge()
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        if formats:
            assert any(mount.source == device for mount in read_mounts())
            assert left_behind()
        with open_target(f"block:{device}", plan_hash=HASH, destroy=device, made=made) as target:
            assert target.resumes(8 << 20)
        assert not any(mount.source == device for mount in read_mounts())
        assert not left_behind()


def test_a_mount_that_is_not_in_the_ledger_is_still_refused(tmp_path: Path) -> None:
    with block_device(tmp_path) as device:
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        place = tmp_path / "place"
        place.mkdir()
        subprocess.run(["mount", device, str(place)], check=True)
        try:
            with pytest.raises(Refused, match="in use: mounted at"):
                open_target(f"block:{device}", plan_hash=HASH, destroy=device)
        finally:
            subprocess.run(["umount", str(place)], check=True)
