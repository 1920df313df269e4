"""Two studies or more together: compared, ranked, and as the history of a target."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from mileage.analysis.device_class import short_classes
from mileage.analysis.setting_differences import setting_differences
from mileage.app.answer import answer, stages_answer, workloads_answer
from mileage.app.answer_side import AnswerSide, Past
from mileage.app.kept_history import is_of
from mileage.app.result import StudyResult, load
from mileage.errors import Refused
from mileage.judge import Comparison, Sample
from mileage.judge.mean_over_cells import Rank, ranking
from mileage.judge.sessions import SPREAD_MIN
from mileage.model.cell_key import alike
from mileage.model.journal_entries import End, StudyHead
from mileage.plan import Plan
from mileage.report.caveat_words import Names, caveat_words
from mileage.store.study_folder import is_study
from mileage.targets.filesystem import UNKNOWN

_FILES_NAMED = 2
"""Files that a sentence names of an import."""
_CELLS_NAMED = 4
"""Cells that an error names of each study."""


def compare(
    a: str | StudyResult,
    b: str | StudyResult,
    *,
    stage: str | None = None,
    spread: Sequence[str | StudyResult] = (),
    warn: Callable[[str], None] = warnings.warn,
) -> Comparison:
    """Compare two stages of one study (`FOLDER:STAGE` twice), or one stage of two studies: folders, or results.

    A folder of studies of one target is a side with the sessions of all of them. `spread`: studies of other sessions,
    which show how much sessions differ, for one session on each side; where the folder of `a` or of `b` lies with
    others of its target in a folder of their own, these do. `warn` receives a line for each unfinished study of a
    folder, which is skipped.

    Raises:
        Refused: a folder or a stage does not exist, or the two have no cell in common.
    """
    sides = _opened(_studies_of(a, warn), stage), _opened(_studies_of(b, warn), stage)
    if len(sides[0]) == len(sides[1]) == 1:
        (first, one), (second, other) = sides[0][0], sides[1][0]
        if first.folder.path.resolve() == second.folder.path.resolve():
            if one == other:
                raise Refused(
                    "",
                    f"{_name(a)} and {_name(b)} are the same stage",
                    advice=f"name two stages, such as {_name(a)}:before and {_name(a)}:after",
                    code="repeated",
                )
            return stages_answer(first.plan, first.samples(), first, (one, other))
    left, right = _sides(a, b, sides)
    shows = [one for text in spread for one in _studies_of(text, warn)] or _kept_with(left, right)
    past = Past(spread=tuple(_sessions_like(left, shows)))
    found = answer(left, right, "studies", past=past, by_session=True)
    return msgspec.structs.replace(found, differs=_differing(left, right))


def _differing(left: AnswerSide, right: AnswerSide) -> tuple[tuple[str, str], ...]:
    """The facts of two sides that differ, where all studies of a side have the same, each as in a sentence."""
    one, other = (_facts(side) for side in (left, right))
    return tuple((one[key], other[key]) for key in one if key in other and one[key] != other[key])


def _facts(side: AnswerSide) -> dict[str, str]:
    """What a side measured, on which system, with which version and when."""
    found = [dict(_facts_of(part)) for part in side.parts]
    return {key: text for key, text in found[0].items() if all(one.get(key) == text for one in found)}


def _facts_of(side: AnswerSide) -> Iterator[tuple[str, str]]:
    if side.plan.imported is not None:
        names = ", ".join(Path(file.path).name for file in side.plan.imported.files[:_FILES_NAMED])
        yield "target", f"imported from {names}"
        return
    yield "target", side.plan.target
    if side.study is None:
        return
    environments = dict(side.study.folder.environments())
    known = next(iter(environments.values()), None) if environments and not side.plan.virtual else None
    for key, words in (("target.model", "{}"), ("target.fs_type", "{}"), ("kernel.release", "Linux {}")):
        if known is not None and (value := known.get(key, UNKNOWN)) != UNKNOWN:
            yield key, words.format(value)
    if (head := side.study.content().study) is not None:
        yield "version", f"mileage {head.mileage}"
        yield "date", (head.started or "no date")[:16].replace("T", " ")


def history(
    studies: Sequence[str | StudyResult],
    *,
    stage: str | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> Comparison:
    """Compare the last of some studies with the level that the sessions before it hold.

    `studies` are in the order of their dates; a folder of studies stands for all of them. Whether the last one is worse
    is asked one-sided. `Comparison.history` has the level: where it changed, and whether it drifts. `warn` receives a
    line for each unfinished study of a folder, which is skipped.

    Raises:
        Refused: fewer than three sessions before the last study, or as `compare`.
    """
    every = [one for text in studies for one in _studies_of(text, warn)]
    if len(every) < 2:
        raise _too_few(0)
    _check_distinct(every)
    sides = _opened(every[:-1], stage), _opened(every[-1:], stage)
    left, right = _sides("the history", every[-1], sides)
    past = Past(is_history=True)
    found = answer(replace(left, name="the history"), right, "studies", past=past, by_session=True)
    if found.history is None or len(found.history.sessions) < SPREAD_MIN:
        raise _too_few(0 if found.history is None else len(found.history.sessions))
    return found


def _too_few(sessions: int) -> Refused:
    return Refused(
        f"{sessions} {'session' if sessions == 1 else 'sessions'}",
        f"a history needs {SPREAD_MIN} or more, and the study that is judged against it",
        advice="studies of one boot within six hours are one session",
        code="too-few",
    )


def _studies_of(study: str | StudyResult, warn: Callable[[str], None]) -> list[str | StudyResult]:
    """The studies that FOLDER or FOLDER:STAGE stands for: itself, or all finished ones of a folder, by their start."""
    if not isinstance(study, str):
        return [study]
    path, colon, named = study.rpartition(":") if not Path(study).exists() else (study, "", "")
    inside = [one for one in sorted(Path(path).glob("*")) if is_study(one)] if path else []
    if not inside or is_study(Path(path)):
        return [study]
    results = sorted(_finished(inside, warn), key=_started)
    if colon:
        return [f"{one.folder.path}:{named}" for one in results]
    return [*results]


def _finished(folders: Sequence[Path], warn: Callable[[str], None]) -> Iterator[StudyResult]:
    """The studies that came to their end; `warn` receives a line for each that did not, as a killed one."""
    for folder in folders:
        result = load(str(folder))
        if result.content().of_kind(End):
            yield result
        else:
            place = shlex.quote(str(folder))
            warn(
                f"Skipped: {folder}, not finished; `mileage run {place}` resumes it, `rm -r {place}` removes it"
            )


def _started(result: StudyResult) -> tuple[str, str]:
    """When a study began, and its name."""
    head = result.content().of_kind(StudyHead)
    return (head[0].started or "" if head else ""), result.folder.path.name


def _opened(studies: Sequence[str | StudyResult], stage: str | None) -> list[tuple[StudyResult, str]]:
    return [stage_of(one, stage) for one in studies]


def _sides(
    a: str | StudyResult,
    b: str | StudyResult,
    opened: tuple[Sequence[tuple[StudyResult, str]], Sequence[tuple[StudyResult, str]]],
) -> tuple[AnswerSide, AnswerSide]:
    """The two sides of a comparison of studies. Raises Refused where they have no cell in common."""
    ours = opened[0][0][0].plan
    labels = _labels(opened[0][0], opened[1][0])
    names = [
        label if len(own) == 1 else str(Path(_name(text)))
        for label, own, text in zip(labels, opened, (a, b), strict=True)
    ]
    left, right = (_side(ours, own, name) for own, name in zip(opened, names, strict=True))
    samples = [[sample for part in side.parts for sample in part.samples] for side in (left, right)]
    if {sample.cell for sample in samples[0]}.isdisjoint(sample.cell for sample in samples[1]):
        raise Refused(
            "",
            f"{_name(a)} ({left.stage}) and {_name(b)} ({right.stage}) have no measured cell in common: "
            f"{_listed_cells(samples[0])}; {_listed_cells(samples[1])}",
            advice="measure both with the same settings; a recorded one, such as a rate, is in the name of its cell",
            code="nothing-in-common",
        )
    return left, right


def _side(ours: Plan, studies: Sequence[tuple[StudyResult, str]], name: str) -> AnswerSide:
    """A side of some studies, its cells named as those of a plan."""
    parts = []
    for result, stage in studies:
        known = names_in(ours, result.plan)
        cells = {cell.label: known.get(cell.label, cell.label) for cell in result.plan.cells}
        own = name if len(studies) == 1 else result.folder.path.name
        parts.append(AnswerSide(result.plan, result.samples(), result, stage, own, cells))
    return replace(parts[0], name=name, further=tuple(parts[1:]))


def _sessions_like(side: AnswerSide, studies: Sequence[str | StudyResult]) -> list[AnswerSide]:
    """Studies as sides that show the spread of a side: the stage that is named, or the side's own, or the last."""
    found = []
    for study in studies:
        result, stage = stage_of(study, None)
        is_named = isinstance(study, str) and not Path(study).exists()
        if not is_named and _has_stage(result, side.stage):
            stage = side.stage
        found.append(_side(side.plan, [(result, stage)], _name(study)))
    return found


