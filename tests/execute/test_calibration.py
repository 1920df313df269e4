"""A count that is found so that runs last: once, kept for all, and the same after a kill."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from mileage.analysis.view import measured_page
from mileage.errors import Interrupted, Refused
from mileage.execute import Silent
from mileage.execute.calibration import Calibration, scaled
from mileage.model.journal_entries import LengthFactor, Run
from mileage.model.run_record import RunRecord
from mileage.plan import PlannedRun
from mileage.store import Journal, StudyFolder
from mileage.store.journal import JournalContent
from tests.execute.conftest import Small
from tests.execute.test_resume import kill_after


def calibrated(small: Small, least: str = "2 s") -> list[str]:
    """A study on a virtual drive whose IOPS cells are to last so long, in simulated time."""
    args = small.virtual(cycles=2)
    study = Path(args[0])
    text = study.read_text()
    assert "stop = { operations = 2000 }" in text
    study.write_text(text.replace("operations = 2000 }", f'operations = 16, at_least = "{least}" }}'))
    return args


def iops_runs(folder: Path) -> list[dict[str, Any]]:
    runs = StudyFolder(folder).content().of_kind(Run)
    return [entry for entry in runs if entry.measure == "iops"]


def operations(entry: dict[str, Any]) -> int:
    return int(entry.record.ops_read + entry.record.ops_written)


def test_the_count_is_found_in_the_first_run_and_kept_for_all(small: Small, tmp_path: Path) -> None:
    from mileage import app

    study, *_ = calibrated(small)
    app.run(study, out=tmp_path / "study")
    found = list(StudyFolder(tmp_path / "study").content().of_kind(LengthFactor))
    runs = iops_runs(tmp_path / "study")
    assert {entry.cell for entry in found} == {entry.cell for entry in runs}
    assert len(found) == 2
    for entry in found:
        mine = [run for run in runs if run.cell == entry.cell]
        assert {operations(run) for run in mine} == {16 * entry.factor}
        assert len(mine) == 2 * 2 * 2 * 2
        first = next(run for run in mine if run.run == entry.run)
        assert first.record.elapsed_ns == entry.elapsed_ns >= 2e9
        assert entry.trials[0] == 1
        assert entry.reached


def test_killed_or_not_the_same_counts_and_the_same_table(small: Small, tmp_path: Path) -> None:
    from mileage import app

    rng = random.Random(8)
    study, *rest = calibrated(small)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    app.run(study, out=whole, seed=7)
    for _ in range(4):
        kill_after([study, *rest, "--out", str(cut)], rng.uniform(0.5, 2.0))
    app.run(study, out=cut, seed=7)
    assert (cut / "samples.parquet").read_bytes() == (whole / "samples.parquet").read_bytes()


def test_what_does_not_last_longer_is_left_and_said(small: Small, tmp_path: Path) -> None:
    from mileage import app

    study, *_ = calibrated(small)
    path = Path(study)
    path.write_text(path.read_text().replace('at_least = "2 s"', 'at_least = "50 ms", time = "50 ms"'))
    app.run(study, out=tmp_path / "study")
    assert all(
        entry.factor < 1 << 24 for entry in StudyFolder(tmp_path / "study").content().of_kind(LengthFactor)
    )


@pytest.mark.parametrize(
    ("stop", "output"),
    [
        (
            '{ time = "1 s", at_least = "1 s" }',
            "has no count to multiply; give bytes or operations as well",
        ),
        ('{ operations = 5, time = "1 s", at_least = "2 s" }', "found '2 s', above the time of '1 s'"),
        ('{ operations = 5, at_least = "soon" }', "measure.iops.stop.at_least"),
    ],
)
def test_what_makes_no_sense_is_refused(small: Small, stop: str, output: str) -> None:
    from mileage import app

    study, *_ = small.virtual(cycles=1)
    path = Path(study)
    path.write_text(path.read_text().replace("stop = { operations = 2000 }", f"stop = {stop}"))
    with pytest.raises(Refused) as refused:
        app.plan(study)
    assert output in str(refused.value)


HOST = "virtual:intel-x25e-64gb@phenom-8gib,scale=1/64"
OTHER = "virtual:intel-x25e-32gb@phenom-8gib,scale=1/32"
LEVELS = """
name = "levels"
seed = 3
target = "HOST"
order = "listed"
state = { start = "purged", cache = "warm", file = "16MiB" }
stage = [{ name = "before", measure = ["names"] }, { name = "after", measure = "before" }]

[measure.names]
workload = ["metarates.create", "metarates.stat"]
threads = [1, 2, 4]
stop = { operations = 8, at_least = "20 ms" }
repeat = 1

[compare]
arms = "stage"
baseline = "before"
candidate = "after"
"""


def file_counts(folder: Path) -> dict[str, set[int]]:
    """Files that each cell's tests worked on, by its unit, counted from what the tasks did."""
    found: dict[str, set[int]] = {}
    for entry in StudyFolder(folder).content().of_kind(Run):
        if entry.role == "measure":
            for result in entry.record.results or ():
                found.setdefault(entry.cell, set()).add(result.record.ops_metadata)
    return found


