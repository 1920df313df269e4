"""Tables derived from the journal, written as Parquet by DuckDB.

Rows are ordered by run, whatever the order in which runs finished, and hold nothing of the wall clock: two studies
on a virtual drive with one seed give the same bytes. Wall-clock times stay in the journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from mileage.record.journal import JournalContent

Row = dict[str, Any]
Measured = tuple[str, float | None, bool]
_IDENTITY = {
    "run": "INTEGER",
    "cycle": "INTEGER",
    "arm": "VARCHAR",
    "stage": "VARCHAR",
    "role": "VARCHAR",
    "block": "INTEGER",
    "measure": "VARCHAR",
    "cell": "VARCHAR",
    "levels": "MAP(VARCHAR, VARCHAR)",
}
_COUNTED = ("bytes_read", "bytes_written", "ops", "latency_sum_ns")
_COUNTED_LATER = ("latency_p50_ns", "latency_p99_ns", "latency_max_ns")
"""Columns of a series that every record has, and those that records of earlier versions lack."""


class _Table(NamedTuple):
    """How a table is made: each line that is staged has the run's identity and `columns`, and `select` opens them."""

    columns: dict[str, str]
    select: str


_TABLES = {
    "samples": _Table(
        {"metric": "VARCHAR", "value": "DOUBLE", "higher_is_better": "BOOLEAN"},
        "metric, value, higher_is_better",
    ),
    "series": _Table(
        {"interval_ns": "BIGINT", **dict.fromkeys((*_COUNTED, *_COUNTED_LATER), "BIGINT[]")},
        "CAST(generate_subscripts(ops, 1) - 1 AS INTEGER) AS interval, interval_ns, "
        + ", ".join(f"unnest({name}) AS {name}" for name in (*_COUNTED, *_COUNTED_LATER)),
    ),
    "latency": _Table(
        {"direction": "VARCHAR", "buckets": "BIGINT[][]"},
        "direction, CAST(unnest(buckets)[1] AS INTEGER) AS bucket, unnest(buckets)[2] AS count",
    ),
    "counters": _Table({"counter": "VARCHAR", "value": "BIGINT"}, "counter, value"),
    "printed": _Table(
        {"names": "VARCHAR[]", "figures": "DOUBLE[]"}, "unnest(names) AS name, unnest(figures) AS value"
    ),
}
_LINE_BYTES: Final = 16 << 20
"""What a reader of lines makes room for at least."""
TABLES = ("samples", "series", "latency", "counters")
"""The tables of a study folder, each a Parquet file of that name."""
PRINTED: Final = "printed"
"""The table of an imported study that has every number of the tool, under the tool's own name."""


def runs_of(content: JournalContent) -> Iterator[Row]:
    """The finished runs, ordered by their number in the plan; of a set of tests, each wanted test as a run."""
    for entry in content.runs():
        yield from each_test(entry)


def each_test(entry: Row) -> list[Row]:
    """The entry itself, or one for each test of a set, whose cell has the test's name: "iozone.read 1 MiB"."""
    results = entry["record"].get("results")
    if results is None:
        return [entry]
    cell = str(entry["cell"])
    return [
        {
            **entry,
            "cell": found["name"] + cell.removeprefix(found["name"].partition(".")[0]),
            "record": found["record"],
        }
        for found in results
    ]


def _identity(entry: Row) -> Row:
    return {name: entry.get(name, {}) if name == "levels" else entry[name] for name in _IDENTITY}


def sample_rows(content: JournalContent) -> Iterator[Row]:
    """One row per measured run and metric.

    `rate_bytes_per_s`: bytes over elapsed time. `ops_per_s`: operations over elapsed time. `latency_p99_ns`: the
    99th percentile in nanoseconds from the run's histogram, of the kind of operation that was done most; in the open
    loop from when operations were due.
    """
    for entry in runs_of(content):
        record = entry["record"]
        if "reported" in record:
            yield from _reported(entry, record["reported"])
            continue
        elapsed_s = record["elapsed_ns"] / 1e9
        for word in entry["metrics"] if elapsed_s > 0 else ():
            metric, value, higher_is_better = _METRICS[word](record, elapsed_s)
            if value is not None:
                measured = {"metric": metric, "value": value, "higher_is_better": higher_is_better}
                yield {**_identity(entry), **measured}


