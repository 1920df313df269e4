"""elbencho's console output: the table of phases with the figures of the first and of the last thread that was done.

Scope: each phase that moves data or entries is a run, with the figures of the last thread; those of the first stand in
`printed`. MiB are 2^20 bytes, MB 10^6, as the label has them; whole numbers. The table has no settings: block size,
threads and depth are not known, and the CSV file (--csvfile) has them.
What it refuses: a text without such a table.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.formats.input_file import Source
from mileage.formats.number_parser import TIMES_NS, number
from mileage.formats.result import Result, ToolRun, Unread
from mileage.model.cell_key import CellKey

LAYOUT: Final = "elbencho-text"
_HEADING: Final = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*")
_LABEL: Final = re.compile(
    r"Elapsed (?:ms|time)|(?:Files|Dirs|Objects|Buckets|Entries)(?:/s)?(?: (?:total|read|write))?|"
    r"IOPS(?: (?:total|read|write))?|IOs (?:total|read|write)|Throughput Mi?B/s|Mi?B/s (?:total|read|write)|"
    r"Total Mi?B|Mi?B (?:read|write)|CPU util %"
)
_ROW: Final = re.compile(
    r"(?P<phase>[A-Z][A-Z0-9_]{1,20})?\s+(?P<label>[A-Z][A-Za-z/% ]{1,24}?)\s*:\s+(?P<first>[0-9][0-9.hms]{0,20})\s+"
    r"(?P<last>[0-9][0-9.hms]{0,20})\s*"
)
_LIST: Final = re.compile(r"\s+[A-Z][A-Za-z0-9 .%/]{1,24}?\s*:\s+\[ .* \]\s*")
_LATENCY: Final = re.compile(
    r"\s+(?:IO|Files|Dirs|Objects)(?: (?:rd|wr))? latency\s*:\s+\[ (?P<figures>.*) \]\s*"
)
_BOUND: Final = re.compile(r"(min|avg|max)=([0-9.]{1,20})(us|ms|s)\b")
_RULE: Final = re.compile(r"-{3,}")
"""The end of a phase."""
_TALK: Final = re.compile(r"=+ =+\s+=+\s+=+|NOTE: .*|COMMAND LINE: .*")
_NOTHING: Final = ("SYNC", "DROPCACHE", "IDLE", "QUIT")
_DURATION: Final = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m(?!s))?(?:([0-9]+(?:\.[0-9]+)?)(ms|s))?")
_UNITS: Final = {"MiB": 1 << 20, "MB": 1_000_000}
_NAMES: Final = {"min": "min", "avg": "mean", "max": "max"}


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return any(_HEADING.fullmatch(line.rstrip("\r")) for line in source.text_head.split("\n")[:2000])


def read(source: Source) -> Result:
    """Read all phases of a text. Raises Refused when it holds none."""
    result = Result(tool="elbencho", version=None, layout=LAYOUT, runs=[])
    call, phase, start = 0, "", 0
    rows: dict[str, tuple[str, str]] = {}
    bounds: dict[str, float] = {}
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r ")
        if _HEADING.fullmatch(line):
            _close(result, phase, start, call, rows, bounds)
            call, phase, rows, bounds = at, "", {}, {}
        elif (found := _ROW.fullmatch(line)) and call and _LABEL.fullmatch(found["label"]):
            if found["phase"]:
                _close(result, phase, start, call, rows, bounds)
                phase, start, rows, bounds = found["phase"], at, {}, {}
            if not phase or found["label"] in rows:
                result.skip(at, line, "a figure without its phase, or a second one")
                continue
            rows[found["label"]] = found["first"], found["last"]
        elif (found := _LATENCY.fullmatch(line)) and phase:
            bounds = {
                _NAMES[name]: float(text) * TIMES_NS[unit] for name, text, unit in _bounds(found["figures"])
            }
        elif _RULE.fullmatch(line):
            _close(result, phase, start, call, rows, bounds)
            phase, rows, bounds = "", {}, {}
        elif line.strip() and not _TALK.fullmatch(line) and not (phase and _LIST.fullmatch(line)):
            result.skip(at, line, "no line of elbencho's table")
            # A damaged first line of a phase must not give its figures to the phase before it.
            if re.match(r"\S.*\s:\s", line):
                _close(result, phase, start, call, rows, bounds)
                phase, rows, bounds = "", {}, {}
    if phase:
        result.lost.append(
            f"{phase}, which begins in line {start}, has no line --- at its end: it may be cut"
        )
    result.refuse_empty(source.path, "no phase of elbencho with a figure was understood")
    return result


def _bounds(text: str) -> list[tuple[str, str, str]]:
    return [found for found in _BOUND.findall(text) if number(found[1]) is not None]


def _close(
    result: Result,
    phase: str,
    start: int,
    call: int,
    rows: dict[str, tuple[str, str]],
    bounds: dict[str, float],
) -> None:
    """Make the run of a phase, unless it moved nothing."""
    if not phase:
        return
    if phase in _NOTHING:
        result.facts[f"line {start}"] = phase
        return
    figures = {label: number(last) for label, (_, last) in rows.items()}
    run = ToolRun(
        cell=f"elbencho.{phase.lower()}",
        key=CellKey(f"elbencho.{phase.lower()}"),
        kind="throughput",
        line=start,
        call=call,
        rate_bytes_per_s=_rate(figures),
        ops_per_s=_operations(figures),
        elapsed_s=_seconds(rows),
    )
    run.kind = "throughput" if run.rate_bytes_per_s is not None else "iops"
    # Reads and writes of a mix have a latency each, and which of them a line is of is not kept.
    run.quantiles_ns = bounds if "IOPS total" not in rows and "MiB/s total" not in rows else {}
    for label, texts in rows.items():
        for which, text in zip(("first", "last"), texts, strict=True):
            value = number(text) if not label.startswith("Elapsed") else _duration(label, text)
            if value is not None:
                run.printed.append((f"{label} [{which}]", value))
    if run.rate_bytes_per_s is None and run.ops_per_s is None:
        result.unread.append(
            Unread(start, phase, "a phase without a rate: it was too short, or its lines are lost")
        )
        return
    result.runs.append(run)


def _rate(figures: dict[str, float | None]) -> float | None:
    """Bytes per second of reads and writes together."""
    for unit, size in _UNITS.items():
        if (value := _both(figures, f"Throughput {unit}/s", f"{unit}/s")) is not None:
            return value * size
    return None


def _both(figures: dict[str, float | None], plain: str, name: str) -> float | None:
    """A figure of all operations: of a mix its total, or the sum of reads and writes where the total is missing."""
    for label in (plain, f"{name} total"):
        if (value := figures.get(label)) is not None:
            return value
    parts = [figures[label] for label in (f"{name} write", f"{name} read") if label in figures]
    known = [value for value in parts if value is not None]
    return sum(known) if len(known) == 2 else None


def _operations(figures: dict[str, float | None]) -> float | None:
    """Operations per second; of phases without data entries per second."""
    if (value := _both(figures, "IOPS", "IOPS")) is not None:
        return value
    moves = any("B/s" in label for label in figures)
    entries = ("Files/s", "Dirs/s", "Objects/s", "Buckets/s", "Entries/s")
    return None if moves else next((figures[name] for name in entries if figures.get(name) is not None), None)


def _seconds(rows: dict[str, tuple[str, str]]) -> float | None:
    """The time of the last thread; None for none, and for 0."""
    label = next((name for name in ("Elapsed time", "Elapsed ms") if name in rows), None)
    return (_duration(label, rows[label][1]) or None) if label else None


def _duration(label: str, text: str) -> float | None:
    """Seconds of "2955" below "Elapsed ms", and of "1m30.196s" or "12ms"."""
    if label == "Elapsed ms":
        value = number(text)
        return None if value is None else value / 1000
    found = _DURATION.fullmatch(text)
    if not found or not text:
        return None
    last = float(found[3] or 0) / (1000 if found[4] == "ms" else 1)
    return 3600 * int(found[1] or 0) + 60 * int(found[2] or 0) + last
