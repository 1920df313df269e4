"""What a comparison compares, for its sentence: the work of each cell, the target, the wear between stages.

Scope: facts of the plan. Bytes of a wear stage are those of the plan; they are omitted where a stop
rule may have ended it earlier.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal

from mileage.judge import Comparison
from mileage.judge.comparison import RESAMPLING_SEED, Work
from mileage.judge.mean_over_cells import MeanRatio, mean_ratio
from mileage.plan import Plan
from mileage.plan.estimate import bytes_written
from mileage.plan.workload import Workload

_SUBJECTS: Final[dict[str, Literal["drive", "file system", "file"]]] = {"dir": "file system", "file": "file"}


def groups(found: Comparison, plan: Plan, labels: Mapping[str, str]) -> dict[str, MeanRatio]:
    """Headline cells grouped by workload; empty where the cells share no unit. Reads and writes never mix.

    `labels`: of each cell of the plan that is compared, its label in the comparison.
    """
    if found.overall is None or plan.study.compares_workloads:
        return {}
    workloads = {labels[cell.label]: cell.key.workload for cell in plan.cells if cell.label in labels}
    logs: dict[str, list[list[float]]] = {}
    for cell in found.headline:
        if cell.cell not in workloads:
            return {}
        logs.setdefault(workloads[cell.cell], []).append([math.log(ratio) for ratio in cell.unit_ratios])
    return {
        workload: mean_ratio(cells, seed=RESAMPLING_SEED)
        for workload, cells in logs.items()
        if len({len(cell) for cell in cells}) == 1 and len(cells[0]) > 1
    }


def work_of(plan: Plan, labels: Mapping[str, str]) -> dict[str, Work]:
    """What each compared cell does, for cells of which that is one plain thing that no other cell does.

    `labels`: of each cell of the plan that is compared, its label in the comparison.
    """
    found: dict[str, Work | None] = {}
    for cell in plan.cells:
        if cell.label in labels:
            label, work = labels[cell.label], None if cell.workload is None else _work(cell.workload)
            found[label] = work if found.get(label, work) == work else None
    counts = Counter(found.values())
    return {label: work for label, work in found.items() if work is not None and counts[work] == 1}


def _work(workload: Workload) -> Work | None:
    order = _pattern(workload)
    if workload.read_percent not in (0, 100) or workload.discard_percent:
        return None
    if order not in ("sequential", "random"):
        return None
    direction: Literal["read", "write"] = "read" if workload.read_percent else "write"
    kind: Literal["sequential", "random"] = "random" if order == "random" else "sequential"
    return Work(direction, workload.record_bytes, kind)


def _pattern(workload: Workload) -> str:
    """The name of its pattern; empty for one with settings of its own, which has no plain words."""
    return workload.pattern if isinstance(workload.pattern, str) else ""


def subject_of(plan: Plan) -> Literal["drive", "file system", "file"]:
    """The thing that is compared with itself between two stages."""
    return _SUBJECTS.get(plan.facts.kind, "drive")


def wear_of(plan: Plan, baseline: str, candidate: str) -> tuple[int | None, str]:
    """The bytes written between two stages of a cycle, and their order ("sequential", "random" or empty).

    None if they are not known for certain.
    """
    names = [stage.name for stage in plan.study.stage]
    low, high = sorted((names.index(baseline), names.index(candidate)))
    between = names[low:high]
    runs = [
        run
        for run in plan.runs
        if run.role == "torture" and run.arm == "torture" and run.stage in between and run.cycle == 1
    ]
    stops = [run.workload.stop for run in runs if run.workload is not None]
    certain = len(stops) == len(runs) and all(stop.bytes and not stop.time_ns for stop in stops)
    rounds = any(plan.study.torture[run.torture].rounds > 1 for run in runs)
    if not runs or not certain or rounds or len({run.setting for run in runs}) > 1:
        return None, ""
    patterns = {_pattern(run.workload) for run in runs if run.workload is not None}
    one = patterns.pop() if len(patterns) == 1 else ""
    return bytes_written(runs), one if one in ("sequential", "random") else ""
