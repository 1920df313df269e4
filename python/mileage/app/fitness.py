"""Is storage fit for a purpose: `mileage check TARGET --for NAME`.

Scope: the load of a purpose, as a one-off study of one test in several runs, on one target or in turn on two; the
judgement of its figure by the limit of the purpose, with everything that stands against one.
What it refuses: what `mileage check` refuses; a load that the target cannot do; more bytes than are allowed.
"""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.analysis.cautions import cautions, certain_memory
from mileage.analysis.disturbance_caveats import alone_disturbed, runs_by_test
from mileage.analysis.planned_comparison import plan_of_cells
from mileage.analysis.side_caveats import model_caveats
from mileage.app.answer import caveats_of
from mileage.app.check import FACTOR, WRITES_MAX_BYTES, drive_at, parts_of
from mileage.app.check_findings import disk_in, ground_findings, memory_below, place_of
from mileage.app.measurement import measure, planned
from mileage.app.multi_study import compare
from mileage.app.report_level import report_level
from mileage.app.result import StudyResult
from mileage.app.temporary_studies import one_off_folder
from mileage.errors import Refused
from mileage.execute import Progress
from mileage.judge import Comparison
from mileage.judge.fitness import RUNS_MAX, RUNS_MIN, Fitness, fitness
from mileage.model.caveat import Caveat, veto
from mileage.model.target_kind import Capabilities, capabilities_of
from mileage.plan import Plan, Study
from mileage.plan.builtin import purpose_names, purpose_text
from mileage.plan.estimate import bytes_written
from mileage.plan.families import find_workloads
from mileage.plan.faults import BrokenStudy
from mileage.plan.purpose import STAGE, Purpose, parse_purpose
from mileage.plan.sizes import area_bytes, exact_bytes, format_bytes, size_bytes
from mileage.plan.study import Compare, Factor, Measure, StopRule, Torture
from mileage.plan.study_reader import STUDY_TEXT_MAX
from mileage.regular_file import read_regular
from mileage.report.fitness import (
    CacheKind,
    DriveCache,
    FitResult,
    PowerLoss,
    fit_pair_text,
    fit_text,
    published_limit,
)
from mileage.report.measurement_setup import setting_lines
from mileage.store import MeasuredCell, StudyFolder
from mileage.store.drive_facts import drive_facts
from mileage.store.study_folder import CHECK_TEXT
from mileage.targets.io_uring import has_io_uring
from mileage.targets.profiles import figures_of_target

HOST: Final = "server-2025"
"""The modelled host above a virtual drive, for a load that needs files or a page cache."""
_SECTOR: Final = 512


class FitOptions(msgspec.Struct, frozen=True):
    """Options of a check for a purpose."""

    runs: int = RUNS_MIN
    """Runs of each target, RUNS_MIN to RUNS_MAX."""
    seconds: float | None = None
    """Time after which a run ends, if its load has not ended it."""
    max_write_bytes: int = WRITES_MAX_BYTES
    """Bytes that may be written to a real drive."""
    destroy: str | None = None
    """The file or device whose content may be lost."""


class FitRun(msgspec.Struct, frozen=True):
    """Result of `mileage check --for`: one target, or two that took turns."""

    checked: tuple[FitResult, ...]
    comparison: Comparison | None = None
    """With two targets, the judgement of the second against the first, by pairs."""


def load_purpose(name: str) -> Purpose:
    """The purpose of a name, or that of a file when `name` ends in .toml. Raises Refused."""
    if not name.endswith(".toml"):
        return parse_purpose(purpose_text(name), name, name)
    path = Path(name)
    if not path.is_file():
        expected = f"a file, or one of {', '.join(purpose_names())}"
        raise Refused(f"--for {name}", "there is no such file", expected=expected, code="not-found")
    try:
        text = read_regular(path, 4 * STUDY_TEXT_MAX).decode()
    except (OSError, UnicodeDecodeError) as cause:
        raise Refused(name, f"cannot be read as a purpose: {cause}", code="unreadable") from cause
    try:
        return parse_purpose(text, name, re.sub("[^A-Za-z0-9._-]", "-", path.stem).lstrip("._-") or "own")
    except BrokenStudy as broken:
        raise broken.located(text, name) from None


