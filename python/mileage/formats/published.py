"""Published tables as CSV: keys that name a cell, then a difference and a standard deviation in percent.

Models a file with one header row. The columns `diff_percent` and `std_percent` hold the figures; every column
before the first of them that is not listed in `IGNORED` names the cell, the first of these being the test.
Refuses missing columns, rows of another length and figures that are not numbers, with the line.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

from mileage.errors import Refused
from mileage.judge.published import PublishedCell

DIFFERENCE: Final = "diff_percent"
SPREAD: Final = "std_percent"
IGNORED: Final = ("table", "case")
"""Columns that say where a cell was printed, not which cell it is."""


def read_published(path: Path) -> tuple[tuple[str, ...], tuple[PublishedCell, ...]]:
    """Names of the keys, and the cells in the order of the file.

    Raises Refused when the file cannot be read as such a table.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError) as cause:
        raise Refused(f"{path}: cannot be read as a table: {cause}") from cause
    if not rows:
        raise Refused(f"{path}: an empty file; expected a header row with {DIFFERENCE} and {SPREAD}")
    header = rows[0]
    missing = [name for name in (DIFFERENCE, SPREAD) if name not in header]
    if missing:
        raise Refused(f"{path}, line 1: no column {missing[0]}; found {', '.join(header)}")
    end = min(header.index(DIFFERENCE), header.index(SPREAD))
    keys = [index for index in range(end) if header[index] not in IGNORED]
    if not keys:
        raise Refused(f"{path}, line 1: no column before {header[end]} that names a cell")
    cells = tuple(_cell(path, line, row, header, keys) for line, row in enumerate(rows[1:], 2))
    return tuple(header[index] for index in keys), cells


def _cell(path: Path, line: int, row: list[str], header: list[str], keys: list[int]) -> PublishedCell:
    if len(row) != len(header):
        raise Refused(f"{path}, line {line}: {len(row)} fields; expected {len(header)}")
    figures = []
    for name in (DIFFERENCE, SPREAD):
        text = row[header.index(name)]
        try:
            figures.append(float(text))
        except ValueError:
            raise Refused(f"{path}, line {line}: {name} is {text!r}; expected a number in percent") from None
    return PublishedCell(tuple(row[index] for index in keys), figures[0], figures[1])
