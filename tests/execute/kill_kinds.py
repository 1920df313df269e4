"""What is killed at random instants: a study on each kind of target, with each kind of work, and the report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mileage.targets.guard import users_of
from mileage.targets.memory_limit import find_controller
from tests.execute.conftest import small_profile
from tests.execute.mpi_runs import MISSING

BYTES = """[measure.bytes]
workload = ["throughput.write", "iops.random_write"]
record = "4KiB"
stop = { operations = 300 }
repeat = 2
"""
TORTURE = '[torture.churn]\nworkload = "iops.random_write"\nrecord = "4KiB"\namount = "8MiB"\n'
PROCESSES = BYTES + "threads = 2\nprocesses = 2\n"
METADATA = """[measure.names]
workload = ["metadata.create", "metadata.stat"]
stop = { operations = 400 }
repeat = 2
"""
TASKS = """[measure.ior]
workload = ["ior.write", "ior.read"]
threads = 2
record = "64KiB"
block = "4MiB"
repeat = 2
[measure.mdtest]
workload = ["mdtest.file_create", "mdtest.file_stat"]
threads = 2
stop = { operations = 500 }
"""
IOZONE = """[measure.set]
workload = ["iozone.write", "iozone.rewrite"]
record = "16KiB"
fidelity = true
repeat = 2
"""
PROGRAMS = """[workload.compile]
command = ["sh", "-c", "sleep 0.2 & echo built > out; cat out > copy; wait"]
cleanup = ["rm", "-f", "out", "copy"]
[measure.build]
workload = "compile"
repeat = 3
"""


@dataclass
class Kind:
    """A study that is killed. `target` may have {place}, a folder of its own, and {device}, a block device."""

    name: str
    target: str
    tables: str = BYTES
    state: str = 'file = "8MiB"'
    options: tuple[str, ...] = ()
    torture: bool = False
    ranks: int = 0
    needs_root: bool = False
    verb: str = "run"
    report: str = "text"
    programs: tuple[str, ...] = field(default=())

    def missing(self) -> str:
        """What is not here that it needs; empty when it can be done."""
        if self.needs_root and os.geteuid() != 0:
            return "root"
        if self.ranks and MISSING:
            return MISSING
        if "limited" in self.state and find_controller() is None:
            return "a memory controller"
        return ", ".join(name for name in self.programs if shutil.which(name) is None)

    def write(self, folder: Path, target: str) -> Path:
        """The study file."""
        names = [line[9:-1] for line in self.tables.splitlines() if line.startswith("[measure.")]
        stages = [f'[[stage]]\nname = "before"\nmeasure = {json.dumps(names)}\n']
        if self.torture:
            stages += ['[[stage]]\nname = "torture"\ntorture = ["churn"]\n']
            stages += ['[[stage]]\nname = "after"\nmeasure = "before"\n']
        head = f'name = "killed"\ntarget = "{target}"\nseed = 7\n[state]\n{self.state}\n'
        path = folder / "killed.toml"
        path.write_text(head + "".join(stages) + self.tables + (TORTURE if self.torture else ""))
        return path


_EXT4 = ("losetup", "mkfs.ext4")
_MADE = 'filesystem = "ext4"\nfile = "8MiB"'
KINDS = (
    Kind("virtual", "virtual:{place}/drive.toml", torture=True, state='file = "32MiB"'),
    Kind("directory", "dir:{place}", torture=True),
    Kind("file", "file:{place}/file", torture=True),
    Kind("block", "block:{device}", options=("--destroy", "{device}"), needs_root=True, programs=_EXT4[:1]),
    Kind(
        "block with a file system",
        "block:{device}",
        state=_MADE,
        options=("--destroy", "{device}"),
        needs_root=True,
        programs=_EXT4,
    ),
    Kind("loop", "loop:64MiB@{place}", needs_root=True, programs=_EXT4[:1]),
    Kind("loop with a file system", "loop:64MiB@{place}", state=_MADE, needs_root=True, programs=_EXT4),
    Kind("limited memory", "dir:{place}", state='file = "8MiB"\ncache = "limited:64MiB"', needs_root=True),
    Kind("local processes", "dir:{place}", PROCESSES),
    Kind("tasks", "dir:{place}", TASKS),
    Kind("MPI ranks", "dir:{place}", PROCESSES, ranks=2),
    Kind("programs", "dir:{place}", PROGRAMS, options=("--allow-commands",)),
    Kind("metadata", "dir:{place}", METADATA),
    Kind("IOzone's tests", "dir:{place}", IOZONE, state='file = "4MiB"'),
    Kind("one-off", "dir:{place}", verb="measure"),
    Kind("report", "dir:{place}", torture=True, verb="report", report="full"),
)


@contextmanager
def block_device(folder: Path, size_bytes: int = 64 << 20) -> Iterator[str]:
    """A loop device over a file in a folder that takes discards; only this one is detached."""
    image = folder / "image"
    with image.open("wb") as file:
        file.truncate(size_bytes)
    made = subprocess.run(
        ["losetup", "--find", "--show", str(image)], check=True, capture_output=True, text=True
    )
    device = made.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)
        image.unlink()


@contextmanager
def quick_place(folder: Path) -> Iterator[Path]:
    """A folder in which forcing data to the disk takes no time: an ext4 in memory for root, else a new one in `folder`.

    What is looked for does not depend on the speed of a disk, and there is more to kill in a second.
    """
    shared = Path("/dev/shm")
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None or not os.access(shared, os.W_OK):
        (folder / "quick").mkdir()
        yield folder / "quick"
        return
    with tempfile.TemporaryDirectory(dir=shared) as memory, ExitStack() as opened:
        device = opened.enter_context(block_device(Path(memory), 1 << 30))
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", device], check=True)
        place = folder / "quick"
        place.mkdir()
        subprocess.run(["mount", device, str(place)], check=True)
        opened.callback(_unmount, place)
        yield place


def _unmount(place: Path) -> None:
    """Unmount a file system; a process that is ending has no environment any more, but may still have files open."""
    end = time.monotonic() + 10.0
    while subprocess.run(["umount", str(place)], check=False, capture_output=True).returncode != 0:
        if time.monotonic() > end:
            raise AssertionError(f"{place} stays in use by processes: {users_of(str(place))}")
        time.sleep(0.05)


def write_drive(place: Path) -> None:
    """A small virtual drive."""
    (place / "drive.toml").write_text(small_profile(8))
