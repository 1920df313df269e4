"""Two studies, or two stages, as one report: what `mileage compare A B` judges, with the evidence of both.

Scope: the comparison's own page: the verdict, each check as the weaker of the two studies has it, both machines next
to each other, how each was measured. Refuses what `compare` refuses.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import msgspec

from mileage.analysis.device_class import device_classes
from mileage.analysis.environment_caveats import stage_environment
from mileage.analysis.ior_layouts import each_layout_once, planned_layouts, reported_layouts
from mileage.analysis.view import method_of
from mileage.app.multi_study import compare, stage_of
from mileage.app.report_level import rewritten_level
from mileage.app.result import StudyResult
from mileage.errors import Refused
from mileage.model.journal_entries import FailedRun
from mileage.report import StudyView, ValidityCheck, render_html, write_figures
from mileage.report.caveat_words import listed
from mileage.report.chart_data import ChartData, Layout
from mileage.report.difference_tables import write_differences
from mileage.report.sentence import notes_of, sides_sentence
from mileage.report.tables import write_tables
from mileage.report.view import CheckState
from mileage.store.environment import diff
from mileage.store.safe_directory import Directory
from mileage.targets.door import make_directory

_WORST: Sequence[CheckState] = ("bad", "warn", "unknown", "ok")


def pair_view(a: str, b: str, *, stage: str | None = None) -> StudyView:
    """Build the report of a comparison of two studies. Raises Refused as `compare`."""
    comparison = compare(a, b, stage=stage)
    (first, first_stage), (second, second_stage) = stage_of(a, stage), stage_of(b, stage)
    sides = ((comparison.baseline, first), (comparison.candidate, second))
    same = first.folder.path.resolve() == second.folder.path.resolve()
    targets = list(dict.fromkeys(result.plan.study.target for _, result in sides))
    snapshots = [
        (name, stage_environment(result.plan, dict(result.folder.environments()), at))
        for (name, result), at in zip(sides, (first_stage, second_stage), strict=True)
    ]
    environments = [(name, found) for name, found in snapshots if found]
    changes = diff(environments[0][1], environments[1][1]) if len(environments) == 2 else []
    results = [first] if same else [first, second]
    return StudyView(
        name="comparison",
        question=f"Is {comparison.candidate} faster than {comparison.baseline}? {sides_sentence(comparison)}".strip(),
        target=" and ".join(targets),
        identity=_identity(sides),
        command=shlex.join(["mileage", "report", a, b, *(["--stage", stage] if stage else [])]),
        comparison=comparison,
        torture=[],
        environments=environments,
        environment_changes=[f"between the two: {line}" for line in changes],
        trust=_checks([(result.folder.path.name, result) for result in results]),
        runs_total=sum(len(result.content().any_runs()) for result in results),
        runs_failed=sum(len(result.content().of_kind(FailedRun)) for result in results),
        method="\n\n".join(
            f"{one.folder.path.name}:\n\n{method_of(one.plan, one.content())}" for one in results
        ),
        notes=[*_differences(first, second), *notes_of(comparison)],
        evidence=ChartData(
            device_classes=_classes(sides),
            places={**_tests(second), **_tests(first)},
            layouts=each_layout_once([layout for result in results for layout in _layouts(result)]),
        ),
    )


def write_pair(view: StudyView, out: Path, level: str | None = None) -> Path:
    """Write page, figures and tables of a comparison into a new folder; the page's path. `level` as for a study.

    Raises:
        Refused: something is there already, or the folder cannot be made.
    """
    drawn = rewritten_level(level) == "full"
    with new_folder(out) as folder:
        if drawn:
            write_figures(view, folder)
        write_tables(view.comparison, folder)
        write_differences(view, folder)
        folder.write("report.html", render_html(view, drawn=drawn).encode())
    return out / "report.html"


def new_folder(out: Path, option: str = "--out") -> Directory:
    """A new folder to write into.

    Raises:
        Refused: something is there already, or the folder cannot be made.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Refused(
            out, "exists", advice=f"nothing is written over: name a new folder with {option}", code="exists"
        )
    try:
        make_directory(option, out)
        folder = Directory.open(out)
    except OSError as cause:
        raise Refused(
            out,
            f"cannot make the folder: {cause.strerror}",
            advice=f"give another with {option}",
            code="unwritable",
        ) from cause
    return folder


def fresh_folder() -> Path:
    """The first name of its kind that is free here."""
    names = (Path(f"mileage-comparison-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def _tests(result: StudyResult) -> dict[str, dict[str, str]]:
    """The test of each cell, its sizes and its levels, as a report has them."""
    if result.plan.imported is not None:
        return {cell.label: {"test": cell.key.workload} for cell in result.plan.cells}
    return {cell.label: {**cell.key.properties, **cell.key.factors} for cell in result.plan.cells}


def _layouts(result: StudyResult) -> list[Layout]:
    """The file layouts of IOR, as planned or as its listing reports them."""
    if result.plan.imported is None:
        return planned_layouts(result.plan)
    return reported_layouts(list(result.content().imported_runs()))


def _classes(sides: Sequence[tuple[str, StudyResult]]) -> dict[str, str]:
    """The class of the device of each side in words; in a study of several classes its cells say which."""
    found = {name: device_classes(result.plan) for name, result in sides if result.plan.imported is None}
    return {name: classes[""] for name, classes in found.items() if "" in classes}


def _identity(sides: Sequence[tuple[str, StudyResult]]) -> dict[str, str]:
    found = {}
    for side, (name, result) in zip(("baseline", "candidate"), sides, strict=True):
        head, plan = result.content().study, result.plan
        written = f"mileage {head.mileage}, {head.started or 'no date'}" if head is not None else "not begun"
        found[side] = (
            f"{name}, {plan.study.name} on {plan.study.target}, seed {plan.study.seed}, plan {plan.hash[:16]}, "
            f"{written}"
        )
    return found


def _checks(results: Sequence[tuple[str, StudyResult]]) -> list[ValidityCheck]:
    """Combine the checks of both studies: of each check the worse result, with the study's name if both have it."""
    found: dict[str, list[tuple[str, ValidityCheck]]] = {}
    for name, result in results:
        if result.compares and result.plan.imported is None:
            for check in result.view().trust:
                found.setdefault(check.name, []).append((name, check))
    merged = []
    for check_name, checks in found.items():
        state = next(state for state in _WORST if any(check.state == state for _, check in checks))
        texts = {check.text: name for name, check in checks if check.state == state}
        parts = "; ".join(f"{name}: {text}" if len(results) > 1 else text for text, name in texts.items())
        merged.append(ValidityCheck(check_name, state, parts))
    return merged


def _differences(a: StudyResult, b: StudyResult) -> list[str]:
    """In which keys the two plans differ, apart from names and the target."""
    left, right = (msgspec.to_builtins(result.plan.study) for result in (a, b))
    fixed = ("name", "question", "target")
    keys = [key for key in left.keys() | right.keys() if key not in fixed and left.get(key) != right.get(key)]
    return [f"The two plans differ in {listed(sorted(keys))}."] if keys else []
