"""Findings of a check in addition to its rates: identity of the drive, disturbances, and what was not tested.

Scope: lines of identity; findings, each with whether it disturbs the rates; commands that test more.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from mileage import _core
from mileage.analysis.assumptions import model_error
from mileage.analysis.cautions import Caution
from mileage.analysis.check_class import DriveFacts, facts_from
from mileage.analysis.check_health import Health, health_of
from mileage.analysis.check_result import Finding, Row, UntestedProperties
from mileage.app import study
from mileage.errors import Refused
from mileage.model.data_sheet import DISKS, DataSheet
from mileage.model.journal_entries import Run
from mileage.model.target_kind import capabilities_of
from mileage.plan import Plan
from mileage.plan.estimate import bytes_written, estimate
from mileage.plan.sizes import duration, format_bytes
from mileage.store import MeasuredCell
from mileage.targets.filesystem import UNKNOWN, look_at
from mileage.targets.guard import ROOT, device_number
from mileage.targets.io_limits import io_limits
from mileage.targets.kernel_text import read_word
from mileage.targets.mounts import read_mounts
from mileage.targets.profiles import load_profile, profile_name
from mileage.targets.spec import parse_target

_LOOKS: Final = 64
"""Places of a device that are looked at for zeros."""
FALL_MIN: Final = 0.2
"""Share by which the last repetitions are slower than the first ones when a drive is said to slow down."""
FALL_REPETITIONS: Final = 5
"""Repetitions from which a fall over them is distinguished from chance."""
HOT_C: Final = 10
"""Degrees by which a drive warms up in a check when that is mentioned."""


class TargetFindings(msgspec.Struct, frozen=True):
    """Findings about one target."""

    plan: Plan
    """The plan, with this target and its cells alone."""
    cells: tuple[tuple[MeasuredCell, Row], ...]
    runs: tuple[Run, ...]
    """The journal's entries of its runs."""
    cautions: tuple[Caution, ...]
    """The cautions of all targets."""
    names: dict[str, str]
    """Name of each cell in the cautions, by its label."""
    labels: dict[str, str]
    """Name of each cell in the text, by its label, over all targets."""
    before: dict[str, str]
    """Facts about the drive before the load."""
    after: dict[str, str]


def place_of(target: str) -> Path | None:
    """The existing path whose drive is looked at; None for a virtual drive, and for a loop device still to be made."""
    kind = capabilities_of(target)
    if not kind.is_real or kind.is_made:
        return None
    path = Path(parse_target(target).name)
    return path if path.exists() else path.parent


def disk_in(facts: dict[str, str]) -> str:
    """The kernel name of the drive; empty where there is none."""
    return facts.get("disk", "")


def health_seen(seen: TargetFindings) -> Health:
    """The health after the load, which may have brought a fault to light."""
    if seen.plan.facts.virtual:
        return Health("unknown", "a virtual drive has no SMART data")
    found = health_of(seen.after)
    return found if found.state != "unknown" else health_of(seen.before)


def class_facts(plan: Plan, known: dict[str, str]) -> DriveFacts:
    """Facts that decide the class of the drive."""
    if plan.facts.virtual:
        return DriveFacts(virtual=profile_name(parse_target(plan.target).name))
    return facts_from(known)


def identity(seen: TargetFindings) -> Iterator[tuple[str, str]]:
    """Identity of the drive, as lines of a heading and a text."""
    plan, known = seen.plan, seen.after
    if plan.facts.virtual:
        yield "Drive", f"{_core.drive_title(load_profile(parse_target(plan.target).name))} (virtual)"
    elif disk_in(known):
        unnamed = "a file as a loop device" if disk_in(known).startswith("loop") else "model not known"
        model = known.get("target.drive_model") or _said(known, "target.model") or unnamed
        firmware = known.get("target.drive_firmware") or _said(known, "target.firmware")
        size = _said(known, "target.disk_bytes")
        parts = [model, f"firmware {firmware}" if firmware else "", _decimal(size), bus_words(known)]
        yield "Drive", ", ".join(part for part in (*parts, f"/dev/{disk_in(known)}") if part)
    yield "Target", _target_words(plan, known)
    cells = [cell for cell in plan.cells if cell.workload is not None]
    work = cells[0].workload
    assert work is not None
    direct = "direct I/O" if _is_direct(plan) else "page cache NOT bypassed"
    how = "simulated time" if plan.facts.virtual else direct
    seconds = (work.stop.time_ns or 0) / 1e9
    if any(cell.workload is not None and cell.workload.threads > 1 for cell in cells):
        how += ", depth by threads (io_uring is not allowed here)"
    written = sum(entry.record.bytes_written for entry in seen.runs)
    wrote = f"all runs wrote {format_bytes(written)}" if written else "read only"
    repetitions = len(seen.cells[0][1].iops)
    span = format_bytes(work.span_bytes)
    limit = f" or {format_bytes(work.stop.bytes)}" if work.stop.bytes else ""
    yield (
        "Method",
        f"{repetitions} x {seconds:.3g} s{limit} each in random order, {how}, {span} used, {wrote}",
    )


