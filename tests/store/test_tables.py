"""Tables say what the journal says, of records of this and of earlier versions."""

import resource
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mileage.model.journal_entries import Run
from mileage.store import write_tables
from mileage.store.journal import JournalContent
from mileage.store.safe_directory import Directory
from tests.entries import record, run

_OLD_SERIES = {
    "interval_ns": 10,
    "bytes_read": [4096, 0, 8192],
    "bytes_written": [0, 0, 0],
    "ops": [1, 0, 2],
    "latency_sum_ns": [7, 0, 30],
    "counters": {},
}
_LATER = {"latency_p50_ns": [7, 0, 10], "latency_p99_ns": [7, 0, 20], "latency_max_ns": [7, 0, 20]}


def _run(number: int, series: dict[str, Any]) -> Run:
    return run(number, record=record(series=series, elapsed_ns=30))


def _latencies(folder: Path, number: int) -> list[tuple[int | None, ...]]:
    query = f"SELECT latency_p50_ns, latency_p99_ns, latency_max_ns FROM '{folder}/series.parquet' WHERE run = {number}"
    return duckdb.connect().execute(f"{query} ORDER BY interval").fetchall()


def test_an_intervals_latencies_are_null_where_nothing_completed_or_nothing_was_kept(tmp_path: Path) -> None:
    content = JournalContent(
        [_run(1, _OLD_SERIES), _run(2, {**_OLD_SERIES, **_LATER})], whole_bytes=0, torn_bytes=0
    )
    write_tables(content, Directory.open(tmp_path))
    assert _latencies(tmp_path, 1) == [(None, None, None)] * 3
    assert _latencies(tmp_path, 2) == [(7, 7, 7), (None, None, None), (10, 20, 20)]
    query = f"SELECT sum(ops), sum(bytes_read) FROM '{tmp_path}/series.parquet' GROUP BY run"
    assert duckdb.connect().execute(query).fetchall() == [(3, 12288), (3, 12288)]


def test_a_full_disk_leaves_no_half_written_table(tmp_path: Path) -> None:
    """A file may have a hundred bytes here: what is held back cannot be written when the tables are closed."""
    content = JournalContent([_run(1, _OLD_SERIES)], whole_bytes=0, torn_bytes=0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write_tables(content, Directory.open(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
