"""What a user asks about scans: is a row of a scan what it would be by itself?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.answers.drive_profile import write_profile
from tests.answers.question import ask, ask_json

MIXED = "workload=sequential_read,random_read,sequential_write,random_write"


def test_each_workload_of_a_scan_keeps_its_own_record(tmp_path: Path) -> None:
    """How fast are sequential and random accesses of this drive?

    Truth: the documentation promises records of 1 MiB for sequential workloads and of 4 KiB for others where none is
    given. Bytes over operations is the record that was used, by arithmetic.
    """
    words = ("measure", "-t", write_profile(tmp_path), "--size", "8MiB", "--operations", "40")
    cells = ask_json(*words, "--vary", MIXED, cwd=tmp_path)
    records = {}
    for cell in cells:
        operations = cell["ops_read"] + cell["ops_written"]
        records[cell["cell"].split()[0]] = (cell["bytes_read"] + cell["bytes_written"]) / operations
    assert records == {
        "pattern.sequential_read": 2**20,
        "pattern.random_read": 4096,
        "pattern.sequential_write": 2**20,
        "pattern.random_write": 4096,
    }


@pytest.mark.parametrize(
    "member", ["pattern.sequential_read", "pattern.shuffled_write", "iometer.all_in_one"]
)
def test_a_workload_of_a_family_has_the_record_that_it_has_alone(member: str, tmp_path: Path) -> None:
    """Does a workload do the same in a family, with others, and by itself?

    Truth: by itself it does what the documentation says; in a family, or with other workloads, it must do the same.
    """
    words = ("measure", "-t", write_profile(tmp_path), "--size", "8MiB", "--operations", "20")
    moved = {}
    for how, asked in {
        "alone": ("-w", member),
        "family": ("-w", f"{member.partition('.')[0]}.*"),
        "neighbour": ("--vary", f"workload={member},random_read,backward_write"),
    }.items():
        cells = [cell for cell in ask_json(*words, *asked, cwd=tmp_path) if cell["cell"].startswith(member)]
        assert len(cells) == 1, how
        moved[how] = (cells[0]["cell"], cells[0]["bytes_read"], cells[0]["bytes_written"])
    assert moved["family"] == moved["neighbour"] == moved["alone"]


def test_a_record_that_is_given_is_that_of_every_row(tmp_path: Path) -> None:
    """Can I measure all of them with one record?

    Truth: 16 KiB are asked for, and every operation has them.
    """
    words = ("-t", write_profile(tmp_path), "--size", "8MiB", "--operations", "40", "-r", "16KiB")
    printed = ask("measure", *words, "--vary", MIXED, cwd=tmp_path)
    assert "records of 16 KiB" in printed
    for cell in ask_json("measure", *words, "--vary", MIXED, cwd=tmp_path):
        assert cell["bytes_read"] + cell["bytes_written"] == 40 * 16384
