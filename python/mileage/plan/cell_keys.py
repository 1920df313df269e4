"""The keys of a study's cells, in the order of its tables; and those of plans that were made without them.

Scope: a table's cells are all combinations of its workloads, records, threads, depths and levels of `vary`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from mileage.model.cell_key import CellKey
from mileage.plan import sizes
from mileage.plan.custom_workloads import how_in, own_workloads
from mileage.plan.factors import Setting, at_setting
from mileage.plan.families import WORKLOADS
from mileage.plan.faults import Faults
from mileage.plan.named_workloads import NamedWorkload, as_done
from mileage.plan.pattern import pattern_word
from mileage.plan.planned_runs import Cell, Plan
from mileage.plan.study import Level, Measure, Size, listed
from mileage.plan.work_area import named_in, records_in, words

_VERB: Final = re.compile(r"[_.](read|write)$")

Levels = dict[str, Level]


class Slot(NamedTuple):
    """One combination of a table, and the key of the cell that measures it."""

    named: NamedWorkload
    record: Size | None
    """Record size in the table; None where the workload has its own."""
    threads: int
    depth: int
    levels: Levels
    key: CellKey

    @property
    def record_bytes(self) -> int:
        """Size of one operation in bytes; 0 for work without a record size."""
        return sizes.size_bytes(self.record if self.record is not None else self.named.record or 0)


def slots(measure: Measure, found: Sequence[NamedWorkload]) -> Iterator[Slot]:
    """Every combination of workload, record size, threads, depth and factor levels that a `[measure]` table asks for.

    Combinations of jobs that create and remove files come first: one run of such a job may measure several of them.
    """
    records, threads, depths = records_in(measure) or (None,), listed(measure.threads), listed(measure.depth)
    files = [named for named in found if named.job is not None]
    for record, thread, levels in itertools.product(records, threads, levels_of(measure)):
        for named in files:
            slot = Slot(named, record, thread, 1, levels, CellKey())
            shown = {} if record is None else {"record": words(slot.record_bytes)}
            shown |= {"threads": str(thread)} if len(threads) > 1 else {}
            yield _keyed(slot, CellKey(named.name, shown=shown))
    blocks = [named for named in found if named.job is None]
    for named, record, thread, depth, levels in itertools.product(
        blocks, records, threads, depths, levels_of(measure)
    ):
        slot = Slot(named, record, thread, depth, levels, CellKey())
        done = as_done(named, how_in(replace(measure, **levels)))
        shown = {"record": words(slot.record_bytes)}
        called = _name(named, done)
        if called != named.name and "reads" not in levels:
            shown |= {"reads": f"{done.read_percent} %"}
        shown |= {"threads": str(thread)} if len(threads) > 1 else {}
        shown |= {"depth": str(depth)} if len(depths) > 1 else {}
        called = called if called != named.name else ""
        yield _keyed(slot, CellKey(named.name, work=_work(done), called=called, shown=shown))


def _keyed(slot: Slot, key: CellKey) -> Slot:
    """The slot with the sizes and levels that all keys have."""
    key = replace(
        key,
        record_bytes=slot.record_bytes or None,
        threads=slot.threads,
        depth=slot.depth,
        levels={name: str(level) for name, level in slot.levels.items() if name != "reads"},
        shown=key.shown | {name: _level_words(name, level) for name, level in slot.levels.items()},
    )
    return slot._replace(key=key)


def workload_pairs(names: Sequence[str], cells: Iterable[Cell]) -> dict[str, tuple[str, str]]:
    """Workload of each comparable cell, and the rest of its label, by the cell's label.

    These are the cells of two workloads, `names`, that one table measured at the same sizes and levels: all but the
    workload is equal. Where nothing else is in the label, what is left of it is "all".
    """
    found: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        key = cell.key
        if key.workload in names:
            same = (cell.table, key.without_workload().label, key.record_bytes, key.threads, key.depth)
            found.setdefault((*same, *sorted(key.levels.items())), []).append(cell)
    return {
        cell.label: (cell.key.workload, cell.key.without_workload().label or "all")
        for same in found.values()
        if len({cell.key.workload for cell in same}) > 1
        for cell in same
    }


def levels_of(measure: Measure) -> list[Levels]:
    """Every combination of the levels of a table's `vary`, the last key changing fastest."""
    keys = list(measure.vary)
    return [dict(zip(keys, levels, strict=True)) for levels in itertools.product(*measure.vary.values())]


