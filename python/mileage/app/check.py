"""Check one drive in one minute: identity, health, speed, and whether the speed fits the class of the drive.

Scope: a one-off study of eight tests, each repeated in blocks of random order, between two looks at the drive.
A device, and a file with content, is only read; in a directory one work file is made and removed.
What it refuses: a file system in memory, and a target that stores nothing: there is no drive to check.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.analysis.cautions import cautions
from mileage.analysis.check_class import facts_from, judged
from mileage.analysis.check_result import (
    CheckResult,
    Row,
    in_order,
    intervals,
    row_of,
    status_of,
    verdict_of,
)
from mileage.analysis.check_text import check_text, pair_text
from mileage.analysis.planned_comparison import places
from mileage.analysis.quoted_rates import measured_rates, quoted_pairs
from mileage.app.check_findings import (
    TargetFindings,
    class_facts,
    disk_in,
    findings,
    health_seen,
    identity,
    not_tested,
    place_of,
)
from mileage.app.measurement import asked_of, measure, planned
from mileage.app.report_level import report_level
from mileage.app.result import StudyResult
from mileage.app.temporary_studies import one_off_folder
from mileage.errors import Refused
from mileage.execute import Progress
from mileage.judge import Comparison
from mileage.model.caveat import veto
from mileage.model.data_sheet import DataSheet
from mileage.model.target_kind import capabilities_of
from mileage.plan import MeasurementRequest, Plan, Study
from mileage.plan.estimate import bytes_written
from mileage.plan.io_options import unused_keys
from mileage.plan.one_off_study import one_off
from mileage.plan.sizes import exact_bytes, format_bytes
from mileage.plan.study import Compare, Factor, Measure, Stage, StopRule
from mileage.report.measurement_setup import labels_of
from mileage.store import MeasuredCell, StudyFolder
from mileage.store.block_device import bus_facts
from mileage.store.drive_facts import drive_facts
from mileage.store.study_folder import CHECK_TEXT
from mileage.targets.data_sheets import data_sheet_of
from mileage.targets.filesystem import Ground, look_at
from mileage.targets.guard import ROOT
from mileage.targets.io_uring import has_io_uring

NAME: Final = "check"
FACTOR: Final = "drive"
"""Name of the factor whose levels, A and B, are two targets."""
REPETITIONS: Final = 5
MEASURED_S: Final = 40.0
"""Seconds of load of a check, shared by its runs; filling the file and looking around take the rest of the minute."""
QUICK_S: Final = 0.2
"""Seconds of each run of a quick check."""
QUICK_BYTES: Final = 64 << 20
ROOM_MIN: Final = 8 << 20
"""Free space below which nothing is written: the work file takes a quarter of what is free."""
SLOW_BYTES: Final = 256 << 20
"""Size of the file on memory cards and USB, where a whole GiB takes minutes to write."""
WRITES_MAX_BYTES: Final = 32 << 30
"""Bytes that a check writes to a real drive at most, unless another limit is given."""
_RUN_BYTES_MIN: Final = 32 << 20
"""Bytes of a run of writes at least: one record of each outstanding I/O of the tests, several times."""
_INTERVALS: Final = 40
_TESTS: Final = (
    ("sequential-depth-8", "sequential", "1MiB", 8),
    ("sequential-depth-1", "sequential", "1MiB", 1),
    ("random-depth-32", "random", "4KiB", 32),
    ("random-depth-1", "random", "4KiB", 1),
)
"""Table, order, record and queue depth of each test."""


class CheckOptions(msgspec.Struct, frozen=True):
    """Options of a check."""

    quick: bool = False
    """Runs of 0.2 s in a file of 64 MiB."""
    seconds: float | None = None
    """Length of each run; None for what makes a minute of all."""
    max_write_bytes: int = WRITES_MAX_BYTES
    """Bytes that are written to a real drive at most, the work file included: runs of writes end at an equal share."""


def plan_of(target: str, wanted: CheckOptions) -> Plan:
    """The plan of a check of one target.

    Raises:
        Refused: the target cannot be used, or has no drive that could be checked.
    """
    asked, ground = drive_at(target)
    least = ROOM_MIN if not asked.kept else 1 << 20
    if asked.room_bytes < least:
        what = "has" if asked.kept else "has room for"
        raise Refused(
            target,
            f"{what} {format_bytes(asked.room_bytes)}",
            advice=f"a check needs {format_bytes(least)} at least",
            code="no-room",
        )
    bus = bus_facts(ground.disk, ROOT)["bus"] if ground is not None else ""
    writes = not asked.kept
    size = (
        None if asked.kept else QUICK_BYTES if wanted.quick else SLOW_BYTES if bus in ("mmc", "usb") else None
    )
    if size is not None:
        size = min(size, max(asked.room_bytes // 4 // (1 << 20), 1) << 20)
    asked = msgspec.structs.replace(asked, size=None if size is None else exact_bytes(size), record="1MiB")
    return planned(_study(one_off(asked), wanted, writes=writes), None)


def drive_at(target: str, destroy: str | None = None) -> tuple[MeasurementRequest, Ground | None]:
    """How a target is used by default, and the file system or device below it; None for a simulated one.

    Raises:
        Refused: it stores nothing, or in memory: there is no drive to check.
    """
    if not capabilities_of(target).moves_bytes:
        raise Refused(
            target,
            "stores nothing, so there is no drive to check",
            expected="a path or virtual:NAME",
            code="unsupported",
        )
    asked = asked_of(target, destroy, None)
    place = place_of(target)
    ground = look_at(place) if place is not None else None
    if ground is not None and ground.is_memory:
        raise Refused(
            target,
            f"is a {ground.memory_file_system}, which is memory: there is no drive to check",
            expected="a directory on a drive (df -h lists where drives are mounted)",
            code="unsupported",
        )
    return asked, ground


def _study(base: Study, wanted: CheckOptions, *, writes: bool) -> Study:
    """The study of a check: state and filling of a one-off, and its own tests."""
    (first,) = base.measure.values()
    is_limited = writes and capabilities_of(base.target).is_real
    run_bytes = _run_bytes(base, wanted.max_write_bytes) if is_limited else None
    runs = 4 * (2 if writes else 1) * REPETITIONS
    seconds = wanted.seconds or (QUICK_S if wanted.quick else MEASURED_S / runs)
    interval_ms = int(1000 * seconds / _INTERVALS)
    verbs = ("read", "write") if writes else ("read",)
    tables: dict[str, Measure] = {}
    for name, order, record, depth in _TESTS:
        tables[name] = msgspec.structs.replace(
            first,
            workload=tuple(f"{order}_{verb}" for verb in verbs),
            record=record,
            repeat=REPETITIONS,
            stop=StopRule(bytes=run_bytes, time=f"{max(round(1000 * seconds), 1)} ms"),
            **_outstanding(base.target, depth),
            **_possible(base.target, interval=f"{interval_ms} ms" if interval_ms >= 10 else None),
        )
    stages = tuple(stage for stage in base.stage if stage.measure is None)
    return msgspec.structs.replace(
        base,
        name=NAME,
        question="What is this drive, is it healthy, and how fast?",
        measure=tables,
        stage=(*stages, Stage(name=NAME, measure=tuple(tables))),
    )


def _run_bytes(base: Study, most_bytes: int) -> str:
    """Bytes of each run of writes, so that all of them and the work file are within a limit. Raises Refused."""
    file_bytes = planned(base, None).work_bytes
    run_bytes = (most_bytes - file_bytes) // (len(_TESTS) * REPETITIONS)
    if run_bytes < _RUN_BYTES_MIN:
        least = file_bytes + len(_TESTS) * REPETITIONS * _RUN_BYTES_MIN
        raise Refused(
            "--max-writes",
            found=format_bytes(most_bytes),
            expected=f"{format_bytes(least)} at least, with a work file of {format_bytes(file_bytes)}",
            code="out-of-range",
        )
    return exact_bytes(run_bytes // _RUN_BYTES_MIN * _RUN_BYTES_MIN)


def _outstanding(target: str, depth: int) -> dict[str, Any]:
    """The keys for a queue depth of `depth`: io_uring, or threads where it is not allowed.

    Buffers are not registered with io_uring, as other programs do not: an ordinary user may lock too little memory.
    """
    if depth > 1 and capabilities_of(target).is_real and not has_io_uring():
        return {"threads": depth, "depth": 1}
    return {"depth": depth, **_possible(target, api="uring:plain" if depth > 1 else None)}


def _possible(target: str, **keys: Any) -> dict[str, Any]:
    """The given keys of a workload, without those that have no effect on the target."""
    unused = unused_keys(capabilities_of(target))
    return {key: value for key, value in keys.items() if key not in unused}


def plan_of_pair(targets: Sequence[str], wanted: CheckOptions) -> Plan | None:
    """The plan of a check of two targets whose runs take turns; None where they cannot share one study.

    They can where both are of one kind and are written, or both are only read.

    Raises:
        Refused: as `plan_of`; or both are the same target.
    """
    ways = [place_of(target) for target in targets]
    if targets[0] == targets[1] or (ways[0] and ways[1] and ways[0].samefile(ways[1])):
        raise Refused(targets[1], "is given twice", expected="two targets to compare", code="repeated")
    plans = [plan_of(target, wanted) for target in targets]
    kinds = {(plan.facts.kind, plan.study.state.start) for plan in plans}
    if len(kinds) > 1:
        return None
    smaller = min(plans, key=lambda plan: plan.work_bytes).study
    factor = Factor(levels=dict(zip("AB", targets, strict=True)), kind="target")
    study = msgspec.structs.replace(
        smaller, target=targets[0], factor={FACTOR: factor}, compare=Compare(arms=FACTOR)
    )
    return planned(study, None)


class CheckRun(msgspec.Struct, frozen=True):
    """Result of `mileage check`: one target, or two targets measured alternately."""

    checked: tuple[CheckResult, ...]
    comparison: Comparison | None = None
    """With two targets, the judgement of the second against the first, by pairs."""


def check(
    plan: Plan,
    *,
    save: Path | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = ("mileage", "check"),
    sheet: DataSheet | None = None,
) -> CheckRun:
    """Do the plan of a check and judge what came of each target.

    `sheet`: the data sheet of the drive; None for that of the model which a real drive reports. With `save`, its study
    folder is kept there, with the text of the check and a page.

    Raises:
        Refused: the folder cannot be made; nothing was written.
        RunFailed: a run failed; what Mileage put on the target is removed.
    """
    parts = parts_of(plan)
    if progress is not None and (most := 0 if plan.facts.virtual else bytes_written(plan.runs)):
        where = " and ".join(part.target for part in parts)
        progress.note(f"writes {format_bytes(most)} at most to {where}, and removes its work file")
    before = [drive_facts(place_of(part.target)) for part in parts]
    with nullcontext(save) if save is not None else one_off_folder() as folder:
        measured = measure(plan, save=folder, progress=progress, command=command, reports=False)
        result = StudyResult(StudyFolder.open(folder), plan)
        content = result.content()
        spoiled = cautions(plan, content, measured.cells)
        names = labels_of(plan.cells)
        rows = [_rows_of_part(part, measured.cells) for part in parts]
        labels = {
            cell.cell: f"{row.label} of {letter}" if len(parts) == 2 else row.label
            for letter, own in zip("AB", rows, strict=False)
            for cell, row in own
        }
        seen = [
            TargetFindings(
                plan=part,
                cells=rows[number],
                runs=tuple(entry for entry in content.runs() if plan.runs[entry.run].setting == number),
                cautions=spoiled,
                names=names,
                labels=labels,
                before=known,
                after=drive_facts(place_of(part.target)),
            )
            for number, (part, known) in enumerate(zip(parts, before, strict=True))
        ]
        checked = tuple(_checked(one, sheet) for one in seen)
        done = CheckRun(checked, _compared(result, seen) if len(seen) == 2 else None)
        if save is not None:
            text = (
                check_text(checked[0])
                if len(checked) == 1
                else pair_text(checked[0], checked[1], done.comparison)
            )
            result.folder.directory.write(CHECK_TEXT, text.encode())
            if report_level(None, plan.study.report) != "none":
                result.write_report()
        return done


def _compared(result: StudyResult, seen: Sequence[TargetFindings]) -> Comparison:
    """The second target judged against the first, each test called as in the text."""
    found = result.comparison()
    labels = {cell.cell: row.label for one in seen for cell, row in one.cells}
    names = {cell: labels[label] for label, (_, cell) in places(result.plan).items() if label in labels}
    cells, headline = (
        tuple(msgspec.structs.replace(cell, cell=names.get(cell.cell, cell.cell)) for cell in family)
        for family in (found.cells, found.headline)
    )
    disks = [disk_in(one.after) for one in seen]
    same = disks[0] if disks[0] and disks[0] == disks[1] else ""
    caveats = (*found.caveats, *([veto("same-disk", disk=same)] if same else []))
    return msgspec.structs.replace(found, cells=cells, headline=headline, caveats=caveats)


def parts_of(plan: Plan) -> list[Plan]:
    """The plan as each target has it."""
    return [
        msgspec.structs.replace(
            plan,
            study=msgspec.structs.replace(plan.study, target=setting.target),
            facts=plan.facts_of(setting),
            cells=tuple(cell for cell in plan.cells if cell.setting == number),
        )
        for number, setting in enumerate(plan.settings or (plan.setting_of(plan.runs[0]),))
    ]


def _rows_of_part(part: Plan, cells: Sequence[MeasuredCell]) -> tuple[tuple[MeasuredCell, Row], ...]:
    works = {cell.label: cell.workload for cell in part.cells}
    known = [(cell, work) for cell in cells if (work := works.get(cell.cell)) is not None]
    return tuple((cell, row_of(cell, work.record_bytes, work.depth * work.threads)) for cell, work in known)


def _checked(seen: TargetFindings, sheet: DataSheet | None) -> CheckResult:
    plan, rows = seen.plan, in_order(row for _, row in seen.cells)
    known = sheet or data_sheet_of(model=facts_from(seen.after).model)
    measured = measured_rates(plan, [cell for cell, _ in seen.cells])
    own = health_seen(seen)
    fit = judged(class_facts(plan, seen.after), intervals(rows))
    found = tuple(findings(seen))
    noun = "virtual drive" if plan.facts.virtual else "drive" if disk_in(seen.before) else "storage"
    return CheckResult(
        target=plan.target,
        date_utc=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        drive=tuple(identity(seen)),
        health=own,
        rows=rows,
        fit=fit,
        findings=found,
        not_tested=tuple(not_tested(plan, rows, known)),
        verdict=verdict_of(noun, own, rows, fit, found),
        status=status_of(own, fit, found),
        sheet=known,
        quoted=tuple(quoted_pairs(known, measured)) if known is not None else (),
    )
