"""fio's logs over time: PREFIX_lat.N.log, _clat, _slat, _bw, _iops, of fio 3.

Scope: all logs of one prefix and number are one run. A log of single operations (a block size in every line)
gives operations, bytes, a histogram and the series per interval exactly; one of averages (log_avg_msec, block size 0)
gives rates per interval, each of whole windows, and of latencies only their mean. Bandwidth is in KiB/s, latency in
nanoseconds (fio 2: microseconds), time in milliseconds since the job began. Files are read by DuckDB in bounded memory,
whatever their size.
What it refuses: files whose name does not say what they hold, files without one line that is understood, latencies
whose unit is ambiguous, and times of a clock (log_unix_epoch).
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.histogram import quantile_ns, quantiles_ns
from mileage.formats.input_file import LOG_MAX, Source
from mileage.formats.number_parser import whole
from mileage.formats.result import Result, ToolRun, shown
from mileage.model.histogram import LINEAR, SUB_BITS, Histogram, bounds_of
from mileage.model.imported_record import ImportedSeries
from mileage.regular_file import open_regular
from mileage.store.sql import sql_source

LAYOUT: Final = "fio-logs"
INTERVALS_MAX: Final = 512
INTERVAL_MS: Final = 100
"""The shortest interval of a series; it doubles until the run has at most `INTERVALS_MAX`. Of averages it is a multiple
of their window."""
LATENCY_MAX_NS: Final = 1 << 45
"""Nine hours: a line with more is no latency."""
UNREAD_MAX: Final = 1000
MEMORY: Final = "512MiB"
_NAME: Final = re.compile(
    r"(?P<prefix>.+)_(?P<kind>clat|slat|lat|bw|iops)(?:\.(?P<number>[0-9]{1,6}))?\.log(?:\.\S+)?"
)
_LINE: Final = re.compile(r"\s*[0-9]+\s*,\s*[0-9]+\s*,\s*[0-9]\s*,\s*[0-9]+\s*(?:,\s*[0-9a-fxA-F]+\s*){0,3}")
_LATENCIES: Final = ("clat", "lat", "slat")
_DIRECTIONS: Final = ("read", "write", "discard")


class Part(msgspec.Struct):
    """Contents of one log, summed per interval and direction."""

    kind: str
    single: bool
    """Whether every line is a single operation."""
    last_ms: int
    rows: list[tuple[int, ...]]
    """Interval, direction, bucket, lines, sum, least and greatest of the values, sum of the block sizes."""
    window_ms: float | None = None
    """Time between two averages; None for single operations."""


def knows(source: Source) -> bool:
    """Whether a file has the name and the first line of such a log."""
    return bool(_NAME.fullmatch(source.path.name) and _LINE.fullmatch(source.text_head.split("\n")[0]))


def is_empty(path: Path) -> bool:
    """Whether the log is empty, as logs of submission latencies often are."""
    return bool(_NAME.fullmatch(path.name)) and path.is_file() and path.stat().st_size == 0


def identity(source: Source) -> tuple[str, str]:
    """Prefix and number of a log; of a name that does not say what it holds, Refused."""
    found = _NAME.fullmatch(source.path.name)
    if found is None:
        raise Refused(
            source.path,
            "a log of fio is called PREFIX_lat.N.log, _clat, _slat, _bw or _iops",
            code="wrong-value",
        )
    return found["prefix"], found["number"] or ""


def read(source: Source) -> Result:
    """The run of one log alone. Raises Refused when no line is understood."""
    return read_group([source])


def read_group(sources: Sequence[Source], unit_ns: int | None = None) -> Result:
    """The one run of logs of one prefix, of one number or of several together.

    `unit_ns`: in how many nanoseconds latencies are written, 1 (fio 3) or 1000 (fio 2); None: as the logs say.

    Raises Refused when a log has no line that is understood, or its unit is ambiguous.
    """
    prefix, number = identity(sources[0])
    number = number if len({identity(source) for source in sources}) == 1 else ""
    result = Result(tool="fio", version=None, layout=LAYOUT, runs=[])
    heads = {source.path: _head(source, _last_ms(source)) for source in sources}
    if unit_ns is None:
        for source in sources:
            if _kind(source) in _LATENCIES:
                require_unit(source.path, heads[source.path])
    begun = min(sources, key=lambda source: heads[source.path].first_ms)
    require_job_time(
        begun.path,
        heads[begun.path].first_ms,
        max(head.last_ms for head in heads.values()),
        heads[begun.path].window_ms or 0.0,
    )
    interval_ms = _interval_ms(list(heads.values()))
    kinds: dict[str, list[Source]] = {}
    for source in sources:
        kinds.setdefault(_kind(source), []).append(source)
    parts = {
        kind: _part(kind, logs, [heads[source.path] for source in logs], interval_ms, unit_ns or 1, result)
        for kind, logs in kinds.items()
    }
    run = ToolRun(
        cell=f"fio.log {prefix}{', ' + number if number else ''}", kind="iops", levels={"log": prefix}
    )
    _figures(run, parts, interval_ms)
    result.runs.append(run)
    return result


def _head(source: Source, last_ms: int) -> Head:
    lines = [line for line in source.text_head.split("\n") if _LINE.fullmatch(line)]
    if not lines:
        raise Refused(
            source.path,
            "no line is 'time, value, direction, block size, ...'",
            advice=f"it begins with {shown(source.text_head.split(chr(10))[0])!r}",
            code="not-understood",
        )
    return head_of(lines, last_ms)


def _interval_ms(heads: Sequence[Head]) -> float:
    """The interval of a series: whole windows of averages, so that no interval has a part of one."""
    window_ms = max((head.window_ms for head in heads if head.window_ms), default=0.0)
    last_ms = max(head.last_ms for head in heads)
    interval_ms = window_ms * math.ceil(INTERVAL_MS / window_ms) if window_ms else float(INTERVAL_MS)
    while last_ms / interval_ms > INTERVALS_MAX:
        interval_ms *= 2
    return interval_ms


def _last_ms(source: Source) -> int:
    """The time of the last whole line; 0 where none is understood. Out of order lines go to the last interval."""
    with open_regular(source.path, LOG_MAX) as file:
        file.seek(max(0, source.size - 65536))
        lines = (file.read(65536) or b"").decode("utf-8", "replace").split("\n")
    times = [
        time
        for line in lines
        if _LINE.fullmatch(line) and (time := whole(line.split(",")[0].strip())) is not None
    ]
    return max(times, default=0)


def _kind(source: Source) -> str:
    found = _NAME.fullmatch(source.path.name)
    return found["kind"] if found else ""


def _part(
    kind: str,
    sources: Sequence[Source],
    heads: Sequence[Head],
    interval_ms: float,
    unit_ns: int,
    result: Result,
) -> Part:
    """Sums of the logs of one kind, in bounded memory."""
    single = any(head.single for head in heads)
    window_ms = None if single else max(head.window_ms or 0.0 for head in heads)
    columns = max(head.columns for head in heads)
    rows, rejected = _summed(kind, sources, columns, _interval_sql(interval_ms, window_ms), unit_ns)
    _account(sources, result, sum(row[3] for row in rows), rejected)
    if not rows:
        raise Refused(sources[0].path, "no line holds sound numbers", code="not-understood")
    return Part(kind, single, max(row[8] for row in rows), [row[:8] for row in rows], window_ms)


def _interval_sql(interval_ms: float, window_ms: float | None) -> str:
    """The interval of a line: of an operation that of its end, of an average that of the middle of its window."""
    middle = f"greatest(t - {window_ms / 2}, 0)" if window_ms else "t"
    return f"least(CAST(floor({middle} / {interval_ms}) AS BIGINT), {INTERVALS_MAX - 1})"


def _summed(
    kind: str, sources: Sequence[Source], fields: int, interval: str, unit_ns: int
) -> tuple[list[tuple[int, ...]], list[tuple[str, int, str]]]:
    """The sums per interval, direction and bucket; and the lines that are none."""
    import duckdb

    names = ["t", "v", "d", "bs", *(f"o{at}" for at in range(fields - 4))]
    columns = ", ".join(f"'{name}': '{'VARCHAR' if name[0] == 'o' else 'BIGINT'}'" for name in names)
    latency = kind in _LATENCIES
    value = f"(v * {unit_ns})" if latency else "v"
    shift = f"(CAST(floor(log2({value})) AS BIGINT) - {SUB_BITS})"
    bucket = (
        f"CASE WHEN {value} < {LINEAR} THEN {value} ELSE ({shift} << {SUB_BITS}) + ({value} >> {shift}) END"
    )
    paths = ", ".join(sql_source(source.path) for source in sources)
    table = (
        f"read_csv([{paths}], header=false, delim=',', quote='', escape='', comment='', auto_detect=false, "
        f"columns={{{columns}}}, ignore_errors=true, store_rejects=true, rejects_limit={UNREAD_MAX}, strict_mode=true)"
    )
    sound = (
        f"t BETWEEN 0 AND {1 << 45} AND v BETWEEN 0 AND {LATENCY_MAX_NS // unit_ns if latency else 1 << 50} "
        f"AND d BETWEEN 0 AND 2 AND bs BETWEEN 0 AND {1 << 40}"
    )
    query = (
        f"SELECT {interval}, d, {bucket if latency else '0'}, count(*), sum({value})::HUGEINT, "
        f"min({value}), max({value}), sum(bs)::HUGEINT, max(t) FROM {table} WHERE {sound} "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    summary_query = (
        "SELECT DISTINCT s.file_path, e.line, e.csv_line FROM reject_errors e JOIN reject_scans s "
        "USING (scan_id, file_id) ORDER BY ALL"
    )
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": 2,
        "memory_limit": MEMORY,
        "preserve_insertion_order": False,
    }
    with duckdb.connect(config=settings) as connection:
        try:
            return connection.execute(query).fetchall(), connection.execute(summary_query).fetchall()
        except duckdb.Error as cause:
            raise Refused(sources[0].path, " ".join(str(cause).split())[:200], code="malformed") from cause


def _account(
    sources: Sequence[Source], result: Result, understood: int, rejected: list[tuple[str, int, str]]
) -> None:
    """Names every line that was not counted, or how many there are."""
    for path, line, text in rejected:
        name = path.rpartition("/")[2]
        why = f"{name}: expected 'time, value, direction, block size, ...'"
        result.skip(int(line), str(text or ""), why)
    missing = sum(source.lines_with_text for source in sources) - understood - len(rejected)
    if missing > 0:
        names = ", ".join(source.path.name for source in sources)
        result.lost.append(
            f"{names}: {missing:,} further lines were not understood, or hold numbers that cannot be"
        )


def _figures(run: ToolRun, parts: dict[str, Part], interval_ms: float) -> None:
    """The run's figures from its logs: the most exact one says how much was done."""
    counted = next(
        (
            parts[kind]
            for kind in ("clat", "lat", "bw", "iops", "slat")
            if kind in parts and parts[kind].single
        ),
        None,
    )
    last_ms = max(part.last_ms for part in parts.values())
    run.elapsed_s = last_ms / 1000 if last_ms else None
    count = 1 + max(row[0] for part in parts.values() for row in part.rows)
    series: Columns = {name: [0] * count for name in _COLUMNS}
    if counted is not None:
        _count(run, counted, series)
    else:
        _averages(run, parts, series)
    latency = next((parts[kind] for kind in ("clat", "lat") if kind in parts), None)
    if latency is not None and latency.single:
        _latency(run, latency, series)
    for kind in _LATENCIES:
        if kind in parts:
            lines, total = (sum(row[at] for row in parts[kind].rows) for at in (3, 4))
            run.printed.append(
                (f"{kind} mean ns" if parts[kind].single else f"{kind} mean of averages ns", total / lines)
            )
    if latency is not None and not latency.single:
        _mean_latency(run, latency, parts.get("iops"))
    unknown = (
        []
        if latency is not None and latency.single
        else [name for name in series if name.startswith("latency")]
    )
    if counted is None:
        unknown += [] if "iops" in parts else ["ops"]
        unknown += [] if "bw" in parts else ["bytes_read", "bytes_written"]
    known = {name: [None] * count if name in unknown else values for name, values in series.items()}
    run.series = msgspec.convert({"interval_ns": round(interval_ms * 1e6), **known}, ImportedSeries)
    if run.ops_read and run.ops_written:
        run.title = f"{100 * run.ops_read / (run.ops_read + run.ops_written):.0f} % reads"


