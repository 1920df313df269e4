"""mdtest's summary: operations per second of each kind, over the iterations.

Scope: of one iteration the rate is a run, of two the maximum and the minimum are; of more the mean alone is
known, and is one run that says so. The lines of single iterations that `-v` prints are used instead where they are of
all tasks: up to IOR 3.3, whose tables take the fastest task for all, or mix tasks and iterations (hpc/ior issues 183
and 300; such a table has colons behind its names). A table of times (`-P`, `-Z`) has the seconds of a phase, whatever
its heading calls them. Options that change what is done are a setting, "options".
What it refuses: a file without mdtest's table.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun, Unread, shown

LAYOUT: Final = "mdtest"
_BEGINS: Final = re.compile(
    r"mdtest-(\S+) was launched with ([0-9]+) total task\(s\)(?: on ([0-9]+) node\(s\))?"
)
_SUMMARY: Final = re.compile(r"SUMMARY( rate| time)?(?: \([^)]*\))?: \(of ([0-9]+) iterations?\)")
_NAME: Final = r"((?:Directory|File|Tree) [a-z]+(?: \(stonewall\))?)"
_ROW: Final = re.compile(
    rf"\s*{_NAME}\s*(:?)((?:\s+(?:[-+0-9.eE]+|nan|-nan|inf|NA|-)){{4,}})\s*$", re.IGNORECASE
)
_ITERATION: Final = re.compile(rf"\s*V-1:.*?{_NAME}\s*:\s+(\S+) sec,\s+(\S+) ops/sec\s*$")
_COLUMNS: Final = re.compile(r"Max|Min|Mean|Std Dev")
_KNOWN: Final = re.compile(
    r"\s*(?:-- (?:started|finished) at|Command line used:|Path\s*:|FS\s*:|Nodemap:|[0-9]+ tasks,|---|"
    r"Operation\s+Duration|V-[0-9]+:|random seed|"
    r"WARNING: Read bytes is 0|Continue stonewall hit|Per process result|iteration: |Test [DFT]|"
    r"(?:api|barriers|collective_creates|(?:create|read|remove|stat|dirs|files|leaf)_only|dirpath\(s\)|(?:read|write)_bytes|"
    r"first|last|iterations|items|items_per_dir|nstride|pre_delay|random_seed|stride|shared_file|time_unique_dir_overhead|"
    r"stone_wall_timer_seconds|unique_dir_per_task|sync_file|call_sync|depth|make_node)\s*:)"
)
_WITH_VALUE: Final = "abdefGiIlnNpsVwWxz"
"""Options of one letter that are followed by a value."""
_INCIDENTAL: Final = "diVvPZnpxGfls"
"""Options of one letter that say where and how often something is done or printed, or what the file says elsewhere."""
_PRINTING: Final = (
    *("--print-all-procs", "--showRankStatistics", "--show-perrank-statistics"),
    *("--saveRankPerformanceDetails", "--savePerOpDataCSV", "--random-seed"),
)


class _Row(msgspec.Struct, frozen=True):
    """A row of a table, by the columns that are of iterations."""

    line: int
    figures: dict[str, float | None]
    mixed: bool
    """Whether the table takes the fastest task for all, or mixes tasks and iterations."""


class _Call(msgspec.Struct):
    """One call of mdtest, or its part for one number of tasks."""

    began: int
    levels: dict[str, str]
    version: str = ""
    iterations: int | None = None
    tables: dict[str, dict[str, _Row]] = {}
    """The rows of the tables "rate" and "time" by their names."""
    table: str = ""
    columns: list[str] = []
    done: dict[str, list[tuple[int, float, float]]] = {}
    """For each test the iterations that -v prints: line, seconds, operations per second."""
    finished: bool = False


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return bool(_BEGINS.search(source.text_head))


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it is none of mdtest's."""
    if not knows(source):
        raise Refused(
            source.path,
            found="no line 'mdtest-VERSION was launched with N total task(s)'",
            code="not-understood",
        )
    result = Result(tool="mdtest", version=None, layout=LAYOUT, runs=[])
    call: _Call | None = None
    for at, line in enumerate(source.lines(), 1):
        text = line.strip()
        if found := _BEGINS.search(line):
            _end(result, call)
            result.version = result.version or found[1]
            levels = {"tasks": found[2], **({"nodes": found[3]} if found[3] else {})}
            call = _Call(at, levels, found[1])
        elif text.startswith("-- started at"):
            result.began = result.began or text.removeprefix("-- started at").strip(" -")
        elif call is not None and _line(result, call, at, line):
            continue
        elif text and not _KNOWN.match(line) and not line.startswith("\t"):
            result.skip(at, line, "no line of mdtest's output")
    _end(result, call)
    return result


