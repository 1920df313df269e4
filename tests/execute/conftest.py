"""A study that takes a second or two: a small drive, three cycles with a sham, torture of three drive writes."""

import fcntl
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from mileage import app
from mileage.model.journal_entries import Run
from mileage.store import StudyFolder
from mileage.targets.profiles import load_profile

STUDY = """
name = "small"
question = "Does writing make this small drive slower?"
target = "TARGET"
seed = 7
cycles = CYCLES
sham = SHAM
on_failure = "ON_FAILURE"
[state]
file = "32MiB"
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "before"
measure = ["throughput", "iops"]
[[stage]]
name = "torture"
torture = ["churn"]
[[stage]]
name = "after"
measure = "before"
[measure.throughput]
workload = ["throughput.write", "throughput.read"]
record = "128KiB"
stop = { bytes = "8MiB" }
repeat = 2
[measure.iops]
workload = ["iops.random_write", "iops.random_read"]
record = "4KiB"
threads = 4
stop = { operations = 2000 }
repeat = 2
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[torture.churn]
workload = "iops.random_write"
record = "4KiB"
threads = 4
amount = "3x"
"""


def small_profile(blocks_per_plane: int) -> str:
    """The plain drive with fewer blocks; 15 % over-provisioning beyond the two blocks that each plane keeps."""
    text = load_profile("plain-64gib")
    capacity_bytes = int(32 * (blocks_per_plane - 2) * (1 << 20) / 1.15) >> 20 << 20
    text = re.sub(r"(?m)^(blocks_per_plane = \{ value = )[0-9_]+", rf"\g<1>{blocks_per_plane}", text)
    return re.sub(r"(?m)^(capacity_bytes = \{ value = )[0-9_]+", rf"\g<1>{capacity_bytes}", text)


def run_keys(folder: Path) -> list[int]:
    """Numbers of the finished runs, in the journal's order."""
    return [entry.run for entry in StudyFolder(folder).content().of_kind(Run)]


@dataclass
class Small:
    """Writes small studies into a temporary folder."""

    folder: Path

    def virtual(self, *, seed: int = 7, blocks_per_plane: int = 8, cycles: int = 3) -> list[str]:
        """Arguments of `mileage run` for a small virtual drive."""
        profile = self.folder / "small-drive.toml"
        profile.write_text(small_profile(blocks_per_plane))
        return [str(self.study(f"virtual:{profile}", cycles=cycles, sham=True)), "--seed", str(seed)]

    def study(self, target: str, *, cycles: int = 1, sham: bool = False, on_failure: str = "dnf") -> Path:
        """A study file on a target."""
        path = self.folder / "small.toml"
        text = STUDY.replace("TARGET", target).replace("ON_FAILURE", on_failure)
        text = text.replace("CYCLES", str(cycles)).replace("SHAM", str(sham).lower())
        path.write_text(text)
        return path


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """A maker of small studies."""
    return Small(tmp_path)


class FinishedStudies:
    """Finished small studies on a virtual drive: each is simulated once per session, and a copy of it handed out."""

    def __init__(self, shelf: Path) -> None:
        """Keep them in a folder that the processes of the session share."""
        self.shelf = shelf

    def __call__(self, to: Path, *, cycles: int = 1, seed: int = 7) -> Path:
        """A copy at `to` of the study with this number of cycles and this seed."""
        place = self.shelf / f"small-{cycles}-{seed}"
        place.mkdir(parents=True, exist_ok=True)
        with (place / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (place / "done").exists():
                shutil.rmtree(place / "study", ignore_errors=True)
                app.run(Small(place).virtual(cycles=cycles)[0], out=place / "study", seed=seed, report="text")
                (place / "done").touch()
        shutil.copytree(place / "study", to)
        return to


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedStudies:
    """Hands out copies of finished small studies."""
    base = tmp_path_factory.getbasetemp()
    return FinishedStudies((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "finished")
