"""vdbench's console output, logfile, totals.html and summary.html: the line of averages of each run definition (RD).

Scope: each line `avg_A-B` below a heading is a run: of raw I/O as vdbench 5.04.06 and 5.04.07 print it, and of files.
MB are 2^20 bytes (the heading has 1024**2), response times milliseconds. Lines of single intervals are understood and
not kept. The elapsed time is not printed; what was asked for stands among the settings.
What it refuses: lines below no known heading, and files without a line of averages. flatfile.html is not read.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.formats.input_file import Source
from mileage.formats.number_parser import number
from mileage.formats.result import Result, ToolRun
from mileage.model.cell_key import CellKey

LAYOUT: Final = "vdbench"
MIB: Final = 1 << 20
_COMMON: Final = ("rate", "MB/sec", "bytes", "read pct", "resp", "read resp", "write resp")
_REST: Final = ("stddev", "queue depth", "cpu sys+usr", "cpu sys")
_FILES: Final = (
    *("rate", "resp", "cpu total", "cpu sys", "read pct", "read rate", "read resp", "write rate"),
    *("write resp", "read MB/sec", "write MB/sec", "MB/sec", "bytes"),
)
_HEADINGS: Final = {
    "interval i/o MB/sec bytes read resp read write resp resp queue cpu% cpu%": (
        *_COMMON,
        "resp max",
        *_REST,
    ),
    "interval i/o MB/sec bytes read resp read write read write resp queue cpu% cpu%": (
        *(*_COMMON, "read max", "write max", *_REST),
    ),
}
"""Columns by the first line of a heading, of 5.04.06 and 5.04.07."""
_FILE_HEADING: Final = ".Interval. .ReqstdOps. .cpu%. read .read. .write. .mb/sec. mb/sec .xfer."
"""The beginning of the heading of work on files, with dots in place of rows of dots."""
_DATE: Final = re.compile(r"([A-Z][a-z]{2} [0-9]{2}, [0-9]{4})\s+(\S.*)")
_SECOND: Final = re.compile(r"\s+rate\s+(?:1024\*\*2\s+i/o|resp)\s.*")
_TIME: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}"
_FIGURES: Final = r"((?:\s+(?:[0-9]+(?:\.[0-9]+)?|NaN))+)\s*"
_AVERAGE: Final = re.compile(rf"{_TIME}\s*(avg_[0-9]{{1,9}}-[0-9]{{1,9}}){_FIGURES}")
_INTERVAL: Final = re.compile(rf"{_TIME}\s+([0-9]{{1,9}}|std_[0-9-]+|max_[0-9-]+){_FIGURES}")
_START: Final = re.compile(
    rf"{_TIME} Starting RD=(?P<name>[^;\s]{{1,100}})(?:;\s*(?P<settings>.{{0,1000}}))?"
)
_VERSION: Final = re.compile(r"Vdbench distribution: (?:vdbench)?(\S{1,40}).*")
_TALK: Final = re.compile(
    rf"{_TIME}(?: (?!.*avg_)(?:[A-Za-z*(].*)?)?|Copyright \(c\) .*|For documentation, see .*|Link to .*|"
    r"\*.*|\.\.\."
)
_TAG: Final = re.compile(r"<[^<>]{0,300}>")


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    lines = source.text_head.replace("\r", "").split("\n")[:3000]
    return any(
        _START.search(line[:400]) or _AVERAGE.match(line) or line.startswith("Vdbench distribution:")
        for line in lines
    )


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds no line of averages."""
    result = Result(tool="vdbench", version=None, layout=LAYOUT, runs=[])
    columns: tuple[str, ...] = ()
    start: re.Match[str] | None = None
    open_since = 0
    for at, raw in enumerate(source.lines(), 1):
        line = _TAG.sub("", raw.rstrip("\r ")) if "<" in raw else raw.rstrip("\r ")
        if found := _START.fullmatch(line):
            _report_lost(result, start, open_since)
            start, open_since = found, at
        elif found := _AVERAGE.fullmatch(line):
            if _row(result, at, columns, start, open_since, found):
                # Each definition has one line of averages: a second one is of a definition whose beginning is damaged.
                start, open_since = None, 0
        elif found := _VERSION.fullmatch(line):
            result.version = result.version or found[1]
        elif (found := _DATE.fullmatch(line)) and (named := _columns(found[2])):
            columns = named
            result.began = result.began or found[1]
        elif line.strip() and not (
            _SECOND.fullmatch(line) or _INTERVAL.fullmatch(line) or _TALK.fullmatch(line)
        ):
            result.skip(at, line, "no line of vdbench that can stand here")
    _report_lost(result, start, open_since)
    result.refuse_empty(source.path, f"no line of averages (avg_) of vdbench was understood{_why(result)}")
    return result


