"""elbencho's JSON (--jsonfile): one document for each phase, on a line of its own.

Scope: the same cells, settings and figures as the CSV file of the same call, with bytes in place of whole MiB: the
figures at the point where the last thread finished; every number of both points stands in `printed`.
What it refuses: a file without a document of a phase.
"""

from __future__ import annotations

import re
from typing import Any, Final

from mileage.formats.elbencho_csv import PHASES_WITHOUT_WORK, run_of
from mileage.formats.input_file import Source
from mileage.formats.json_documents import documents
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, Unread

LAYOUT: Final = "elbencho-json"
_MARK: Final = re.compile(r'"phase_type"\s*:')
_SETTINGS: Final = {
    "path_type": "path type",
    "direct_io": "direct IO",
    "file_size": "file size",
    "block_size": "block size",
    "random_offsets": "random",
    "random_aligned": "random aligned",
    "io_depth": "IO depth",
    "shared_service_paths": "shared paths",
    "truncate_files": "truncate",
}
"""Settings whose names differ from those of the CSV file."""
_MIB: Final = 1 << 20
_TRUTH: Final = {"true": "1", "false": "0"}


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    head = source.text_head
    return bool(_MARK.search(head)) and '"last_done"' in head


def read(source: Source) -> Result:
    """Read all phases of a file. Raises Refused when it holds none."""
    result = Result(tool="elbencho", version=None, layout=LAYOUT, runs=[])
    found, unread = documents(source.text())
    result.unread += unread
    for document in found:
        value = document.value
        if not isinstance(value, dict) or not isinstance(value.get("phase_type"), str):
            result.unread.append(Unread(document.line, "", "a JSON document without a phase of elbencho"))
            continue
        if not document.whole:
            result.lost.append(f"the document that begins in line {document.line} is damaged")
            continue
        _phase(result, document.line, value)
    result.refuse_empty(source.path, "no phase of elbencho with a figure was understood")
    return result


def _phase(result: Result, at: int, value: dict[str, Any]) -> None:
    """The run of a document."""
    phase = value["phase_type"].upper()
    config, last = _dict(value.get("config")), _dict(value.get("last_done"))
    result.version = result.version or _text(config.get("version")) or None
    result.command = result.command or _text(config.get("command")) or None
    result.began = result.began or _text(value.get("iso_start_date")) or None
    if phase in PHASES_WITHOUT_WORK:
        result.facts[f"line {at}"] = phase
        return
    row = {
        _SETTINGS.get(name, name): _TRUTH.get(_text(setting), _text(setting))
        for name, setting in config.items()
    }
    row |= {
        "operation": phase,
        "label": _text(value.get("label")),
        "time ms [last]": _text(last.get("elapsed_time_ms")),
    }
    row |= _columns("", last)
    latency = _dict(last.get("latency"))
    for kind, word in (("IO", "IO"), ("entries", "Ent")):
        for key, bound in (("min_us", "min"), ("avg_us", "avg"), ("max_us", "max")):
            row[f"{word} lat us [{bound}]"] = _text(_dict(latency.get(kind)).get(key))
    mix = _dict(last.get("rwmix_read"))
    row |= _columns("rwmix read ", mix) if mix else {}
    run = run_of(at, {name: text for name, text in row.items() if text}, phase)
    run.printed = [*_printed("first_done", _dict(value.get("first_done"))), *_printed("last_done", last)]
    if faults := _faults("last_done", last):
        result.unread.append(Unread(at, ", ".join(faults), "expected numbers that are not negative"))
    if run.measured:
        result.runs.append(run)
    else:
        result.unread.append(Unread(at, phase, "no rate that is a number"))


def _columns(before: str, part: dict[str, Any]) -> dict[str, str]:
    """The columns of the CSV file that the rates and totals of a document are."""
    found = {
        f"{before}IOPS [last]": _text(part.get("iops")),
        f"{before}entries/s [last]": _text(part.get("entries/s")),
    }
    for name, column in (("bytes/s", "MiB/s"), ("bytes", "MiB")):
        value = whole(_text(part.get(name)))
        found[f"{before}{column} [last]"] = "" if value is None else repr(value / _MIB)
    return found


def _printed(name: str, value: Any, depth: int = 0) -> list[tuple[str, float]]:
    """Every number of a part, by its path."""
    if isinstance(value, dict) and depth < 6:
        return [
            pair for key, member in value.items() for pair in _printed(f"{name}.{key}", member, depth + 1)
        ]
    figure = number(_text(value))
    return [] if figure is None or not _text(value) else [(name, figure)]


def _faults(name: str, value: Any, depth: int = 0) -> list[str]:
    """The members of a part that are no numbers, by their path."""
    if isinstance(value, dict) and depth < 6:
        return [
            fault for key, member in value.items() for fault in _faults(f"{name}.{key}", member, depth + 1)
        ]
    return [name] if number(_text(value)) is None else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """A value as the text that elbencho writes for it: numbers are strings in its documents."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)[:4000] if isinstance(value, str | int | float) else ""