def _target_words(plan: Plan, known: dict[str, str]) -> str:
    if plan.facts.virtual:
        return plan.target
    fs_type = _said(known, "target.fs_type")
    if not fs_type or fs_type == "none":
        return plan.target
    place = place_of(plan.target)
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


def bus_words(known: dict[str, str]) -> str:
    """How a drive is attached, from the facts of `bus_facts`; empty when it is not known."""
    bus, speed = known.get("bus", ""), known.get("speed", "")
    if bus == "nvme":
        return f"NVMe, PCIe {_GENERATIONS.get(speed, speed)} x{known.get('lanes', '')}" if speed else "NVMe"
    words = {
        "sata": f"SATA {speed} Gb/s",
        "sas": f"SAS {speed} Gb/s",
        "usb": f"USB {speed} Mbit/s",
        "mmc": "MMC or SD",
        "virtio": "virtio",
        "raid": "behind a RAID card",
    }
    if speed or bus in ("mmc", "virtio", "raid"):
        return words.get(bus, "")
    return bus.upper() if bus in ("sata", "sas") else ""


def _is_direct(plan: Plan) -> bool:
    return all(cell.reach is None or cell.reach.caching.mode == "direct" for cell in plan.cells)


def findings(seen: TargetFindings) -> Iterator[Finding]:
    """Influences on the rates, the most serious first."""
    plan = seen.plan
    if (place := place_of(plan.target)) is not None:
        yield from (Finding(text, disturbs=True) for text in io_limits(place))
    yield from ground_findings(plan.target, seen.after)
    if not _is_direct(plan):
        words = "this file system does not support direct I/O: the rates include the page cache"
        yield Finding(words, disturbs=True)
    yield from _of_cells(seen)
    if (zeros := _zeros(plan)) >= 0.5:
        yield Finding(
            f"{100 * zeros:.0f} % of the sampled blocks hold only zeros: a drive answers reads of blocks "
            "that were never written, or were trimmed, without its medium, so real data may be slower to read",
            disturbs=False,
        )
    if plan.facts.virtual:
        # A spread of 0.0 % would otherwise be read as certainty about the drive.
        text = f"model: ± is the spread of the simulation, not the error of the model; {model_error(plan.target)}"
        yield Finding(text, disturbs=False)
    yield from (Finding(text, disturbs=True) for text in falls(seen))
    yield from (Finding(text, disturbs=False) for text in _warm(seen.before, seen.after))
    yield from (Finding(text, disturbs=False) for text in _narrow_link(seen.after))


def ground_findings(target: str, known: dict[str, str]) -> Iterator[Finding]:
    """What lies between a target and its drive. `known`: the facts about the drive."""
    place = place_of(target)
    if above := known.get("above"):
        words = f"{above} lies on {disk_in(known)}: encryption or a volume manager has a part in the rates"
        yield Finding(words, disturbs=True)
    if memory := memory_below(disk_in(known)):
        yield Finding(f"{memory}, which is memory: no drive is measured", disturbs=True)
    elif read_word(ROOT / "sys/block" / disk_in(known) / "loop/dio") == "0":
        words = (
            f"{disk_in(known)} is a loop device that goes through the page cache of this machine (dio is 0)"
        )
        yield Finding(f"{words}: direct I/O on it need not reach the drive below", disturbs=True)
    if (ground := look_at(place) if place is not None else None) is not None and ground.is_served:
        words = f"{ground.fs_type} is served by a program or another machine, which may answer from its own memory"
        yield Finding(words, disturbs=True)


def memory_below(disk: str, root: Path = ROOT) -> str:
    """Statement that the disk is memory, or a loop device whose file is in memory; "" for other disks."""
    if disk.rstrip("0123456789") in ("ram", "zram"):
        return f"{disk} is a disk in memory"
    seen: list[str] = []
    while disk.startswith("loop") and disk not in seen:
        seen.append(disk)
        file = read_word(root / "sys/block" / disk / "loop/backing_file")
        try:
            ground = look_at(Path(file)) if file else None
        # The backing file cannot be looked at if it was removed, or is in another mount namespace.
        except OSError:
            return ""
        if ground is None:
            return ""
        if ground.is_memory:
            return f"the file behind {seen[0]} lies on a {ground.fs_type}"
        disk = ground.disk
    return ""


