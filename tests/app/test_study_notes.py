"""What a study states of its machine: from the file to the page, and between two studies."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import app
from mileage.app.comparison_report import pair_view, write_pair
from mileage.errors import Refused
from mileage.plan import parse_study
from mileage.plan.planned_runs import hash_is_right, to_toml
from mileage.store import StudyFolder

STUDY = """
name = "noted"
target = "virtual:plain-64gib"
report = "none"

[notes]
"RAID cache" = "2 GiB, <write back>"
power = "performance"

[state]
file = "16MiB"

[[stage]]
name = "before"
measure = ["reads"]

[[stage]]
name = "after"
measure = "before"

[measure.reads]
workload = "iops.random_read"
record = "4KiB"
repeat = 2
stop = { operations = 100 }
"""


def study_in(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(text)
    app.run(str(folder / "study.toml"), out=folder / "out", report="text")
    return folder / "out"


def test_notes_are_recorded_at_every_stage_and_shown_on_the_page(tmp_path: Path) -> None:
    folder = study_in(tmp_path / "a", STUDY)
    saved = dict(StudyFolder(folder).environments())
    assert len(saved) > 1
    assert {found["note.RAID cache"] for found in saved.values()} == {"2 GiB, <write back>"}
    page = (folder / "report.html").read_text()
    assert "<dt>RAID cache</dt><dd>2 GiB, &lt;write back&gt;</dd>" in page
    assert "<dt>power</dt><dd>performance</dd>" in page


def test_the_page_of_a_measurement_shows_notes(tmp_path: Path) -> None:
    only = STUDY.replace('[[stage]]\nname = "after"\nmeasure = "before"\n', "")
    folder = study_in(tmp_path / "a", only)
    page = (folder / "report.html").read_text()
    assert "comparison" not in page.partition("</title>")[0]
    assert "<dt>power</dt><dd>performance</dd>" in page


def test_two_studies_with_other_notes_have_the_same_plan_and_show_the_difference(tmp_path: Path) -> None:
    one = study_in(tmp_path / "a", STUDY)
    two = study_in(tmp_path / "b", STUDY.replace('power = "performance"', 'power = "saving"'))
    assert app.load(one).plan.hash == app.load(two).plan.hash
    assert hash_is_right((two / "plan.json").read_bytes())
    page = write_pair(pair_view(str(one), str(two)), tmp_path / "c", "text").read_text()
    assert "note.power changed from performance to saving" in page


def test_a_resolved_study_keeps_its_notes() -> None:
    study = parse_study(STUDY, "noted.toml")
    assert parse_study(to_toml(study), "again.toml").notes == study.notes
    assert study.notes == {"RAID cache": "2 GiB, <write back>", "power": "performance"}


@pytest.mark.parametrize("wrong", ['""', '"two\\nlines"', f'"{"x" * 501}"', "2048"])
def test_a_note_that_is_no_line_of_text_is_refused_by_name(wrong: str) -> None:
    with pytest.raises(Refused, match=r"notes\.power"):
        parse_study(STUDY.replace('"performance"', wrong), "noted.toml")
