"""Reader of IOzone's output: one stream (also -O, -N, -a), several processes (-t), and the -R report after them.

Scope: the table of one stream by the places of its columns, as tests that were not done leave blanks; of
several processes what the children saw, which is the figure of IOzone's own report. The -R report repeats these: it is
compared with them, and read by itself where nothing stands before it. Outputs that were appended to one file are
repetitions.
What it refuses: a file without IOzone's heading or a report.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.iozone import (
    CHILDREN,
    REPORTS,
    ROWS,
    SINGLE,
    Unit,
    children,
    figure_of,
    processes_of_command,
    record_of_command,
    single,
    spread_out,
    unit_of_command,
)
from mileage.formats.number_parser import whole
from mileage.formats.result import Result, ToolRun, Unread

LAYOUT: Final = "iozone-text"
BEGINS: Final = "Iozone: Performance Test of File I/O"
_REPORT: Final = re.compile(r'^"(?P<title>[^"]+?) report( .*)?"\s*$', re.IGNORECASE)
_CPU: Final = re.compile(r'^"(?P<title>[^"]+?) CPU utilization report', re.IGNORECASE)
_ROW: Final = re.compile(r'^"\s*(?P<name>[^"]*?)\s*"\s*(?P<figures>[-+0-9.eE\s]*)$')
_RECORDS: Final = re.compile(r'^\s*(?:"[0-9]+"\s*)+$')
_SEEN: Final = re.compile(
    r"\s*Children see throughput for\s+(?P<count>[0-9]{1,9}) (?P<what>[a-z- ]+?)\s*=\s*"
    r"(?P<figure>\S+) (?P<unit>kB|ops)/sec"
)
_EXTRA: Final = re.compile(
    r"\s*(?P<name>Parent sees throughput|Min throughput per \w+|Max throughput per \w+|Avg throughput per \w+|Min xfer)"
    r"[^=]*=\s*(?P<figure>\S+) (?P<unit>\S+)"
)
_USED: Final = re.compile(
    r"\s*CPU [Uu]tilization: Wall time\s+(?P<wall>\S+)\s+CPU time\s+(?P<cpu>\S+)\s+CPU utilization\s+(?P<percent>\S+) %"
    r"(?:\s+(?P<test>\w+), (?P<file>[0-9]{1,12}) kB, (?P<record>[0-9]{1,12}) kB)?"
)
_EACH: Final = re.compile(r"\s*Each process writes a ([0-9]+) kByte file in ([0-9]+) kByte records")
_NEAR: Final = 4
"""Columns by which a figure may miss the place of its column's heading."""
_APART: Final = 1.1
"""Ratio of the children's throughput to the parent's above which the children did not all run at the same time."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    head = source.text_head
    return BEGINS in head or '"Writer report"' in head or '"Throughput report Y-axis' in head


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused when it holds none of IOzone's headings."""
    if not knows(source):
        raise Refused(source.path, found=f"neither {BEGINS!r} nor a report of IOzone", code="not-understood")
    result = Result(tool="iozone", version=None, layout=LAYOUT, runs=[])
    reader = _Reader(result)
    for number, line in enumerate(source.lines(), 1):
        reader.line(number, line.rstrip("\r"))
    reader.end()
    spread_out(result.runs)
    return result


class _State(msgspec.Struct):
    """State of the reader within one output of IOzone."""

    began: int = 0
    unit: Unit = "kB/s"
    command: str = ""
    ends: list[int] | None = None
    """End of each column of the table."""
    record_kb: int | None = None
    file_kb: int | None = None
    current: ToolRun | None = None
    """The processes that the next lines are of."""
    report: str | None = None
    """The test of the part of the report, "throughput", "cpu" or "?" for an unknown one."""
    records: list[int] | None = None
    runs: list[ToolRun] = []
    reported: list[tuple[int, ToolRun]] = []
    apart: list[tuple[float, ToolRun]] = []
    """Ratios of the children's throughput to the parent's."""
    complete: bool = False
    contributors: bool = False


