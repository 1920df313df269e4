"""Check that the parts of a plan read from a file fit together: runs, cells, settings, stages and tables.

Scope: what every reader of a plan takes for granted and the types do not say. A plan that `resolve` made is
consistent; one that was edited by hand, with a right hash, need not be.
It names the first thing that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator

from mileage.plan.factors import named_levels
from mileage.plan.planned_runs import Plan


def inconsistency(plan: Plan) -> str | None:
    """The first thing in a plan that does not fit the rest; None when all does."""
    return next(_all(plan), None)


def _all(plan: Plan) -> Iterator[str]:
    yield from _of_study(plan)
    yield from _of_settings(plan)
    labels = [cell.label for cell in plan.cells]
    if len(set(labels)) < len(labels):
        yield "two cells have one label"
    for cell in plan.cells:
        if plan.imported is None and cell.table not in plan.study.measure:
            yield f"cell {cell.label!r} is of [measure.{cell.table}], which is no table"
        if cell.key.workload and cell.key.label != cell.label:
            yield f"cell {cell.label!r} has the key of {cell.key.label!r}"
        if cell.key.workload and len(plan.settings) > 1 and set(cell.key.factors) != set(plan.study.factor):
            yield f"the key of cell {cell.label!r} has other factors than the study"
    yield from _of_runs(plan)


def _of_study(plan: Plan) -> Iterator[str]:
    study = plan.study
    stages = [stage.name for stage in study.stage]
    if len(set(stages)) < len(stages):
        yield "two stages have one name"
    for at, stage in enumerate(study.stage):
        if isinstance(stage.measure, str) and stage.measure not in stages[:at]:
            yield f"stage {stage.name} measures as {stage.measure!r}, which is no earlier stage"
        measured = stage.measure if isinstance(stage.measure, tuple) else ()
        for name in measured:
            if name not in study.measure:
                yield f"stage {stage.name} measures {name!r}, which is no table"
    writing = {(run.stage, run.cell) for run in plan.runs if run.workload is not None}
    for stage in study.stage:
        for name in (*(stage.torture or ()), *(stage.prepare or ())):
            if name not in study.torture or (stage.name, name) not in writing:
                yield f"stage {stage.name} names {name!r}, which is no [torture] table or has no run in the plan"
    if (factor := study.compare.arms) in study.factor:
        arms: list[str] = list(named_levels(study, factor)) if study.factor[factor].named else []
        if not arms:
            yield f"factor {factor} has no level"
        elif not study.measuring_stages:
            yield f"the levels of {factor} are compared, and no stage measures"
    elif study.compares_workloads:
        arms = list(dict.fromkeys(cell.key.workload for cell in plan.cells))
    else:
        arms = list(study.measuring_stages)
    for arm in (study.compare.baseline, study.compare.candidate):
        if arm is not None and arm not in arms:
            yield f"{arm!r} is compared, which is none of {', '.join(arms)}"


def _of_settings(plan: Plan) -> Iterator[str]:
    factors = set(plan.study.factor)
    if factors and not plan.settings:
        yield "there are factors, and no setting"
    for setting in plan.settings:
        if setting.levels.keys() != factors:
            yield f"a setting has levels of {', '.join(setting.levels)}, expected {', '.join(factors)}"
        for name, level in setting.levels.items():
            if name in factors and level not in named_levels(plan.study, name):
                yield f"a setting has level {level!r} of {name}, which the study does not have"
    numbers = [cell.setting for cell in plan.cells] + [run.setting for run in plan.runs]
    if any(not 0 <= number < max(len(plan.settings), 1) for number in numbers):
        yield f"a cell or run has another setting than the {len(plan.settings)} that there are"


def _of_runs(plan: Plan) -> Iterator[str]:
    stages = {stage.name for stage in plan.study.stage}
    labels = {cell.label for cell in plan.cells}
    units = {cell.unit or cell.label for cell in plan.cells}
    for index, run in enumerate(plan.runs):
        if run.index != index:
            yield f"run {run.index} is in place {index}"
        if run.stage not in stages:
            yield f"run {index} is of stage {run.stage!r}, which the study does not have"
        if run.role == "measure" and run.cell not in (labels if run.job is None else units):
            yield f"run {index} measures {run.cell!r}, which is no cell"
        if run.role in ("torture", "prepare") and run.torture not in plan.study.torture:
            yield f"run {index} writes as {run.cell!r}, which is no table"
        if run.mirrors is not None and not 0 <= run.mirrors < index:
            yield f"run {index} mirrors run {run.mirrors}, which is not before it"
