"""From a study and the facts of a target to a plan.

What it models: the order of everything. In each cycle comes the torture arm, then the sham arm, which idles
for as long as the torture of its own cycle took and therefore cannot come first; in each arm the stages; in a
stage that measures, randomised blocks that hold each cell once (a cell with fewer repetitions is missing from
the last ones).
What it refuses: studies that do not fit, that would write more than a stated share of the rated endurance of
a real device, that have too many runs, or that the target cannot honour.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.plan import sizes
from mileage.plan.api import Reach
from mileage.plan.area import Own, uses_file, work_area_bytes
from mileage.plan.cells import cells_of, torture_of
from mileage.plan.checking import blocks_of, check_study, listed
from mileage.plan.estimate import bytes_written
from mileage.plan.facts import TargetFacts
from mileage.plan.job import SEED_FIELD, Job
from mileage.plan.order import block_order, measure_seed, torture_seed
from mileage.plan.own import Traces, own_workloads
from mileage.plan.planned import Arm, Cell, Plan, PlannedRun, Role, hash_of, occupied_bytes
from mileage.plan.quick import quicken
from mileage.plan.study import Measure, Stage, Study
from mileage.plan.workload import Workload
from mileage.plan.workloads import find_workloads

WEAR_SHARE_MAX: Final = 0.10
"""Share of a real device's rated endurance that a study may write unless told that it may."""

RUNS_MAX: Final = 100_000
"""Runs in a plan at most."""


def resolve(
    study: Study,
    facts: TargetFacts,
    *,
    quick: bool = False,
    target: str | None = None,
    seed: int | None = None,
    allow_wear: bool = False,
    refuse: bool = True,
    traces: Traces | None = None,
) -> Plan:
    """The plan of a study on a target whose facts are given.

    `quick` makes it small (see `quick`). `target` and `seed` replace those of the study. `allow_wear` lifts
    the limit on the share of the rated endurance. `traces` tells what must be known of each trace that the study
    names. With `refuse` false, a study that does not fit, wears too
    much or cannot bypass the cache is planned all the same, with the reasons in `Plan.refusals`. Raises
    Refused otherwise. `Plan.study` is the study with everything filled in: resolving it again without
    options, for the same target, gives an equal plan.
    """
    study = msgspec.structs.replace(
        study,
        target=study.target if target is None else target,
        seed=study.seed if seed is None else seed,
        allow_wear=study.allow_wear or allow_wear,
    )
    own = own_workloads(study, study.name, traces or {})
    study = _settled(study, own)
    check_study(study, study.name)
    if quick:
        study = quicken(study, facts, own)
    work_bytes = work_area_bytes(study, facts, own)
    if uses_file(study, facts) and str(study.state.file).endswith("memory"):
        state = msgspec.structs.replace(study.state, file=sizes.exact_bytes(work_bytes))
        study = msgspec.structs.replace(study, state=state)
    _check_count(study)
    cells = cells_of(study, facts, work_bytes, own)
    runs = tuple(_Expansion(study, facts, work_bytes, cells, own).runs())
    refusals = tuple(_refusals(study, facts, work_bytes, runs))
    if refuse and refusals:
        raise Refused(refusals[0])
    return Plan(study, facts, work_bytes, cells, runs, refusals, hash_of(study, facts, work_bytes, runs))


def _settled(study: Study, own: Own) -> Study:
    measures = {name: _with_names(study, name, measure, own) for name, measure in study.measure.items()}
    return msgspec.structs.replace(study, measure=measures)


def _with_names(study: Study, name: str, measure: Measure, own: Own) -> Measure:
    """The measure with families ("iops.*") and short names of workloads replaced by full names."""
    where = f"{study.name}: measure.{name}.workload"
    words = listed(measure.workload)
    names = tuple(named.name for word in words for named in find_workloads(word, study.target, where, own))
    if len(set(names)) != len(names):
        raise Refused(f"{where}: a workload is named twice among {', '.join(words)}")
    return measure if names == words else msgspec.structs.replace(measure, workload=names)