class _Reader:
    def __init__(self, result: Result) -> None:
        self.result = result
        self.state = _State()

    def line(self, number: int, line: str) -> None:
        """Parse one line of IOzone's output, and remember the table that it belongs to."""
        if BEGINS in line:
            self.end()
            self.state = _State(began=number)
            return
        if not line.strip():
            return
        parts = (self._heading, self._table, self._children, self._report, self._setting)
        if not any(part(number, line) for part in parts):
            self.result.skip(number, line, "no line of IOzone's output")

    def _heading(self, number: int, line: str) -> bool:
        state, text = self.state, line.strip()
        if found := re.search(r"Version \$Revision: ([0-9.]+) \$", line):
            self._version(number, found[1])
        elif text.startswith("Run began:"):
            state.contributors = False
            self.result.began = self.result.began or text.partition(":")[2].strip()
        elif text.startswith("Contributors:"):
            state.contributors = True
        elif text.startswith("Command line used:"):
            state.command = text.partition(":")[2].strip()
            self.result.command = self.result.command or state.command
            state.record_kb = record_of_command(state.command)
        elif "Output is in operations per second" in text:
            state.unit = "ops/s"
        elif "Output is in microseconds per operation" in text:
            state.unit = "us/op"
        elif text.startswith("iozone test complete"):
            state.complete = True
        elif not (
            (state.contributors and line[:1] == "\t")
            or text.startswith(("Build:", "Compiled for", "Excel output is below"))
        ):
            return False
        return True

    def _version(self, number: int, version: str) -> None:
        if self.result.version not in (None, version):
            self.result.facts[f"version from line {number}"] = version
        self.result.version = self.result.version or version

    def _table(self, number: int, line: str) -> bool:
        """The heading of the table, and its rows."""
        words = line.split()
        if words[:2] in (["kB", "reclen"], ["KB", "reclen"]):
            self.state.ends = [found.end() for found in re.finditer(r"\S+", line)][2:]
            return True
        if set(words) <= {"random", "bkwd", "record", "stride"}:
            return True
        if self.state.ends is None or not re.fullmatch(r"[\s0-9.]+", line) or len(words) < 3:
            return False
        file_kb, record_kb = whole(words[0]), whole(words[1])
        figures = [(found.end(), found[0]) for found in re.finditer(r"\S+", line)][2:]
        places = _places(figures, self.state.ends)
        if file_kb is None or record_kb is None or places is None:
            return False
        for place, text in places:
            figure, unit = figure_of(text) or 0.0, self.state.unit
            if figure == 0 and unit == "us/op":
                why = f"{SINGLE[place]}: too short for whole microseconds"
                self.result.unread.append(Unread(number, text, why))
            run = single(SINGLE[place], file_kb, record_kb, figure, unit, number)
            if run is not None:
                self.state.runs.append(run)
        return True

    def _children(self, number: int, line: str) -> bool:
        state = self.state
        if found := _EACH.fullmatch(line):
            state.file_kb, state.record_kb = whole(found[1]), whole(found[2])
        elif found := _SEEN.match(line):
            state.current = None
            test, figure = CHILDREN.get(found["what"]), figure_of(found["figure"])
            if test is None or figure is None:
                return False
            unit: Unit = "kB/s" if found["unit"] == "kB" else "ops/s"
            count = whole(found["count"]) or 0
            state.current = children(test, count, state.record_kb, figure, unit, number)
            if state.current is None:
                return True
            state.current.levels |= {"file": f"{state.file_kb} kB each"} if state.file_kb else {}
            state.current.printed.append((f"Children see throughput {found['unit']}/sec", figure))
            state.runs.append(state.current)
        elif found := _EXTRA.match(line):
            figure = figure_of(found["figure"])
            if figure is None:
                return False
            self._extra_figure(found["name"], figure, found["unit"])
        elif found := _USED.match(line):
            run = self._used_by(number, found) if found["test"] else state.current
            for name in ("wall", "cpu", "percent"):
                figure = figure_of(found[name])
                if figure is not None and run is not None:
                    run.printed.append((f"CPU utilization {name}", figure))
        else:
            return bool(
                re.fullmatch(r"\s*(?:Throughput test with [0-9]+ \w+|(?:Min|Max) process = [0-9]+)\s*", line)
            )
        return True

    def _used_by(self, number: int, found: re.Match[str]) -> ToolRun | None:
        """The run of a single stream that processor time is printed of."""
        like = single(found["test"], int(found["file"]), int(found["record"]), 1.0, self.state.unit, number)
        if like is None:
            return None
        runs = (run for run in self.state.runs if (run.key, run.levels) == (like.key, like.levels))
        return next(runs, None)

    def _extra_figure(self, name: str, figure: float, unit: str) -> None:
        run = self.state.current
        if run is None:
            return
        run.printed.append((f"{name} {unit}", figure))
        seen = run.rate_bytes_per_s / 1024 if run.rate_bytes_per_s is not None else run.ops_per_s
        if name.startswith("Parent") and figure > 0 and seen is not None and seen > _APART * figure:
            self.state.apart.append((seen / figure, run))

    def _report(self, number: int, line: str) -> bool:
        """The parts of -R, whose figures are compared with those before."""
        state = self.state
        if line.startswith('"Throughput report Y-axis'):
            state.report = "throughput"
        elif _CPU.match(line):
            state.report = "cpu"
        elif found := _REPORT.match(line):
            state.report = REPORTS.get(found["title"].lower(), "?")
            return state.report != "?"
        elif found := re.match(r'^"Record size = ([0-9]+) kBytes', line):
            state.record_kb = whole(found[1])
        elif line.startswith('"Output is in'):
            state.unit = "ops/s" if "ops" in line else state.unit
        elif state.report is None:
            return False
        elif _RECORDS.fullmatch(line):
            state.records = [int(text) for text in re.findall(r"[0-9]{1,12}", line)]
        elif found := _ROW.fullmatch(line):
            return self._reported(number, found["name"], found["figures"].split())
        else:
            return False
        return True

    def _reported(self, number: int, name: str, texts: list[str]) -> bool:
        state = self.state
        figures = [figure_of(text) for text in texts]
        if state.report == "cpu":
            return True
        if state.report == "throughput":
            test = ROWS.get(name.lower())
            counts = processes_of_command(state.command) or list(dict.fromkeys(_processes(state.runs)))
            if test is None or (counts and len(counts) != len(figures)):
                return False
            for count, figure in zip(counts or range(1, len(figures) + 1), figures, strict=True):
                run = (
                    None
                    if figure is None
                    else children(test, count, state.record_kb, figure, state.unit, number)
                )
                state.reported += [(number, run)] if run is not None else []
            return True
        file_kb = whole(name)
        if (
            file_kb is None
            or state.records is None
            or state.report in (None, "?")
            or len(figures) > len(state.records)
        ):
            return False
        for record_kb, figure in zip(state.records, figures, strict=False):
            run = (
                None
                if figure is None
                else single(str(state.report), file_kb, record_kb, figure, state.unit, number)
            )
            state.reported += [(number, run)] if run is not None else []
        return True

    def _setting(self, number: int, line: str) -> bool:
        """Keep a line of settings, tab-indented, that IOzone prints before the first result."""
        if not line.startswith("\t") or self.state.runs:
            return False
        self.result.facts.setdefault(line.strip(), "")
        return True

    def end(self) -> None:
        """The end of one output."""
        state = self.state
        if not state.began and not state.reported and not state.runs:
            return
        if not state.runs:
            state.unit = unit_of_command(state.command) if state.command else state.unit
            self.result.runs += [run for _, run in state.reported]
        else:
            self.result.runs += state.runs
            self._compare(state)
        if state.apart:
            ratio, run = max(state.apart, key=lambda pair: pair[0])
            run.notes.append(
                f"{run.cell}: the children saw {ratio:.2f} times what the parent saw (in {len(state.apart)} of "
                f"{len(state.runs)} tests they saw more): they did not all run at the same time, and the sum of their "
                "rates is more than was moved"
            )
        for run in (*state.runs, *(run for _, run in state.reported)):
            run.call = state.began
        if state.began and not state.complete:
            self.result.lost.append(f"IOzone, begun in line {state.began}, did not come to its end")

    def _compare(self, state: _State) -> None:
        """List the lines of IOzone's Excel report whose figure differs from the printed table."""
        table = {_identity(run): run for run in state.runs}
        for number, run in state.reported:
            other = table.get(_identity(run))
            if other is None or _figure(other) != _figure(run):
                printed_figure = "no figure" if other is None else f"{_figure(other):.2f}"
                self.result.unread.append(
                    Unread(
                        number,
                        run.cell,
                        f"the report has {_figure(run):.2f} where the output before it has {printed_figure}",
                    )
                )


def _processes(runs: list[ToolRun]) -> list[int]:
    return [int(run.levels["processes"]) for run in runs]


def _identity(run: ToolRun) -> tuple[str, str, str]:
    processes = run.levels.get("processes", "")
    return run.cell, processes, run.levels.get("file", "") if processes == "1" and run.elapsed_s else ""


def _figure(run: ToolRun) -> float:
    return (run.rate_bytes_per_s or 0) / 1024 or run.ops_per_s or 0.0


def _places(figures: list[tuple[int, str]], ends: list[int]) -> list[tuple[int, str]] | None:
    """The column of each figure by where it ends; None where a figure has no column."""
    if len(figures) == len(ends) and len(ends) <= len(SINGLE):
        return [(at, text) for at, (_, text) in enumerate(figures)]
    found: list[tuple[int, str]] = []
    free = 0
    for end, text in figures:
        near = [at for at in range(free, min(len(ends), len(SINGLE))) if abs(ends[at] - end) <= _NEAR]
        if not near:
            return None
        place = min(near, key=lambda at: abs(ends[at] - end))
        found.append((place, text))
        free = place + 1
    return found
