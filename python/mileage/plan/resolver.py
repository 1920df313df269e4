"""From a study and the facts of its targets to a plan.

Scope: what a study comes to when everything is filled in; the order of the runs is `expansion`'s.
What it refuses: studies that do not fit, that would write more than a stated share of the rated endurance of
a real device, that have too many runs, or that the target cannot honour.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

import msgspec

from mileage.errors import Refusal
from mileage.model.target_facts import TargetFacts
from mileage.model.target_kind import capabilities_of
from mileage.plan import sizes
from mileage.plan.cell_keys import at_factors, labelled, workload_pairs
from mileage.plan.custom_workloads import Traces, own_workloads
from mileage.plan.estimate import bytes_written
from mileage.plan.expansion import Expansion, Tortures, cells_of, tortures_of
from mileage.plan.factors import Setting, at_setting, settings_of
from mileage.plan.faults import BrokenStudy, Faults
from mileage.plan.initial_state import (
    check_state,
    file_system,
    settings_of_device,
    with_limit_counted,
    with_preconditioning,
)
from mileage.plan.page_cache_state import Caching
from mileage.plan.planned_runs import Cell, Plan, PlannedRun, hash_of, new_files, occupied_bytes
from mileage.plan.study import Measure, Repeat, Size, Stage, StopRule, Study, Torture, listed
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

    `quick` makes it small (see `quicken`). `target` and `seed` replace those of the study. `allow_wear` lifts
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


# A small version of a study, for a first look.
# Scope: the same stages, cells and comparison with one cycle, no sham arm, no model band, no published results, five
# blocks at most, short runs and, on a file, a small work file. On a real target every measured run ends after half a
# second and the tortures together after 20 seconds, so that a slow disk takes about a minute; preparation is never cut
# short, because what is read must have been written. The result is a study like any other: it says what will be done.
# Its result is descriptive; a judgement needs the full study.

FILE_BYTES_MAX: Final = 256 << 20
FREE_SHARE: Final = 4
"""The work file takes at most one part in four of what is free."""
BLOCKS_MAX: Final = 5
RUN_BYTES_MAX: Final = 64 << 20
RUN_OPERATIONS_MAX: Final = 2000
"""Enough for a 99th percentile: ten operations lie above it at 1000."""
RUN_FILES_MAX: Final = 200
"""Number of files of tests that make files: a slow file system creates some hundred a second."""
RUN_TIME_NS_MAX: Final = 500_000_000
TORTURE_TIME_NS_MAX: Final = 20_000_000_000
TORTURE_MULTIPLE_MAX: Final = 4
"""Tortures together write at most this many times the work area; they keep their proportions."""
ROUNDS_MAX: Final = 40
IDLE_NS_MAX: Final = 1_000_000_000


def quicken(study: Study, facts: TargetFacts, own: Own) -> Study:
    """The small version of a checked study on a target."""
    # With a smaller file the page cache serves what the source's tests read from the drive.
    study = msgspec.structs.replace(study, cycles=1, sham=False, band=False, published=None)
    if uses_file(study, facts):
        size = sizes.exact_bytes(_file_bytes(study, facts, own))
        state = msgspec.structs.replace(study.state, file=size)
        study = msgspec.structs.replace(study, state=state)
    work_bytes = work_area_bytes(study, facts, own)
    return msgspec.structs.replace(
        study,
        stage=tuple(_stage(stage) for stage in study.stage),
        measure={
            name: _measure(study, measure, work_bytes, facts, own) for name, measure in study.measure.items()
        },
        torture=_tortures(study, work_bytes, facts),
    )


def _file_bytes(study: Study, facts: TargetFacts, own: Own) -> int:
    multiple = common_multiple(study, own)
    limits = [FILE_BYTES_MAX, facts.free_bytes // FREE_SHARE]
    if facts.memory_bytes or not str(study.state.file).endswith("memory"):
        limits.append(sizes.file_bytes(study.state.file, memory_bytes=facts.memory_bytes))
    return max(min(limits) // multiple, 1) * multiple


def _stage(stage: Stage) -> Stage:
    if stage.idle is None or sizes.parse_time_ns(stage.idle) <= IDLE_NS_MAX:
        return stage
    return msgspec.structs.replace(stage, idle=sizes.exact_time(IDLE_NS_MAX))


def _measure(study: Study, measure: Measure, work_bytes: int, facts: TargetFacts, own: Own) -> Measure:
    return msgspec.structs.replace(
        measure,
        repeat=min(_least(measure.repeat), BLOCKS_MAX),
        span=_span(study, measure.span, work_bytes),
        stop=_stop_of_tests(measure)
        if _is_of_tests(study, measure, own)
        else _stop(study, measure, work_bytes, facts, common_multiple(study, own)),
    )


def _is_of_tests(study: Study, measure: Measure, own: Own) -> bool:
    """Whether a table measures work on files that ends by itself."""
    found = named_in(study, "measure", measure.workload, own)
    return all(named.job is not None and "time" not in named.job.stops for named in found)


def _stop_of_tests(measure: Measure) -> StopRule | None:
    """Stop rule of a quick study of tests on files: fewer files, in equal numbers for each task."""
    if measure.stop is None or measure.stop.operations is None:
        return measure.stop
    each = math.lcm(*listed(measure.threads))
    operations = max(min(measure.stop.operations, RUN_FILES_MAX) // each, 1) * each
    return msgspec.structs.replace(measure.stop, operations=operations, at_least=None)


def _least(repeat: int | Repeat) -> int:
    return repeat if isinstance(repeat, int) else repeat.min


def _span(study: Study, span: Size, work_bytes: int) -> Size:
    """A span that is larger than the small work area becomes all of it: of each target's own, where they may differ."""
    if study.factor:
        return span if sizes.is_share(span) else f"{_text(span)} or 100%"
    return "file" if _bytes_of(span, work_bytes) > work_bytes else span


