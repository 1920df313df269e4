"""A medium that fails in mid-run: EIO from a real block device, then healed, and the study continues."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mileage.model.journal_entries import FailedRun
from mileage.store import StudyFolder
from tests.execute.conftest import Small
from tests.execute.test_resume import assert_every_run_once

pytestmark = pytest.mark.xdist_group("devices")


def sh(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@dataclass
class Medium:
    """A file system on a loop device: where the image is cut off, the device answers reads with EIO."""

    mount: Path
    image: Path

    def break_under(self, path: Path) -> None:
        """Cut the image off where the file's first block lies."""
        extents = re.findall(r"^\s*\d+:\s+\d+\.\.\s*\d+:\s+(\d+)\.\.", sh("filefrag", "-v", str(path)), re.M)
        sh("truncate", "-s", str(min(map(int, extents)) * 4096), str(self.image))

    def heal(self) -> None:
        sh("truncate", "-s", "128M", str(self.image))


@pytest.fixture
def medium(tmp_path: Path) -> Iterator[Medium]:
    mount, image = tmp_path / "mount", tmp_path / "image"
    mount.mkdir()
    undo: list[tuple[str, ...]] = []
    try:
        try:
            sh("truncate", "-s", "128M", str(image))
            device = sh("losetup", "-f", "--show", "--direct-io=on", str(image)).strip()
            undo.append(("losetup", "-d", device))
            sh("mkfs.ext4", "-q", "-b", "4096", "-O", "^has_journal", device)
            sh("mount", device, str(mount))
            undo.append(("umount", "-l", str(mount)))
        except (OSError, subprocess.CalledProcessError) as cause:
            pytest.skip(f"needs root, loop devices and mkfs.ext4: {cause}")
        yield Medium(mount, image)
    finally:
        for command in reversed(undo):
            subprocess.run(command, check=False)


def test_an_input_output_error_fails_that_run_and_the_study_continues(
    small: Small, tmp_path: Path, medium: Medium
) -> None:
    from mileage import app
    from mileage.errors import RunFailed
    from mileage.execute import cycle

    folder = tmp_path / "study"
    study = small.study(f"dir:{medium.mount}", on_failure="stop")
    genuine = cycle.perform

    def perform(target, run, **rest):  # type: ignore[no-untyped-def]
        if run.stage == "after" and run.workload.read_percent == 100:
            medium.break_under(target.path)
        return genuine(target, run, **rest)

    cycle.perform = perform
    try:
        with pytest.raises(RunFailed) as failure:
            app.run(str(study), out=folder)
    finally:
        cycle.perform = genuine
    assert failure.value.cause == "EIO"
    assert failure.value.exit_status == 3
    (failed,) = StudyFolder(folder).content().of_kind(FailedRun)
    assert failed.cause == "EIO"
    medium.heal()
    app.run(str(folder))
    assert_every_run_once(folder)
