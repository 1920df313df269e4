"""From a study folder to the value that the report draws: identity, validity checks, torture traces, method."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from mileage.analysis.cautions import cautions, with_cautions
from mileage.analysis.chart_data import (
    collect_chart_data,
    picked,
    places_of,
    tails_of,
    torture_traces,
    traces_of,
)
from mileage.analysis.check_text import verdict_in
from mileage.analysis.counter_explanations import why
from mileage.analysis.ior_layouts import planned_layouts
from mileage.analysis.journal_reader import JournalContents
from mileage.analysis.planned_comparison import arm_name, compares_cells, places
from mileage.analysis.rate_curves import rate_curves, scan_point
from mileage.analysis.scan_steps import curve_step_lines, landmarks_of, step_lines
from mileage.analysis.stage_times import discard_words, wall_time
from mileage.analysis.validity_checks import Environment, checks_of
from mileage.execute import stage_name, start_name
from mileage.judge import CellVerdict, Comparison, Sample
from mileage.judge.comparison import HEADLINE_OF_MEASURE
from mileage.judge.rate_over_time import levels_within
from mileage.judge.steady_state import PTS_WINDOW, pts_line, pts_window
from mileage.model.caveat import Caveat
from mileage.model.journal_entries import AcceptedChange, DidNotFinish, FailedRun, LengthFactor, Run
from mileage.plan import Plan
from mileage.plan.external_program import Program
from mileage.plan.run_length import with_found_counts
from mileage.report import StudyView
from mileage.report.aspects import level_words
from mileage.report.caveat_words import caveat_words, listed
from mileage.report.chart_data import ChartData, LevelRuns, OrderedRun, ScanPoint, SteadyRounds
from mileage.report.measurement_page import MeasuredPage
from mileage.report.measurement_setup import setting_lines
from mileage.report.measurement_text import answer
from mileage.report.method import method_text
from mileage.report.rate_curves import MOST_BARS
from mileage.report.sentence import notes_of
from mileage.report.view import RunShape
from mileage.store import MeasuredCell, StudyFolder, measured_cells, skipped_runs
from mileage.store.cell_measurements import headline_of
from mileage.store.environment import diff
from mileage.store.journal import Entries, JournalContent
from mileage.store.study_folder import CHECK_TEXT
from mileage.store.tables import each_test
from mileage.targets.profiles import figures_of_target

_TARGETS_MAX: Final = 5
_HEADING_MAX: Final = 160
"""Characters of targets in a heading: with more, the verdict would be off the first screen of a phone."""
"""Targets that a heading names."""


def measured_page(plan: Plan, folder: StudyFolder, caveats: Sequence[Caveat] = ()) -> MeasuredPage:
    """Collect what the page of a study that compares nothing shows; `caveats` speak against any conclusion."""
    vetoes = [caveat_words(caveat) for caveat in caveats if caveat.is_veto]
    content = folder.content(around_damage=True)
    order = {cell.label: number for number, cell in enumerate(plan.cells)}
    cells = tuple(sorted(measured_cells(content, plan), key=lambda cell: (cell.stage, order[cell.cell])))
    head = content.study
    environments = folder.environments()
    evidence, factor = pictured(plan, content, cells)
    found = cautions(plan, content, cells)
    # The text of `mileage check` states the answer and the cautions already; repeating them would contradict its
    # wording.
    kept = folder.directory.read(CHECK_TEXT) if folder.directory.has(CHECK_TEXT) else b""
    checked = kept.decode(errors="replace")
    said = verdict_in(checked) if checked else answer(cells)
    if vetoes and not checked:
        measured = f" What was measured: {said[:1].lower()}{said[1:]}" if said else ""
        said = f"Not conclusive because {listed(vetoes)}.{measured}"
    # A check compares nothing, so what speaks against conclusions stands next to its verdict, as in the terminal.
    weak = [f"Note: {veto}." for veto in vetoes] if checked else [c.sentence + "." for c in found]
    weak += lost_lines(folder) + _of_programs(plan, content.runs())
    return MeasuredPage(
        name=plan.study.name,
        question=plan.study.question,
        target=_named(targets_of(plan)),
        setting=setting_lines(with_found_counts(plan, content.of_kind(LengthFactor))),
        cells=with_cautions(cells, found),
        runs_total=len(plan.runs) - skipped_runs(content),
        runs_failed=len(content.of_kind(FailedRun)),
        method=method_of(plan, content),
        command=head.command if head is not None else f"mileage run {folder.path}",
        identity=_identity(plan, environments, content),
        answer=said,
        unfinished=tuple(weak),
        evidence=_with_steps(
            plan, replace(evidence, steady=steady_rounds(plan, content)), factor, environments
        ),
        environments=[(name, facts) for name, facts in environments if not name.endswith(".after")],
        factor=factor,
        checked=checked,
    )


def _with_steps(
    plan: Plan, found: ChartData, factor: str, environments: list[tuple[str, Environment]]
) -> ChartData:
    """The evidence with the steps of a scan of record sizes; of a real target with the machine's own sizes."""
    if not found.curves and (factor != "record" or not found.scan):
        return found
    first = environments[0][1] if environments and not plan.facts.virtual else {}
    landmarks = landmarks_of(first)
    if found.curves:
        steps = curve_step_lines(found.curves, landmarks)
        return replace(found, landmarks=landmarks if steps else [], steps=steps)
    return replace(found, landmarks=landmarks, steps=step_lines(found.scan, landmarks))


