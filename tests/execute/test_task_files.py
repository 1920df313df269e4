"""The files of a torture's tasks in a directory: made for each round, read back, removed, as IOR does with its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mileage import app
from mileage.errors import Refused, RunFailed
from mileage.execute import cycle
from tests.execute.test_resume import assert_every_run_once

STUDY = """
name = "tasks"
target = "dir:{target}"
cycles = 1
[state]
file = "8MiB"
[[stage]]
name = "before"
measure = ["m"]
[[stage]]
name = "torture"
torture = ["small", "large"]
[[stage]]
name = "after"
measure = "before"
[measure.m]
workload = "throughput.write"
record = "64KiB"
stop = {{ bytes = "1MiB" }}
repeat = 2
[torture.small]
workload = "throughput.write"
record = "64KiB"
amount = "2MiB"
span = "2MiB"
tasks = 2
rounds = 2
read_back = true
[torture.large]
workload = "throughput.write"
record = "64KiB"
amount = "6MiB"
span = "6MiB"
tasks = 3
rounds = 2
"""
MIB = 1 << 20


class Seen:
    """What stood in the target before and after each torture run: for each file its inode and its size."""

    def __init__(self, target: Path, fail_on: str = "") -> None:
        self._target = target
        self._genuine = cycle.perform
        self._fail_on = fail_on
        self.runs: list[tuple[str, dict[str, tuple[int, int]], dict[str, tuple[int, int]]]] = []

    def files(self) -> dict[str, tuple[int, int]]:
        found = {
            path.name.partition(".dat.")[2]: path.stat() for path in self._target.glob(".mileage-*.dat.*")
        }
        return {name: (status.st_ino, status.st_size) for name, status in sorted(found.items())}

    def __call__(self, target: Any, run: Any, **rest: Any) -> Any:
        if run.key.endswith(self._fail_on) and self._fail_on:
            raise RunFailed("pulled out", cause="ENOSPC")
        before = self.files()
        record = self._genuine(target, run, **rest)
        if run.role == "torture":
            self.runs.append((f"{run.cell} {run.turn}", before, self.files()))
        else:
            assert not before, f"{run.key}: files that a torture left are next to those measured"
        return record


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "target").mkdir()
    file = tmp_path / "tasks.toml"
    file.write_text(STUDY.format(target=tmp_path / "target"), encoding="utf-8")
    return file


def sizes(files: dict[str, tuple[int, int]]) -> list[int]:
    return [size for _, size in files.values()]


def test_each_round_has_files_of_its_own(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Seen(tmp_path / "target")
    monkeypatch.setattr(cycle, "perform", seen)
    app.run(str(study), out=tmp_path / "out")
    names = ["small 1", "small read back 1", "small 2", "small read back 2", "large 1", "large 2"]
    assert [name for name, _, _ in seen.runs] == names
    for name, before, after in seen.runs:
        assert sizes(after) == ([MIB] * 2 if "small" in name else [2 * MIB] * 3)
        assert before == (after if "back" in name else {}), "what is read is what was written, and no more"
    assert list((tmp_path / "target").iterdir()) == []
    assert_every_run_once(tmp_path / "out")


def test_what_is_to_be_read_back_outlives_a_failure_and_nothing_else_does(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Seen(tmp_path / "target", fail_on="small read back round 2")
    monkeypatch.setattr(cycle, "perform", first)
    with pytest.raises(RunFailed, match="pulled out"):
        app.run(str(study), out=tmp_path / "out")
    left = first.files()
    assert sizes(left) == [MIB] * 2
    monkeypatch.undo()
    second = Seen(tmp_path / "target")
    monkeypatch.setattr(cycle, "perform", second)
    app.run(str(tmp_path / "out"))
    assert second.runs[0] == ("small read back 2", left, left)
    assert [name for name, before, _ in second.runs if before] == ["small read back 2"]
    assert list((tmp_path / "target").iterdir()) == []
    assert_every_run_once(tmp_path / "out")


def test_a_file_that_vanished_before_it_was_read_back_is_written_again(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cycle, "perform", Seen(tmp_path / "target", fail_on="small read back round 2"))
    with pytest.raises(RunFailed, match="pulled out"):
        app.run(str(study), out=tmp_path / "out")
    next((tmp_path / "target").glob(".mileage-*.dat.1")).unlink()
    monkeypatch.undo()
    seen = Seen(tmp_path / "target")
    monkeypatch.setattr(cycle, "perform", seen)
    app.run(str(tmp_path / "out"))
    again = ["small 1", "small read back 1", "small 2"]
    assert [name for name, _, _ in seen.runs] == [*again, "small read back 2", "large 1", "large 2"]
    assert list((tmp_path / "target").iterdir()) == []
    assert_every_run_once(tmp_path / "out")


def test_what_a_killed_process_did_not_remove_is_removed_before_anything_is_measured(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Seen(tmp_path / "target")
    monkeypatch.setattr(cycle, "perform", seen)

    def killed(target: Any, run: Any) -> None:
        if run.cell == "large" and run.turn == 2:
            raise RunFailed("killed", cause="rank")
        clear(target, run)

    clear = cycle._clear_after
    monkeypatch.setattr(cycle, "_clear_after", killed)
    with pytest.raises(RunFailed, match="killed"):
        app.run(str(study), out=tmp_path / "out")
    assert sizes(seen.files()) == [2 * MIB] * 3
    monkeypatch.setattr(cycle, "_clear_after", clear)
    app.run(str(tmp_path / "out"))
    assert list((tmp_path / "target").iterdir()) == []
    assert_every_run_once(tmp_path / "out")


def test_the_plan_reports_files_that_do_not_fit_next_to_the_work_file(study: Path, tmp_path: Path) -> None:
    status = os.statvfs(tmp_path)
    most = f"{status.f_bavail * status.f_frsize * 6 // 10 >> 20}MiB"
    text = study.read_text(encoding="utf-8").replace('"8MiB"', f'"{most}"')
    study.write_text(text, encoding="utf-8")
    app.plan(str(study))
    study.write_text(text.replace('"6MiB"', '"100%"'), encoding="utf-8")
    with pytest.raises(Refused, match=r"the work file needs .* are free on"):
        app.plan(str(study))
