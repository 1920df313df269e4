"""An input that is a FIFO, a device, endless or far too large is refused at once, by each command that reads one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command import mileage

pytestmark = pytest.mark.timeout(60)

LINES = (
    "run {}",
    "plan {}",
    "sweep {}",
    "import {}",
    "import {} --format fio",
    "measure -t virtual:plain-64gib -w trace:{}",
    "run --target virtual:./{}",
    "run --target virtual:plain-64gib@linux-6,state={}",
    "check --datasheet ./{} .",
    "compare --table {}",
    "report {}",
    "drive show ./{}",
    "drive fit ./{}",
    "drive run plain-64gib --from {} -w random_write",
    "drive serve plain-64gib --nbd socket --state {}",
    "fio {}",
    "ior -f {}",
    "iozone -t 2 -s 64k -+m {}",
    "iozone -b {} -s 64k",
    "iometer -t dir:. {}",
    "mpirun -machinefile {} ior",
)
KINDS = ("fifo", "endless", "large")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo.toml")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(12 << 40)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", LINES)
def test_an_input_that_is_no_file_of_its_size_is_refused(line: str, kind: str, place: Path) -> None:
    before = sorted(place.iterdir())
    done = mileage(*line.format(f"{kind}.toml").split(), cwd=place)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""
    assert sorted(place.iterdir()) == before


def test_standard_input_without_an_end_is_refused(place: Path) -> None:
    import subprocess
    import sys

    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            [sys.executable, "-m", "mileage", "fio", "-"],
            cwd=place,
            stdin=zeros,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
