"""elbencho's CSV of end results (--csvfile), by the names of its columns.

Scope: each row a run, with the figures at the point where the last thread finished; those of the first stand
in `printed`. MiB are 2^20 bytes, latencies whole microseconds. With --rwmixpct the row has the writes, and the columns
"rwmix read" the reads: both together are the run's rate.
What it refuses: a table without elbencho's columns.
"""

from __future__ import annotations

import csv
import io
from typing import Final

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun
from mileage.plan.sizes import record_words

LAYOUT: Final = "elbencho-csv"
_MARKS: Final = ("ISO date", "operation", "MiB/s [last]")
_SETTINGS: Final = (
    *("path type", "paths", "hosts", "threads", "dirs", "files", "file size", "block size", "direct IO"),
    *("random", "random aligned", "IO depth", "shared paths", "truncate", "label"),
)
_READS: Final = ("READ",)
_METADATA: Final = (
    *("MKDIRS", "RMFILES", "RMDIRS", "STAT", "STATDIRS", "RMOBJECTS", "HEADOBJ", "MKBUCKETS", "RMBUCKETS"),
)
PHASES_WITHOUT_WORK: Final = ("SYNC", "DROPCACHE", "IDLE", "QUIT")
"""Phases that move nothing; they are listed in `facts`."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    first = source.text_head.lstrip("\ufeff").split("\n")[0]
    return all(mark in first for mark in _MARKS)


def read(source: Source) -> Result:
    """Read all runs of a table. Raises Refused when it is none of elbencho's."""
    if not knows(source):
        raise Refused(
            source.path, f"line 1 has no columns {', '.join(map(repr, _MARKS))}", code="not-understood"
        )
    result = Result(tool="elbencho", version=None, layout=LAYOUT, runs=[])
    names: list[str] = []
    reader = csv.reader(io.StringIO("\n".join(source.lines()).replace("\0", "\ufffd")))
    try:
        for fields in reader:
            if not any(fields):
                continue
            if "operation" in fields and "ISO date" in fields:
                names = fields
                continue
            _row(result, reader.line_num, names, fields)
    except csv.Error as cause:
        result.lost.append(f"line {reader.line_num} and what follows: {cause}")
    return result


def _row(result: Result, at: int, names: list[str], fields: list[str]) -> None:
    if len(fields) < len(names):
        result.skip(at, ",".join(fields), f"{len(fields)} fields, expected {len(names)}")
        return
    row = dict(zip(names, fields, strict=False))
    # Split at most this often, because the command line is the last column and may contain commas.
    row[names[-1]] = ",".join(fields[len(names) - 1 :])
    phase = row["operation"].upper()
    result.version = result.version or row.get("version") or None
    result.command = result.command or row.get("command") or None
    result.began = result.began or row.get("ISO date") or None
    if phase in PHASES_WITHOUT_WORK:
        result.facts[f"line {at}"] = phase
        return
    run = run_of(at, row, phase)
    if run.measured:
        result.runs.append(run)
    else:
        result.skip(at, ",".join(fields), "no rate that is a number")


def run_of(at: int, row: dict[str, str], phase: str) -> ToolRun:
    """The run of a row: its columns by name, `phase` in capitals."""
    mixed = whole(row.get("rwmix read MiB [last]")) or whole(row.get("rwmix read IOPS [last]"))
    metadata = phase in _METADATA
    rate, ops = _sum(row, "MiB/s [last]"), _sum(row, "entries/s [last]" if metadata else "IOPS [last]")
    time_ms = number(row.get("time ms [last]"))
    own, other = _bytes(row.get("MiB [last]", "")), _bytes(row.get("rwmix read MiB [last]", "") or "0")
    threads = (whole(row.get("threads")) or 1) * max(1, whole(row.get("hosts")) or 1)
    reads = phase in _READS
    kind = "Ent" if metadata else "IO"
    latencies = {
        name: 1000 * value
        for name, column in (("min", "min"), ("mean", "avg"), ("max", "max"))
        if (value := number(row.get(f"{kind} lat us [{column}]"))) is not None
    }
    random = row.get("random") == "1"
    run = ToolRun(
        cell=_label(row, phase, metadata, random, bool(mixed), threads),
        kind="iops" if metadata or random else "throughput",
        line=at,
        levels={name: row[name] for name in _SETTINGS if row.get(name)},
        rate_bytes_per_s=None if rate is None or metadata else rate * 1024**2,
        ops_per_s=ops,
        elapsed_s=time_ms / 1000 if time_ms else None,
        bytes_read=None if metadata else own if reads else other,
        bytes_written=None if metadata else 0 if reads else own,
        quantiles_ns={} if mixed else latencies,
        outstanding=None if metadata else threads * (whole(row.get("IO depth")) or 1),
        printed=[(name, value) for name, text in row.items() if (value := number(text)) is not None],
    )
    return run


def _label(row: dict[str, str], phase: str, metadata: bool, random: bool, mixed: bool, threads: int) -> str:
    block = whole(row.get("block size"))
    words = [f"elbencho.{'random_' if random and not metadata else ''}{phase.lower()}"]
    words[0] += f" {record_words(block)}" if block and not metadata else ""
    words += ["mixed with reads"] if mixed else []
    depth = row.get("IO depth", "")
    words += [f"depth {depth}"] if depth not in ("", "0", "1") and not metadata else []
    words += [f"{threads} threads"] if threads > 1 else []
    return ", ".join(words)


def _sum(row: dict[str, str], name: str) -> float | None:
    """Sum of column `name` and of the column with the reads of a mixed phase; None where both are empty."""
    values = [number(row.get(name)), number(row.get(f"rwmix read {name}"))]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _bytes(mib: str) -> int | None:
    """Bytes of a column in MiB; None where it is no number."""
    value = number(mib)
    return None if value is None else round(1024**2 * value)
