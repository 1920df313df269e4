"""The runs of a study in the order in which they are done.

Scope: parts (runs at equal labels) follow each other, since a label cannot change while a study runs; in
each the cycles; in each cycle the torture arm, then the sham arm, which idles for as long as the torture of its own
cycle took and therefore cannot come first; in each arm the stages; in a stage that measures, randomised blocks that
hold each cell once (a cell with fewer repetitions is missing from the last ones). Within a block the cells that differ
only in their setting, or are the two workloads that the study compares, follow each other in random order, so that what
is compared is close in time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

import msgspec

from mileage.errors import Refusal, Refused
from mileage.model.metrics import METRICS, MetricWord
from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import Capabilities, capabilities_of
from mileage.plan import sizes
from mileage.plan.cell_keys import Slot, in_tables, labelled, slots, workload_pairs
from mileage.plan.content import read_content, read_verify
from mileage.plan.custom_workloads import how_in
from mileage.plan.factors import Setting
from mileage.plan.faults import BrokenStudy, Faults
from mileage.plan.file_job import JobRequest
from mileage.plan.io_options import IoOptions, Reach, load_of, merged, reach_of, without_effect
from mileage.plan.iozone_suite import Suite
from mileage.plan.named_workloads import Kind, NamedWorkload, as_done, on_target
from mileage.plan.page_cache_state import read_cache
from mileage.plan.pattern import SECTOR_BYTES, is_own_master, lengths_of, pattern_word, unit_bytes
from mileage.plan.planned_runs import READ_BACK, Arm, Cell, PlannedRun, Role
from mileage.plan.quantiles import operations_needed
from mileage.plan.run_action import FileJob
from mileage.plan.study import PURGE_EACH, Measure, Size, Stage, StopRule, Study, Torture, listed
from mileage.plan.study_checks import blocks_of
from mileage.plan.tasks import OWN_KEYS
from mileage.plan.transfer_api import ApiTable, api_word
from mileage.plan.work_area import Own, named_in, refuse, words
from mileage.plan.workload import Stop, Workload

Tortures = Mapping[str, tuple[Workload, Reach | None]]
"""The I/O of each [torture.*] table and how it reaches the target."""


class _Place(NamedTuple):
    """Position of a run in the study."""

    part: str
    cycle: int
    arm: Arm
    stage: Stage


class Expansion:
    """Makes the runs of one study in canonical order."""

    def __init__(
        self,
        study: Study,
        settings: tuple[Setting, ...],
        cells: tuple[Cell, ...],
        tortures: Mapping[int, Tortures],
    ) -> None:
        """`tortures`: for the number of each instance."""
        self._study = study
        self._settings = settings
        self._cells = cells
        self._tortures = tortures
        self._tortured: dict[tuple[str, int, str, str, int, int, bool], int] = {}
        self._prepared: dict[tuple[str, int, Arm], list[Stage]] = {}
        self._measured: set[tuple[str, int, Arm, int]] = set()
        """Targets of an arm on which a run was measured."""
        self._pairs = workload_pairs(study.compared, cells) if study.compares_workloads else {}
        self._blocked = study.order == "blocked"
        self._made = 0
        # Data is verified with the seed that wrote it, possibly in another study: content with a generation number is
        # meant for that, so all runs share one seed.
        self._one_seed = any(
            cell.workload.verify != "off" or cell.workload.generation
            for cell in cells
            if cell.workload is not None
        )

    def runs(self) -> Iterator[PlannedRun]:
        """Every run, in order."""
        arms: tuple[Arm, ...] = ("torture", "sham") if self._study.sham else ("torture",)
        for part in dict.fromkeys(setting.part for setting in self._settings):
            for cycle in range(1, self._study.cycles + 1):
                for arm in arms:
                    # All stages of the torture arm come before the sham arm: the sham idles as long as they took.
                    for stage in self._study.stage:
                        yield from self._stage(_Place(part, cycle, arm, stage))

    def _instances(self, part: str) -> list[int]:
        """For each target of a part the first setting that has it."""
        first: dict[int, int] = {}
        for index, setting in enumerate(self._settings):
            if setting.part == part:
                first.setdefault(setting.instance, index)
        return list(first.values())

    def _stage(self, at: _Place) -> Iterator[PlannedRun]:
        stage = at.stage
        if stage.measure is not None:
            yield from self._measuring(at)
        if stage.prepare:
            self._prepared.setdefault((at.part, at.cycle, at.arm), []).append(stage)
            yield from self._preparing(at, stage, 1)
        for name in stage.torture or ():
            for index in self._instances(at.part):
                for turn, reads in self._turns(name):
                    instance = self._settings[index].instance
                    key = (at.part, at.cycle, stage.name, name, instance, turn, reads)
                    # The sham replaces each torture run by rest of equal length, so that time is the same in both arms.
                    if at.arm == "sham":
                        mirrors = self._tortured[key]
                        mirrored = f"{name}{READ_BACK}" if reads else name
                        yield self._run(at, "idle", mirrored, setting=index, mirrors=mirrors, turn=turn)
                    else:
                        self._tortured[key] = self._made
                        yield self._writing(at, "torture", name, index, turn=turn, reads=reads)
        if stage.idle is not None:
            idle_ns = sizes.parse_time_ns(stage.idle)
            for index in self._resting(at.part):
                yield self._run(at, "idle", "idle", setting=index, idle_ns=idle_ns)

    def _resting(self, part: str) -> list[int]:
        """Every virtual drive rests by itself; real targets rest together."""
        every = self._instances(part)
        virtual = [index for index in every if capabilities_of(self._settings[index].target).simulated]
        real = [index for index in every if index not in virtual]
        return virtual + real[:1]

    def _preparing(
        self, at: _Place, stage: Stage, block: int, instances: Sequence[int] = (), before: str = ""
    ) -> Iterator[PlannedRun]:
        """Write what a stage prepares to these instances, or to all; `before`: for which run alone."""
        for name in stage.prepare or ():
            for index in instances or self._instances(at.part):
                for turn, reads in self._turns(name):
                    yield self._writing(
                        at, "prepare", name, index, block=block, turn=turn, reads=reads, before=before
                    )

    def _turns(self, name: str) -> Iterator[tuple[int, bool]]:
        """Number of each round, and whether it reads back what it wrote."""
        table = self._study.torture[name]
        for turn in range(1, table.rounds + 1):
            yield turn, False
            if table.read_back:
                yield turn, True

    def _measuring(self, at: _Place) -> Iterator[PlannedRun]:
        tables = self._study.measures_of(at.stage)
        mine = [(number, setting) for number, setting in enumerate(self._settings) if setting.part == at.part]
        # In blocked order each setting is finished before the next begins: settings then differ in time as well, and
        # the verdict states that.
        parts = [[number] for number, _ in mine] if self._blocked else [[number for number, _ in mine]]
        first = next(stage for stage in self._study.stage if stage.measure is not None) is at.stage
        for part in parts:
            cells = {
                (cell.setting, cell.unit): cell
                for cell in self._cells
                if cell.setting in part and cell.table in tables
            }
            for block in range(1, max(cell.blocks for cell in cells.values()) + 1):
                # Nothing was measured before the first block: its state is what `prepare` and `torture` left.
                if not (first and block == 1 and part is parts[0]):
                    yield from self._reset(at, block)
                # A cell with fewer repetitions is missing from the last blocks, not from random ones: every block that
                # has it compares it with all others.
                present = [cell for cell in cells.values() if cell.blocks >= block]
                yield from self._block(at, block, present)

    def _block(self, at: _Place, block: int, cells: list[Cell]) -> Iterator[PlannedRun]:
        seed = self._study.seed
        by_stem: dict[str, dict[str, Cell]] = {}
        for cell in cells:
            # A set of tests is one run that measures several cells: plan it once.
            by_stem.setdefault(self._stem(cell), {})[cell.unit] = cell
        ordered = (
            [(self._stem(cell), cell.unit) for cell in {cell.unit: cell for cell in cells}.values()]
            if self._study.order == "listed"
            else [
                (stem, unit)
                for stem in block_order(seed, at.cycle, block, list(by_stem))
                for unit in setting_order(seed, at.cycle, block, stem, list(by_stem[stem]))
            ]
        )
        for stem, unit in ordered:
            # From the stem: the settings that are compared visit the same offsets in the same order.
            own_seed = seed if self._one_seed else measure_seed(seed, at.cycle, block, stem)
            cell = by_stem[stem][unit]
            yield from self._reset_for(at, block, cell)
            yield self._run(
                at,
                "measure",
                unit,
                setting=cell.setting,
                block=block,
                measured=cell,
                workload=None if cell.workload is None else _seeded(cell.workload, own_seed),
                reach=cell.reach,
                job=None if cell.job is None else cell.job.with_seed(own_seed),
            )

    def _stem(self, cell: Cell) -> str:
        """The measured workload without the levels of the study's factors: equal for cells that are compared."""
        if cell.job is None and cell.label in self._pairs:
            return f"{cell.table} {cell.key.without_workload().stem}"
        return cell.stem or cell.unit

    def _reset(self, at: _Place, block: int) -> Iterator[PlannedRun]:
        """The reset before a block, so that it does not begin in the state that the block before left."""
        carryover = self._study.state.carryover
        if carryover in ("none", PURGE_EACH):
            return
        for index in self._instances(at.part):
            yield self._run(at, "reset", carryover, setting=index, block=block)
        # A trimmed or purged target is empty: what the stages had prepared must be written again.
        if carryover in ("trim", "purge"):
            for stage in self._prepared.get((at.part, at.cycle, at.arm), []):
                yield from self._preparing(at, stage, block)

    def _reset_for(self, at: _Place, block: int, cell: Cell) -> Iterator[PlannedRun]:
        """The reset before a run, so that it does not begin in the state that an earlier run left on its target."""
        instance = self._settings[cell.setting].instance
        key = (at.part, at.cycle, at.arm, instance)
        if self._study.state.carryover == PURGE_EACH and key in self._measured:
            on = [index for index in self._instances(at.part) if self._settings[index].instance == instance]
            yield self._run(at, "reset", "purge", setting=on[0], block=block, before=cell.unit)
            for stage in self._prepared.get(key[:3], []):
                yield from self._preparing(at, stage, block, on, cell.unit)
        self._measured.add(key)

    def _writing(
        self,
        at: _Place,
        role: Role,
        name: str,
        setting: int,
        *,
        block: int = 1,
        turn: int = 1,
        reads: bool = False,
        before: str = "",
    ) -> PlannedRun:
        seed = self._study.seed
        if not self._one_seed:
            place = at.stage.name if block == 1 else f"block {block}"
            seed = torture_seed(seed, at.cycle, place, name, turn)
        workload, reach = self._tortures[self._settings[setting].instance][name]
        workload = _seeded(workload, seed)
        if reach is not None and self._has_files_of_tasks(name, workload):
            last = reads or not self._study.torture[name].read_back
            reach = msgspec.structs.replace(reach, makes_files=not reads, removes_files=last)
        if reads:
            workload = msgspec.structs.replace(workload, read_percent=100, sync="none", sync_timed=False)
            name = f"{name}{READ_BACK}"
        return self._run(
            at,
            role,
            name,
            setting=setting,
            block=block,
            turn=turn,
            workload=workload,
            reach=reach,
            before=before,
        )

    def _has_files_of_tasks(self, name: str, workload: Workload) -> bool:
        """Whether a torture makes its files and removes them, as IOR does.

        Where other runs have files of their threads as well, those stay: they hold what these runs read.
        """
        if self._study.torture[name].tasks is None or workload.files != "per_thread":
            return False
        others = [table.files for table in self._study.torture.values()]
        measured = [cell.workload.files for cell in self._cells if cell.workload is not None]
        return "per_thread" not in (*others, *measured)

    def _run(
        self,
        at: _Place,
        role: Role,
        cell: str,
        *,
        setting: int,
        block: int = 1,
        turn: int = 1,
        measured: Cell | None = None,
        workload: Workload | None = None,
        idle_ns: int | None = None,
        mirrors: int | None = None,
        reach: Reach | None = None,
        job: FileJob | None = None,
        before: str = "",
    ) -> PlannedRun:
        # The index names a run in the journal: the order of these calls is part of the format of a study folder.
        index = self._made
        self._made += 1
        several = measured is None and len(self._settings) > 1
        on = f" ({', '.join(self._settings[setting].words)})" if several else ""
        again = f" round {turn}" if turn > 1 else ""
        again += f" before {before}" if before else ""
        return PlannedRun(
            index=index,
            key=f"cycle {at.cycle}/{at.arm}/{at.stage.name}/block {block}/{cell}{again}{on}",
            cycle=at.cycle,
            arm=at.arm,
            stage=at.stage.name,
            role=role,
            block=block,
            measure=measured.kind if measured else "",
            cell=cell,
            metrics=measured.metrics if measured else (),
            power_cut=measured.power_cut if measured else False,
            workload=workload,
            seed=workload.seed if workload else job.seed if job else 0,
            idle_ns=idle_ns,
            mirrors=mirrors,
            reach=reach,
            job=job,
            setting=setting,
            part=at.part,
            turn=turn,
        )


