"""Tables derived from the journal, written as Parquet by DuckDB.

Rows are ordered by run, whatever the order in which runs finished, and hold nothing of the wall clock: two studies
on a virtual drive with one seed give the same bytes. Wall-clock times stay in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, TypeVar

import msgspec

from mileage.json_text import decode_json
from mileage.model.imported_record import ImportedRecord, ImportedSeries
from mileage.model.journal_entries import AnyRun, ImportedRun, Run
from mileage.model.metrics import METRICS, QUANTILES, Metric, MetricWord
from mileage.model.run_record import RunRecord, Series
from mileage.plan.quantiles import quantile_is_supported
from mileage.scratch import scratch_directory
from mileage.store.journal import JournalContent, version_of
from mileage.store.journal_line_check import label_of_test
from mileage.store.safe_directory import Directory, open_to_read
from mileage.store.seal import checksum
from mileage.store.sql import sql_text

Row = dict[str, Any]
R = TypeVar("R", bound=AnyRun)
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
    """Definition of a table: each staged line has the run's identity and `columns`, and `select` unpacks them.

    `inner`, where given, opens lists of lists first.
    """

    columns: dict[str, str]
    select: str
    inner: str = ""


_INTERVALS: Final = _Table(
    {"interval_ns": "BIGINT", **dict.fromkeys((*_COUNTED, *_COUNTED_LATER), "BIGINT[]")},
    "CAST(generate_subscripts(ops, 1) - 1 AS INTEGER) AS interval, interval_ns, "
    + ", ".join(f"unnest({name}) AS {name}" for name in (*_COUNTED, *_COUNTED_LATER)),
)
_TABLES = {
    "samples": _Table(
        {"metrics": "VARCHAR[]", "figures": "DOUBLE[]", "better": "BOOLEAN[]"},
        "unnest(metrics) AS metric, unnest(figures) AS value, unnest(better) AS higher_is_better",
    ),
    "series": _INTERVALS,
    "warm_up": _INTERVALS,
    "commits": _INTERVALS,
    "latency": _Table(
        {"directions": "VARCHAR[]", "histograms": "BIGINT[][][]"},
        "direction, CAST(unnest(buckets)[1] AS INTEGER) AS bucket, unnest(buckets)[2] AS count",
        "unnest(directions) AS direction, unnest(histograms) AS buckets",
    ),
    "counters": _Table(
        {"names": "VARCHAR[]", "figures": "BIGINT[]"}, "unnest(names) AS counter, unnest(figures) AS value"
    ),
    "printed": _Table(
        {"names": "VARCHAR[]", "figures": "DOUBLE[]"}, "unnest(names) AS name, unnest(figures) AS value"
    ),
}
_LINE_BYTES: Final = 16 << 20
"""Minimum buffer size of the line reader."""
TABLES = ("samples", "series", "latency", "counters")
"""The tables of a study folder, each a Parquet file of that name."""
WARM_UP: Final = "warm_up"
"""The table of the warm-ups, with the columns of `series`: what no other table has."""
COMMITS: Final = "commits"
"""The table of commits over time, with the columns of `series`: their number is `ops`, and they have no bytes."""
PRINTED: Final = "printed"
"""The table of an imported study that has every number of the tool, under the tool's own name."""


def runs_of(content: JournalContent) -> Iterator[AnyRun]:
    """The finished runs, ordered by their number in the plan; of a set of tests, each wanted test as a run."""
    for entry in content.any_runs():
        yield from each_test(entry)


def each_test(entry: R) -> list[R]:
    """The entry itself, or one for each test of a set, whose cell has the test's name: "iozone.read 1 MiB"."""
    if isinstance(entry, ImportedRun) or entry.record.results is None:
        return [entry]
    return [
        msgspec.structs.replace(entry, cell=label_of_test(found.name, entry.cell), record=found.record)
        for found in entry.record.results
    ]


def _identity(entry: AnyRun) -> Row:
    return {name: getattr(entry, name) for name in _IDENTITY}


def sample_rows(content: JournalContent) -> Iterator[Row]:
    """One row per measured run and metric.

    `rate_bytes_per_s`: bytes over elapsed time. `ops_per_s`: operations over elapsed time. `latency_p99_ns`: the
    99th percentile in nanoseconds of all operations of the run but its syncs; in the open loop from when they were due.
    `commit_p99_ns`, `sync_p50_ns` ...: those of commits, durable writes and syncs.
    """
    for entry in runs_of(content):
        for metric, value, higher_is_better in measured_of(entry):
            yield {**_identity(entry), "metric": metric, "value": value, "higher_is_better": higher_is_better}


