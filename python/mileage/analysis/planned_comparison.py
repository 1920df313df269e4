"""The comparison that a study's plan asks for: of stages, of the levels of a factor, or of two workloads.

Scope: which samples belong to which arm. Levels that were measured in the same randomised blocks are paired by
them; levels in blocked order, and labels, which were measured one after the other, are not. Two workloads are paired by
the block in which both were measured.
What it refuses: a study that has nothing to compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mileage.analysis.device_class import short_classes
from mileage.errors import Refused
from mileage.judge import Comparison, Sample, compare_arms, compare_stages
from mileage.judge.audit import Audit
from mileage.judge.comparison import HEADLINE_OF_MEASURE
from mileage.judge.standings import CellStandings, standings
from mileage.plan import Plan
from mileage.plan.cell_keys import workload_pairs
from mileage.plan.factors import again, kind_of, named_levels

BLOCKED = (
    'one arm was measured after the other (order = "blocked"), so that any drift looks like a difference'
)
LISTED = (
    'one workload always came before the other (order = "listed"), so that any drift looks like a difference'
)


def compares_levels(plan: Plan) -> bool:
    """Whether a study compares levels of a factor rather than stages."""
    return plan.study.compare.arms in plan.study.factor


def compares_cells(plan: Plan) -> bool:
    """Whether a study compares cells of one stage (two levels or two workloads) rather than two stages."""
    return compares_levels(plan) or plan.study.compares_workloads


def arm_name(plan: Plan, side: str) -> str:
    """What the comparison calls an arm of a plan: a level together with its factor, a stage or workload by its name."""
    return f"{plan.study.compare.arms} {side}" if compares_levels(plan) else side


def comparison_of(plan: Plan, samples: Iterable[Sample], vetoes: Sequence[str]) -> Comparison:
    """Judge the candidate of a plan against its baseline. Raises Refused when it has no two arms."""
    study = plan.study
    if study.baseline is None or study.candidate is None:
        raise Refused(
            study.name,
            "measures fewer than two stages or levels: there is nothing to compare",
            code="too-few",
        )
    relevance = msgspec.structs.asdict(study.compare.relevance)
    if study.compares_workloads:
        return compare_workloads(plan, samples, (study.baseline, study.candidate), vetoes)
    if not compares_levels(plan):
        found = compare_stages(
            list(samples),
            baseline=study.baseline,
            candidate=study.candidate,
            relevance=relevance,
            vetoes=vetoes,
            tortured=tortured_between(plan, study.baseline, study.candidate),
            simulated=plan.virtual,
        )
        return classed(found, plan, plan)
    every = list(samples)
    audit = aa_audit(plan, every)
    reasons = [*vetoes, *([BLOCKED] if study.order == "blocked" else [])]
    reasons += [audit.veto] if audit is not None and audit.veto is not None else []
    found = compare_levels(plan, every, study.baseline, study.candidate, reasons)
    return classed(found, plan, plan, (study.baseline, study.candidate))


def classed(found: Comparison, first: Plan, second: Plan, levels: tuple[str, str] = ("", "")) -> Comparison:
    """The comparison with the class of the device of each side: of a level, or of a plan that measured one class."""
    sides = zip((first, second), levels, strict=True)
    one, other = (
        short.get(level, short.get("", "")) for short, level in ((short_classes(p), at) for p, at in sides)
    )
    return msgspec.structs.replace(found, classes=(one, other))


def tortured_between(plan: Plan, baseline: str, candidate: str) -> bool:
    """Whether a study wears its target between the two compared stages."""
    names = [stage.name for stage in plan.study.stage]
    low, high = sorted((names.index(baseline), names.index(candidate)))
    return any(stage.torture for stage in plan.study.stage[low:high])


def compare_levels(
    plan: Plan, samples: Iterable[Sample], baseline: str, candidate: str, vetoes: Sequence[str] = ()
) -> Comparison:
    """Judge one level of the compared factor against another, at equal levels of all others, in the last stage."""
    study = plan.study
    factor = study.compare.arms
    stage = study.measuring_stages[-1]
    level = places(plan)
    arms: dict[str, list[Sample]] = {baseline: [], candidate: []}
    for sample in samples:
        at, cell_label = level[sample.cell]
        if at in arms and sample.stage == stage and sample.arm == "torture":
            arms[at].append(msgspec.structs.replace(sample, cell=cell_label))
    label = kind_of(factor, study.factor[factor]) == "label"
    paired = study.order == "random" and not label
    return compare_arms(
        arms[baseline],
        arms[candidate],
        relevance=msgspec.structs.asdict(study.compare.relevance),
        paired=paired,
        labels=(f"{factor} {baseline}", f"{factor} {candidate}"),
        vetoes=tuple(vetoes),
        one_session=label,
        simulated=plan.virtual,
    )


def compare_workloads(
    plan: Plan,
    samples: Iterable[Sample],
    names: tuple[str, str],
    vetoes: Sequence[str] = (),
    stage: str | None = None,
) -> Comparison:
    """Judge the second of two workloads against the first, in the cells that are otherwise equal, paired by block.

    `stage`: default the last one that measures.

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
    arms: dict[str, list[Sample]] = {name: [] for name in names}
    for sample in samples:
        name, cell = pairs.get(sample.cell, ("", ""))
        if name and sample.stage == (stage or study.measuring_stages[-1]) and sample.arm == "torture":
            arms[name].append(msgspec.structs.replace(sample, cell=cell))
    listed = study.order == "listed" and any(cell.job is None and cell.label in pairs for cell in plan.cells)
    found = compare_arms(
        arms[names[0]],
        arms[names[1]],
        relevance=msgspec.structs.asdict(study.compare.relevance),
        paired=True,
        labels=names,
        simulated=plan.virtual,
        vetoes=(*vetoes, *([LISTED] if listed and plan.imported is None else [])),
    )
    alone = [
        tuple(c.label for c in plan.cells if c.key.workload == name and c.label not in pairs)
        for name in names
    ]
    found = msgspec.structs.replace(found, only_baseline=alone[0], only_candidate=alone[1])
    return classed(found, plan, plan)


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


def aa_audit(plan: Plan, samples: Iterable[Sample]) -> Audit | None:
    """Audit of the baseline that was measured twice (A/A): a difference between the two is a false alarm.

    None without such an arm.
    """
    study = plan.study
    if not study.aa or study.baseline is None:
        return None
    found = compare_levels(plan, samples, study.baseline, again(study.baseline))
    tested = [cell for cell in found.headline if cell.p_holm is not None and cell.ratio is not None]
    if not tested:
        return Audit("A/A", "unknown", "the baseline was not measured twice often enough to compare", None)
    off = [cell for cell in tested if cell.p_holm is not None and cell.p_holm <= found.alpha]
    worst = max(tested, key=lambda cell: abs((cell.ratio or 1.0) - 1.0))
    largest = f"largest difference {(worst.ratio or 1.0) - 1.0:+.1%} ({worst.cell})"
    if off:
        text = f"{len(off)} of {len(tested)} cells of the baseline differ from themselves; {largest}"
        veto = f"the baseline measured twice differs from itself in {len(off)} of {len(tested)} cells"
        return Audit("A/A", "bad", text, veto)
    return Audit("A/A", "ok", f"the baseline measured twice does not differ from itself; {largest}", None)
