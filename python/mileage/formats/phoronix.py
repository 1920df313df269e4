"""Phoronix Test Suite's composite.xml: one element on a line, as the suite writes it.

Scope: each value of RawString is a run, as these are the repetitions of the suite; where it is empty, Value is one. The
scale is a unit of a rate, of operations or of a time; test, description and scale make the cell, with the arguments and
the system where they differ.
What it refuses: a scale that is none of these, and one of which the suite takes the other direction for better, by a
report for each result; entities other than the five of XML; and a document on one line.
"""

from __future__ import annotations

import re
from typing import Final
from xml.sax.saxutils import unescape

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import RATES, TIMES_S, number
from mileage.formats.result import Kind, Result, ToolRun
from mileage.model.cell_key import CellKey

LAYOUT: Final = "phoronix"
_MARK: Final = "<PhoronixTestSuite>"
_LEAF: Final = re.compile(r"\s*<([A-Za-z]{1,40})>(.*)</\1>\s*")
_TAG: Final = re.compile(r"\s*<(/?)([A-Za-z]{1,40})\s*(/?)>\s*")
_PROLOGUE: Final = re.compile(r"\s*<\?xml.*\?>\s*|\s*<!--.*-->\s*")
_ENTITY: Final = re.compile(r"&(?!amp;|lt;|gt;|quot;|apos;|#[0-9]{1,7};)")
_SECONDS: Final = {
    "Seconds": TIMES_S["s"],
    "Milliseconds": TIMES_S["ms"],
    "Microseconds": TIMES_S["us"],
    **TIMES_S,
}
_OPERATIONS: Final = {"IOPS": 1.0, "Operations Per Second": 1.0, "Files/s": 1.0, "Requests Per Second": 1.0}
_BETTER: Final = {"throughput": "HIB", "iops": "HIB", "time": "LIB"}
"""What is better of a kind, higher or lower, in the suite's word (Proportion)."""
_REPETITIONS_MAX: Final = 10_000


class _Item(msgspec.Struct):
    """A result as far as it was read."""

    line: int
    words: dict[str, str] = {}
    entries: list[tuple[int, dict[str, str]]] = []


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return _MARK in source.text_head and "<Result>" in source.text_head


def read(source: Source) -> Result:
    """Read all results of a file. Raises Refused when it holds none."""
    result = Result(tool="phoronix", version=None, layout=LAYOUT, runs=[])
    path: list[str] = []
    item: _Item | None = None
    for at, raw in enumerate(source.lines(), 1):
        line = raw.rstrip("\r")
        if (found := _LEAF.fullmatch(line)) and not _ENTITY.search(found[2]):
            text = unescape(found[2], {"&quot;": '"', "&apos;": "'"})
            _leaf(result, path, item, found[1], text)
        elif found := _TAG.fullmatch(line):
            item = _tag(result, path, item, at, found)
        elif line.strip() and not _PROLOGUE.fullmatch(line):
            result.skip(at, line, "no element of composite.xml on a line of its own")
    if item is not None:
        result.lost.append(f"the result that begins in line {item.line} has no end")
    if not result.runs:
        why = f"; line {result.unread[0].line}: {result.unread[0].why}" if result.unread else ""
        raise Refused(
            source.path, f"no result of the Phoronix Test Suite was understood{why}", code="not-understood"
        )
    return result


def _tag(result: Result, path: list[str], item: _Item | None, at: int, found: re.Match[str]) -> _Item | None:
    """Follow an element that begins or ends; the result that lines belong to then."""
    if found[3]:
        return item
    if not found[1]:
        path.append(found[2])
        if found[2] == "Result":
            if item is not None:
                result.lost.append(f"the result that begins in line {item.line} has no end")
            return _Item(at)
        if found[2] == "Entry" and item is not None:
            item.entries.append((at, {}))
        return item
    while path and path.pop() != found[2]:
        pass
    if found[2] == "Result" and item is not None:
        _close(result, item)
        return None
    return item


def _leaf(result: Result, path: list[str], item: _Item | None, name: str, text: str) -> None:
    if item is None:
        if path[-1:] == ["Generated"] and name == "TestClient":
            result.version = result.version or text.removeprefix("Phoronix Test Suite v")
        elif path[-1:] == ["System"] and name in ("Hardware", "Software"):
            result.machine.setdefault(name.lower(), text)
        elif path[-1:] == ["System"] and name == "TimeStamp":
            result.began = result.began or text
    elif path[-1:] == ["Entry"] and item.entries:
        item.entries[-1][1].setdefault(name, text)
    elif path[-1:] == ["Result"]:
        item.words.setdefault(name, text)


def _close(result: Result, item: _Item) -> None:
    """Make the runs of a result."""
    scale = item.words.get("Scale", "")
    field, factor, kind = _unit(scale)
    test = item.words.get("Identifier", "").rpartition("/")[2] or item.words.get("Title", "")
    description = item.words.get("Description", "")
    if not field or not test:
        why = f"expected a scale such as MB/s, MiB/s, IOPS or Seconds; found {scale[:40]!r}"
        result.skip(item.line, f"{test} {description}", why)
        return
    if (better := item.words.get("Proportion", "")) not in ("", _BETTER[kind]):
        why = f"expected the Proportion {_BETTER[kind]} of a figure in {scale}; found {better[:20]!r}"
        result.skip(item.line, f"{test} {description}", why)
        return
    cell = ", ".join([f"phoronix.{test}" + (f" {description}" if description else ""), scale])
    levels = {"version": item.words.get("AppVersion", ""), "arguments": item.words.get("Arguments", "")}
    for at, entry in item.entries:
        texts = [part for part in entry.get("RawString", "").split(":") if part] or [entry.get("Value", "")]
        values = [number(text) for text in texts[:_REPETITIONS_MAX]]
        known = [value for value in values if value is not None]
        if len(known) < len(values) or len(texts) > _REPETITIONS_MAX:
            result.skip(at, ":".join(texts), "values that are no numbers")
            continue
        for value in known:
            run = ToolRun(
                cell=cell,
                key=CellKey(f"phoronix.{test}"),
                kind=kind,
                title=item.words.get("Title", ""),
                line=at,
                call=item.line,
                levels={"system": entry.get("Identifier", ""), **levels},
                printed=[(scale, value)],
            )
            run.levels = {name: text for name, text in run.levels.items() if text}
            setattr(run, field, value * factor)
            result.runs.append(run)
        if not entry.get("RawString") and known:
            result.runs[-1].notes.append(
                f"{result.runs[-1].cell}: the mean of its repetitions only, as one run"
            )


def _unit(scale: str) -> tuple[str, float, Kind]:
    """The field of a run that a scale is of, its factor, and the kind; an empty field for none."""
    if scale in RATES:
        return "rate_bytes_per_s", RATES[scale], "throughput"
    if scale in _OPERATIONS:
        return "ops_per_s", _OPERATIONS[scale], "iops"
    if scale in _SECONDS:
        return "elapsed_s", _SECONDS[scale], "time"
    return "", 0.0, "time"
