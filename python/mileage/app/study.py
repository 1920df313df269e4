"""A study from end to end: planned, begun or gone on with, run, and its report written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from mileage.analysis.machine_levels import part_now
from mileage.app.model_band import Band, Choices, choice_plans
from mileage.app.plan_execution import check_built, check_commands, do, facts_of_all, traces_of
from mileage.app.report_level import report_level
from mileage.app.result import StudyResult, load_plan
from mileage.errors import MileageError, Refused, RunFailed
from mileage.execute.concurrent_cycles import cycles_at_once
from mileage.execute.progress import Progress, Silent
from mileage.execute.signals import raise_on_signals
from mileage.model.journal_entries import End
from mileage.model.target_kind import capabilities_of
from mileage.plan import Plan, Study, TargetFacts, builtin_names, builtin_text, parse_study
from mileage.plan.estimate import bytes_written
from mileage.plan.factors import kind_of
from mileage.plan.faults import BrokenStudy
from mileage.plan.plan_text import label_options
from mileage.plan.resolver import resolve
from mileage.plan.scale import scaled
from mileage.plan.sizes import format_bytes, scale_divisor
from mileage.plan.study_reader import STUDY_TEXT_MAX
from mileage.regular_file import read_regular
from mileage.store import StudyFolder, skipped_runs
from mileage.targets.bare_path import with_scheme

DEFAULT_STUDY = "degradation"


def check_runnable(plan: Plan, folder: StudyFolder) -> None:
    """Raises Refused for an imported study: there is nothing to run."""
    if plan.imported is not None:
        raise Refused(
            folder.path,
            f"was imported from {plan.imported.words}: there is nothing to run",
            advice=f"`mileage report {shlex.quote(str(folder.path))}` writes its page",
            code="unsupported",
        )


def _read_study(name: str, target: str | None = None) -> Study:
    """A built-in study by name, or a study file or a job file of fio by path; the latter on `target` if given."""
    if name in builtin_names():
        return parse_study(builtin_text(name, target), name)
    from mileage.formats import fio_job

    text = _study_text(name)
    if fio_job.looks_like_job(Path(name), text):
        return fio_job.read_job(text, name, Path(name).stem, target)
    try:
        return parse_study(text, name, with_scheme)
    except BrokenStudy as broken:
        raise broken.located(text, name) from None


def _study_text(name: str) -> str:
    path = Path(name)
    if not path.is_file():
        known = ", ".join(builtin_names())
        raise Refused(
            name,
            f"is neither a built-in study ({known}) nor a study file",
            advice="`mileage list studies` describes the built-in ones, `mileage new my-study.toml` writes a file",
            code="unknown-name",
        )
    try:
        # UTF-8 takes up to four bytes per character: a text with too many characters is read, and then refused by their
        # number.
        return read_regular(path, 4 * STUDY_TEXT_MAX).decode()
    except (OSError, UnicodeDecodeError) as cause:
        raise Refused(name, f"cannot be read as a study file: {cause}", code="unreadable") from cause


def study_of(
    name: str, target: str | None = None, scale: str | None = None, file: str | None = None
) -> Study:
    """A built-in study by name or a study file, with another target, scale and work file if given. Raises Refused."""
    target = None if target is None else with_scheme(target)
    wanted = _read_study(name, target)
    wanted = wanted if target is None else _on_target(wanted, target)
    wanted = wanted if file is None else _with_file(wanted, file)
    if scale is None:
        return scaled(wanted)
    try:
        scale_divisor(scale)
    except ValueError as error:
        raise Refused("--scale", str(error), code="wrong-value") from None
    return scaled(msgspec.structs.replace(wanted, scale=scale))


def plan(
    study: str | None = None,
    *,
    target: str | None = None,
    quick: bool = False,
    seed: int | None = None,
    destroy: str | None = None,
    scale: str | None = None,
    file: str | None = None,
) -> Plan:
    """Resolve a study on its target; nothing is written.

    `scale`, "1/N", and `file`, the size of the work file, are in place of the study's own.

    Raises:
        Refused: the study, the target or the two together are not possible; one line says why and what to do.
    """
    return _planned(study or DEFAULT_STUDY, _Changes(target, quick, seed, destroy, scale, file))


def _with_file(study: Study, file: str) -> Study:
    """A study with another size of its work file. Raises Refused where its target has none."""
    if not capabilities_of(study.target).has_work_file:
        raise Refused("--file", f"{study.target} has no work file", code="no-effect")
    return msgspec.structs.replace(study, state=msgspec.structs.replace(study.state, file=file))


class _Changes(NamedTuple):
    """What a call wants in place of the study's own, what it allows to be lost, and how much to be written."""

    target: str | None = None
    quick: bool = False
    seed: int | None = None
    destroy: str | None = None
    scale: str | None = None
    file: str | None = None
    max_write_bytes: int | None = None
    allow_commands: bool = False

    @property
    def allowed(self) -> str:
        """The options that allow what is lost and what is run, each after a space."""
        lost = "" if self.destroy is None else f" --destroy {shlex.quote(self.destroy)}"
        return f"{lost}{' --allow-commands' if self.allow_commands else ''}"


