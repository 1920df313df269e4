"""A rank that is lost is reported at once, whatever the process that leads is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mileage.execute.mpi.leader import LossWatch
from mileage.execute.mpi.messages import Identity, Messages
from tests.execute import mpi_runs
from tests.execute.mpi_runs import entries, finished, started, study, wait_for
from tests.execute.test_mpi_losses import EACH, TASKS, made, table_of, words

pytestmark = pytest.mark.xdist_group("mpi")

needs_mpi = pytest.mark.skipif(bool(mpi_runs.MISSING), reason=f"not here: {mpi_runs.MISSING}")


class Alone:
    """The communicator of rank 0 of two, which nothing is sent over."""

    def Get_rank(self) -> int:  # noqa: N802
        return 0

    def Get_size(self) -> int:  # noqa: N802
        return 2


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def watch_of(process: subprocess.Popen[bytes]) -> tuple[LossWatch, Messages]:
    messages = Messages(Alone())
    start = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
    own = messages.identities[0]
    messages.identities[1] = Identity(1, own.host, process.pid, start, own.boot, own.clock, own.processes)
    return LossWatch(messages), messages


@pytest.mark.parametrize("pidfds", [True, False])
def test_death_is_printed_before_the_handlers_and_reported_once(
    other: subprocess.Popen[bytes],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    pidfds: bool,
) -> None:
    if not pidfds:
        monkeypatch.setattr(os, "pidfd_open", lambda _pid: (_ for _ in ()).throw(OSError("no pidfds")))
    watch, messages = watch_of(other)
    expected = f"{messages.identities[1].words} died"
    output: list[str] = []
    printed: list[str] = []

    def handler(reason: str) -> None:
        printed.append(capfd.readouterr().err)
        output.append(reason)

    with watch.handled_by(handler):
        other.kill()
        wait_for(lambda: watch.found)
        watch.wait()
    watch.find("rank 9 died")
    watch.end()
    assert output == [expected]
    assert printed == [f"mileage: {expected}\n"]
    assert capfd.readouterr().err == ""


def test_handler_is_not_called_after_its_block(other: subprocess.Popen[bytes]) -> None:
    watch, _ = watch_of(other)
    output: list[str] = []
    with watch.handled_by(output.append):
        pass
    other.kill()
    wait_for(lambda: watch.found)
    watch.end()
    assert output == []


def test_end_reports_a_loss_that_nobody_has_looked_for(
    other: subprocess.Popen[bytes], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pidfd_open", lambda _pid: (_ for _ in ()).throw(OSError("no pidfds")))
    monkeypatch.setattr("mileage.execute.mpi.leader._LOOK_MS", 600_000)
    watch, messages = watch_of(other)
    other.kill()
    wait_for(lambda: messages.death(1))
    watch.end()
    assert capfd.readouterr().err == f"mileage: {messages.identities[1].words} died\n"


def test_end_of_all_ranks_is_no_loss(
    other: subprocess.Popen[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    watch, messages = watch_of(other)
    watch.end()
    other.kill()
    wait_for(lambda: messages.death(1))
    assert watch.found is None
    assert capfd.readouterr().err == ""


SLOW = """
import os, sys, threading, time
import mileage.store.journal as journal
from mileage.model.journal_entries import FailedRun
from pathlib import Path

genuine, append = os.fsync, journal.Journal.append

def slow(self, entry):
    if isinstance(entry, FailedRun):
        os.fsync = lambda descriptor: (time.sleep(5), genuine(descriptor))
    append(self, entry)

journal.Journal.append = slow
from mileage.cli import main
main()
"""


@needs_mpi
def test_rank_is_named_when_the_disk_answers_later_than_the_launcher_kills(tmp_path: Path) -> None:
    script, target, out = tmp_path / "slow.py", tmp_path / "target", tmp_path / "out"
    script.write_text(SLOW, encoding="utf-8")
    target.mkdir()
    path = study(tmp_path / "s.toml", target, table_of("mdtest.file_stat", EACH))
    process = started(TASKS, "run", path, "--out", str(out), program=(str(script),))
    wait_for(lambda: made(target, EACH))
    ranks = entries(out, "ranks")[0]["ranks"]
    os.kill(ranks[2]["process"], signal.SIGKILL)
    status, said = finished(process)
    assert status != 0
    assert f"{words(ranks[2])} died" in said
    (failed,) = entries(out, "failed")
    assert failed["message"].startswith(f"{words(ranks[2])} died")
