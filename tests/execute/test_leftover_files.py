"""What a killed process leaves: found by name, undone by the next one, and removed by `doctor --repair`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mileage import app
from mileage.scratch import SCRATCH, abandoned, remove_abandoned, scratch_directory
from mileage.targets import open_target
from mileage.targets.directory import DirectoryTarget, remains_in, remove_remains_of_runs
from mileage.targets.file import FileTarget
from mileage.targets.ledger import LEDGER_VARIABLE
from tests.command import mileage
from tests.execute.conftest import run_keys
from tests.execute.kill_kinds import Kind
from tests.execute.mpi_runs import wait_for

HASH = "beefcafe" * 8
WAIT_S = 60.0
METADATA = """
name = "names"
target = "dir:{place}"
[state]
file = "8MiB"
[[stage]]
name = "now"
measure = ["names"]
[measure.names]
workload = "metadata.create"
stop = {{ operations = {files} }}
"""


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory and a ledger of the test's own; the directory."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    yield place
    monkeypatch.undo()


def in_killed_child(act: Callable[[], object]) -> None:
    """Do something in a child process that kills itself with SIGKILL at its end."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def killed_when(ready: Callable[[], bool], *words: str) -> None:
    """Start `mileage WORDS` and kill it with SIGKILL when it is ready."""
    with subprocess.Popen(
        [sys.executable, "-m", "mileage", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        end = time.monotonic() + WAIT_S
        while not ready():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.005)
        process.kill()


def test_a_killed_metadata_run_is_found_and_its_files_removed(tmp_path: Path) -> None:
    place, study = tmp_path / "place", tmp_path / "study.toml"
    place.mkdir()
    study.write_text(METADATA.format(place=place, files=200_000))

    def at_work() -> bool:
        return any(next(found.iterdir(), None) is not None for found in place.glob(".mileage-*.metadata"))

    killed_when(at_work, "run", str(study), "--out", str(tmp_path / "study"))
    (left,) = place.glob(".mileage-*.metadata")
    assert left.name in mileage("doctor", f"dir:{place}").stdout
    repaired = mileage("doctor", "--repair", f"dir:{place}")
    assert repaired.returncode == 0, repaired
    assert f"removed {left}" in " ".join(repaired.stdout.split())
    assert [path.suffix for path in remains_in(place)] == [".dat"], (
        "a study that is resumed needs its work file"
    )
    (kept,) = remains_in(place)
    assert f"{kept.name} is kept" in " ".join(repaired.stdout.split())


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    place, study = tmp_path / "place", tmp_path / "study.toml"
    place.mkdir()
    study.write_text(METADATA.format(place=place, files=50))
    resolved = app.plan(str(study))
    left = place / f".mileage-{resolved.hash[:8]}.metadata"
    (left / "deep").mkdir(parents=True)
    (left / "deep" / "file.0").touch()
    done = mileage("run", str(study), "--out", str(tmp_path / "study"))
    assert done.returncode == 0, done
    assert list(place.iterdir()) == []


def test_the_end_of_a_study_removes_what_is_not_run_again(tmp_path: Path) -> None:
    target = open_target(f"dir:{tmp_path}", plan_hash=HASH)
    target.prepare(1 << 20)
    kept = [tmp_path / ".mileage-00000000.tasks", tmp_path / ".mileage-copy.metadata"]
    for path in kept:
        path.mkdir()
    (tmp_path / ".mileage-beefcafe.tasks" / "0").mkdir(parents=True)
    (tmp_path / ".mileage-beefcafe.dat.iozone.1").touch()
    target.cleanup()
    left = {path.name for path in tmp_path.glob(".mileage-*")}
    assert left == {path.name for path in kept}, "of another study, and of the user's"


def test_what_a_running_study_has_is_not_removed(tmp_path: Path) -> None:
    with open_target(f"dir:{tmp_path}", plan_hash=HASH) as target:
        target.prepare(1 << 20)
        (tmp_path / ".mileage-beefcafe.tasks").mkdir()
        assert remove_remains_of_runs(tmp_path) == []
        target.close()
        assert remove_remains_of_runs(tmp_path) == [tmp_path / ".mileage-beefcafe.tasks"]


def test_a_killed_one_off_is_cleaned_up_by_the_next(tmp_path: Path, own_places: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    words = ("measure", "-t", f"dir:{place}", "-w", "throughput.write", "--size", "8MiB")

    def at_work() -> bool:
        return any(own_places.glob("*/study/journal.jsonl")) and any(place.iterdir())

    killed_when(at_work, *words, "--for", "60s")
    assert remains_in(place)
    (left,) = own_places.iterdir()
    assert str(left) in mileage("doctor").stdout.replace("\n", "")
    done = mileage(*words, "--operations", "50")
    assert done.returncode == 0, done
    assert list(place.iterdir()) == list(own_places.iterdir()) == []


def test_a_killed_report_leaves_nothing_after_the_next(tmp_path: Path, finished: Callable[..., Path]) -> None:
    folder = finished(tmp_path / "study")
    names = {path.name for path in folder.iterdir()}

    def die() -> None:
        with scratch_directory(folder) as place:
            (place / "samples.jsonl").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

    in_killed_child(die)
    assert {path.name for path in folder.iterdir()} != names
    assert mileage("report", str(folder)).returncode == 0
    assert {path.name for path in folder.iterdir()} == names


def test_a_scratch_directory_is_removed_when_nobody_holds_it(own_places: Path) -> None:
    def die() -> None:
        with scratch_directory() as place:
            (place / "file").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    with scratch_directory() as held:
        in_killed_child(die)
        (left,) = set(own_places.iterdir()) - {held}
        assert abandoned() == [left]
        link = own_places / f"{SCRATCH}link"
        link.symlink_to(held)
        (own_places / f"{SCRATCH}file").touch()
        assert remove_abandoned() == [left]
        assert held.is_dir()
    assert {path.name for path in own_places.iterdir()} == {f"{SCRATCH}link", f"{SCRATCH}file"}


def test_one_that_is_taken_between_making_and_locking_is_made_again(
    own_places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    make, taken = tempfile.mkdtemp, []

    def steal(**named: object) -> str:
        made = make(**named)  # type: ignore[call-overload]
        if not taken:
            taken.append(made)
            assert remove_abandoned() == [Path(made)]
        return str(made)

    monkeypatch.setattr(tempfile, "mkdtemp", steal)
    with scratch_directory() as place:
        assert place.is_dir()
        assert str(place) != taken[0]


def test_the_processes_of_a_killed_sweep_end() -> None:
    script = "import time; from mileage.execute.mpi.futures import spread\n"
    script += "spread(time.sleep, [0.1] * 5000, processes=2)"
    paths = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": paths}) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")

        def workers() -> list[str]:
            pids = children.read_text().split()
            return [pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

        wait_for(lambda: len(workers()) == 2 and all(_is_ready(pid) for pid in workers()), WAIT_S)
        left = workers()
        process.kill()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left), WAIT_S)


def _is_ready(pid: str) -> bool:
    """Whether a process of a pool watches its parent, from a second thread."""
    return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1


def test_the_command_that_was_killed_resumes_a_file_target(tmp_path: Path) -> None:
    """The file that the study made is its own, also when the study file is named again."""
    study = Kind("file", "").write(tmp_path, f"file:{tmp_path}/data")
    folder = tmp_path / "study"

    def at_work() -> bool:
        return (folder / "journal.jsonl").exists() and bool(run_keys(folder))

    killed_when(at_work, "run", str(study), "--out", str(folder))
    assert (tmp_path / "data").stat().st_size == 8 << 20
    assert mileage("doctor", "--repair", f"file:{tmp_path}/data").returncode == 0
    done = mileage("run", str(study), "--out", str(folder), "--report", "none")
    assert done.returncode == 0, done
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("target", ["dir:{place}", "file:{place}/data"])
@pytest.mark.parametrize("cut", ["before the clean-up", "before the end was recorded"])
def test_a_study_that_was_killed_after_its_last_run_is_cleaned_up_by_the_next(
    target: str, cut: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, folder = tmp_path / "place", tmp_path / "study"
    place.mkdir()
    study = Kind("any", "").write(tmp_path, target.format(place=place))
    with monkeypatch.context() as patched:
        for kind in (DirectoryTarget, FileTarget):
            patched.setattr(kind, "cleanup", lambda _target: None)
        app.run(str(study), out=folder, report="none")
    assert list(place.iterdir()), "the work file"
    if cut == "before the end was recorded":
        journal = folder / "journal.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    app.run(str(folder), report="none")
    assert list(place.iterdir()) == []
    app.run(str(folder), report="none")
    assert list(place.iterdir()) == []
