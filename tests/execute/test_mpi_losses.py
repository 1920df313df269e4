"""Ranks that are lost: killed in a phase of metarates or mdtest, stopped, or cut off with their host."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from mileage.execute.mpi.messages import TIMEOUT_VARIABLE
from tests.execute import mpi_runs
from tests.execute.mpi_runs import (
    cut_off,
    entries,
    finished,
    hosts,
    no_namespaces,
    run,
    started,
    study,
    wait_for,
)

pytestmark = pytest.mark.xdist_group("mpi")

needs_mpi = pytest.mark.skipif(bool(mpi_runs.MISSING), reason=f"not here: {mpi_runs.MISSING}")
needs_hosts = pytest.mark.skipif(bool(no_namespaces()), reason=no_namespaces())

LIMIT_S = 60.0
"""Within so long a run with a lost rank is over: a second, and what a busy machine makes of it."""
SILENCE_S = 3.0
"""The time-out that these tests set."""
TASKS = 4
EACH = 20_000
"""Names of each task, at first."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, where there is one."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as place:
        yield Path(place)


def there(target: Path, family: str, number: int) -> bool:
    """Whether a file of the first task is there, by its number; names are made and removed in order."""
    name = f"mdtest_tree.0/file.mdtest.0.{number}" if family == "mdtest" else f"n0f{number}"
    return any(target.glob(f".mileage-*.tasks/{name}"))


def made(target: Path, each: int, family: str = "mdtest") -> bool:
    """Whether all files of the first task are there."""
    return there(target, family, 0) and there(target, family, each - 1)


def being_made(target: Path, each: int) -> bool:
    return there(target, "mdtest", 0) and not there(target, "mdtest", each - 1)


def being_removed(target: Path, each: int) -> bool:
    # In this order: while they are made, the first is there before the last.
    return there(target, "mdtest", each - 1) and not there(target, "mdtest", 0)


def trees_are_made(target: Path, _each: int) -> bool:
    """Whether a task has made more than a hundred directories; a whole listing would take longer than the phase."""
    try:
        for tree in target.glob(".mileage-*.tasks/*"):
            with os.scandir(tree) as found:
                if sum(1 for _ in islice(found, 101)) > 100:
                    return True
    except (FileNotFoundError, NotADirectoryError):
        pass
    return False


PHASES: dict[str, Callable[[Path, int], bool]] = {
    "metarates.utime": lambda target, each: made(target, each, "metarates"),
    "mdtest.file_create": being_made,
    "mdtest.file_stat": made,
    "mdtest.file_read": made,
    "mdtest.file_remove": being_removed,
    "mdtest.tree_create": trees_are_made,
}


def table_of(phase: str, each: int) -> str:
    """The study's table of a phase with this number of names for each task."""
    head = f'[measure.names]\nworkload = ["{phase}"]\nthreads = {TASKS}\nrepeat = 1\n'
    if phase == "mdtest.tree_create":
        return f'{head}tree = "1x{2 * each}"\nstop = {{ operations = {TASKS * (2 * each + 1)} }}\n'
    return f"{head}stop = {{ operations = {TASKS * each} }}\n"


def in_phase(process: Any, look: Callable[[], Any]) -> Any:
    """What `look` finds while the ranks work. AssertionError with what they and their launcher said if nothing."""
    ended = object()
    try:
        found = wait_for(lambda: look() or (ended if process.poll() is not None else None))
    except AssertionError:
        found = ended
    if found is not ended or (found := look()):
        return found
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        said, _ = process.communicate(timeout=SILENCE_S)
    except subprocess.TimeoutExpired as cut:
        # A daemon on another host, which is not of this group, keeps the pipe open.
        said = cut.output
    raise AssertionError(f"no rank has begun: {said!r}")


