"""IOR's JSON and CSV, of IOR 3.3 and 4 (`-O summaryFormat=JSON` or `CSV`).

Scope: each result a run; JSON has its settings as well, CSV has the number of tasks alone. Figures have four
digits after the point, so that a latency of a microsecond prints as 0.
What it refuses: documents and tables of others.
"""

from __future__ import annotations

import re
from typing import Any, Final

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.ior import by_repetitions, iteration
from mileage.formats.json_documents import documents
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun, Unread

LAYOUT: Final = "ior-data"
_HEAD: Final = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s)"
_DOCUMENT: Final = re.compile(r'"Command line"\s*:.*"Machine"\s*:.*"tests"\s*:\s*\[', re.DOTALL)
_NAMES: Final = {
    "bwMiB": "bw(MiB/s)",
    "blockKiB": "block(KiB)",
    "xferKiB": "xfer(KiB)",
    "iops": "IOPS",
    "latency": "Latency",
    "openTime": "open(s)",
    "wrRdTime": "wr/rd(s)",
    "closeTime": "close(s)",
    "totalTime": "total(s)",
}
"""Names in JSON, and in the heading of the text and the CSV."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    head = source.text_head
    return _HEAD in head or bool(_DOCUMENT.search(head))


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds none of IOR's results."""
    result = Result(tool="ior", version=None, layout=LAYOUT, runs=[])
    if _HEAD in source.text_head:
        _table(source, result)
        return result
    found, result.unread = documents(source.text())
    ours = [
        entry
        for entry in found
        if isinstance(entry.value, dict) and isinstance(entry.value.get("tests"), list)
    ]
    if not ours:
        raise Refused(
            source.path,
            f"neither a JSON document with IOR's tests nor a line {_HEAD!r}",
            code="not-understood",
        )
    for entry in found:
        if entry not in ours:
            result.unread.append(Unread(entry.line, "", "a JSON document without tests of IOR"))
            continue
        _document(entry.value, entry.line, result)
        if not entry.whole:
            result.lost.append(
                f"the document that begins in line {entry.line} is damaged: what follows its last whole result is lost"
            )
    return result


def _document(value: dict[str, Any], line: int, result: Result) -> None:
    result.version = result.version or _text(value.get("Version"))
    result.began = result.began or _text(value.get("Began"))
    result.command = result.command or _text(value.get("Command line"))
    machine = (_text(value.get("Machine")) or "").split()
    result.machine |= dict(zip(("system", "host"), machine[:2], strict=False))
    for test in value["tests"]:
        options = test.get("Options") if isinstance(test, dict) else None
        if not isinstance(test, dict):
            result.skip(line, str(test), "a test that is no object")
            continue
        words = {str(key): str(text) for key, text in options.items()} if isinstance(options, dict) else {}
        words["command"] = _text(value.get("Command line")) or ""
        runs: list[ToolRun] = []
        for entry in _flat(test.get("Results")):
            figures = {ours: entry.get(theirs) for theirs, ours in _NAMES.items()}
            run = iteration(str(entry.get("access")), figures, words, line)
            if run is not None:
                runs.append(run)
            elif entry.get("access") not in ("remove", "open", "close"):
                result.skip(line, str(entry), "a result without a bandwidth")
        result.lost += by_repetitions(runs, whole(words.get("repetitions", "")))
        result.runs += runs


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _flat(value: Any) -> list[dict[str, Any]]:
    """The results of a test; early versions have lists of lists."""
    found: list[dict[str, Any]] = []
    for entry in value if isinstance(value, list) else []:
        if isinstance(entry, dict):
            found.append(entry)
        elif isinstance(entry, list):
            found += [inner for inner in entry if isinstance(inner, dict)]
    return found


def _table(source: Source, result: Result) -> None:
    """The CSV, line by line; a heading may come again where files were joined."""
    names: list[str] = []
    for at, line in enumerate(source.lines(), 1):
        text = line.strip()
        if not text:
            continue
        if text.startswith(_HEAD):
            names = text.split(",")
            continue
        fields = text.split(",")
        access = fields[0]
        figures = dict(zip(names[1:], fields[1:], strict=False))
        sound = len(fields) == len(names) and all(number(figure) is not None for figure in figures.values())
        run = iteration(access, figures, {}, at) if names and sound else None
        if run is not None:
            result.runs.append(run)
        elif access != "remove":
            result.skip(at, text, f"expected {len(names)} fields of one phase")