def _why(result: Result) -> str:
    averages = [entry for entry in result.unread if "avg_" in entry.text]
    texts = [*(f"line {entry.line}: {entry.why}" for entry in averages), *result.lost]
    return f"; {texts[0]}" if texts else ""


def _report_lost(result: Result, start: re.Match[str] | None, open_since: int) -> None:
    if start is not None and open_since:
        result.lost.append(f"RD={start['name']}, begun in line {open_since}, has no line of averages")


def _columns(heading: str) -> tuple[str, ...]:
    """The columns of a heading, without the one of the interval; none where it is not known."""
    words = " ".join(heading.split())
    if words in _HEADINGS:
        return _HEADINGS[words]
    return _FILES if re.sub(r"\.+", ".", words).startswith(_FILE_HEADING) else ()


def _row(
    result: Result,
    at: int,
    columns: tuple[str, ...],
    start: re.Match[str] | None,
    call: int,
    found: re.Match[str],
) -> bool:
    """Take a line of averages; whether it was one."""
    texts = found[2].split()
    if not columns or (len(texts) != len(columns) and columns != _FILES) or len(texts) < len(columns):
        why = f"{len(texts)} figures, expected {len(columns)}" if columns else "a line below no known heading"
        result.skip(at, found[0], why)
        return False
    name, settings = _settings(start)
    figures = {column: number(text) for column, text in zip(columns, texts, strict=False)}
    ops, mib = figures["rate"], figures["MB/sec"]
    if not ops:
        # vdbench prints zeros for the preparation of a file, and for a run that was too short.
        result.facts[f"line {at}"] = f"{name} {found[1]}: no operations"
        return True
    loops = [
        f"{key} {value}" for key, value in settings.items() if key not in ("I/O rate", "elapsed", "warmup")
    ]
    highest = [figures[key] for key in ("resp max", "read max", "write max") if figures.get(key) is not None]
    run = ToolRun(
        cell=", ".join([f"vdbench.{name}", *loops]),
        key=CellKey(f"vdbench.{name}"),
        kind="iops",
        line=at,
        call=call or at,
        levels={**settings, "intervals": found[1].removeprefix("avg_")},
        rate_bytes_per_s=None if mib is None else mib * MIB,
        ops_per_s=ops,
        quantiles_ns={},
        printed=[(column, value) for column, value in figures.items() if value is not None],
    )
    if mean_ms := figures["resp"]:
        run.quantiles_ns = {"mean": 1e6 * mean_ms}
        if highest:
            run.quantiles_ns["max"] = 1e6 * max(value for value in highest if value is not None)
    limit = settings.get("I/O rate", "")
    if limit[:1].isdigit():
        run.notes.append(
            f"vdbench limited the rate of {run.cell} to {limit}/s: the response time is the result"
        )
    result.runs.append(run)
    return True


def _settings(start: re.Match[str] | None) -> tuple[str, dict[str, str]]:
    """Name and settings of a run definition: its rate, its times, and the values of its loops."""
    if start is None:
        return "run", {}
    found: dict[str, str] = {}
    for part in (start["settings"] or "").split(";"):
        key, _, text = part.strip().partition(": ")
        if key == "I/O rate":
            found[key] = text.strip()
        found |= dict(re.findall(r"([a-z]\w{0,30})=(\S{1,60})", text if key == "For loops" else part))
    return start["name"], found