def plans_for(purpose: Purpose, targets: Sequence[str], wanted: FitOptions) -> list[Plan]:
    """The plan of one target, or of two in turn; two plans where the two cannot share a study.

    Raises:
        Refused: a target cannot be used, cannot do the load, or would be written more than is allowed.
    """
    if not RUNS_MIN <= wanted.runs <= RUNS_MAX:
        expected = f"{RUNS_MIN} to {RUNS_MAX}: an interval needs {RUNS_MIN}"
        raise Refused("--runs", found=str(wanted.runs), expected=expected, code="out-of-range")
    ways = [place_of(target) for target in targets]
    if len(targets) == 2 and (
        targets[0] == targets[1] or (ways[0] and ways[1] and ways[0].samefile(ways[1]))
    ):
        raise Refused(targets[1], "is given twice", expected="two targets to compare", code="repeated")
    studies = [_study(purpose, target, wanted) for target in targets]
    if len(studies) == 2 and _kind(studies[0]) == _kind(studies[1]):
        levels: dict[str, Any] = dict(zip("AB", (study.target for study in studies), strict=True))
        factor = Factor(levels=levels, kind="target")
        studies = [msgspec.structs.replace(studies[0], factor={FACTOR: factor}, compare=Compare(arms=FACTOR))]
    plans = [_planned(study, purpose, wanted) for study in studies]
    _refuse_writes(plans, wanted)
    return plans


def _kind(study: Study) -> tuple[Capabilities, Study]:
    """What two studies must have in common for one study of both."""
    return capabilities_of(study.target), msgspec.structs.replace(study, target="")


def _planned(study: Study, purpose: Purpose, wanted: FitOptions) -> Plan:
    try:
        plan = planned(study, wanted.destroy)
    except BrokenStudy as broken:
        # What a purpose needs is not smaller in a quick study.
        found = [
            one._replace(advice="free some space") if one.code == "no-room" else one
            for one in broken.refusals
        ]
        raise BrokenStudy(f"{purpose.name} on {study.target}", found) from None
    tests = len(plan.cells) // max(len(plan.settings), 1)
    if tests != 1:
        text = f"has {tests} tests, and one is judged"
        raise Refused(
            purpose.name, text, advice="give one workload, record, depth and thread count", code="wrong-value"
        )
    return plan


def _study(purpose: Purpose, target: str, wanted: FitOptions) -> Study:
    """The load of a purpose as a study of one target. Raises Refused."""
    study = purpose.study
    ((name, table),) = study.measure.items()
    target = _with_host(purpose, table, target)
    kind = capabilities_of(target)
    asked, _ = drive_at(target, wanted.destroy)
    state, tortures = study.state, study.torture
    if asked.kept:
        state = msgspec.structs.replace(state, start="kept", carryover="none")
    if (asked.kept or not kind.has_work_file) and not _makes_files(study, target):
        table, tortures = _in_place(purpose, target, asked.room_bytes, table)
    if kind.simulated and not kind.has_host:
        state = msgspec.structs.replace(state, cache="direct")
        durable = {"dsync": None, "sync": "fua"} if table.dsync else {}
        table = msgspec.structs.replace(table, cache=None, **durable)
    if kind.is_real and isinstance(table.depth, int) and table.depth > 1 and not has_io_uring():
        table = msgspec.structs.replace(table, threads=table.depth, depth=1)
    stop = table.stop or StopRule()
    if wanted.seconds is not None:
        stop = msgspec.structs.replace(stop, time=f"{max(round(1000 * wanted.seconds), 1)} ms")
    table = msgspec.structs.replace(table, repeat=wanted.runs, stop=stop)
    return msgspec.structs.replace(
        study,
        target=target,
        state=state,
        torture=tortures,
        measure={name: table},
        on_failure="stop" if kind.is_real else "dnf",
    )