def _has_stage(result: StudyResult, stage: str) -> bool:
    return any(run.role == "measure" and run.stage == stage for run in result.plan.runs)


def _kept_with(left: AnswerSide, right: AnswerSide) -> list[str | StudyResult]:
    """The history of a side: the folder that it lies in, where all studies in it are of its target, but the other side.

    Empty where there are fewer than three of the same stage, or one that cannot be read, where a side has several
    sessions, and for simulations and imports.
    """
    sides = [side.study for side in (left, right) if side.run_sessions and not side.is_imported]
    if left.further or right.further or len(sides) < 2:
        return []
    places = [study.folder.path.resolve() for study in sides if study is not None]
    for side, home, excluded in ((left, places[0].parent, places[1]), (right, places[1].parent, places[0])):
        try:
            found = [*_finished([one for one in sorted(home.glob("*")) if is_study(one)], lambda _: None)]
        except Refused:
            continue
        kept = [result for result in found if result.folder.path.resolve() != excluded]
        same = all(is_of(side.plan, result.plan) and _has_stage(result, side.stage) for result in kept)
        if same and len(kept) >= SPREAD_MIN:
            return [*kept]
    return []


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
    result, at = stage_of(text, stage)
    measured = list(dict.fromkeys(cell.key.workload for cell in result.plan.cells))
    baseline, candidate = (_workload_named(name, measured, text) for name in names)
    if baseline == candidate:
        raise Refused(baseline, "is named twice", advice="name two workloads", code="repeated")
    return workloads_answer(result.plan, result.samples(), result, (baseline, candidate), at)


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
    warn: Callable[[str], None] = lambda _: None,
) -> dict[str, tuple[Rank, ...]]:
    """For each cell that all studies measured, in the headline metric: the studies by rate, with ties.

    `warn` receives a line for each cell that is skipped because a study has not measured it, and for what differs.

    Raises:
        Refused: a folder or a stage does not exist, or no cell was measured in all of them.
    """
    _check_distinct(studies)
    opened = _opened(studies, stage)
    sides = [
        _side(opened[0][0].plan, [one], _name(study)) for one, study in zip(opened, studies, strict=True)
    ]
    measured = {side.name: _rates(side) for side in sides}
    for side, (result, _) in zip(sides, opened, strict=True):
        renamed = [
            f"cell {other} is compared with {ours}" for other, ours in side.cells.items() if other != ours
        ]
        for line in (*result.outcome().edited, *renamed):
            warn(f"{side.name}: {line}")
    for line in _differences(sides, measured):
        warn(line)
    every = dict.fromkeys(cell for rates in measured.values() for cell in rates)
    lacking = {cell: [name for name, rates in measured.items() if cell not in rates] for cell in every}
    if all(lacking.values()):
        names = ", ".join(measured)
        raise Refused("", f"{names} have no measured cell in common", code="nothing-in-common")
    for cell, without in lacking.items():
        if without:
            warn(f"Skipped: {cell}, not measured in {', '.join(without)}")
    shared = [cell for cell, without in lacking.items() if not without]
    try:
        return {cell: ranking({name: rates[cell] for name, rates in measured.items()}) for cell in shared}
    except ValueError as cause:
        raise Refused("", str(cause), code="too-few") from cause


