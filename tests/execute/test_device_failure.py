"""A drive that gives up is a result: its arm did not finish, the others continue, and the judgement names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.model.journal_entries import DidNotFinish, FailedRun, Run
from mileage.store import StudyFolder, skipped_runs
from tests.command import mileage
from tests.execute.conftest import Small, small_profile

WORN = """
[pe_cycles]
value = 10
source = "a test"
confidence = "defined"
"""


@pytest.fixture
def weak(small: Small) -> Path:
    """A study of three cycles on a small drive whose cells endure so little that the torture wears it out."""
    study, *_ = small.virtual()
    profile = small.folder / "small-drive.toml"
    text = small_profile(8).replace(
        'end_of_life = { value = "ignored"', 'end_of_life = { value = "read-only"'
    )
    profile.write_text(text + WORN)
    Path(study).write_text(Path(study).read_text().replace('"3x"', '"20x"'))
    return Path(study)


def test_a_worn_out_drive_ends_its_arm_and_the_sham_arm_continues(weak: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    result = mileage("run", str(weak), "--out", str(folder))
    assert result.returncode == 0, result.stderr
    content = StudyFolder(folder).content()
    unfinished = content.of_kind(DidNotFinish)
    assert sorted((entry.cycle, entry.arm, entry.stage) for entry in unfinished) == [
        (cycle, "torture", "torture") for cycle in (1, 2, 3)
    ]
    for entry in unfinished:
        assert entry.record.bytes_written > 0
        assert "worn out" in entry.message
    sham = [entry for entry in content.of_kind(Run) if entry.arm == "sham"]
    assert {entry.stage for entry in sham} >= {"prepare", "before", "after"}
    assert "DNF" in result.stdout
    assert "worn out" in result.stdout


def test_a_study_that_stops_on_failure_stops(weak: Path, tmp_path: Path) -> None:
    weak.write_text(weak.read_text().replace('on_failure = "dnf"', 'on_failure = "stop"'))
    folder = tmp_path / "study"
    result = mileage("run", str(weak), "--out", str(folder))
    assert result.returncode == 3
    content = StudyFolder(folder).content()
    assert content.of_kind(FailedRun)
    assert not content.of_kind(DidNotFinish)


@pytest.mark.parametrize(
    ("figures", "cause"),
    [
        ({"drop_off_s": 4}, "ENODEV"),
        ({"lost_command_every": 100_000, "command_timeout_s": 30}, "ETIMEDOUT"),
    ],
)
def test_a_drive_that_drops_off_or_loses_a_command_did_not_finish(
    small: Small, tmp_path: Path, figures: dict[str, float], cause: str
) -> None:
    from mileage import app

    study, *_ = small.virtual(cycles=2)
    tables = "".join(
        f'[{name}]\nvalue = {value}\nsource = "a fault"\nconfidence = "defined"\n'
        for name, value in figures.items()
    )
    (small.folder / "small-drive.toml").write_text(small_profile(8) + "\n" + tables)
    result = app.run(study, out=tmp_path / "study")
    content = result.folder.content()
    unfinished = list(content.of_kind(DidNotFinish))
    assert unfinished
    assert {entry.cause for entry in unfinished} == {cause}
    assert all(entry.record.bytes_written + entry.record.bytes_read > 0 for entry in unfinished)
    done, needed = len(content.of_kind(Run)), len(result.plan.runs)
    # Skipped are the rest of each arm that ended, and the parts of the sham that mirror a torture that was not done.
    assert done + skipped_runs(content) == needed
    codes = [veto.code for veto in result.comparison().vetoes]
    assert "did-not-finish" in codes
    assert "runs-missing" not in codes
    assert "DNF" in (result.folder.report).read_text()
    # It is a result: running the folder again changes nothing.
    before = result.folder.journal.read_bytes()
    app.run(str(tmp_path / "study"))
    assert result.folder.journal.read_bytes() == before


def test_a_study_that_compares_nothing_says_dnf_too(weak: Path, tmp_path: Path) -> None:
    text = weak.read_text()
    before, _, rest = text.partition('[[stage]]\nname = "after"\nmeasure = "before"\n')
    weak.write_text(before + rest)
    folder = tmp_path / "study"
    result = mileage("run", str(weak), "--out", str(folder))
    assert result.returncode == 0, result.stderr
    assert "DNF: the torture arm of cycle 1 did not finish" in " ".join(result.stdout.split())
    assert "DNF" in (folder / "report.html").read_text()
