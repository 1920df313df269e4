"""IOMeter's result file, by the names of its columns.

Scope: each row ALL is a run of an access specification; rows of managers, workers and disks are its parts, and
are counted, not read. MiBps are 2^20 bytes; IOMeter 2006 calls the same MBps. Response times are in milliseconds.
What it refuses: a file without IOMeter's columns.
"""

from __future__ import annotations

import csv
import io
from typing import Final

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun

LAYOUT: Final = "iometer-csv"
_MARK: Final = "'Target Type"
MIB: Final = 1 << 20


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return _MARK in source.text_head and "IOps" in source.text_head


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it has no columns of IOMeter."""
    text = "\n".join(source.lines()).replace("\0", "\ufffd").replace("\r", "\n")
    if _MARK not in text:
        raise Refused(source.path, found=f"no line that begins with {_MARK!r}", code="not-understood")
    result = Result(tool="iometer", version=None, layout=LAYOUT, runs=[])
    names: list[str] = []
    before, inside = "", False
    reader = csv.reader(io.StringIO(text), quotechar=None, quoting=csv.QUOTE_NONE)
    try:
        for fields in reader:
            first = fields[0].strip() if fields else ""
            if first == _MARK:
                names = [name.strip() for name in fields]
            elif names and first in ("ALL", "MANAGER", "WORKER", "DISK", "PROCESSOR"):
                _row(result, reader.line_num, names, fields)
            elif first.startswith("'"):
                names = []
                inside = first.startswith("'Access spec") or (inside and not first.startswith("'End"))
            elif before in ("'Version", "'Time Stamp"):
                result.version = first if before == "'Version" else result.version
                result.began = result.began or (first if before == "'Time Stamp" else None)
            elif first and not inside and not before.startswith("'"):
                result.skip(reader.line_num, ",".join(fields), "no row of IOMeter's results")
            before = first
    except csv.Error as cause:
        result.lost.append(f"line {reader.line_num} and what follows: {cause}")
    return result


def _row(result: Result, at: int, names: list[str], fields: list[str]) -> None:
    if fields[0].strip() != "ALL":
        key = f"rows {fields[0].strip()}"
        result.facts[key] = str(int(result.facts.get(key, "0")) + 1)
        return
    row = dict(zip(names, (field.strip() for field in fields), strict=False))
    binary = "MiBps (Binary)" if "MiBps (Binary)" in row else "MBps"
    rate = number(row.get(binary))
    levels = {
        name: row[name] for name in ("# Managers", "# Workers", "# Disks", "Queue Depth") if row.get(name)
    }
    times = (("mean", "Average Response Time"), ("max", "Maximum Response Time"))
    run = ToolRun(
        cell=f"iometer.{row.get('Access Specification Name', '')}",
        kind="iops",
        line=at,
        levels=levels,
        rate_bytes_per_s=None if rate is None else rate * MIB,
        ops_per_s=number(row.get("IOps")),
        bytes_read=whole(row.get("Bytes Read")),
        bytes_written=whole(row.get("Bytes Written")),
        ops_read=whole(row.get("Read I/Os")),
        ops_written=whole(row.get("Write I/Os")),
        quantiles_ns={
            name: 1e6 * value for name, column in times if (value := number(row.get(column))) is not None
        },
        printed=[(name, value) for name, text in row.items() if (value := number(text)) is not None],
    )
    if len(fields) < len(names) or not run.measured:
        result.skip(at, ",".join(fields), f"{len(fields)} fields of {len(names)}, or no figure")
        return
    if errors := whole(row.get("Errors")):
        run.error = f"{errors} errors"
    if binary == "MBps":
        run.notes.append("MBps of this version of IOMeter are taken as 2^20 bytes")
    result.runs.append(run)
