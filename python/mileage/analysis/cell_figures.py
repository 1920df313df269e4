"""Data of the charts of a study without a comparison: its cells side by side.

Scope: the first cells in the order of the table, as many as have room. A study whose runs keep
no series and no latencies has fewer pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from mileage.analysis.evidence import picked, places_of, tails_of, traces_of
from mileage.analysis.ior_layouts import planned_layouts
from mileage.analysis.rate_curves import rate_curves, scan_point
from mileage.model.journal_entries import Run
from mileage.plan import Plan
from mileage.report.aspects import level_words
from mileage.report.evidence import Evidence, LevelRuns, ScanPoint
from mileage.report.rate_curves import MOST_BARS
from mileage.store import MeasuredCell
from mileage.store.journal import JournalContent
from mileage.store.tables import each_test

CELLS_MAX: Final = 4
"""Cells whose lines are drawn in one picture, with room for their names."""


def pictured(plan: Plan, content: JournalContent, cells: Sequence[MeasuredCell]) -> tuple[Evidence, str]:
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
    evidence = Evidence(
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
