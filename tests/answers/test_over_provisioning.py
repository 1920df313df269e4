"""What a user asks about spare flash: a virtual drive of the same chips that promises less capacity."""

from __future__ import annotations

import csv
import io
import statistics
from pathlib import Path

from tests.answers.drive_profile import FLASH_BYTES, write_profile
from tests.answers.question import ask

PAGE = 4096


def capacity(spare: float) -> int:
    """Bytes that a drive of this flash promises with this over-provisioning, in whole pages."""
    return int(FLASH_BYTES / (1 + spare)) // PAGE * PAGE


STUDY = f"""
name = "spare"
target = "virtual:small.toml"
cycles = 1
sham = false
[state]
start = "purged"
[[stage]]
name = "prepare"
prepare = ["fill", "age"]
[[stage]]
name = "measured"
measure = ["iops"]
[measure.iops]
workload = "iops.random_write"
record = "4KiB"
depth = 32
stop = {{ operations = 2000 }}
repeat = 4
[torture.fill]
workload = "throughput.write"
record = "128KiB"
amount = "1x"
[torture.age]
workload = "iops.random_write"
record = "4KiB"
amount = "2x"
[factor.spare]
kind = "profile"
key = "capacity_bytes"
levels = {{ op5 = {capacity(0.05)}, op40 = {capacity(0.40)} }}
[compare]
arms = "spare"
baseline = "op5"
candidate = "op40"
"""


def written(folder: Path) -> str:
    write_profile(folder)
    (folder / "spare.toml").write_text(STUDY)
    return "spare.toml"


def test_more_spare_makes_random_writes_faster(tmp_path: Path) -> None:
    """Does more over-provisioning make this drive faster at random writes?

    Truth: yes, by theory. Greedy collection of uniform random writes has a write amplification of about 1 / (2 spare)
    with little spare (Desnoyers 2012): some 8 at 5 % and 2 at 40 %. The rate goes with its inverse.
    """
    done = ask("run", written(tmp_path), "--out", "out", cwd=tmp_path)
    (row,) = [line for line in done.splitlines() if line.startswith("iops.random_write 4 KiB  ")]
    assert "faster" in row


def test_a_sweep_shows_that_more_spare_is_faster(tmp_path: Path) -> None:
    """How many random writes a second does each drive of a sweep over spare flash do?

    Truth: by the same theory, several times more at 40 % than at 5 %; at least twice is asked for here.
    """
    done = ask("sweep", written(tmp_path), "--processes", "1", cwd=tmp_path)
    rows = [row for row in csv.DictReader(io.StringIO(done)) if row["metric"] == "ops_per_s"]
    rates = {
        level: statistics.median(float(row["value"]) for row in rows if row["spare"] == level)
        for level in ("op5", "op40")
    }
    assert rates["op40"] > 2 * rates["op5"]


def test_the_whole_drive_of_a_plan_is_the_whole_drive(tmp_path: Path) -> None:
    """Which part of each drive is visited when two drives of different size are compared?

    Truth: 45.7 MiB are three quarters of the drive that has 61.0 MiB, by division. A plan that calls it the whole drive
    is wrong about one of the two; it must give an area for each, or a share.
    """
    done = ask("plan", written(tmp_path), cwd=tmp_path)
    words = " ".join(done.split())
    area = words.split("work area ", 1)[1].split(" design ", 1)[0]
    sizes = ["61.0 MiB" if "61.0 MiB" in area else "60.9 MiB" if "60.9 MiB" in area else "", "45.6 MiB"]
    assert all(size and size in area for size in sizes) or "%" in area, area