def _rates(side: AnswerSide) -> dict[str, list[float]]:
    """The runs of each cell, as rates (bytes or operations per second)."""
    found: dict[str, list[float]] = {}
    for sample in side.samples:
        if sample.metric == ("ops_per_s" if sample.measure == "iops" else "rate_bytes_per_s"):
            found.setdefault(sample.cell, []).append(sample.value)
    return found


def _differences(sides: Sequence[AnswerSide], measured: Mapping[str, Collection[str]]) -> Iterator[str]:
    """In what the others were measured differently from the first, and that devices are of different classes."""
    ours = sides[0].plan
    if not any(side.is_imported for side in sides):
        for side in sides[1:]:
            names = names_in(ours, side.plan)
            shared = {theirs: own for theirs, own in names.items() if own in measured[side.name]}
            for caveat in setting_differences(ours, side.plan, shared):
                words = caveat_words(caveat, Names(sides[0].name, side.name))
                yield f"Not measured in the same way: {words}"
    classes = {side.name: short_classes(side.plan).get("") or "not known" for side in sides}
    if len(set(classes.values())) > 1:
        listing = ", ".join(f"{name} {words}" for name, words in classes.items())
        yield f"Devices of different classes: {listing}"


def _check_distinct(studies: Sequence[str | StudyResult]) -> None:
    if len({_name(study) for study in studies}) < len(studies):
        raise Refused("", "a study is named twice", advice="name each once", code="repeated")


def _name(study: str | StudyResult) -> str:
    return study if isinstance(study, str) else str(study.folder.path)


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
