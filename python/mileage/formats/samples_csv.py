"""A plain table of samples: one figure of one repetition of one cell in each row, for tools without a reader.

Scope: one header row with the columns `cell`, `repetition`, `value` and `unit`; optionally `metric` and `session`;
every other column is a setting, whatever its name. Rows of one cell, session, repetition and setting are figures of one
run, and rows of one repetition number were measured together. Fields are separated by commas, semicolons or tabs,
whichever the header has.
What it refuses: a decimal comma, a unit that has two meanings or none, a metric that does not fit its unit, a time
without a metric, and a figure that is given twice. A row with another number of fields, or whose value is no number, is
reported as not understood.
"""

from __future__ import annotations

import csv
import io
import re
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import OPERATIONS, RATES, TIMES_NS, TIMES_S, choice_of, number, whole
from mileage.formats.result import Kind, Result, ToolRun
from mileage.model.cell_key import CellKey
from mileage.model.imported_settings import INCIDENTAL
from mileage.model.metrics import QUANTILES as METRIC_QUANTILES
from mileage.plan.value_checks import SESSION_NAME_MAX

LAYOUT: Final = "samples-csv"
COLUMNS: Final = ("cell", "repetition", "value", "unit")
METRIC: Final = "metric"
SESSION: Final = "session"
"""Rows with one name here were measured in one session."""
_OPERATIONS: Final = {**OPERATIONS, "ops/s": 1.0}
_JUDGED: Final = {
    "throughput": ("rate_bytes_per_s", RATES),
    "iops": ("ops_per_s", _OPERATIONS),
    "p99": ("latency_p99_ns", TIMES_NS),
    "time": ("elapsed_s", TIMES_S),
}
"""Metrics that are judged: the field of a run, and the units."""
_QUANTILES: Final = ("mean", "min", "p50", "p90", "p99_9", "max")
"""Latencies that are kept and not judged."""
_OF_COMMITS: Final = {word: row.figure for word, row in METRIC_QUANTILES.items() if word not in _JUDGED}
"""Quantiles of commits and syncs, which are judged too: their names in a sample."""
_METRICS: Final = (*_JUDGED, *_OF_COMMITS, *_QUANTILES)
_UNITS: Final = (*RATES, *_OPERATIONS, *TIMES_NS)
_SEPARATORS: Final = ",;\t"
_COMMA: Final = re.compile(r"[0-9.]{1,40},[0-9]{1,40}")
_FIELD_MAX: Final = 4000
"""Characters of a field; a longer one is damage."""


class _Row(msgspec.Struct, frozen=True):
    """A row that was understood."""

    line: int
    cell: str
    repetition: int
    metric: str
    value: float
    """In the unit of the field of a run."""
    printed: tuple[str, float]
    levels: dict[str, str]
    session: str


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return bool(_header(source.text_head.split("\n")[0]))


