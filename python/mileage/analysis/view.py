"""From a study folder to the value that the report draws: identity, validity checks, torture traces, method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from mileage.analysis.array_events import array_events
from mileage.analysis.cautions import cautions, with_cautions
from mileage.analysis.cell_figures import pictured
from mileage.analysis.check_text import verdict_in
from mileage.analysis.counter_explanations import why
from mileage.analysis.evidence import evidence_of, torture_traces
from mileage.analysis.journal_reader import JournalContents
from mileage.analysis.run_order import run_order
from mileage.analysis.scan_steps import curve_step_lines, landmarks_of, step_lines
from mileage.analysis.stage_times import discard_words, wall_time
from mileage.analysis.steady_rounds import steady_rounds
from mileage.analysis.validity_checks import Environment, checks_of
from mileage.execute import stage_name, start_name
from mileage.judge import CellVerdict, Comparison
from mileage.judge.rate_over_time import levels_within
from mileage.model.caveat import Caveat
from mileage.model.journal_entries import AcceptedChange, DidNotFinish, FailedRun, LengthFactor, Run
from mileage.plan import Plan
from mileage.plan.external_program import Program
from mileage.plan.run_length import with_found_counts
from mileage.report import StudyView
from mileage.report.caveat_words import caveat_words, listed
from mileage.report.evidence import Evidence
from mileage.report.measurement_page import MeasuredPage
from mileage.report.measurement_setup import setting_lines
from mileage.report.measurement_text import answer
from mileage.report.method import method_text
from mileage.report.sentence import notes_of
from mileage.report.view import RunShape
from mileage.store import StudyFolder, measured_cells, skipped_runs
from mileage.store.environment import diff
from mileage.store.journal import Entries, JournalContent
from mileage.store.study_folder import CHECK_TEXT

_TARGETS_MAX: Final = 5
_HEADING_MAX: Final = 160
"""Characters of targets in a heading: with more, the verdict would be off the first screen of a phone."""
"""Targets that a heading names."""


def measured_page(plan: Plan, folder: StudyFolder, caveats: Sequence[Caveat] = ()) -> MeasuredPage:
    """Collect what the page of a study that compares nothing shows; `caveats` speak against any conclusion."""
    vetoes = [caveat_words(caveat) for caveat in caveats if caveat.is_veto]
    content = folder.content(around_damage=True)
    order = {cell.label: number for number, cell in enumerate(plan.cells)}
    cells = tuple(sorted(measured_cells(content, plan), key=lambda cell: (cell.stage, order[cell.cell])))
    head = content.study
    environments = folder.environments()
    evidence, factor = pictured(plan, content, cells)
    found = cautions(plan, content, cells)
    # The text of `mileage check` states the answer and the cautions already; repeating them would contradict its
    # wording.
    kept = folder.directory.read(CHECK_TEXT) if folder.directory.has(CHECK_TEXT) else b""
    checked = kept.decode(errors="replace")
    said = verdict_in(checked) if checked else answer(cells)
    if vetoes and not checked:
        measured = f" What was measured: {said[:1].lower()}{said[1:]}" if said else ""
        said = f"Not conclusive because {listed(vetoes)}.{measured}"
    # A check compares nothing, so what speaks against conclusions stands next to its verdict, as in the terminal.
    weak = [f"Note: {veto}." for veto in vetoes] if checked else [c.sentence + "." for c in found]
    weak += lost_lines(folder) + _of_programs(plan, content.runs())
    return MeasuredPage(
        name=plan.study.name,
        question=plan.study.question,
        target=_named(targets_of(plan)),
        setting=setting_lines(with_found_counts(plan, content.of_kind(LengthFactor))),
        cells=with_cautions(cells, found),
        runs_total=len(plan.runs) - skipped_runs(content),
        runs_failed=len(content.of_kind(FailedRun)),
        method=method_of(plan, content),
        command=head.command if head is not None else f"mileage run {folder.path}",
        identity=_identity(plan, environments, content),
        answer=said,
        unfinished=tuple(weak),
        evidence=_with_steps(
            plan, replace(evidence, steady=steady_rounds(plan, content)), factor, environments
        ),
        environments=[(name, facts) for name, facts in environments if not name.endswith(".after")],
        factor=factor,
        checked=checked,
    )


def _with_steps(
    plan: Plan, found: Evidence, factor: str, environments: list[tuple[str, Environment]]
) -> Evidence:
    """The evidence with the steps of a scan of record sizes; of a real target with the machine's own sizes."""
    if not found.curves and (factor != "record" or not found.scan):
        return found
    first = environments[0][1] if environments and not plan.facts.virtual else {}
    landmarks = landmarks_of(first)
    if found.curves:
        steps = curve_step_lines(found.curves, landmarks)
        return replace(found, landmarks=landmarks if steps else [], steps=steps)
    return replace(found, landmarks=landmarks, steps=step_lines(found.scan, landmarks))


