"""A target that stalls one second in every thirty: what a closed loop says of it, and an open one."""

import re
from pathlib import Path

import pytest

from mileage import load
from tests.command import mileage
from tests.execute.conftest import small_profile

STALLS = """
stall_s = { value = 1.0, source = "a test", confidence = "defined" }
stall_every_s = { value = 30.0, source = "a test", confidence = "defined" }
"""
STUDY = """
name = "stalls"
target = "virtual:{drive}"
seed = 4
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "before"
measure = ["reads"]
[[stage]]
name = "after"
measure = "before"
[measure.reads]
workload = "iops.random_read"
record = "4KiB"
stop = {{ time = "60 s" }}
repeat = 2
{more}
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
"""


def report_of(folder: Path, more: str) -> str:
    profile = small_profile(8)
    first_table = profile.find("\n[")
    end = len(profile) if first_table < 0 else first_table
    drive = folder / "stalling.toml"
    drive.write_text(profile[:end] + STALLS + profile[end:], encoding="utf-8")
    study = folder / "stalls.toml"
    study.write_text(STUDY.format(drive=drive, more=more), encoding="utf-8")
    done = mileage("run", str(study), "--out", str(folder / "study"))
    assert done.returncode == 0, done.stderr
    page = (folder / "study" / "report.html").read_text(encoding="utf-8")
    text = " ".join(load(folder / "study").text(verbose=True).split())
    assert re.search(r"longest operation took|From the intended start", page), "the page says it too"
    return text


def test_the_closed_loop_says_what_it_cannot_see(tmp_path: Path) -> None:
    text = report_of(tmp_path, "")
    assert "longest operation took 1,000 ms" in text
    assert "a closed loop issues nothing while it waits (coordinated omission)" in text


def test_the_open_loop_shows_who_waited(tmp_path: Path) -> None:
    text = report_of(tmp_path, "rate = 400")
    found = re.search(r"From the intended start p99 is ([\d,.]+) ms, from submission ([\d.]+) ms", text)
    assert found is not None, text
    # Of every 30 s the arrivals of one wait evenly 0 to 1 s, 3.3 % of all: 1 % waits longer than 0.7 s.
    assert float(found[1]) == pytest.approx(700, rel=0.05)
    assert float(found[2]) < 10
    assert "the requested rate" in text