def _text(size: Size) -> str:
    return size if isinstance(size, str) else sizes.exact_bytes(size)


def _stop(study: Study, measure: Measure, work_bytes: int, facts: TargetFacts, multiple: int) -> StopRule:
    """An earlier end. `multiple` is a number of bytes that every record of the study divides."""
    threads = max(measure.threads) if isinstance(measure.threads, tuple) else measure.threads
    operations_max = max(RUN_OPERATIONS_MAX, threads)
    rule = measure.stop or StopRule(operations=operations_max)
    if measure.record is not None:
        records = measure.record if isinstance(measure.record, tuple) else (measure.record,)
        multiple = math.lcm(*(sizes.size_bytes(record) for record in records))
    limit: Size | None = rule.bytes
    most = sizes.exact_bytes(max(RUN_BYTES_MAX // multiple, threads) * multiple)
    if limit is not None and study.factor and sizes.is_share(limit):
        limit = f"{limit} or {most}"
    elif limit is not None and _bytes_of(limit, work_bytes) > RUN_BYTES_MAX:
        limit = most
    operations = None if rule.operations is None else min(rule.operations, operations_max)
    return StopRule(limit, operations, rule.time if facts.virtual else _sooner(rule.time, RUN_TIME_NS_MAX))


def _bytes_of(size: Size, work_bytes: int) -> int:
    return sizes.area_bytes(size, work_bytes=work_bytes, multiple_bytes=1)


def _tortures(study: Study, work_bytes: int, facts: TargetFacts) -> dict[str, Torture]:
    """Smaller and shorter tortures; those that also prepare stay whole."""
    preparing = {name for stage in study.stage for name in stage.prepare or ()}
    done = [name for stage in study.stage for name in stage.torture or ()]
    cut = [name for name in done if name not in preparing]
    tortures = {name: _fewer_rounds(table) if name in cut else table for name, table in study.torture.items()}
    amounts = {name: _amount_bytes(tortures[name], work_bytes) for name in done}
    total = sum(amounts[name] * tortures[name].rounds for name in done)
    most = TORTURE_MULTIPLE_MAX * work_bytes
    for name in dict.fromkeys(cut):
        table = tortures[name]
        if study.factor:
            # A fixed amount would fill small targets more often than large ones: limit it by a multiple of each
            # target's size.
            times = TORTURE_MULTIPLE_MAX * amounts[name] / total
            table = msgspec.structs.replace(table, amount=f"{_text(table.amount)} or {times:.6f}x")
        elif total > most:
            share = sizes.size_bytes(table.record) * (table.tasks or table.threads)
            table = msgspec.structs.replace(
                table, amount=max(amounts[name] * most // total // share, 1) * share
            )
        if not facts.virtual:
            table = msgspec.structs.replace(
                table, time=_sooner(table.time, TORTURE_TIME_NS_MAX // len(cut) // table.rounds)
            )
        tortures[name] = table
    return {
        name: msgspec.structs.replace(table, span=_span(study, table.span, work_bytes))
        for name, table in tortures.items()
    }


def _fewer_rounds(table: Torture) -> Torture:
    """Reduce the rounds to one, or where rounds end steady, to hardly more than the rules need."""
    return msgspec.structs.replace(table, rounds=1 if table.until is None else min(table.rounds, ROUNDS_MAX))


def _amount_bytes(table: Torture, work_bytes: int) -> int:
    record = sizes.size_bytes(table.record)
    return sizes.area_bytes(table.amount, work_bytes=work_bytes, multiple_bytes=record)


def _sooner(time: str | None, limit_ns: int) -> str:
    """The shorter of a time and a limit."""
    if time is not None and sizes.parse_time_ns(time) <= limit_ns:
        return time
    return sizes.exact_time(limit_ns)


# The privileged steps of a plan, in words, before any is taken.
# Scope: changes to the machine other than reading and writing the work area: devices and file systems made,
# mounted, emptied; memory limited; the whole machine's cache dropped. Each is undone on the way out, unless it says so.
# Whether they may be taken, `resolve` says.


class PrivilegedStep(msgspec.Struct, frozen=True):
    """One step that needs root."""

    text: str
    """Description of the step."""
    destroys: bool = False
    """Whether the step destroys existing data."""


def steps_of(study: Study, facts: TargetFacts, runs: tuple[PlannedRun, ...]) -> tuple[PrivilegedStep, ...]:
    """Every privileged step of a study, in the order in which they are first taken."""
    found = []
    for setting in settings_of(study):
        found += _of_target(at_setting(study, setting), facts)
    return tuple(dict.fromkeys([*found, *_of_runs(runs)]))


def _of_target(study: Study, facts: TargetFacts) -> list[PrivilegedStep]:
    target, made = study.target, file_system(study.state)
    each = "once" if study.cycles == 1 else f"before each of {study.cycles} cycles"
    found = []
    device = target
    kind = capabilities_of(target)
    if kind.is_made:
        device = "a loop device"
        size = sizes.format_bytes(facts.device_bytes)
        if kind.is_served:
            found.append(
                PrivilegedStep(f"mount a served drive of {size} below /run/mileage as a file, {each}")
            )
        found.append(PrivilegedStep(f"attach a loop device over a file of {size}"))
    elif kind.is_block_device and study.state.start != "kept":
        device = facts.name
        if study.state.purge != "none":
            found.append(PrivilegedStep(f"{_PURGES[study.state.purge]} {device}, {each}", destroys=True))
    if study.state.governor is not None:
        found.append(PrivilegedStep(f"set the governor of every processor to {study.state.governor}"))
    for name, value in settings_of_device(study.state).items():
        found.append(PrivilegedStep(f"set {name} of {device} to {value}"))
    if made is not None:
        options = " ".join(made.mkfs)
        found.append(PrivilegedStep(f"mkfs.{made.kind} {options} on {device}, {each}", destroys=True))
        mount = ",".join(made.mount) or "its default options"
        found.append(PrivilegedStep(f"mount it below /run/mileage with {mount}"))
    return found


_PURGES = {
    "discard": "discard all of",
    "nvme-format": "nvme format --ses=1 (all user data)",
    "ata-erase": "ATA security erase (the whole drive, behind a password that is taken off again) of",
}


def _of_runs(runs: tuple[PlannedRun, ...]) -> list[PrivilegedStep]:
    jobs = (run.job.privileged_steps for run in runs if run.job is not None)
    return [*map(PrivilegedStep, chain.from_iterable(jobs)), *_of_caches(runs)]


def _of_caches(runs: tuple[PlannedRun, ...]) -> list[PrivilegedStep]:
    counts: dict[Caching, int] = {}
    for run in runs:
        caching = run.action.caching
        if caching is not None and caching.mode in ("dropped", "limited"):
            counts[caching] = counts.get(caching, 0) + 1
    found = []
    for caching, count in counts.items():
        times = f"around {count} run{'' if count == 1 else 's'}"
        if caching.mode == "limited":
            limit_words = sizes.format_bytes(caching.limit_bytes)
            found.append(PrivilegedStep(f"limit memory to {limit_words} by a control group, {times}"))
        else:
            found.append(PrivilegedStep(f"drop the whole machine's page cache, {times}"))
    return found
