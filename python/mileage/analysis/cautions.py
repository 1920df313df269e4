"""Warnings to read before the figures of a measurement.

The rates may be those of memory, of holes in a file, or of a new drive.

Scope: sentences about measured cells, from what the target is, what the device counted, what a virtual drive
had been through, and what else the machine did. The rules on rates and disturbances are those of `judge`.
Where nothing was counted and no rate is beyond a device's, it has no sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mileage.execute.machine_monitor import BACKING_READ, GROUP
from mileage.judge.audit import MEMORY_MAX
from mileage.judge.disturbance import disturbances
from mileage.judge.memory_rate import RateFacts, memory_rate
from mileage.model.caveat import Caveat, veto
from mileage.model.journal_entries import Run
from mileage.model.target_kind import capabilities_of
from mileage.model.write_amplification import FLASH
from mileage.plan import Cell, Plan, TargetFacts
from mileage.plan.sizes import format_bytes
from mileage.report.audit_words import audit_words
from mileage.report.measurement_setup import labels_of
from mileage.store import MeasuredCell
from mileage.store.journal import JournalContent
from mileage.targets.io_limits import limit_words

_NAMED_MAX = 5
"""Rows that a caution lists by name."""
_TO_STEADY = (
    "to measure it as a used drive: add --as-study > used.toml to this command, insert precondition = "
    '"snia-dependent" below [state] in used.toml, then: mileage run used.toml'
)


class Caution(msgspec.Struct, frozen=True):
    """A sentence, and the labels of the cells that it is about."""

    text: str
    cells: tuple[str, ...]
    advice: str = ""
    """The remedy, as options of `mileage measure`; empty when nothing needs to be done."""
    is_fresh: bool = False
    """Whether the caution is that the drive was fresh: its rates are real but may fall later.

    Otherwise something other than the drive influenced the rates.
    """

    @property
    def sentence(self) -> str:
        """The warning followed by the advice what to do."""
        return f"{self.text}; {self.advice}" if self.advice else self.text


def cautions(plan: Plan, content: JournalContent, cells: Sequence[MeasuredCell]) -> tuple[Caution, ...]:
    """Return the cautions for these cells, the most serious first."""
    planned = {cell.label: cell for cell in plan.cells}
    pairs = [(cell, planned[cell.cell]) for cell in cells if cell.cell in planned]
    names = labels_of(plan.cells) if plan.cells else {}
    found = [*_of_medium(plan, pairs), *_of_rates(plan, pairs, names), *_of_state(plan, content, pairs)]
    return (*found, *_of_machine(content, names))


def certain_memory(plan: Plan, cells: Sequence[MeasuredCell]) -> Iterator[Caveat]:
    """A caveat against any conclusion from each cell that was to bypass memory and is as fast as only memory is."""
    planned = {cell.label: cell for cell in plan.cells}
    names = labels_of(plan.cells) if plan.cells else {}
    for cell in cells:
        own = planned.get(cell.cell)
        if own is not None and _bypasses(own) and _facts(plan, own).capabilities.is_real:
            found = memory_rate(_rate_facts(cell, own, names[cell.cell]))
            if found is not None and found.certain:
                yield veto("from-memory", tests=(cell.cell,), what=audit_words(found))


def with_cautions(cells: Sequence[MeasuredCell], found: Sequence[Caution]) -> tuple[MeasuredCell, ...]:
    """The cells with the sentences about them among their notes."""
    return tuple(
        msgspec.structs.replace(
            cell, notes=(*cell.notes, *(caution.sentence for caution in found if cell.cell in caution.cells))
        )
        for cell in cells
    )


def _facts(plan: Plan, cell: Cell) -> TargetFacts:
    return plan.facts_of(plan.settings[cell.setting]) if plan.settings else plan.facts


def _of_medium(plan: Plan, pairs: Sequence[tuple[MeasuredCell, Cell]]) -> Iterator[Caution]:
    """Cautions about what stores the data: memory, or a file with holes where it is read."""
    grouped: dict[str, list[str]] = {}
    for cell, planned in pairs:
        facts = _facts(plan, planned)
        if facts.memory_file_system:
            text = f"{facts.name} is a {facts.memory_file_system}, which is memory: no device is measured"
            grouped.setdefault(text, []).append(cell.cell)
        if facts.hole_bytes and cell.bytes_read:
            share = f"{format_bytes(facts.hole_bytes)} of {format_bytes(facts.capacity_bytes)}"
            text = f"{share} of {facts.name} were never written (holes): reads there reach no device"
            grouped.setdefault(text, []).append(cell.cell)
    yield from (Caution(text, tuple(labels)) for text, labels in grouped.items())


def _of_rates(
    plan: Plan, pairs: Sequence[tuple[MeasuredCell, Cell]], names: dict[str, str]
) -> Iterator[Caution]:
    """Rates that only memory can give; the certain ones count more."""
    served: list[tuple[bool, str, str]] = []
    for cell, planned in pairs:
        facts = _facts(plan, planned)
        if not facts.capabilities.is_real or facts.memory_file_system:
            continue
        if (found := memory_rate(_rate_facts(cell, planned, names[cell.cell]))) is not None:
            served.append((not found.certain, audit_words(found), cell.cell))
        elif planned.workload is not None and _rewrites_in_cache(cell, planned):
            span = format_bytes(planned.workload.span_bytes)
            text = (
                f"{names[cell.cell]} wrote {span} more than once into the page cache, "
                "which may write only the last version"
            )
            served.append((True, text, cell.cell))
    if served:
        first, labels = min(served)[1], tuple(label for *_, label in served)
        named = min(served)[2]
        others = [names[label] for label in labels if label != named]
        same = ", ".join(others)
        if len(others) > _NAMED_MAX:
            same = (
                "all other cells"
                if len(labels) == len(pairs)
                else f"{len(others)} of the other {len(pairs) - 1} cells"
            )
        yield Caution(first + (f" (the same holds for {same})" if others else ""), labels)


def _bypasses(planned: Cell) -> bool:
    return planned.reach is not None and planned.reach.caching.mode == "direct"


def _rewrites_in_cache(cell: MeasuredCell, planned: Cell) -> bool:
    work = planned.workload
    return work is not None and not _bypasses(planned) and cell.bytes_written > cell.runs * work.span_bytes


def _rate_facts(cell: MeasuredCell, planned: Cell, name: str) -> RateFacts:
    work, elapsed_s = planned.workload, sum(cell.elapsed_s)
    operations = cell.ops_read + cell.ops_written
    moved = cell.bytes_read + cell.bytes_written
    bypasses = _bypasses(planned)
    return RateFacts(
        cell=name,
        streams=None if work is None else work.depth * work.threads,
        bypasses=bypasses,
        waits=bypasses or planned.kind == "iops",
        rate_bytes_per_s=moved / elapsed_s if elapsed_s else None,
        ops_per_s=operations / elapsed_s if elapsed_s else None,
        elapsed_s=elapsed_s / cell.runs,
        moved_bytes=moved,
        # Cap each direction at our own bytes: I/O of other programs must not make up for requests that never reached
        # the device.
        device_bytes=min(cell.device["read_bytes"], cell.bytes_read)
        + min(cell.device["write_bytes"], cell.bytes_written)
        if cell.device
        else None,
    )


def _of_state(
    plan: Plan, content: JournalContent, pairs: Sequence[tuple[MeasuredCell, Cell]]
) -> Iterator[Caution]:
    """Writes that found erased blocks: on a virtual drive that had not been filled, on a device that was emptied."""
    if plan.study.state.start == "kept":
        return
    wrote = {cell.cell: cell for cell, _ in pairs if cell.bytes_written}
    found = _first_fills(plan, content) if any(FLASH in cell.counters for cell in wrote.values()) else {}
    fresh = tuple(label for label in wrote if label in found)
    if fresh:
        written, capacity = max(found[label] for label in fresh)
        one = len(fresh) == 1 and wrote[fresh[0]].runs == 1
        which = f"of {len(fresh)} of {len(wrote)} rows " if len(fresh) < len(wrote) else ""
        run = f"the run {which}" if one else f"each run {which}"
        had = (
            f"before {run}{'' if one else 'at most '}{format_bytes(written)} had been written to its "
            f"{format_bytes(capacity)} in all"
            if written
            else f"it was empty when {run}began"
        )
        text = f"fresh drive: {had}, so writes rarely waited for garbage collection"
        yield Caution(text, fresh, _TO_STEADY, is_fresh=True)
    emptied = plan.study.state.purge != "none" and capabilities_of(plan.study.target).is_block_device
    if emptied and wrote and not any(stage.torture for stage in plan.study.stage):
        how = f"{plan.study.target} was emptied ({plan.study.state.purge}) before"
        yield Caution(
            f"{how}: its writes may be as fast as those of a fresh drive", tuple(wrote), is_fresh=True
        )


def _first_fills(plan: Plan, content: JournalContent) -> dict[str, tuple[int, int]]:
    """For each cell on a virtual drive whose run began before the whole drive was written once.

    Bytes written so far, and the capacity.
    """
    written: dict[tuple[Any, ...], int] = {}
    found: dict[str, tuple[int, int]] = {}
    for entry in content.runs():
        run = plan.runs[entry.run]
        setting = plan.setting_of(run)
        facts = plan.facts_of(setting)
        if not facts.virtual:
            continue
        key = (run.part, run.cycle, run.arm, setting.instance)
        if run.role == "reset" and run.cell in ("purge", "trim"):
            written[key] = 0
        before = written.get(key, 0)
        if run.role == "measure" and before < facts.capacity_bytes:
            found[run.cell] = max(found.get(run.cell, (0, 0)), (before, facts.capacity_bytes))
        written[key] = before + entry.record.bytes_written
    return found


def _of_machine(content: JournalContent, names: dict[str, str]) -> Iterator[Caution]:
    """Cautions about other work that the machine did during the runs."""
    runs = [entry for entry in content.runs() if entry.role == "measure" and entry.watch]
    watched = [(names.get(entry.cell, entry.cell), entry.watch) for entry in runs]
    labels = tuple(dict.fromkeys(entry.cell for entry in runs))
    limited: dict[str, list[str]] = {}
    for entry in runs:
        limits = {key.removeprefix(GROUP): most for key, most in entry.watch.items() if key.startswith(GROUP)}
        if limits:
            text = f"a control group limits {limit_words(limits)}: the limit is measured, not the drive"
            limited.setdefault(text, []).append(entry.cell)
    yield from (Caution(text, tuple(dict.fromkeys(cells))) for text, cells in limited.items())
    yield from _of_backing_file(runs, names)
    yield from (
        Caution(audit_words(found), labels) for found in disturbances(watched) if found.state == "warn"
    )


def _of_backing_file(runs: Sequence[Run], names: dict[str, str]) -> Iterator[Caution]:
    """A caution about reads of a loop device that its backing file's page cache served."""
    shares: dict[str, float] = {}
    for entry in runs:
        if BACKING_READ in entry.watch and entry.record.bytes_read:
            share = 1 - entry.watch[BACKING_READ] / entry.record.bytes_read
            shares[entry.cell] = max(share, shares.get(entry.cell, 0.0))
    cached = {cell: share for cell, share in shares.items() if share > MEMORY_MAX}
    if cached:
        most = max(cached, key=cached.__getitem__)
        text = (
            f"{cached[most]:.0%} of what {names.get(most, most)} read came from the page cache of the file below the "
            "loop device"
        )
        yield Caution(text, tuple(cached))
