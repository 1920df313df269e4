"""The comparison that a study's plan asks for: of stages, of the levels of a factor, or of two workloads.

Scope: which samples belong to which arm. Levels that were measured in the same randomised blocks are paired by
them; levels in blocked order, and labels, which were measured one after the other, are not. Two workloads are paired by
the block in which both were measured.
What it refuses: a study that has nothing to compare.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from mileage.errors import Refused
from mileage.judge import CellVerdict, Sample, compare_arms
from mileage.judge.comparison import HEADLINE_OF_MEASURE
from mileage.judge.samples import TORTURE
from mileage.judge.standings import CellStandings, standings
from mileage.model.caveat import Caveat, veto
from mileage.plan import Plan
from mileage.plan.cell_keys import workload_pairs
from mileage.plan.factors import again, named_levels


def compares_levels(plan: Plan) -> bool:
    """Whether a study compares levels of a factor rather than stages."""
    return plan.study.compare.arms in plan.study.factor


def compares_cells(plan: Plan) -> bool:
    """Whether a study compares cells of one stage (two levels or two workloads) rather than two stages."""
    return compares_levels(plan) or plan.study.compares_workloads


def arm_name(plan: Plan, side: str) -> str:
    """What the comparison calls an arm of a plan: a level together with its factor, a stage or workload by its name."""
    return f"{plan.study.compare.arms} {side}" if compares_levels(plan) else side


def compared_pair(plan: Plan) -> tuple[str, str]:
    """The baseline and the candidate of a plan. Raises Refused when it has no two arms."""
    study = plan.study
    if study.baseline is None or study.candidate is None:
        raise Refused(
            study.name,
            "measures fewer than two stages or levels: there is nothing to compare",
            code="too-few",
        )
    return study.baseline, study.candidate


def plan_of_cells(plan: Plan, cells: Collection[str]) -> Plan:
    """The plan with the targets of some cells alone: what is not compared has no part in what is said of them."""
    if not plan.settings:
        return plan
    used = dict.fromkeys(cell.setting for cell in plan.cells if cell.label in cells)
    settings = tuple(plan.settings[number] for number in used)
    if not settings:
        return plan
    return msgspec.structs.replace(
        plan,
        settings=settings,
        facts=plan.facts_of(settings[0]),
        others={setting.place: plan.facts_of(setting) for setting in settings},
    )


def order_caveats(plan: Plan) -> list[Caveat]:
    """Levels that were measured one after the other."""
    return [veto("blocked-order")] if plan.study.order == "blocked" else []


def listed_caveats(plan: Plan, pairs: Mapping[str, tuple[str, str]]) -> list[Caveat]:
    """Workloads of which one always came before the other."""
    listed = plan.study.order == "listed" and any(
        cell.job is None and cell.label in pairs for cell in plan.cells
    )
    return [veto("listed-order")] if listed and plan.imported is None else []


def tortured_between(plan: Plan, baseline: str, candidate: str) -> bool:
    """Whether a study wears its target between the two compared stages."""
    names = [stage.name for stage in plan.study.stage]
    low, high = sorted((names.index(baseline), names.index(candidate)))
    return any(stage.torture for stage in plan.study.stage[low:high])


def stages_between(plan: Plan, baseline: str, candidate: str) -> tuple[str, ...]:
    """The names of the stages between the two compared stages."""
    names = [stage.name for stage in plan.study.stage]
    low, high = sorted((names.index(baseline), names.index(candidate)))
    return tuple(names[low + 1 : high])


def pairs_of_workloads(plan: Plan, names: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """Workload and label without it of each cell of two workloads; a cell without a partner keeps its own label.

    Raises:
        Refused: no cell of one is otherwise equal to a cell of the other, or they are judged by different figures.
    """
    study = plan.study
    pairs = workload_pairs(names, plan.cells)
    kinds = {cell.kind for cell in plan.cells if cell.label in pairs}
    if not pairs or len(kinds) > 1:
        why = (
            f"have different main figures: {' and '.join(sorted(kinds))}"
            if kinds
            else "have no cell that is otherwise equal"
        )
        raise Refused(study.name, f"{names[0]} and {names[1]} {why}", code="nothing-in-common")
    alone = {
        cell.label: (cell.key.workload, cell.label)
        for cell in plan.cells
        if cell.key.workload in names and cell.label not in pairs
    }
    return {**pairs, **alone}


def standings_of(plan: Plan, samples: Iterable[Sample]) -> tuple[CellStandings, ...]:
    """Every level of the compared factor side by side, per cell in its headline metric; empty for two levels."""
    study = plan.study
    factor = study.compare.arms
    if not compares_levels(plan) or study.baseline is None:
        return ()
    levels = [name for name in named_levels(study, factor) if name != again(study.baseline)]
    stage = study.measuring_stages[-1]
    level = places(plan)
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for sample in samples:
        at, cell = level[sample.cell]
        is_compared = sample.stage == stage and sample.arm == "torture" and at in levels
        if is_compared and sample.metric == HEADLINE_OF_MEASURE.get(sample.measure):
            arms = found.setdefault((cell, sample.metric), {name: [] for name in levels})
            arms[at].append(sample.value)
    order = list(dict.fromkeys(cell for _, cell in level.values()))
    measured = [(key, arms) for key, arms in found.items() if sum(map(bool, arms.values())) > 2]
    measured.sort(key=lambda item: order.index(item[0][0]))
    return tuple(standings(cell, metric, arms) for (cell, metric), arms in measured)


def places(plan: Plan) -> dict[str, tuple[str, str]]:
    """Split each cell's label into its level of the compared factor and the rest.

    Where workloads are compared: the workload, and the label without it; of other cells, an empty text and the label.
    """
    if plan.study.compares_workloads:
        pairs = workload_pairs(plan.study.compared, plan.cells)
        return {cell.label: pairs.get(cell.label, ("", cell.label)) for cell in plan.cells}
    factor = plan.study.compare.arms
    return {cell.label: (cell.key.factors[factor], cell.key.without(factor).label) for cell in plan.cells}


def aa_differences(
    plan: Plan, samples: Iterable[Sample]
) -> tuple[list[CellVerdict], list[CellVerdict]] | None:
    """The baseline that was measured twice (A/A): the tests that were judged, and those that differ from themselves.

    None without such an arm.
    """
    study = plan.study
    if not study.aa or study.baseline is None:
        return None
    place, stage = places(plan), study.measuring_stages[-1]
    arms: dict[str, list[Sample]] = {study.baseline: [], again(study.baseline): []}
    for sample in samples:
        level, cell = place[sample.cell]
        if level in arms and sample.stage == stage and sample.arm == TORTURE:
            arms[level].append(msgspec.structs.replace(sample, cell=cell))
    names = (arm_name(plan, study.baseline), arm_name(plan, again(study.baseline)))
    found = compare_arms(
        *arms.values(),
        relevance=msgspec.structs.asdict(study.compare.relevance),
        paired=study.order == "random",
        labels=names,
        simulated=plan.virtual,
    )
    tested = [cell for cell in found.headline if cell.p_holm is not None and cell.ratio is not None]
    return tested, [cell for cell in tested if (cell.p_holm or 0.0) <= found.alpha]


def aa_caveats(plan: Plan, samples: Iterable[Sample]) -> list[Caveat]:
    """A baseline that differs from itself."""
    found = aa_differences(plan, samples)
    if found is None or not found[1]:
        return []
    tested, off = found
    return [veto("baseline-differs-from-itself", differing=len(off), tested=len(tested))]
