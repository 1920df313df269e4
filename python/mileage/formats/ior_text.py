"""IOR's listing, of IOR 2.10, 3 and 4.

Scope: the columns by the names in the listing's own heading, as the versions differ; one run per line of a
phase. A summary without the lines of its repetitions gives one run with its mean, and says so.
What it refuses: a file without IOR's first line.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.ior import ACCESSES, MIB, SETTINGS, by_repetitions, iteration, tasks_of
from mileage.formats.number_parser import number, whole
from mileage.formats.result import Result, ToolRun, Unread

LAYOUT: Final = "ior-text"
_BEGINS: Final = re.compile(r"^[ \t]*IOR-(\S+): MPI Coordinated Test of Parallel I/O", re.MULTILINE)
_OPTION: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9 _-]{1,40}?)\s*[:=]\s?(.*)$")
_COLUMNS: Final = (
    *("bw(MiB/s)", "IOPS", "Latency(s)", "block(KiB)", "xfer(KiB)", "open(s)", "wr/rd(s)", "close(s)"),
    *("total(s)", "iter"),
)
_MAX: Final = re.compile(r"\s*Max (?:Write|Read):\s+[0-9.]+ MiB/sec \([0-9.]+ MB/sec\)")
_RANK: Final = re.compile(
    r"\s*(?:stonewalling pairs accessed |Pairs deadlineForStonewalling|"
    r"WARNING: (?:Expected aggregate|Stat\(\) of aggregate|Using actual aggregate|Maybe caused by deadline)|"
    r"\[RANK [0-9]+\]|task [0-9]+ on |Commencing |"
    r"Using |Summary|Options:|Results:|Participating)"
)
_DATE: Final = re.compile(r"\s*\w{3} \w{3}\s+[0-9]{1,2} [0-9:]{8} [0-9]{4}\s*")
_NAMES: Final = (
    *SETTINGS,
    *("Began", "Run began", "Command line", "Command line used", "Machine"),
    *("Start time skew across all tasks", "Path", "FS", "TestID", "StartTime", "api", "apiVersion"),
    *("GPUDirect", "verbose", "task offset", "reorder random seed", "options", "platform"),
    *("data packet type", "memoryPerTask", "memoryPerNode", "collective", "randomOffset"),
    *("Lustre stripe size", "Lustre stripe count", "stonewallingTime", "stonewallTime"),
    *("Participating tasks", "hints"),
)
"""Names that IOR gives its settings."""
_WHOLE: Final = 3600.0
"""MiB/s from which IOR prints the lines without digits after the point."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return bool(_BEGINS.search(source.text_head))


def read(source: Source) -> Result:
    """Read all runs of a listing. Raises Refused when it is none of IOR's."""
    if not knows(source):
        raise Refused(
            source.path,
            found="no line 'IOR-VERSION: MPI Coordinated Test of Parallel I/O'",
            code="not-understood",
        )
    result = Result(tool="ior", version=None, layout=LAYOUT, runs=[])
    reader = _Reader(result)
    for at, line in enumerate(source.lines(), 1):
        reader.line(at, line.rstrip("\r"))
    reader.end()
    return result


class _State(msgspec.Struct):
    """State of the reader within the output of one call of IOR."""

    began: int = 0
    options: dict[str, str] = {}
    columns: list[str] = []
    runs: list[ToolRun] = []
    summary: list[str] = []
    """Names of the summary's columns, once its heading was read."""
    means: dict[str, tuple[int, float, float, int | None]] = {}
    """For each phase of the summary: line, maximum and mean in MiB/s, and the number of repetitions."""
    finished: bool = False


