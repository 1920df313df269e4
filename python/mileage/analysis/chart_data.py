"""From a study folder to what its pictures are drawn from: the runs of the headline cell, the torture, latencies, wear.

Scope: the journal as too large to be held: only the runs of one cell and the torture are decoded, and of each what a
picture can show is kept. A run without a series, or of a tool that reports only figures, is skipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import fmean
from typing import Final

import msgspec

from mileage.analysis.device_class import device_classes
from mileage.analysis.ior_layouts import planned_layouts
from mileage.analysis.planned_comparison import arm_name, compares_cells, compares_levels, places
from mileage.judge import Comparison, Sample
from mileage.judge.comparison import HEADLINE_OF_MEASURE
from mileage.judge.rate_over_time import levels_within
from mileage.model.histogram import bounds_of
from mileage.model.journal_entries import Run
from mileage.model.run_record import RunRecord, Series
from mileage.model.write_amplification import write_amplifications
from mileage.plan import Plan
from mileage.plan.factors import again
from mileage.plan.iozone_suite import Suite
from mileage.plan.planned_runs import Cell
from mileage.plan.sizes import format_bytes
from mileage.report import StudyView
from mileage.report.chart_data import (
    AMPLIFICATION,
    CACHE_FREE,
    FREE_BLOCKS,
    ChartData,
    LevelRuns,
    RunTrace,
    Tail,
    Wear,
)
from mileage.report.sentence import lead_of
from mileage.store import StudyFolder
from mileage.store.journal import Entries, JournalContent
from mileage.store.tables import each_test

_RUNS_MAX: Final = 10
"""Runs of each arm that are drawn one by one."""
_POINTS_MAX: Final = 240
_POINTS_MIN: Final = 4
_OPERATIONS_MIN: Final = 20
"""Operations that a point of a rate rests on, on average."""
_TAIL_POINTS_MAX: Final = 90
_WEAR: Final = {
    "erase_count_most": "most erases of a block",
    "erase_count_least": "fewest erases of a block",
    "wear_indicator_percent": "wear indicator, % left",
    "replaced_blocks": "blocks replaced",
    "free_blocks": "free blocks",
}


def collect_chart_data(
    plan: Plan, folder: StudyFolder, comparison: Comparison, samples: Sequence[Sample]
) -> ChartData:
    """Collect it for a study that compares two arms."""
    content = folder.content(around_damage=True)
    # The cell of the sentence, or the first.
    lead = lead_of(comparison) or next(iter(comparison.family), None)
    cell = lead.cell if lead is not None else ""
    records = _records(plan, content, cell) if cell else {}
    return ChartData(
        cell=cell,
        runs=[trace for arm, found in records.items() for trace in traces_of(arm, found)],
        tails=[tail for arm, found in records.items() for tail in tails_of(arm, found)],
        levels=_levels(plan, samples),
        baseline_level=plan.study.baseline or "" if compares_levels(plan) else "",
        factor=plan.study.compare.arms if compares_levels(plan) else "",
        places=places_of(plan),
        wear=_wear(content),
        layouts=planned_layouts(plan),
        device_classes=device_classes(plan),
        plan_toml=plan.to_toml(),
        files=_files(folder),
    )


def with_files(view: StudyView, folder: StudyFolder) -> StudyView:
    """The view with the study's files and their sizes as they are now."""
    evidence = msgspec.structs.replace(view.evidence, files=_files(folder))
    return msgspec.structs.replace(view, evidence=evidence)


def _files(folder: StudyFolder) -> list[tuple[str, int]]:
    # A name with a dot in front is a table that another process is writing.
    files = [path for path in sorted(folder.path.glob("[!.]*.parquet")) if path.is_file()]
    files += [path for path in (folder.journal, folder.plan_json) if path.is_file()]
    return [(path.name, path.stat().st_size) for path in files]


