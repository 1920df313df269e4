"""Traces of operations on one file or device: CSV, Mileage's own log of operations, and fio's iolog.

Scope: the operations in the order of their times, each with a time in nanoseconds since the first one:

* CSV with one header row. Columns by name, in any order: the time (`at_ns`, `at_us`, `at_ms`, `at_s`, or `start_ns` as
  in Mileage's log; without one, all are at 0), `kind` (or `op`, `action`), `offset_bytes` (or `offset`), `length_bytes`
  (or `length`, `size`). Other columns are not looked at.
* fio's iolog, version 2 (times come from its `wait` lines, in microseconds) and version 3 (a time in microseconds at
  the head of every line). Lines that add, open and close the file are ignored.

Refuses lines that it does not understand, with their number, traces of several files, and operations of no bytes.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from mileage.errors import Refused
from mileage.model.operation_kind import OPERATION_KINDS, OperationKind
from mileage.plan import TraceFile
from mileage.plan.pattern import TraceOp
from mileage.regular_file import open_regular, read_on

BYTES_MAX: Final = 1 << 30
"""Size of a trace file at most."""
_FIRST_LINE_MAX: Final = 4096
_UNIT_MAX: Final = 1 << 20
_KINDS: Final[dict[str, OperationKind]] = {
    word: name for name, kind in OPERATION_KINDS.items() for word in (name, *kind.aliases)
}
_TIMES: Final = {"at_ns": 1, "start_ns": 1, "at_us": 10**3, "at_ms": 10**6, "at_s": 10**9}
_COLUMNS: Final = {
    "kind": ("kind", "op", "action"),
    "offset": ("offset_bytes", "offset"),
    "length": ("length_bytes", "length", "size"),
}
_IOLOG: Final = ("fio version 2 iolog", "fio version 3 iolog")
_MANAGED: Final = ("add", "open", "close")


def read_trace(path: Path) -> tuple[TraceOp, ...]:
    """The operations of a trace, in the order of their times. Raises Refused."""
    try:
        with open_regular(path, BYTES_MAX) as file:
            head = file.read(_FIRST_LINE_MAX) or b""
            if len(head) == _FIRST_LINE_MAX and b"\n" not in head:
                raise Refused(
                    path,
                    f"the first line has more than {_FIRST_LINE_MAX} bytes",
                    expected="a trace as CSV or a fio iolog",
                    code="malformed",
                )
            lines = (head + read_on(file, BYTES_MAX - len(head), str(path))).decode().splitlines()
    except OSError as error:
        raise Refused(path, f"cannot be read: {error.strerror}", code="unreadable") from error
    except UnicodeDecodeError:
        raise Refused(
            path, "not UTF-8 text", expected="a trace as CSV or a fio iolog", code="malformed"
        ) from None
    first = lines[0].strip() if lines else ""
    try:
        found = list(_iolog(path, lines, first) if first in _IOLOG else _csv(path, lines))
    except csv.Error as error:
        raise Refused(path, f"cannot be read as CSV: {error}", code="unreadable") from error
    if not found:
        raise Refused(path, "no operation in it", expected="a trace as CSV or a fio iolog", code="empty")
    found.sort(key=lambda op: op.at_ns)
    first_ns = found[0].at_ns
    return tuple(TraceOp(op.at_ns - first_ns, op.kind, op.offset_bytes, op.length_bytes) for op in found)


def trace_file(path: Path, operations: tuple[TraceOp, ...]) -> TraceFile:
    """Summary of a trace file for the plan."""
    moved = [op for op in operations if op.kind != "sync"]
    unit = math.gcd(_UNIT_MAX, *(number for op in moved for number in (op.offset_bytes, op.length_bytes)))
    return TraceFile(
        path=str(path),
        sha256=hashlib.sha256(operations_json(operations)).hexdigest(),
        operations=len(operations),
        reads=sum(op.kind == "read" for op in moved),
        writes=sum(op.kind == "write" for op in moved),
        syncs=len(operations) - len(moved),
        bytes=sum(op.length_bytes for op in moved if op.kind != "discard"),
        largest_bytes=max((op.length_bytes for op in moved), default=1),
        end_bytes=max((op.offset_bytes + op.length_bytes for op in moved), default=0),
        unit_bytes=unit,
        duration_ns=operations[-1].at_ns,
    )


def operations_json(operations: Iterable[TraceOp]) -> bytes:
    """The operations as the JSON list that a workload holds."""
    return msgspec.json.encode(tuple(operations))


def _csv(path: Path, lines: list[str]) -> Iterator[TraceOp]:
    rows = csv.reader(lines)
    names = [name.strip().lower() for name in next(rows, [])]
    where = {key: _column(path, names, known) for key, known in _COLUMNS.items()}
    times = [name for name in _TIMES if name in names]
    if len(times) > 1:
        raise Refused(path, f"columns {' and '.join(times)} both say when", expected="one", code="malformed")
    at = names.index(times[0]) if times else None
    scale = _TIMES[times[0]] if times else 0
    for row in rows:
        if not row:
            continue
        if len(row) != len(names):
            raise Refused(
                f"{path}: line {rows.line_num}",
                f"{len(row)} fields",
                expected=f"{len(names)}",
                code="malformed",
            )
        yield _operation(
            path,
            rows.line_num,
            "0" if at is None else row[at],
            scale,
            row[where["kind"]],
            row[where["offset"]],
            row[where["length"]],
        )


def _column(path: Path, names: list[str], known: tuple[str, ...]) -> int:
    for name in known:
        if name in names:
            return names.index(name)
    raise Refused(
        path,
        f"no column {known[0]} among {', '.join(names) or 'none'}",
        advice="is this a trace?",
        code="malformed",
    )


def _iolog(path: Path, lines: list[str], head: str) -> Iterator[TraceOp]:
    timed = head == _IOLOG[1]
    now_us = 0
    name: str | None = None
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        if not words:
            continue
        time, *rest = words if timed else [str(now_us), *words]
        if len(rest) < 2:
            _bad(path, number, line)
        own, action, *numbers = rest
        if name is not None and own != name:
            raise Refused(
                f"{path}: line {number}",
                f"a second file, {own}",
                advice="a trace of one file can be replayed",
                code="unsupported",
            )
        name = own
        if action in _MANAGED:
            continue
        if action == "wait" and not timed:
            now_us += _whole(path, number, numbers[0] if numbers else line)
            continue
        if len(numbers) != 2 and action not in ("sync", "datasync"):
            _bad(path, number, line)
        offset, length = numbers if len(numbers) == 2 else ("0", "0")
        yield _operation(path, number, time, 1000, action, offset, length)


def _operation(
    path: Path, number: int, time: str, scale: int, word: str, offset: str, length: str
) -> TraceOp:
    kind = _KINDS.get(word.strip().lower())
    if kind is None:
        raise Refused(
            f"{path}: line {number}",
            f"{word!r} is not an operation",
            expected="read, write, sync or discard",
            code="malformed",
        )
    at_ns = _time_ns(path, number, time, scale)
    if kind == "sync":
        return TraceOp(at_ns, kind, 0, 0)
    offset_bytes, length_bytes = (_whole(path, number, text) for text in (offset, length))
    if length_bytes == 0:
        raise Refused(
            f"{path}: line {number}",
            f"a {kind} of 0 bytes",
            expected="1 or more",
            code="malformed",
        )
    return TraceOp(at_ns, kind, offset_bytes, length_bytes)


def _time_ns(path: Path, number: int, text: str, scale: int) -> int:
    whole, point, fraction = text.strip().partition(".")
    if not (whole.isdecimal() and whole.isascii()) or (point and not fraction.isdecimal()) or len(text) > 30:
        raise Refused(f"{path}: line {number}", f"{text!r} is not a time", code="malformed")
    nanoseconds = int(whole) * scale
    if point:
        nanoseconds += int(fraction) * scale // 10 ** len(fraction)
    return nanoseconds


def _whole(path: Path, number: int, text: str) -> int:
    if not (text.strip().isdecimal() and text.isascii() and len(text) < 20):
        raise Refused(f"{path}: line {number}", f"{text!r} is not a whole number of bytes", code="malformed")
    return int(text)


def _bad(path: Path, number: int, line: str) -> NoReturn:
    raise Refused(f"{path}: line {number}", f"{line[:60]!r} is not a line of a fio iolog", code="malformed")