def _in_place(
    purpose: Purpose, target: str, room_bytes: int, table: Measure
) -> tuple[Measure, dict[str, Torture]]:
    """The tables of a load on a drive, a device or a file that is used whole: in as much of it as its file has.

    Raises:
        Refused: the target is smaller, or the size of the file is none in bytes.
    """
    file = purpose.study.state.file
    try:
        size = size_bytes(file)
    except ValueError as error:
        raise Refused(f"{purpose.name}: state.file", str(error), code="wrong-value") from None
    if room_bytes < size:
        text = f"has {format_bytes(room_bytes)}, and {purpose.name} needs {format_bytes(size)}"
        raise Refused(target, text, code="no-room")

    def part(value: int | str, record: Any) -> str:
        multiple = size_bytes(record) if isinstance(record, int | str) else _SECTOR
        return exact_bytes(area_bytes(value, work_bytes=size, multiple_bytes=multiple))

    def start(value: int | str) -> int | str:
        return part(value, None) if value else value

    tortures = {
        key: msgspec.structs.replace(
            one,
            span=part(one.span, one.record),
            span_start=start(one.span_start),
            amount=part(one.amount, one.record),
        )
        for key, one in purpose.study.torture.items()
    }
    placed = {"span": part(table.span, table.record), "span_start": start(table.span_start)}
    return msgspec.structs.replace(table, **placed), tortures


def _with_host(purpose: Purpose, table: Measure, target: str) -> str:
    """The target; a bare virtual drive below a modelled host where the load needs files or a page cache."""
    kind = capabilities_of(target)
    if not kind.simulated or kind.has_host:
        return target
    cached = (table.cache or purpose.study.state.cache) != "direct"
    odd = isinstance(table.record, int | str) and size_bytes(table.record) % _SECTOR != 0
    needed = cached or odd or _makes_files(purpose.study, f"{target}@{HOST}")
    return f"{target}@{HOST}" if needed else target


def _makes_files(study: Study, target: str) -> bool:
    """Whether a load is work on files of its own, such as metadata.create, rather than I/O on an area."""
    (table,) = study.measure.values()
    words = (table.workload,) if isinstance(table.workload, str) else table.workload
    named = [word for word in words if word not in study.workload]
    return any(found.job for word in named for found in find_workloads(word, target, "workload"))


def _refuse_writes(plans: Sequence[Plan], wanted: FitOptions) -> None:
    real = [plan for plan in plans if not plan.facts.virtual]
    for plan in real:
        for run in plan.runs:
            work = run.workload
            if work is not None and work.changes and work.stop.bytes is None and work.stop.operations is None:
                raise Refused(
                    "--max-writes",
                    f"{run.cell} writes until a time is over, and nobody knows how much that is",
                    advice="give the load stop = { bytes = ... } or { operations = ... }",
                    code="conflict",
                )
    written = sum(bytes_written(plan.runs) for plan in real)
    if written > wanted.max_write_bytes:
        raise Refused(
            "--max-writes",
            found=format_bytes(wanted.max_write_bytes),
            expected=f"{format_bytes(written)} at least, with {wanted.runs} runs",
            code="out-of-range",
        )