def measured_of(entry: AnyRun) -> list[tuple[str, float, bool]]:
    """Metrics of a run (or of one test of a set) that have a value; of a quantile only where enough lies beyond it.

    The metric, the value, and whether more is better.
    """
    few = few_operations(entry)
    named = [METRICS[word] for word in entry.metrics if word not in few]
    found = [(row, figure_of(entry.record, row)) for row in named]
    return [(row.figure, value, row.higher_is_better) for row, value in found if value is not None]


def few_operations(entry: AnyRun) -> dict[MetricWord, int]:
    """The operations of a run that would be judged by a quantile and has too few for it, by metric."""
    quantiles = [word for word in entry.metrics if word in QUANTILES]
    counts = {word: quantile_count(entry.record, QUANTILES[word]) for word in quantiles}
    return {
        word: count
        for word, count in counts.items()
        if count is not None and not quantile_is_supported(count, QUANTILES[word].quantile)
    }


def quantile_count(record: RunRecord | ImportedRecord, row: Metric) -> int | None:
    """The operations behind a quantile of a run; None where another tool does not list them."""
    if isinstance(record, RunRecord):
        return record.latencies_for(row).count
    if row.latency != "judged":
        return record.latency[row.latency].count if row.latency in record.latency else None
    return None if (record.ops_read, record.ops_written) == (None, None) else record.operations


def figure_of(record: RunRecord | ImportedRecord, row: Metric) -> float | None:
    """The value of a metric in a run; None for a run that took no time, and for what did not occur."""
    if isinstance(record, ImportedRecord):
        return record.reported.figure(row.word)
    if not record.elapsed_ns:
        return None
    if not row.quantile:
        return float(getattr(record, row.figure))
    value_ns = record.latencies_for(row).quantile_ns(row.quantile)
    return None if value_ns is None else float(value_ns)


def _samples_line(entry: AnyRun) -> Row | None:
    measured = measured_of(entry)
    if not measured:
        return None
    metrics, figures, better = zip(*measured, strict=True)
    return {"metrics": metrics, "figures": figures, "better": better}


def _series_line(entry: AnyRun) -> Row | None:
    return _intervals(entry, entry.record.series)


def _warm_up_line(entry: AnyRun) -> Row | None:
    series = entry.record.warm_up if isinstance(entry.record, RunRecord) else None
    return None if series is None else _intervals(entry, series)


def _commits_line(entry: AnyRun) -> Row | None:
    series = entry.record.commits if isinstance(entry.record, RunRecord) else None
    return None if series is None else _intervals(entry, series)


def _intervals(entry: AnyRun, series: Series | ImportedSeries) -> Row | None:
    """A latency is NULL where no operation completed, or where it was not kept."""
    done = series.ops
    if not done:
        return None
    values: Row = {name: getattr(series, name) for name in _COUNTED}
    busy = all(done)
    for name in _COUNTED_LATER:
        kept = getattr(series, name) or [None] * len(done)
        if len(kept) != len(done):
            raise ValueError(f"run {entry.run}: {len(kept)} of {name} for {len(done)} intervals")
        values[name] = (
            kept if busy else [value if ops else None for value, ops in zip(kept, done, strict=True)]
        )
    return {"interval_ns": series.interval_ns, **values}


def _latency_line(entry: AnyRun) -> Row | None:
    found = entry.record.latency
    directions = [direction for direction in sorted(found) if found[direction].buckets]
    if not directions:
        return None
    return {"directions": directions, "histograms": [found[name].buckets for name in directions]}


def _counters_line(entry: AnyRun) -> Row | None:
    found = counter_values(entry)
    return {"names": list(found), "figures": list(found.values())} if found else None


def _printed_line(entry: AnyRun) -> Row | None:
    record = entry.record
    if not isinstance(record, ImportedRecord) or not record.printed_names:
        return None
    return {"names": record.printed_names, "figures": record.printed_figures}


def counter_values(entry: AnyRun) -> dict[str, int]:
    """Counters of a run, by name: the target's own counters, and with `host_` before it the machine's."""
    watch = entry.watch if isinstance(entry, Run) else {}
    watched = {f"host_{name}": value for name, value in watch.items()}
    return dict(sorted({**entry.record.counters, **watched}.items()))


_LINES: dict[str, Callable[[AnyRun], Row | None]] = {
    "samples": _samples_line,
    "series": _series_line,
    "latency": _latency_line,
    "counters": _counters_line,
    WARM_UP: _warm_up_line,
    COMMITS: _commits_line,
    PRINTED: _printed_line,
}


