"""`mileage hdparm -tT [--direct] DEVICE`: two timings of a drive, as hdparm does and prints them.

Scope: reads of 2 MiB, again and again from the start (-T) or on and on (-t), each a run of a study.
On a modelled host the reads are of a file on its file system, because its drive is reached through files only.
What it refuses: anything but a block device, a virtual drive or a modelled host; -T of a virtual drive alone, which has
no page cache; flags that change a drive.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from functools import partial
from pathlib import Path
from typing import Final

from mileage.app.plan_execution import facts_of
from mileage.dropin.dropin_study import do_study, print_notes
from mileage.dropin.flags import GivenFlags
from mileage.dropin.pages import version_text
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.formats.raw_print import timing_label, timing_line
from mileage.model.run_record import RunRecord
from mileage.model.target_kind import capabilities_of
from mileage.plan import PlannedRun, Study
from mileage.plan.sizes import exact_bytes, format_bytes
from mileage.plan.study import Measure, Stage, State, StopRule, Torture

_QUESTION: Final = "How fast is this drive read?"
_RECORD: Final = "2MiB"
_READ_BYTES: Final = 2 << 20
_SECONDS: Final = "3 s"
"""Duration of -t on a virtual drive; on a device, the workload defines it."""
_CACHED_SECONDS: Final = "2 s"
"""Duration of -T on a modelled host."""
_GIB: Final = 1 << 30
_SPAN_BYTES: Final = _GIB
"""Bytes that -t reads: of a virtual drive again from the start when all were read, of a modelled host once."""
_SECTOR_BYTES: Final = 512
"""Unit of the sizes in /sys, whatever the sector size of the device."""


def run(given: GivenFlags) -> None:
    """Time every device that is named. Raises Refused and RunFailed."""
    if given.has("-V"):
        sys.stdout.write(version_text("hdparm", "hdparm 9.65"))
        return
    wanted = [what for what, flag in (("cached", "-T"), ("buffered", "-t")) if given.has(flag)]
    if not given.operands:
        text = "no device is named, such as /dev/sdb or virtual:intel-x25e-64gb"
        raise ToolRefusal("hdparm", "hdparm", text, code="missing")
    if not wanted:
        raise Refused(
            "hdparm", "give -t, -T or -tT", advice="nothing else of hdparm is done here", code="missing"
        )
    if given.has("--offset") and not given.has("-t"):
        raise Refused("hdparm: --offset", "has no effect without -t", code="no-effect")
    if given.has("--save") and len(given.operands) > 1:
        raise Refused(
            "hdparm: --save",
            "names one study folder",
            advice="give one device, or no --save",
            code="conflict",
        )
    for device in given.operands:
        if _is_drive_alone(device) and given.has("-T"):
            raise Refused(
                f"hdparm: -T {device}",
                "reads from the page cache are timed by -T, and a virtual drive has no host with one, so "
                "there is no such rate",
                advice="give -t alone, which times reads of the drive, or a host above it, virtual:DRIVE@HOST",
                code="unsupported",
            )
    studies = [(device, study_of(given, device, wanted)) for device in given.operands]
    print_notes(_notes(given))
    for device, study in studies:
        do_study(
            given, study, head=f"\n{device}:\n", finished=partial(_line, given), begun=partial(_label, given)
        )


def _line(given: GivenFlags, run: PlannedRun, record: RunRecord) -> str:
    """Output line of one timing."""
    return timing_line(_kind(run), given.has("--direct"), record.bytes_read, seconds_of(record))


def _label(given: GivenFlags, run: PlannedRun) -> str:
    """Its first words."""
    return timing_label(_kind(run), given.has("--direct"))


def _kind(run: PlannedRun) -> str:
    return "cached" if run.workload is not None and run.workload.pattern == "fixed" else "buffered"


def _is_drive_alone(device: str) -> bool:
    """Whether it is a virtual drive without a host."""
    kind = capabilities_of(device)
    return kind.simulated and not kind.has_host


def _notes(given: GivenFlags) -> list[str]:
    """Notes that a reader needs to interpret the figures."""
    notes = [
        f"{device}: the reads are of a file on the host's file system, where hdparm reads the device itself"
        for device in given.operands
        if capabilities_of(device).has_host
    ]
    if given.has("--direct"):
        return notes
    return notes + [
        f"{device}: a virtual drive has no host: the figure is that of --direct, without page cache and read-ahead"
        for device in given.operands
        if _is_drive_alone(device)
    ]


def seconds_of(record: RunRecord) -> float:
    """The time of the reads alone, in seconds; of a virtual drive, all of it is."""
    alone_ns = record.latency_of("read").sum_ns
    return (min(alone_ns, record.elapsed_ns) or record.elapsed_ns) / 1e9


def study_of(given: GivenFlags, device: str, wanted: list[str]) -> Study:
    """The study of one device. Raises Refused."""
    if capabilities_of(device).has_host:
        return _host_study(given, device, wanted)
    if capabilities_of(device).simulated:
        return _virtual_study(given, device)
    tables = {what: _table(given, what, device) for what in wanted}
    return Study(
        name="hdparm",
        question=_QUESTION,
        target=f"block:{_block_device(device)}",
        order="listed",
        state=State(start="kept"),
        stage=(Stage(name="hdparm", measure=tuple(tables)),),
        measure=tables,
    )


def _virtual_study(given: GivenFlags, device: str) -> Study:
    """The study of a virtual drive, where -t reads what was written before: no drive reads what it never got."""
    start = _offset(given)
    span = _span_bytes(device, start)
    size = exact_bytes(span)
    filling = Torture(workload="throughput.write", record=_RECORD, amount=size, span=size, span_start=start)
    reading = Measure(
        workload="throughput.read",
        record=_RECORD,
        stop=StopRule(time=_SECONDS),
        span=size,
        span_start=start,
        repeat=1,
    )
    return Study(
        name="hdparm",
        question=_QUESTION,
        target=device,
        stage=(Stage(name="fill", prepare=("fill",)), Stage(name="hdparm", measure=("buffered",))),
        measure={"buffered": reading},
        torture={"fill": filling},
    )


def _host_study(given: GivenFlags, device: str, wanted: list[str]) -> Study:
    """The study of a modelled host: as on a device, with reads of a file that was written and left the cache."""
    start = _offset(given)
    span = _span_bytes(device, start)
    cache = "direct" if given.has("--direct") else "cold"
    reads = {
        "cached": Measure(
            workload="pattern.fixed_read",
            record=_RECORD,
            stop=StopRule(time=_CACHED_SECONDS),
            span=_RECORD,
            cache=cache,
            repeat=1,
        ),
        # It ends with the file: a second pass would find the first one's pages.
        "buffered": Measure(
            workload="throughput.read",
            record=_RECORD,
            stop=StopRule(time=_SECONDS, bytes=exact_bytes(span)),
            span=exact_bytes(span),
            span_start=start,
            cache=cache,
            repeat=1,
        ),
    }
    tables = {what: reads[what] for what in wanted}
    return Study(
        name="hdparm",
        question=_QUESTION,
        target=device,
        order="listed",
        state=State(file=exact_bytes(start + span), cache=cache),
        stage=(Stage(name="hdparm", measure=tuple(tables)),),
        measure=tables,
    )


def _span_bytes(device: str, start: int) -> int:
    """Bytes that -t reads of a simulated target from `start` on, in whole reads. Raises Refused where none fits."""
    capacity = facts_of(device, None, state=State()).capacity_bytes
    span = min(capacity - start, _SPAN_BYTES) // _READ_BYTES * _READ_BYTES
    if span <= 0:
        raise _too_small(device, capacity, start)
    return span


def _table(given: GivenFlags, what: str, device: str) -> Measure:
    start = _offset(given) if what == "buffered" else 0
    _fits(device, start)
    name = f"hdparm.{what}{'_direct' if given.has('--direct') else ''}"
    return Measure(workload=name, span_start=start, repeat=1)


def _offset(given: GivenFlags) -> int:
    text = given.last("--offset") or "0"
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise ToolRefusal(
            "hdparm",
            f"hdparm: --offset {text}",
            expected="whole GiB from 0",
            code="wrong-value",
            fault="value",
        )
    return int(text) * _GIB


def _block_device(device: str) -> Path:
    path = Path(device)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise Refused(
            f"hdparm: {device}",
            f"{error.strerror}",
            advice="name a block device, or virtual:NAME",
            code="not-found",
        ) from error
    if not stat.S_ISBLK(mode):
        raise Refused(
            f"hdparm: {device}",
            "is no block device",
            advice=f"of a file use `mileage measure -t {shlex.quote(f'file:{device}')} -w hdparm.buffered`",
            code="wrong-kind",
        )
    return path.absolute()


def _fits(device: str, start: int) -> None:
    """Refuse a device without room for one read from `start` on. The kernel reports the size to every user."""
    number = _block_device(device).stat().st_rdev
    size = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/size")
    try:
        holds = int(size.read_text(encoding="ascii")) * _SECTOR_BYTES
    except (OSError, ValueError):
        return
    if holds < start + _READ_BYTES:
        raise _too_small(device, holds, start)


def _too_small(device: str, holds: int, start: int) -> Refused:
    after = f" after {format_bytes(start)}" if start else ""
    needed = f"a read takes {format_bytes(_READ_BYTES)}{after}"
    return Refused(f"hdparm: {device}", f"holds {format_bytes(holds)}", advice=needed, code="out-of-range")