def _check_count(study: Study) -> None:
    """Refuse a study with too many runs, before they are made."""
    each = 0
    for stage in study.stage:
        for name in study.measures_of(stage):
            measure = study.measure[name]
            levels = (
                measure.workload,
                measure.record,
                measure.threads,
                measure.depth,
                *measure.vary.values(),
            )
            cells = 1
            for level in levels:
                cells *= len(level) if isinstance(level, tuple) else 1
            each += cells * blocks_of(measure.repeat)
        each += len(stage.torture or ()) + len(stage.prepare or ()) + (stage.idle is not None)
    runs = each * study.cycles * (2 if study.sham else 1)
    if runs > RUNS_MAX:
        raise Refused(
            f"{study.name}: {runs} runs; expected at most {RUNS_MAX}; use fewer cells, blocks or cycles"
        )


class _Expansion:
    """Makes the runs in canonical order."""

    def __init__(
        self, study: Study, facts: TargetFacts, work_bytes: int, cells: tuple[Cell, ...], own: Own
    ) -> None:
        self._study = study
        self._cells = cells
        self._tortures = {name: torture_of(study, facts, work_bytes, own, name) for name in study.torture}
        self._tortured: dict[tuple[int, str, str], int] = {}
        self._made = 0
        # What was written with a seed is verified with the same one, and that may be in another study: what has a
        # number of its writing is written to be verified.
        self._one_seed = any(
            cell.workload.verify != "off" or cell.workload.generation
            for cell in cells
            if cell.workload is not None
        )

    def runs(self) -> Iterator[PlannedRun]:
        arms: tuple[Arm, ...] = ("torture", "sham") if self._study.sham else ("torture",)
        for cycle in range(1, self._study.cycles + 1):
            for arm in arms:
                for stage in self._study.stage:
                    yield from self._stage(cycle, arm, stage)

    def _stage(self, cycle: int, arm: Arm, stage: Stage) -> Iterator[PlannedRun]:
        if stage.measure is not None:
            yield from self._measuring(cycle, arm, stage)
        for name in stage.prepare or ():
            yield self._writing(cycle, arm, stage, "prepare", name)
        for name in stage.torture or ():
            if arm == "sham":
                mirrors = self._tortured[cycle, stage.name, name]
                yield self._run(cycle, arm, stage, "idle", name, mirrors=mirrors)
            else:
                self._tortured[cycle, stage.name, name] = self._made
                yield self._writing(cycle, arm, stage, "torture", name)
        if stage.idle is not None:
            yield self._run(cycle, arm, stage, "idle", "idle", idle_ns=sizes.parse_time_ns(stage.idle))

    def _measuring(self, cycle: int, arm: Arm, stage: Stage) -> Iterator[PlannedRun]:
        tables = self._study.measures_of(stage)
        cells = {cell.unit: cell for cell in self._cells if cell.table in tables}
        seed = self._study.seed
        for block in range(1, max(cell.blocks for cell in cells.values()) + 1):
            present = [unit for unit, cell in cells.items() if cell.blocks >= block]
            for unit in block_order(seed, cycle, block, present):
                own_seed = seed if self._one_seed else measure_seed(seed, cycle, block, unit)
                cell = cells[unit]
                yield self._run(
                    *(cycle, arm, stage, "measure", unit),
                    block=block,
                    measured=cell,
                    workload=None if cell.workload is None else _seeded(cell.workload, own_seed),
                    reach=cell.reach,
                    job=None if cell.job is None else cell.job.with_seed(own_seed),
                )

    def _writing(self, cycle: int, arm: Arm, stage: Stage, role: Role, name: str) -> PlannedRun:
        seed = self._study.seed
        if not self._one_seed:
            seed = torture_seed(seed, cycle, stage.name, name)
        workload, reach = self._tortures[name]
        return self._run(cycle, arm, stage, role, name, workload=_seeded(workload, seed), reach=reach)

    def _run(
        self,
        cycle: int,
        arm: Arm,
        stage: Stage,
        role: Role,
        cell: str,
        *,
        block: int = 1,
        measured: Cell | None = None,
        workload: Workload | None = None,
        idle_ns: int | None = None,
        mirrors: int | None = None,
        reach: Reach | None = None,
        job: Job | None = None,
    ) -> PlannedRun:
        index = self._made
        self._made += 1
        return PlannedRun(
            index=index,
            key=f"cycle {cycle}/{arm}/{stage.name}/block {block}/{cell}",
            cycle=cycle,
            arm=arm,
            stage=stage.name,
            role=role,
            block=block,
            measure=measured.kind if measured else "",
            cell=cell,
            metrics=measured.metrics if measured else (),
            workload=workload,
            seed=workload.seed if workload else job.value[SEED_FIELD] if job else 0,
            idle_ns=idle_ns,
            mirrors=mirrors,
            reach=reach,
            job=job,
        )


