"""File layouts of IOR for the charts: of the runs that a plan has, and of the runs that a listing of IOR reports.

Scope: each layout once, however many cells have it. A run whose listing does not give all of tasks, segments, block,
transfer and kind of file exactly has no layout: IOR's CSV lacks most of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mileage.model.journal_entries import ImportedRun
from mileage.plan import Plan
from mileage.plan.sizes import whole_number
from mileage.plan.task_jobs import IorRun
from mileage.report.chart_data import Layout

_ACCESS: Final = {"single-shared-file": True, "file-per-process": False}
"""IOR's names of its two kinds of file, and whether all tasks share it."""


def planned_layouts(plan: Plan) -> list[Layout]:
    """The layouts of IOR among what the plan runs, each once: of patterns, and of runs of IOR."""
    found: list[Layout] = []
    cells: set[str] = set()
    for run in plan.runs:
        work = run.workload
        ior = getattr(work.pattern, "ior", None) if work is not None else None
        if run.cell in cells:
            continue
        cells.add(run.cell)
        if isinstance(run.job, IorRun):
            spec = run.job.value
            shape = (spec.tasks, spec.segments, spec.block_bytes, spec.transfer_bytes, spec.files == "shared")
            found.append(Layout(run.cell, *shape))
        elif work is not None and ior is not None:
            segments = max(1, work.span_bytes // (ior.block_bytes * work.threads))
            shape = (work.threads, segments, ior.block_bytes, work.record_bytes, work.files == "shared")
            found.append(Layout(run.cell, *shape))
    return each_layout_once(found)


def reported_layouts(runs: Sequence[ImportedRun]) -> list[Layout]:
    """The layouts that listings of IOR report, each once."""
    cells: dict[str, ImportedRun] = {}
    for run in runs:
        cells.setdefault(run.cell, run)
    return each_layout_once([layout for run in cells.values() if (layout := _reported(run))])


def each_layout_once(layouts: Sequence[Layout]) -> list[Layout]:
    """Layouts that differ in nothing but their names become one, which has all of these names."""
    names: dict[tuple[int, int, int, int, bool], list[str]] = {}
    for one in layouts:
        shape = (one.tasks, one.segments, one.block_bytes, one.transfer_bytes, one.shared)
        names.setdefault(shape, []).append(one.name)
    return [Layout(", ".join(dict.fromkeys(own)), *shape) for shape, own in names.items()]


def _reported(run: ImportedRun) -> Layout | None:
    printed = dict(zip(run.record.printed_names, run.record.printed_figures, strict=False))
    # The options of a listing round some sizes ("9.46 TiB"), its columns do not.
    block, transfer = (round(1024 * printed.get(column, 0.0)) for column in ("block(KiB)", "xfer(KiB)"))
    tasks, segments = (whole_number(run.levels.get(name, "")) for name in ("tasks", "segments"))
    shared = _ACCESS.get(run.levels.get("access", ""))
    if not (tasks and segments and block and transfer) or shared is None or block % transfer:
        return None
    return Layout(run.cell, tasks, segments, block, transfer, shared)
