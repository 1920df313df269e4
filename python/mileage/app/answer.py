"""The answer to a question: two sides of one study, or of two, judged once, with everything that stands against it.

Scope: whatever is compared (stages, levels, workloads, studies, imports) is two `AnswerSide`s, and `answer` is the one
function that makes a `Comparison` of them; every door shows that value. With the sides exchanged, ratios are
inverted and the caveats are the same, each of the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from mileage.analysis.cell_phrases import groups, subject_of, wear_of, work_of
from mileage.analysis.device_class import short_classes
from mileage.analysis.disturbance_caveats import (
    disturbance_caveats,
    group_limit_caveats,
    runs_by_test,
    short_run_caveats,
)
from mileage.analysis.drive_state import drive_state, state_caveats
from mileage.analysis.environment_caveats import environment_caveats, stage_environment
from mileage.analysis.imported_study import differing_settings
from mileage.analysis.imported_study import study_caveats as imported_caveats
from mileage.analysis.level_names import level_names, readable_standings
from mileage.analysis.model_band import model_band
from mileage.analysis.planned_comparison import (
    aa_caveats,
    compared_pair,
    compares_levels,
    listed_caveats,
    order_caveats,
    pairs_of_workloads,
    places,
    stages_between,
    standings_of,
    tortured_between,
)
from mileage.analysis.run_facts import RunReading
from mileage.analysis.setting_differences import setting_differences
from mileage.analysis.side_caveats import (
    few_operations_caveats,
    held_rates,
    model_caveats,
    rate_limit_caveats,
    study_caveats,
)
from mileage.app.answer_side import NO_PAST, AnswerSide, Past, StudyReading, in_sessions
from mileage.app.notebook_view import shown
from mileage.formats.number_parser import fio_size
from mileage.judge import Comparison, Sample, compare_arms, compare_stages
from mileage.judge.comparison import CutLoss, Work, cells_without
from mileage.judge.history import level_caveats
from mileage.judge.model_band import ModelBand
from mileage.judge.overload import ACHIEVED_MIN
from mileage.model.caveat import BOTH, Caveat, Side, limit, note
from mileage.model.journal_entries import ImportedRun
from mileage.plan import Plan
from mileage.plan.factors import kind_of
from mileage.plan.sizes import whole_number

T = TypeVar("T")
Kind = Literal["stages", "levels", "workloads", "causes", "studies"]


def answer(
    baseline: AnswerSide,
    candidate: AnswerSide,
    kind: Kind,
    *,
    paired: bool = False,
    past: Past = NO_PAST,
    by_session: bool = False,
    extra: Sequence[Caveat] = (),
) -> Comparison:
    """Judge the candidate against the baseline, with every caveat of both.

    `by_session`: whether the two may have been measured in sessions of their own. `past`: what other sessions say of
    the spread, or of the level that the baseline holds.
    """
    sides = (baseline, candidate)
    lacking = _missing(baseline, candidate) if kind != "stages" else []
    caveats = [*extra, *_own_caveats(sides, kind), *_between(sides, kind), *lacking]
    margins, differing = _margins(sides)
    found = _judged(
        sides, kind, margins, [*caveats, *differing], paired=paired, past=past, by_session=by_session
    )
    found = replace(found, caveats=(*found.caveats, *_run_caveats(found, sides)))
    return shown(_described(found, sides, kind))


def _judged(
    sides: tuple[AnswerSide, AnswerSide],
    kind: Kind,
    margins: Mapping[str, float],
    caveats: Sequence[Caveat],
    *,
    paired: bool,
    past: Past,
    by_session: bool,
) -> Comparison:
    baseline, candidate = sides
    simulated = all(side.measured_plan.virtual for side in sides)
    fixed = frozenset(
        test
        for caveat in caveats
        if caveat.code == "rate-limited" and len(caveat.sides) == 2
        for test in caveat.tests
    )
    if kind == "stages":
        return compare_stages(
            baseline.all_samples,
            baseline=baseline.stage,
            candidate=candidate.stage,
            relevance=margins,
            tortured=tortured_between(baseline.plan, baseline.stage, candidate.stage),
            caveats=caveats,
            simulated=simulated,
            fixed_rate=fixed,
        )
    if by_session:
        left, right, others, level, own = in_sessions(baseline, candidate, past)
    else:
        left, right, others, level, own = baseline.samples, candidate.samples, [], None, ()
    caveats = [*caveats, *own, *level_caveats(level)]
    common = {sample.cell for sample in left} & {sample.cell for sample in right}
    found = compare_arms(
        [sample for sample in left if sample.cell in common],
        [sample for sample in right if sample.cell in common],
        relevance=margins,
        paired=paired,
        labels=(baseline.name, candidate.name),
        caveats=caveats,
        simulated=simulated,
        fixed_rate=fixed,
        history=others,
        worse_only=past.is_history,
    )
    return replace(
        found,
        only_baseline=cells_without(left, right),
        only_candidate=cells_without(right, left),
        renamed=tuple(_renamed(sides).items()) if kind == "studies" else (),
        history=level,
    )


def _missing(baseline: AnswerSide, candidate: AnswerSide) -> list[Caveat]:
    """A caveat for each side that lacks tests of the other."""
    left, right = (_measured(side) for side in (baseline, candidate))
    alone: list[tuple[Side, set[str]]] = [("candidate", left - right), ("baseline", right - left)]
    return [limit("missing-tests", tests=tuple(sorted(tests))).of(side) for side, tests in alone if tests]


def _measured(side: AnswerSide) -> set[str]:
    return {sample.cell for part in side.parts for sample in part.samples}


def _of_each(sides: Iterable[T], caveats_of_one: Callable[[T], Iterable[Caveat]]) -> list[Caveat]:
    """The caveats of both sides, each of its own."""
    return [
        caveat.of(name) for side, name in zip(sides, BOTH, strict=True) for caveat in caveats_of_one(side)
    ]


def _own_caveats(sides: tuple[AnswerSide, AnswerSide], kind: Kind) -> list[Caveat]:
    """What each side's runs, and the drives that they ran on, say against a conclusion."""
    baseline, candidate = sides
    models = _of_each(sides, lambda side: model_caveats(side.measured_plan))
    if kind != "studies":
        stages, cells = (baseline.stage, candidate.stage), {**baseline.cells, **candidate.cells}
        found = [] if baseline.study is None else caveats_of(baseline.study, cells, stages)
        return [*found, *_joined(models)]

    def of_runs(side: AnswerSide) -> Iterator[Caveat]:
        for part in side.parts:
            if part.study is not None:
                yield from caveats_of(part.study, part.cells, (part.stage,))

    return _joined([*_distinct(_of_each(sides, of_runs)), *models])