Columns = dict[str, list[int]]
"""The lists of a series, by name."""
_COLUMNS: Final = (
    *("bytes_read", "bytes_written", "ops"),
    *("latency_sum_ns", "latency_p50_ns", "latency_p99_ns", "latency_max_ns"),
)


def _count(run: ToolRun, part: Part, series: Columns) -> None:
    """Operations and bytes, from lines that are one operation each."""
    moved, done = [0, 0, 0], [0, 0, 0]
    for interval, direction, _, lines, _, _, _, size in part.rows:
        at = min(interval, len(series["ops"]) - 1)
        moved[direction] += size
        done[direction] += lines
        series["ops"][at] += lines
        if direction < 2:
            series["bytes_read" if direction == 0 else "bytes_written"][at] += size
    run.bytes_read, run.bytes_written = moved[0], moved[1]
    run.ops_read, run.ops_written = done[0], done[1]
    if run.elapsed_s:
        run.rate_bytes_per_s = (moved[0] + moved[1]) / run.elapsed_s
        run.ops_per_s = sum(done) / run.elapsed_s


def _averages(run: ToolRun, parts: dict[str, Part], series: Columns) -> None:
    """Rates from averages over windows of equal length."""
    for kind, scale in (("bw", 1024.0), ("iops", 1.0)):
        part = parts.get(kind)
        if part is None or part.window_ms is None:
            continue
        window_s = part.window_ms / 1000
        total = 0.0
        for interval, direction, _, _, value, _, _, _ in part.rows:
            at = min(interval, len(series["ops"]) - 1)
            amount = value * scale * window_s
            total += amount
            if kind == "iops":
                series["ops"][at] += round(amount)
            elif direction < 2:
                series["bytes_read" if direction == 0 else "bytes_written"][at] += round(amount)
        if run.elapsed_s and kind == "bw":
            run.rate_bytes_per_s = total / run.elapsed_s
        elif run.elapsed_s:
            run.ops_per_s = total / run.elapsed_s
    run.notes.append(
        "the logs hold averages over windows: percentiles and the single operations are not in them"
    )