class _Made(msgspec.Struct):
    """Cache key of a derived table: the journal's checksum when it was made, and the table's own checksum."""

    journal: str
    table: str


_MADE: Final = ".tables.json"
_MADE_BYTES_MAX: Final = 1 << 20
"""The file of a study folder that has a `_Made` for each table."""


def table_file(name: str) -> str:
    """The file of a table in a study folder."""
    return f"{name}.parquet"


def is_up_to_date(folder: Directory, name: str) -> bool:
    """Whether a table exists, is undamaged, and was made from the current journal."""
    found = _made(folder).get(name)
    try:
        table = folder.checksum(table_file(name))
        with open_to_read(folder.path / "journal.jsonl") as journal:
            return found == _Made(version_of(journal), table)
    except OSError:
        return False


def _made(folder: Directory) -> dict[str, _Made]:
    try:
        return decode_json(folder.read(_MADE, _MADE_BYTES_MAX), dict[str, _Made])
    except (OSError, msgspec.DecodeError):
        return {}


def _whole(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def write_tables(content: JournalContent, folder: Directory, names: Sequence[str] = TABLES) -> None:
    """Write `samples`, `series`, `latency` and `counters` as Parquet into the study folder.

    Each file appears whole or not at all. Runs go through memory one at a time.
    """
    with StagedTables(folder, content, names) as staging:
        for entry in runs_of(content):
            staging.add(entry)
        staging.write()


def _path_of(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


class StagedTables:
    """Tables in the making: first every run is added, in the order of the plan, then all are written.

    Leaves nothing behind but whole tables, whether or not it comes to that.
    """

    def __init__(self, folder: Directory, content: JournalContent, names: Sequence[str] = TABLES) -> None:
        """For these tables of a study folder, whose journal has this content."""
        self._folder = folder
        self._journal = content.version
        self._names = tuple(names)
        self._staged: dict[str, Path] = {}
        self._lines: dict[str, BinaryIO] = {}
        self._longest = dict.fromkeys(names, _LINE_BYTES)

    def __enter__(self) -> StagedTables:
        with ExitStack() as stack:
            # A scratch directory of its own, so that concurrent updates do not collide and nothing remains of a killed
            # one.
            self._place = stack.enter_context(scratch_directory(self._folder.path))
            self._staged = {name: self._place / f"{name}.jsonl" for name in self._names}
            self._lines = {name: stack.enter_context(open(path, "wb")) for name, path in self._staged.items()}
            self._opened = stack.pop_all()
        return self

    def __exit__(self, *_raised: object) -> None:
        # Closing writes buffered rows, which may fail on a full disk; the scratch directory is removed in any case.
        self._opened.close()

    def add(self, entry: AnyRun) -> None:
        """Take a run; of a set of tests, one of its tests (`each_test`)."""
        identity = msgspec.json.encode(_identity(entry))[:-1] + b","
        for name, lines in self._lines.items():
            row = _LINES[name](entry)
            if row is not None:
                line = identity + msgspec.json.encode(row)[1:] + b"\n"
                self._longest[name] = max(self._longest[name], lines.write(line))

    def write(self) -> None:
        """Write each table."""
        import duckdb

        sums = {}
        settings: dict[str, str | bool | int | float | list[str]] = {
            "threads": 1,
            "memory_limit": "1GiB",
            "temp_directory": str(self._place / "duckdb"),
        }
        with duckdb.connect(config=settings) as connection:
            for name, lines in self._lines.items():
                lines.flush()
                # Use the descriptor, because the name may refer to another file by now.
                with self._folder.part(table_file(name)) as made:
                    connection.execute(
                        f"COPY ({self._query(name)}) TO {sql_text(_path_of(made.fileno()))} "
                        "(FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
                    )
                    sums[name] = _Made(journal=self._journal, table=checksum(_whole(made)))
        self._folder.write(_MADE, msgspec.json.encode(_made(self._folder) | sums))

    def _query(self, name: str) -> str:
        table, own = _TABLES[name], ", ".join(_IDENTITY)
        columns = ", ".join(f"{key}: '{kind}'" for key, kind in (_IDENTITY | table.columns).items())
        lines = (
            f"read_json({sql_text(_path_of(self._lines[name].fileno()))}, format='newline_delimited', "
            f"columns={{{columns}}}, maximum_object_size={self._longest[name]})"
        )
        opened = f"(SELECT {own}, {table.inner} FROM {lines})" if table.inner else lines
        return f"SELECT {own}, {table.select} FROM {opened}"