def at_factors(key: CellKey, setting: Setting) -> CellKey:
    """A key at a setting of a study with factors; a record among its levels is not listed a second time."""
    hides = isinstance(setting.workload.get("record"), str | int) and "record" in key.shown
    shown = {**key.shown, "record": ""} if hides else key.shown
    return replace(key, factors=setting.levels, shown=shown)


def in_tables(cells: Sequence[Cell]) -> Iterator[Cell]:
    """The cells of one setting, with the name of its table in the key where another cell has the same label.

    Tests of a set have it where another table has the same set: their labels end as that of their set does.
    """
    labels = [cell.key.label for cell in cells]
    tables: dict[str, set[str]] = {}
    for cell in cells:
        tables.setdefault(unit_of(cell).label, set()).add(cell.table)
    for cell in cells:
        shared = labels.count(cell.key.label) > 1 or len(tables[unit_of(cell).label]) > 1
        yield replace(cell, key=replace(cell.key, table=cell.table if shared else ""))


def labelled(cell: Cell) -> Cell:
    """The cell with the labels that its key has."""
    unit = unit_of(cell)
    return replace(cell, label=cell.key.label, unit=unit.label, stem=unit.stem)


def unit_of(cell: Cell) -> CellKey:
    """The key of what is run to measure a cell: its own, or that of its set of tests."""
    is_set = cell.job is not None and cell.job.is_set
    return cell.key.of_test(cell.job.word()) if cell.job is not None and is_set else cell.key


def name_test_of(cell: Cell) -> str | None:
    """Test, or set of tests, whose cells have one number of files in their table; None for other work than on names."""
    return unit_of(cell).workload if cell.job is not None and cell.job.files else None


def with_keys(plan: Plan) -> Plan:
    """A plan whose cells have keys: as it is, or, of an earlier version, with those that its study makes."""
    if all(cell.key.workload for cell in plan.cells):
        return plan
    if plan.imported is not None:
        return _with_label_keys(plan)
    own = own_workloads(plan.study, Faults(plan.study.name), None)
    found: list[Cell] = []
    whole = Setting(levels={}, target=plan.study.target, state=plan.study.state)
    for number, setting in enumerate(plan.settings or (whole,)):
        study = at_setting(plan.study, setting)
        keys = [
            slot.key
            for name, measure in study.measure.items()
            for slot in slots(measure, named_in(study, f"measure.{name}", measure.workload, own))
        ]
        mine = [cell for cell in plan.cells if cell.setting == number]
        if len(keys) != len(mine):
            return _with_label_keys(plan)
        for cell in in_tables([replace(cell, key=key) for cell, key in zip(mine, keys, strict=True)]):
            key = at_factors(cell.key, setting) if len(plan.settings) > 1 else cell.key
            found.append(replace(cell, key=key))
    return replace(plan, cells=tuple(found))


KEY_COLUMNS: Final = {
    "cell": "VARCHAR",
    "workload": "VARCHAR",
    "work": "VARCHAR",
    "record_bytes": "BIGINT",
    "threads": "INTEGER",
    "depth": "INTEGER",
}
"""The columns of a table of keys, and their types in SQL."""


def key_rows(plan: Plan) -> list[dict[str, str | int | None]]:
    """The key of every cell of a plan, by column; None where it has no such part, or a tool does not state it."""
    return [
        {"cell": cell.label, **{name: getattr(cell.key, name) or None for name in list(KEY_COLUMNS)[1:]}}
        for cell in plan.cells
    ]


def _with_label_keys(plan: Plan) -> Plan:
    """The plan with keys that have no more than the labels."""
    return replace(plan, cells=tuple(replace(cell, key=CellKey(cell.label)) for cell in plan.cells))


def _name(named: NamedWorkload, done: NamedWorkload) -> str:
    """Name of a workload; "random" for "random_read" if what the study does (`done`) has another share of reads."""
    if named.name not in WORKLOADS or done.read_percent == named.read_percent:
        return named.name
    return _VERB.sub("", named.name)


def _work(done: NamedWorkload) -> str:
    """Workload in words that tools share, where pattern and share of reads define it: "random_read", "sequential_70".

    Else "".
    """
    if not isinstance(done.pattern, str) or done.how.discards:
        return ""
    verb = {100: "read", 0: "write"}.get(done.read_percent, str(done.read_percent))
    return f"{pattern_word(done.pattern)}_{verb}"


def _level_words(key: str, value: Level) -> str:
    """A level of a key, as a cell's label has it: "1000/s", "70 %"."""
    if key in ("reads", "discards"):
        return f"{value} %"
    return f"{value}/s" if key in ("rate", "cap") and isinstance(value, int) else str(value)
