"""Validity of a journal line: its checksum, its types, its place in the plan, figures that add up.

Scope: the reason to skip a line, in words that follow "line 7". A folder may come from a stranger or from a
damaged disk; a line that passes causes no traceback in any command.
What it refuses: lines whose checksum is wrong; runs that the plan does not have, or has otherwise; a run that was
recorded before; histograms that do not add up; series of unequal length.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, Final

import msgspec

from mileage.model.histogram import Histogram, bucket_of
from mileage.model.imported_record import ImportedRecord, ImportedSeries
from mileage.model.journal_entries import (
    ENTRY_TYPES,
    AnyRun,
    DidNotFinish,
    End,
    Entry,
    FailedRun,
    ImportedRun,
    LengthFactor,
    Look,
    Rewrite,
    Run,
    SavedPoint,
    StageEnd,
    StudyHead,
    kind_of,
)
from mileage.model.run_record import RunRecord, Series

_BRIEF: Final = 160
_INDEX_MAX: Final = 7423
"""The bucket of the longest latency."""
_TIMES: Final = ("started", "finished", "at", "imported_at")
"""Members of entries that are times, where an entry has them."""
_MAY_LACK_TIME: Final = (SavedPoint, Rewrite, FailedRun, End)
"""Entries that early versions wrote without their time."""
_RUN_FIELDS: Final = ("part", "cycle", "arm", "stage", "role", "block", "measure", "cell", "metrics")


class _PlannedRun(msgspec.Struct):
    index: int
    cycle: int
    arm: str
    stage: str
    role: str
    block: int
    measure: str
    cell: str
    metrics: list[str] = []
    part: str = msgspec.field(default="", name="session")
    setting: int = 0


class _PlanSetting(msgspec.Struct):
    levels: dict[str, str]


class _Tables(msgspec.Struct):
    measure: dict[str, msgspec.Raw] = {}
    torture: dict[str, msgspec.Raw] = {}


class _Cell(msgspec.Struct):
    label: str


class _PlanOrigin(msgspec.Struct):
    """Reads from a plan only whether its runs are of another tool."""


class PlannedRuns(msgspec.Struct):
    """The parts of the planned runs with which journal lines are compared."""

    study: _Tables
    hash: str
    runs: list[_PlannedRun]
    cells: list[_Cell] = []
    settings: list[_PlanSetting] = []
    imported: _PlanOrigin | None = None


class LineCheck:
    """Looks at the lines of one journal, in order. Without a plan, only at what the lines say of themselves."""

    def __init__(self, plan: PlannedRuns | None) -> None:
        """Begin without any line."""
        self._plan = plan
        self.imported = plan is not None and plan.imported is not None
        self._lines: dict[int, int] = {}
        self._runs = {run.index: run for run in plan.runs} if plan is not None else {}
        self._stages = {(run.part, run.cycle, run.arm, run.stage) for run in self._runs.values()}
        self._cells = {run.cell for run in self._runs.values()}
        self._labels = {cell.label for cell in plan.cells} if plan is not None else set()

    def problem(self, line: bytes, kind: str, number: int) -> tuple[Entry | None, str | None]:
        """The line decoded as its kind's type, and the reason to skip it; None when valid, or of no known kind."""
        try:
            entry = decoder_of(kind, imported=self.imported).decode(line)
            if isinstance(entry, Entry):
                _check_times(entry, imported=self.imported)
        except (msgspec.DecodeError, OverflowError, RecursionError, ValueError) as cause:
            return None, f"is damaged ({brief(cause)})"
        if isinstance(entry, StudyHead):
            self.imported = self.imported or (self._plan is None and entry.imported_at is not None)
            if self._plan is not None and entry.plan != self._plan.hash:
                return entry, f"is of another plan ({entry.plan[:16]} instead of {self._plan.hash[:16]})"
        why = self._problem_of(entry, number)
        return entry, None if why is None else brief(why)

    def _problem_of(self, entry: Entry, number: int) -> str | None:
        if isinstance(entry, Run | ImportedRun):
            found = None if self._plan is None else self._misplaced(entry)
            found = found or record_problem(entry.record)
            if found is None and not isinstance(entry, DidNotFinish):
                found = self._repeated(entry, number)
            return found
        if self._plan is None:
            return None
        if isinstance(entry, StageEnd | SavedPoint | Rewrite | Look) and entry.stage_key not in self._stages:
            return f"is of cycle {entry.cycle}, {entry.arm} arm, stage {entry.stage!r}, which the plan does not have"
        if isinstance(entry, Look):
            tables = self._plan.study.measure if entry.rule == "precision" else self._plan.study.torture
            if entry.table not in tables:
                return f"is of the table {entry.table!r}, which the plan does not have"
        if isinstance(entry, LengthFactor) and (entry.run not in self._runs or entry.cell not in self._cells):
            return f"is of run {entry.run} ({entry.cell}), which the plan does not have"
        return None

    def _misplaced(self, entry: AnyRun) -> str | None:
        planned = self._runs.get(entry.run)
        if planned is None:
            return f"has run {entry.run}, which the plan does not have"
        for name in _RUN_FIELDS:
            found, expected = getattr(entry, name), getattr(planned, name)
            if found != expected:
                return f"has {name} {found!r} for run {entry.run}, where the plan has {expected!r}"
        if self._plan is not None and not self.imported and self._plan.settings:
            if not 0 <= planned.setting < len(self._plan.settings):
                return f"has run {entry.run}, whose setting the plan does not have"
            levels = self._plan.settings[planned.setting].levels
            if entry.levels != levels:
                return f"has levels {entry.levels} for run {entry.run}, where the plan has {levels}"
        if not isinstance(entry.record, RunRecord):
            return None
        if entry.role == "measure" and entry.record.elapsed_ns <= 0:
            return f"has an elapsed time of {entry.record.elapsed_ns} ns for run {entry.run}"
        for result in entry.record.results or ():
            if (label := label_of_test(result.name, entry.cell)) not in self._labels:
                return f"has the test {label!r} in run {entry.run}, which the plan does not have"
        return None

    def _repeated(self, entry: AnyRun, number: int) -> str | None:
        before = self._lines.setdefault(entry.run, number)
        return None if before == number else f"has run {entry.run} again, which is in line {before}"