def _of_cells(seen: TargetFindings) -> Iterator[Finding]:
    """The cautions about the cells of this target, and what else was noted of them."""
    own = {cell.cell for cell, _ in seen.cells}
    for caution in seen.cautions:
        if own.isdisjoint(caution.cells):
            continue
        text = caution.text
        for cell, label in seen.labels.items():
            text = text.replace(f"({seen.names[cell]})", f"({label})")
        slower = ": a used drive may write more slowly" if caution.advice else ""
        yield Finding(text + slower, disturbs=not caution.is_fresh)
    known = {caution.sentence for caution in seen.cautions}
    notes = [note for cell, _ in seen.cells for note in cell.notes if note not in known]
    # Merge notes of several tests that differ only in their numbers, or the same finding would be listed several times.
    alike = {re.sub(r"\d+", "#", note).replace("threads", "thread"): note for note in reversed(notes)}
    yield from (Finding(note, disturbs=False) for note in dict.fromkeys(notes) if note in alike.values())


def _narrow_link(known: dict[str, str]) -> Iterator[str]:
    """A link of PCI Express that is slower, or has fewer lanes, than the drive could use."""
    now, could = ((known.get(f"{best}speed", ""), known.get(f"{best}lanes", "")) for best in ("", "best_"))
    if all((*now, *could)) and _gt(*now) < _gt(*could):
        words = " of ".join(f"{speed} GT/s x{lanes}" for speed, lanes in (now, could))
        yield f"its link runs at {words}: another slot may be faster"


def _gt(speed: str, lanes: str) -> float:
    """Gigatransfers per second of all lanes; 0 where the kernel does not report it."""
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


def falls(seen: TargetFindings) -> Iterator[str]:
    """Rates that went down: from repetition to repetition, or within the runs of a test."""
    from mileage.analysis.steady_state_checks import course_of, course_words

    for cell, row in seen.cells:
        first, last = row.mb_per_s[:2], row.mb_per_s[-2:]
        if len(row.mb_per_s) >= FALL_REPETITIONS and max(last) < (1 - FALL_MIN) * min(first):
            share = 1 - sum(last) / sum(first)
            words = f"{row.label} became {100 * share:.0f} % slower from the first repetitions to the last"
            yield f"{words}: heat, a full write cache, or other load"
        own = [entry.record for entry in seen.runs if entry.cell == cell.cell]
        courses = [(course_of(record), record) for record in own]
        falls = [
            course_words(*pair) for pair in courses if pair[0].kind == "fall" and pair[0].change <= -FALL_MIN
        ]
        if len(falls) > len(own) / 2:
            yield f"{row.label} slows down within its runs ({len(falls)} of {len(own)}): {falls[0]}"


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


def not_tested(plan: Plan, rows: Sequence[Row], sheet: DataSheet | None) -> Iterator[UntestedProperties]:
    """Properties that a check of one minute cannot show, and the commands that test them.

    `rows`: what the check measured; `sheet`: the data sheet of the drive, where it is known.
    """
    if plan.facts.capabilities.has_files:
        yield sustained_advice(plan, rows, sheet)
        return
    if plan.study.state.start != "kept":
        target = shlex.quote(plan.target)
        yield UntestedProperties(
            "the speed once a write cache (SLC) is full, and after hours of writes. "
            "The plan of such a test, and the test:",
            tuple(f"mileage {verb} sustained --target {target}" for verb in ("plan", "run")),
        )
        return
    path = parse_target(plan.target).name
    if not plan.facts.capabilities.is_block_device:
        folder = shlex.quote(str(Path(path).absolute().parent))
        yield UntestedProperties(
            "writes, since this file has content. To test writes, check its directory:",
            (f"mileage check {folder}",),
        )
        return
    number = device_number(os.stat(path).st_rdev)
    mounted = [mount.mount_point for mount in read_mounts() if mount.device == number]
    yield UntestedProperties(
        "writes: they would destroy what is on it. "
        + (
            "In the file system on it:"
            if mounted
            else "Mount a file system of it, and check a directory there."
        ),
        tuple(f"mileage check {shlex.quote(place)}" for place in mounted[:1]),
    )
    yield sustained_advice(plan, rows, sheet)


