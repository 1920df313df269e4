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
from typing import NamedTuple

import msgspec

from mileage.model.target_kind import capabilities_of
from mileage.plan import sizes
from mileage.plan.cell_keys import workload_pairs
from mileage.plan.factors import Setting
from mileage.plan.io_options import Reach
from mileage.plan.planned_runs import READ_BACK, Arm, Cell, PlannedRun, Role
from mileage.plan.run_action import FileJob
from mileage.plan.study import PURGE_EACH, Stage, Study
from mileage.plan.workload import Workload

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
