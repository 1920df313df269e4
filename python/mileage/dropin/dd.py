"""`mileage dd`: a sequential write or read of a target in the words of dd.

Scope: one run, from dd's operands; zeros or random data to a target, or a target to nowhere.
What it refuses: a copy from one file to another, conversions, a device or file in use, content that nobody gave up.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from mileage.dropin.dropin_study import DropinResult, do_study, plan_of, print_notes, work_files
from mileage.dropin.flags import GivenFlags
from mileage.dropin.pages import version_text
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Interrupted, Refused
from mileage.execute.signals import handled
from mileage.formats.raw_print import summary
from mileage.model.run_record import RunRecord
from mileage.model.target_kind import capabilities_of
from mileage.plan import Study
from mileage.plan.sizes import exact_bytes, size_bytes
from mileage.plan.study import Measure, Stage, State, StopRule, Torture
from mileage.targets import parse_target
from mileage.targets.door import WorkPath
from mileage.targets.guard import block_device_refusal
from mileage.targets.room import refuse_without_room

_SOURCES: Final = {"/dev/zero": "zeros", "/dev/urandom": "incompressible", "/dev/random": "incompressible"}
_UNITS: Final = {"": 1, "c": 1, "w": 2, "b": 512} | {
    unit + end: (1000 if end == "B" else 1024) ** power
    for power, unit in enumerate("KMGTPE", 1)
    for end in ("", "B", "iB")
}
_CONV: Final = ("fdatasync", "fsync", "notrunc", "noerror")
_IFLAG: Final = ("direct", "fullblock")
_OFLAG: Final = ("direct", "dsync", "nonblock")
_FLAGS: Final = "append direct directory dsync fullblock noatime nocache noctty nofollow nonblock sync"
_OTHER_WORDS: Final = {
    "conv": "ascii block ebcdic excl ibm lcase nocreat sparse swab sync ucase unblock",
    "iflag": f"{_FLAGS} count_bytes skip_bytes",
    "oflag": f"{_FLAGS} seek_bytes",
}
"""Words that dd takes and Mileage does not, besides those that it does."""


def run(given: GivenFlags) -> None:
    """Do what the operands ask. Raises Refused and RunFailed."""
    if given.has("--version"):
        sys.stdout.write(version_text("dd", "coreutils 9.1"))
        return
    source, sink = given.last("if"), given.last("of")
    if source is None or sink is None:
        missing = "if=FILE" if source is None else "of=FILE"
        raise Refused(
            f"dd: {missing}", "missing", advice="standard input and output are no targets", code="missing"
        )
    writes = source in _SOURCES
    if writes == (sink == "/dev/null"):
        raise Refused(
            f"dd: from {source} to {sink}",
            "one side must be a target, the other /dev/zero, /dev/urandom or /dev/null",
            advice="for a copy use dd itself",
            code="unsupported",
        )
    block = size_of("bs", given.last("bs") or "512")
    path = sink if writes else source
    destroy = _destroyed(given, path)
    study = study_of(given, path, block, writes=writes)
    so_far = _SoFar(lambda moved, seconds: _figures(given, moved, block, seconds))
    try:
        with handled((signal.SIGUSR1,), so_far.print):
            if writes and _is_real_file(study.target):
                done = _do_on_file(given, study, Path(path), so_far)
            else:
                done = do_study(given, study, destroy=destroy, moved=so_far.add)
    except Interrupted as stopped:
        # As dd does: Ctrl-C prints what was done until then, SIGTERM nothing. Both end the command.
        if stopped.record is not None and stopped.number == signal.SIGINT:
            _print_summary(given, stopped.record, block, writes=writes)
        raise
    _, record = done.runs()[-1]
    _print_summary(given, record, block, writes=writes)


def _print_summary(given: GivenFlags, record: RunRecord, block: int, *, writes: bool) -> None:
    moved = record.bytes_written if writes else record.bytes_read
    sys.stderr.write(_figures(given, moved, block, record.elapsed_s))


def _figures(given: GivenFlags, moved: int, block: int, seconds: float) -> str:
    """What dd says of a copy, as much as `status` wants."""
    text = summary(moved, block, seconds)
    lines = {"none": 0, "noxfer": 2}.get(given.last("status") or "")
    return "".join(text.splitlines(keepends=True)[:lines])


class _SoFar:
    """What was copied until now, which SIGUSR1 prints; the copy continues."""

    def __init__(self, text_of: Callable[[int, float], str]) -> None:
        """`text_of`: what is printed for a number of bytes and of seconds."""
        self._text_of = text_of
        self._began = 0.0
        self._done = (0, 0.0)

    def add(self, byte_count: int | None) -> None:
        """Count further bytes; None: the copy begins."""
        now = time.monotonic()
        if byte_count is None:
            self._began = now
        else:
            # As one value: the signal may be handled between two statements of this thread.
            self._done = (self._done[0] + byte_count, now - self._began)

    def print(self, _number: int, _frame: object) -> None:
        """Print the bytes and the time of the last count."""
        # Past the stream: the next signal may come while it is written, and a stream cannot be written by two.
        with suppress(OSError):
            os.write(sys.stderr.fileno(), self._text_of(*self._done).encode())


def _is_real_file(target: str) -> bool:
    """Whether it is a file of this machine, which dd makes or cuts off."""
    kind = capabilities_of(target)
    return kind.has_work_file and not kind.simulated


def _do_on_file(given: GivenFlags, study: Study, path: Path, so_far: _SoFar) -> DropinResult:
    """Write a file as dd does: it is made, or cut off where the writing begins, and stays.

    When the study is refused or fails, a file that was made is removed, and one that was there keeps its length.
    When it is interrupted, the file ends where the writing did.
    Raises Refused and RunFailed.
    """
    table = study.measure["dd"]
    start = size_bytes(table.span_start)
    end = start + size_bytes(table.span or 0)
    door, (file,) = work_files(given, [path])
    destroy = str(path.absolute())
    old = path.stat().st_size if file.exists() else None
    try:
        _set_length(file, max(old or 0, end))
        if old and "notrunc" not in _words(given, "conv", _CONV):
            plan_of(given, study, destroy)
            _set_length(file, start)
            _set_length(file, end)
        return do_study(given, study, destroy=destroy, moved=so_far.add)
    except BaseException as error:
        if isinstance(error, Interrupted) and error.record is not None:
            kept = (old or 0) if "notrunc" in _words(given, "conv", _CONV) else 0
            _set_length(file, max(kept, start + error.record.bytes_written))
        elif old is None:
            door.remove_made()
        else:
            _set_length(file, old)
        if isinstance(error, OSError):
            raise Refused(f"dd: {path}", f"{error.strerror}", code="unreadable") from error
        raise
    finally:
        door.close()


def _set_length(file: WorkPath, length: int) -> None:
    """Cut a file off or lengthen it with a hole; one of that length is left alone, with its times."""
    if not file.exists() or os.path.getsize(file.path) != length:
        file.resize(length)


def _destroyed(given: GivenFlags, path: str) -> str | None:
    named = given.last("--destroy")
    if named is None:
        return None
    if Path(named).absolute() != Path(path).absolute():
        raise Refused(
            f"dd: --destroy {named}",
            "does not name what is written",
            expected=f"--destroy {path}",
            code="needs-destroy",
        )
    return str(Path(path).absolute())


def study_of(given: GivenFlags, path: str, block: int, *, writes: bool) -> Study:
    """The study that does it. Raises Refused."""
    target, kept, size = _target(given, path, writes)
    hosted = capabilities_of(target).has_host
    alone = capabilities_of(target).simulated and not hosted
    flags = _words(given, "oflag" if writes else "iflag", _OFLAG if writes else _IFLAG)
    for other in ("iflag",) if writes else ("oflag",):
        if given.has(other):
            raise Refused(
                f"dd: {other}=", "has no effect: that side is no target", advice="remove it", code="no-effect"
            )
    start = block * _number(given, "seek" if writes else "skip", 0)
    if given.has("skip" if writes else "seek"):
        raise Refused(
            f"dd: {'skip' if writes else 'seek'}=",
            "has no effect on that side",
            advice="remove it",
            code="no-effect",
        )
    count = _number(given, "count", 0) if given.has("count") else None
    if count == 0:
        raise Refused("dd: count=0", "moves nothing", expected="1 or more", code="out-of-range")
    if count is None and size is None:
        raise Refused(
            "dd: count=",
            "missing",
            advice="without it a file would be written until the file system is full",
            code="missing",
        )
    most = None if size is None else (size - start) // block * block
    amount = most if count is None else block * count
    if most is not None and most <= 0:
        raise Refused(
            f"dd: {path}",
            f"is too small: a record of {block} bytes does not fit after the offset {start}",
            code="out-of-range",
        )
    amount = min(amount or 0, most) if most is not None else amount or 0
    if size is not None and not writes and amount == most and (rest := size - start - most):
        text = f"[!] the last {rest} bytes of {path}, no whole record of {block}, are not read; dd itself reads them"
        print_notes([text])
    if writes and _is_real_file(target):
        _refuse_without_room(path, start + amount)
    table = _table(given, block, start, amount, writes=writes, alone=alone, flags=flags)
    # Fill a simulated drive before it is read, because pages that were never written are not read from flash. The file
    # of a modelled host is written, and out of the cache, before the study begins.
    fill = alone and not writes
    filling = Torture(
        workload="throughput.write",
        record=exact_bytes(block),
        amount=exact_bytes(amount),
        span=exact_bytes(amount),
        span_start=start,
    )
    stages = (Stage(name="fill", prepare=("fill",)),) if fill else ()
    state = (
        State(start="kept")
        if kept
        else State(file=exact_bytes(start + amount), cache=table.cache or "direct")
    )
    return Study(
        name="dd",
        question=f"How fast is it {'written' if writes else 'read'} from end to end?",
        target=target,
        state=state,
        stage=(*stages, Stage(name="dd", measure=("dd",))),
        measure={"dd": table},
        torture={"fill": filling} if fill else {},
    )


def _refuse_without_room(path: str, end: int) -> None:
    """Refuse a file of `end` bytes where the file system has no room for it."""
    found = Path(path)
    try:
        held = found.stat().st_blocks * 512 if (exists := found.exists()) else 0
    except OSError as error:
        raise Refused(f"dd: {path}", f"{error.strerror}", code="unreadable") from error
    refuse_without_room(
        f"dd: {path}", found.parent, needed_bytes=end, needed_files=0 if exists else 1, held_bytes=held
    )


def _table(
    given: GivenFlags, block: int, start: int, amount: int, *, writes: bool, alone: bool, flags: set[str]
) -> Measure:
    conv = _words(given, "conv", _CONV)
    syncs = [word for word in ("fsync", "fdatasync") if word in conv]
    if syncs and not writes:
        raise Refused(f"dd: conv={syncs[0]}", "has no effect on a read", advice="remove it", code="no-effect")
    content = _SOURCES[str(given.last("if"))] if writes else None
    return Measure(
        workload=f"throughput.{'write' if writes else 'read'}",
        record=exact_bytes(block),
        stop=StopRule(bytes=exact_bytes(amount)),
        span=exact_bytes(amount),
        span_start=start,
        repeat=1,
        cache=None if alone else "direct" if "direct" in flags else "warm",
        content=content,
        sync=(syncs[0] if syncs else "none") if writes else None,
        dsync=True if "dsync" in flags else None,
    )


def _target(given: GivenFlags, path: str, writes: bool) -> tuple[str, bool, int | None]:
    """The target, whether it is used in place, and its size in bytes where it has one."""
    if capabilities_of(path).simulated:
        from mileage.app.plan_execution import facts_of

        return path, False, facts_of(path, None, state=State()).capacity_bytes
    found = Path(path)
    try:
        status = found.stat()
    except FileNotFoundError:
        if writes and not path.startswith("/dev/"):
            return f"file:{found.absolute()}", True, None
        raise Refused(f"dd: {path}", "no such file or device", code="not-found") from None
    except OSError as error:
        raise Refused(f"dd: {path}", f"{error.strerror}", code="unreadable") from error
    if stat.S_ISBLK(status.st_mode):
        spec = parse_target(f"block:{found.absolute()}")
        if writes and (refusal := block_device_refusal(str(spec), found)):
            raise refusal
        try:
            with open(found, "rb") as device:
                return str(spec), True, device.seek(0, os.SEEK_END)
        except OSError as error:
            raise Refused(f"dd: {path}", f"{error.strerror}", code="unreadable") from error
    if stat.S_ISREG(status.st_mode):
        empty = status.st_size == 0
        if writes:
            return f"file:{found.absolute()}", True, None
        if empty:
            raise Refused(f"dd: {path}", "is empty", advice="there is nothing to read", code="empty")
        return f"file:{found.absolute()}", True, status.st_size
    raise Refused(f"dd: {path}", "is neither a block device nor a file", code="wrong-kind")


def size_of(name: str, text: str) -> int:
    """A number as dd reads it: with a unit, or several multiplied by x. Raises Refused."""
    whole = 1
    for part in text.split("x"):
        found = re.fullmatch(r"([0-9]{1,18})([A-Za-z]*)", part)
        unit = (
            None
            if found is None
            else _UNITS.get(found[2] if found[2] in "cwb" else found[2][0].upper() + found[2][1:])
        )
        if found is None or unit is None:
            expected = "a number such as 512, 64K, 1M or 2x512"
            raise ToolRefusal(
                "dd", f"dd: {name}={text}", expected=expected, code="wrong-value", fault="value"
            )
        whole *= int(found[1]) * unit
    if not 0 < whole < 1 << 63 and name == "bs":
        raise ToolRefusal(
            "dd", f"dd: {name}={text}", expected="more than 0", code="out-of-range", fault="value"
        )
    return whole


def _number(given: GivenFlags, name: str, alone: int) -> int:
    text = given.last(name)
    if text is None:
        return alone
    if text == "0":
        return 0
    return size_of(name, text)


def _words(given: GivenFlags, name: str, known: tuple[str, ...]) -> set[str]:
    words = {word for text in given.every(name) for word in text.split(",") if word}
    for word in sorted(words):
        if word not in known and word not in _OTHER_WORDS[name].split():
            expected = f"one of {', '.join(known)}"
            raise ToolRefusal(
                "dd", f"dd: {name}={word}", expected=expected, code="unknown-word", fault="value"
            )
        if word not in known:
            raise Refused(
                f"dd: {name}={word}",
                "is not supported",
                expected=f"one of {', '.join(known)}",
                advice="for a copy use dd itself",
                code="not-built",
            )
    return words
