"""How much of a report is written, and who decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import app
from mileage.app.report_level import report_level, rewritten_level
from mileage.errors import Refused
from tests.command import mileage
from tests.execute.conftest import FinishedStudies, Small


def test_the_nearest_word_decides() -> None:
    assert report_level(None, None, {}) == "full"
    assert report_level(None, None, {"MILEAGE_REPORT": "none"}) == "none"
    assert report_level(None, "full", {"MILEAGE_REPORT": "none"}) == "full"
    assert report_level("text", "full", {"MILEAGE_REPORT": "none"}) == "text"


@pytest.mark.parametrize("asked", ["", "pictures", "Full"])
def test_another_word_is_refused(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="expected one of none, text, full"):
        report_level(asked)
    monkeypatch.setenv("MILEAGE_REPORT", asked)
    if asked:
        with pytest.raises(Refused, match="MILEAGE_REPORT: found"):
            report_level(None)


def test_a_report_asked_for_by_itself_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILEAGE_REPORT", "none")
    assert rewritten_level(None) == "full"
    with pytest.raises(Refused, match="expected one of text, full"):
        rewritten_level("none")


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_none_writes_no_report_and_says_how_to_get_one(small: Small, tmp_path: Path) -> None:
    out = tmp_path / "out"
    output = mileage("run", *small.virtual(cycles=1), "--out", str(out), "--report", "none")
    assert output.returncode == 0, output.stderr
    assert f"No report was written; to write it: mileage report {out}" in output.stdout
    assert not files(out) & {"report.html", "figures", "tables", "samples.parquet"}
    written = mileage("report", str(out), "--report", "text")
    assert written.returncode == 0, written.stderr
    assert files(out) >= {"report.html", "tables", "samples.parquet"}
    assert "figures" not in files(out)


def test_text_and_full_differ_in_pictures_only(finished: FinishedStudies, tmp_path: Path) -> None:
    result = app.load(finished(tmp_path / "out"))
    page = result.folder.report.read_text(encoding="utf-8")
    tables = {path.name: path.read_bytes() for path in result.folder.tables.iterdir()}
    assert "<svg" not in page
    assert "mileage report --report full" in page
    assert "Nothing to show" not in page, "the pictures are omitted, not the comparison"
    result.write_report("full")
    drawn = result.folder.report.read_text(encoding="utf-8")
    assert drawn.count("<svg") >= 4
    assert "without pictures" not in drawn
    assert tables == {path.name: path.read_bytes() for path in result.folder.tables.iterdir()}
    assert any(result.folder.figures.glob("*.png"))


def test_the_level_of_a_study_file_is_honoured_and_is_not_part_of_the_plan(
    small: Small, tmp_path: Path
) -> None:
    path = Path(small.virtual(cycles=1)[0])
    before = app.plan(str(path)).hash
    path.write_text('report = "none"\n' + path.read_text())
    assert app.plan(str(path)).hash == before
    result = app.run(str(path), out=tmp_path / "out")
    assert not result.folder.report.exists()


def test_a_study_file_with_another_word_is_refused(small: Small) -> None:
    path = Path(small.virtual(cycles=1)[0])
    path.write_text('report = "some"\n' + path.read_text())
    with pytest.raises(Refused, match=r"report: found 'some', expected"):
        app.plan(str(path))