class _Other(msgspec.Struct):
    """A line of a kind that this version does not know; nothing of it is read."""


_TYPES: Final[dict[str, type[Entry]]] = {kind_of(type_): type_ for type_ in ENTRY_TYPES}


def decoder_of(kind: str, *, imported: bool) -> msgspec.json.Decoder[Any]:
    """Decoder for lines of a kind; `imported` for a study that another tool measured."""
    return _decoder_for(ImportedRun if imported and kind == "run" else _TYPES.get(kind, _Other))


@cache
def _decoder_for(type_: type[Any]) -> msgspec.json.Decoder[Any]:
    """The decoder of a type, made when a line of it is met: a journal has few of the kinds."""
    return msgspec.json.Decoder(type_)


def _check_times(entry: Entry, *, imported: bool) -> None:
    """Raise ValueError where a time is none, or cannot be compared with the others of its journal.

    Mileage writes times in UTC. The first and the last line of an imported study have local times, with which nothing
    is calculated.
    """
    is_local = (
        imported if isinstance(entry, End) else isinstance(entry, StudyHead) and entry.imported_at is not None
    )
    for name in _TIMES:
        text = getattr(entry, name, None)
        if text is None or (text == "" and isinstance(entry, _MAY_LACK_TIME)):
            continue
        if datetime.fromisoformat(text).tzinfo is None and not is_local:
            raise ValueError(f"the time {text!r} has no time zone")


def brief(cause: Exception | str) -> str:
    """A reason cut to a line's length: it may quote any value of a stranger's file."""
    text = str(cause)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}..."


def label_of_test(name: str, unit: str) -> str:
    """The label of one test of a set: "iozone.read" of "iozone 1 MiB" is "iozone.read 1 MiB"."""
    return name + unit.removeprefix(name.partition(".")[0])


def record_problem(record: RunRecord | ImportedRecord) -> str | None:
    """Contradiction within a record; None when there is none."""
    own = isinstance(record, RunRecord)
    for kind, histogram in record.latency.items():
        if found := _histogram_problem(histogram, exact=own):
            return f"has a histogram of {kind} latencies {found}"
    others = (record.warm_up, record.commits) if isinstance(record, RunRecord) else ()
    for series in (record.series, *others):
        if series is not None and (found := _series_problem(series)):
            return found
    if not isinstance(record, RunRecord):
        pairs = (len(record.printed_names), len(record.printed_figures))
        return None if pairs[0] == pairs[1] else f"has {pairs[0]} printed names and {pairs[1]} figures"
    for result in record.results or ():
        if found := record_problem(result.record):
            return found
    return None


def _histogram_problem(histogram: Histogram, *, exact: bool) -> str | None:
    """`exact`: the extremes lie in the outermost buckets, as in every histogram that Mileage counted itself."""
    buckets = histogram.buckets
    if not buckets:
        return None if histogram.count == 0 else f"without buckets for {histogram.count} operations"
    before = -1
    total = 0
    for index, count in buckets:
        if not before < index <= _INDEX_MAX or count < 1:
            return f"with a bucket {index} of {count} out of order"
        before = index
        total += count
    if total != histogram.count:
        return f"of {histogram.count} operations, where the buckets have {total}"
    ends = (bucket_of(histogram.min_ns), bucket_of(histogram.max_ns))
    if exact and ends != (buckets[0][0], buckets[-1][0]):
        return f"whose extremes {histogram.min_ns} and {histogram.max_ns} ns are not in its outermost buckets"
    if histogram.sum_ns >= 1 << 127:
        return "whose sum cannot be"
    return None


def _series_problem(series: Series | ImportedSeries) -> str | None:
    length = len(series.ops)
    if length and series.interval_ns < 1:
        return f"has a series with intervals of {series.interval_ns} ns"
    columns = {name: getattr(series, name) for name in ("bytes_read", "bytes_written", "latency_sum_ns")}
    columns |= {
        name: found
        for name in ("latency_p50_ns", "latency_p99_ns", "latency_max_ns")
        if (found := getattr(series, name))
    }
    columns |= series.counters
    for name, values in columns.items():
        if len(values) != length:
            return f"has a series of {length} intervals with {len(values)} of {name}"
    return None
