"""One minute on one drive: what it is, whether it is healthy, how fast, and whether that fits its class.

What it models: a one-off study of eight tests, each repeated in blocks of random order, between two looks at the drive.
A device, and a file with content, is only read; in a directory one work file is made and removed.
What it refuses: a file system in memory, and a target that stores nothing: there is no drive to check.
"""

from __future__ import annotations

import datetime
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage import _core
from mileage.analysis.assumptions import missed_rate_notes
from mileage.analysis.cautions import cautions
from mileage.analysis.check_class import DriveFacts, facts_from, judged
from mileage.analysis.check_health import Health, health_of
from mileage.analysis.check_result import (
    Checked,
    Finding,
    NotTested,
    intervals,
    row_of,
    rows_of,
    status_of,
    verdict_of,
)
from mileage.app.measurement import Measurement, asked_of, measure, planned
from mileage.app.one_offs import one_off_folder
from mileage.errors import Refused
from mileage.execute import Progress
from mileage.model.target_kind import capabilities_of
from mileage.plan import Plan, Study
from mileage.plan.one_off import one_off
from mileage.plan.sizes import exact_bytes, format_bytes
from mileage.plan.study import Measure, Stage, StopRule
from mileage.store import StudyFolder
from mileage.store.block_device import bus_facts
from mileage.store.drive_facts import drive_facts
from mileage.store.journal import JournalContent
from mileage.targets.filesystem import UNKNOWN, look_at
from mileage.targets.guard import ROOT
from mileage.targets.io_limits import io_limits
from mileage.targets.io_uring import has_io_uring
from mileage.targets.profiles import load_profile, profile_name
from mileage.targets.spec import parse_target

NAME: Final = "check"
REPETITIONS: Final = 5
MEASURED_S: Final = 40.0
"""Seconds of load of a check, shared by its runs; filling the file and looking around take the rest of the minute."""
QUICK_S: Final = 0.2
"""Seconds of each run of a quick check."""
QUICK_BYTES: Final = 64 << 20
SLOW_BYTES: Final = 256 << 20
"""Size of the file on memory cards and USB, where a whole GiB takes minutes to write."""
_LOOKS: Final = 64
"""Places of a device that are looked at for zeros."""
_INTERVALS: Final = 40
_TESTS: Final = (
    ("seq8", "sequential", "1MiB", 8),
    ("seq1", "sequential", "1MiB", 1),
    ("rnd32", "random", "4KiB", 32),
    ("rnd1", "random", "4KiB", 1),
)
"""Table, order, record and queue depth of each test."""
FALL_MIN: Final = 0.2
"""Share by which the last repetitions are slower than the first ones when a drive is said to slow down."""
HOT_C: Final = 10
"""Degrees by which a drive warms up in a check when that is mentioned."""


class Wanted(msgspec.Struct, frozen=True):
    """How a check is done."""

    quick: bool = False
    """Runs of 0.2 s in a file of 64 MiB."""
    seconds: float | None = None
    """Length of each run; None for what makes a minute of all."""


