"""Two studies as one report: the judgement of `mileage compare`, with what speaks against each."""

import csv
from pathlib import Path

import msgspec
import pytest

from mileage import app
from mileage.app.comparison_report import pair_view, write_pair
from mileage.errors import Refused
from mileage.model.journal_entries import Run
from tests.command import mileage
from tests.execute.conftest import FinishedStudies


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, finished: FinishedStudies) -> Path:
    folder = tmp_path_factory.mktemp("two")
    finished(folder / "a")
    finished(folder / "b", seed=8)
    return folder


def test_the_page_of_two_says_what_compare_says(two: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = mileage("report", str(two / "a"), str(two / "b"), "--out", str(out), "--report", "full")
    assert done.returncode == 0, done.stderr
    judged = app.compare(str(two / "a"), str(two / "b"))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "a:after" in page
    assert "b:after" in page
    assert str(out / "report.html") in done.stdout
    rows = list(csv.DictReader((out / "tables" / "cells.csv").read_text().splitlines()))
    assert [(row["cell"], row["verdict"]) for row in rows] == [
        (cell.cell, cell.verdict) for cell in judged.cells
    ]
    assert list((out / "figures").glob("*.svg"))
    output = " ".join(done.stdout.split())
    assert "The two plans differ in seed." in output


def test_what_weakens_one_of_them_comes_first(two: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.mkdir()
    for name in ("plan.json", "plan.toml"):
        (cut / name).write_bytes((two / "b" / name).read_bytes())
    lines = (two / "b" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (cut / "journal.jsonl").write_bytes(b"".join(lines[:-4]))
    view = pair_view(str(two / "a"), str(cut))
    assert ("interrupted", ("candidate",)) in [(veto.code, veto.sides) for veto in view.comparison.vetoes]


def test_stages_of_one_study_too(two: Path) -> None:
    view = pair_view(f"{two}/a:before", f"{two}/a:after")
    assert view.comparison.kind == "stages"
    assert view.runs_total == len(app.load(two / "a").content().of_kind(Run))
    assert msgspec.to_builtins(view.comparison) == msgspec.to_builtins(
        app.compare(f"{two}/a:before", f"{two}/a:after")
    )


def test_nothing_is_written_over_and_three_are_refused(two: Path, tmp_path: Path) -> None:
    view = pair_view(str(two / "a"), str(two / "b"))
    (tmp_path / "kept").write_text("x")
    with pytest.raises(Refused, match="nothing is written over"):
        write_pair(view, tmp_path)
    three = mileage("report", *(str(two / "a") for _ in range(3)))
    assert three.returncode == 2
    assert "one or two" in three.stderr
    alone = mileage("report", str(two / "a"), "--out", str(tmp_path / "x"))
    assert alone.returncode == 2
