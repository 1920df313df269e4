"""Children of IOzone's tests as processes: what children as threads do, and nothing left behind however it ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from mileage import _core
from mileage.dropin.flags import read, tool_named
from mileage.dropin.iozone import asked_of, study_of
from mileage.errors import Refused, RunFailed
from mileage.execute.iozone_processes import ChildProcesses

CHILDREN = 3
RECORD = 4096
FILE = 64 * RECORD


def suite(**changes: Any) -> str:
    value = {
        "mode": "fidelity",
        "tests": [
            "write",
            "read",
            "random",
            "backward",
            "stride",
            "mix",
            "pwrite",
            "pread",
            "fwrite",
            "fread",
        ],
        "file_bytes": FILE,
        "record_bytes": RECORD,
        "workers": CHILDREN,
        "compare": False,
        **changes,
    }
    return json.dumps(value)


def never(_bytes: int, _operations: int) -> bool:
    return False


def ignored(_result: str) -> None:
    return


def counts(results: list[dict[str, Any]]) -> list[Any]:
    """What does not depend on the clock; what each child did when the first was done does."""
    return [
        (
            result["name"],
            result["reported"],
            [result["record"].get(field) for field in ("bytes_read", "bytes_written", "ops_read", "error")],
            [thread["ops_read"] + thread["ops_written"] for thread in result["record"]["threads"]],
            len(result["workers"]["children"]),
        )
        for result in results
    ]


def directory_of(place: Path) -> dict[str, Any]:
    status = place.stat()
    return {"device": status.st_dev, "inode": status.st_ino}


@pytest.mark.parametrize("mode", ["fidelity", "intended"])
def test_processes_do_what_threads_do(tmp_path: Path, mode: str) -> None:
    # Without a stonewall every child does its whole file, so that all counts are fixed.
    asked = suite(mode=mode, stonewall=False, directory=directory_of(tmp_path))
    path = str(tmp_path / "own")
    seen: list[str] = []
    threads = json.loads(_core.run_iozone(path, asked, never, ignored))
    processes = json.loads(ChildProcesses(path, asked, never).run(seen.append))
    assert counts(processes["results"]) == counts(threads["results"])
    assert [json.loads(text)["name"] for text in seen] == [result["name"] for result in threads["results"]]
    assert not processes["interrupted"]
    assert list(tmp_path.iterdir()) == []


def test_children_write_what_threads_write(tmp_path: Path) -> None:
    asked = suite(tests=["write"], keep=True, content="iozone_default")
    for name, run in (
        ("threads", lambda path: _core.run_iozone(path, asked, never, ignored)),
        ("processes", lambda path: ChildProcesses(path, asked, never).run(ignored)),
    ):
        (tmp_path / name).mkdir()
        run(str(tmp_path / name / "own"))
    for child in range(CHILDREN):
        written = (tmp_path / "threads" / f"own.{child}").read_bytes()
        assert len(written) == FILE
        assert (tmp_path / "processes" / f"own.{child}").read_bytes() == written


def children() -> list[int]:
    """Processes that this one started and that do shares of runs."""
    tasks = Path("/proc/self/task").glob("*/children")
    started = [int(pid) for task in tasks for pid in task.read_text().split()]
    return [pid for pid in started if b"mileage.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.parametrize("known", [True, False], ids=["directory_known", "directory_not_known"])
def test_a_killed_child_is_named_and_leaves_nothing(tmp_path: Path, known: bool) -> None:
    seen: list[list[int]] = []

    def poll(byte_count: int, _operations: int) -> bool:
        if byte_count and not seen:
            seen.append(children())
            os.kill(seen[0][1], signal.SIGKILL)
        return False

    directory = directory_of(tmp_path) if known else None
    asked = suite(tests=["write"], file_bytes=1 << 30, record_bytes=1 << 20, osync=True, directory=directory)
    with pytest.raises(RunFailed, match=f"process 2 of {CHILDREN} was killed by SIGKILL") as failed:
        ChildProcesses(str(tmp_path / "own"), asked, poll).run(ignored)
    assert failed.value.cause == "process"
    assert len(set(seen[0])) == CHILDREN
    assert children() == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_somebody_else_stays_when_a_child_is_killed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("somebody else's")

    def poll(byte_count: int, _operations: int) -> bool:
        if byte_count and other.exists():
            other.rename(tmp_path / "own.1")
            os.kill(children()[1], signal.SIGKILL)
        return False

    (tmp_path / "own.1").touch()
    place = directory_of(tmp_path)
    asked = suite(tests=["write"], file_bytes=1 << 30, record_bytes=1 << 20, osync=True, directory=place)
    with pytest.raises(RunFailed):
        ChildProcesses(str(tmp_path / "own"), asked, poll).run(ignored)
    assert [path.name for path in tmp_path.iterdir()] == ["own.1"]
    assert (tmp_path / "own.1").read_text() == "somebody else's"


def test_an_interrupted_set_reports_what_was_done(tmp_path: Path) -> None:
    def poll(byte_count: int, _operations: int) -> bool:
        return byte_count >= CHILDREN * FILE

    asked = suite(tests=["write", "read"], retests=False, pause_ns=10**12)
    done = json.loads(ChildProcesses(str(tmp_path / "own"), asked, poll).run(ignored))
    assert done["interrupted"]
    assert [result["name"] for result in done["results"]] == ["iozone.write"]
    assert list(tmp_path.iterdir()) == []
    assert children() == []


def test_an_error_of_a_file_is_that_of_threads(tmp_path: Path) -> None:
    path = str(tmp_path / "missing" / "own")
    threads = json.loads(_core.run_iozone(path, suite(), never, ignored))["results"]
    processes = json.loads(ChildProcesses(path, suite(), never).run(ignored))["results"]
    assert threads[-1]["record"]["error"]["kind"] == "ENOENT"
    assert processes[-1]["record"]["error"]["kind"] == "ENOENT"
    assert len(processes) == len(threads) == 1


def test_what_cannot_be_done_is_refused_before_a_process_is_started(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="a multiple of"):
        ChildProcesses(str(tmp_path / "own"), suite(file_bytes=FILE + 1), never).run(ignored)


@pytest.mark.parametrize(
    ("words", "processes"), [(["-t", "2"], True), (["-t", "2", "-T"], False), ([], False)]
)
def test_children_are_processes_as_in_iozone(words: list[str], processes: bool) -> None:
    given = read(tool_named("iozone"), ["-i", "0", "-s", "64k", *words])
    study = study_of(given, asked_of(given))
    tables = [table.iozone for table in study.measure.values()]
    assert [table.processes for table in tables if table is not None] == [processes]
