"""A run in several processes: the figures of as many threads, and none of them left behind, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mileage import _core
from mileage.errors import Interrupted, Refused, RunFailed
from mileage.execute import processes
from mileage.execute.processes import run_in_processes, shares_of
from mileage.plan.workload import Stop, Workload

SPAN = 4 << 20
WAIT_S = 120.0


def workload(threads: int, operations: int) -> str:
    wanted = Workload(
        pattern="shuffled",
        read_percent=40,
        record_bytes=4096,
        span_start_bytes=0,
        span_bytes=SPAN,
        depth=1,
        threads=threads,
        stop=Stop(operations=operations),
        seed=11,
    )
    return wanted.to_json()


def never(_bytes: int, _operations: int) -> bool:
    return False


def counts(record: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the clock."""
    whole = {field: record[field] for field in ("bytes_read", "bytes_written", "ops_read", "ops_written")}
    threads = [(thread["ops_read"], thread["ops_written"]) for thread in record["threads"]]
    return {**whole, "latency": {kind: record["latency"][kind]["count"] for kind in ("read", "write")}} | {
        "threads": threads,
        "buckets": sum(
            count for kind in ("read", "write") for _, count in record["latency"][kind]["buckets"]
        ),
        "series": [sum(record["series"][field]) for field in ("bytes_read", "bytes_written", "ops")],
    }


@pytest.mark.parametrize(("threads", "count"), [(4, 4), (5, 2)])
def test_processes_do_what_threads_do(tmp_path: Path, threads: int, count: int) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(SPAN))
    alone = json.loads(_core.run_file(path, workload(threads, 3000), "{}", never))
    written = path.read_bytes()
    path.write_bytes(bytes(SPAN))
    output: list[tuple[int, int]] = []

    def poll(byte_count: int, operations: int) -> bool:
        output.append((byte_count, operations))
        return False

    together = json.loads(run_in_processes(str(path), workload(threads, 3000), "{}", count, poll))
    assert counts(together) == counts(alone)
    assert counts(alone)["buckets"] == 3000
    assert path.read_bytes() == written
    assert output == sorted(output)
    assert not together["interrupted"]


@pytest.mark.parametrize(("threads", "count"), [(1, 1), (7, 3), (8, 4), (1023, 1000)])
def test_every_thread_is_in_one_share(threads: int, count: int) -> None:
    found = [thread for first, length in shares_of(threads, count) for thread in range(first, first + length)]
    assert found == list(range(threads))
    sizes = {length for _, length in shares_of(threads, count)}
    assert max(sizes) - min(sizes) <= 1
    assert len(shares_of(threads, count)) == count


def test_a_stopped_run_reports_what_was_done(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(SPAN))

    def poll(_bytes: int, operations: int) -> bool:
        return operations > 0

    record = json.loads(run_in_processes(str(path), workload(2, 1 << 40), "{}", 2, poll))
    assert record["interrupted"]
    assert record["ops_read"] > 0


def test_a_refusal_of_one_process_is_reported_as_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_bytes(bytes(SPAN))
    monkeypatch.setattr(processes, "shares_of", lambda _threads, _processes: [(0, 1), (5, 1)])
    began = time.monotonic()
    with pytest.raises(Refused, match="no part of the workload's threads"):
        run_in_processes(str(tmp_path / "data"), workload(2, 100), "{}", 2, never)
    assert time.monotonic() - began < WAIT_S


def test_a_process_that_cannot_begin_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_bytes(bytes(SPAN))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RunFailed, match="process 1 of 2 ended with status 1") as failed:
        run_in_processes(str(tmp_path / "data"), workload(2, 100), "{}", 2, never)
    assert failed.value.cause == "process"