class _Reader:
    def __init__(self, result: Result) -> None:
        self.result = result
        self.state = _State()

    def line(self, at: int, line: str) -> None:
        """Process one line."""
        if found := _BEGINS.match(line):
            self.end()
            self.state = _State(began=at)
            self.result.version = self.result.version or found[1]
            return
        text = line.strip()
        if not text or set(text) <= set("-=+. ") or not self.state.began:
            if text and not self.state.began:
                self._unread(at, line, "before IOR's first line")
            return
        parts = (self._table, self._summary, self._known, self._setting)
        if not any(part(at, text) for part in parts):
            self._unread(at, line, "no line of IOR's listing")

    def _unread(self, at: int, line: str, why: str) -> None:
        self.result.skip(at, line, why)

    def _table(self, at: int, text: str) -> bool:
        words = text.split()
        if words[0] == "access" and "bw(MiB/s)" in words:
            self.state.columns = [word for word in words[1:] if word in _COLUMNS]
            return len(self.state.columns) == len(words) - 1
        if words[0] in ("remove", "----") and self.state.columns:
            return True
        if words[0] not in ACCESSES or not self.state.columns or self.state.summary:
            return False
        figures = dict(zip(self.state.columns, words[1:], strict=False))
        if len(figures) < len(self.state.columns) or any(number(value) is None for value in figures.values()):
            return False
        run = iteration(words[0], figures, self.state.options, at)
        if run is not None:
            self.state.runs.append(run)
        return run is not None

    def _summary(self, at: int, text: str) -> bool:
        if text.startswith("Operation") and "Mean" in text:
            joined = re.sub(r" \((MiB|OPs|s)\)", r"(\1)", text.replace("Std Dev", "StdDev"))
            self.state.summary = joined.split()
            return True
        words = text.split()
        if words[0] not in ACCESSES or not self.state.summary:
            return False
        figures = dict(zip(self.state.summary, words, strict=False))
        most, mean = number(figures.get("Max(MiB)")), number(figures.get("Mean(MiB)"))
        if most is None or mean is None:
            return False
        self.state.means[words[0]] = at, most, mean, whole(self.state.options.get("repetitions", ""))
        return True

    def _known(self, at: int, text: str) -> bool:
        if text.startswith(("Finished", "Run finished")):
            self.state.finished = True
            return True
        return bool(_MAX.match(text) or _RANK.match(text) or _DATE.fullmatch(text))

    def _setting(self, at: int, text: str) -> bool:
        found = _OPTION.match(text)
        if found is None or self.state.columns or found[1].strip() not in _NAMES:
            return False
        name, value = found[1].strip(), found[2].strip()
        if name in ("Began", "Run began"):
            self.result.began = self.result.began or value
        elif name in ("Command line", "Command line used"):
            self.result.command = self.result.command or value
            self.state.options["command"] = value
        elif name == "Machine":
            words = value.split()
            self.result.machine |= dict(zip(("system", "host", "kernel"), words[:3], strict=False))
        else:
            self.state.options[name] = value
            self.result.facts.setdefault(name, value)
        return True

    def end(self) -> None:
        """The end of one IOR."""
        state = self.state
        if not state.began:
            return
        lines = list(state.runs)
        for access, (at, most, mean, repetitions) in state.means.items():
            own = [run for run in state.runs if run.key.workload == f"ior.{access}"]
            rates = [(run.rate_bytes_per_s or 0) / MIB for run in own]
            if not own:
                self._from_summary(access, at, mean, repetitions)
            elif repetitions == len(own) and abs(max(rates) - most) > (0.006 if most < _WHOLE else 0.51):
                reason = f"the summary's maximum is {most} MiB/s, that of the lines {max(rates):.2f}"
                self.result.unread.append(Unread(at, access, reason))
        repetitions = whole(state.options.get("repetitions", ""))
        self.result.lost += by_repetitions(lines, repetitions)
        for run in state.runs:
            run.call = state.began
        self.result.runs += state.runs
        if not state.finished and not _has_all(state, repetitions):
            self.result.lost.append(f"IOR, begun in line {state.began}, did not come to its end")

    def _from_summary(self, access: str, at: int, mean: float, repetitions: int | None) -> None:
        figures = {"bw(MiB/s)": str(mean), "numTasks": tasks_of(self.state.options)}
        run = iteration(access, figures, self.state.options, at)
        if run is not None:
            run.bytes_read = run.bytes_written = run.ops_read = run.ops_written = None
            count = "several" if repetitions is None else str(repetitions)
            run.notes.append(
                f"{run.cell} is IOR's mean of {count} repetitions, whose own figures are not in the file"
            )
            self.state.runs.append(run)


def _has_all(state: _State, repetitions: int | None) -> bool:
    """Whether each phase that the command line asks for has all its lines.

    IOR that IO500 calls ends there: without -v it prints neither a summary nor "Finished".
    """
    words = [word for word in state.options.get("command", "").split() if re.fullmatch("-[A-Za-z]+", word)]
    asked = [access for access in ACCESSES if any(access[0] in word for word in words)] or list(ACCESSES)
    counts = [sum(run.key.workload == f"ior.{access}" for run in state.runs) for access in asked]
    quiet = not any("v" in word for word in words)
    return quiet and repetitions is not None and all(count >= repetitions for count in counts)