def _mean_latency(run: ToolRun, latency: Part, iops: Part | None) -> None:
    """The mean of averages: each counts as many times as there were operations, where another log has that."""
    sums: dict[tuple[int, int], tuple[int, int]] = {}
    for interval, direction, _, lines, total, *_ in latency.rows:
        before = sums.get((interval, direction), (0, 0))
        sums[interval, direction] = (before[0] + lines, before[1] + total)
    done = {} if iops is None else {(row[0], row[1]): row[4] for row in iops.rows}
    weights = {key: done.get(key, 0) if done else lines for key, (lines, _) in sums.items()}
    weight = sum(weights.values())
    if weight:
        run.quantiles_ns = {
            "mean": sum(weights[key] * total / lines for key, (lines, total) in sums.items()) / weight
        }
    if not done:
        run.notes.append(
            "the mean latency is one of averages over windows, each counted alike; with the log of IOPS next to it "
            "each would count by its operations"
        )


def _latency(run: ToolRun, part: Part, series: Columns) -> None:
    """Histograms per direction, and quantiles per interval."""
    by_direction: dict[int, dict[int, int]] = {}
    by_interval: dict[int, dict[int, int]] = {}
    sums, least, most = [0, 0, 0], [1 << 62] * 3, [0, 0, 0]
    for interval, direction, bucket, lines, total, low, high, _ in part.rows:
        at = min(interval, len(series["ops"]) - 1)
        own = by_direction.setdefault(direction, {})
        own[bucket] = own.get(bucket, 0) + lines
        here = by_interval.setdefault(at, {})
        here[bucket] = here.get(bucket, 0) + lines
        sums[direction] += total
        least[direction], most[direction] = min(least[direction], low), max(most[direction], high)
        series["latency_sum_ns"][at] += total
        series["latency_max_ns"][at] = max(series["latency_max_ns"][at], high)
    for at, counts in by_interval.items():
        found = _stored(counts, 0, 0, 1 << 62)
        series["latency_p50_ns"][at] = round(quantile_ns(found, 0.5))
        series["latency_p99_ns"][at] = min(round(quantile_ns(found, 0.99)), series["latency_max_ns"][at])
    for direction, counts in by_direction.items():
        found = _stored(counts, sums[direction], least[direction], most[direction])
        run.latency[_DIRECTIONS[direction]] = found
    run.latency_sum_ns = float(sum(sums))
    main = run.latency[
        _DIRECTIONS[max(by_direction, key=lambda direction: sum(by_direction[direction].values()))]
    ]
    run.quantiles_ns = quantiles_ns(main)
    run.quantiles_ns |= {"min": float(main.min_ns), "max": float(main.max_ns)}
    run.quantiles_ns["mean"] = main.sum_ns / main.count
    run.latency_p99_ns = run.quantiles_ns["p99"]