def _planned(study: str, changes: _Changes, resumed: Plan | None = None) -> Plan:
    """Plan a study as :func:`plan` does.

    `resumed`: the plan of the unfinished study whose files may be on the targets.
    """
    wanted = study_of(study, changes.target, changes.scale, changes.file)
    named = Path(study) if study not in builtin_names() else None
    traces = traces_of(wanted, named.parent if named else None)
    try:
        _check_published(wanted)
        facts = _facts(wanted, changes.destroy, resumed)
        first, *rest = facts
        others = {name: facts[name] for name in rest}
        resolved = resolve(
            wanted, facts[first], quick=changes.quick, seed=changes.seed, traces=traces, others=others
        )
        if resolved.governors:
            from mileage.execute.study import refuse_governors

            refuse_governors(resolved)
        return check_built(resolved)
    except BrokenStudy as broken:
        if named is None:
            raise
        raise broken.located(_study_text(str(named)), str(named)) from None


def _check_published(study: Study) -> None:
    """Raises BrokenStudy for a source that does not ship, and for a study that compares nothing."""
    if study.published is None:
        return
    from mileage.formats.published_results import shipped_study

    try:
        shipped_study(study.published)
        if study.baseline is None:
            text = "has no effect on a study that compares nothing"
            advice = "measure in two stages or at two levels of a factor"
            raise Refused("published", text, advice=advice, code="no-effect")
    except Refused as refusal:
        raise BrokenStudy(study.name, refusal.refusals) from None


def _facts(study: Study, destroy: str | None, resumed: Plan | None) -> dict[str, TargetFacts]:
    """The facts of every target. Raises Refused; BrokenStudy for a target that a factor names."""
    try:
        return facts_of_all(study, destroy, resumed)
    except Refused as refusal:
        for name, factor in study.factor.items():
            if kind_of(name, factor) in ("target", "profile"):
                raise BrokenStudy(study.name, refusal.within(f"factor.{name}").refusals) from None
        raise


def _on_target(study: Study, target: str) -> Study:
    """The study with another target than its own. Raises Refused when a factor names its targets."""
    for name, factor in study.factor.items():
        if kind_of(name, factor) == "target":
            raise Refused(
                f"--target {target}",
                f"factor.{name} of {study.name} names its targets",
                advice="remove --target",
                code="conflict",
            )
    return msgspec.structs.replace(study, target=target)


def run(
    study: str | None = None,
    *,
    target: str | None = None,
    quick: bool = False,
    out: Path | str | None = None,
    seed: int | None = None,
    destroy: str | None = None,
    labels: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    accept_change: bool = False,
    allow_commands: bool = False,
    report: str | None = None,
    band: bool | None = None,
    scale: str | None = None,
    file: str | None = None,
    max_write_bytes: int | None = None,
) -> StudyResult:
    """Run a study to its end and write its report; resumes when `out` (or `study`) is an unfinished study folder.

    `labels`: at which level of each label of the study this machine is now; only the runs of those levels are done.
    `accept_change`: resume although kernel, firmware, scheduler, mount or memory changed; the journal records it.
    `allow_commands`: the programs that the study names may be run.
    `report`: "none", "text" (without pictures) or "full"; None: as the study or MILEAGE_REPORT says, or "full".
    `band`: whether the comparison is repeated over the choices that the profile of a virtual drive declares; None: as
    the study says. A finished study in a folder gets the band that it lacks.
    `scale`: "1/N" divides sizes and counts, virtual drives and the memory of their hosts by N; None: as the study says.
    `file`: the size of the work file, such as "16GiB"; None: as the study says.
    `max_write_bytes`: refuse a study that would write more.

    Raises:
        Refused: as :func:`plan`, or the folder cannot be used, or there can be no band.
        RunFailed: a run failed; a second call on the folder resumes the study.
    """
    reporter = progress or Silent()
    report_level(report)
    changes = _Changes(target, quick, seed, destroy, scale, file, max_write_bytes, allow_commands)
    folder, resolved, choices = _folder_and_plan(study, changes, out, labels or {}, band=band)
    _announce(reporter, folder, resolved)
    part = part_now(resolved, labels or {})
    here, allowed = shlex.quote(str(folder.path)), changes.allowed
    try:
        with raise_on_signals(), Band(resolved, choices, folder) as variants:
            left = do(
                resolved,
                folder,
                destroy,
                reporter,
                command=_command(study, resolved, changes, part),
                part=part,
                accept_change=accept_change,
                pool=variants.pool,
            )
            result = StudyResult(folder, resolved)
            variants.finish(reporter, result.comparison)
        _report(result, report, reporter)
    except (MileageError, OSError) as error:
        reporter.note(f"To resume: mileage run {here}{label_options(part)}{allowed}")
        if isinstance(error, OSError):
            raise RunFailed.from_os_error(f"writing the study folder {folder.path}", error) from error
        raise error
    for other in left:
        reporter.note(f"Still to do at {other}: mileage run {here}{label_options(other)}{allowed}")
    return result