def _records(plan: Plan, content: JournalContent, cell: str) -> dict[str, list[Run]]:
    """The runs of one cell in the two compared arms; of a set of tests, this test alone."""
    study = plan.study
    place_of = places(plan) if compares_cells(plan) else {}
    stage = study.measuring_stages[-1]
    found: dict[str, list[Run]] = {}
    for side in (study.baseline, study.candidate):
        found[arm_name(plan, str(side))] = []
    labels = {c.label for c in plan.cells if place_of.get(c.label, ("", c.label))[1] == cell}
    units = {c.unit or c.label for c in plan.cells if c.label in labels}
    for entry in picked(content, "measure", units):
        if place_of and entry.stage != stage:
            continue
        for one in each_test(entry):
            if one.cell not in labels:
                continue
            arm = arm_name(plan, place_of[one.cell][0] if place_of else one.stage)
            if arm in found:
                found[arm].append(one)
    return found


def picked(content: JournalContent, role: str, cells: set[str] | None = None) -> Iterable[Run]:
    """The runs of a role, but those of the sham arm; of `cells` (or sets of tests) alone, where given."""
    runs = content.runs()
    if isinstance(runs, Entries):
        return runs.where(
            lambda head: head.role == role and head.arm == "torture" and (cells is None or head.cell in cells)
        )
    return [
        entry
        for entry in runs
        if entry.role == role and entry.arm == "torture" and (cells is None or entry.cell in cells)
    ]


