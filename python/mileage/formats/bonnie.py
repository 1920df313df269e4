"""bonnie++: its machine-readable line and its table, of bonnie++ 1.9x and 2.0.

Scope: each test of a call is a run. Rates of data are KiB/s (1,024 bytes), seeks and files are per second; CPU shares
and the longest latency stand in `printed`. Where a file has table and line of one call, the line is read, which has
more digits, and rates of files: the table of 2.00a has the number of files in their place.
What it refuses: lines of bonnie++ 1.0x, which have no version in front. A test that ended too soon to have a figure
(+++++) is reported, and is no run.
"""

from __future__ import annotations

import csv
import re
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import TIMES_NS, number
from mileage.formats.result import Result, ToolRun, Unread
from mileage.model.cell_key import CellKey

LAYOUT: Final = "bonnie"
KIB: Final = 1024
_HEAD: Final = (
    *("format_version", "bonnie_version", "name", "concurrency", "seed", "file_size", "io_chunk_size"),
)
_SEEKS: Final = ("seek_chunk_size", "seek_processes")
"""Columns that format 1.98 has in addition; the line of column names that bonnie++ 2.00a prints lacks them."""
_DATA: Final = ("putc", "put_block", "rewrite", "getc", "get_block")
_FILES: Final = ("seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del")
_FILE_SETTINGS: Final = ("num_files", "max_size", "min_size", "num_dirs", "file_chunk_size")
_TESTS: Final = (*_DATA, "seeks", *_FILES)
_TAIL: Final = (
    *(column for test in (*_DATA, "seeks") for column in (test, f"{test}_cpu")),
    *_FILE_SETTINGS,
    *(column for test in _FILES for column in (test, f"{test}_cpu")),
    *(f"{test}_latency" for test in _TESTS),
)
COLUMNS: Final = {"1.96": (*_HEAD, *_TAIL), "1.97": (*_HEAD, *_TAIL), "1.98": (*_HEAD, *_SEEKS, *_TAIL)}
"""Columns of the line by its format version."""
_LINE: Final = re.compile(r"1\.[0-9]{2},[0-9]\.[0-9]{2}[a-z]?,.*")
_OLD: Final = re.compile(r"[^,\s]{1,80},[0-9.]{1,9}[KMG](?::[^,]{1,20})?,(?:[0-9.+]*,){10,}[0-9.+]*")
_VERSION: Final = re.compile(r"Version\s+([0-9.]{1,9}[a-z]?)\s+-+Sequential (Output|Create)-+ .*")
_HEADING: Final = re.compile(
    r"(?:Concurrency\s+(?P<jobs>[0-9]{1,6})\s+)?\s*-(?:Per Chr|Create)-.*|(?:Machine|Name:Size etc)\s.*%CP.*|"
    r"\S{0,80}\s+-Create--.*|\s+-+Sequential Create-+ .*|\s+files(?::max:min)?\s.*%CP.*"
)
_FIGURE: Final = r"(?:[0-9.]{1,12}[kmg]?|\+{3,6})"
_ROW: Final = re.compile(rf"(?P<head>.*?)(?P<figures>(?:\s+{_FIGURE}\s+(?:[0-9]{{1,4}}|\+{{3}})){{6}})\s*")
_SIZE: Final = re.compile(r"[0-9.]{1,9}[KMG](?::[^:\s]{0,20}){0,3}")
_FILES_ROW: Final = re.compile(r"\s*(?:\S{1,80}\s+)?(?P<files>[0-9]{1,9}(?::[0-9]+){0,2}(?:/[0-9]+)?)")
_LATENCY: Final = re.compile(r"Latency((?:\s+[0-9.]+[mun]?s|\s+\+{3,6}){6})\s*")
_TALK: Final = re.compile(
    r"Using uid:.*|(?:Writing|Reading) (?:a byte at a time|with putc\(\)|with getc\(\)|intelligently)\.\.\.done|"
    r"Rewriting\.\.\.done|start 'em(?:\.\.\.done)+\.{0,3}|(?:Create|Stat|Delete) files in (?:sequential|random) order"
    r"\.\.\.done\.|format_version,bonnie_version,.*"
)
"""Lines about its progress, and the names of the columns."""
_LETTERS: Final = {"": 1, "k": 1, "m": KIB, "g": KIB**2}
"""KiB/s of the letters in the table of bonnie++ 2.0; the line, and the table of 1.9x, have KiB/s without one."""
_TOO_SHORT: Final = "too short to be measured: bonnie++ prints no figure"


