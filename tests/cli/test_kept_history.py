"""`mileage measure --append`: a folder of studies of one target, one for each measurement or session."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mileage as package
from mileage import app
from mileage.app import kept_history
from mileage.errors import Interrupted
from tests.command import mileage

DRIVE = ("-t", "virtual:plain-64gib", "-w", "random_write", "--operations", "200", "--repeat", "2")
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(-\d+)?")


@pytest.fixture(autouse=True)
def _no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILEAGE_REPORT", "none")


def appended(folder: Path, *words: str, status: int = 0) -> str:
    done = mileage("measure", *(words or DRIVE), "--save", str(folder), "--append")
    assert done.returncode == status, done.stderr
    return done.stderr


def studies(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((one / "plan.json").read_text())["study"] for one in sorted(folder.iterdir())]


def test_each_call_adds_a_study_with_a_seed_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        appended(tmp_path / "kept")
    package.measure(
        "virtual:plain-64gib", "random_write", save=tmp_path / "kept", append=True, operations=200
    )
    assert all(STAMP.fullmatch(one.name) for one in (tmp_path / "kept").iterdir())
    assert [one["seed"] for one in studies(tmp_path / "kept")] == [1, 2, 3]


@pytest.mark.parametrize("what", ["another target", "a file", "a study", "an import"])
def test_a_folder_with_anything_else_is_refused_and_not_written(tmp_path: Path, what: str) -> None:
    kept = tmp_path / "kept"
    words = DRIVE
    appended(kept)
    if what == "another target":
        words = ("-t", "virtual:plain-64gib,program_us=900", *DRIVE[2:])
    elif what == "a file":
        (kept / "note.txt").touch()
    elif what == "a study":
        kept = next(kept.iterdir())
    else:
        table = tmp_path / "table.csv"
        table.write_text("cell,repetition,value,unit\na,1,5,MB/s\n")
        assert mileage("import", str(table), "--out", str(kept / "other")).returncode == 0
    before = sorted(kept.rglob("*"))
    appended(kept, *words, status=2)
    assert sorted(kept.rglob("*")) == before


def test_a_measurement_that_is_refused_or_fails_is_not_kept(tmp_path: Path) -> None:
    appended(tmp_path / "kept", "-t", f"dir:{tmp_path}", "--size", "1000TiB", status=2)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--append",),
        ("--save", "kept", "--sessions", "2"),
        ("--save", "kept", "--append", "--every", "1s"),
        ("--save", "kept", "--append", "--sessions", "1"),
        ("--save", "kept", "--append", "--sessions", "2", "--every", "1s"),
        ("--save", "kept", "--append", "--sessions", "2", "--session", "monday"),
        ("--save", "kept", "--append", "--sessions", "2", "--log", "log.csv"),
        ("--save", "kept", "--session", 101 * "a"),
    ],
)
def test_options_that_do_not_fit_each_other_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = mileage("measure", *DRIVE, *words, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("every", [(), ("--every", "soon")])
def test_sessions_of_a_real_target_need_a_time_between_them(tmp_path: Path, every: tuple[str, ...]) -> None:
    appended(tmp_path / "kept", "-t", f"dir:{tmp_path}", "--sessions", "2", *every, status=2)
    assert list(tmp_path.iterdir()) == []


def test_a_session_has_the_name_that_is_given(tmp_path: Path) -> None:
    appended(tmp_path / "kept", *DRIVE, "--session", "monday")
    assert studies(tmp_path / "kept")[0]["session"] == "monday"


def test_simulated_sessions_are_measured_at_once(tmp_path: Path) -> None:
    done = mileage("measure", *DRIVE, "--save", "kept", "--append", "--sessions", "3", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["sessions"]
    assert [Path(one["study"]).name for one in found] == sorted(os.listdir(tmp_path / "kept"))
    assert all(len(one["cells"]) == 1 for one in found)


@pytest.mark.slow
def test_sessions_of_one_command_are_said_to_be_one_visit(tmp_path: Path) -> None:
    """Four sessions within seconds count as four, and the comparison says that they were on one boot."""
    there = ("-t", f"dir:{tmp_path / 'place'}", "-w", "random_read", "--size", "1MiB", "--operations", "2000")
    (tmp_path / "place").mkdir()
    history, candidate = tmp_path / "kept", tmp_path / "candidate"
    began = time.monotonic()
    appended(history, *there, "--repeat", "2", "--sessions", "4", "--every", "1s")
    assert time.monotonic() - began >= 3
    assert [one["session"] for one in studies(history)] == sorted(os.listdir(history))
    assert os.listdir(tmp_path / "place") == []
    assert mileage("measure", *there, "--repeat", "2", "--save", str(candidate)).returncode == 0
    found = app.history([str(history), str(candidate)])
    assert found.sessions == (4, 1)
    (caveat,) = [one for one in found.caveats if one.code == "sessions-of-one-visit"]
    assert (caveat.severity, caveat.sides, caveat.figures["sessions"]) == ("informs", ("baseline",), 4)


@pytest.mark.slow
def test_interrupted_sessions_keep_the_finished_ones(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    words = ("-t", "dir:place", "-w", "random_read", "--size", "1MiB", "--for", "1500ms")
    command = [sys.executable, "-m", "mileage", "measure", *words, "--save", "kept", "--append"]
    process = subprocess.Popen(
        [*command, "--sessions", "50", "--every", "1ms"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while not process.stdout.readline().startswith("Study folder:"):
        assert process.poll() is None
    # In the second measurement: its folder is there.
    while len(os.listdir(tmp_path / "kept")) < 2:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    kept = sorted(os.listdir(tmp_path / "kept"))
    # One that was finished when the signal came is kept, printed or not.
    assert len(kept) - 1 - printed.count("Study folder:") in (0, 1)
    assert [app.load(tmp_path / "kept" / name).outcome().caveats for name in kept] == [[]] * len(kept)
    assert os.listdir(tmp_path / "place") == []


def test_a_signal_while_a_folder_is_made_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made_and_interrupted(_: str, place: Path, *, parents: bool) -> bool:
        place.mkdir(parents=parents)
        raise Interrupted("now")

    monkeypatch.setattr(kept_history, "make_directory", made_and_interrupted)
    with pytest.raises(Interrupted), kept_history.kept_study(tmp_path / "history" / "one"):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_studies_of_one_session_are_no_history(tmp_path: Path) -> None:
    """Four calls within minutes on one boot are one session, which shows no spread between sessions."""
    there = ("-t", f"dir:{tmp_path / 'place'}", "-w", "random_read", "--size", "1MiB", "--operations", "500")
    (tmp_path / "place").mkdir()
    for _ in range(4):
        appended(tmp_path / "kept", *there)
    done = mileage("compare", "--history", str(tmp_path / "kept"))
    assert done.returncode == 2
    assert done.stderr.startswith("mileage: 1 session: a history needs")