def _seeded(workload: Workload, seed: int) -> Workload:
    return msgspec.structs.replace(workload, seed=seed)


# Every random choice of a plan, derived from the one recorded seed.
# Scope: a number for each purpose, by SHA-256 over the study's seed and the names of the purpose; so a
# run's seed does not depend on how many others there are.
# A measured run's seed depends on cycle, block and cell, not on stage or arm: the same block before and after
# the torture, and in the torture and the sham arm, visits the same places in the same order, and its cells come
# in the same order. The members of a pair then differ in the state of the target only.


def derive(seed: int, *purpose: str | int) -> int:
    """A number from 0 to 2^63-1 for a purpose such as ("measure", 1, 2, "iops.random_read 4 KiB")."""
    text = "\0".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def measure_seed(seed: int, cycle: int, block: int, cell: str) -> int:
    """The seed of a measured run: the same in every stage and arm of its cycle."""
    return derive(seed, "measure", cycle, block, cell)


def torture_seed(seed: int, cycle: int, stage: str, table: str, number: int = 1) -> int:
    """The seed of a round of a torture or preparation: the same in both arms of its cycle."""
    later = (number,) if number > 1 else ()
    return derive(seed, "torture", cycle, stage, table, *later)


def block_order(seed: int, cycle: int, block: int, cells: Sequence[str]) -> list[str]:
    """The cells of a randomised block, each once; cells that two stages share have the same order in both."""
    return sorted(cells, key=lambda cell: (derive(seed, "order", cycle, block, cell), cell))


