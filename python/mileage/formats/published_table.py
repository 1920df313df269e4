"""Published tables as CSV: keys that name a cell, then what is printed of it.

Scope: a file with one header row. The columns `diff_percent` and `std_percent` hold the figures, or, where both arms
are printed, `baseline_mean`, `baseline_sd`, `candidate_mean`, `candidate_sd`, and where given `baseline_runs` and
`candidate_runs`. Every column before the first of them that is not listed in `IGNORED` names the cell, the first of
these being the test; a column `metric` may say throughput, iops, p99 or time, and a column `unit` in which unit the
means of both arms are. Without it their ratio is judged, and no mean is shown.
Refuses missing columns, rows of another length and figures that are not numbers, with the line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mileage.errors import Refused
from mileage.formats.number_parser import OPERATIONS, RATES, TIMES_NS, TIMES_S, whole
from mileage.judge.published_means import PrintedArm, PrintedCell, PrintedDifference
from mileage.judge.rules import PrintedFigures
from mileage.model.metrics import METRICS
from mileage.regular_file import read_regular

DIFFERENCE: Final = "diff_percent"
SPREAD: Final = "std_percent"
ARMS: Final = ("baseline_mean", "baseline_sd", "candidate_mean", "candidate_sd")
RUNS: Final = ("baseline_runs", "candidate_runs")
METRIC: Final = "metric"
UNIT: Final = "unit"
UNITS: Final[dict[str, dict[str, float]]] = {
    "throughput": RATES,
    "iops": OPERATIONS,
    "p99": TIMES_NS,
    "time": TIMES_S,
}
"""The accepted units of each metric, with the factor to the stored unit.

Bytes/s, operations/s, nanoseconds, seconds.
"""
_BYTES_MAX: Final = 64 << 20
IGNORED: Final = ("table", "case")
"""Columns that say where a cell was printed, not which cell it is."""


def read_differences(path: Path) -> tuple[tuple[str, ...], tuple[PrintedDifference, ...]]:
    """Names of the keys, and the rows of a table of differences in the order of the file.

    Raises Refused when the file cannot be read as such a table.
    """
    rows = _rows(path)
    header = rows[0]
    keys = _keys(path, header, (DIFFERENCE, SPREAD), IGNORED)
    return tuple(header[index] for index in keys), tuple(
        _difference(path, line, row, header, keys) for line, row in enumerate(rows[1:], 2)
    )


def prints_arms(path: Path) -> bool:
    """Whether the table has mean and deviation of both arms. Raises Refused for a file that is not a table."""
    return ARMS[0] in _rows(path)[0]


def read_arms(path: Path, runs: int) -> tuple[PrintedCell, ...]:
    """The rows of a table that prints both arms; `runs` where the table does not say how many.

    Raises Refused when the file cannot be read as such a table.
    """
    rows = _rows(path)
    header = rows[0]
    keys = _keys(path, header, ARMS, (*IGNORED, METRIC, UNIT))
    return tuple(_printed(path, line, row, header, keys, runs) for line, row in enumerate(rows[1:], 2))


def _keys(path: Path, header: Sequence[str], figures: Sequence[str], ignored: Sequence[str]) -> list[int]:
    """The columns that name a cell: those before the first with a figure. Raises Refused where one is missing."""
    missing = [name for name in figures if name not in header]
    if missing:
        raise Refused(f"{path}, line 1", f"no column {missing[0]}", found=", ".join(header), code="malformed")
    end = min(header.index(name) for name in (*figures, *RUNS) if name in header)
    keys = [index for index in range(end) if header[index] not in ignored]
    if not keys:
        raise Refused(
            f"{path}, line 1", f"no column before {header[end]} that names a cell", code="malformed"
        )
    return keys


def _printed(
    path: Path, line: int, row: list[str], header: list[str], keys: list[int], runs: int
) -> PrintedCell:
    found = dict(zip(header, row, strict=False))
    if len(row) != len(header):
        raise Refused(
            f"{path}, line {line}", f"{len(row)} fields", expected=f"{len(header)}", code="malformed"
        )
    metric = found.get(METRIC, "throughput")
    if metric not in METRICS:
        raise Refused(
            f"{path}, line {line}", f"{METRIC} is {metric!r}", expected=", ".join(METRICS), code="malformed"
        )

    def figure(name: str) -> float:
        try:
            return float(found[name])
        except ValueError:
            raise Refused(
                f"{path}, line {line}", f"{name} is {found[name]!r}", expected="a number", code="malformed"
            ) from None

    def count(name: str) -> int:
        if name not in found:
            return runs
        if (stated := whole(found[name])) is None:
            raise Refused(
                f"{path}, line {line}",
                f"{name} is {found[name]!r}",
                expected="a whole number of runs",
                code="malformed",
            )
        return stated

    unit = found.get(UNIT)
    if unit is not None and unit not in UNITS[metric]:
        raise Refused(
            f"{path}, line {line}", f"{UNIT} is {unit!r}", expected=", ".join(UNITS[metric]), code="malformed"
        )
    scale = 1.0 if unit is None else UNITS[metric][unit]
    low = PrintedArm(figure(ARMS[0]) * scale, figure(ARMS[1]) * scale, count(RUNS[0]))
    high = PrintedArm(figure(ARMS[2]) * scale, figure(ARMS[3]) * scale, count(RUNS[1]))
    name, places = _named(row, header, keys)
    return PrintedCell(name, metric, low, high, has_unit=unit is not None, places=places)


def _named(row: Sequence[str], header: Sequence[str], keys: Sequence[int]) -> tuple[str, dict[str, str]]:
    """The name of a row, and the words of it by column, the first of them the test."""
    places = {"test": row[keys[0]], **{header[at]: row[at] for at in keys[1:]}}
    return " ".join(row[at] for at in keys), places


def _rows(path: Path) -> list[list[str]]:
    """The lines of a table, the header first."""
    try:
        # Spreadsheets begin a UTF-8 file with a byte order mark.
        text = read_regular(path, _BYTES_MAX).decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise Refused(path, f"cannot be read as a table: {cause}", code="unreadable") from cause
    if not rows:
        raise Refused(
            path,
            "an empty file",
            expected=f"a header row with {DIFFERENCE} and {SPREAD}, or with {', '.join(ARMS)}",
            code="empty",
        )
    return rows


def _difference(
    path: Path, line: int, row: list[str], header: list[str], keys: list[int]
) -> PrintedDifference:
    if len(row) != len(header):
        raise Refused(
            f"{path}, line {line}", f"{len(row)} fields", expected=f"{len(header)}", code="malformed"
        )
    figures = []
    for name in (DIFFERENCE, SPREAD):
        text = row[header.index(name)]
        try:
            figures.append(float(text))
        except ValueError:
            raise Refused(
                f"{path}, line {line}",
                f"{name} is {text!r}",
                expected="a number in percent",
                code="malformed",
            ) from None
    name, places = _named(row, header, keys)
    metric = "iops" if "iops" in places["test"].rpartition(".")[2].lower() else "throughput"
    return PrintedDifference(name, metric, PrintedFigures(*figures), places)
