"""The tables of a study, flat: one row per run, interval, bucket or judged cell, one value in each column.

Scope: the unit as part of each column's name; where a column's unit differs from row to row, the column `metric` of
the same row has it. Levels of factors and counters are a column each. Rows are made one at a time, so that a long
study needs little memory. What was not measured is missing, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from mileage.model.histogram import bounds_of
from mileage.model.imported_record import ImportedRecord, ImportedSeries
from mileage.model.journal_entries import AnyRun
from mileage.model.metrics import QUANTILES
from mileage.model.run_record import RunRecord, Series
from mileage.store.journal import JournalContent
from mileage.store.tables import counter_values, runs_of, sample_rows

Row = dict[str, Any]


class Column(msgspec.Struct, frozen=True):
    """A column: its name, its type in SQL, and what it means."""

    name: str
    kind: str
    meaning: str = ""


class Table(msgspec.Struct, frozen=True):
    """A table: its columns, and its rows as dictionaries, in which a missing key means not known."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    rows: Callable[[], Iterator[Row]]


def _counts(*names: str) -> tuple[Column, ...]:
    """Columns of whole numbers whose names say what they mean."""
    return tuple(Column(name, "BIGINT") for name in names)


_IDENTITY: Final = (
    Column("run", "INTEGER", "number of the run in the plan, from 0"),
    Column("part", "VARCHAR", "the labels at which it was done; empty without labels"),
    Column("cycle", "INTEGER", "from 1"),
    Column("arm", "VARCHAR", "torture or sham"),
    Column("stage", "VARCHAR", "stage of the study"),
    Column("role", "VARCHAR", "prepare, measure, torture, idle or reset"),
    Column("block", "INTEGER", "from 1; runs of one block were done close in time"),
    Column("measure", "VARCHAR", "table of the plan that the run belongs to"),
    Column("cell", "VARCHAR", "what was done"),
)
_TIMES: Final = (
    Column("started", "VARCHAR", "when the run began, UTC, ISO 8601"),
    Column("finished", "VARCHAR", "when it was journalled"),
    Column("seed", "UBIGINT", "seed of the run's random choices"),
)
_TOTALS: Final = (
    Column("elapsed_ns", "BIGINT", "from the first submission to the end, durability included"),
    Column("submit_ns", "BIGINT", "until the last operation completed"),
    *_counts("bytes_read", "bytes_written", "bytes_discarded"),
    *_counts("ops_read", "ops_written", "ops_discarded", "ops_metadata"),
)
_METRICS: Final = (
    Column("rate_bytes_per_s", "DOUBLE", "bytes over elapsed time, where that is judged"),
    Column("ops_per_s", "DOUBLE", "operations over elapsed time, where that is judged"),
    *(Column(row.figure, "DOUBLE", f"{row.title}, where that is judged") for row in QUANTILES.values()),
    Column("elapsed_s", "DOUBLE", "elapsed time, where that is judged"),
)
_SERIES: Final = (
    Column("interval", "INTEGER", "number of the interval, from 0"),
    Column("interval_ns", "BIGINT", "length of an interval; the last one of a run may be cut short"),
    *_counts("bytes_read", "bytes_written", "ops"),
    *_counts("latency_sum_ns", "latency_p50_ns", "latency_p99_ns", "latency_max_ns"),
)
_LATENCY: Final = (
    Column(
        "direction", "VARCHAR", "read, write, sync, discard, metadata, or response (from when it was due)"
    ),
    Column("low_ns", "UBIGINT", "first value of the bucket"),
    Column("high_ns", "UBIGINT", "last value of the bucket"),
    Column("count", "BIGINT", "operations whose latency lies in the bucket"),
)
_PRINTED: Final = (
    Column("name", "VARCHAR", "as the other tool calls it"),
    Column("value", "DOUBLE", "as it printed it"),
)