def setting_order(seed: int, cycle: int, block: int, stem: str, units: Sequence[str]) -> list[str]:
    """Random order of the factor settings within one block, each exactly once; drawn separately for each test."""
    if len(units) < 2:
        return list(units)
    return sorted(units, key=lambda unit: (derive(seed, "setting", cycle, block, stem, unit), unit))


# The cells of a study, and its tortures: workloads with sizes that fit into the work area.
# Scope: a cell for every combination of workload, record, threads, depth and the levels of `vary`.
# What it refuses: spans larger than the work area; sizes that do not divide evenly; keys that the target cannot
# honour.

_FIELDS: Final = {
    "record_bytes": "record",
    "read_percent": "reads",
    "discard_percent": "discards",
    "span_bytes": "span",
    "span_start_bytes": "span_start",
    "stop.time_ns": "stop.time",
    "load.open.operations_per_s": "rate",
    "load.open.ramp.to_operations_per_s": "ramp_to",
    "load.open.ramp.over_ns": "ramp_over",
    "load.cap.operations_per_s": "cap",
    "load.cap.bytes_per_s": "cap",
    "load.think.pause_ns": "think",
    "load.think.every_operations": "burst",
    "load.warm_up_ns": "warm_up",
}
"""Names of workload fields in study files, where they differ."""
_RATES: Final[tuple[Kind, ...]] = ("throughput", "iops")