def lost_lines(folder: StudyFolder) -> list[str]:
    """A sentence on the snapshots of the machine that are damaged or edited, and so are not compared; none without."""
    lost = folder.damaged_environments()
    if not lost:
        return []
    what, verb = ("The snapshot", "is") if len(lost) == 1 else ("The snapshots", "are")
    return [f"{what} of the machine at {listed(lost)} {verb} damaged or edited, and ignored."]


def method_of(plan: Plan, content: JournalContent) -> str:
    """Describe how a study was measured and judged, as paragraphs separated by an empty line."""
    head = content.study
    if head is None:
        return method_text(plan, version="", started="")
    return method_text(plan, version=head.mileage, started=str(head.started))


def study_view(
    plan: Plan,
    folder: StudyFolder,
    comparison: Comparison,
    read: JournalContents,
    aa: tuple[list[CellVerdict], list[CellVerdict]] | None = None,
) -> StudyView:
    """Collect what the report shows of a study folder.

    `read`: what was read of its runs. `aa`: of a baseline that was measured twice the tests that were judged, and
    those that differ.
    """
    content = folder.content(around_damage=True)
    runs = content.runs()
    failed = content.of_kind(FailedRun)
    saved = dict(folder.environments())
    order = dict.fromkeys(stage_name(run) for run in plan.runs)
    environments = [(name, saved[name]) for name in order if name in saved]
    changes = environment_changes(plan, content, saved)
    head = content.study
    return StudyView(
        name=plan.study.name,
        question=plan.study.question,
        target=_named(targets_of(plan)),
        identity=_identity(plan, environments, content) | read.times.words(),
        command=head.command if head is not None else f"mileage run {folder.path}",
        comparison=comparison,
        torture=torture_traces(content),
        environments=environments,
        environment_changes=list(dict.fromkeys(f"{name}: {line}" for name, line, *_ in changes)),
        trust=checks_of(plan, content, read.seen, changes, comparison, aa),
        shapes=_shapes(_tortures(runs)),
        notes=[
            *lost_lines(folder),
            *_of_programs(plan, runs),
            *array_events(targets_of(plan), [*runs, *content.of_kind(DidNotFinish)]),
            *read.hidden.notes,
            *notes_of(comparison),
        ],
        explanations=why(comparison, read.arms.found),
        factor=comparison.factor if comparison.standings else "",
        standings=comparison.standings,
        evidence=replace(
            collect_chart_data(plan, folder, comparison, read.samples),
            steady=steady_rounds(plan, content),
            order=run_order(plan, read.samples),
        ),
        runs_total=len(plan.runs) - skipped_runs(content),
        runs_failed=len(failed),
        method=method_of(plan, content),
        capacity_bytes=plan.facts.capacity_bytes if plan.facts.virtual else None,
    )