def lost_lines(folder: StudyFolder) -> list[str]:
    """A sentence on the snapshots of the machine that are damaged or edited, and so are not compared; none without."""
    lost = folder.damaged_environments()
    if not lost:
        return []
    what, verb = ("The snapshot", "is") if len(lost) == 1 else ("The snapshots", "are")
    return [f"{what} of the machine at {listed(lost)} {verb} damaged or edited, and ignored."]


def method_of(plan: Plan, content: JournalContent) -> str:
    """Describe how a study was measured and judged, as paragraphs separated by an empty line."""
    head = content.study
    if head is None:
        return method_text(plan, version="", started="")
    return method_text(plan, version=head.mileage, started=str(head.started))


def study_view(
    plan: Plan,
    folder: StudyFolder,
    comparison: Comparison,
    read: JournalContents,
    aa: tuple[list[CellVerdict], list[CellVerdict]] | None = None,
) -> StudyView:
    """Collect what the report shows of a study folder.

    `read`: what was read of its runs. `aa`: of a baseline that was measured twice the tests that were judged, and
    those that differ.
    """
    content = folder.content(around_damage=True)
    runs = content.runs()
    failed = content.of_kind(FailedRun)
    saved = dict(folder.environments())
    order = dict.fromkeys(stage_name(run) for run in plan.runs)
    environments = [(name, saved[name]) for name in order if name in saved]
    changes = environment_changes(plan, content, saved)
    head = content.study
    return StudyView(
        name=plan.study.name,
        question=plan.study.question,
        target=_named(targets_of(plan)),
        identity=_identity(plan, environments, content) | read.times.words(),
        command=head.command if head is not None else f"mileage run {folder.path}",
        comparison=comparison,
        torture=torture_traces(content),
        environments=environments,
        environment_changes=list(dict.fromkeys(f"{name}: {line}" for name, line, *_ in changes)),
        trust=checks_of(plan, content, read.seen, changes, comparison, aa),
        shapes=_shapes(_tortures(runs)),
        notes=[
            *lost_lines(folder),
            *_of_programs(plan, runs),
            *array_events(targets_of(plan), [*runs, *content.of_kind(DidNotFinish)]),
            *read.hidden.notes,
            *notes_of(comparison),
        ],
        explanations=why(comparison, read.arms.found),
        factor=comparison.factor if comparison.standings else "",
        standings=comparison.standings,
        evidence=replace(
            evidence_of(plan, folder, comparison, read.samples),
            steady=steady_rounds(plan, content),
            order=run_order(plan, read.samples),
        ),
        runs_total=len(plan.runs) - skipped_runs(content),
        runs_failed=len(failed),
        method=method_of(plan, content),
        capacity_bytes=plan.facts.capacity_bytes if plan.facts.virtual else None,
    )


def _of_programs(plan: Plan, runs: Sequence[Run]) -> list[str]:
    """Notes about runs of programs, once for each cell."""
    if not any(isinstance(run.job, Program) for run in plan.runs):
        return []
    note_counts = Counter((run.cell, note) for run in runs for note in run.record.notes)
    return [f"{cell}: {note} (in {number} of its runs)." for (cell, note), number in note_counts.items()]


