"""Workloads that are programs: what is counted, what fails, and that nothing runs unless it was allowed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mileage.errors import Interrupted, Refused, RunFailed
from mileage.execute.command import perform_command
from mileage.model.journal_entries import Run
from mileage.model.run_record import RunRecord
from mileage.plan.external_program import Program
from mileage.plan.file_job import Programs
from mileage.plan.sizes import parse_time_ns
from mileage.store import StudyFolder
from tests.command import mileage

STUDY = """
name = "build"
question = "Is the build slower on this storage?"
target = "dir:TARGET"
[[stage]]
name = "before"
measure = ["build"]
[[stage]]
name = "after"
measure = "before"
[workload.compile]
command = ["sh", "-c", "echo built > out; cat out > copy"]
before = ["touch", "fresh"]
cleanup = ["rm", "-f", "out", "copy", "fresh"]
[measure.build]
workload = "compile"
repeat = 3
"""
WRITES = (
    "import os\nf = open('f', 'wb', 0)\nfor _ in range(256): f.write(bytes(4096))\nos.fsync(f.fileno())\n"
)
WAIT_S = 120.0
BURNS = "import time\nwhile time.process_time() < 0.3: pass\n"


def never(_bytes: int, _operations: int) -> bool:
    return False


def run(tmp_path: Path, *argv: str, **keys: str) -> RunRecord:
    timeout_ns = parse_time_ns(keys["timeout"]) if "timeout" in keys else 0
    return perform_command(Program.running(Programs(argv), timeout_ns), tmp_path, "it", never)


def test_bytes_are_those_of_the_program_and_of_what_it_waited_for(tmp_path: Path) -> None:
    record = run(tmp_path, "sh", "-c", f'{sys.executable} -c "{WRITES}"; true')
    # The interpreter writes nothing else; it reads its own files.
    assert record.bytes_written == 1 << 20
    assert record.bytes_read > 0
    assert record.counters["command_writes"] == 256
    assert (tmp_path / "f").stat().st_size == 1 << 20


def test_time_and_processor_time(tmp_path: Path) -> None:
    started = time.monotonic()
    record = run(tmp_path, sys.executable, "-c", BURNS)
    assert 0.3e9 <= record.elapsed_ns <= (time.monotonic() - started) * 1e9
    assert record.counters["command_user_us"] + record.counters["command_system_us"] >= 0.29e6


@pytest.mark.parametrize(
    ("argv", "output"),
    [
        (("sh", "-c", "echo no such luck; exit 3"), "ended with status 3: no such luck"),
        (("no-such-program",), "No such file or directory"),
        (("sh", "-c", "kill -9 $$"), "ended with status -9"),
    ],
)
def test_a_program_that_fails_fails_its_run_with_its_last_words(
    tmp_path: Path, argv: tuple[str, ...], output: str
) -> None:
    with pytest.raises(RunFailed, match=output) as failure:
        run(tmp_path, *argv)
    assert failure.value.cause == "command"


def test_a_program_that_takes_too_long_is_ended_with_all_of_its_children(tmp_path: Path) -> None:
    script = "sleep 60 & echo $! > child; wait"
    with pytest.raises(RunFailed, match=r"did not end within 2 s"):
        run(tmp_path, "sh", "-c", script, timeout="2 s")
    child = int((tmp_path / "child").read_text())
    until(lambda: has_ended(child))


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    job = Program.running(Programs(("sleep", "60"), cleanup=("touch", "cleaned")))
    with pytest.raises(Interrupted):
        perform_command(job, tmp_path, "it", lambda _bytes, _operations: True)
    assert (tmp_path / "cleaned").exists()


def written(tmp_path: Path) -> Path:
    (tmp_path / "target").mkdir()
    study = tmp_path / "build.toml"
    study.write_text(STUDY.replace("TARGET", str(tmp_path / "target")))
    return study


def test_a_study_of_a_program_is_refused_unless_commands_are_allowed(tmp_path: Path) -> None:
    from mileage import app

    study, folder = written(tmp_path), tmp_path / "study"
    result = mileage("run", str(study), "--out", str(folder))
    assert result.returncode == 2
    assert "runs programs (touch fresh; sh -c 'echo built > out; cat out > copy'" in result.stderr
    assert "--allow-commands" in result.stderr
    assert not folder.exists()
    assert not any((tmp_path / "target").iterdir())
    planned = mileage("plan", str(study))
    assert "with --allow-commands only" in planned.stdout
    with pytest.raises(Refused):
        app.run(str(study), out=folder)


def test_a_study_of_a_program_is_judged_by_its_time(tmp_path: Path) -> None:
    study, folder = written(tmp_path), tmp_path / "study"
    result = mileage("run", str(study), "--out", str(folder), "--allow-commands")
    assert result.returncode == 0, result.stderr
    assert "compile" in result.stdout
    runs = list(StudyFolder(folder).content().of_kind(Run))
    assert len(runs) == 6
    assert all(entry.record.elapsed_ns > 0 for entry in runs)
    assert not any(path.name in ("out", "copy", "fresh") for path in (tmp_path / "target").iterdir())
    assert os.path.getsize(folder / "report.html") > 10_000


@pytest.mark.parametrize(
    ("found", "changed", "output"),
    [
        ('command = ["sh"', "command = []\n#", "expected a program and its arguments"),
        ("repeat = 3", 'record = "4KiB"', "measure.build.record: has no effect on compile, a program"),
        ("repeat = 3", 'api = "uring"', "has no effect on programs, which know timeout"),
        ("repeat = 3", 'metric = "iops"', 'compile is a program; expected metric = "time"'),
        ("dir:TARGET", "virtual:plain-64gib", "expected dir:PATH"),
    ],
)
def test_what_makes_no_sense_for_a_program_is_refused(
    tmp_path: Path, found: str, changed: str, output: str
) -> None:
    from mileage import app

    study = written(tmp_path)
    study.write_text(STUDY.replace(found, changed, 1).replace("TARGET", str(tmp_path / "target")))
    with pytest.raises(Refused, match=output.replace("[", r"\[")):
        app.plan(str(study))


def test_why_a_program_failed_is_not_hidden_by_what_cleans_up(tmp_path: Path) -> None:
    job = Program.running(Programs(("sh", "-c", "echo disk on fire; exit 3"), cleanup=("rm", "out")))
    with pytest.raises(
        RunFailed, match=r"status 3: disk on fire; it: cleaning up: rm out ended with status 1"
    ):
        perform_command(job, tmp_path, "it", never)
    job = Program.running(Programs(("sleep", "60"), cleanup=("rm", "out")))
    with pytest.raises(Interrupted, match=r"interrupted.*; it: cleaning up: rm out ended with status 1"):
        perform_command(job, tmp_path, "it", lambda _bytes, _operations: True)


def test_processes_that_outlive_the_program_are_noted(tmp_path: Path) -> None:
    record = run(tmp_path, "sh", "-c", "sleep 60 & echo $! > child")
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    assert [note for note in record.notes if "were still running after its end" in note]
    assert run(tmp_path, "sh", "-c", "sleep 0 & wait").notes == []


def test_a_zombie_process_is_not_noted(tmp_path: Path) -> None:
    # It stays what it is until its parent, which is in a group of its own, has waited for it.
    script = (
        "import os, time\n"
        "group, child = os.getpgrp(), os.fork()\n"
        "if child == 0:\n"
        "    grandchild = os.fork()\n"
        "    if grandchild == 0: os._exit(0)\n"
        "    os.waitid(os.P_PID, grandchild, os.WEXITED | os.WNOWAIT)\n"
        "    os.setsid()\n"
        "    time.sleep(10)\n"
        "    os._exit(0)\n"
        "while os.getpgid(child) == group: time.sleep(0.01)\n"
    )
    assert run(tmp_path, sys.executable, "-c", script).notes == []


@pytest.mark.parametrize("compares", [True, False])
def test_a_study_says_that_processes_outlive_the_program(tmp_path: Path, compares: bool) -> None:
    study, folder = written(tmp_path), tmp_path / "study"
    text = study.read_text().replace("echo built > out", "sleep 10 & echo built > out")
    after = '[[stage]]\nname = "after"\nmeasure = "before"\n'
    assert after in text
    study.write_text(text if compares else text.replace(after, ""))
    result = mileage("run", str(study), "--out", str(folder), "--allow-commands")
    assert result.returncode == 0, result.stderr
    output = "compile: processes that it started were still running after its end"
    assert output in " ".join(result.stdout.split())
    assert output in (folder / "report.html").read_text()


def test_a_program_does_not_outlive_a_mileage_that_is_killed(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; from mileage.execute.command import perform_command; "
        "from mileage.plan.file_job import Programs; from mileage.plan.external_program import Program; "
        "job = Program.running(Programs(('sh', '-c', 'sleep 60 & echo $! $$ > pids; wait'))); "
        f"perform_command(job, Path({str(tmp_path)!r}), 'it', lambda _bytes, _operations: False)"
    )
    mileage = subprocess.Popen([sys.executable, "-c", script])
    until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text().endswith("\n"))
    # It waits for the program by a pidfd, once it has named it to whoever looks after it.
    until(lambda: any("pidfd" in name for name in open_files(mileage.pid)))
    mileage.kill()
    mileage.wait()
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        until(lambda pid=pid: has_ended(pid))


def open_files(pid: int) -> list[str]:
    """What the descriptors of a process lead to, as far as they stay open meanwhile."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(os.readlink(link))
    return found


def has_ended(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)