def _of_programs(plan: Plan, runs: Sequence[Run]) -> list[str]:
    """Notes about runs of programs, once for each cell."""
    if not any(isinstance(run.job, Program) for run in plan.runs):
        return []
    note_counts = Counter((run.cell, note) for run in runs for note in run.record.notes)
    return [f"{cell}: {note} (in {number} of its runs)." for (cell, note), number in note_counts.items()]


def environment_changes(
    plan: Plan, content: JournalContent, saved: dict[str, Environment]
) -> list[tuple[str, str, Environment, Environment]]:
    """Every stable key that differs from how its part began: where, in words, and the two snapshots.

    A change that was accepted is one, too, though later snapshots overwrite the earlier ones.
    """
    accepted = content.of_kind(AcceptedChange)
    found = [("accepted", line, entry.was, entry.now) for entry in accepted for line in entry.changes]
    starts = dict(saved)
    for entry in reversed(accepted):
        name = start_name(entry.part)
        starts[name] = {**starts.get(name, {}), **entry.was}
        for key in entry.now.keys() - entry.was.keys():
            starts[name].pop(key, None)
    reported = {line for _, line, *_ in found}
    others = sorted({setting.instance for setting in plan.settings})
    for stage, part in dict.fromkeys((stage_name(run), run.part) for run in plan.runs):
        for which in ("", *(f"-target-{number}" for number in others)):
            name = stage + which
            start = starts.get(start_name(part + which)) or saved.get(name)
            for when in (name, f"{name}.after"):
                if start is not None and when in saved:
                    lines = [line for line in diff(start, saved[when]) if line not in reported]
                    found += [(when, line, start, saved[when]) for line in lines]
    return found


def targets_of(plan: Plan) -> list[str]:
    """The measured targets: the study's one, or each of those that are compared."""
    return list(dict.fromkeys(setting.target for setting in plan.settings)) or [str(plan.study.target)]


def _named(targets: Sequence[str]) -> str:
    """Targets in a row, the first three of many; how many they are, where that is too long for a heading."""
    row = listed(targets if len(targets) <= _TARGETS_MAX else [*targets[:3], f"{len(targets) - 3} more"])
    return row if len(targets) == 1 or len(row) <= _HEADING_MAX else f"{len(targets)} targets"


def _identity(
    plan: Plan, environments: list[tuple[str, dict[str, str]]], content: JournalContent
) -> dict[str, str]:
    first, head = environments[0][1] if environments else {}, content.study
    names = targets_of(plan)
    places = {setting.target: setting.place for setting in plan.settings}
    sizes = [plan.others.get(places.get(name, name), plan.facts).capacity_bytes for name in names]
    known = {
        "target" if len(names) == 1 else "targets": ", ".join(names),
        "size" if len(names) == 1 else "sizes": ", ".join(f"{size / 1e9:.1f} GB" for size in sizes),
        "devices": str(len(names)),
        "kernel": first.get("kernel.release", "unknown"),
        "mileage": head.mileage if head is not None else "unknown",
        "plan": plan.hash[:16],
        "seed": str(plan.study.seed),
        "date": str(head.started) if head is not None else "unknown",
        **wall_time(content),
        **discard_words(content),
        "seal": content.seal_words,
    }
    return known


