"""Counts of a study that were found by trials: a plan as it was done, with each cell's count times its factor.

Scope: workloads and work on files of cells with `stop.at_least`, for texts that list what was done. The plan of a
study keeps the counts with which the trials began.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mileage.model.journal_entries import LengthFactor
from mileage.plan.cell_keys import name_test_of
from mileage.plan.planned_runs import Cell, Plan
from mileage.plan.workload import Workload


def shared_units(plan: Plan) -> dict[str, tuple[str, str]]:
    """Units of cells of work on names, with what has one number of files together: the table, and the test or set."""
    tests = {cell.unit: (cell.table, name_test_of(cell)) for cell in plan.cells}
    return {unit: (table, test) for unit, (table, test) in tests.items() if test is not None}


def scaled_workload(workload: Workload, factor: int) -> Workload:
    """The workload with its bytes and operations multiplied; a time limit stays."""
    stop = workload.stop
    more = msgspec.structs.replace(
        stop,
        bytes=None if stop.bytes is None else stop.bytes * factor,
        operations=None if stop.operations is None else stop.operations * factor,
    )
    return msgspec.structs.replace(workload, stop=more)


def with_found_counts(plan: Plan, found: Iterable[LengthFactor]) -> Plan:
    """The plan with the counts of its cells multiplied by the factors that were found; itself without any."""
    shares = shared_units(plan)
    factors: dict[object, int] = {}
    for entry in found:
        factors[shares.get(entry.cell, entry.cell) if entry.shared else entry.cell] = entry.factor
    if not factors:
        return plan
    cells = [
        _scaled(cell, factors.get(cell.unit) or factors.get(shares.get(cell.unit), 1)) for cell in plan.cells
    ]
    return msgspec.structs.replace(plan, cells=tuple(cells))


def _scaled(cell: Cell, factor: int) -> Cell:
    if cell.job is not None:
        return msgspec.structs.replace(cell, job=cell.job.scaled(factor))
    if cell.workload is not None:
        return msgspec.structs.replace(cell, workload=scaled_workload(cell.workload, factor))
    return cell