# A `sustained` study that fits a checked directory: the size of its work file, its bytes and its hours.
# Scope: a cache of one-bit cells (SLC) holds at most the capacity over the bits of a cell, which the data sheet of the
# drive states; the work file has that size, or what fits. Hours are those at the rates that the check measured: a drive
# that slows down, which the study is to find out, takes longer.
# What it refuses: nothing; a study that the target does not take is no advice, and its reason is the text.

FILE_BYTES: Final = 8 << 30
"""Size of the work file where the size of the cache is not known."""
_GIB: Final = 1 << 30
_MIB: Final = 1 << 20
_BITS: Final = {"mlc": 2, "tlc": 3, "qlc": 4}
"""Bits of a cell."""
_NO_CACHE: Final = ("slc", "xpoint", *DISKS)
"""Media without a cache of one-bit cells."""
_THREADS: Final = 8
"""Outstanding operations of the study."""


def file_of(free_bytes: int, sheet: DataSheet | None) -> tuple[int, str]:
    """The size of a work file in bytes, at most four fifths of `free_bytes`, and what it follows from."""
    medium = "" if sheet is None else sheet.medium.value
    if sheet is not None and medium in _BITS:
        most = sheet.capacity_bytes.value // _BITS[medium]
        reason = f"{sheet.title} has at most {format_bytes(most // _GIB * _GIB)} of SLC cache ({medium.upper()} cells)"
    elif sheet is not None and medium in _NO_CACHE:
        most, reason = FILE_BYTES, f"{sheet.title} has no SLC cache"
    else:
        most, reason = FILE_BYTES, "the size of the drive's cache is not known"
    room = free_bytes * 4 // 5
    unit = _GIB if min(most, room) >= _GIB else _MIB
    size = min(most, room) // unit * unit
    cut = "" if size >= most // unit * unit else ", and the file is what fits"
    return size, f"{reason}{cut}"


def sustained_advice(plan: Plan, rows: Sequence[Row], sheet: DataSheet | None) -> UntestedProperties:
    """What a check of a directory or a device cannot show, and what tests it, with bytes and hours."""
    what = "the speed once a write cache (SLC) is full, and after long writes"
    file, path, reason = None, None, "everything on it would be LOST"
    options = ["sustained", "--target", plan.target]
    if plan.facts.capabilities.has_files:
        size, reason = file_of(plan.facts.free_bytes, sheet)
        file = f"{size // _GIB}GiB" if size >= _GIB else f"{size // _MIB}MiB"
        options += ["--file", file]
    else:
        path = parse_target(plan.target).name
        options += ["--destroy", path]
    try:
        wanted = study.plan("sustained", target=plan.target, file=file, destroy=path)
    except Refused as refused:
        return UntestedProperties(f"{what}: the study sustained is refused: {refused.message}", ())
    if any(row.direction == "write" for row in rows):
        time = f"{duration(time_s(wanted, rows))} at the rates above, longer where the drive slows down"
    else:
        cost = estimate(wanted)
        time = f"about {duration(cost.time_s)} (assumed: {cost.assumption})"
    words = (
        f"{what}. Such a test writes {format_bytes(bytes_written(wanted.runs))} at most and takes {time}; {reason}. "
        "Its plan, and the test:"
    )
    return UntestedProperties(
        words, tuple(f"mileage {verb} {shlex.join(options)}" for verb in ("plan", "run"))
    )


def time_s(wanted: Plan, rows: Sequence[Row]) -> float:
    """Seconds of a plan's runs at the rates of a check; the idling of a control takes as long as what it mirrors."""
    times: list[float] = []
    for run in wanted.runs:
        if run.mirrors is not None:
            times.append(times[run.mirrors])
        elif run.workload is not None:
            order = "SEQ" if run.workload.pattern == "sequential" else "RND"
            written, read = run.action.bytes_written, run.action.bytes_read
            times.append(
                written / _bytes_per_s(rows, order, "write") + read / _bytes_per_s(rows, order, "read")
            )
        else:
            times.append(0.0)
    return sum(times)


def _bytes_per_s(rows: Sequence[Row], order: str, direction: str) -> float:
    """The rate of a test at the depth of the study: no more than at the largest depth, nor than in proportion."""
    rates = [
        mean * 1e6 * max(1.0, _THREADS / row.depth)
        for row in rows
        if row.name.startswith(order) and row.direction == direction and (mean := row.rate.geometric_mean)
    ]
    return min(rates, default=float("inf"))