def cells_of(study: Study, facts: TargetFacts, work_bytes: int, own: Own, faults: Faults) -> tuple[Cell, ...]:
    """Every cell of every [measure.NAME] table, with a label that is unique in the study."""
    making = _WorkloadMaker(study, facts, work_bytes, own, faults)
    cells: list[Cell] = []
    for name, measure in study.measure.items():
        with faults.collected():
            cells += making.cells(name, measure)
    return tuple(labelled(cell) for cell in in_tables(cells))


def tortures_of(
    study: Study, facts: TargetFacts, work_bytes: int, own: Own, faults: Faults
) -> dict[str, tuple[Workload, Reach | None]]:
    """The I/O of every [torture.NAME] table, with seed 0, and how it reaches the target."""
    making = _WorkloadMaker(study, facts, work_bytes, own, faults)
    found = {}
    for name, table in study.torture.items():
        with faults.collected():
            found[name] = making.torture(name, table)
    return found


class _WorkloadMaker:
    """Makes workloads for one study on one target."""

    def __init__(self, study: Study, facts: TargetFacts, work_bytes: int, own: Own, faults: Faults) -> None:
        self._study = study
        self._faults = faults
        self._facts = facts
        self._work_bytes = work_bytes
        self._own = own

    def cells(self, name: str, measure: Measure) -> Iterator[Cell]:
        """The cells of a [measure.NAME] table, unless what it says of work on files is wrong."""
        path = f"measure.{name}"
        found = named_in(self._study, path, measure.workload, self._own)
        if blocks := [named for named in found if named.job is None]:
            for key in ("fidelity", "iozone"):
                if getattr(measure, key):
                    text = f"has no effect on {blocks[0].name}"
                    refuse(
                        self._study,
                        f"{path}.{key}",
                        text,
                        advice="only IOzone's tests know it",
                        code="no-effect",
                    )
        sound = self._are_jobs_sound(path, measure, [named for named in found if named.job is not None])
        # Faults of a job are reported once for the table, not once for each of its combinations of levels.
        unused = {word for word in listed(measure.metric) if word in _OF_COMMITS}
        for slot in slots(measure, found):
            if slot.named.job is not None and not sound:
                continue
            cell = Cell(
                label="",
                table=name,
                kind=slot.named.kind,
                metrics=(),
                blocks=blocks_of(measure.repeat),
                workload=None,
                title=slot.named.title,
                key=slot.key,
            )
            work = self._job_of if slot.named.job is not None else self._io_of
            cell = msgspec.structs.replace(cell, **work(path, measure, found, slot))
            metrics = _metrics(measure, slot.named, cell)
            unused -= set(metrics)
            yield msgspec.structs.replace(cell, metrics=metrics, kind=_kind(slot.named, metrics))
        if unused:
            refuse(
                self._study,
                f"{path}.metric",
                found=", ".join(sorted(unused)),
                advice="sync between writes (sync_every) or write with dsync, so that there are commits to time",
                code="no-effect",
            )

    def _io_of(
        self, path: str, measure: Measure, found: list[NamedWorkload], slot: Slot
    ) -> dict[str, Workload | Reach | str | bool | None]:
        """Fields of a cell of block I/O: `workload`, `title`, `reach` and `power_cut`."""
        named = on_target(slot.named, self._facts.capabilities)
        # A level replaces the table's own key before anything is derived from it, so that a varied key and a fixed one
        # are checked and converted by the same code.
        table = msgspec.structs.replace(measure, **slot.levels)
        done = as_done(named, how_in(table))
        unit = unit_bytes(done.pattern, slot.record_bytes)
        span = self._span(path, table, unit)
        stop = self._stop(path, table.stop or named.stop or StopRule(), unit, done.once, span[1])
        workload = self._workload(done, slot.record_bytes, span, slot.threads, slot.depth, stop)
        reach = self._reach(done, slot.depth)
        self._check_blocks(path, workload, reach)
        self._check(path, done, workload, _FIELDS)
        return {
            "workload": workload,
            "title": _title(named, done, workload),
            "reach": reach,
            "power_cut": bool(done.how.power_cut),
        }

    def _job_of(
        self, path: str, measure: Measure, found: list[NamedWorkload], slot: Slot
    ) -> dict[str, FileJob]:
        """Fields of a cell of work on files.

        `job`, the run that measures it, and for a set all its tests in a table.
        """
        named, cache = slot.named, self._study.state.cache
        job = cast(type[Suite], named.job)
        how = how_in(msgspec.structs.replace(measure, **slot.levels))
        kind = self._facts.capabilities
        not_hosted = job.not_on_a_host(how, kind, cache) if kind.has_host else ()
        for fault in (*job.without_effect(how, cache), *not_hosted):
            self._faults.add_refusal(fault.below(path))
        asked = JobRequest(
            test=named.test,
            tests=tuple(other.test for other in found if other.job is job),
            record_bytes=slot.record_bytes,
            file_bytes=self._work_bytes,
            threads=slot.threads,
            stop=measure.stop or named.stop or StopRule(),
            how=merged(named.how, how),
            cache=cache,
            fidelity=measure.fidelity,
            switches=measure.iozone,
            programs=named.programs,
        )
        try:
            made = job.of(asked)
        except Refused as wrong:
            raise BrokenStudy(self._study.name, [fault.below(path) for fault in wrong.refusals]) from None
        limit_bytes = read_cache(how.cache or cache).limit_bytes
        return {"job": msgspec.structs.replace(made, limit_bytes=limit_bytes)}

    def _are_jobs_sound(self, path: str, measure: Measure, found: list[NamedWorkload]) -> bool:
        """Whether a table gives work on files only keys that it knows; others are reported."""
        if not found:
            return True
        known = self._faults.found
        kind = self._facts.capabilities
        if not all(kind.does(named.job.word()) for named in found if named.job is not None):
            self._faults.add(
                f"{path}.workload",
                f"{found[0].name} makes files of its own",
                found=f"{self._study.target}",
                expected="dir:PATH",
                code="needs-files",
            )
        if listed(measure.depth) != (1,):
            self._faults.add(
                f"{path}.depth",
                f"{found[0].name} does one operation at a time",
                advice="leave depth at 1",
                code="no-effect",
            )
        for key, whole in (("span", "file"), ("span_start", 0)):
            if getattr(measure, key) != whole or key in measure.vary:
                self._faults.add(
                    f"{path}.{key}",
                    f"{found[0].name} uses its file whole",
                    advice="remove it",
                    code="no-effect",
                )
        problems: dict[str, Refusal] = {}
        own_cache = msgspec.structs.replace(measure, cache=measure.cache or self._study.state.cache)
        for job in dict.fromkeys(named.job for named in found if named.job is not None):
            first = next(named.name for named in found if named.job is job)
            for fault in job.refusals(first, own_cache):
                problems.setdefault(fault.where, fault)
        for fault in problems.values():
            self._faults.add_refusal(fault.below(path))
        return self._faults.found == known

    def torture(self, name: str, table: Torture) -> tuple[Workload, Reach | None]:
        path = f"torture.{name}"
        (named,) = named_in(self._study, path, table.workload, self._own)
        table, tasks = self._with_tasks(table), table.tasks or 1
        done = as_done(named, how_in(table))
        record = sizes.size_bytes(table.record)
        amount = self._area(path, "amount", table.amount, record * tasks)
        stop = Stop(bytes=amount, time_ns=None if table.time is None else sizes.parse_time_ns(table.time))
        span = self._span(path, table, unit_bytes(done.pattern, record) * tasks)
        # `amount` is the total of all tasks, but with a file for each task the span is that of one file.
        if tasks > 1 and table.files == "per_thread":
            span = (span[0], span[1] // tasks)
        workload = self._workload(done, record, span, table.threads, table.depth, stop)
        reach = self._reach(done, table.depth)
        self._check_blocks(path, workload, reach)
        self._check(path, done, workload, {**_FIELDS, "stop.bytes": "amount", "stop.time_ns": "time"})
        return workload, reach

    def _with_tasks(self, table: Torture) -> Torture:
        """The table with its tasks as what they are on this target."""
        if table.tasks is None:
            return table
        target = self._facts.capabilities
        return msgspec.structs.replace(
            table,
            threads=table.tasks,
            processes=table.tasks if target.is_real else None,
            files="per_thread" if target.has_files else None,
        )

    def _workload(
        self,
        done: NamedWorkload,
        record_bytes: int,
        span: tuple[int, int],
        threads: int,
        depth: int,
        stop: Stop,
    ) -> Workload:
        how = done.how
        # Whether a trace has writes is known only when its file is read, so a sync is planned for every trace.
        syncs = done.writes or pattern_word(done.pattern) == "trace_file"
        sync = (how.sync or "fdatasync") if syncs and self._facts.capabilities.moves_bytes else "none"
        return Workload(
            pattern=done.pattern,
            read_percent=done.read_percent,
            record_bytes=record_bytes,
            span_start_bytes=span[0],
            span_bytes=span[1],
            depth=depth,
            threads=threads,
            stop=stop,
            # Every run gets its own seed from `expansion`; with one here, equal cells would not compare equal.
            seed=0,
            content=read_content(how.content or "incompressible"),
            sync=sync,
            sync_timed=sync != "none",
            sync_every=how.sync_every or 0,
            discard_percent=how.discards or 0,
            files=how.files or "shared",
            load=load_of(how, self._facts.capacity_bytes),
            verify=read_verify(how.verify or "off"),
            generation=how.generation or 0,
        )

    def _reach(self, done: NamedWorkload, depth: int) -> Reach | None:
        return reach_of(done.how, self._facts.capabilities, self._study.state.cache, depth)

    def _span(self, path: str, table: Measure | Torture, unit: int) -> tuple[int, int]:
        """First byte and length of what is visited, in bytes; the length is a multiple of `unit`."""
        start = self._area(path, "span_start", table.span_start, 1) if table.span_start else 0
        room = self._work_bytes - start
        if room < unit:
            area = f"the work area of {words(self._work_bytes)}"
            refuse(
                self._study,
                f"{path}.span_start",
                found=f"{words(start)}, where {words(unit)} do not fit into {area}",
                advice="begin earlier",
                code="out-of-range",
            )
        # The rest that is shorter than a unit is never visited: a shorter last record would have another latency.
        whole = table.span == "file"
        length = room - room % unit if whole else self._area(path, "span", table.span, unit)
        if length > room or length <= 0:
            beyond = f", which begins at {words(start)}" if start else ""
            found = f"{words(length)}{beyond}, more than the work area of {words(self._work_bytes)}"
            refuse(self._study, f"{path}.span", found=found, code="out-of-range")
        return start, length

    def _check_blocks(self, path: str, workload: Workload, reach: Reach | None) -> None:
        """Refuse what is no whole number of logical blocks where no page cache makes it one."""
        block_bytes = self._facts.block_bytes
        found = [("record", size) for size in lengths_of(workload.pattern, workload.record_bytes)]
        found.append(("span_start", workload.span_start_bytes))
        key, size = next(((key, size) for key, size in found if size % block_bytes), ("", 0))
        if not key or not (reach is None or reach.options.direct):
            return
        block = f"the logical block of {self._study.target}, {words(block_bytes)}"
        refuse(
            self._study,
            f"{path}.{'workload' if key == 'record' and is_own_master(workload.pattern) else key}",
            f"{words(size)} is not a multiple of {block}, which direct access needs",
            advice='choose a multiple, or go through the page cache (cache = "warm", --no-direct)'
            if reach is not None
            else "choose a multiple, or put a host above the drive: virtual:NAME@HOST",
            code="does-not-divide",
        )

    def _stop(self, path: str, rule: StopRule, unit: int, once: bool, span_bytes: int) -> Stop:
        limit = None if rule.bytes is None else self._area(path, "stop.bytes", rule.bytes, unit)
        # A pattern that visits every record once has nothing left to do after its span.
        if once:
            limit = span_bytes if limit is None else min(limit, span_bytes)
        return Stop(
            bytes=limit,
            operations=rule.operations,
            time_ns=None if rule.time is None else sizes.parse_time_ns(rule.time),
        )

    def _area(self, path: str, key: str, size: Size, unit: int) -> int:
        """Bytes of a part or a multiple of the work area that the record, or its unit, must divide.

        Of a record that is no whole sectors, as many as fit.
        """
        area = sizes.area_bytes(size, work_bytes=self._work_bytes, multiple_bytes=unit)
        if unit % SECTOR_BYTES and area >= unit:
            return area - area % unit
        if area % unit:
            refuse(
                self._study,
                f"{path}.{key}",
                found=f"{words(area)}, which the record of {words(unit)} does not divide",
                advice="choose sizes that divide evenly",
                code="does-not-divide",
            )
        return area

    def _check(self, path: str, done: NamedWorkload, workload: Workload, fields: dict[str, str]) -> None:
        for key in OWN_KEYS:
            if getattr(done.how, key) is not None:
                text = f"has no effect on {done.name}"
                advice = "only ior.* and mdtest.* know it"
                self._faults.add(f"{path}.{key}", text, advice=advice, code="no-effect")
        on = f"not possible on target {str(self._study.target)!r}: "
        for fault in without_effect(done.how, self._facts.capabilities):
            self._faults.add_refusal(fault._replace(text=on + fault.text).below(path))
        reach = self._reach(done, workload.depth)
        for problem in (
            _reach_problem(reach, workload.depth, self._facts.capabilities),
            _processes_problem(done.how.processes or 1, workload),
            _power_cut_problem(done.how, reach, self._facts.capabilities),
        ):
            if problem is not None:
                self._faults.add_refusal(problem.below(path))
        if broken := workload.problem():
            field, text = broken
            self._faults.add(f"{path}.{fields.get(field, field)}", found=text, code="wrong-value")


def _threads_words(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def _title(named: NamedWorkload, done: NamedWorkload, workload: Workload) -> str:
    """Description of a cell in a few words: the workload's own, unless the study changes its shares."""
    return named.title if done.does == named.does else workload.in_words


def _power_cut_problem(how: IoOptions, reach: Reach | None, target: Capabilities) -> Refusal | None:
    """Why the loss of a power cut cannot be counted; None when it can."""
    if not (how.power_cut and target.has_host and reach is not None and reach.caching.mode == "direct"):
        return None
    text = "of a modelled host, only synced writes through the page cache are followed"
    return Refusal("power_cut", text=text, advice='give cache = "warm"', code="unsupported")


def _reach_problem(reach: Reach | None, depth: int, target: Capabilities) -> Refusal | None:
    """A requested option that the API cannot honour; None when it honours all."""
    if reach is None:
        return None
    if target.has_host:
        if depth == 1 or reach.options.direct:
            return None
        text = "of a modelled host, only direct I/O has several operations of a thread in flight, as with Linux AIO"
        advice = f'give cache = "direct", or use {depth} threads'
        return Refusal("depth", text=text, advice=advice, code="unsupported")
    api = reach.options.api
    word = api_word(api)
    if depth > 1 and not (isinstance(api, ApiTable) and api.uring is not None):
        other = "" if api == "null" else ", or the API uring"
        return Refusal(
            "depth",
            f"{depth}",
            advice=f"{word} has one operation of a thread in flight: use {depth} threads{other}",
            code="unsupported",
        )
    if reach.options.direct and word.partition(":")[0] in ("mmap", "stdio"):
        text = 'add cache = "warm" or "cold" (--no-direct, --cold)'
        return Refusal(
            "api",
            text=f"{word} goes through the page cache, and the cache is bypassed",
            advice=text,
            code="conflict",
        )
    return None


def _processes_problem(processes: int, workload: Workload) -> Refusal | None:
    """Reason why a workload cannot use several processes; None when it can."""
    if processes > workload.threads:
        shared = _threads_words(workload.threads)
        return Refusal(
            "processes",
            found=f"{processes}",
            expected=f"at most the {shared} that they share",
            code="out-of-range",
        )
    if processes > 1 and workload.verify != "off" and workload.changes and workload.files == "shared":
        text = (
            "what one process writes to a shared file another cannot compare; give each thread its own file "
            "(files per_thread), or write first and verify in a run that only reads"
        )
        return Refusal("verify", text=f"has no use with {processes} processes: {text}", code="unsupported")
    return None


_OF_COMMITS: Final = frozenset(word for word, row in METRICS.items() if row.latency not in ("", "judged"))
"""Metrics that only a workload with commits has."""


def _kind(named: NamedWorkload, metrics: Sequence[MetricWord]) -> Kind:
    """Kind of the judged rate: the workload's own, or the single rate that a study asks for."""
    asked = [kind for kind in _RATES if kind in metrics]
    return asked[0] if len(asked) == 1 else named.kind


def _metrics(measure: Measure, named: NamedWorkload, cell: Cell) -> tuple[MetricWord, ...]:
    """What the table asks for; otherwise the workload's own, where commits replace the writes that they contain."""
    work = cell.workload
    commits = work is not None and has_commits(work, cell.reach)
    if wanted := listed(measure.metric):
        return tuple(word for word in METRICS if word in wanted and (commits or word not in _OF_COMMITS))
    if work is None or not commits or "time" in named.metrics:
        return named.metrics
    # Reads keep their p99: no commit contains them.
    own: list[MetricWord] = [word for word in named.metrics if word != "p99" or work.does.read > 0]
    # A run that ends before it has commits enough is not asked for their p99.
    needed = operations_needed(METRICS["commit_p99"].quantile) * max(1, work.sync_every)
    enough = work.stop.operations is None or work.stop.operations >= needed
    return (*own, "commit_p50", "commit_p99") if enough else (*own, "commit_p50")


def has_commits(work: Workload, reach: Reach | None) -> bool:
    """Whether a run has times of commits: it syncs between its writes, or each write is durable when it completes."""
    durable = work.sync == "fua" or (reach is not None and reach.options.dsync)
    return work.changes and (work.sync_every > 0 or durable)
