"""A drive that gives up is a result: its arm did not finish, the others go on, and the judgement says so by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.record import StudyFolder
from tests.execute.conftest import Small, run_mileage, small_profile

WORN = """
[pe_cycles]
value = 10
source = "a test"
confidence = "defined"
[end_of_life]
value = "read-only"
source = "a test"
confidence = "defined"
"""


@pytest.fixture
def weak(small: Small) -> Path:
    """A study of three cycles on a small drive whose cells endure so little that the torture wears it out."""
    study, *_ = small.virtual()
    profile = small.folder / "small-drive.toml"
    profile.write_text(small_profile(8) + WORN)
    Path(study).write_text(Path(study).read_text().replace('"3x"', '"20x"'))
    return Path(study)


def test_a_worn_out_drive_ends_its_arm_and_the_sham_arm_goes_on(weak: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    result = run_mileage("run", str(weak), "--out", str(folder))
    assert result.returncode == 0, result.stderr
    content = StudyFolder(folder).content()
    unfinished = content.of_kind("dnf")
    assert sorted((entry["cycle"], entry["arm"], entry["stage"]) for entry in unfinished) == [
        (cycle, "torture", "torture") for cycle in (1, 2, 3)
    ]
    for entry in unfinished:
        assert entry["record"]["bytes_written"] > 0
        assert "worn out" in entry["message"]
    sham = [entry for entry in content.of_kind("run") if entry["arm"] == "sham"]
    assert {entry["stage"] for entry in sham} >= {"prepare", "before", "after"}
    assert "DNF" in result.stdout
    assert "worn out" in result.stdout


def test_a_study_that_stops_on_failure_stops(weak: Path, tmp_path: Path) -> None:
    weak.write_text(weak.read_text().replace('on_failure = "dnf"', 'on_failure = "stop"'))
    folder = tmp_path / "study"
    result = run_mileage("run", str(weak), "--out", str(folder))
    assert result.returncode == 3
    content = StudyFolder(folder).content()
    assert content.of_kind("failed")
    assert not content.of_kind("dnf")
