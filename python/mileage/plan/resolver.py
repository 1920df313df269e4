"""From a study and the facts of its targets to a plan.

Scope: what a study comes to when everything is filled in; the order of the runs is `expansion`'s.
What it refuses: studies that do not fit, that would write more than a stated share of the rated endurance of
a real device, that have too many runs, or that the target cannot honour.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from mileage.errors import Refusal
from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import capabilities_of
from mileage.plan import sizes
from mileage.plan.cell_keys import at_factors, labelled, workload_pairs
from mileage.plan.cells import cells_of, tortures_of
from mileage.plan.custom_workloads import Traces, own_workloads
from mileage.plan.estimate import bytes_written
from mileage.plan.expansion import Expansion, Tortures
from mileage.plan.factors import Setting, at_setting, settings_of
from mileage.plan.faults import BrokenStudy, Faults
from mileage.plan.initial_state import check_state, with_limit_counted
from mileage.plan.planned_runs import Cell, Plan, PlannedRun, hash_of, new_files, occupied_bytes
from mileage.plan.preconditioning import with_preconditioning
from mileage.plan.privileged_steps import steps_of
from mileage.plan.quick_study import quicken
from mileage.plan.study import Measure, Study, listed
from mileage.plan.study_checks import blocks_of, check_study
from mileage.plan.work_area import Own, common_multiple, named_in, refuse, uses_file, work_area_bytes

WEAR_SHARE_MAX: Final = 0.10
"""Share of a real device's rated endurance that a study may write unless the user allows more."""

NO_ROOM: Final = "no-room"
"""Code of the refusal of a work file that does not fit."""
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
    others: Mapping[str, TargetFacts] | None = None,
) -> Plan:
    """The plan of a study on a target whose facts are given.

    `quick` makes it small (see `quick_study`). `target` and `seed` replace those of the study. `allow_wear` lifts
    the limit on the share of the rated endurance. `traces` holds the facts of each trace that the study
    names. `others` are the facts of every further target (see `places_of`). With `refuse` false, a study that does
    not fit, wears too much or cannot bypass the cache is planned all the same, with the reasons in
    `Plan.refusals`. Raises BrokenStudy otherwise, with all faults. `Plan.study` is the study with everything
    filled in: resolving it again without options, for the same target, gives an equal plan.
    """
    study = msgspec.structs.replace(
        study,
        target=study.target if target is None else target,
        seed=study.seed if seed is None else seed,
        allow_wear=study.allow_wear or allow_wear,
    )
    study = _preconditioned(study)
    faults = Faults(study.name)
    own = own_workloads(study, faults, traces or {})
    faults.refuse_any()
    study = _settled(study, own)
    check_study(study, study.name)
    if quick:
        study = quicken(study, facts, own)
    study = _with_limit_counted(study)
    settings = settings_of(study)
    known = {settings[0].place: facts, **(others or {})}
    parts = [_Part(at_setting(study, setting), known[setting.place], setting, own) for setting in settings]
    areas = _areas(study, parts, own)
    work_bytes = areas[settings[0].instance]
    # Store the size in bytes: the plan must get the same file when it is resolved again, even if the memory has
    # changed.
    if uses_file(study, facts) and sizes.is_multiple(study.state.file):
        state = msgspec.structs.replace(study.state, file=sizes.exact_bytes(work_bytes))
        study = msgspec.structs.replace(study, state=state)
        settings = settings_of(study)
    _check_count(study, len(settings))
    cells = tuple(
        cell
        for number, part in enumerate(parts)
        for cell in part.cells(areas[part.setting.instance], number, len(parts), faults)
    )
    tortures: dict[int, Tortures] = {}
    for part in parts:
        if part.setting.instance not in tortures:
            tortures[part.setting.instance] = part.tortures(areas[part.setting.instance], faults)
    faults.refuse_any()
    _check_workload_arms(study, cells)
    runs = tuple(Expansion(study, settings, cells, tortures).runs())
    refusals = tuple(dict.fromkeys(_refusals_of(parts, areas, runs)))
    if refuse and refusals:
        raise BrokenStudy(study.name, refusals)
    further = {target: found for target, found in known.items() if target != settings[0].place}
    own_areas = areas if len(set(areas.values())) > 1 else {}
    name = hash_of(study, facts, work_bytes, runs, further, own_areas)
    reasons = tuple(f"{study.name}: {fault.words}" for fault in refusals)
    return Plan(study, facts, work_bytes, cells, runs, reasons, name, settings, further, areas=own_areas)


