"""Jobs of the compiled core: what they are given and what they answer, and that stopping them leaves nothing."""

import json
import signal
import threading
from pathlib import Path

import pytest

from mileage import _core
from mileage.errors import Refused


def test_a_metadata_run_answers_a_record(tmp_path: Path) -> None:
    record = json.loads(
        _core.run_metadata(tmp_path, json.dumps({"operation": "stat", "files": 50, "threads": 2}))
    )
    assert record["ops_metadata"] == record["latency"]["metadata"]["count"] == 50
    assert [thread["ops_metadata"] for thread in record["threads"]] == [25, 25]
    assert record["error"] is None
    assert not record["interrupted"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("metadata", "said"),
    [('{"files": 0}', "files is 0"), ('{"fils": 1}', "unknown field `fils`"), ('"stat"', "metadata: ")],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, metadata: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        _core.run_metadata(tmp_path, metadata)


def test_poll_ends_a_run_and_it_removes_its_files(tmp_path: Path) -> None:
    asked: list[int] = []

    def poll(_bytes: int, operations: int) -> bool:
        asked.append(operations)
        return operations > 0

    record = json.loads(_core.run_metadata(tmp_path, json.dumps({"files": 30_000_000}), poll))
    assert record["interrupted"]
    assert 0 < record["ops_metadata"] < 30_000_000
    assert asked == sorted(asked)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_raised_after_the_files_were_removed(tmp_path: Path) -> None:
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        _core.run_metadata(tmp_path, json.dumps({"files": 30_000_000}))
    assert list(tmp_path.iterdir()) == []