def plan_of(target: str, wanted: Wanted) -> tuple[Plan, bool]:
    """The plan of a check, and whether it writes.

    Raises:
        Refused: the target cannot be used, or has no drive that could be checked.
    """
    if not capabilities_of(target).moves_bytes:
        raise Refused(
            f"{target}: stores nothing, so there is no drive to check; expected a path or virtual:NAME"
        )
    asked = asked_of(target, None, None)
    place = _place(target)
    ground = look_at(place) if place is not None else None
    if ground is not None and ground.is_memory:
        raise Refused(
            f"{target} is a {ground.memory_file_system}, which is memory: there is no drive to check; expected a "
            "directory on a drive (df -h lists where drives are mounted)"
        )
    bus = bus_facts(ground.disk, ROOT)["bus"] if ground is not None else ""
    writes = not asked.kept
    size = (
        None if asked.kept else QUICK_BYTES if wanted.quick else SLOW_BYTES if bus in ("mmc", "usb") else None
    )
    if size is not None:
        size = min(size, max(asked.room_bytes // 4 // (1 << 20), 1) << 20)
    asked = msgspec.structs.replace(asked, size=None if size is None else exact_bytes(size), record="1MiB")
    return planned(_study(one_off(asked), wanted, writes=writes), None), writes


def _study(base: Study, wanted: Wanted, *, writes: bool) -> Study:
    """The study of a check: state and filling of a one-off, and its own tests."""
    (first,) = base.measure.values()
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
            stop=StopRule(time=f"{max(round(1000 * seconds), 1)} ms"),
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


def _outstanding(target: str, depth: int) -> dict[str, Any]:
    """The keys by which so many operations are outstanding: io_uring, or threads where it is not allowed.

    Buffers are not registered with io_uring, as other programs do not: an ordinary user may lock too little memory.
    """
    if depth > 1 and capabilities_of(target).is_real and not has_io_uring():
        return {"threads": depth, "depth": 1}
    return {"depth": depth, **_possible(target, api="uring:plain" if depth > 1 else None)}


def _possible(target: str, **keys: Any) -> dict[str, Any]:
    """Those of some keys of a workload that have an effect on a target."""
    unused = capabilities_of(target).unused_keys
    return {key: value for key, value in keys.items() if key not in unused}


def check(
    plan: Plan,
    *,
    save: Path | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = ("mileage", "check"),
) -> Checked:
    """Do the plan of a check and judge what came of it. With `save`, its study folder is kept there.

    Raises:
        Refused: the folder cannot be made; nothing was written.
        RunFailed: a run failed; what Mileage put on the target is removed.
    """
    place = _place(plan.target)
    before = drive_facts(place)
    if save is None:
        # Its folder is read before it is removed, and a report of it is not worth the time.
        plan = msgspec.structs.replace(plan, study=msgspec.structs.replace(plan.study, report="none"))
    with nullcontext(save) if save is not None else one_off_folder() as folder:
        done = measure(plan, save=folder, progress=progress, command=command)
        return _checked(plan, done, StudyFolder.open(folder).content(), before, drive_facts(place))


def _checked(
    plan: Plan, done: Measurement, content: JournalContent, before: dict[str, str], after: dict[str, str]
) -> Checked:
    planned_cells = {cell.label: cell.workload for cell in plan.cells}
    known = [(cell, planned_cells[cell.cell]) for cell in done.cells]
    triples = [
        (cell, work.record_bytes, work.depth * work.threads) for cell, work in known if work is not None
    ]
    labels = {triple[0].cell: row_of(*triple).label for triple in triples}
    rows = rows_of(triples)
    own = _health(plan, before, after)
    fit = judged(_facts(plan, after), intervals(rows))
    findings = tuple(_findings(plan, done, content, labels, before, after))
    noun = "virtual drive" if plan.facts.virtual else "drive" if _disk(before) else "storage"
    written = sum(int(entry["record"]["bytes_written"]) for entry in content.runs())
    return Checked(
        target=plan.target,
        date_utc=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        drive=tuple(_identity(plan, after, written)),
        health=own,
        rows=rows,
        fit=fit,
        findings=findings,
        not_tested=tuple(_not_tested(plan)),
        verdict=verdict_of(noun, own, rows, fit, findings),
        status=status_of(own, fit, findings),
    )


def _place(target: str) -> Path | None:
    """The existing path whose drive is looked at; None for a virtual drive, and for a loop device still to be made."""
    kind = capabilities_of(target)
    if not kind.is_real or kind.is_made:
        return None
    path = Path(parse_target(target).name)
    return path if path.exists() else path.parent


def _disk(facts: dict[str, str]) -> str:
    return facts.get("disk", "")


def _health(plan: Plan, before: dict[str, str], after: dict[str, str]) -> Health:
    """The health after the load, which may have brought a fault to light."""
    if plan.facts.virtual:
        return Health("unknown", "a virtual drive has no SMART data")
    found = health_of(after)
    return found if found.state != "unknown" else health_of(before)


def _facts(plan: Plan, known: dict[str, str]) -> DriveFacts:
    if plan.facts.virtual:
        return DriveFacts(virtual=profile_name(parse_target(plan.target).name))
    return facts_from(known)


def _identity(plan: Plan, known: dict[str, str], written: int) -> Iterator[tuple[str, str]]:
    """What it is, in lines of a word and a text."""
    if plan.facts.virtual:
        yield "Drive", f"{_core.drive_title(load_profile(parse_target(plan.target).name))} (virtual)"
    elif _disk(known):
        unnamed = "a file as a loop device" if _disk(known).startswith("loop") else "model not told"
        model = known.get("target.drive_model") or _said(known, "target.model") or unnamed
        firmware = known.get("target.drive_firmware") or _said(known, "target.firmware")
        size = _said(known, "target.disk_bytes")
        parts = [model, f"firmware {firmware}" if firmware else "", _decimal(size), _bus(known)]
        yield "Drive", ", ".join(part for part in (*parts, f"/dev/{_disk(known)}") if part)
    yield "Target", _target_words(plan, known)
    cells = [cell for cell in plan.cells if cell.workload is not None]
    work = cells[0].workload
    assert work is not None
    direct = all(cell.reach is None or cell.reach.caching.mode == "direct" for cell in cells)
    how = "simulated time" if plan.facts.virtual else "direct I/O" if direct else "page cache NOT bypassed"
    seconds = (work.stop.time_ns or 0) / 1e9
    if any(cell.workload is not None and cell.workload.threads > 1 for cell in cells):
        how += ", depth by threads (io_uring is not allowed here)"
    wrote = f"wrote {format_bytes(written)}" if written else "read only"
    span = format_bytes(work.span_bytes)
    yield "Method", f"{REPETITIONS} x {seconds:.3g} s each in random order, {how}, {span} used, {wrote}"


def _target_words(plan: Plan, known: dict[str, str]) -> str:
    if plan.facts.virtual:
        return plan.target
    fs_type = _said(known, "target.fs_type")
    if not fs_type or fs_type == "none":
        return plan.target
    place = _place(plan.target)
    assert place is not None
    space = os.statvfs(place)
    used = space.f_blocks - space.f_bfree
    share = used / (used + space.f_bavail) if used + space.f_bavail else 0.0
    whole = _decimal(str(space.f_blocks * space.f_frsize))
    return f"{plan.target} ({fs_type}, {whole}, {100 * share:.0f} % used)"


def _said(known: dict[str, str], key: str) -> str:
    text = known.get(key, "")
    return "" if text == UNKNOWN else text


def _decimal(size_bytes: str) -> str:
    """A size as it is printed on drives, in powers of 1000."""
    if not size_bytes.isdigit():
        return ""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


_GENERATIONS: Final = {"2.5": "1.0", "5.0": "2.0", "8.0": "3.0", "16.0": "4.0", "32.0": "5.0", "64.0": "6.0"}


def _bus(known: dict[str, str]) -> str:
    bus, speed = known.get("bus", ""), known.get("speed", "")
    if bus == "nvme":
        return f"NVMe, PCIe {_GENERATIONS.get(speed, speed)} x{known.get('lanes', '')}" if speed else "NVMe"
    words = {
        "sata": f"SATA {speed} Gb/s",
        "usb": f"USB {speed} Mbit/s",
        "mmc": "MMC or SD",
        "virtio": "virtio",
    }
    return words.get(bus, "") if speed or bus in ("mmc", "virtio") else bus.upper() if bus == "sata" else ""


def _findings(
    plan: Plan,
    done: Measurement,
    content: JournalContent,
    labels: dict[str, str],
    before: dict[str, str],
    after: dict[str, str],
) -> Iterator[Finding]:
    """What had a part in the rates, gravest first."""
    place = _place(plan.target)
    if place is not None:
        yield from (Finding(text, disturbs=True) for text in io_limits(place))
    skipped = missed_rate_notes(plan)
    grave = {caution.text for caution in cautions(plan, content, done.cells)}
    for caution in done.cautions:
        if caution.startswith("a fresh drive"):
            told = f"{caution.partition(';')[0]}: a used drive may write more slowly"
            yield Finding(told, disturbs=False)
        elif caution not in skipped:
            yield Finding(caution, disturbs=caution in grave or "page cache" in caution)
    if (zeros := _zeros(plan)) >= 0.5:
        yield Finding(
            f"{100 * zeros:.0f} % of the places that were looked at hold zeros only: what was never written, "
            "or was trimmed, is answered without reading the medium, so data may be read more slowly",
            disturbs=False,
        )
    yield from (Finding(text, disturbs=True) for text in _falls(done, content, labels))
    yield from (Finding(text, disturbs=False) for text in _warm(before, after))
    yield from (Finding(text, disturbs=False) for text in _narrow_link(after))


def _narrow_link(known: dict[str, str]) -> Iterator[str]:
    """A link of PCI Express that is slower, or has fewer lanes, than the drive could use."""
    now, could = ((known.get(f"{best}speed", ""), known.get(f"{best}lanes", "")) for best in ("", "best_"))
    if all((*now, *could)) and _gt(*now) < _gt(*could):
        told = " of ".join(f"{speed} GT/s x{lanes}" for speed, lanes in (now, could))
        yield f"its link runs at {told}: another slot may be faster"


def _gt(speed: str, lanes: str) -> float:
    """Gigatransfers per second of all lanes; 0 where the kernel does not tell."""
    return float(speed) * _number(lanes) if speed.replace(".", "", 1).isdecimal() else 0.0


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _zeros(plan: Plan) -> float:
    """The share of some places of a kept device or file that hold zeros only; 0 of everything else."""
    if plan.study.state.start != "kept":
        return 0.0
    descriptor = os.open(parse_target(plan.target).name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        found = 0
        for look in range(_LOOKS):
            place = size * look // _LOOKS // 4096 * 4096
            found += not any(os.pread(descriptor, 4096, place))
            os.posix_fadvise(descriptor, place, 4096, os.POSIX_FADV_DONTNEED)
        return found / _LOOKS
    finally:
        os.close(descriptor)


def _falls(done: Measurement, content: JournalContent, labels: dict[str, str]) -> Iterator[str]:
    """Rates that went down: from repetition to repetition, or within the runs of a test."""
    for cell in done.cells:
        rates = cell.rate_bytes_per_s
        first, last = rates[:2], rates[-2:]
        if len(rates) >= REPETITIONS and max(last) < (1 - FALL_MIN) * min(first):
            share = 1 - (sum(last) / sum(first))
            told = f"{labels[cell.cell]} became {100 * share:.0f} % slower from the first repetitions to the last"
            yield f"{told}: heat, a full write cache, or other load"
    from mileage.analysis.courses import course_of, course_words

    falling: dict[str, list[str]] = {}
    for entry in content.runs():
        if entry["role"] == "measure" and "series" in entry["record"]:
            course = course_of(entry["record"])
            if course.kind == "fall" and course.change <= -FALL_MIN:
                falling.setdefault(str(entry["cell"]), []).append(course_words(course, entry["record"]))
    for name, courses in falling.items():
        if len(courses) > REPETITIONS / 2:
            yield f"{labels[name]} slows down within its runs ({len(courses)} of {REPETITIONS}): {courses[0]}"


def _warm(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    cool, warm = (health_of(found).temperature_c for found in (before, after))
    if cool is not None and warm is not None and warm - cool >= HOT_C:
        yield f"the drive warmed up from {cool} to {warm} °C: a longer load may be throttled"
    for key, words in (
        ("now.health_thm_temp1_trans_count", "lightly"),
        ("now.health_thm_temp2_trans_count", "heavily"),
    ):
        if _number(after.get(key, "")) > _number(before.get(key, "")):
            yield f"the drive throttled itself {words} because of its temperature while it was measured"


def _not_tested(plan: Plan) -> Iterator[NotTested]:
    target = shlex.quote(plan.target)
    sustained = "the speed behind a write cache (SLC), and of hours of writes."
    if plan.study.state.start != "kept":
        commands = tuple(f"mileage {verb} sustained --target {target}" for verb in ("plan", "run"))
        yield NotTested(f"{sustained} What a test would do, and the test:", commands)
        return
    path = parse_target(plan.target).name
    if not plan.facts.capabilities.is_block_device:
        folder = shlex.quote(str(Path(path).absolute().parent))
        yield NotTested(
            "writes, since this file has a content. In its directory:", (f"mileage check {folder}",)
        )
        return
    yield NotTested(
        "writes: they would destroy what is on it. In a directory of the file system on it:",
        ("mileage check DIRECTORY",),
    )
    run = f"mileage run sustained --target {target} --destroy {shlex.quote(path)}"
    yield NotTested(f"{sustained} Everything on it would be LOST:", (run,))


def as_json(found: Sequence[Checked]) -> Any:
    """One check as an object, two as a list."""
    return found[0] if len(found) == 1 else list(found)
