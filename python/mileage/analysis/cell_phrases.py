"""Plain phrases for the verdict sentence: the activity of each cell, the target, the wear between stages.

Scope: plain words for workloads that have them ("writes 128 KiB blocks in sequence"). A cell without such words, or
with the words of another, keeps its label. Bytes of a wear stage are those of the plan; they are omitted where a stop
rule may have ended it earlier.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from msgspec.structs import replace

from mileage.analysis.assumptions import model_miss
from mileage.analysis.planned_comparison import compares_cells, compares_levels, places
from mileage.judge import Comparison
from mileage.judge.comparison import RESAMPLING_SEED
from mileage.judge.mean_over_cells import MeanRatio, mean_ratio
from mileage.plan import Plan
from mileage.plan.estimate import bytes_written
from mileage.plan.sizes import format_bytes
from mileage.plan.workload import Workload
from mileage.report.served_drives import served_words

_ORDERS: Final = {"sequential": " in sequence", "random": " at random"}
_SUBJECTS: Final = {"dir": "this file system", "file": "this file"}
_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"))


def with_phrases(found: Comparison, plan: Plan) -> Comparison:
    """The comparison of a study with its phrases."""
    wear = (
        wear_words(plan, found.baseline, found.candidate) if found.tortured and found.kind == "stages" else ""
    )
    return replace(
        found,
        simulated=plan.facts.virtual,
        served=served_words(plan),
        subject=subject(plan),
        wear=wear,
        activities=activities(plan),
        groups=groups(found, plan),
        model_miss=model_miss(plan),
    )


def groups(found: Comparison, plan: Plan) -> dict[str, MeanRatio]:
    """Headline cells grouped by workload; empty where the cells share no unit. Reads and writes never mix."""
    if found.overall is None or plan.study.compares_workloads:
        return {}
    place_of = places(plan) if compares_levels(plan) else {}
    workloads = {place_of.get(cell.label, ("", cell.label))[1]: cell.key.workload for cell in plan.cells}
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


def activities(plan: Plan) -> dict[str, str]:
    """Map each compared cell's label to its activity in words, such as "reads 4 KiB blocks at random"."""
    place_of = places(plan) if compares_cells(plan) else {}
    found: dict[str, str] = {}
    for cell in plan.cells:
        label = place_of.get(cell.label, ("", cell.label))[1]
        phrase = "" if cell.workload is None else _activity(cell.workload)
        found[label] = phrase if found.get(label, phrase) == phrase else ""
    counts = Counter(found.values())
    return {label: phrase for label, phrase in found.items() if phrase and counts[phrase] == 1}


def _activity(workload: Workload) -> str:
    order = _ORDERS.get(_pattern(workload))
    if order is None or workload.read_percent not in (0, 100) or workload.discard_percent:
        return ""
    verb = "reads" if workload.read_percent else "writes"
    return f"{verb} {format_bytes(workload.record_bytes)} blocks{order}"


def _pattern(workload: Workload) -> str:
    """The name of its pattern; empty for one with settings of its own, which has no plain words."""
    return workload.pattern if isinstance(workload.pattern, str) else ""


def subject(plan: Plan) -> str:
    """The thing that is compared with itself between two stages, such as "this drive"."""
    is_model = plan.facts.virtual or (plan.facts.kind == "block" and served_words(plan))
    return "this simulated drive" if is_model else _SUBJECTS.get(plan.facts.kind, "this drive")


def wear_words(plan: Plan, baseline: str, candidate: str) -> str:
    """The amount written between two stages of a cycle, such as "190 GiB of writes".

    Empty if it is not known for certain.
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
        return ""
    patterns = {_pattern(run.workload) for run in runs if run.workload is not None}
    kind = f"{patterns.pop()} " if len(patterns) == 1 and patterns <= _ORDERS.keys() else ""
    size = bytes_written(runs)
    per_unit, unit = next(((per, unit) for per, unit in _UNITS if size >= per), (1, "bytes"))
    return f"{size / per_unit:.3g} {unit} of {kind}writes"
