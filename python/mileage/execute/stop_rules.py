"""Stop rules: repetition until the confidence interval is narrow enough, rounds of writing until steady state.

Scope: a plan holds the maximum number of runs; this decides for each run whether it is still needed. A table
that repeats until precise ends, separately in each stage, after the block at which the pooled interval is narrow
enough. Blocks are always completed, so runs compared within a stage stay paired. A later part (other labels) does at
least as many blocks as the first.
Every interim look is journalled before the next run, so that resume makes the same decisions.
What it refuses: judging. The caller gives the rules; they see values, never a difference between arms.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container
from typing import NamedTuple, Protocol

import msgspec

from mileage.model.journal_entries import Finding, Look, Run
from mileage.plan import Plan, PlannedRun
from mileage.plan.study import Repeat
from mileage.store import Journal
from mileage.store.cell_measurements import headline_of
from mileage.store.journal import JournalContent


class Rules(Protocol):
    """The judgements that end repetition; pure."""

    def precise(self, cells: list[list[float]], repeat: Repeat) -> Finding:
        """Whether the cells are measured precisely enough."""

    def steady(self, rounds: list[float], written_bytes: int, rule: str, capacity_bytes: int) -> Finding:
        """Whether rounds of writing have reached a steady state."""

    def text(self, times: int, look: Finding) -> str:
        """An interim look after `times` blocks or rounds, in words."""


class Key(NamedTuple):
    """Identifies one decision to stop: a table of measurements in a stage, or writing in rounds on one target."""

    part: str
    cycle: int
    arm: str
    stage: str
    table: str
    setting: int


class StopState:
    """Answers for a whole study; safe to use from several threads, each with cycles of its own."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        content: JournalContent,
        rules: Rules | None,
        print_line: Callable[[str], None],
    ) -> None:
        """Read the decisions in the journal; `print_line` prints a line for the user."""
        self._journal = journal
        self._rules = rules
        self._print_line = print_line
        self._plan = plan
        self._tables = {cell.unit: cell.table for cell in plan.cells}
        self._repeats = {
            name: measure.repeat
            for name, measure in plan.study.measure.items()
            if isinstance(measure.repeat, Repeat) and measure.repeat.precision is not None
        }
        self._untils = {name: table.until for name, table in plan.study.torture.items() if table.until}
        self._parts = plan.parts
        self._tables_of = {
            stage.name: plan.study.measures_of(stage)
            for stage in plan.study.stage
            if stage.measure is not None
        }
        self._lock = threading.Lock()
        self._limits: dict[Key, int] = {}
        self._looked: set[tuple[Key, int]] = set()
        self._values: dict[Key, dict[str, dict[int, float]]] = {}
        self._bytes: dict[Key, int] = {}
        for entry in content.of_kind(Look):
            key = Key(*entry.stage_key, entry.table, entry.setting)
            self._looked.add((key, entry.times))
            if entry.enough:
                self._limits[key] = entry.times

    def note(self, run: PlannedRun, entry: Run) -> None:
        """A run is finished; `entry` is its line of the journal."""
        if run.role == "measure":
            table = self._tables.get(run.cell)
            if table not in self._repeats:
                return
            key, number = _repetition(run, table), run.block
        elif run.cell in self._untils and run.role in ("torture", "prepare"):
            key, number = _rounds(run), run.turn
        else:
            return
        with self._lock:
            values = self._values.setdefault(key, {})
            for cell, value in headline_of(entry).items():
                values.setdefault(cell, {})[number] = value
            self._bytes[key] = self._bytes.get(key, 0) + entry.record.bytes_written

    def wanted(self, run: PlannedRun, done: Container[int]) -> bool:
        """Whether a planned run is still needed. `done` are the runs of this cycle that are finished."""
        if run.mirrors is not None:
            return run.mirrors in done
        with self._lock:
            if run.role == "measure":
                return self._block_wanted(run, self._tables[run.cell])
            if run.block > 1 and run.stage in self._tables_of:
                # Purging or trimming between blocks is useful only if some table still wants the block that follows.
                return any(self._block_wanted(run, table) for table in self._tables_of[run.stage])
            if run.role in ("torture", "prepare"):
                return self._turn_wanted(run)
        return True

    def _block_wanted(self, run: PlannedRun, table: str) -> bool:
        repeat = self._repeats.get(table)
        if repeat is None:
            return True
        key, times = _repetition(run, table), run.block - 1
        if key not in self._limits and times >= self._least(key, repeat) and self._rules is not None:
            look = self._rules.precise(self._until(key, times), repeat)
            self._keep(key, times, look, announce=look.enough or times == repeat.min)
        return run.block <= self._limits.get(key, run.block)

    def _least(self, key: Key, repeat: Repeat) -> int:
        """Blocks before the first look: in later parts, as many as the first one did, whose pairs they are."""
        return max(repeat.min, self._limits.get(key._replace(part=self._parts[0]), 0))

    def _turn_wanted(self, run: PlannedRun) -> bool:
        if run.torture not in self._untils:
            return True
        key, times = _rounds(run), run.turn - 1
        if run.reads_back:
            return run.turn <= self._limits.get(key, run.turn)
        if key not in self._limits and times >= 1 and self._rules is not None:
            rounds = self._until(key, times)
            look = self._rules.steady(
                rounds[0] if rounds else [],
                self._bytes.get(key, 0),
                self._untils[run.cell],
                self._plan.facts_of(self._plan.setting_of(run)).capacity_bytes,
            )
            self._keep(key, times, look, announce=look.enough)
        return run.turn <= self._limits.get(key, run.turn)

    def _until(self, key: Key, times: int) -> list[list[float]]:
        """The values of each cell, in the order in which they were measured, without later ones."""
        cells = self._values.get(key, {}).values()
        return [[found[number] for number in sorted(found) if number <= times] for found in cells]

    def _keep(self, key: Key, times: int, look: Finding, *, announce: bool) -> None:
        if look.enough:
            self._limits[key] = times
        if (key, times) in self._looked:
            return
        self._looked.add((key, times))
        self._journal.append(Look(**key._asdict(), times=times, **msgspec.structs.asdict(look)))
        if announce and self._rules is not None:
            self._print_line(f"cycle {key.cycle}, {key.stage}, {key.table}: {self._rules.text(times, look)}")


def _rounds(run: PlannedRun) -> Key:
    return Key(run.part, run.cycle, run.arm, run.stage, run.torture, run.setting)


def _repetition(run: PlannedRun, table: str) -> Key:
    return Key(run.part, run.cycle, run.arm, run.stage, table, 0)