class Notes(Silent):
    """Collects the notes."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


class EndAfterFirst(Silent):
    """Ends the study when its first run is done."""

    def finished(self, run: PlannedRun, record: RunRecord) -> None:
        raise Interrupted()


@pytest.mark.parametrize("factor", ["", f'[factor.drive]\nlevels = {{ slc = "{HOST}", mlc = "{OTHER}" }}\n'])
def test_all_numbers_of_tasks_have_one_number_of_files(tmp_path: Path, factor: str) -> None:
    from mileage import app

    study, notes = tmp_path / "levels.toml", Notes()
    study.write_text(LEVELS.replace("HOST", HOST) + factor)
    app.run(str(study), out=tmp_path / "study", report="none", progress=notes)
    counts = file_counts(tmp_path / "study")
    (entry,) = StudyFolder(tmp_path / "study").content().of_kind(LengthFactor)
    assert len(counts) == (6 if factor else 3)
    assert set.union(*counts.values()) == {8 * entry.factor}
    assert entry.factor > 1
    assert "4 threads" in entry.cell
    assert entry.elapsed_ns >= 20e6
    assert any(f"{8 * entry.factor:,} files with 4 tasks last" in line for line in notes.lines)


def test_a_kill_between_levels_keeps_the_number_of_files(tmp_path: Path) -> None:
    from mileage import app

    study = tmp_path / "levels.toml"
    study.write_text(LEVELS.replace("HOST", HOST))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    app.run(str(study), out=whole, report="none")
    with pytest.raises(Interrupted):
        app.run(str(study), out=cut, report="none", progress=EndAfterFirst())
    (first,) = StudyFolder(cut).content().of_kind(LengthFactor)
    app.run(str(study), out=cut, report="none")
    assert [entry.factor for entry in StudyFolder(cut).content().of_kind(LengthFactor)] == [first.factor]
    assert app.load(cut).samples() == app.load(whole).samples()


def test_the_text_lists_the_number_of_files_that_was_found(tmp_path: Path) -> None:
    from mileage import app

    study = tmp_path / "levels.toml"
    text = LEVELS.replace("HOST", HOST).replace(', { name = "after", measure = "before" }', "")
    study.write_text(text.partition("[compare]")[0])
    result = app.run(str(study), out=tmp_path / "study", report="none")
    (entry,) = result.content().of_kind(LengthFactor)
    assert f"\n{8 * entry.factor:,} files; " in result.text()
    assert measured_page(result.plan, result.folder).setting[1].startswith(f"{8 * entry.factor:,} files; ")


@pytest.mark.parametrize(
    ("lasts_ms", "factors"),
    [
        # The first trial was disturbed: more work took less time, and then more.
        ([20, 2, 12, 60, 101], [1, 6, 336, 3360, 6720]),
        # Something else than the count ends each run.
        ([50, 50, 50], [1, 3, 9]),
    ],
)
def test_one_trial_that_was_disturbed_does_not_end_the_search(
    small: Small, lasts_ms: list[int], factors: list[int]
) -> None:
    from mileage import app

    study, *_ = calibrated(small, "100 ms")
    plan = app.plan(study)
    run = next(run for run in plan.runs if run.measure == "iops")
    done: list[int] = []

    def do(tried: PlannedRun) -> RunRecord:
        assert tried.workload is not None
        done.append((tried.workload.stop.operations or 0) // 16)
        return RunRecord.idle(lasts_ms[len(done) - 1] * 1_000_000)

    lines: list[str] = []
    calibration = Calibration(plan, cast(Journal, Mock()), JournalContent([], 0, 0), lines.append)
    calibration.perform(run, do, again=False)
    assert done == factors
    assert ("were not reached" in lines[0]) == (lasts_ms[-1] < 100)


def test_bytes_operations_and_files_grow(small: Small) -> None:
    from mileage import app

    study, *_ = small.virtual(cycles=1)
    runs = app.plan(study).runs
    for kind in ("throughput", "iops"):
        run = next(run for run in runs if run.measure == kind)
        assert run.workload is not None
        more = scaled(run, 3).workload
        assert more is not None
        assert more.stop.bytes == (run.workload.stop.bytes and 3 * run.workload.stop.bytes)
        assert more.stop.operations == (run.workload.stop.operations and 3 * run.workload.stop.operations)
    assert scaled(runs[0], 1) is runs[0]


def test_two_studies_that_found_other_numbers_of_files_have_no_verdict(tmp_path: Path) -> None:
    from mileage import app

    counts = []
    for name, least in (("a", "20 ms"), ("b", "40 ms")):
        study = tmp_path / f"{name}.toml"
        study.write_text(LEVELS.replace("HOST", HOST).replace("20 ms", least))
        app.run(str(study), out=tmp_path / name, report="none")
        (entry,) = StudyFolder(tmp_path / name).content().of_kind(LengthFactor)
        counts.append(8 * entry.factor)
    vetoes = app.compare(f"{tmp_path / 'a'}:before", f"{tmp_path / 'b'}:before").vetoes
    differing = {"key": "files", "baseline": str(counts[0]), "candidate": str(counts[1])}
    assert differing in [veto.figures for veto in vetoes], vetoes


def test_trials_end_where_more_files_have_no_room(tmp_path: Path) -> None:
    from mileage import app

    study, notes = tmp_path / "full.toml", Notes()
    text = LEVELS.replace("HOST", HOST).replace(
        '"metarates.create", "metarates.stat"', '"mdtest.file_create"'
    )
    text = text.replace("[1, 2, 4]", '2\nrecord = "1MiB"').replace("20 ms", "1 h")
    study.write_text(text)
    result = app.run(str(study), out=tmp_path / "study", report="none", progress=notes)
    (entry,) = StudyFolder(tmp_path / "study").content().of_kind(LengthFactor)
    assert entry.factor == result.plan.facts.free_bytes // (8 << 20)
    assert not entry.reached
    assert any("were not reached, because more files have no room" in line for line in notes.lines), (
        notes.lines
    )