def _reported(entry: Row, figures: Row) -> Iterator[Row]:
    """The figures of a run that another tool reported; what it does not say has no row."""
    for word in entry["metrics"]:
        metric, higher_is_better = _REPORTED[word]
        value = figures.get(metric)
        if value is not None:
            yield {**_identity(entry), "metric": metric, "value": value, "higher_is_better": higher_is_better}


_REPORTED: Final = {
    "throughput": ("rate_bytes_per_s", True),
    "iops": ("ops_per_s", True),
    "p99": ("latency_p99_ns", False),
    "time": ("elapsed_s", False),
}


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
    "time": lambda _record, elapsed_s: ("elapsed_s", elapsed_s, False),
}


def _series_rows(content: JournalContent) -> Iterator[Row]:
    """One line per run. A latency is NULL where no operation completed, or where it was not kept."""
    for entry in runs_of(content):
        series = entry["record"]["series"]
        done = series["ops"]
        if not done:
            continue
        values: Row = {name: series[name] for name in _COUNTED}
        for name in _COUNTED_LATER:
            kept = series.get(name) or [None] * len(done)
            values[name] = [value if ops else None for value, ops in zip(kept, done, strict=True)]
        yield {**_identity(entry), "interval_ns": series["interval_ns"], **values}


def _latency_rows(content: JournalContent) -> Iterator[Row]:
    """One line per run and direction."""
    for entry in runs_of(content):
        for direction, histogram in sorted(entry["record"]["latency"].items()):
            if histogram["buckets"]:
                yield {**_identity(entry), "direction": direction, "buckets": histogram["buckets"]}


def _counter_rows(content: JournalContent) -> Iterator[Row]:
    for entry in runs_of(content):
        for counter, value in counter_values(entry).items():
            yield {**_identity(entry), "counter": counter, "value": value}


def _printed_rows(content: JournalContent) -> Iterator[Row]:
    """One line per run of an imported study."""
    for entry in runs_of(content):
        names = entry["record"].get("printed_names")
        if names:
            figures = entry["record"]["printed_figures"]
            yield {**_identity(entry), "names": names, "figures": figures}


def counter_values(entry: Row) -> dict[str, int]:
    """What was counted beside a run, by name: the target's own counters, and with `host_` before it the machine's."""
    watched = {f"host_{name}": value for name, value in entry.get("watch", {}).items()}
    return dict(sorted({**entry["record"]["counters"], **watched}.items()))


_ROWS: dict[str, Callable[[JournalContent], Iterator[Row]]] = {
    "samples": sample_rows,
    "series": _series_rows,
    "latency": _latency_rows,
    "counters": _counter_rows,
    PRINTED: _printed_rows,
}


def write_tables(content: JournalContent, folder: Path, names: Sequence[str] = TABLES) -> None:
    """Write `samples`, `series`, `latency` and `counters` as Parquet into the study folder.

    Each file appears whole or not at all. Runs go through memory one at a time.
    """
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": "1GiB",
        "temp_directory": str(folder / ".duckdb"),
    }
    with duckdb.connect(config=settings) as connection:
        for name in names:
            # Two who bring the tables up to date at the same time do not meet.
            staged, part = (folder / f".{name}-{os.getpid()}{end}" for end in (".jsonl", ".parquet"))
            longest = _LINE_BYTES
            with open(staged, "wb") as lines:
                for row in _ROWS[name](content):
                    longest = max(longest, lines.write(msgspec.json.encode(row) + b"\n"))
            table = _TABLES[name]
            columns = ", ".join(f"{key}: '{kind}'" for key, kind in (_IDENTITY | table.columns).items())
            connection.execute(
                f"COPY (SELECT {', '.join(_IDENTITY)}, {table.select} FROM read_json({_text(staged)}, "
                f"format='newline_delimited', columns={{{columns}}}, maximum_object_size={longest})) "
                f"TO {_text(part)} (FORMAT parquet, COMPRESSION zstd)"
            )
            os.replace(part, folder / f"{name}.parquet")
            staged.unlink()


def _text(path: Path) -> str:
    """A path as SQL has texts."""
    return "'" + str(path).replace("'", "''") + "'"