def _tortures(runs: Sequence[Run]) -> Sequence[Run]:
    """The torture runs alone: a long study has few of them, and the others need not be read for it."""
    if isinstance(runs, Entries):
        return runs.where(lambda head: head.role == "torture")
    return [entry for entry in runs if entry.role == "torture"]


def _shapes(runs: Sequence[Run]) -> list[RunShape]:
    """Levels of the write rate inside each torture run, found in its intervals."""
    shapes = []
    for entry in runs:
        series = entry.record.series
        written = entry.record.to_the_end(series.bytes_written)
        # A run of less than an interval has none that is whole.
        if entry.role != "torture" or not any(written):
            continue
        found = levels_within([count / series.interval_s for count in written])
        done = list(accumulate(written, initial=0))
        shapes.append(
            RunShape(
                cell=entry.cell,
                cycle=entry.cycle,
                kind=found.kind,
                levels_bytes_per_s=[segment.level for segment in found.segments],
                cut_bytes=[float(done[cut]) for cut in found.cuts],
                cut_error_bytes=float(max(written)),
            )
        )
    return shapes


# What happened to the members of an array, in the order in which it happened, from the counters of the runs.
# Scope: an event as the first interval of a run in which its counter is not zero; the time is the end of that interval.
# Targets that are no arrays have no such sentences, and their runs are not read for them.

_LOST: Final = "array_lost"
"""A gauge: a run has it in its series only."""
_EVENTS: Final = {
    "members_timed_out": (
        "a member did not answer in time",
        "the first of {} members did not answer in time",
    ),
    "members_failed": ("a member failed", "the first of {} members failed"),
    "degraded_reads": ("a read needed the other members", "the first of {} reads needed the other members"),
    "degraded_writes": (
        "a write needed the other members",
        "the first of {} writes needed the other members",
    ),
    "rebuilds_started": (
        "a spare took its place, and its rebuild began",
        "the first of {} spares took its place",
    ),
    "rebuilds_completed": ("the rebuild ended", "the first of {} rebuilds ended"),
    _LOST: ("the array was lost, because more members had failed than its level bears", ""),
}
"""Counters in the order of cause and effect, and what one and the first of several of them mean."""


def is_array(target: str) -> bool:
    """Whether a target is a virtual array."""
    return figures_of_target(target).get("kind") == "array"


def array_events(targets: Sequence[str], runs: Sequence[Run]) -> list[str]:
    """A sentence for each run in which something happened to a member, in the order of the runs."""
    if not any(is_array(target) for target in targets):
        return []
    return [line for entry in runs if (line := _line(entry))]


def _line(entry: Run) -> str:
    events = sorted(_events(entry))
    if not events:
        return ""
    levels = "".join(f", {level}" for level in entry.levels.values())
    where = f"{entry.stage}, {entry.cell or entry.role}{levels} (run {entry.run})"
    return f"{where}: " + "; ".join(f"after {seconds:.3g} s {words}" for seconds, _, words in events) + "."


def _events(entry: Run) -> Iterator[tuple[float, int, str]]:
    """Time in seconds, place in the order of causes, words."""
    series = entry.record.series
    for place, (name, (one, several)) in enumerate(_EVENTS.items()):
        values = series.counters.get(name, [])
        total = entry.record.counters.get(name, values[-1] if values and name == _LOST else 0)
        if not total:
            continue
        at = next((at for at, value in enumerate(values) if value), len(values) - 1)
        words = one if total == 1 else several.format(f"{total:,}")
        yield (at + 1) * series.interval_s, place, words


# Data of the charts of a study without a comparison: its cells side by side.
# Scope: the first cells in the order of the table, as many as have room. A study whose runs keep
# no series and no latencies has fewer pictures.

CELLS_MAX: Final = 4
"""Cells whose lines are drawn in one picture, with room for their names."""


