"""IOzone's spreadsheet: the BIFF2 file that -b writes, whatever its name ends in.

Scope: a sheet of labels and numbers. Row 0 has the command line, which gives the unit and the numbers of
processes; then one part per test with record sizes in the top row and file sizes in the first column (in kB, of 1024
bytes), or the throughput report with a row per test and a column per number of processes.
What it refuses: another file format than BIFF2, and a sheet without a part that is known.
"""

from __future__ import annotations

import struct
from typing import Final

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.iozone import (
    REPORTS,
    ROWS,
    Unit,
    children,
    processes_of_command,
    record_of_command,
    single,
    spread_out,
    unit_of_command,
)
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun, Unread

LAYOUT: Final = "iozone-sheet"
_BEGIN: Final = b"\x09\x00"
"""Type of the first record of a BIFF2 file."""
_END, _INTEGER, _NUMBER, _LABEL = 0x000A, 0x0002, 0x0003, 0x0004
CELLS_MAX: Final = 1_000_000

Sheet = dict[int, dict[int, str | float]]


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return source.head[:2] == _BEGIN and source.head[2:4] in (b"\x04\x00", b"\x06\x00")


def read(source: Source) -> Result:
    """Read all runs of a sheet. Raises Refused when it is none of IOzone's."""
    if not knows(source):
        raise Refused(source.path, "it does not begin as a BIFF2 spreadsheet does", code="not-understood")
    result = Result(tool="iozone", version=None, layout=LAYOUT, runs=[])
    sheet = _cells(source.data(), result)
    command = sheet.get(0, {}).get(0)
    result.command = command.strip() if isinstance(command, str) else None
    if not any(isinstance(value, str) for row in sheet.values() for value in row.values()):
        raise Refused(
            source.path, "a spreadsheet without any text", expected="IOzone's titles", code="not-understood"
        )
    throughput = any("Throughput report" in str(row.get(0, "")) for row in sheet.values())
    (_throughput if throughput else _parts)(sheet, result)
    spread_out(result.runs)
    return result


def _cells(data: bytes, result: Result) -> Sheet:
    """Labels and numbers by row and column; damage ends the sheet, and is reported."""
    sheet: Sheet = {}
    at = count = 0
    while at + 4 <= len(data):
        kind, length = struct.unpack_from("<HH", data, at)
        body = data[at + 4 : at + 4 + length]
        if len(body) < length:
            break
        at += 4 + length
        if kind == _END:
            return sheet
        value = _value(kind, body)
        if value is None:
            if kind not in (0x0009, 0x0000):
                result.unread.append(Unread(0, f"record 0x{kind:04x} at byte {at}", "no label and no number"))
            continue
        count += 1
        if count > CELLS_MAX:
            result.lost.append(f"the sheet has more than {CELLS_MAX:,} cells; the rest is ignored")
            return sheet
        row, column = struct.unpack_from("<HH", body)
        sheet.setdefault(row, {})[column] = value
    result.lost.append(
        f"the sheet ends at byte {at} without the record that ends a sheet; what came after is lost"
    )
    return sheet


def _value(kind: int, body: bytes) -> str | float | None:
    if kind == _LABEL and len(body) >= 8:
        text = body[8 : 8 + body[7]].split(b"\0")[0]
        return text.decode("latin-1")
    if kind == _NUMBER and len(body) >= 15:
        return float(struct.unpack_from("<d", body, 7)[0])
    if kind == _INTEGER and len(body) >= 9:
        return float(struct.unpack_from("<H", body, 7)[0])
    return None


def _parts(sheet: Sheet, result: Result) -> None:
    """Split the sheet into one part per test: a title, record sizes, then rows of file sizes."""
    unit: Unit = unit_of_command(result.command or "")
    test: str | None = None
    records: dict[int, int] = {}
    for row in sorted(sheet)[1:]:
        cells = sheet[row]
        title = cells.get(0)
        if isinstance(title, str):
            words = title.strip().lower()
            if not words or words.startswith("the top row is"):
                continue
            if words.endswith("report"):
                test, records = REPORTS.get(words.removesuffix("report").strip()), {}
            else:
                test = None
            if test is None and "cpu utilization" not in words:
                result.skip(row + 1, title, "no title of a part of IOzone's")
        elif test is not None and title is None:
            sizes = {column: whole(value) for column, value in cells.items()}
            records = {column: size for column, size in sizes.items() if size}
        elif test is not None and (file_kb := whole(title)):
            for column in sorted(cells):
                figure, record_kb = number(cells[column]), records.get(column)
                if column == 0:
                    continue
                if figure is None or record_kb is None:
                    result.unread.append(
                        Unread(row + 1, str(cells[column]), f"column {column + 1}: no record size above")
                    )
                    continue
                run = single(test, file_kb, record_kb, figure, unit, row + 1)
                result.runs += [run] if run is not None else []


def _throughput(sheet: Sheet, result: Result) -> None:
    """A row per test; the columns are the numbers of processes of the command line."""
    unit: Unit = "kB/s"
    command = result.command or ""
    record_kb = record_of_command(command)
    counts = processes_of_command(command)
    for row in sorted(sheet)[1:]:
        cells = sheet[row]
        title = str(cells.get(0, "")).strip()
        words = title.lower()
        if words.startswith("record size ="):
            record_kb = whole(words.removeprefix("record size =").removesuffix("kbytes").strip()) or record_kb
        elif words.startswith("output is in"):
            unit = "ops/s" if "ops" in words else unit
        elif words in ROWS:
            columns = [column for column in sorted(cells) if column]
            found: list[ToolRun | None] = []
            if counts and len(counts) != len(columns):
                result.skip(row + 1, title, f"{len(columns)} figures of {len(counts)} -t")
                continue
            for at, column in enumerate(columns):
                figure = number(cells[column])
                processes = counts[at] if counts else at + 1
                found.append(
                    None
                    if figure is None
                    else children(ROWS[words], processes, record_kb, figure, unit, row + 1)
                )
            result.runs += [run for run in found if run is not None]
        elif words and "throughput report" not in words:
            result.skip(row + 1, title, "no row of IOzone's throughput report")
