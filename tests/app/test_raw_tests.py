"""Raw tests of a talk next to simulated ones: the page has what the drives do, and the published figures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mileage.app.raw_tests import SIMULATED, raw_tables, raw_test_mb_per_s
from tests.command import mileage
from tests.house.repository import ROOT

PAGE = (ROOT / "docs" / "reference" / "raw-tests.md").read_text(encoding="utf-8")
DRIVES = [test.drive for test in raw_tables().test]
COLUMNS = ["cached", "buffered", "cached_direct", "buffered_direct", "dd_read", "dd_write"]


def cells(drive: str) -> tuple[list[str], list[str]]:
    """The published and the simulated cells of a drive on the page."""
    lines = PAGE.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"| {drive} | published"))
    return tuple([part.strip() for part in line.split("|")[3:-1]] for line in lines[at : at + 2])  # type: ignore[return-value]


@pytest.mark.parametrize("drive", DRIVES)
def test_every_test_is_simulated(drive: str) -> None:
    _, simulated = cells(drive)
    assert all(float(cell.partition(" ")[0].replace(",", "")) > 0 for cell in simulated)
    assert set(SIMULATED) == set(COLUMNS)


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("test", SIMULATED)
@pytest.mark.parametrize("drive", DRIVES)
def test_the_page_has_what_the_drive_does(drive: str, test: str) -> None:
    published, simulated = cells(drive)
    at = COLUMNS.index(test)
    found, ratio = raw_test_mb_per_s(drive, test), float(simulated[at].partition("(")[2].rstrip(")"))
    assert float(simulated[at].partition(" ")[0].replace(",", "")) == pytest.approx(found, rel=0.02, abs=1)
    assert ratio == pytest.approx(
        found / float(published[at].partition(", then")[0].replace(",", "")), rel=0.02, abs=0.01
    )


def test_published_figures_are_those_of_the_talk() -> None:
    rows = list(csv.DictReader(Path(__file__).with_name("raw_tests.csv").read_text().splitlines()))
    assert len(rows) == 8
    for row, test in zip(rows, raw_tables().test, strict=True):
        assert row["drive"] == test.drive
        for name in COLUMNS:
            value = getattr(test, name)
            values = value if isinstance(value, tuple) else (value,)
            assert row[name] == " ".join(f"{one:g}" for one in values)
        published, _ = cells(test.drive)
        assert published == [", then ".join(f"{int(one):,}" for one in row[name].split()) for name in COLUMNS]


def test_the_command_prints_one_drive_and_refuses_others() -> None:
    found = json.loads(mileage("drive", "raw-tests", "optane-16gb", "--json").stdout)
    assert [one["test"] for one in found] == list(SIMULATED)
    done = mileage("drive", "raw-tests", "plain-64gib")
    assert done.returncode == 2
    assert "no drive of the raw tests" in done.stderr