def journal_tables(content: JournalContent) -> list[Table]:
    """The tables that the journal alone gives: `runs`, `series`, `latency` and `counters`."""
    factors = _names(run.levels for run in runs_of(content))
    levels = tuple(Column(f"level_{name}", "VARCHAR", f"level of the factor {name}") for name in factors)
    named = (*_IDENTITY, *levels)
    counters = _names(counter_values(run) for run in runs_of(content))
    tables = [
        Table(
            "runs",
            "One row per finished run.",
            (*named, *_TIMES, *_TOTALS, *_METRICS),
            lambda: _runs(content),
        ),
        Table(
            "series", "One row per run and interval.", (*named, *_SERIES), lambda: _series(content, _measured)
        ),
        Table("latency", "One row per run, kind and bucket.", (*named, *_LATENCY), lambda: _latency(content)),
        Table(
            "counters",
            "One row per run: what was counted.",
            (*named, *_counts(*counters)),
            lambda: _counters(content),
        ),
    ]
    if any(_warm_up(run) is not None for run in runs_of(content)):
        about = "One row per run and interval of its warm-up, which no other table has."
        tables.append(Table("warm_up", about, (*named, *_SERIES), lambda: _series(content, _warm_up)))
    if any(_commits(run) is not None for run in runs_of(content)):
        about = "One row per run and interval: the commits that ended in it (`ops`), which have no bytes."
        tables.append(Table("commits", about, (*named, *_SERIES), lambda: _series(content, _commits)))
    if any(isinstance(run.record, ImportedRecord) and run.record.printed_names for run in content.any_runs()):
        about = "One row per figure that another tool printed of an imported run."
        tables.append(Table("printed", about, (*named, *_PRINTED), lambda: _printed(content)))
    return tables


def environment_table(snapshots: list[tuple[str, dict[str, str]]]) -> Table:
    """The machine at each stage, one fact per row."""
    columns = (Column("snapshot", "VARCHAR", "when"), Column("key", "VARCHAR"), Column("value", "VARCHAR"))

    def rows() -> Iterator[Row]:
        for name, facts in snapshots:
            for key, value in facts.items():
                yield {"snapshot": name, "key": key, "value": value}

    return Table("environment", "The machine at each stage, one fact per row.", columns, rows)


def _names(found: Iterator[Mapping[str, object]]) -> list[str]:
    """Every key of some dictionaries, in the order in which they come first."""
    names: dict[str, None] = {}
    for one in found:
        names |= dict.fromkeys(one)
    return list(names)


def _identity(run: AnyRun) -> Row:
    named = {column.name: getattr(run, column.name) for column in _IDENTITY}
    return named | {f"level_{name}": level for name, level in run.levels.items()}


def _runs(content: JournalContent) -> Iterator[Row]:
    samples = sample_rows(content)
    sample = next(samples, None)
    for run in runs_of(content):
        row = _identity(run) | {column.name: getattr(run, column.name, None) for column in _TIMES}
        row |= {column.name: getattr(run.record, column.name, None) for column in _TOTALS}
        while sample is not None and (sample["run"], sample["cell"]) == (run.run, run.cell):
            row[sample["metric"]] = sample["value"]
            sample = next(samples, None)
        yield row


def _measured(run: AnyRun) -> Series | ImportedSeries:
    return run.record.series


def _warm_up(run: AnyRun) -> Series | None:
    return run.record.warm_up if isinstance(run.record, RunRecord) else None


def _commits(run: AnyRun) -> Series | None:
    return run.record.commits if isinstance(run.record, RunRecord) else None


def _series(content: JournalContent, of: Callable[[AnyRun], Series | ImportedSeries | None]) -> Iterator[Row]:
    for run in runs_of(content):
        series, identity = of(run), _identity(run)
        if series is None:
            continue
        lists = {c.name: getattr(series, c.name) for c in _SERIES[2:]}
        for at, done in enumerate(series.ops):
            row = {name: values[at] if at < len(values) else None for name, values in lists.items()}
            if not done:
                # No operation completed: there is no latency, and 0 would look like one.
                row |= dict.fromkeys(("latency_p50_ns", "latency_p99_ns", "latency_max_ns"))
            yield identity | {"interval": at, "interval_ns": series.interval_ns} | row


def _latency(content: JournalContent) -> Iterator[Row]:
    for run in runs_of(content):
        identity = _identity(run)
        for direction, histogram in sorted(run.record.latency.items()):
            for index, count in histogram.buckets:
                low, high = bounds_of(index)
                yield identity | {"direction": direction, "low_ns": low, "high_ns": high, "count": count}


def _counters(content: JournalContent) -> Iterator[Row]:
    for run in runs_of(content):
        yield _identity(run) | counter_values(run)


def _printed(content: JournalContent) -> Iterator[Row]:
    for run in content.imported_runs():
        for name, value in zip(run.record.printed_names, run.record.printed_figures, strict=True):
            yield _identity(run) | {"name": name, "value": value}