def pictured(plan: Plan, content: JournalContent, cells: Sequence[MeasuredCell]) -> tuple[ChartData, str]:
    """Return the data of the charts, and the property that distinguishes the cells most often, such as threads."""
    shown = [cell.cell for cell in cells][:CELLS_MAX]
    found: dict[str, list[Run]] = {cell: [] for cell in shown}
    units = {cell.unit or cell.label for cell in plan.cells}
    for entry in picked(content, "measure", units) if shown else ():
        for one in each_test(entry):
            if one.cell in found:
                found[one.cell].append(one)
    traces = {cell: traces_of(cell, runs) for cell, runs in found.items()}
    tails = [tail for cell, runs in found.items() for tail in tails_of(cell, runs)]
    # A single cell leaves room for one line per run; several cells get one line each.
    alone = len(shown) == 1
    whole = {cell: max((t.runs for t in tails if t.arm == cell), default=0) for cell in shown}
    by = _distinguishing(plan, cells)
    levels = _levels(plan, cells, by)
    curves = rate_curves(cells, _short_places(places_of(plan))) if len(cells) > MOST_BARS else ()
    many = len(curves) > 1
    evidence = ChartData(
        runs=[trace for own in traces.values() for trace in (own if alone else own[:1])],
        tails=[tail for tail in tails if alone or tail.runs == whole[tail.arm]],
        levels=[] if many else levels,
        scan=[] if many else _scan(plan, cells, by),
        curves=list(curves) if many else [],
        layouts=planned_layouts(plan),
    )
    return evidence, _axis_word(plan, by)


def _scan(plan: Plan, cells: Sequence[MeasuredCell], by: str) -> list[ScanPoint]:
    """A point for each cell whose level of `by` is a number or a size."""
    places, kinds = places_of(plan), {cell.label: cell.kind for cell in plan.cells}
    points = []
    for cell in cells:
        place = places.get(cell.cell, {})
        metric = "ops_per_s" if kinds.get(cell.cell) == "iops" else "rate_bytes_per_s"
        rest = [value for name, value in place.items() if name != by and value]
        series = ", ".join(rest) or place.get("test", cell.cell)
        if (point := scan_point(cell, series, place.get(by, ""), metric)) is None:
            continue
        whole = cell.latency.get("response") or cell.latency.get("all")
        if whole is not None:
            point = replace(point, p50_ns=whole.p50_ns, p99_ns=whole.p99_ns)
        points.append(point)
    # Cells of another unit are omitted, because one axis has one unit.
    return [point for point in points if point.metric == points[0].metric]


