"""Signals that end a study: all alike, none half-way, and one that was ignored stays so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from mileage import app
from mileage.app import plan_execution as session
from mileage.errors import Interrupted
from mileage.execute.signals import count_signals, raise_on_signals
from tests.command import mileage
from tests.execute.conftest import Small, run_keys
from tests.execute.kill_kinds import Kind

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def started(
    folder: Path, arguments: list[str], ignored: tuple[signal.Signals, ...] = ()
) -> subprocess.Popen[str]:
    """`mileage run` when its first run is done, with these signals ignored from its start."""
    names = " ".join(number.name.removeprefix("SIG") for number in ignored)
    shell = ["sh", "-c", f"trap '' {names}\nexec \"$@\"" if names else 'exec "$@"', "sh"]
    process = subprocess.Popen(
        [*shell, sys.executable, "-m", "mileage", "run", *arguments, "--out", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while not (folder / "journal.jsonl").exists() or not run_keys(folder):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_study_is_ended_in_order_and_can_be_resumed(
    number: signal.Signals, small: Small, tmp_path: Path
) -> None:
    process = started(tmp_path / "study", small.virtual(blocks_per_plane=200))
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 3, said
    assert "mileage: interrupted" in said
    assert "To resume: mileage run" in said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_an_ignored_signal_stays_ignored(number: signal.Signals, small: Small, tmp_path: Path) -> None:
    """So it is under nohup(1), and in the background of a shell without job control."""
    process = started(tmp_path / "study", small.virtual(), ignored=(number,))
    for _ in range(3):
        process.send_signal(number)
        time.sleep(0.02)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said


#: A run that does not look whether it is to stop, and six signals meanwhile. In a process of its own, which they end.
DEAF = """
import os, signal, sys, threading, time
from mileage import app
from mileage.errors import Interrupted
from mileage.execute import cycle
from mileage.execute.progress import Silent

perform, inside, over = cycle.perform, threading.Event(), threading.Event()

def deaf(*given, **named):
    inside.set()
    over.wait(30)
    return perform(*given, **{**named, "poll": lambda _bytes, _operations: False})

def press():
    inside.wait(30)
    for _ in range(6):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
    over.set()

class NoteList(Silent):
    def note(self, text):
        print(text)

cycle.perform = deaf
threading.Thread(target=press).start()
try:
    app.run(sys.argv[1], out=sys.argv[2], progress=NoteList())
except Interrupted:
    print("interrupted in order")
"""


def test_many_quick_signals_close_no_journal_under_a_run(tmp_path: Path) -> None:
    """The run is waited for, and its line is written."""
    place, folder = tmp_path / "place", tmp_path / "study"
    place.mkdir()
    study = Kind("directory", "").write(tmp_path, f"dir:{place}")
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", DEAF, str(study), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
        timeout=120,
    )
    assert "interrupted in order" in done.stdout, done
    assert "Waiting for the run in progress to end; to end it by force: kill -9" in done.stdout
    assert len(run_keys(folder)) == 1
    assert mileage("run", str(folder), "--report", "none").returncode == 0


def test_a_signal_while_a_target_is_cleaned_up_is_heard_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    opened = session.open_target

    def open_one(*given: Any, **named: Any) -> Any:
        target = opened(*given, **named)
        cleanup = target.cleanup

        def clean() -> None:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGINT)
            cleanup()

        monkeypatch.setattr(target, "cleanup", clean)
        return target

    monkeypatch.setattr(session, "open_target", open_one)
    study = Kind("directory", "").write(tmp_path, f"dir:{place}")
    with pytest.raises(Interrupted):
        app.run(str(study), out=tmp_path / "study", report="none")
    assert list(place.iterdir()) == []


def test_handlers_are_restored_and_other_threads_have_none() -> None:
    before = [signal.getsignal(number) for number in ENDING]
    stop = threading.Event()
    with count_signals(stop) as received:
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGINT)
    assert (sorted(received), stop.is_set()) == (sorted([signal.SIGHUP, signal.SIGINT]), True)
    with pytest.raises(KeyboardInterrupt), raise_on_signals():
        os.kill(os.getpid(), signal.SIGHUP)
    assert [signal.getsignal(number) for number in ENDING] == before
    found: list[int] = []

    def elsewhere() -> None:
        with count_signals(stop) as heard:
            found.append(len(heard))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [0]