class MeasureProcess:
    """`mileage measure` in three processes, running in a session of its own."""

    def __init__(self, place: Path) -> None:
        self.data, self.temporary = place / "data", place / "tmp"
        self.data.mkdir()
        self.temporary.mkdir()
        words = ["-t", f"dir:{self.data}", "--size", "4MiB", "-w", "random_write", "--processes", "3"]
        self.parent = subprocess.Popen(
            [sys.executable, "-m", "mileage", "measure", *words, "--for", "10min"],
            env={**os.environ, "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def workers(self) -> list[int]:
        """The processes that do a share, once all of them are there."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            found = [pid for pid in self._children() if b"mileage.worker" in command_of(pid)]
            if len(found) == 3:
                return found
            time.sleep(0.05)
        raise AssertionError(f"no three processes: {self.parent.poll()}")

    def _children(self) -> list[int]:
        """Of all its threads: each run has one of its own."""
        tasks = Path(f"/proc/{self.parent.pid}/task").glob("*/children")
        return [int(pid) for task in tasks for pid in task.read_text().split()]

    def end(self, workers: list[int]) -> str:
        """What it says when it has ended with a failure; nothing is left behind."""
        _, output = self.parent.communicate(timeout=WAIT_S)
        assert self.parent.returncode == 3, output
        assert [pid for pid in workers if b"mileage.worker" in command_of(pid)] == []
        assert list(self.temporary.iterdir()) == []
        assert list(self.data.iterdir()) == []
        return output


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def at_work(measuring: MeasureProcess) -> list[int]:
    """Its processes when all have begun."""
    workers = measuring.workers()
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if all(written_by(pid) > 0 for pid in workers):
            return workers
        time.sleep(0.05)
    raise AssertionError("no load")


def written_by(pid: int) -> int:
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def test_a_killed_process_ends_the_run_as_a_named_failure(tmp_path: Path) -> None:
    measuring = MeasureProcess(tmp_path)
    workers = at_work(measuring)
    os.kill(workers[1], signal.SIGKILL)
    output = measuring.end(workers)
    assert "of 3 was killed by SIGKILL before it had done its share" in output
    assert len([line for line in output.splitlines() if line.startswith("mileage:")]) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("early", [True, False])
def test_a_signal_to_all_ends_all(tmp_path: Path, number: signal.Signals, early: bool) -> None:
    measuring = MeasureProcess(tmp_path)
    workers = measuring.workers() if early else at_work(measuring)
    os.killpg(measuring.parent.pid, number)
    output = measuring.end(workers)
    assert "interrupted" in output
    assert "Traceback" not in output


def test_processes_do_not_outlive_their_parent(tmp_path: Path) -> None:
    measuring = MeasureProcess(tmp_path)
    workers = at_work(measuring)
    measuring.parent.kill()
    measuring.parent.communicate(timeout=WAIT_S)
    end = time.monotonic() + WAIT_S
    while any(b"mileage.worker" in command_of(pid) for pid in workers):
        assert time.monotonic() < end
        time.sleep(0.05)


def workers_here() -> list[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    found = [int(pid) for task in tasks for pid in task.read_text().split()]
    return [pid for pid in found if b"mileage.worker" in command_of(pid)]


def test_a_process_that_is_suspended_is_named_and_holds_up_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_bytes(bytes(SPAN))
    monkeypatch.setattr(processes, "_END_S", 2.0)
    suspended: list[int] = []

    def poll(_bytes: int, operations: int) -> bool:
        if operations > 0 and not suspended:
            suspended.append(max(workers_here()))
            os.kill(suspended[0], signal.SIGSTOP)
        return bool(suspended)

    began = time.monotonic()
    # On a busy machine the other process may not end in time either, and is named as well.
    with pytest.raises(RunFailed, match=r"did not end in 2 s when asked to$") as failed:
        run_in_processes(str(tmp_path / "data"), workload(2, 1 << 40), "{}", 2, poll)
    assert f"(process {suspended[0]})" in str(failed.value)
    assert time.monotonic() - began < WAIT_S
    assert workers_here() == []


def test_a_process_that_never_begins_holds_up_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_bytes(bytes(SPAN))
    monkeypatch.setattr(processes, "_END_S", 2.0)
    begin = processes.LocalWorkers.begin

    def begin_suspended(workers: processes.LocalWorkers) -> None:
        begin(workers)
        os.kill(workers.members[0].pid, signal.SIGSTOP)

    monkeypatch.setattr(processes.LocalWorkers, "begin", begin_suspended)
    began = time.monotonic()
    with pytest.raises(Interrupted):
        run_in_processes(str(tmp_path / "data"), workload(2, 100), "{}", 2, lambda _bytes, _operations: True)
    assert time.monotonic() - began < WAIT_S
    assert workers_here() == []


def test_a_process_whose_parent_ended_before_it_is_ready_ends_in_silence() -> None:
    heard, said = os.pipe()
    os.close(heard)
    worker = subprocess.run(
        [sys.executable, "-P", "-m", "mileage.worker"],
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=subprocess.PIPE,
        timeout=WAIT_S,
        check=False,
    )
    os.close(said)
    assert (worker.returncode, worker.stderr) == (3, b"")


def test_a_process_whose_parent_is_killed_while_it_gives_an_order_ends_in_silence() -> None:
    worker = subprocess.run(
        [sys.executable, "-P", "-m", "mileage.worker"],
        input=b'{"kind": "by',
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (worker.returncode, worker.stderr) == (0, b"")