def _line(result: Result, call: _Call, at: int, line: str) -> bool:
    """Process one line of a call, and return whether it was understood."""
    text = line.strip()
    if found := _SUMMARY.search(line):
        call.table, call.iterations = (found[1] or "rate").strip(), whole(found[2])
    elif text.startswith("Operation ") and {"Max", "Min", "Mean"} <= set(names := _COLUMNS.findall(line)):
        call.columns = names
    elif (found := _ROW.match(line)) and call.columns:
        figures = dict(zip(call.columns, map(number, found[3].split()), strict=False))
        if any(figures.get(column) is None for column in ("Max", "Min", "Mean")):
            excerpt = shown(f"{found[1]} {' '.join(found[3].split())}")
            result.unread.append(Unread(at, excerpt, "figures that are no numbers"))
        call.tables.setdefault(call.table, {})[found[1]] = _Row(at, figures, bool(found[2]))
    elif found := _ITERATION.match(line):
        seconds, rate = number(found[2]), number(found[3])
        if seconds is not None and rate:
            call.done.setdefault(found[1], []).append((at, seconds, rate))
    elif text.startswith("Command line used:"):
        command = text.partition(":")[2].strip()
        result.command = result.command or command
        call.levels["options"] = options_of(command)
    elif text.startswith("-- finished at"):
        call.finished = True
    elif found := re.match(r"\s*([0-9]+) tasks, ([0-9]+) (\S+)", line):
        _runs(result, call)
        call.levels |= {"tasks": found[1], "items": found[2]}
    else:
        return False
    return True


def options_of(command: str) -> str:
    """The options of a command line that change what mdtest does, in order: "-F -u -w 3901"; or "none"."""
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        words = command.split()[1:]
    found = []
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            found += [word] if word.partition("=")[0] not in _PRINTING else []
            continue
        messages = word[1:] if word.startswith("-") else ""
        while messages:
            letter, messages = messages[0], messages[1:]
            value = ""
            if letter in _WITH_VALUE or messages.startswith("="):
                value, messages = messages.lstrip("=") or next(rest, ""), ""
            elif letter == "R":
                messages = messages.lstrip("0123456789")
            found += [f"-{letter} {value}".strip()] if letter not in _INCIDENTAL else []
    return " ".join(sorted(found)) or "none"


def _end(result: Result, call: _Call | None) -> None:
    """The end of one call."""
    if call is None:
        return
    _runs(result, call)
    if not call.finished:
        result.lost.append(f"mdtest, begun in line {call.began}, did not come to its end")


def _runs(result: Result, call: _Call) -> None:
    """Turn the tables that were read so far into runs of the result, and begin with empty tables."""
    rates, times = call.tables.get("rate", {}), call.tables.get("time", {})
    for name in dict.fromkeys([*rates, *times]):
        result.runs += _of_row(call, name, rates.get(name), times.get(name))
    call.tables, call.done = {}, {}


def _of_row(call: _Call, name: str, rate: _Row | None, time: _Row | None) -> list[ToolRun]:
    """The runs of one kind of operation."""
    row = rate or time
    if row is None or not row.figures.get("Mean"):
        # mdtest prints 0 for tests that were not requested, so 0 is not a result.
        return []
    iterations = call.iterations or 1
    done = call.done.get(name, [])
    mixed = row.mixed and whole(call.levels["tasks"]) != 1 and not name.startswith("Tree")
    notes = []
    if row.mixed and len(done) == iterations:
        measured: list[tuple[int, float | None, float | None]] = [(at, each, s) for at, s, each in done]
    else:
        columns = ("Max", "Min") if iterations == 2 and not mixed else ("Mean",)
        measured = [(row.line, *_figures(rate, time, column)) for column in columns]
        if mixed:
            notes.append(
                f"the table of mdtest {call.version} takes its fastest task, or a mean over tasks and iterations, "
                "for all tasks together: its rates are too high where tasks differ; its option -v prints each iteration"
            )
        if len(columns) < iterations:
            notes.append(
                f"mdtest gives the mean of {iterations} iterations; their own rates are not in the file"
            )
    if rate is None:
        notes.append("mdtest -Z gives the seconds of each phase and no rates")
    printed = [
        (f"{what} {column}", value)
        for what, found in (("ops/sec", rate), ("seconds", time))
        for column, value in (found.figures if found is not None else {}).items()
        if value is not None
    ]
    cell = re.sub(r"[()]", "", name.lower()).replace(" ", "_")
    return [
        ToolRun(
            cell=f"mdtest.{cell}",
            kind="iops" if rate is not None else "time",
            line=at,
            call=call.began,
            levels=dict(call.levels),
            ops_per_s=each,
            elapsed_s=seconds or None,
            printed=printed,
            notes=list(notes),
        )
        for at, each, seconds in measured
    ]


def _figures(rate: _Row | None, time: _Row | None, column: str) -> tuple[float | None, float | None]:
    """Operations per second and seconds: the iteration with the highest rate took the least time."""
    other = {"Max": "Min", "Min": "Max"}.get(column, column) if rate is not None else column
    return (
        None if rate is None else rate.figures.get(column),
        None if time is None else time.figures.get(other),
    )