def _short_places(places: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The places without what a reader does not need: names of tables, and the family, where none differ by these."""
    bare = {
        cell: {name: value.removeprefix("pattern.") for name, value in place.items() if name != "table"}
        for cell, place in places.items()
    }
    distinct = len({tuple(sorted(place.items())) for place in bare.values()}) == len(bare)
    return bare if distinct else {cell: dict(place) for cell, place in places.items()}


def _distinguishing(plan: Plan, cells: Sequence[MeasuredCell]) -> str:
    """The property that distinguishes the cells most often; of tools under MPI the tasks before the test."""
    counts = _counts(_short_places(places_of(plan)), cells)
    tasks = _counts_tasks(plan)
    return max(counts, key=lambda name: (counts[name], tasks and name == "threads"), default="")


def _counts(places: Mapping[str, Mapping[str, str]], cells: Sequence[MeasuredCell]) -> dict[str, int]:
    """Number of values of each property."""
    names = dict.fromkeys(name for cell in cells for name in places.get(cell.cell, {}))
    return {name: len({places.get(cell.cell, {}).get(name, "") for cell in cells}) for name in names}


def _counts_tasks(plan: Plan) -> bool:
    """Whether the threads of all cells are tasks of a tool under MPI."""
    return all(level_words(cell.key.workload, "threads", "1") != "1" for cell in plan.cells)


def _axis_word(plan: Plan, by: str) -> str:
    return "NP" if by == "threads" and _counts_tasks(plan) else by


def _levels(plan: Plan, cells: Sequence[MeasuredCell], by: str) -> list[LevelRuns]:
    """The rate of each cell, in panels of cells that differ in one property alone."""
    places = _short_places(places_of(plan))
    counts = _counts(places, cells)
    workloads = {cell.label: cell.key.workload for cell in plan.cells}
    groups: dict[tuple[str, str], dict[str, list[float]]] = {}
    for cell in cells:
        place = places.get(cell.cell, {})
        workload = workloads.get(cell.cell, "")
        metric = "rate_bytes_per_s" if any(cell.rate_bytes_per_s) else "ops_per_s"
        values = cell.rate_bytes_per_s if metric == "rate_bytes_per_s" else cell.ops_per_s
        rest = ", ".join(
            _property_words(workload, name, value)
            for name, value in place.items()
            if name != by and counts[name] > 1
        )
        group = groups.setdefault((rest or "all", metric), {})
        level = level_words(workload, by, place.get(by, cell.cell))
        group[cell.cell if level in group else level] = list(values)
    return [LevelRuns(cell=cell, metric=metric, levels=levels) for (cell, metric), levels in groups.items()]


def _property_words(workload: str, name: str, value: str) -> str:
    words = level_words(workload, name, value)
    return words if name in ("test", "record") or words != value else f"{name} {value}"


# The compared runs in the order in which they were done, each against the mean of its own cell and arm.


def run_order(plan: Plan, samples: Iterable[Sample]) -> list[OrderedRun]:
    """Runs of the baseline and the candidate; the sham arm and values of 0 are not among them."""
    study = plan.study
    levels = places(plan) if compares_cells(plan) else {}
    stage = study.measuring_stages[-1]
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        if sample.arm != "torture" or sample.metric != HEADLINE_OF_MEASURE.get(sample.measure):
            continue
        side = levels[sample.cell][0] if levels else sample.stage
        usable = sample.value > 0 and math.isfinite(sample.value) and (not levels or sample.stage == stage)
        if usable and side in (study.baseline, study.candidate):
            name = arm_name(plan, side)
            # Do not divide by the mean of each cycle: that would hide a drift between cycles.
            groups.setdefault((sample.cell, name), []).append(sample)
    found = []
    for (_, name), own in groups.items():
        mean = math.exp(math.fsum(math.log(sample.value) for sample in own) / len(own))
        found += [OrderedRun(sample.run, name, sample.value / mean) for sample in own]
    return sorted(found, key=lambda run: run.position)


# Rounds of writing that SNIA's rule ended or was asked to end, with the window that the rule looked at last.
# Scope: each round by its rate, as the rule does while the study runs. A table without five rounds has no window.


def steady_rounds(plan: Plan, content: JournalContent) -> list[SteadyRounds]:
    """The rounds of each cycle and table with `until = "pts-steady"`, in order."""
    asked = {name for name, table in plan.study.torture.items() if table.until == "pts-steady"}
    found: dict[tuple[int, str, int], list[float]] = {}
    for role in ("prepare", "torture") if asked else ():
        for entry in picked(content, role, asked):
            key = (entry.cycle, entry.cell, plan.runs[entry.run].setting)
            found.setdefault(key, []).extend(headline_of(entry).values())
    several = len({cycle for cycle, _, _ in found}) > 1
    return [
        _with_window(f"{table}, cycle {cycle}" if several else table, rates)
        for (cycle, table, _), rates in found.items()
        if len(rates) >= PTS_WINDOW
    ]


def _with_window(name: str, rates: list[float]) -> SteadyRounds:
    window = pts_window(rates, len(rates) - 1)
    return SteadyRounds(
        name=name,
        rates_bytes_per_s=rates,
        first=window.first,
        mean=window.mean,
        range=window.range,
        line=pts_line(rates[window.first :]),
        steady=window.steady,
    )