def _stored(counts: dict[int, int], total: int, low: int, high: int) -> Histogram:
    """A stored histogram of buckets; the quantiles of it lie between `low` and `high`."""
    buckets = sorted(counts.items())
    least, most = bounds_of(buckets[0][0])[0], bounds_of(buckets[-1][0])[1]
    return Histogram(
        count=sum(counts.values()),
        sum_ns=min(total, (1 << 64) - 1),
        min_ns=max(low, least),
        max_ns=min(high, most),
        buckets=buckets,
    )


def attach(run: ToolRun, log: ToolRun) -> None:
    """Give a run of fio's JSON what its logs hold: the series, and the latencies where JSON has only percentiles."""
    run.series = log.series
    run.printed += [(f"log {name}", value) for name, value in log.printed]
    run.notes += log.notes
    if not run.latency:
        run.latency = log.latency
    if run.latency_p99_ns is None and log.latency_p99_ns is not None:
        run.latency_p99_ns = log.latency_p99_ns
        run.quantiles_ns = log.quantiles_ns


# Detect from the first lines of a fio log whether it holds single operations or averages, and their window and unit.
# Scope: a block size of 0 marks averages; the time from one to the next is their window. fio 2, and fio 3 before
# 3.17, write four columns: the first latencies in microseconds, the second in nanoseconds. No operation takes longer
# than the job has run when it ends, which identifies nanoseconds at the beginning of most logs of single operations.
# What it refuses: to guess the unit of other latencies in four columns, and times that do not begin with the job.

