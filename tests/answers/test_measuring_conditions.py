"""Two results that were measured under other conditions, asked at every door: what differs is said at each of them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mileage import app
from tests.answers.doors import ask_doors
from tests.answers.question import suppose
from tests.app.test_doors import cut, virtual

REAL = """
name = "{name}"
target = "dir:{place}"
seed = 4
[state]
file = "4MiB"
[[stage]]
name = "measured"
measure = ["blocks"]
[measure.blocks]
workload = ["iops.random_write"]
record = "4KiB"
stop = {{ time = "{time}" }}
repeat = 3
"""
LEVELS = """
name = "levels"
target = "virtual:intel-x25e-64gb,scale=1/256"
seed = 4
order = "blocked"
[[stage]]
name = "measured"
measure = ["blocks"]
[factor.drive]
kind = "target"
levels = { old = "virtual:intel-x25e-64gb,scale=1/256", new = "virtual:samsung-pm1635-400gb,scale=1/256" }
[measure.blocks]
workload = ["iops.random_write"]
record = "4KiB"
stop = { operations = 1200 }
repeat = 3
[compare]
arms = "drive"
baseline = "old"
candidate = "new"
"""


def real(folder: Path, name: str, place: Path, time: str = "0.1 s") -> Path:
    """A study of random writes in a directory."""
    (folder / f"{name}.toml").write_text(REAL.format(name=name, place=place, time=time))
    return app.run(str(folder / f"{name}.toml"), out=folder / name).folder.path


@contextmanager
def mounted(image: Path, place: Path, options: str) -> Iterator[Path]:
    """A file system of an image with these options, on a loop device of its own."""
    done = subprocess.run(
        ["mount", "-o", f"loop,{options}", image, place], check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"an image cannot be mounted: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@contextmanager
def busy_processors() -> Iterator[None]:
    """One program on each processor that computes until the end."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mkfs.ext4") is None, reason="a file system is mounted by root"
)
def test_other_mount_options_are_named(tmp_path: Path) -> None:
    """Did the new release make random writes faster? Truth: somebody mounted with nobarrier and noatime as well."""
    image, place = tmp_path / "image", tmp_path / "place"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(24 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    with mounted(image, place, "relatime"):
        before = real(tmp_path, "before", place)
    with mounted(image, place, "nobarrier,noatime"):
        after = real(tmp_path, "after", place)
    found = ask_doors(before, after, cwd=tmp_path)
    (caveat,) = (one for one in found.value.caveats if "mount options" in str(one.figures.get("key")))
    assert caveat.severity == "limits"
    assert set(str(caveat.figures["candidate"]).split(",")) == {"nobarrier", "noatime"}
    found.says("list of mount options", str(caveat.figures["candidate"]))


def test_a_loaded_machine_is_named(tmp_path: Path) -> None:
    """Is the disk slower than this morning? Truth: nobody knows; during tonight's runs every processor was taken."""
    (tmp_path / "place").mkdir()
    morning = real(tmp_path, "morning", tmp_path / "place", "0.3 s")
    with busy_processors():
        tonight = real(tmp_path, "tonight", tmp_path / "place", "0.3 s")
    found = ask_doors(morning, tonight, cwd=tmp_path, rules=("slower",))
    assert "candidate" in found.sides_of("other-load")
    found.says("ther programs used up to", "of all processor time (above 10% in")
    (caveat,) = (one for one in found.value.caveats if one.code == "other-load")
    assert (found.gate["slower"] == {"cannot be judged"}) == bool(found.value.vetoes), caveat


def test_a_directory_in_memory_is_no_disk(tmp_path: Path) -> None:
    """By how much is the new disk faster? Truth: /dev/shm is no disk, so nothing was measured of one."""
    shm = Path("/dev/shm")
    suppose(shm.is_dir(), "there is a file system in memory")
    (tmp_path / "place").mkdir()
    folder = shm / f"mileage-{os.getpid()}"
    folder.mkdir()
    try:
        sides = [real(tmp_path, name, at) for name, at in (("disk", tmp_path / "place"), ("memory", folder))]
    finally:
        shutil.rmtree(folder)
    found = ask_doors(*sides, cwd=tmp_path, rules=("faster", "undecided"))
    assert "candidate" in found.sides_of("memory-file-system")
    found.says("which is memory: no device is measured")
    assert found.gate == {"faster": {"cannot be judged"}, "undecided": {"broken"}}


def test_a_killed_study_decides_nothing(tmp_path: Path) -> None:
    """Is the drive slower than last week? Truth: tonight's study was killed, and half of its runs are missing."""
    rng = random.Random(5)
    week, night = (virtual(tmp_path, name, rng, cycles=2, repeat=3) for name in ("week", "night"))
    cut(night, 8)
    found = ask_doors(week, night, cwd=tmp_path, rules=("slower",))
    assert found.sides_of("runs-missing") == ("candidate",)
    found.says("Not conclusive because", "runs are missing", "(in night")
    assert found.gate["slower"] == {"cannot be judged"}


def test_reads_of_nothing_name_their_stage(tmp_path: Path) -> None:
    """Do reads become slower when the drive is filled? Truth: before, there was nothing to read."""
    study = virtual(
        tmp_path, "s", random.Random(1), cycles=2, amount="1.2x", workloads='["iops.random_read"]'
    )
    found = ask_doors(study, cwd=tmp_path, rules=("slower",))
    (veto,) = found.value.vetoes
    assert (veto.code, veto.figures["stages"], veto.figures["unwritten_share"]) == (
        "unwritten-reads",
        "before",
        1.0,
    )
    found.says("up to 100% of what iops.random_read 4 KiB read in stage before was never written")
    found.never_says("\N{BLACK DOWN-POINTING TRIANGLE}")
    assert (found.status, found.gate["slower"]) == (4, {"cannot be judged"})


def test_of_two_margins_the_smaller_one_holds(tmp_path: Path) -> None:
    """Is the new drive slower? Truth: it is, by the margin of 5 % that the one study has, not by that of the other."""
    rng = random.Random(2)
    a = virtual(tmp_path, "a", rng)
    b = virtual(tmp_path, "b", rng, load="[compare]\nrelevance = { iops = 0.9 }")
    for sides in ((a, b), (b, a)):
        found = ask_doors(*sides, cwd=tmp_path)
        assert {cell.relevance for cell in found.value.headline} == {0.05}
        found.says("he margin of iops is")


def test_what_was_written_before_is_a_difference(tmp_path: Path) -> None:
    """Is the drive as fast as last week? Truth: it was filled three times as far before it was measured."""
    rng = random.Random(6)
    sides = [
        virtual(tmp_path, name, rng, cycles=2, amount=amount)
        for name, amount in (("a", "0.2x"), ("b", "0.9x"))
    ]
    found = ask_doors(*sides, cwd=tmp_path)
    keys = [str(one.figures["key"]) for one in found.value.caveats if one.code == "state-differs"]
    assert any("capacity" in key for key in keys)
    found.says("he amount written before the runs, in multiples of the drive's capacity, is 0.2")


def test_another_depth_is_a_difference(tmp_path: Path) -> None:
    """Did the update make writes faster? Truth: they were issued four at a time instead of one."""
    rng = random.Random(7)
    sides = [
        virtual(tmp_path, name, rng, cycles=2, load=load) for name, load in (("a", ""), ("b", "depth = 4"))
    ]
    found = ask_doors(*sides, cwd=tmp_path)
    assert found.sides_of("setting-differs") == ("baseline", "candidate")
    found.says("depth is 1 in a:after and 4 in b:after")


def test_one_drive_after_the_other_may_be_drift(tmp_path: Path) -> None:
    """Is the new drive faster? Truth: nobody knows; every run of the old one was before every run of the new one."""
    (tmp_path / "levels.toml").write_text(LEVELS)
    study = app.run(str(tmp_path / "levels.toml"), out=tmp_path / "out").folder.path
    found = ask_doors(study, cwd=tmp_path, rules=("faster",))
    assert found.value.has("blocked-order")
    found.says('one arm was measured after the other (order = "blocked")')
    assert found.gate["faster"] == {"cannot be judged"}