def begun(
    folder: Path,
    target: Path,
    phase: str,
    launcher: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> tuple[Any, Path, Any]:
    """A study of one phase that four ranks are in; its launcher, its folder, and who the ranks are.

    A phase takes a fifth of a second; where it went by unseen, it is done once more with twice the names.
    """
    inside = PHASES[phase]
    for attempt in range(5):
        each, out = EACH << attempt, folder / f"out-{attempt}"
        path = study(folder / "s.toml", target, table_of(phase, each))
        process = started(TASKS, "run", path, "--out", str(out), launcher=launcher, environment=environment)
        seen = in_phase(process, lambda each=each, out=out: inside(target, each) or entries(out, "run"))
        ranks = entries(out, "ranks")[0]["ranks"]
        if not entries(out, "run"):
            return process, out, ranks
        status, said = finished(process)
        assert (status, bool(seen)) == (0, True), said
    raise AssertionError("the phase went by unseen five times")


def resumes(out: Path, target: Path) -> None:
    """The study is done to its end, and nothing is left in its target."""
    assert not entries(out, "run")
    run(TASKS, "run", str(out))
    assert [entry["run"] for entry in entries(out, "run")] == [0]
    assert not list(target.iterdir())


def words(rank: dict[str, Any]) -> str:
    return f"rank {rank['rank']} (host {rank['host']}, process {rank['process']})"


@needs_mpi
@pytest.mark.sampled(1)
@pytest.mark.parametrize("phase", PHASES)
def test_a_rank_that_is_killed_among_names_is_named(tmp_path: Path, memory: Path, phase: str) -> None:
    process, out, ranks = begun(tmp_path, memory, phase)
    os.kill(ranks[2]["process"], signal.SIGKILL)
    status, said = finished(process, wait_s=LIMIT_S)
    assert status != 0
    assert f"{words(ranks[2])} died" in said
    assert next(entry["message"] for entry in entries(out, "failed")).startswith(f"{words(ranks[2])} died")
    resumes(out, memory)


STUBBORN = """
name = "ranks"
target = "dir:TARGET"
[[stage]]
name = "now"
measure = ["program"]
[workload.program]
command = ["sh", "-c", "trap '' TERM; echo $$ > begun; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done"]
[measure.program]
workload = "program"
repeat = 1
"""


@needs_mpi
def test_a_rank_killed_during_a_program_is_named_and_the_program_ended(tmp_path: Path, memory: Path) -> None:
    path, out = tmp_path / "s.toml", tmp_path / "out"
    path.write_text(STUBBORN.replace("TARGET", str(memory)), encoding="utf-8")
    process = started(2, "run", str(path), "--out", str(out), "--allow-commands")
    program = int(wait_for(lambda: (memory / "begun").exists() and (memory / "begun").read_text().strip()))
    ranks = entries(out, "ranks")[0]["ranks"]
    os.kill(ranks[1]["process"], signal.SIGKILL)
    status, said = finished(process, wait_s=LIMIT_S)
    assert status != 0
    assert f"{words(ranks[1])} died" in said
    assert next(entry["message"] for entry in entries(out, "failed")).startswith(f"{words(ranks[1])} died")
    wait_for(lambda: not Path(f"/proc/{program}").exists())


HALF_SENT = """
import os, signal, sys, time
from mpi4py import MPI
from mileage.execute.mpi.messages import Messages

messages = Messages(MPI.COMM_WORLD)
if messages.rank == 1:
    messages.send(0, {"pid": os.getpid()})
    messages.flush(10.0)
    messages.send(0, {"long": "x" * (1 << 24)})
    os.kill(os.getpid(), signal.SIGSTOP)
    messages.flush(30.0)
    sys.exit()

def until(what, limit_s):
    found, end_s = [], time.monotonic() + limit_s
    while not found and time.monotonic() < end_s:
        found = [message for _, message in messages.receive() if what in message]
        time.sleep(0.002)
    return found

(first,) = until("pid", 30.0)
state = lambda: open(f"/proc/{first['pid']}/stat").read().rpartition(")")[2].split()[0]
while state() != "T":
    time.sleep(0.002)
print("half:", until("long", 2.0), flush=True)
os.kill(first["pid"], signal.SIGCONT)
print("whole:", [len(message["long"]) for message in until("long", 30.0)], flush=True)
"""


@needs_mpi
def test_a_message_that_stays_half_sent_holds_nobody_up(tmp_path: Path) -> None:
    script = tmp_path / "messages.py"
    script.write_text(HALF_SENT)
    ways = ("--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "self,tcp")
    process = started(2, launcher=ways, program=(str(script),))
    status, said = finished(process)
    assert (status, said.splitlines()) == (0, ["half: []", "whole: [16777216]"]), said


def silence_of(lost: Sequence[dict[str, Any]], said: str) -> float:
    """For how many seconds one of these ranks was not heard of, as is said of it."""
    for rank in lost:
        if found := re.search(re.escape(words(rank)) + r" has not been heard of for (\d+) s", said):
            return float(found[1])
    raise AssertionError(f"none of the lost ranks is named: {said}")


@needs_mpi
def test_a_rank_that_falls_silent_is_named(tmp_path: Path, memory: Path) -> None:
    timeout = {TIMEOUT_VARIABLE: f"{SILENCE_S:g}"}
    process, out, ranks = begun(tmp_path, memory, "mdtest.file_create", environment=timeout)
    os.kill(ranks[2]["process"], signal.SIGSTOP)
    status, said = finished(process, wait_s=LIMIT_S)
    assert status != 0
    assert SILENCE_S <= silence_of([ranks[2]], said) < LIMIT_S
    (failed,) = entries(out, "failed")
    assert failed["message"].startswith(f"{words(ranks[2])} has not been heard of")
    for rank in ranks:
        wait_for(lambda rank=rank: not Path(f"/proc/{rank['process']}").exists())
    resumes(out, memory)


@needs_mpi
@needs_hosts
def test_a_host_that_is_cut_off_is_named_and_its_ranks_end_themselves(tmp_path: Path, memory: Path) -> None:
    timeout = {TIMEOUT_VARIABLE: f"{SILENCE_S:g}"}
    with hosts(tmp_path) as launcher:
        process, out, ranks = begun(tmp_path, memory, "mdtest.file_create", launcher, timeout)
        cut_off()
        failed = wait_for(lambda: entries(out, "failed"), wait_s=LIMIT_S)
        lost = [rank for rank in ranks if rank["host"] != ranks[0]["host"]]
        assert len(lost) == 2
        assert SILENCE_S <= silence_of(lost, failed[0]["message"]) < LIMIT_S
        for rank in ranks:
            wait_for(lambda rank=rank: not Path(f"/proc/{rank['process']}").exists(), wait_s=LIMIT_S)
        # The launcher waits for its own daemon on the other host, which it no longer reaches.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    resumes(out, memory)


def children(pid: int) -> list[str]:
    """The processes that a process has started, as paths."""
    found = [place.read_text() for place in Path(f"/proc/{pid}/task").glob("*/children")]
    return [f"/proc/{child}" for child in " ".join(found).split()]


@needs_mpi
def test_ranks_end_when_their_launcher_is_killed_before_they_have_met(tmp_path: Path) -> None:
    """In MPI_Init a rank does not hear of it: it would wait for another 40 to 60 s."""
    process = started(3, "run", "degradation", "--out", str(tmp_path / "out"))
    wait_for(lambda: len(children(process.pid)) == 3)
    ranks = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: not any(os.path.exists(rank) for rank in ranks), wait_s=25.0)
