"""The model band of a study: each choice is the study on a drive that has it, and the range is what came out."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest

from mileage import app
from mileage.errors import Interrupted, Refused
from mileage.execute.progress import Progress
from mileage.model.journal_entries import Choice
from mileage.model.run_record import RunRecord
from mileage.plan import PlannedRun
from mileage.targets.profiles import drive_names, load_profile
from mileage.targets.target_kinds import open_target
from tests.command import mileage
from tests.execute.conftest import FinishedStudies, Small, small_profile

CHOICES = {
    "gc_victim=fifo",
    "gc_pace=paced",
    "frontiers=survivors-apart",
    "gc_copies=copy-back",
}
"""What the profile of the plain drive declares; the small drive has no room for a second frontier."""


class EndsAfterRun(Progress):
    """Interrupts a study after its first run."""

    def finished(self, run: PlannedRun, record: RunRecord) -> None:
        raise Interrupted()


class ChoiceCount(Progress):
    """Ends the band after a number of choices."""

    def __init__(self, most: int) -> None:
        self.most = most

    def stage(self, text: str) -> None:
        done = re.search(r"variants of the drive model: (\d+) of", text)
        if done is not None and int(done[1]) >= self.most:
            raise Interrupted()


def choices(folder: Path) -> dict[str, Choice]:
    found = app.load(folder).content().of_kind(Choice)
    return {f"{entry.figure}={entry.value}": entry for entry in found}


def test_a_choice_is_the_study_on_a_drive_that_has_it(small: Small, tmp_path: Path) -> None:
    study = small.virtual(cycles=1)[0]
    result = app.run(study, out=tmp_path / "out", report="none", band=True)
    assert choices(tmp_path / "out").keys() == CHOICES
    impossible = choices(tmp_path / "out")["frontiers=survivors-apart"]
    assert "not possible on this drive: drive profile: capacity_bytes is" in impossible.failure
    target = f"{result.plan.target},gc_pace=paced"
    alone = app.run(study, target=target, out=tmp_path / "alone", report="none")
    done = result.comparison()
    sham = {(cell.cell, cell.metric): cell.sham_ratio or 1.0 for cell in done.cells}
    found = {(one.cell, one.metric): one.ratio for one in choices(tmp_path / "out")["gc_pace=paced"].ratios}
    for cell in alone.comparison().cells:
        key = (cell.cell, cell.metric)
        assert cell.mean_candidate
        assert cell.mean_baseline
        assert found[key] == pytest.approx(cell.mean_candidate / cell.mean_baseline / sham[key])
    assert done.band is not None
    for cell in done.cells:
        ratios = [one.ratios[cell.cell][cell.metric] for one in done.band.choices if not one.failure]
        assert cell.ratio is not None
        assert done.band.around(cell.cell, cell.metric, cell.ratio) == (
            min(cell.ratio, *ratios),
            max(cell.ratio, *ratios),
        )


def test_text_page_and_json_have_the_band(finished: FinishedStudies, tmp_path: Path) -> None:
    out = finished(tmp_path / "out")
    done = mileage("run", str(out), "--band", "--report", "text")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert re.search(r"as in the profile \S+ % range: .*(slower|faster)", text)
    assert "not possible on this drive" in text
    assert re.search("Variants of the drive model, each with one unpublished figure changed: ", text)
    assert "gc_pace=paced" in text
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'id="band"' in page
    assert "bounds the latency of writes" in page
    shown = json.loads(mileage("report", str(out), "--json", "--report", "text").stdout)
    band = shown["comparison"]["band"]
    assert {f"{one['figure']}={one['value']}" for one in band["choices"]} == CHOICES


def test_an_interrupted_band_is_resumed(finished: FinishedStudies, tmp_path: Path) -> None:
    out = finished(tmp_path / "out")
    with pytest.raises(Interrupted):
        app.run(str(out), report="none", band=True, progress=ChoiceCount(1))
    before = choices(out)
    assert 1 <= len(before) < len(CHOICES)
    app.run(str(out), report="none", band=True)
    assert choices(out).keys() == CHOICES
    assert {name: choices(out)[name].at for name in before} == {name: one.at for name, one in before.items()}


def test_variants_end_with_an_interrupted_study_and_are_the_same_afterwards(
    small: Small, tmp_path: Path
) -> None:
    """Variants begin while cycles run. Truth: a band that is done after its study."""
    study = small.virtual(cycles=3)[0]
    with pytest.raises(Interrupted):
        app.run(study, out=tmp_path / "out", report="none", band=True, progress=EndsAfterRun())
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("cycle")]
    assert choices(tmp_path / "out") == {}
    app.run(str(tmp_path / "out"), report="none", band=True)
    app.run(study, out=tmp_path / "apart", report="none", band=False)
    app.run(str(tmp_path / "apart"), report="none", band=True)
    early, apart = choices(tmp_path / "out"), choices(tmp_path / "apart")
    assert early.keys() == apart.keys() == CHOICES
    assert {name: one.ratios for name, one in early.items()} == {
        name: one.ratios for name, one in apart.items()
    }


def test_without_a_band_nothing_is_said(finished: FinishedStudies, tmp_path: Path) -> None:
    result = app.load(finished(tmp_path / "out"))
    assert result.comparison().band is None
    assert "model, " not in result.text()


def test_a_band_of_what_is_no_model_is_refused(small: Small, tmp_path: Path) -> None:
    study = small.study(f"dir:{tmp_path}")
    with pytest.raises(Refused, match=r"--band: .* is no virtual drive"):
        app.run(str(study), out=tmp_path / "out", band=True)


def test_a_profile_without_alternatives_is_refused(small: Small, tmp_path: Path) -> None:
    study = small.virtual(cycles=1)[0]
    profile = tmp_path / "small-drive.toml"
    profile.write_text(re.sub(r", alternatives = \[.*?\]", "", small_profile(8)))
    with pytest.raises(Refused, match="declares no alternatives"):
        app.run(study, out=tmp_path / "out", band=True)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            'confidence = "assumed", alt',
            'confidence = "source", alt',
            "only of a figure that is not published",
        ),
        ('value = "fifo"', 'value = "greedy"', "greedy twice"),
        ('"needs no table of valid pages"', '" "', "without a reason"),
    ],
)
def test_an_alternative_that_says_nothing_is_refused(
    before: str, after: str, expected: str, tmp_path: Path
) -> None:
    profile = tmp_path / "drive.toml"
    profile.write_text(load_profile("plain-64gib").replace(before, after, 1))
    with pytest.raises(Refused, match=expected):
        open_target(f"virtual:{profile}", plan_hash="0" * 16)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", drive_names())
def test_every_alternative_of_a_shipped_drive_is_possible(name: str) -> None:
    with open_target(f"virtual:{name}", plan_hash="0" * 16) as target:
        alternatives = target.facts().alternatives
    assert alternatives or "flash" not in load_profile(name).partition("kind =")[2].partition("\n")[0]
    for one in alternatives:
        with open_target(f"virtual:{name},{one.change}", plan_hash="0" * 16) as target:
            left = {other.figure for other in target.facts().alternatives}
        assert one.figure not in left