class _Table(msgspec.Struct):
    """The table of one call, as far as it was read."""

    line: int
    jobs: str | None = None
    plain: bool = False
    """Whether its heading has K/sec: figures of data are KiB/s without a letter."""
    name: str = ""
    size: str = ""
    files: str = ""
    figures: list[tuple[int, str, str, str]] = []
    """Line, test, figure and CPU."""
    waiting: tuple[str, ...] = ()
    """The tests of the last row of figures, until their latencies follow."""
    latency: dict[str, str] = {}


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return any(
        _LINE.match(line) or _VERSION.match(line) or (_OLD.fullmatch(line) and "+" in line)
        for line in source.text_head.replace("\r", "").split("\n")[:500]
    )


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds none."""
    result = Result(tool="bonnie++", version=None, layout=LAYOUT, runs=[])
    tables: list[_Table] = []
    lines: list[tuple[int, str]] = []
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r")
        if _LINE.match(line):
            lines.append((at, line))
        elif _OLD.fullmatch(line):
            raise Refused(
                f"{source.path}, line {at}",
                "a line of bonnie++ without its version",
                expected=f"format version {', '.join(COLUMNS)}",
                code="unsupported",
            )
        elif not _table_line(result, tables, at, line) and line.strip() and not _TALK.fullmatch(line):
            result.skip(at, line, "no line of bonnie++ that can stand here")
    for at, line in lines:
        _csv(result, at, line)
    if not lines:
        for table in tables:
            _runs_of_table(result, table)
    if not result.runs:
        why = f"; line {result.unread[0].line}: {result.unread[0].why}" if result.unread else ""
        raise Refused(source.path, f"no figure of bonnie++ was understood{why}", code="not-understood")
    return result


def _csv(result: Result, at: int, line: str) -> None:
    """The runs of a machine-readable line."""
    try:
        fields = next(csv.reader([line]))
    except (csv.Error, StopIteration):
        fields = []
    names = COLUMNS.get(fields[0], ()) if fields else ()
    if not names or len(fields) != len(names):
        why = f"expected format version {', '.join(COLUMNS)}, with {len(names) or 'its'} fields"
        result.skip(at, line, why)
        return
    row = dict(zip(names, fields, strict=True))
    result.version = result.version or row["bonnie_version"]
    result.machine.setdefault("host", row["name"])
    for test in _TESTS:
        own = (
            _FILE_SETTINGS
            if test in _FILES
            else ("file_size", "io_chunk_size", *(_SEEKS if test == "seeks" else ()))
        )
        levels = {name: row[name] for name in ("concurrency", *own) if row.get(name)}
        _add(result, at, at, test, row[test], row[f"{test}_cpu"], levels, row[f"{test}_latency"])


def _add(
    result: Result,
    at: int,
    call: int,
    test: str,
    text: str,
    cpu: str,
    levels: dict[str, str],
    latency: str = "",
) -> None:
    """A run of a test, unless it was not done or has no figure."""
    if not text:
        return
    digits = text.rstrip("kmg")
    letter, value, data = text[len(digits) :], number(digits), test in _DATA
    # bon_csv2txt prints 0k for a test without a figure.
    if text.startswith("+") or cpu.startswith("+"):
        result.unread.append(Unread(at, f"{test} {text}", _TOO_SHORT))
        return
    if value is None or letter not in (_LETTERS if data else ("",)):
        result.skip(at, f"{test} {text}", "no number")
        return
    value *= _LETTERS[letter]
    printed = [(f"{test} ({'KiB/s' if data else '1/s'})", value)]
    share = number(cpu.removesuffix("%"))
    printed += [(f"{test} CPU (%)", share)] if share is not None else []
    longest = re.fullmatch(r"([0-9.]+)([mun]?s)", latency)
    longest_ns = number(longest[1]) if longest else None
    if longest and longest_ns is not None:
        printed.append((f"{test} latency (ns)", longest_ns * TIMES_NS[longest[2]]))
    run = ToolRun(
        cell=f"bonnie.{test}",
        key=CellKey(f"bonnie.{test}"),
        kind="throughput" if data else "iops",
        line=at,
        call=call,
        levels=levels,
        rate_bytes_per_s=value * KIB if data else None,
        ops_per_s=None if data else value,
        printed=printed,
    )
    if longest and longest_ns is not None:
        run.quantiles_ns = {"max": longest_ns * TIMES_NS[longest[2]]}
    result.runs.append(run)


def _table_line(result: Result, tables: list[_Table], at: int, line: str) -> bool:
    """Take a line of the table; whether it is one."""
    if found := _VERSION.fullmatch(line):
        result.version = result.version or found[1]
        if found[2] == "Output" or not tables:
            tables.append(_Table(at))
        return True
    if found := _HEADING.fullmatch(line):
        if tables:
            tables[-1].jobs = tables[-1].jobs or found["jobs"]
            tables[-1].plain = tables[-1].plain or "K/sec" in line
        return bool(tables)
    if found := _LATENCY.fullmatch(line):
        return bool(tables) and _take_latency(tables[-1], found[1].split())
    found = _ROW.fullmatch(line)
    if not found or not tables:
        return False
    table = tables[-1]
    words = found["head"].split()
    if words and _SIZE.fullmatch(words[-1]):
        table.jobs = table.jobs or _jobs(words)
        table.name, table.size = " ".join(words[:-1]), words[-1].partition(":")[0]
        tests: tuple[str, ...] = (*_DATA, "seeks")
    elif files := _FILES_ROW.fullmatch(found["head"]):
        table.files, tests = files["files"], _FILES
    else:
        return False
    figures = found["figures"].split()
    table.waiting = tests
    table.figures += [(at, test, figures[2 * n], figures[2 * n + 1]) for n, test in enumerate(tests)]
    return True


def _take_latency(table: _Table, texts: list[str]) -> bool:
    """Take the longest latencies of the row before; whether there is one that has none yet."""
    table.latency |= dict(zip(table.waiting, texts, strict=False))
    taken, table.waiting = bool(table.waiting), ()
    return taken


def _jobs(words: list[str]) -> str | None:
    """The concurrency in a size such as 256M::2, which has the size of a chunk between the colons."""
    parts = words[-1].split(":") if words else []
    return parts[2] if len(parts) == 3 and parts[2].isdigit() else None


def _runs_of_table(result: Result, table: _Table) -> None:
    for at, test, text, cpu in table.figures:
        size = {"num_files": table.files} if test in _FILES else {"file_size": table.size}
        jobs = {"concurrency": table.jobs} if table.jobs else {}
        if test in _DATA and text[-1:].isdigit() and not table.plain:
            result.unread.append(Unread(at, f"{test} {text}", "a rate without a unit"))
            continue
        if test in _FILES and text == str(1024 * int(table.files.partition(":")[0].partition("/")[0])):
            why = "the number of files, which bonnie++ 2.00a prints in place of the rate: import its line of figures"
            result.unread.append(Unread(at, f"{test} {text}", why))
            continue
        _add(result, at, table.line, test, text, cpu, {**jobs, **size}, table.latency.get(test, ""))
    if table.name:
        result.machine.setdefault("host", table.name)
