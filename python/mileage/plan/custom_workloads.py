"""Workloads of the user's own: the [workload.NAME] tables of a study.

Scope: a pattern with its numbers, the lines of an IOMeter access specification, or the replay of a trace,
a program, each with keys of its own; or another workload with some keys changed.
What it refuses: a table that says none or several of these; a name that Mileage uses itself; keys without effect.
A trace is read elsewhere: plan is pure, and receives what it must know of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from mileage.errors import Refusal, Refused
from mileage.plan import sizes
from mileage.plan.external_program import Program
from mileage.plan.families import WORKLOADS, find_workloads
from mileage.plan.faults import BrokenStudy, Faults, join
from mileage.plan.file_job import Programs
from mileage.plan.io_options import HOW_KEYS, IoOptions, check_how
from mileage.plan.named_workloads import METRICS_OF, Kind, NamedWorkload, as_done, of_pattern
from mileage.plan.pattern import (
    PATTERN_NAMES,
    SECTOR_BYTES,
    Access,
    AccessLine,
    PatternTable,
    TraceFile,
    pattern_word,
)
from mileage.plan.rules import U32_MAX
from mileage.plan.study import AccessRow, Measure, OwnWorkload, StopRule, Study, Torture
from mileage.plan.workload import Stop, Workload

_KINDS: Final = ("like", "pattern", "access", "trace", "command")
_TABLES: Final = ("stride", "iozone_stride", "zipf", "hot_cold", "partly_sequential", "ior")
_UNREAD: Final = TraceFile(path="", sha256="", operations=1)
"""Stands for a trace that nobody has read yet, when only the study itself is checked."""

Traces = Mapping[str, TraceFile]
"""Summary of each trace, by its path as the study has it."""


def how_in(table: OwnWorkload | Measure | Torture) -> IoOptions:
    """The keys of a table that say how I/O is done."""
    return IoOptions(**{key: getattr(table, key) for key in HOW_KEYS})


def own_workloads(study: Study, faults: Faults, traces: Traces | None = None) -> dict[str, NamedWorkload]:
    """The user's workloads by name; without `traces`, none has been read yet.

    An invalid workload is skipped, added to the faults and marked there.
    """
    known: dict[str, NamedWorkload] = {}
    for name, table in study.workload.items():
        path = join("workload", name)
        found = [fault.below(path) for fault in _problems(name, table)]
        if not found and not faults.is_marked(path):
            try:
                known[name] = _own_workload(study, name, table, traces, faults.source, known)
            except BrokenStudy as broken:
                found += broken.refusals
        for fault in found:
            faults.add_refusal(fault)
        if found:
            faults.mark(path)
    return known


def _own_workload(
    study: Study,
    name: str,
    table: OwnWorkload,
    traces: Traces | None,
    source: str,
    known: Mapping[str, NamedWorkload],
) -> NamedWorkload:
    path = join("workload", name)
    try:
        if table.like is not None:
            found = find_workloads(table.like, study.target, source, f"{path}.like", known)
            if len(found) > 1:
                raise _Wrong(
                    f"{path}.like",
                    found=f"the family {table.like!r}",
                    expected="one workload",
                    code="wrong-value",
                )
            if found[0].job is not None:
                raise _Wrong(
                    f"{path}.like",
                    found=f"{table.like!r}, which makes files of its own",
                    advice="name it in a [measure.*] table",
                    code="unsupported",
                )
            return _like(name, table, found[0])
        if table.access is not None:
            return _access(name, table, table.access, f"{path}.access")
        if table.command is not None:
            return _command(name, table)
        if table.trace is not None:
            return _replay(name, table, _UNREAD if traces is None else traces[table.trace])
        return _pattern(name, table, path)
    except _Wrong as wrong:
        raise BrokenStudy(source, wrong.refusals) from None


_LINES: Final = "pattern.access.lines"
"""Path of the lines of an access specification, in the core's messages."""


class _Wrong(Refused):
    """A value of a workload is wrong; the study that it is part of is known to the caller."""


def trace_paths(study: Study) -> tuple[str, ...]:
    """The traces that a study names, each once."""
    return tuple(dict.fromkeys(table.trace for table in study.workload.values() if table.trace is not None))


def _problems(name: str, table: OwnWorkload) -> Iterator[Refusal]:
    if f"pattern.{name}" in WORKLOADS or f"pattern.{name}_read" in WORKLOADS:
        yield Refusal(
            "",
            text="is the short name of a workload of Mileage",
            advice="choose another name",
            code="repeated",
        )
    given = [key for key in _KINDS if getattr(table, key) is not None]
    if len(given) != 1:
        yield Refusal(
            "",
            found=f"{' and '.join(given) or 'none'} of {', '.join(_KINDS)}",
            expected="exactly one",
            code="wrong-value",
        )
    yield from check_how(how_in(table))
    if table.timed is not None and table.trace is None:
        yield Refusal(
            "timed", text="has no effect without trace", advice="give both or neither", code="no-effect"
        )
    for key in ("before", "cleanup"):
        if getattr(table, key) is not None and table.command is None:
            yield Refusal(
                key, text="has no effect without command", advice="give both or neither", code="no-effect"
            )
    for key in ("command", "before", "cleanup"):
        argv = getattr(table, key)
        if argv is not None and (not argv or not argv[0] or any("\0" in word for word in argv)):
            yield Refusal(
                key,
                found=f"{list(argv)}",
                expected='a program and its arguments such as ["make", "-j4"]',
                code="wrong-value",
            )
    for key in ("reads", "discards"):
        if getattr(table, key) is not None and (table.trace or table.access):
            said = "the trace says" if table.trace else "the access lines say"
            yield Refusal(
                key,
                text=f"has no effect here: {said} what is read and written",
                advice="remove it",
                code="no-effect",
            )
    if not table.title.isprintable():
        yield Refusal(
            "title",
            found=f"{table.title!r}",
            expected="one line without control characters",
            code="wrong-value",
        )