def read(source: Source) -> Result:
    """Read all runs of a table. Raises Refused for a file without the columns, and as the head of the module says."""
    lines = source.lines()
    separator = _header(lines[0] if lines else "")
    if not separator:
        raise Refused(source.path, f"line 1 has no columns {', '.join(COLUMNS)}", code="not-understood")
    result = Result(tool="csv", version=None, layout=LAYOUT, runs=[])
    # A field that ends on another line is damage, so each line is parsed for itself.
    names = [name.strip().lower() for name in _fields(lines[0], separator)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Refused(f"{source.path}, line 1", f"two columns {twice!r}", code="repeated")
    rows: list[_Row] = []
    for at, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        fields = _fields(line, separator)
        if separator != "," and len(fields) == len(names):
            _check_point(f"{source.path}, line {at}", fields[names.index("value")])
        row = _row(source, at, names, fields)
        if isinstance(row, _Row):
            rows.append(row)
        else:
            result.skip(at, line, row)
    result.runs += _runs(source, rows)
    return result


def _check_point(where: str, value: str) -> None:
    """Raises Refused for a value with a decimal comma: below one, 1.234 may be a thousand."""
    if _COMMA.fullmatch(value.strip()):
        raise Refused(
            where,
            f"the value is {value.strip()[:40]!r}",
            expected="decimal points in the whole table",
            advice="export it with numbers such as 1234.5",
            code="ambiguous",
        )


def _header(line: str) -> str:
    """The separator of a header row; empty where a line is none."""
    names = line.strip().lower()
    if len(names) > _FIELD_MAX:
        return ""
    return next((one for one in _SEPARATORS if set(COLUMNS) <= {*map(str.strip, _fields(names, one))}), "")


def _fields(line: str, separator: str) -> list[str]:
    text = line.strip("\r\n").replace("\r", "\ufffd").replace("\0", "\ufffd")
    try:
        return next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error:
        return []


def _row(source: Source, at: int, names: list[str], fields: list[str]) -> _Row | str:
    """A row, or why it is none. Raises Refused for a unit or metric that cannot be meant."""
    if len(fields) != len(names):
        return f"{len(fields)} fields, expected {len(names)}"
    found = {name: field.strip()[:_FIELD_MAX] for name, field in zip(names, fields, strict=True)}
    value, repetition = number(found["value"]), whole(found["repetition"])
    if value is None:
        return "the value is no number that is 0 or more, with a decimal point"
    if repetition is None:
        return "the repetition is no whole number"
    if not found["cell"]:
        return "the cell has no name"
    metric, scale = _meaning(f"{source.path}, line {at}", found.get(METRIC, ""), found["unit"])
    levels = {
        # A name that distinguishes no cells in the files of a tool does so here.
        f"column {name}" if name in INCIDENTAL else name: text
        for name, text in found.items()
        if name and text and name not in (*COLUMNS, METRIC, SESSION)
    }
    if len(found.get(SESSION, "")) > SESSION_NAME_MAX:
        raise Refused(
            f"{source.path}, line {at}",
            f"the name of the session has {len(found[SESSION]):,} characters",
            expected=f"at most {SESSION_NAME_MAX}",
            code="out-of-range",
        )
    named = f"{metric} [{found['unit']}]"
    return _Row(
        at, found["cell"], repetition, metric, value * scale, (named, value), levels, found.get(SESSION, "")
    )


def _meaning(where: str, metric: str, unit: str) -> tuple[str, float]:
    """The metric of a row, and the factor to the unit of its field. Raises Refused."""
    if unit not in _UNITS:
        choice = choice_of(unit)
        raise Refused(
            where,
            f"the unit is {unit[:40]!r}",
            expected=choice or ", ".join(_UNITS),
            code="ambiguous" if choice else "unknown-word",
        )
    if not metric:
        if unit in TIMES_NS:
            raise Refused(
                where,
                f"the unit is {unit}, and no metric says which time",
                expected=f"a column {METRIC} with one of {', '.join(('p99', 'time', *_OF_COMMITS, *_QUANTILES))}",
                code="ambiguous",
            )
        metric = "throughput" if unit in RATES else "iops"
    if metric not in _METRICS:
        raise Refused(
            where, f"the metric is {metric[:40]!r}", expected=", ".join(_METRICS), code="unknown-word"
        )
    units = _JUDGED[metric][1] if metric in _JUDGED else TIMES_NS
    if unit not in units:
        raise Refused(where, f"{metric} in {unit}", expected=", ".join(units), code="mismatch")
    return metric, units[unit]


def _runs(source: Source, rows: list[_Row]) -> list[ToolRun]:
    """The runs: rows of one cell, repetition and setting together. Raises Refused for a figure that is given twice."""
    runs: dict[tuple[object, ...], ToolRun] = {}
    lines: dict[tuple[object, ...], int] = {}
    calls: dict[tuple[str, int], int] = {}
    for row in rows:
        key = (row.cell, row.session, row.repetition, *row.levels.items())
        if (other := lines.setdefault((key, row.metric), row.line)) != row.line:
            raise Refused(
                f"{source.path}, line {row.line}",
                f"{row.metric} of {row.cell[:80]}, repetition {row.repetition}, is given in line {other} too",
                advice="count repetitions from 1, and give settings that differ a column",
                code="repeated",
            )
        run = runs.setdefault(
            key,
            ToolRun(
                cell=row.cell,
                key=CellKey(row.cell),
                kind="throughput",
                line=row.line,
                call=calls.setdefault((row.session, row.repetition), row.line),
                levels=row.levels,
                session=row.session,
            ),
        )
        run.printed.append(row.printed)
        if row.metric in _JUDGED:
            setattr(run, _JUDGED[row.metric][0], row.value)
        if row.metric in _OF_COMMITS:
            run.latencies_ns[_OF_COMMITS[row.metric]] = row.value
        elif row.metric not in ("throughput", "iops", "time"):
            run.quantiles_ns[row.metric] = row.value
    by_cell: dict[tuple[object, ...], list[ToolRun]] = {}
    for run in runs.values():
        by_cell.setdefault((run.cell, *run.levels.items()), []).append(run)
    for same in by_cell.values():
        kind = _kind(same)
        for run in same:
            run.kind = kind
    return list(runs.values())


def _kind(runs: list[ToolRun]) -> Kind:
    """What the runs of a cell are judged by: throughput if it is given, else operations, else time."""
    if any(run.rate_bytes_per_s is not None for run in runs):
        return "throughput"
    if any(run.ops_per_s is not None or run.latency_p99_ns is not None or run.latencies_ns for run in runs):
        return "iops"
    return "time"
