"""Presets of applications: their access patterns, as the drive that does the work counts them, and their sources."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mileage.plan import WORKLOADS
from tests.cli.test_workloads_page import TEXT
from tests.command import mileage

APPLICATIONS = [name for name in WORKLOADS if name.startswith("application.")]
OPERATIONS = 2000


def measured(name: str, *words: str) -> dict[str, Any]:
    place = words or ("-t", "virtual:plain-64gib,scale=1/64", "--size", "128MiB")
    done = mileage("measure", "-w", f"application.{name}", *place, "--json", "--operations", str(OPERATIONS))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)[0]
    return found


@pytest.mark.parametrize(
    ("name", "record", "reads", "flushes"),
    [
        ("nastran", 256 << 10, 1, 0),
        ("exchange", 32 << 10, 0.6, 1),
        ("streaming", 256 << 10, 1, 0),
        ("vm_host", 8 << 10, 0.7, 1),
        ("ceph_journal", 4 << 10, 0, OPERATIONS),
        ("zfs_log", 128 << 10, 0, OPERATIONS),
        ("scratch_write", 2 << 20, 0, 1),
        ("scratch_read", 2 << 20, 1, 0),
    ],
)
def test_an_application_does_what_its_source_says(name: str, record: int, reads: float, flushes: int) -> None:
    found = measured(name)
    done = found["ops_read"] + found["ops_written"]
    assert done == OPERATIONS
    assert (found["bytes_read"] + found["bytes_written"]) == done * record
    # Three standard deviations of a share of this many operations.
    assert found["ops_read"] / done == pytest.approx(reads, abs=0.033 if 0 < reads < 1 else 0)
    assert found["counters"]["flushes"] == flushes


def test_an_application_works_on_an_array() -> None:
    found = measured("exchange", "-t", "virtual:raid5(4*sas-15k)", "--size", "64MiB", "--depth", "8")
    assert found["ops_read"] + found["ops_written"] == OPERATIONS


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_application_has_its_source_on_the_page(name: str) -> None:
    word = name.partition(".")[2]
    (row,) = [row for row in TEXT.splitlines() if row.startswith("| `application.") and f"{word}`" in row]
    what, does, source = (part.strip() for part in row.strip("|").split("|"))
    assert what
    assert does
    assert len(source) > 20