def _seeded(workload: Workload, seed: int) -> Workload:
    return msgspec.structs.replace(workload, seed=seed)


def writes(run: PlannedRun) -> bool:
    """Whether a run changes the content of its target."""
    return (run.workload is not None and run.workload.changes) or (run.job is not None and run.job.writes)


def _reads_holes(runs: tuple[PlannedRun, ...]) -> PlannedRun | None:
    """The first run that reads a work file to which nothing was written since it was made; None if there is none."""
    written: set[tuple[int, str]] = set()
    for run in runs:
        if run.workload is not None and run.workload.does.read and (run.cycle, run.arm) not in written:
            return run
        if writes(run):
            written.add((run.cycle, run.arm))
    return None


def _refusals(
    study: Study, facts: TargetFacts, work_bytes: int, runs: tuple[PlannedRun, ...]
) -> Iterator[str]:
    """Why a plan may not be started on this target, one line each."""
    needed = occupied_bytes(work_bytes, runs)
    if uses_file(study, facts) and needed > facts.free_bytes:
        yield (
            f"{study.name}: state.file: the work file needs {sizes.format_bytes(needed)} and "
            f"{sizes.format_bytes(facts.free_bytes)} are free on {study.target}; "
            "free some space, give a smaller state.file, or use --quick"
        )
    if uses_file(study, facts) and (reading := _reads_holes(runs)):
        yield (
            f"{study.name}: {reading.cell} reads the work file in stage {reading.stage} before anything wrote it: "
            'no device would be asked; put a stage with prepare = ["fill"] before it, and a table [torture.fill] '
            'with workload = "throughput.write"'
        )
    if not facts.writable and (writing := next((run for run in runs if writes(run)), None)):
        yield (
            f"{study.name}: {writing.cell} writes to {study.target}, whose content is kept; to give it up say "
            f"--destroy {facts.name}, or only read"
        )
    if not facts.direct_supported and any(run.reach and run.reach.options.direct for run in runs):
        yield (
            f'{study.name}: state.cache: "direct" cannot be honoured: the file system of {study.target} does '
            'not bypass the page cache; choose a target on another file system, or cache = "warm"'
        )
    if facts.virtual or study.allow_wear or facts.rated_write_bytes is None:
        return
    written = bytes_written(runs)
    if written > WEAR_SHARE_MAX * facts.rated_write_bytes:
        share = f"{written / facts.rated_write_bytes:.1%}" if facts.rated_write_bytes else "all"
        yield (
            f"{study.name}: {sizes.format_bytes(written)} to write are {share} of the rated endurance of "
            f"{study.target}; expected at most {WEAR_SHARE_MAX:.0%}; make the study smaller, or accept the "
            "wear with allow_wear = true"
        )
