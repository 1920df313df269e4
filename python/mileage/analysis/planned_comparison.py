"""The comparison that a study's plan asks for: of stages, or of the levels of a factor.

What it models: which samples belong to which arm. Levels that were measured in the same randomised blocks are paired by
them; levels in blocked order, and labels, which were measured one after the other, are not.
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
from mileage.plan.factors import again, kind_of, named_levels

BLOCKED = (
    'one arm was measured after the other (order = "blocked"), so that any drift looks like a difference'
)


def compares_levels(plan: Plan) -> bool:
    """Whether the levels of a factor are compared, rather than stages."""
    return plan.study.compare.arms in plan.study.factor


def comparison_of(plan: Plan, samples: Iterable[Sample], vetoes: Sequence[str]) -> Comparison:
    """Judge the candidate of a plan against its baseline. Raises Refused when it has no two arms."""
    study = plan.study
    if study.baseline is None or study.candidate is None:
        raise Refused(f"{study.name} measures fewer than two stages or levels: there is nothing to compare")
    relevance = msgspec.structs.asdict(study.compare.relevance)
    if not compares_levels(plan):
        found = compare_stages(
            list(samples),
            baseline=study.baseline,
            candidate=study.candidate,
            relevance=relevance,
            vetoes=vetoes,
            tortured=tortured_between(plan, study.baseline, study.candidate),
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
    """Whether a study wears its target between two of its stages."""
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
    )


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
    """Of each cell's label: its level of the compared factor, and its label without that level."""
    factor = plan.study.compare.arms
    return {cell.label: (cell.key.factors[factor], cell.key.without(factor).label) for cell in plan.cells}


def aa_audit(plan: Plan, samples: Iterable[Sample]) -> Audit | None:
    """What the baseline measured twice says of the whole: two that cannot differ must not. None without such an arm."""
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