def environment_changes(
    plan: Plan, content: JournalContent, saved: dict[str, Environment]
) -> list[tuple[str, str, Environment, Environment]]:
    """Every stable key that differs from how its part began: where, in words, and the two snapshots.

    A change that was accepted is one, too, though later snapshots overwrite the earlier ones.
    """
    accepted = content.of_kind(AcceptedChange)
    found = [("accepted", line, entry.was, entry.now) for entry in accepted for line in entry.changes]
    starts = dict(saved)
    for entry in reversed(accepted):
        name = start_name(entry.part)
        starts[name] = {**starts.get(name, {}), **entry.was}
        for key in entry.now.keys() - entry.was.keys():
            starts[name].pop(key, None)
    reported = {line for _, line, *_ in found}
    others = sorted({setting.instance for setting in plan.settings})
    for stage, part in dict.fromkeys((stage_name(run), run.part) for run in plan.runs):
        for which in ("", *(f"-target-{number}" for number in others)):
            name = stage + which
            start = starts.get(start_name(part + which)) or saved.get(name)
            for when in (name, f"{name}.after"):
                if start is not None and when in saved:
                    lines = [line for line in diff(start, saved[when]) if line not in reported]
                    found += [(when, line, start, saved[when]) for line in lines]
    return found


def targets_of(plan: Plan) -> list[str]:
    """The measured targets: the study's one, or each of those that are compared."""
    return list(dict.fromkeys(setting.target for setting in plan.settings)) or [str(plan.study.target)]


def _named(targets: Sequence[str]) -> str:
    """Targets in a row, the first three of many; how many they are, where that is too long for a heading."""
    row = listed(targets if len(targets) <= _TARGETS_MAX else [*targets[:3], f"{len(targets) - 3} more"])
    return row if len(targets) == 1 or len(row) <= _HEADING_MAX else f"{len(targets)} targets"


def _identity(
    plan: Plan, environments: list[tuple[str, dict[str, str]]], content: JournalContent
) -> dict[str, str]:
    first, head = environments[0][1] if environments else {}, content.study
    names = targets_of(plan)
    places = {setting.target: setting.place for setting in plan.settings}
    sizes = [plan.others.get(places.get(name, name), plan.facts).capacity_bytes for name in names]
    known = {
        "target" if len(names) == 1 else "targets": ", ".join(names),
        "size" if len(names) == 1 else "sizes": ", ".join(f"{size / 1e9:.1f} GB" for size in sizes),
        "devices": str(len(names)),
        "kernel": first.get("kernel.release", "unknown"),
        "mileage": head.mileage if head is not None else "unknown",
        "plan": plan.hash[:16],
        "seed": str(plan.study.seed),
        "date": str(head.started) if head is not None else "unknown",
        **wall_time(content),
        **discard_words(content),
        "seal": content.seal_words,
    }
    return known


def _tortures(runs: Sequence[Run]) -> Sequence[Run]:
    """The torture runs alone: a long study has few of them, and the others need not be read for it."""
    if isinstance(runs, Entries):
        return runs.where(lambda head: head.role == "torture")
    return [entry for entry in runs if entry.role == "torture"]


def _shapes(runs: Sequence[Run]) -> list[RunShape]:
    """Levels of the write rate inside each torture run, found in its intervals."""
    shapes = []
    for entry in runs:
        series = entry.record.series
        if entry.role != "torture" or not any(series.bytes_written):
            continue
        written = entry.record.to_the_end(series.bytes_written)
        found = levels_within([count / series.interval_s for count in written])
        done = list(accumulate(written, initial=0))
        shapes.append(
            RunShape(
                cell=entry.cell,
                cycle=entry.cycle,
                kind=found.kind,
                levels_bytes_per_s=[segment.level for segment in found.segments],
                cut_bytes=[float(done[cut]) for cut in found.cuts],
                cut_error_bytes=float(max(written)),
            )
        )
    return shapes