def _command(name: str, table: OwnWorkload) -> NamedWorkload:
    title = table.title or shlex.join(table.command or ())
    return NamedWorkload(
        name,
        title,
        "sequential",
        0,
        "time",
        METRICS_OF["time"],
        how_in(table),
        stop=StopRule(),
        job=Program,
        programs=Programs(table.command or (), table.before, table.cleanup),
    )


def _like(name: str, table: OwnWorkload, like: NamedWorkload) -> NamedWorkload:
    done = as_done(like, how_in(table))
    return NamedWorkload(
        name=name,
        title=table.title or f"as {like.name}, with other keys",
        pattern=done.pattern,
        read_percent=done.read_percent,
        kind=done.kind,
        metrics=done.metrics,
        how=done.how,
        record=done.record,
        stop=done.stop,
        once=done.once,
    )


def _pattern(name: str, table: OwnWorkload, path: str) -> NamedWorkload:
    how = how_in(table)
    reads = 100 if how.reads is None else how.reads
    pattern = table.pattern
    if isinstance(pattern, PatternTable):
        if len(pattern.given) != 1 or pattern.given[0] not in _TABLES:
            raise _Wrong(
                f"{path}.pattern",
                found=pattern_word(pattern),
                expected=f"one of {', '.join(_TABLES)} with its numbers (access lines and traces have keys of their"
                " own)",
                code="unknown-name",
            )
        title = table.title or f"pattern {pattern_word(pattern)}"
        return of_pattern(name, title, pattern, reads, how)
    for word in PATTERN_NAMES:
        if pattern == word:
            return of_pattern(name, table.title or f"pattern {word}", word, reads, how)
    tables = ", ".join(f"{word} = {{ ... }}" for word in _TABLES)
    raise _Wrong(
        f"{path}.pattern",
        f"{pattern!r} is not a pattern",
        expected=f"one of {', '.join(PATTERN_NAMES)}, or a table with {tables}",
        code="unknown-name",
    )


def _access(name: str, table: OwnWorkload, rows: tuple[AccessRow, ...], path: str) -> NamedWorkload:
    lines = tuple(_line(row, f"{path}[{number}]") for number, row in enumerate(rows))
    pattern = PatternTable(access=Access(lines))
    # Check in a span that every line fits into, so that only faults that hold for any span are reported.
    alone = Workload(pattern, 100, SECTOR_BYTES, 0, 1 << 48, 1, 1, Stop(operations=1), 0)
    problem = alone.problem()
    if problem is not None and problem[0].startswith(_LINES):
        where = problem[0].removeprefix(_LINES).removesuffix("_bytes")
        raise _Wrong(f"{path}{where}", found=f"{problem[1]}", code="wrong-value")
    kind: Kind = "iops" if any(line.random_percent for line in lines) else "throughput"
    title = table.title or f"{len(lines)} access line{'' if len(lines) == 1 else 's'}"
    largest = sizes.exact_bytes(max(line.size_bytes for line in lines))
    return NamedWorkload(name, title, pattern, 100, kind, METRICS_OF[kind], how_in(table), record=largest)


def _line(row: AccessRow, path: str) -> AccessLine:
    def read(key: str, value: int | str) -> int:
        try:
            return sizes.size_bytes(value)
        except ValueError as error:
            raise _Wrong(f"{path}.{key}", str(error), code="wrong-value") from None

    delay_ms = 0
    if row.delay is not None:
        try:
            delay_ns = sizes.parse_time_ns(row.delay)
        except ValueError as error:
            raise _Wrong(f"{path}.delay", str(error), code="wrong-value") from None
        delay_ms, rest = divmod(delay_ns, 1_000_000)
        if rest or delay_ms > U32_MAX:
            raise _Wrong(
                f"{path}.delay",
                found=f"{row.delay!r}",
                expected=f"whole milliseconds, at most {U32_MAX}",
                code="out-of-range",
            )
    return AccessLine(
        size_bytes=read("size", row.size),
        share_percent=row.share,
        read_percent=row.reads,
        random_percent=row.random,
        delay_ms=delay_ms,
        burst=row.burst,
        align_bytes=read("align", row.align),
    )


def _replay(name: str, table: OwnWorkload, trace: TraceFile) -> NamedWorkload:
    trace = msgspec.structs.replace(trace, timed=bool(table.timed))
    how = how_in(table)
    if trace.syncs and how.sync is None:
        how = msgspec.structs.replace(how, sync="fdatasync")
    return NamedWorkload(
        name,
        table.title or f"replay of {table.trace}",
        PatternTable(trace_file=trace),
        100,
        "iops",
        METRICS_OF["iops"],
        how,
        record=sizes.exact_bytes(trace.largest_bytes),
        stop=StopRule(operations=trace.operations - trace.syncs),
    )
