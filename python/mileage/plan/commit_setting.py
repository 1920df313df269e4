"""What a time of a commit depends on besides the storage: the writes of each, how many at once, and where they go.

Scope: what a plan states. A file system has more to make durable where a write allocates blocks or changes the length
of its file (append), or is the first to a block that was only allocated, than where it overwrites.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mileage.model.target_kind import capabilities_of
from mileage.plan.planned_runs import Cell, Plan

Layout = Literal["append", "preallocated", "overwrite", "device"]
"""Where writes go: behind the end of a new file; into blocks that were allocated and not written before the first run;
into blocks that were written; to a device without a file."""
_APPENDING: Final = frozenset(("iozone.write", "iozone.fwrite", "ior.write"))
"""Tests that make their file by writing it."""


class CommitSetting(msgspec.Struct, frozen=True):
    """The conditions of the commits of a cell."""

    writes: float
    """Writes of each commit, on average."""
    threads: int
    """Threads, each of which makes its own commits."""
    depth: int
    """Writes that each thread may have outstanding."""
    layout: Layout


def commit_setting(plan: Plan, cell: Cell, writes: float) -> CommitSetting:
    """The conditions of a cell's commits; `writes`: of each, as measured."""
    work = cell.workload
    threads = cell.key.threads or (work.threads if work is not None else 1)
    return CommitSetting(writes, threads, work.depth if work is not None else 1, _layout(plan, cell))


def _layout(plan: Plan, cell: Cell) -> Layout:
    target = plan.settings[cell.setting].target if plan.settings else plan.study.target
    kind = capabilities_of(target)
    if cell.job is not None:
        return "append" if cell.key.workload in _APPENDING else "overwrite"
    if not (kind.has_host or kind.has_work_file):
        return "device"
    # A modelled host writes its work file. A real one is allocated, which leaves its blocks unwritten.
    measured = next((run.index for run in plan.runs if run.cell in (cell.label, cell.unit)), 0)
    is_written = any(run.role in ("prepare", "torture") and run.index < measured for run in plan.runs)
    return "overwrite" if kind.has_host or kind.in_place or is_written else "preallocated"