def check_fitness(
    plans: Sequence[Plan],
    purpose: Purpose,
    *,
    destroy: str | None = None,
    save: Sequence[Path | None] = (),
    progress: Callable[[Plan], AbstractContextManager[Progress | None]] | None = None,
    command: Sequence[str] = ("mileage", "check"),
) -> FitRun:
    """Do the plans of a check for a purpose, and judge what came of each target.

    `save`: the study folder of each plan that is kept, with the text of the check and a page. `progress`: shows the
    runs of a plan.

    Raises:
        Refused: the folder cannot be made; nothing was written.
        RunFailed: a run failed; what Mileage put on the target is removed.
    """
    with ExitStack() as folders:
        checked: list[FitResult] = []
        results: list[StudyResult] = []
        for plan, kept in zip(plans, save or [None] * len(plans), strict=True):
            folder = kept if kept is not None else folders.enter_context(one_off_folder())
            with nullcontext() if progress is None else progress(plan) as shown:
                if shown is not None:
                    _announce(plan, shown)
                done = measure(
                    plan, destroy=destroy, save=folder, progress=shown, command=command, reports=False
                )
            results.append(result := StudyResult(StudyFolder.open(folder), plan))
            for part in parts_of(plan):
                own = {cell.label for cell in part.cells}
                cells = [cell for cell in done.cells if cell.cell in own]
                checked.append(_judged(result, part, purpose, cells, destroy))
        found = FitRun(tuple(checked), _comparison(results) if len(checked) == 2 else None)
        for result, kept in zip(results, save, strict=False):
            if kept is not None:
                _keep(result, found)
        return found


def _announce(plan: Plan, shown: Progress) -> None:
    """Print the bytes that are written at most."""
    most = 0 if plan.facts.virtual else bytes_written(plan.runs)
    if most:
        where = " and ".join(part.target for part in parts_of(plan))
        kept = plan.study.state.start == "kept"
        rest = "whose content is lost" if kept else "and removes its work file"
        shown.note(f"writes {format_bytes(most)} at most to {where}, {rest}")


def _comparison(results: Sequence[StudyResult]) -> Comparison | None:
    """The second target judged against the first; None where they have no test in common."""
    if len(results) == 1:
        return results[0].comparison()
    try:
        return msgspec.structs.replace(compare(results[0], results[1]), baseline="A", candidate="B")
    except Refused:
        return None


def _keep(result: StudyResult, found: FitRun) -> None:
    """Write the text of the check and the page into a study folder that is kept."""
    one, *others = found.checked
    text = fit_pair_text(one, others[0], found.comparison) if others else fit_text(one)
    result.folder.directory.write(CHECK_TEXT, text.encode())
    if report_level(None, result.plan.study.report) != "none":
        result.write_report()


def _judged(
    result: StudyResult,
    part: Plan,
    purpose: Purpose,
    measured: Sequence[MeasuredCell],
    destroy: str | None,
) -> FitResult:
    """The answer for one target, from its measured cells."""
    cells = {cell.label: cell.label for cell in part.cells}
    samples = [one for one in result.samples() if one.cell in cells and one.metric == purpose.metric.figure]
    runs = runs_by_test(result.reading().seen, cells, STAGE)
    known = drive_facts(place_of(part.target))
    spoken = (*certain_memory(result.plan, measured), *model_caveats(plan_of_cells(part, cells)))
    caveats = [_here(one) for one in (*spoken, *caveats_of(result, cells, (STAGE,)))]
    disturbed, slowed = (
        ([], 0.0)
        if part.facts.virtual
        else alone_disturbed(runs, is_journalled=_is_journalled(part, purpose))
    )
    if memory := memory_below(disk_in(known)):
        caveats.append(veto("from-memory", what=f"{memory}, which is memory: no drive is measured"))
    planned_runs = [run for run in part.runs if run.role == "measure" and run.cell in cells]
    fit = fitness(
        [one.value for one in sorted(samples, key=lambda one: one.run)],
        purpose.metric,
        purpose.limit,
        caveats=list({msgspec.json.encode(one): one for one in (*caveats, *disturbed)}.values()),
        failed=len(planned_runs) - len(samples),
        slowed=slowed,
    )
    fresh = cautions(result.plan, result.content(), measured)
    head, table = purpose.head, next(iter(part.study.measure.values()))
    texts = [one.text for one in ground_findings(part.target, known) if not memory or memory not in one.text]
    return FitResult(
        target=part.target,
        date_utc=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        purpose=purpose.name,
        title=head.title,
        limit=published_limit(purpose),
        sync=table.sync or "",
        simulated=part.facts.virtual,
        method=_method(part, len(planned_runs)),
        fitness=fit,
        again=_again(purpose, part, fit, destroy),
        notes=(*texts, *(one.text for one in fresh if one.is_fresh)),
        power_loss=_power_loss(part, table, purpose) if purpose.is_durable else None,
    )


