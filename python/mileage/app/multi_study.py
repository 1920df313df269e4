"""Two studies or more together: compared, ranked, and as the history of a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from mileage.analysis.device_class import short_classes
from mileage.analysis.setting_differences import setting_differences
from mileage.app.result import StudyResult, load
from mileage.errors import Refused
from mileage.judge import Comparison, Sample
from mileage.judge.history import STUDIES_MIN, Change, changes
from mileage.judge.mean_over_cells import Rank, ranking
from mileage.model.cell_key import alike
from mileage.plan import Plan
from mileage.report.caveat_words import caveat_words

_CELLS_NAMED = 4
"""Cells that an error names of each study."""


def compare(a: str | StudyResult, b: str | StudyResult, *, stage: str | None = None) -> Comparison:
    """Compare two stages of one study (`FOLDER:STAGE` twice), or one stage of two studies: folders, or results.

    Raises:
        Refused: a folder or a stage does not exist, or the two have no cell in common.
    """
    from mileage.app.answer import AnswerSide, answer, stages_answer
    from mileage.app.notebook_view import shown

    (first, first_stage), (second, second_stage) = stage_of(a, stage), stage_of(b, stage)
    a, b = _name(a), _name(b)
    if first.folder.path.resolve() == second.folder.path.resolve():
        if first_stage == second_stage:
            raise Refused(
                "",
                f"{a} and {b} are the same stage",
                advice=f"name two stages, such as {a}:before and {a}:after",
                code="repeated",
            )
        return shown(stages_answer(first.plan, first.samples(), first, (first_stage, second_stage)))
    labels = _labels((first, first_stage), (second, second_stage))
    ours = names_in(first.plan, second.plan)
    own = {cell.label: cell.label for cell in first.plan.cells}
    others = {cell.label: ours.get(cell.label, cell.label) for cell in second.plan.cells}
    left = AnswerSide(first.plan, first.samples(), first, first_stage, labels[0], own)
    right = AnswerSide(second.plan, second.samples(), second, second_stage, labels[1], others)
    samples = left.samples, right.samples
    if {sample.cell for sample in samples[0]}.isdisjoint(sample.cell for sample in samples[1]):
        raise Refused(
            "",
            f"{a} ({first_stage}) and {b} ({second_stage}) have no measured cell in common: "
            f"{_listed_cells(samples[0])}; {_listed_cells(samples[1])}",
            advice="measure both with the same settings; a recorded one, such as a rate, is in the name of its cell",
            code="nothing-in-common",
        )
    return shown(answer(left, right, "studies"))


def _listed_cells(samples: Sequence[Sample]) -> str:
    """The first cells of a study."""
    cells = list(dict.fromkeys(sample.cell for sample in samples))
    more = f" and {len(cells) - _CELLS_NAMED} more" if len(cells) > _CELLS_NAMED else ""
    return f"{', '.join(cells[:_CELLS_NAMED]) or 'nothing'}{more}"


def compare_workloads(text: str, names: Sequence[str], *, stage: str | None = None) -> Comparison:
    """Compare two workloads of one stage of a study, paired by the block in which both were measured.

    `text` is FOLDER or FOLDER:STAGE; `names` are the baseline and the candidate, whole ("iozone.rewrite") or without
    the family ("rewrite").

    Raises:
        Refused: as `compare`; a name is that of no workload, or of several; both are one; no cells are otherwise equal.
    """
    from mileage.app.answer import workloads_answer
    from mileage.app.notebook_view import shown

    result, at = stage_of(text, stage)
    measured = list(dict.fromkeys(cell.key.workload for cell in result.plan.cells))
    baseline, candidate = (_workload_named(name, measured, text) for name in names)
    if baseline == candidate:
        raise Refused(baseline, "is named twice", advice="name two workloads", code="repeated")
    return shown(workloads_answer(result.plan, result.samples(), result, (baseline, candidate), at))


def _workload_named(name: str, measured: Sequence[str], text: str) -> str:
    """The measured workload of a name, whole or without its family. Raises Refused."""
    found = [word for word in measured if name in (word, word.partition(".")[2])]
    if name in found or len(found) == 1:
        return name if name in found else found[0]
    what = f"several workloads {name!r}" if found else f"no workload {name!r}"
    raise Refused(text, f"has {what}", expected=f"one of {', '.join(found or measured)}", code="unknown-name")


def names_in(ours: Plan, others: Plan) -> dict[str, str]:
    """Match the cells of another study to ours by meaning: its label and ours for each."""
    return alike(*({cell.label: cell.key for cell in plan.cells} for plan in (ours, others)))


class _Names(NamedTuple):
    """The names of two studies in a sentence."""

    baseline: str
    candidate: str


def _labels(a: tuple[StudyResult, str], b: tuple[StudyResult, str]) -> tuple[str, str]:
    """`FOLDER:STAGE` for two stages, each with as few parent folders as distinguish the two; of imports the folder."""
    left, right = (result.folder.path.resolve().parts for result, _ in (a, b))
    depth = next(n for n in range(1, max(len(left), len(right)) + 1) if left[-n:] != right[-n:])
    names = (
        str(Path(*parts[-depth:])) + ("" if result.plan.imported is not None else f":{stage}")
        for (result, stage), parts in ((a, left), (b, right))
    )
    first, second = names
    return first, second


def rank(
    studies: Sequence[str | StudyResult],
    *,
    stage: str | None = None,
    warn: Callable[[str], None] | None = None,
) -> dict[str, tuple[Rank, ...]]:
    """For each cell that all studies measured, in the headline metric: the studies by rate, with ties.

    `warn` receives a line for each cell that is skipped because a study has not measured it.

    Raises:
        Refused: a folder or a stage does not exist, or no cell was measured in all of them.
    """
    measured = _measured(studies, stage, warn)
    cells = _in_all(measured, warn)
    try:
        return {cell: ranking({name: values[cell] for name, values in measured}) for cell in cells}
    except ValueError as cause:
        raise Refused("", str(cause), code="too-few") from cause


def history(
    studies: Sequence[str | StudyResult],
    *,
    stage: str | None = None,
    warn: Callable[[str], None] | None = None,
) -> tuple[Change, ...]:
    """Find the dates at which a target's level changed, over studies given in the order of their dates.

    `warn` as in :func:`rank`.

    Raises:
        Refused: fewer than six studies, or as :func:`rank`.
    """
    if len(studies) < 2 * STUDIES_MIN:
        raise Refused(f"{len(studies)} studies", f"a history needs {2 * STUDIES_MIN} or more", code="too-few")
    measured = _measured(studies, stage, warn)
    cells = _in_all(measured, warn)
    try:
        return changes({cell: [median(values[cell]) for _, values in measured] for cell in cells})
    except ValueError as cause:
        raise Refused("", str(cause), code="too-few") from cause


def _in_all(
    measured: Sequence[tuple[str, dict[str, list[float]]]], warn: Callable[[str], None] | None
) -> list[str]:
    """The cells that all studies have; `warn` receives a line for each cell that a study lacks. Raises Refused."""
    every = dict.fromkeys(cell for _, values in measured for cell in values)
    lacking = {cell: [name for name, values in measured if cell not in values] for cell in every}
    if all(lacking.values()):
        raise Refused(
            "",
            f"{', '.join(name for name, _ in measured)} have no measured cell in common",
            code="nothing-in-common",
        )
    for cell, names in lacking.items():
        if names and warn is not None:
            warn(f"Skipped: {cell}, not measured in {', '.join(names)}")
    return [cell for cell, names in lacking.items() if not names]


def _name(study: str | StudyResult) -> str:
    return study if isinstance(study, str) else str(study.folder.path)


def _measured(
    studies: Sequence[str | StudyResult], stage: str | None, warn: Callable[[str], None] | None
) -> list[tuple[str, dict[str, list[float]]]]:
    """The runs of each cell of each study, as rates (bytes or operations per second), in the torture arm.

    `warn` receives a line when the devices are of different classes.
    """
    if len({_name(study) for study in studies}) < len(studies):
        raise Refused("", "a study is named twice", advice="name each once", code="repeated")
    found: list[tuple[str, dict[str, list[float]]]] = []
    classes, plans = {}, []
    for study in studies:
        result, name = stage_of(study, stage)
        text = _name(study)
        plans.append(result.plan)
        names = names_in(plans[0], result.plan)
        if warn is not None:
            renamed = [
                f"cell {other} is compared with {ours}" for other, ours in names.items() if other != ours
            ]
            for line in (*result.outcome().edited, *renamed):
                warn(f"{text}: {line}")
        classes[text] = short_classes(result.plan).get("") or "not known"
        values: dict[str, list[float]] = {}
        for sample in result.samples():
            wanted = "ops_per_s" if sample.measure == "iops" else "rate_bytes_per_s"
            if (sample.stage, sample.arm, sample.metric) == (name, "torture", wanted):
                values.setdefault(names.get(sample.cell, sample.cell), []).append(sample.value)
        found.append((text, values))
    if warn is not None and all(plan.imported is None for plan in plans):
        for (text, values), plan in zip(found[1:], plans[1:], strict=True):
            shared = {theirs: ours for theirs, ours in names_in(plans[0], plan).items() if ours in values}
            for caveat in setting_differences(plans[0], plan, shared):
                words = caveat_words(caveat, _Names(found[0][0], text))
                warn(f"Not measured in the same way: {words}")
    if warn is not None and len(set(classes.values())) > 1:
        warn(
            f"Devices of different classes: {', '.join(f'{name} {words}' for name, words in classes.items())}"
        )
    return found


def stage_of(study: str | StudyResult, stage: str | None) -> tuple[StudyResult, str]:
    """The study and the measured stage that FOLDER or FOLDER:STAGE names; the last one where none is named."""
    path, named = _name(study), stage
    if isinstance(study, str) and not Path(study).exists() and ":" in study:
        path, named = study.rsplit(":", 1)
    result = load(path) if isinstance(study, str) else study
    measured = list(dict.fromkeys(run.stage for run in result.plan.runs if run.role == "measure"))
    if named is None:
        return result, measured[-1]
    if named not in measured:
        raise Refused(
            path,
            f"has no measured stage {named!r}",
            expected=f"one of {', '.join(measured)}",
            code="unknown-name",
        )
    return result, named
