"""A cycle that is cut short keeps what is on its target: the next one, which would empty it, does not begin."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from mileage import app
from mileage.errors import Interrupted, RunFailed
from mileage.execute import cycle
from mileage.targets.directory import DirectoryTarget
from tests.execute.test_resume import assert_every_run_once

STUDY = """
name = "cut"
target = "dir:{target}"
cycles = 2
[state]
file = "1MiB"
[[stage]]
name = "torture"
torture = ["fill"]
[[stage]]
name = "after"
measure = ["m"]
[measure.m]
workload = "throughput.read"
record = "64KiB"
stop = {{ bytes = "1MiB" }}
repeat = 1
[torture.fill]
workload = "throughput.write"
record = "64KiB"
amount = "1MiB"
"""


@pytest.mark.parametrize("by", ["failure", "Ctrl-C"])
def test_the_next_cycle_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    (tmp_path / "target").mkdir()
    study = tmp_path / "cut.toml"
    study.write_text(STUDY.format(target=tmp_path / "target"), encoding="utf-8")
    genuine, purge = cycle.perform, DirectoryTarget.purge
    purged: list[str] = []

    def perform(target: Any, run: Any, **rest: Any) -> Any:
        if run.role != "measure":
            return genuine(target, run, **rest)
        if by == "Ctrl-C":
            os.kill(os.getpid(), signal.SIGINT)
            while not rest["poll"](0, 0):
                pass
            raise Interrupted()
        raise RunFailed("pulled out", cause="vanished")

    def counted(target: DirectoryTarget) -> str:
        purged.append(str(target.path))
        return purge(target)

    monkeypatch.setattr(cycle, "perform", perform)
    monkeypatch.setattr(DirectoryTarget, "purge", counted)
    with pytest.raises(Interrupted if by == "Ctrl-C" else RunFailed):
        app.run(str(study), out=tmp_path / "out")
    (file,) = (tmp_path / "target").iterdir()
    assert len(purged) == 1
    assert any(file.read_bytes()), "what the torture wrote is what is measured afterwards"
    monkeypatch.setattr(cycle, "perform", genuine)
    app.run(str(tmp_path / "out"))
    assert len(purged) == 2
    assert_every_run_once(tmp_path / "out")


def test_what_is_written_again_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off while it writes again what vanished, a study starts that anew and does not measure the half of it."""
    (tmp_path / "target").mkdir()
    study = tmp_path / "cut.toml"
    study.write_text(STUDY.format(target=tmp_path / "target").replace("cycles = 2", "cycles = 1"), "utf-8")
    genuine = cycle.perform
    seen: list[tuple[str, bool]] = []
    failing = "measure"

    def perform(target: Any, run: Any, **rest: Any) -> Any:
        seen.append((run.role, any(target.path.read_bytes())))
        if run.role == failing:
            raise RunFailed("pulled out", cause="vanished")
        return genuine(target, run, **rest)

    monkeypatch.setattr(cycle, "perform", perform)
    with pytest.raises(RunFailed):
        app.run(str(study), out=tmp_path / "out")
    (file,) = (tmp_path / "target").iterdir()
    file.unlink()
    failing = "torture"
    with pytest.raises(RunFailed):
        app.run(str(tmp_path / "out"))
    failing = ""
    app.run(str(tmp_path / "out"))
    assert seen[2:] == [("torture", False), ("torture", False), ("measure", True)]
    assert_every_run_once(tmp_path / "out")
