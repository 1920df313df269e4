"""Raw tests of a talk next to simulated ones: the page has the figures of the study that repeats the talk."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mileage.app.published_results import compare_published
from mileage.app.replications import STUDY, simulated_tests
from mileage.formats.published_results import shipped_study
from tests.command import mileage
from tests.house.repository import ROOT

PAGE = (ROOT / "docs" / "reference" / "raw-tests.md").read_text(encoding="utf-8")
PRINTED = list(csv.DictReader(Path(__file__).with_name("raw_tests.csv").read_text().splitlines()))
DRIVES = [row["drive"] for row in PRINTED]
TESTS = {
    "cached": "hdparm.cached",
    "buffered": "hdparm.buffered",
    "cached_direct": "hdparm.cached_direct",
    "buffered_direct": "hdparm.buffered_direct",
    "dd_read": "dd.read",
    "dd_write": "dd.write",
}


def cells(drive: str) -> tuple[list[str], list[str]]:
    """The published and the simulated cells of a drive on the page."""
    lines = PAGE.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"| {drive} | published"))
    return tuple([part.strip() for part in line.split("|")[3:-1]] for line in lines[at : at + 2])  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("drive", DRIVES)
def test_the_page_has_what_the_drive_does(drive: str) -> None:
    published, simulated = cells(drive)
    found = {one.test: one for one in simulated_tests([drive], processes=1)}
    assert list(found) == list(TESTS.values())
    for one, printed, cell in zip(found.values(), published, simulated, strict=True):
        assert printed == f"{one.published:,.0f}"
        assert cell == f"{one.simulated:,.0f} ({one.simulated / one.published:.2f})"


def test_published_figures_are_those_of_the_talk() -> None:
    """hdparm counts in MiB and calls them MB; of three reads of dd the first is compared."""
    published = {(one.levels["drive"], one.workload): one for one in shipped_study(STUDY).results}
    assert len(published) == len(DRIVES) * len(TESTS)
    for row in PRINTED:
        for name, test in TESTS.items():
            value = float(row[name].split()[0]) * (1.048576 if test.startswith("hdparm") else 1)
            assert published[row["drive"], test].middle == pytest.approx(value, abs=0.06)
    assert "15, 31, 200" in published["seagate-archive-8tb", "dd.read"].note
    assert "15, 31, 200" in PAGE


@pytest.mark.slow
def test_each_figure_is_the_one_of_the_published_study(tmp_path: Path) -> None:
    """One simulation of a published figure: the study restricted to two drives, by both doors."""
    drives = ("hpe-7k2-500gb", "samsung-960-pro-512gb")
    study = tmp_path / "two.toml"
    text = (ROOT / "python" / "mileage" / "plan" / "studies" / f"{STUDY}.toml").read_text(encoding="utf-8")
    kept = [
        line for line in text.splitlines() if ' = "virtual:' not in line or line.split(" = ")[0] in drives
    ]
    study.write_text("\n".join(kept))
    done = mileage("run", str(study), "--out", str(tmp_path / "study"), "--report", "none", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    compared = compare_published(tmp_path / "study", STUDY)
    theirs = {
        (one.published.levels["drive"], one.published.workload): one.found
        for one in compared.results
        if one.found is not None
    }
    own = {(one.drive, one.test): one.simulated for one in simulated_tests(drives, processes=1)}
    assert len(own) == 2 * len(TESTS)
    assert own == pytest.approx(theirs)


def test_the_command_prints_one_drive_and_refuses_others() -> None:
    found = json.loads(mileage("drive", "raw-tests", "hpe-7k2-500gb", "--json").stdout)
    assert [one["test"] for one in found] == list(TESTS.values())
    done = mileage("drive", "raw-tests", "plain-64gib")
    assert done.returncode == 2
    assert "no drive of the raw tests" in done.stderr