def caveats_of(study: StudyReading, cells: Collection[str], stages: Collection[str]) -> list[Caveat]:
    """What speaks against a conclusion from the runs of some cells in some stages of a study, or limits it."""
    reading = study.reading()
    few = {place: count for place, count in reading.few_operations.items() if place[0] in cells}
    found = few_operations_caveats(few)
    if study.plan.imported is not None:
        return [*imported_caveats(study.plan, study.folder, cells), *found]
    saved = dict(study.folder.environments())
    own = study_caveats(study.plan, study.content(), reading.seen, study.outcome(), saved, cells, stages)
    return [*own, *found]


def _run_caveats(found: Comparison, sides: tuple[AnswerSide, AnswerSide]) -> list[Caveat]:
    """What disturbed the compared runs, and how short they were."""
    both = [_runs_of(side) for side in sides]
    short = _of_each(both, lambda runs: [*group_limit_caveats(runs), *short_run_caveats(runs)])
    return [*disturbance_caveats(found, *both), *_joined(short)]


def _runs_of(side: AnswerSide) -> dict[str, list[RunReading]]:
    """The measured runs of each test of a side; none of another tool, or of simulated time."""
    found: dict[str, list[RunReading]] = {}
    for part in side.parts:
        if part.study is not None and not part.is_imported and not part.measured_plan.virtual:
            own = runs_by_test(part.study.reading().seen, part.cells, part.stage)
            for test, runs in own.items():
                found.setdefault(test, []).extend(runs)
    return found


def _joined(caveats: Sequence[Caveat]) -> list[Caveat]:
    """Caveats with those that both sides have in common as one of both."""
    found: list[Caveat] = []
    for caveat in caveats:
        twin = next((one for one in found if one.sides != caveat.sides and one.of() == caveat.of()), None)
        if twin is None:
            found.append(caveat)
        else:
            found[found.index(twin)] = twin.of("baseline", "candidate")
    return found


def _between(sides: tuple[AnswerSide, AnswerSide], kind: Kind) -> list[Caveat]:
    """In what the two sides differ apart from what is compared."""
    if kind != "studies":
        return rate_limit_caveats(*map(_held_rates, sides))
    # The journal of each study is read once, and not once for each study of the other side.
    parts, others = ([(part, _held_rates(part)) for part in side.parts] for side in sides)
    found: list[Caveat] = []
    for one, held in parts:
        for other, held_too in others:
            found += [*rate_limit_caveats(held, held_too), *_between_studies((one, other))]
    return _distinct(found)


def _distinct(caveats: Sequence[Caveat]) -> list[Caveat]:
    """Caveats without those that say the same of other studies of a side."""
    return list({msgspec.json.encode(caveat): caveat for caveat in caveats}.values())