def traces_of(arm: str, found: Sequence[Run]) -> list[RunTrace]:
    """Rate over time of up to ten runs of one compared arm."""
    stride = -(-len(found) // _RUNS_MAX) or 1
    traces = (_trace(arm, run.cycle, run.block, [run.record]) for run in found[::stride])
    return [trace for trace in traces if trace is not None]


def course_of(record: RunRecord, drawn: Mapping[str, str]) -> RunTrace | None:
    """The course of one run, with what it counted per second: `drawn` has the title of each counter to be drawn.

    Counters that did not move are skipped. None: the run has too few intervals or operations.
    """
    trace = _trace("run", 1, 1, [record], drawn)
    if trace is None:
        return None
    moved = {name: values for name, values in trace.counters.items() if any(values)}
    return msgspec.structs.replace(trace, counters=moved)


def torture_traces(content: JournalContent) -> list[RunTrace]:
    """One trace for each cycle and target: what its torture runs wrote, in sequence."""
    groups: dict[tuple[int, str], list[RunRecord]] = {}
    for entry in picked(content, "torture"):
        levels = ", ".join(f"{name} {level}" for name, level in entry.levels.items())
        # A run that reads back what was written is no stall of the writing.
        if any(entry.record.series.bytes_written):
            groups.setdefault((entry.cycle, levels), []).append(entry.record)
    traces = (
        _trace(levels or "torture", cycle, 1, found, written=True)
        for (cycle, levels), found in groups.items()
    )
    return [trace for trace in traces if trace is not None]


def _trace(
    arm: str,
    cycle: int,
    block: int,
    parts: Sequence[RunRecord],
    drawn: Mapping[str, str] | None = None,
    *,
    written: bool = False,
) -> RunTrace | None:
    """Runs after each other as one trace of the bytes moved, or of those `written`; None: too few whole intervals."""
    rows: dict[str, list[float]] = {}
    widths: list[float] = []
    moved: list[float] = []
    # Where each part has commits, their times are what is waited for.
    of_commits = bool(parts) and all(
        part.commits is not None and part.commits.interval_ns == part.series.interval_ns for part in parts
    )
    for record in parts:
        series = record.series
        timed_series = record.commits if of_commits and record.commits is not None else series
        counted = record.to_the_end(series.bytes_written if written else series.bytes_moved)
        widths += [series.interval_s] * len(counted)
        moved += counted
        for name in ("p50", "p99", "max"):
            found = record.to_the_end(getattr(timed_series, f"latency_{name}_ns"))
            missing = len(counted) - len(found)
            rows.setdefault(name, []).extend([*found, *[0.0] * missing] if of_commits else found)
        for name, values in _gauges(series).items():
            rows.setdefault(name, []).extend(record.to_the_end(values, values[-1] if values else 0))
        for name, values in _per_second(series, drawn or {}).items():
            rows.setdefault(name, []).extend(record.to_the_end(values))
    if len(widths) < 2:
        return None
    whole = {name: values for name, values in rows.items() if len(values) == len(widths)}
    done = sum(sum(record.series.ops) for record in parts)
    # Points with few operations would show how they fall into the intervals, not a rate.
    group = max(-(-len(widths) // _POINTS_MAX), math.ceil(_OPERATIONS_MIN * len(widths) / max(done, 1)))
    ends = [*range(group, len(widths) - group + 1, group), len(widths)]
    if len(ends) < _POINTS_MIN:
        return None
    # The last one has the rest, too: a point of few intervals shows how the end falls into them.
    edges = list(pairwise([0, *ends]))
    thin = {name: [_joined(name, values[a:b]) for a, b in edges] for name, values in whole.items()}
    rates = [sum(moved[a:b]) / sum(widths[a:b]) for a, b in edges]
    times, totals = list(accumulate(widths)), list(accumulate(map(float, moved)))
    levels = levels_within(rates)
    timed = any(thin.get("p99", []))
    return RunTrace(
        arm=arm,
        cycle=cycle,
        block=block,
        end_s=[times[b - 1] for _, b in edges],
        moved_bytes=[totals[b - 1] for _, b in edges],
        rate_bytes_per_s=rates,
        p50_ns=thin.get("p50", []) if timed else [],
        p99_ns=thin.get("p99", []) if timed else [],
        max_ns=thin.get("max", []) if timed else [],
        of_commits=of_commits,
        counters={
            name: thin[name]
            for name in (AMPLIFICATION, FREE_BLOCKS, CACHE_FREE, *(drawn or {}).values())
            if name in thin
        },
        cuts=list(levels.cuts),
        kind=levels.kind,
    )


def _joined(name: str, values: Sequence[float]) -> float:
    """One value for several intervals that are joined. An interval in which no operation ended has no latency."""
    if name in ("p99", "max"):
        return max(values)
    counted = [value for value in values if value > 0] if name == "p50" else values
    return fmean(counted) if counted else 0.0


def _gauges(series: Series) -> dict[str, list[float]]:
    """Gauges of a drive over time, for drawing: write amplification of each interval, and free space at its end."""
    counters = series.counters
    found: dict[str, list[float]] = {}
    amplified = write_amplifications(counters) or []
    if any(value is not None for value in amplified):
        held = accumulate(amplified, lambda last, own: last if own is None else own, initial=1.0)
        found[AMPLIFICATION] = list(held)[1:]
    for name, key in ((FREE_BLOCKS, "free_blocks"), (CACHE_FREE, "slc_free_pages")):
        if any(counters.get(key, ())):
            found[name] = [float(value) for value in counters[key]]
    return found


def _per_second(series: Series, drawn: Mapping[str, str]) -> dict[str, list[float]]:
    """Counters of a drive per interval, converted to events per second, by the title of their chart."""
    found = {}
    for key, title in drawn.items():
        totals = series.counters.get(key, ())
        steps = [(after - before) / series.interval_s for before, after in pairwise([0, *totals])]
        if any(steps):
            found[title] = steps
    return found


def tails_of(arm: str, found: Sequence[Run]) -> list[Tail]:
    """Latency tails of all runs of an arm together, and of a few single runs."""
    tails: list[Tail] = []
    stride = -(-len(found) // _RUNS_MAX) or 1
    for kind in ("service", "response"):
        histograms = [h for run in found if (h := _histogram(run.record, kind))]
        if not histograms:
            continue
        together: dict[int, int] = {}
        for histogram in histograms:
            for bucket, count in histogram.items():
                together[bucket] = together.get(bucket, 0) + count
        tails.append(_tail(arm, kind, len(histograms), together))
        if len(histograms) > 1:
            tails += [_tail(arm, kind, 1, histogram) for histogram in histograms[::stride]]
    return tails


def _histogram(record: RunRecord, kind: str) -> dict[int, int]:
    """The buckets of the response times, or of the operations that were done most."""
    kinds = ("response",) if kind == "response" else ("read", "write", "metadata")
    return dict(max((record.latency_of(name) for name in kinds), key=lambda found: found.count).buckets)


def _tail(arm: str, kind: str, runs: int, histogram: dict[int, int]) -> Tail:
    """The curve from nine of ten operations down to the slowest one, at most 90 points of it."""
    total = sum(histogram.values())
    left, points = total, []
    for bucket in sorted(histogram):
        low, high = bounds_of(bucket)
        points.append(((low + high) / 2, left / total))
        left -= histogram[bucket]
    stride = -(-len(points) // _TAIL_POINTS_MAX) or 1
    kept = [point for at, point in enumerate(points) if at % stride == 0 or at == len(points) - 1]
    return Tail(
        arm=arm,
        kind=kind,
        runs=runs,
        operations=total,
        latency_ns=[at for at, _ in kept],
        above=[share for _, share in kept],
    )


def _levels(plan: Plan, samples: Iterable[Sample]) -> list[LevelRuns]:
    """Every run of every level of the compared factor; empty where stages are compared."""
    if not compares_levels(plan):
        return []
    place_of, stage = places(plan), plan.study.measuring_stages[-1]
    control = again(plan.study.baseline or "")
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for sample in samples:
        level, cell = place_of[sample.cell]
        headline = sample.metric == HEADLINE_OF_MEASURE.get(sample.measure)
        if headline and sample.stage == stage and sample.arm == "torture" and level != control:
            found.setdefault((cell, sample.metric), {}).setdefault(level, []).append(sample.value)
    order = list(dict.fromkeys(level for level, _ in place_of.values()))
    cells = list(dict.fromkeys(cell for _, cell in place_of.values()))
    return [
        LevelRuns(cell=cell, metric=metric, levels={name: levels[name] for name in order if name in levels})
        for (cell, metric), levels in sorted(found.items(), key=lambda item: cells.index(item[0][0]))
    ]


def places_of(plan: Plan) -> dict[str, dict[str, str]]:
    """The properties that distinguish each cell, named as in the comparison; without those that all cells share."""
    label_of = places(plan) if compares_cells(plan) else {}
    found: dict[str, dict[str, str]] = {}
    for cell in plan.cells:
        if label_of and not label_of[cell.label][0]:
            continue
        properties = _properties(cell) | cell.key.without(plan.study.compare.arms).factors
        if plan.study.compares_workloads:
            properties["test"] = " against ".join(reversed(plan.study.compared))
        found[label_of.get(cell.label, ("", cell.label))[1]] = properties
    names = dict.fromkeys(name for properties in found.values() for name in properties)
    varied = [
        name
        for name in names
        if name in ("test", "record") or len({own.get(name) for own in found.values()}) > 1
    ]
    return {cell: {name: own[name] for name in varied if name in own} for cell, own in found.items()}


def _properties(cell: Cell) -> dict[str, str]:
    """The workload and sizes of a cell: cells of one set of tests share all of them but the test."""
    found, table, work = cell.key.properties, cell.key.table, cell.workload
    if isinstance(cell.job, Suite):
        found["file"] = format_bytes(cell.job.value.file_bytes)
    if work is not None:
        found |= {
            "record": format_bytes(work.record_bytes),
            "threads": str(work.threads),
            "depth": str(work.depth),
        }
    return found | ({"table": table} if table else {})


def _wear(content: JournalContent) -> list[Wear]:
    """The gauges of the drive's age before the first and after the last torture run of each cycle."""
    ends: dict[int, tuple[dict[str, int], dict[str, int]]] = {}
    for entry in picked(content, "torture"):
        counters = {key: values for key, values in entry.record.series.counters.items() if values}
        if counters:
            first, _ = ends.get(entry.cycle) or ({key: values[0] for key, values in counters.items()}, {})
            ends[entry.cycle] = (first, {key: values[-1] for key, values in counters.items()})
    return [
        Wear(words, cycle, float(first[key]), float(last[key]))
        for cycle, (first, last) in ends.items()
        for key, words in _WEAR.items()
        if key in first and key in last and (first[key] or last[key])
    ]