_LINES_MAX: Final = 1000
_OLD_COLUMNS: Final = 4
_BEGINNING: Final = 100
"""Operations that are looked at for the unit."""
_ROUNDED_MS: Final = 10
"""Possible error of an operation's time.

It is rounded to whole milliseconds, and the clock of the log begins a little later.
"""
_LATE_MS: Final = 60_000
"""The earliest first entry that is taken to be of another clock, or of a log whose beginning is lost."""
_LATE_SHARE: Final = 0.1
"""The least share of the logged time by which such an entry is late."""
_CLOCK_MS: Final = 10**11
"""Three years: a later time is of a clock, even alone."""


class Head(msgspec.Struct, frozen=True):
    """The beginning of a log."""

    single: bool
    """Whether every line is a single operation."""
    window_ms: float | None
    """Time between two averages; None for single operations."""
    columns: int
    first_ms: int
    """The earliest time of the beginning."""
    last_ms: int
    """The time of the last line of the log."""
    nanoseconds: bool
    """Whether the values of the log, if they are latencies, are certainly in nanoseconds."""


def head_of(lines: Sequence[str], last_ms: int) -> Head:
    """Derive the properties of a log from at least one complete line; lines with impossible numbers are skipped."""
    texts = [[whole(part) for part in line.split(",")[:4]] for line in lines[:_LINES_MAX]]
    rows = [[value for value in row if value is not None] for row in texts if None not in row]
    single = any(row[3] != 0 for row in rows)
    columns = max(line.count(",") + 1 for line in lines[:_LINES_MAX])
    first = rows[:_BEGINNING]
    longer = sum(value / 1000 > time_ms + _ROUNDED_MS for time_ms, value, *_ in first)
    return Head(
        single=single,
        window_ms=None if single else _window_ms(rows, last_ms),
        columns=columns,
        first_ms=min((row[0] for row in rows), default=0),
        last_ms=last_ms,
        nanoseconds=columns > _OLD_COLUMNS or not rows or (single and 2 * longer > len(first)),
    )


def _window_ms(rows: Sequence[Sequence[int]], last_ms: int) -> float:
    """The window of averages: the mean step but for gaps, made to fit the whole log, as each may be a little late."""
    steps = [
        step
        for direction in range(3)
        for step in (b - a for a, b in pairwise(row[0] for row in rows if row[2] == direction))
        if step > 0
    ]
    if not steps:
        return float(max(last_ms, 1))
    usual = statistics.median(steps)
    step = statistics.fmean(step for step in steps if step < 1.5 * usual)
    return last_ms / max(round(last_ms / step), 1) if last_ms else float(step)


def require_unit(path: Path, head: Head) -> None:
    """Raises Refused when the unit of the latencies of a log is ambiguous."""
    if not head.nanoseconds:
        raise Refused(
            path,
            "four columns, in which fio 2 writes microseconds and fio 3 before 3.18 nanoseconds; the "
            "file does not state which",
            expected="the JSON of the run next to it, or --layout fio2-logs or fio-logs",
            code="ambiguous",
        )


def require_job_time(path: Path, first_ms: int, last_ms: int, window_ms: float) -> None:
    """Raises Refused when times are not since the job began, as operations and bytes over them would be no rates.

    `window_ms`: the time from one average to the next, 0 for single operations and where it is not known.
    """
    late_ms = first_ms - 2 * window_ms
    lasted_ms = last_ms - first_ms
    if first_ms < _CLOCK_MS and (not lasted_ms or late_ms < _LATE_MS or late_ms < _LATE_SHARE * lasted_ms):
        return
    raise Refused(
        path,
        f"its first entry is of {first_ms / 1000:,.0f} s and its last of {last_ms / 1000:,.0f} s: "
        "the times are of a clock, or the beginning is lost",
        expected="times since the job began, as fio writes them without log_unix_epoch and log_alternate_epoch",
        advice="subtract the time at which the job began from the first column",
        code="ambiguous",
    )