def _preconditioned(study: Study) -> Study:
    # With factors, the state is checked at every level: without one of them it may make no sense.
    if not study.factor:
        faults = Faults(study.name)
        for fault in check_state(study.state, study.target):
            faults.add_refusal(fault.below("state"))
        faults.refuse_any()
    return with_preconditioning(study)


def _with_limit_counted(study: Study) -> Study:
    try:
        return with_limit_counted(study)
    except ValueError as error:
        refuse(study, "state.file", str(error), code="wrong-value")


def places_of(study: Study) -> dict[str, Setting]:
    """The first setting of every place that a study uses, the first one first: those whose facts `resolve` receives."""
    found: dict[str, Setting] = {}
    for setting in settings_of(study):
        found.setdefault(setting.place, setting)
    return found


class _Part:
    """The study at one setting, on its target."""

    def __init__(self, study: Study, facts: TargetFacts, setting: Setting, own: Own) -> None:
        self.study = study
        self.facts = facts
        self.setting = setting
        self._own = own

    def cells(self, work_bytes: int, number: int, settings: int, faults: Faults) -> Iterator[Cell]:
        """Expand a study into its tests (cells); their labels include the factor setting where there are several."""
        for cell in cells_of(self.study, self.facts, work_bytes, self._own, faults):
            if settings == 1:
                yield cell
                continue
            key = at_factors(cell.key, self.setting)
            yield labelled(msgspec.structs.replace(cell, key=key, setting=number))

    def tortures(self, work_bytes: int, faults: Faults) -> Tortures:
        return tortures_of(self.study, self.facts, work_bytes, self._own, faults)


def _areas(study: Study, parts: list[_Part], own: Own) -> dict[int, int]:
    """Size of the work area of each instance of a target, in bytes; every record of the study divides it.

    A drive's area is the whole of it, so that drives of different size are each filled; work files all have the size of
    the smallest. Raises BrokenStudy.
    """
    if not study.factor:
        return {parts[0].setting.instance: work_area_bytes(study, parts[0].facts, own)}
    found: dict[int, int] = {}
    for part in parts:
        area = work_area_bytes(part.study, part.facts, own)
        found[part.setting.instance] = min(area, found.get(part.setting.instance, area))
    filed = {part.setting.instance for part in parts if uses_file(part.study, part.facts)}
    least = min((found[instance] for instance in filed), default=0)
    found |= dict.fromkeys(filed, least)
    multiple = common_multiple(study, own)
    if min(found.values()) < multiple:
        text = sizes.format_bytes(min(found.values()))
        refuse(study, "factor", f"no common multiple of all records fits into {text}", code="does-not-divide")
    return {instance: area - area % multiple for instance, area in found.items()}


def _settled(study: Study, own: Own) -> Study:
    measures = {name: _with_names(study, name, measure, own) for name, measure in study.measure.items()}
    compare = study.compare
    if study.compares_workloads:
        full = {
            key: named[0].name
            for key in ("baseline", "candidate")
            if (word := getattr(compare, key)) and len(named := named_in(study, "compare", word, own)) == 1
        }
        compare = msgspec.structs.replace(compare, **full)
    return msgspec.structs.replace(study, measure=measures, compare=compare)


def _check_workload_arms(study: Study, cells: tuple[Cell, ...]) -> None:
    """Refuse two workloads to compare that no table measures at the same sizes and levels."""
    if study.compares_workloads and not workload_pairs(study.compared, cells):
        names = " and ".join(study.compared)
        refuse(
            study,
            "compare",
            f"no [measure.*] table has both {names}",
            expected="both in the list of one table",
            code="nothing-in-common",
        )