def _is_journalled(part: Plan, purpose: Purpose) -> bool:
    """Whether each write makes the file system write more than itself."""
    return purpose.is_durable and not part.facts.capabilities.is_drive


def _here(caveat: Caveat) -> Caveat:
    """A caveat as it counts in a check: without its quantile a run has no value, and nothing can be preconditioned."""
    if caveat.code == "few-operations":
        return msgspec.structs.replace(caveat, severity="vetoes")
    figures = {key: value for key, value in caveat.figures.items() if key != "remedy"}
    return msgspec.structs.replace(caveat, figures=figures)


def _method(part: Plan, wanted: int) -> str:
    """What was done in each run, and how often."""
    _, how = setting_lines(part)
    return f"{wanted} runs, each: {how}"


def _again(purpose: Purpose, part: Plan, fit: Fitness, destroy: str | None) -> str:
    """The command with the runs that would decide it."""
    if fit.runs_needed is None:
        return ""
    words = [part.target, "--for", purpose.source, "--runs", str(fit.runs_needed)]
    words += ["--destroy", destroy] if destroy is not None else []
    most = bytes_written(part.runs) * fit.runs_needed // len(fit.values)
    words += (
        ["--max-writes", f"{-(-most >> 30)}GiB"] if most > WRITES_MAX_BYTES and not part.facts.virtual else []
    )
    return f"mileage check {shlex.join(words)}"


def _power_loss(part: Plan, table: Measure, purpose: Purpose) -> PowerLoss:
    """What a power cut would lose was not tested; what is known of the cache, and what tests it."""
    if not part.facts.virtual:
        return PowerLoss(how="drive", commands=("mileage powercut --app fsync-loop --fs ext4",))
    cache, can_cut = _cache_of(part.target)
    if not can_cut:
        return PowerLoss(cache=cache)
    work = next(cell.workload for cell in part.cells)
    assert work is not None
    size, record = (exact_bytes(value).replace(" ", "") for value in (work.span_bytes, work.record_bytes))
    options = ["-t", part.target, "-w", str(table.workload), "--size", size, "--record", record]
    options += ["--operations", str(purpose.commits_needed or 1000)]
    options += ["--no-direct"] if capabilities_of(part.target).has_host else []
    options += ["--sync", table.sync] if table.sync not in (None, "none") else []
    options += ["--sync-every", str(table.sync_every)] if table.sync_every else []
    options += ["--dsync"] if table.dsync else []
    return PowerLoss(
        how="model", cache=cache, commands=(f"mileage measure {shlex.join(options)} --power-cut",)
    )


def _cache_of(target: str) -> tuple[DriveCache, bool]:
    """What the profile of a virtual drive says of its write cache, and whether the model knows what a cut loses."""
    figures = figures_of_target(target)
    value = {key: one.get("value") if isinstance(one, dict) else one for key, one in figures.items()}
    ignores = value.get("write_buffer_flush") == "ignored"
    if value.get("write_buffer_pages"):
        power = value.get("write_buffer_power")
        kind: CacheKind = "not stated" if power is None else power
        return DriveCache(kind, ignores_flushes=ignores), power is not None or capabilities_of(
            target
        ).has_host
    if size := value.get("write_cache_bytes"):
        return DriveCache("volatile", size_bytes=size), True
    return DriveCache("none"), value.get("kind") in ("flash", "disk", "xpoint")