def _between_studies(sides: tuple[AnswerSide, AnswerSide]) -> list[Caveat]:
    """In what two studies differ."""
    baseline, candidate = sides
    if baseline.study is None or candidate.study is None:
        return []
    studies = (baseline.study, candidate.study)
    ours = {label: cell for cell, label in baseline.cells.items()}
    names = {theirs: ours[label] for theirs, label in candidate.cells.items() if label in ours}
    found: list[Caveat] = []
    if renamed := _renamed(sides):
        pairs = "; ".join(f"{theirs} is {own}" for theirs, own in renamed.items())
        found.append(note("renamed-tests", pairs=pairs))
    if baseline.is_imported or candidate.is_imported:
        first, second = ((study.plan, study.folder) for study in studies)
        return [*found, *differing_settings(first, second, names)]
    # Simulated time depends on no machine.
    machines = [
        {}
        if side.plan.virtual
        else stage_environment(side.plan, dict(study.folder.environments()), side.stage)
        for side, study in zip(sides, studies, strict=True)
    ]
    runs = [
        study.reading().seen.of(side.cells, (side.stage,)) for side, study in zip(sides, studies, strict=True)
    ]
    states = [drive_state([run.began for run in own if run.began is not None]) for own in runs]
    found += setting_differences(studies[0].plan_as_done(), studies[1].plan_as_done(), names)
    return [*found, *environment_caveats(machines[0], machines[1]), *state_caveats(states[0], states[1])]


def _renamed(sides: tuple[AnswerSide, AnswerSide]) -> dict[str, str]:
    """The measured cells that the candidate calls otherwise: its label, and the baseline's."""
    baseline, candidate = sides
    measured = _measured(baseline)
    return {theirs: ours for theirs, ours in candidate.cells.items() if theirs != ours and ours in measured}


def _held_rates(side: AnswerSide) -> dict[str, float]:
    """Limits that the load set and the runs of a side met, by the label in the comparison."""
    if side.is_imported:
        held = {} if side.study is None else _imported_held_rates(side.study.content().imported_runs())
    else:
        own = [s for s in side.all_samples if s.stage == side.stage and s.cell in side.cells]
        held = held_rates(side.plan, own)
    return {side.cells[label]: per_s for label, per_s in held.items() if label in side.cells}


def _imported_held_rates(runs: Iterable[ImportedRun]) -> dict[str, float]:
    """The limits that runs of fio met, whose `rate_iops` and `rate` hold for each of its jobs."""
    met: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        done, levels = run.record.reported, run.levels
        limits = (
            (done.ops_per_s, whole_number(levels.get("rate_iops", ""))),
            (done.rate_bytes_per_s, fio_size(levels.get("rate", ""))),
        )
        jobs = whole_number(levels.get("jobs", "")) or 1
        share = next((reached / (asked * jobs) for reached, asked in limits if reached and asked), None)
        if share and done.ops_per_s:
            met.setdefault(run.cell, []).append((share, done.ops_per_s))
    means = {cell: [fmean(column) for column in zip(*found, strict=True)] for cell, found in met.items()}
    return {cell: ops_per_s / share for cell, (share, ops_per_s) in means.items() if share >= ACHIEVED_MIN}


def _margins(sides: tuple[AnswerSide, AnswerSide]) -> tuple[dict[str, float], list[Caveat]]:
    """The margins of relevance: of two studies that differ the smaller one, so that an exchange changes nothing."""
    left, right = (msgspec.structs.asdict(side.plan.study.compare.relevance) for side in sides)
    differing = [
        note(
            "margin-differs",
            key=f"the margin of {key}",
            baseline=f"{left[key]:.3g}",
            candidate=f"{right[key]:.3g}",
        )
        for key in left
        if left[key] != right[key]
    ]
    return {key: min(left[key], right[key]) for key in left}, differing


def _described(found: Comparison, sides: tuple[AnswerSide, AnswerSide], kind: Kind) -> Comparison:
    """The comparison with the facts that say what was compared: classes, work, wear, ranking, variants of the model."""
    baseline, candidate = sides
    classes = [short_classes(side.plan) for side in sides]
    one, other = (
        short.get(side.level, short.get("", "")) for short, side in zip(classes, sides, strict=True)
    )
    wear_bytes, order = None, ""
    if found.tortured and kind == "stages":
        wear_bytes, order = wear_of(baseline.plan, baseline.stage, candidate.stage)
    found = replace(
        found,
        classes=(one, other),
        subject=subject_of(baseline.plan),
        between=stages_between(baseline.plan, baseline.stage, candidate.stage) if kind == "stages" else (),
        wear_bytes=wear_bytes,
        wear_order=order,
        work=_work(sides),
        cut_losses=_cut_losses(sides),
        groups=groups(found, baseline.plan, baseline.cells),
        band=_band(sides, kind),
    )
    return _with_levels(found, sides) if kind == "levels" else found