def _with_names(study: Study, name: str, measure: Measure, own: Own) -> Measure:
    """The measure with families ("iops.*") and short names of workloads replaced by full names."""
    words = listed(measure.workload)
    names = tuple(named.name for named in named_in(study, f"measure.{name}", words, own))
    if len(set(names)) != len(names):
        refuse(
            study,
            f"measure.{name}.workload",
            f"a workload is named twice among {', '.join(words)}",
            code="repeated",
        )
    return measure if names == words else msgspec.structs.replace(measure, workload=names)


def _check_count(study: Study, settings: int) -> None:
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
            each += cells * settings * blocks_of(measure.repeat)
        for name in (*(stage.torture or ()), *(stage.prepare or ())):
            each += study.torture[name].rounds * (2 if study.torture[name].read_back else 1)
        each += stage.idle is not None
    runs = each * study.cycles * (2 if study.sham else 1)
    if runs > RUNS_MAX:
        refuse(
            study,
            "",
            f"{runs} runs",
            expected=f"at most {RUNS_MAX}",
            advice="use fewer cells, blocks or cycles",
            code="out-of-range",
        )


def _discards(run: PlannedRun) -> bool:
    trims = run.role == "reset" and run.cell == "trim"
    return trims or (run.workload is not None and run.workload.discard_percent > 0)


def _is_emptied(study: Study, facts: TargetFacts) -> bool:
    """Whether a cycle begins with a device that maps no block, so that it answers reads without its medium.

    A virtual drive counts what it reads of its medium, and its reads are judged by that.
    """
    state, device = study.state, facts.capabilities
    return (
        device.is_block_device
        and not device.is_served
        and state.start == "purged"
        and state.filesystem is None
        and state.purge in ("discard", "nvme-format")
    )


def _reads_holes(runs: tuple[PlannedRun, ...]) -> PlannedRun | None:
    """The first run that reads a work area to which nothing was written since it was made; None if there is none."""
    written: set[tuple[str, int, str]] = set()
    for run in runs:
        place = (run.part, run.cycle, run.arm)
        if run.role == "reset" and run.cell == "purge":
            written.discard(place)
        if run.workload is not None and run.workload.does.read and place not in written:
            return run
        if run.action.writes:
            written.add(place)
    return None


def _refusals_of(
    parts: list[_Part], areas: dict[int, int], runs: tuple[PlannedRun, ...]
) -> Iterator[Refusal]:
    """Reasons why a plan may not be started on its targets, by target."""
    targets = [part.setting.place for part in parts]
    for number, part in enumerate(parts):
        if targets.index(targets[number]) == number:
            mine = tuple(run for run in runs if targets[run.setting] == targets[number])
            yield from _refusals(part.study, part.facts, areas[part.setting.instance], mine)


def _memory_refusal(
    study: Study, facts: TargetFacts, work_bytes: int, runs: tuple[PlannedRun, ...]
) -> Iterator[Refusal]:
    """Why a served drive, which keeps its data in memory, cannot take what a cycle writes."""
    if not capabilities_of(study.target).is_served:
        return
    written: Counter[tuple[str, int, str]] = Counter()
    for run in runs:
        written[run.part, run.cycle, run.arm] += run.action.bytes_written
    needed = min(work_bytes, max(written.values(), default=0))
    if needed > facts.free_bytes:
        profile = study.target.removeprefix("served:").partition("@")[0]
        data, room = sizes.format_bytes(needed), sizes.format_bytes(facts.free_bytes)
        yield Refusal(
            text=f"a cycle writes up to {data} to {study.target}, whose data is in memory, and {room} are free",
            advice="write less, or measure the loop device of "
            f"`mileage drive serve {shlex.quote(profile)} --at DIR --data FILE` as block:",
            code=NO_ROOM,
        )