def _announce(reporter: Progress, folder: StudyFolder, resolved: Plan) -> None:
    """Print where the study is, and before a real target is written how much will be written."""
    reporter.note(f"study folder: {folder.path}")
    if not resolved.facts.virtual:
        most = format_bytes(bytes_written(resolved.runs))
        how_much = f"about {most}, by assumed rates," if _timed_writes(resolved) else f"{most} at most"
        reporter.note(f"writes {how_much} to {resolved.target}")


def _report(result: StudyResult, report: str | None, reporter: Progress) -> None:
    """Write the report of a study that ended, as `run` was asked to or the study says."""
    level = report_level(report, result.plan.study.report)
    if level != "none":
        reporter.stage("writing the report")
        result.write_report(level)


def time_left(study: str) -> tuple[float, int, int] | None:
    """Seconds left of an unfinished study in a folder, runs done and runs needed; None when it is no study folder."""
    if not os.path.lexists(Path(study, "plan.json")):
        return None
    from mileage.plan.estimate import remaining_s
    from mileage.store.durations import closed_s, spent_s

    folder = StudyFolder.open(Path(study))
    resolved, content = load_plan(folder), folder.content()
    check_runnable(resolved, folder)
    needed = len(resolved.runs) - skipped_runs(content)
    done = len(content.any_runs())
    lanes = cycles_at_once(resolved)
    if content.of_kind(End):
        return 0.0, done, needed
    return remaining_s(resolved, spent_s(content), closed_s(content), lanes=lanes), done, needed


def _command(study: str | None, resolved: Plan, changes: _Changes, part: str) -> str:
    """The command that repeats a new study, or the part of it."""
    parts = [study or DEFAULT_STUDY]
    if not any(kind_of(name, factor) == "target" for name, factor in resolved.study.factor.items()):
        parts += ["--target", resolved.target]
    parts += ["--seed", str(resolved.study.seed)]
    parts += ["--scale", changes.scale] if changes.scale else []
    parts += ["--file", changes.file] if changes.file else []
    parts += ["--quick"] if changes.quick else []
    return f"mileage run {shlex.join(parts)}{label_options(part)}{changes.allowed}"


def _folder_and_plan(
    study: str | None,
    changes: _Changes,
    out: Path | str | None,
    labels: Mapping[str, str],
    *,
    band: bool | None,
) -> tuple[StudyFolder, Plan, Choices]:
    """The folder to work in, its plan (an unfinished study's own, or a new one) and those of its model band."""
    given = Path(out) if out is not None else None
    unfinished = study if study and os.path.lexists(Path(study, "plan.json")) else None
    if unfinished is None and given is not None and os.path.lexists(given / "plan.json"):
        unfinished = str(given)
    if unfinished is None:
        resolved = _planned(study or DEFAULT_STUDY, changes)
        _refuse_writes(resolved, changes.max_write_bytes)
        part_now(resolved, labels)
        check_commands(resolved, allowed=changes.allow_commands)
        choices = choice_plans(resolved, asked=band)
        path = given or _fresh_path(resolved.study.name)
        return StudyFolder.create(path, resolved.to_toml(), resolved.to_json().encode()), resolved, choices
    folder = StudyFolder.open(Path(unfinished))
    resolved = load_plan(folder)
    check_runnable(resolved, folder)
    check_commands(resolved, allowed=changes.allow_commands)
    _refuse_writes(resolved, changes.max_write_bytes)
    is_changed = changes._replace(destroy=None, max_write_bytes=None, allow_commands=False) != _Changes()
    if is_changed or (study and study != unfinished and given is not None):
        again = _planned(study or resolved.study.name, changes, resumed=resolved)
        if again.hash != resolved.hash:
            raise Refused(
                folder.path,
                f"holds another study (plan {resolved.hash[:16]}, asked for {again.hash[:16]})",
                advice="resume it without further options, or name a new --out",
                code="mismatch",
            )
    return folder, resolved, choice_plans(resolved, asked=band)


def _timed_writes(resolved: Plan) -> str:
    """The first cell whose runs write until a time is over, and nothing else ends them; empty without one."""
    for run in resolved.runs:
        work = run.workload
        if work is not None and work.changes and work.stop.bytes is None and work.stop.operations is None:
            return run.cell
    return ""


def _refuse_writes(resolved: Plan, most_bytes: int | None) -> None:
    """Raise Refused for a plan that may write more than `most_bytes`, or of which nobody knows it before."""
    if most_bytes is None:
        return
    if timed := _timed_writes(resolved):
        raise Refused(
            "--max-writes",
            f"{timed} writes until a time is over, and nobody knows how much that is",
            advice="give it stop = { bytes = ... } too, or leave --max-writes out",
            code="conflict",
        )
    written = bytes_written(resolved.runs)
    if written > most_bytes:
        raise Refused(
            "--max-writes",
            f"the study writes {format_bytes(written)} at most, and {format_bytes(most_bytes)} are allowed",
            advice="--quick writes less, and so does a smaller --file",
            code="too-large",
        )


def _fresh_path(name: str) -> Path:
    number = 1
    while Path(f"mileage-{name}-{number}").exists():
        number += 1
    return Path(f"mileage-{name}-{number}")