def _work(sides: tuple[AnswerSide, AnswerSide]) -> dict[str, Work]:
    """What each cell does, where both sides do the same."""
    one, other = (work_of(side.plan, side.cells) for side in sides)
    return {label: work for label, work in one.items() if other.get(label) == work}


def _cut_losses(sides: tuple[AnswerSide, AnswerSide]) -> dict[str, tuple[CutLoss, CutLoss]]:
    """What power cuts lost in each cell that both sides cut."""
    one, other = (_cut_losses_of(side) for side in sides)
    return {label: (loss, other[label]) for label, loss in one.items() if label in other}


def _cut_losses_of(side: AnswerSide) -> dict[str, CutLoss]:
    found: dict[str, list[CutLoss]] = {}
    for part in side.parts:
        if part.study is None or part.is_imported:
            continue
        for label, runs in runs_by_test(part.study.reading().seen, part.cells, part.stage).items():
            found.setdefault(label, []).extend(run.cut_loss for run in runs if run.cut_loss is not None)
    return {
        label: CutLoss(
            sum(one.cuts for one in losses),
            sum(one.lost for one in losses),
            sum(one.of or 0 for one in losses) if all(one.of is not None for one in losses) else None,
        )
        for label, losses in found.items()
        if losses
    }


def _band(sides: tuple[AnswerSide, AnswerSide], kind: Kind) -> ModelBand | None:
    """The variants of the drive, where they were tried for this question or for its inverse."""
    study = sides[0].study
    if kind == "studies" or study is None:
        return None
    asked = (study.plan.study.baseline, study.plan.study.candidate)
    this = tuple(side.level or side.stage for side in sides)
    band = model_band(study.plan, study.content()) if this in (asked, asked[::-1]) else None
    return band.inverted() if band is not None and this != asked else band


def _with_levels(found: Comparison, sides: tuple[AnswerSide, AnswerSide]) -> Comparison:
    """The comparison with readable names of its levels, and all levels of the factor in their order."""
    plan = sides[0].plan
    factor, names = plan.study.compare.arms, level_names(plan)
    labels = [f"{factor} {names.get(side.level, side.level)}" for side in sides]
    ranked = readable_standings(standings_of(plan, sides[0].all_samples), names)
    return replace(found, baseline=labels[0], candidate=labels[1], factor=factor, standings=ranked)


def planned_answer(plan: Plan, samples: Sequence[Sample], study: StudyReading | None = None) -> Comparison:
    """The answer to the question of a plan. `study`: its folder, where there is one.

    Raises:
        Refused: it has no two arms.
    """
    pair = compared_pair(plan)
    if plan.study.compares_workloads:
        return workloads_answer(plan, samples, study, pair, plan.study.measuring_stages[-1])
    if compares_levels(plan):
        return levels_answer(plan, samples, study, pair)
    return stages_answer(plan, samples, study, pair)


def stages_answer(
    plan: Plan, samples: Sequence[Sample], study: StudyReading | None, stages: tuple[str, str]
) -> Comparison:
    """The answer for two stages of one study."""
    cells = {cell.label: cell.label for cell in plan.cells}
    baseline, candidate = (AnswerSide(plan, samples, study, stage, stage, cells) for stage in stages)
    return answer(baseline, candidate, "stages")


def levels_answer(
    plan: Plan, samples: Sequence[Sample], study: StudyReading | None, levels: tuple[str, str]
) -> Comparison:
    """The answer for two levels of the compared factor, at equal levels of all others, in the last stage."""
    factor, stage, place = plan.study.compare.arms, plan.study.measuring_stages[-1], places(plan)
    baseline, candidate = (
        AnswerSide(plan, samples, study, stage, f"{factor} {level}", _cells_at(place, level), level)
        for level in levels
    )
    is_label = kind_of(factor, plan.study.factor[factor]) == "label"
    return answer(
        baseline,
        candidate,
        "levels",
        paired=plan.study.order == "random" and not is_label,
        by_session=is_label,
        extra=[*order_caveats(plan), *aa_caveats(plan, samples)],
    )


def workloads_answer(
    plan: Plan, samples: Sequence[Sample], study: StudyReading | None, names: tuple[str, str], stage: str
) -> Comparison:
    """The answer for two workloads of one stage, in the cells that are otherwise equal, paired by block."""
    pairs = pairs_of_workloads(plan, names)
    baseline, candidate = (
        AnswerSide(plan, samples, study, stage, name, _cells_at(pairs, name), name) for name in names
    )
    return answer(baseline, candidate, "workloads", paired=True, extra=listed_caveats(plan, pairs))


def _cells_at(place: Mapping[str, tuple[str, str]], wanted: str) -> dict[str, str]:
    """The cells of a level or workload, each with the label that it has without."""
    return {label: cell for label, (own, cell) in place.items() if own == wanted}