def room_refusals(
    study: Study, facts: TargetFacts, work_bytes: int, runs: tuple[PlannedRun, ...]
) -> Iterator[Refusal]:
    """Reasons why the files of a plan do not fit on this target: bytes, and the number of files."""
    if not uses_file(study, facts):
        return
    needed = occupied_bytes(work_bytes, runs, facts.file_block_bytes)
    if needed > facts.free_bytes:
        room = f"{sizes.format_bytes(needed)} and {sizes.format_bytes(facts.free_bytes)} are free on {study.target}"
        if occupied_bytes(work_bytes, tuple(run for run in runs if run.job is None)) > facts.free_bytes:
            yield Refusal(
                "state.file",
                text=f"the work file needs {room}",
                advice="free some space, give a smaller state.file, or use --quick",
                code=NO_ROOM,
            )
        else:
            yield Refusal(
                text=f"the files of the runs need {room}",
                advice="free some space, or make fewer or smaller files",
                code=NO_ROOM,
            )
    if facts.free_files is not None and new_files(runs) > facts.free_files:
        yield Refusal(
            text=f"{new_files(runs):,} files are to be made and {facts.free_files:,} inodes are free on {study.target}",
            advice="free some, or make fewer files",
            code=NO_ROOM,
        )


def _refusals(
    study: Study, facts: TargetFacts, work_bytes: int, runs: tuple[PlannedRun, ...]
) -> Iterator[Refusal]:
    """Reasons why a plan may not be started on this target."""
    yield from room_refusals(study, facts, work_bytes, runs)
    if not uses_file(study, facts):
        yield from _memory_refusal(study, facts, work_bytes, runs)
    # The file of a modelled host is written when it is made.
    holes = _is_emptied(study, facts) or (uses_file(study, facts) and not facts.virtual)
    if holes and (reading := _reads_holes(runs)):
        what = "the work file" if uses_file(study, facts) else str(study.target)
        yield Refusal(
            text=f"{reading.cell} reads {what} in stage {reading.stage} before anything wrote it: "
            "no device would be asked",
            advice='put a stage with prepare = ["fill"] before it, and a table [torture.fill] with '
            'workload = "throughput.write"',
            code="reads-unwritten",
        )
    if not facts.writable and (writing := next((run for run in runs if run.action.writes), None)):
        yield Refusal(
            text=f"{writing.cell} writes to {study.target}, whose content is kept",
            advice=f"to allow its loss add --destroy {facts.name}, or only read",
            code="content-kept",
        )
    if not facts.direct_supported and any(run.reach and run.reach.options.direct for run in runs):
        yield Refusal(
            "state.cache",
            text=f'"direct" cannot be honoured: the file system of {study.target} does not bypass the page cache',
            advice='choose a target on another file system, or cache = "warm"',
            code="only-cached",
        )
    if not facts.privileged and (steps := steps_of(study, facts, runs)):
        more = f" (and {len(steps) - 1} further steps, which a plan lists)" if len(steps) > 1 else ""
        yield Refusal(
            text=f"needs root to {steps[0].text}",
            advice=f"run it as root, or leave that out{more}",
            code="needs-root",
        )
    if not facts.trims and (discarding := next((run for run in runs if _discards(run)), None)):
        yield Refusal(
            text=f"{discarding.cell} in stage {discarding.stage} discards, and {study.target} has no TRIM",
            advice="leave discards out, or give it TRIM: virtual:NAME,trim=honoured",
            code="no-effect",
        )
    if facts.virtual or study.allow_wear or facts.rated_write_bytes is None:
        return
    written = bytes_written(runs)
    if written > WEAR_SHARE_MAX * facts.rated_write_bytes:
        share = f"{written / facts.rated_write_bytes:.1%}" if facts.rated_write_bytes else "all"
        yield Refusal(
            text=f"{sizes.format_bytes(written)} to write are {share} of the rated endurance of {study.target}",
            expected=f"at most {WEAR_SHARE_MAX:.0%}",
            advice="make the study smaller, or accept the wear with allow_wear = true",
            code="rated-wear",
        )
