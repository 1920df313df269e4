"""Tables derived from the journal, written as Parquet by DuckDB.

Rows are ordered by run, whatever the order in which runs finished, and hold nothing of the wall clock: two studies
on a virtual drive with one seed give the same bytes. Wall-clock times stay in the journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from mileage.record.journal import JournalContent

Row = dict[str, Any]
Measured = tuple[str, float | None, bool]
_IDENTITY = ("run", "cycle", "arm", "stage", "role", "block", "measure", "cell")
_IDENTITY_SQL = (
    "run INTEGER, cycle INTEGER, arm VARCHAR, stage VARCHAR, role VARCHAR, block INTEGER, "
    "measure VARCHAR, cell VARCHAR"
)
_SCHEMAS = {
    "samples": f"{_IDENTITY_SQL}, metric VARCHAR, value DOUBLE, higher_is_better BOOLEAN",
    "series": (
        f"{_IDENTITY_SQL}, interval INTEGER, interval_ns BIGINT, bytes_read BIGINT, bytes_written BIGINT, "
        "ops BIGINT, latency_sum_ns BIGINT, latency_p50_ns BIGINT, latency_p99_ns BIGINT, latency_max_ns BIGINT"
    ),
    "latency": f"{_IDENTITY_SQL}, direction VARCHAR, bucket INTEGER, count BIGINT",
    "counters": f"{_IDENTITY_SQL}, counter VARCHAR, value BIGINT",
}


def runs_of(content: JournalContent) -> list[dict[str, Any]]:
    """The finished runs, ordered by their number in the plan; of a set of tests, each wanted test as a run."""
    entries = sorted(content.of_kind("run"), key=lambda entry: int(entry["run"]))
    return [one for entry in entries for one in each_test(entry)]


def each_test(entry: Row) -> list[Row]:
    """The entry itself, or one for each test of a set, whose cell has the test's name: "iozone.read 1 MiB"."""
    results = entry["record"].get("results")
    if results is None:
        return [entry]
    _, space, rest = str(entry["cell"]).partition(" ")
    return [
        {**entry, "cell": f"{found['name']}{space}{rest}", "record": found["record"]} for found in results
    ]


def _identity(entry: dict[str, Any]) -> Row:
    return {name: entry[name] for name in _IDENTITY}


def sample_rows(content: JournalContent) -> list[Row]:
    """One row per measured run and metric.

    `rate_bytes_per_s`: bytes over elapsed time. `ops_per_s`: operations over elapsed time. `latency_p99_ns`: the
    99th percentile in nanoseconds from the run's histogram, of the kind of operation that was done most; in the open
    loop from when operations were due.
    """
    rows: list[Row] = []
    for entry in runs_of(content):
        record = entry["record"]
        elapsed_s = record["elapsed_ns"] / 1e9
        for word in entry["metrics"] if elapsed_s > 0 else ():
            metric, value, higher_is_better = _METRICS[word](record, elapsed_s)
            if value is not None:
                measured = {"metric": metric, "value": value, "higher_is_better": higher_is_better}
                rows.append({**_identity(entry), **measured})
    return rows


def _throughput(record: Row, elapsed_s: float) -> Measured:
    return "rate_bytes_per_s", (record["bytes_read"] + record["bytes_written"]) / elapsed_s, True


def _iops(record: Row, elapsed_s: float) -> Measured:
    kinds = ("ops_read", "ops_written", "ops_discarded", "ops_metadata")
    return "ops_per_s", sum(record.get(kind, 0) for kind in kinds) / elapsed_s, True


def _p99(record: Row, _elapsed_s: float) -> Measured:
    from mileage import _core

    latency = record["latency"]
    kinds = [kind for kind in ("read", "write", "discard", "metadata") if kind in latency]
    direction = max(kinds, key=lambda kind: latency[kind]["count"])
    if latency.get("response", {}).get("count"):
        direction = "response"
    p99_ns = _core.latency_quantile_ns(msgspec.json.encode(latency[direction]).decode(), 0.99)
    return "latency_p99_ns", None if p99_ns is None else float(p99_ns), False


#: The plan's words for metrics, and what they are in a run's record: name with its unit, value, higher is better.
_METRICS: dict[str, Callable[[Row, float], Measured]] = {
    "throughput": _throughput,
    "iops": _iops,
    "p99": _p99,
}


#: Columns of a series that every record has, and those that records of earlier versions lack.
_SERIES = ("bytes_read", "bytes_written", "ops", "latency_sum_ns")
_SERIES_LATER = ("latency_p50_ns", "latency_p99_ns", "latency_max_ns")


def _series_rows(content: JournalContent) -> Iterable[Row]:
    """One row per run and interval. A latency is NULL where no operation completed, or where it was not kept."""
    for entry in runs_of(content):
        series = entry["record"]["series"]
        for interval in range(len(series["ops"])):
            values = {name: series[name][interval] for name in _SERIES}
            kept = _SERIES_LATER if series["ops"][interval] else ()
            values |= {name: series[name][interval] for name in kept if series.get(name)}
            yield {**_identity(entry), "interval": interval, "interval_ns": series["interval_ns"], **values}


def _latency_rows(content: JournalContent) -> Iterable[Row]:
    for entry in runs_of(content):
        for direction, histogram in sorted(entry["record"]["latency"].items()):
            for bucket, count in histogram["buckets"]:
                yield {**_identity(entry), "direction": direction, "bucket": bucket, "count": count}


def _counter_rows(content: JournalContent) -> Iterable[Row]:
    for entry in runs_of(content):
        for counter, value in sorted(entry["record"]["counters"].items()):
            yield {**_identity(entry), "counter": counter, "value": value}


def write_tables(content: JournalContent, folder: Path) -> None:
    """Write `samples`, `series`, `latency` and `counters` as Parquet into the study folder.

    Each file appears whole or not at all.
    """
    import duckdb

    sources: dict[str, Iterable[Row]] = {
        "samples": sample_rows(content),
        "series": _series_rows(content),
        "latency": _latency_rows(content),
        "counters": _counter_rows(content),
    }
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, rows in sources.items():
            lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
            staged = folder / f".{name}.jsonl"
            staged.write_bytes(lines)
            connection.execute(f"CREATE TABLE {name} ({_SCHEMAS[name]})")
            if lines:
                columns = ", ".join(f"{c.split()[0]}: '{c.split()[1]}'" for c in _SCHEMAS[name].split(", "))
                connection.execute(
                    f"INSERT INTO {name} SELECT * FROM read_json(?, format='newline_delimited', "
                    f"columns={{{columns}}}, maximum_object_size=16777216)",
                    [str(staged)],
                )
            part = folder / f".{name}.parquet"
            connection.table(name).write_parquet(str(part), compression="zstd")
            os.replace(part, folder / f"{name}.parquet")
            staged.unlink()
