"""What a user asks of a comparison of two virtual drives that differ in the kind of their cells."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path

import pytest

from tests.answers.question import ask, ask_json, suppose

DRIVES = Path(__file__).parents[2] / "profiles" / "drives"
STUDY = """
name = "cells"
target = "virtual:intel-x25e-64gb"
cycles = 1
sham = false
[state]
start = "purged"
[[stage]]
name = "measured"
measure = ["iops"]
[measure.iops]
workload = "iops.random_write"
record = "4KiB"
stop = { operations = 200 }
repeat = 3
[factor.drive]
kind = "target"
levels = { old = "virtual:intel-x25e-64gb", new = "virtual:crucial-bx200-240gb" }
[compare]
arms = "drive"
baseline = "old"
candidate = "new"
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the study, and what was printed."""
    folder = tmp_path_factory.mktemp("cells")
    (folder / "cells.toml").write_text(STUDY)
    printed = ask("run", "cells.toml", "--out", "out", cwd=folder)
    suppose(re.search(r"\bfaster\b|as fast\b", printed) is not None and "drive old" in printed, printed)
    return folder, printed


def test_drives_of_different_class_are_called_so(compared: tuple[Path, str]) -> None:
    """Which of these two drives is faster?

    Truth: the X25-E has single-level cells (SLC) and the BX200 three-bit cells (TLC), by their makers; a comparison of
    drives of different classes must say so where it gives the verdict.
    """
    folder, printed = compared
    sentence = printed.rpartition("\n\n")[0].rpartition("\n\n")[2]
    table = printed.partition("95 % interval")[0].rpartition("[")[2]
    for output in (sentence, table):
        assert re.search(r"\bSLC\b|single-level", output), printed
        assert re.search(r"\bTLC\b|three-bit", output), printed
    for row in csv.DictReader((folder / "out" / "tables" / "cells.csv").open(encoding="utf-8")):
        assert (row["class_baseline"], row["class_candidate"]) == ("SLC", "TLC")


def test_studies_of_drives_of_different_class_are_called_so(tmp_path: Path) -> None:
    """Which of the two drives that I measured one after the other is faster?

    Truth: as above; a comparison of two studies is one of two drives, too.
    """
    for name, drive in (("old", "intel-x25e-64gb"), ("new", "crucial-bx200-240gb")):
        options = ("--operations", "200", "--repeat", "3", "--save", name)
        ask("measure", "-t", f"virtual:{drive}", "-w", "random_read", *options, cwd=tmp_path)
    sentence = ask("compare", "old", "new", cwd=tmp_path).partition("\n\n")[0]
    assert "SLC" in sentence
    assert "TLC" in sentence
    page = ask("report", "old", "new", "--out", "page", cwd=tmp_path)
    assert "three-bit cells (TLC)" in (tmp_path / "page" / "report.html").read_text(encoding="utf-8"), page


def test_counters_that_differ_are_not_denied(compared: tuple[Path, str]) -> None:
    """Do the drives' counters explain the difference?

    Truth: the BX200 writes into a cache of one-bit cells first and the X25-E has none, by their profiles, so that the
    counter of pages programmed there is 0 in one arm and not in the other: four writes of 4 KiB share a page of 16 KiB.
    """
    folder, printed = compared
    sql = "SELECT run, value FROM counters WHERE counter = 'slc_pages_programmed' AND role = 'measure' AND value > 0"
    rows = ask_json("query", sql, "out", cwd=folder)
    suppose(len(rows) == 3, f"three of six runs use the cache: {rows}")
    assert "No counter of the drive differs" not in printed
    assert "pages programmed in the SLC cache 0 → 250" in " ".join(printed.split())


def test_a_verdict_names_the_assumptions_that_it_depends_on(compared: tuple[Path, str]) -> None:
    """Which figures that nobody published does this verdict depend on?

    Truth: the profiles, read here as TOML: of both drives it is not known how they pace garbage collection, which for
    writes decides the rate under collection and the slowest operations.
    """
    folder, _ = compared
    printed = ask("report", "out", "--report", "text", "--verbose", cwd=folder)
    words = " ".join(printed.split())
    for name in ("intel-x25e-64gb", "crucial-bx200-240gb"):
        profile = tomllib.loads((DRIVES / f"{name}.toml").read_text(encoding="utf-8"))
        pace = profile["gc_pace"]
        suppose(pace["confidence"] == "assumed", f"{name} does not know its pace: {pace}")
        output = re.search(rf"drive model\s+{name}: .*?(?=\[)", words)
        assert output, printed
        assert f"gc_pace {pace['value']} (assumed)" in output[0]
