"""mdtest's summary: operations per second of each kind, over the iterations.

What it models: where the file gives the rates of single iterations no further than maximum, minimum and mean, one
iteration is a run, two are the maximum and the minimum; of more the mean alone is known, and is one run that says so.
What it refuses: a file without mdtest's table.
"""

from __future__ import annotations

import re
from typing import Final

from mileage.errors import Refused
from mileage.formats.json_documents import shown
from mileage.formats.numbers import number, whole
from mileage.formats.result import Result, ToolRun, Unread
from mileage.formats.source import Source

LAYOUT: Final = "mdtest"
_BEGINS: Final = re.compile(r"mdtest-(\S+) was launched with ([0-9]+) total task\(s\)")
_SUMMARY: Final = re.compile(r"SUMMARY(?: rate)?(?: \(in ops/sec\))?: \(of ([0-9]+) iterations?\)")
_ROW: Final = re.compile(
    r"\s*((?:Directory|File|Tree) [a-z]+)\s*:?((?:\s+(?:[-+0-9.eE]+|nan|-nan|inf|NA|-)){4,})\s*$",
    re.IGNORECASE,
)
_KNOWN: Final = re.compile(
    r"\s*(?:-- (?:started|finished) at|Command line used:|Path\s*:|FS\s*:|Nodemap:|[0-9]+ tasks,|Operation\s+Max|---|"
    r"V-[0-9]+:|random seed|WARNING: Read bytes is 0)"
)


def knows(source: Source) -> bool:
    """Whether a file begins as this layout does."""
    return bool(_BEGINS.search(source.text_head))


def read(source: Source) -> Result:
    """All runs of a file. Raises Refused when it is none of mdtest's."""
    if not knows(source):
        raise Refused(f"{source.path}: found no line 'mdtest-VERSION was launched with N total task(s)'")
    result = Result(tool="mdtest", version=None, layout=LAYOUT, runs=[])
    state: dict[str, str] = {}
    iterations: int | None = None
    began = 0
    for at, line in enumerate(source.lines(), 1):
        text = line.strip()
        if found := _BEGINS.search(line):
            _ended(result, began, state)
            result.version = result.version or found[1]
            state, began, iterations = {"tasks": found[2]}, at, None
        elif found := _SUMMARY.search(line):
            iterations = whole(found[1])
        elif (found := _ROW.match(line)) and iterations is not None:
            _row(result, at, found[1], found[2].split(), iterations, state)
        elif text.startswith("Command line used:"):
            result.command = result.command or text.partition(":")[2].strip()
        elif text.startswith("-- started at"):
            result.began = result.began or text.removeprefix("-- started at").strip(" -")
        elif text.startswith("-- finished at"):
            state["finished"] = "yes"
        elif found := re.match(r"\s*([0-9]+) tasks, ([0-9]+) (\S+)", line):
            state["items"] = found[2]
        elif text and not _KNOWN.match(line):
            result.unread.append(Unread(at, shown(line), "no line of mdtest's output"))
    _ended(result, began, state)
    return result


def _ended(result: Result, began: int, state: dict[str, str]) -> None:
    if began and "finished" not in state:
        result.lost.append(f"mdtest, begun in line {began}, did not come to its end")


def _row(
    result: Result, at: int, name: str, texts: list[str], iterations: int, state: dict[str, str]
) -> None:
    """The runs of one kind of operation."""
    most, least, mean = (number(text) for text in texts[:3])
    if mean is None or most is None or least is None:
        result.unread.append(Unread(at, shown(f"{name} {' '.join(texts)}"), "rates that are no numbers"))
        return
    if most == 0:
        # mdtest prints 0 for what was not asked for.
        return
    tasks = state.get("tasks", "")
    values = {1: [mean], 2: [most, least]}.get(iterations, [mean])
    for value in values:
        run = ToolRun(
            cell=f"mdtest.{name.lower().replace(' ', '_')}",
            kind="iops",
            line=at,
            levels={"tasks": tasks, **({"items": state["items"]} if "items" in state else {})},
            ops_per_s=value,
            printed=list(
                zip(("max", "min", "mean", "std_dev"), [number(text) or 0.0 for text in texts], strict=False)
            ),
        )
        if iterations > 2:
            run.notes.append(
                f"mdtest gives the mean of {iterations} iterations; their own rates are not in the file"
            )
        result.runs.append(run)
