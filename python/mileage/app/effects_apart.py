"""The effects of two causes of one study apart: the compared arms, and a second factor.

Scope: which runs are which arm of the four. Stages are compared at equal levels of the factor, levels in the last stage
that measures; the reference has the baseline of both. The runs of two stages are never made together, so none of the
effects is paired: their units are the cycles, of a single cycle its runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mileage.analysis.planned_comparison import compares_levels, stages_between
from mileage.app.answer import answer
from mileage.app.answer_side import AnswerSide, StudyReading
from mileage.app.published_results import published_next_to
from mileage.formats.published_results import shipped_study
from mileage.judge import Comparison, Sample
from mileage.judge.effects_apart import EffectsApart
from mileage.judge.published_score import PublishedComparison
from mileage.plan import Plan
from mileage.plan.study import Apart


class _Arm(NamedTuple):
    """A stage or level of the compared arms, and a level of the second factor."""

    first: str
    second: str


def effects_apart(plan: Plan, samples: Sequence[Sample], study: StudyReading | None) -> EffectsApart | None:
    """What each cause changes by itself, and both; None for a plan without a second cause. Raises Refused."""
    if plan.study.apart is None:
        return None
    apart = plan.study.apart.of(plan.study.factor[plan.study.apart.factor])
    low, high = plan.study.baseline or "", plan.study.candidate or ""
    base, changed = apart.baseline or "", apart.candidate or ""

    def effect(first: str, second: str) -> Comparison:
        sides = [_side(plan, samples, study, apart, arm) for arm in (_Arm(low, base), _Arm(first, second))]
        return answer(sides[0], sides[1], "causes")

    effects = (effect(high, base), effect(low, changed), effect(high, changed))
    others = [level for level in plan.study.factor[apart.factor].named if level not in (base, changed)]
    arms = plan.study.compare.arms
    by_level = f"{arms} {high} instead of {low}"
    between = " and ".join(stages_between(plan, low, high)) if not compares_levels(plan) else ""
    return EffectsApart(
        causes=apart.causes or (arms, apart.factor),
        stands_for=(between or by_level, f"{apart.factor} {changed} instead of {base}"),
        heads=(between or high, changed),
        first=effects[0],
        second=effects[1],
        both=effects[2],
        doses={level: effect(low, level) for level in others},
        published=_published(plan, samples, effects),
        note=apart.note,
    )


def _published(
    plan: Plan, samples: Sequence[Sample], effects: Sequence[Comparison]
) -> tuple[PublishedComparison, ...]:
    """The source of the study next to each effect."""
    name = plan.study.published
    if name is None:
        return ()
    source = shipped_study(name)
    return tuple(published_next_to(source, plan, samples, effect) for effect in effects)


def _side(
    plan: Plan, samples: Sequence[Sample], study: StudyReading | None, apart: Apart, arm: _Arm
) -> AnswerSide:
    """The runs of an arm; tests are called without the levels of what the arms differ in."""
    arms = plan.study.compare.arms
    of_levels = compares_levels(plan)
    cells = {}
    for cell in plan.cells:
        factors = cell.key.factors
        if factors[apart.factor] == arm.second and (not of_levels or factors[arms] == arm.first):
            cells[cell.label] = cell.key.without(apart.factor).without(arms).label
    stage = plan.study.measuring_stages[-1] if of_levels else arm.first
    name = f"{arm.first}, {apart.factor} {arm.second}"
    return AnswerSide(plan, samples, study, stage, name, cells, name)
