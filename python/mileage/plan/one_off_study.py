"""A study for one measurement, or for one scan, from a few words.

Scope: what `mileage measure` is asked: one stage that measures, and before it, where something is read that
nobody has written yet, a stage that writes it. The result is a study like any other.
What it refuses: words that name no workload, no key or no value; the study is then checked as all are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from typing import Final

import msgspec

from mileage.errors import Refused, closest
from mileage.model.target_kind import capabilities_of
from mileage.plan import sizes
from mileage.plan.conversion import is_in_range
from mileage.plan.families import find_workloads
from mileage.plan.io_options import HOW_KEYS, IoOptions
from mileage.plan.measure_options import OPTIONS, option_of
from mileage.plan.named_workloads import Kind, NamedWorkload, as_done
from mileage.plan.pattern import (
    HotCold,
    PartlySequential,
    Pattern,
    PatternTable,
    Stride,
    TraceFile,
    Zipf,
    is_sequential,
)
from mileage.plan.study import PURGE_EACH, Level, Measure, OwnWorkload, Stage, State, StopRule, Study, Torture
from mileage.plan.study_checks import VARIED

NAME: Final = "measure"
"""Name of the study, of its one measuring stage and of its one table."""
FILL: Final = "fill"
"""Name of the stage and the table that write what is read."""
WORKLOAD: Final = "random_read"
"""Default workload."""
RUN_TIME: Final = "10 s"
"""Default duration of a run."""
FILE_BYTES: Final = 1 << 30
"""Size of what is visited, where the target is larger and no size is given."""
ROOM_SHARE: Final = 4
"""Without a size, the work file takes at most one part in four of what is free."""
_FILL_RECORD: Final = 1 << 20
_UNIT: Final = 1 << 16
"""Granularity of a size that Mileage chooses itself."""
LISTED: Final = ("workload", "record", "threads", "depth")
"""Keys that take a list in a study file itself."""
_VARY_NAMES: Final = {"span": "size", "span_start": "start"}
"""Keys that --vary, as the options do, calls by another name."""
_BY_PATH: Final = {option.path or option.key: option for option in OPTIONS}


class MeasurementRequest(msgspec.Struct, frozen=True):
    """Options of one measurement; None means the default."""

    target: str
    kept: bool
    """Whether the target has content that is used in place."""
    room_bytes: int
    """Bytes that the measurement may occupy, or that the kept target has."""
    cache: str
    """Default state of the page cache, unless `how` or the workload sets another."""
    workload: str | None = None
    """None for reads at random places."""
    record: str | None = None
    depth: int | None = None
    threads: int | None = None
    """None for one, or as many as there are processes."""
    time: str | None = None
    bytes: str | None = None
    operations: int | None = None
    size: str | None = None
    """The part that is visited, from `start` on."""
    start: str | None = None
    how: IoOptions = IoOptions()
    vary: tuple[str, ...] = ()
    """"depth=1,2,4..64"."""
    repeat: int = 1
    fidelity: bool = False
    seed: int = 1
    session: str | None = None
    """The name of the session; None: as boot and time say."""
    traces: dict[str, TraceFile] = msgspec.field(default_factory=dict)
    """Summaries of the traces that are replayed, by their paths."""


def one_off(asked: MeasurementRequest) -> Study:
    """The study that does what is asked. Raises Refused."""
    levels = _levels(asked.vary)
    _check_once(asked, levels)
    own: dict[str, OwnWorkload] = {}
    words = tuple(
        _workload(word, own) for word in _texts(levels, "workload") or (asked.workload or WORKLOAD,)
    )
    meant = {word: _named(word, asked, own) for word in words}
    named = [found for word in words for found in meant[word]]
    blocks = [found for found in named if found.job is None]
    groups = _by_record(levels, asked, meant)
    records = tuple(dict.fromkeys(record for group in groups for record in group))
    reach = max((trace.end_bytes for trace in asked.traces.values()), default=0)
    size, start = _part(asked, records, reach)
    in_file = not asked.kept and capabilities_of(asked.target).has_work_file
    if not any(found.visits_area for found in named):
        if asked.size is not None and (job := named[0].job) is not None:
            raise Refused(
                "--size", f"has no effect on {named[0].name}", advice=job.size_advice, code="no-effect"
            )
        size = _UNIT
    reads = any(as_done(found, asked.how).reads for found in blocks) or "reads" in levels
    fill = reads and not asked.kept and capabilities_of(asked.target).moves_bytes
    varied = {key: values for key, values in levels.items() if key in VARIED}
    how = {key: getattr(asked.how, key) for key in HOW_KEYS if key not in varied}
    measure = Measure(
        workload="",
        span="file" if size is None or in_file else sizes.exact_bytes(size),
        span_start=sizes.exact_bytes(start) if start else 0,
        threads=_counts(levels, "threads", _threads(levels, asked)),
        depth=_counts(levels, "depth", 1 if asked.depth is None else asked.depth),
        vary=varied,
        repeat=asked.repeat,
        fidelity=asked.fidelity,
        **how,
    )
    measures = {
        _table_name(group, groups): _table(measure, asked, group, {word: meant[word] for word in members})
        for group, members in groups.items()
    }
    stages = (Stage(name=FILL, prepare=(FILL,)),) if fill else ()
    own_state = (
        State(start="kept")
        if asked.kept
        else State(
            file=sizes.exact_bytes(start + (size or 0) or FILE_BYTES),
            carryover=_carryover(asked, blocks, levels),
        )
    )
    return Study(
        name=NAME,
        question=f"How fast: {', '.join(words)}?",
        target=asked.target,
        seed=asked.seed,
        session=asked.session or "",
        # Stop on a device failure: the figures of a device that failed halfway do not answer the question.
        on_failure="stop" if capabilities_of(asked.target).is_real else "dnf",
        state=msgspec.structs.replace(own_state, cache=asked.cache),
        stage=(*stages, Stage(name=NAME, measure=tuple(measures))),
        workload=own,
        measure=measures,
        torture={FILL: _filling(asked, size or 0, start, measure.threads)} if fill else {},
    )


def _carryover(
    asked: MeasurementRequest, blocks: list[NamedWorkload], levels: dict[str, tuple[Level, ...]]
) -> str:
    """A virtual drive is made anew before each run where one of them writes: writes age it for those that follow."""
    writes = any(as_done(found, asked.how).writes for found in blocks) or levels.keys() & {
        "reads",
        "discards",
    }
    return PURGE_EACH if writes and capabilities_of(asked.target).simulated else "none"


def is_varied(key: str) -> bool:
    """Whether an option of this key can be scanned with --vary."""
    return next((path for path, name in _VARY_NAMES.items() if name == key), key) in (*LISTED, *VARIED)


def _levels(varied: tuple[str, ...]) -> dict[str, tuple[Level, ...]]:
    """The levels of every `KEY=LIST`."""
    levels: dict[str, tuple[Level, ...]] = {}
    for text in varied:
        key, equals, listed = text.partition("=")
        key = key.strip().replace("-", "_")
        key = next((path for path, name in _VARY_NAMES.items() if name == key), key)
        known = (*LISTED, *VARIED)
        if not equals or key not in known:
            shown = [_VARY_NAMES.get(name, name) for name in known]
            close = closest(key, shown)
            hint = f"did you mean {close}?" if close else f"expected one of {', '.join(shown)}."
            raise Refused(
                f"--vary {text}",
                f"there is no key {key!r} with levels",
                advice=f"{hint} For example --vary depth=1,2,4..64",
                code="unknown-key",
            )
        if key in levels:
            raise Refused(
                f"--vary {text}",
                f"{key} is varied twice",
                advice="give all its levels in one list",
                code="repeated",
            )
        try:
            levels[key] = _read(key, listed)
        except ValueError as error:
            raise Refused(f"--vary {text}", str(error), code="wrong-value") from None
    return levels


def _check_once(asked: MeasurementRequest, levels: dict[str, tuple[Level, ...]]) -> None:
    """Refuse a key that has levels and a value of its own: one of them would have no effect."""
    for key in levels:
        given = getattr(asked.how, key) if key in HOW_KEYS else getattr(asked, _VARY_NAMES.get(key, key))
        if given is not None and (key != "span" or asked.kept):
            raise Refused(
                f"--{option_of(key)}",
                f"is given together with --vary {option_of(key)}",
                advice="give it in one place",
                code="conflict",
            )


def _read(key: str, listed: str) -> tuple[Level, ...]:
    option = _BY_PATH.get(key)
    unit, form = (option.unit, option.form) if option else ("", "whole" if key == "ramp_to" else "text")
    if unit in ("SIZE", "BYTES"):
        return tuple(sizes.exact_bytes(int(size)) for size in read_levels(listed, sizes.parse_bytes))
    if form in ("whole", "rate"):
        return read_levels(listed, _number)
    if form == "flag" and key != "spacing":
        words = {"true": True, "yes": True, "false": False, "no": False}
        return tuple(_flag(words, str(word)) for word in read_levels(listed, None))
    return read_levels(listed, None)


def _flag(words: dict[str, bool], word: str) -> bool:
    if word not in words:
        raise ValueError(f"{word!r}: expected true or false")
    return words[word]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _texts(levels: dict[str, tuple[Level, ...]], key: str) -> tuple[str, ...]:
    return tuple(str(level) for level in levels.get(key, ()))


def _counts(levels: dict[str, tuple[Level, ...]], key: str, alone: int) -> int | tuple[int, ...]:
    found = tuple(int(level) for level in levels.get(key, ()))
    return found if len(found) > 1 else found[0] if found else alone


def _threads(levels: dict[str, tuple[Level, ...]], asked: MeasurementRequest) -> int:
    """The numbers of threads that the user gave; if none, the largest number of processes of any cell."""
    if asked.threads is not None:
        return asked.threads
    return max((int(level) for level in levels.get("processes", ())), default=asked.how.processes or 1)


def _workload(word: str, own: dict[str, OwnWorkload]) -> str:
    """The name that a workload has in the study; one with a number, such as "stride:8", gets a table of its own."""
    head, colon, rest = word.partition(":")
    if not colon:
        return word
    if head == "trace":
        own["trace"] = OwnWorkload(trace=rest)
        return "trace"
    base, _, verb = head.rpartition("_")
    if verb not in ("read", "write"):
        base, verb = head, "read"
    try:
        pattern = _numbered(base, rest)
    except ValueError:
        forms = "stride:RECORDS, zipf:EXPONENT, hot_cold:HOT/ACCESS, partly_sequential:PERCENT or trace:FILE"
        raise Refused(f"workload {word!r}", expected=f"a name, or {forms}", code="wrong-value") from None
    if not is_in_range(pattern):
        raise Refused(
            f"workload {word!r}", f"{rest} is out of range", expected=_IN_RANGE[base], code="out-of-range"
        )
    name = f"{base}-{re.sub('[^0-9]+', '-', rest)}-{verb}"
    own[name] = OwnWorkload(
        pattern=pattern, reads=100 if verb == "read" else 0, title=f"{verb}s: {base} {rest}"
    )
    return name


_IN_RANGE: Final = {
    "stride": "a step of 1 record or more, such as stride:17",
    "zipf": "an exponent from 0.01 to 3, such as zipf:1.2",
    "hot_cold": "1 to 99 percent of the places and 0 to 100 percent of the operations, such as hot_cold:10/90",
    "partly_sequential": "0 to 100 percent of jumps, such as partly_sequential:10",
}
"""Ranges of the numbers of a pattern."""


def _numbered(base: str, rest: str) -> PatternTable:
    if base == "stride":
        return PatternTable(stride=Stride(_number(rest)))
    if base == "zipf":
        if re.fullmatch("[0-9]{1,3}([.][0-9]{1,2})?", rest) is None:
            raise ValueError(rest)
        return PatternTable(zipf=Zipf(round(100 * float(rest))))
    if base == "partly_sequential":
        return PatternTable(partly_sequential=PartlySequential(_number(rest)))
    if base == "hot_cold":
        hot, _, access = rest.partition("/")
        return PatternTable(hot_cold=HotCold(_number(hot), _number(access)))
    raise ValueError(base)


def _named(word: str, asked: MeasurementRequest, own: dict[str, OwnWorkload]) -> tuple[NamedWorkload, ...]:
    if word in own:
        table = own[word]
        kind: Kind = "throughput" if table.pattern and is_sequential(_pattern_of(table)) else "iops"
        record = "4KiB" if table.trace else None
        trace = asked.traces.get(table.trace or "")
        pattern: Pattern = PatternTable(trace_file=trace) if trace else "random"
        reads = 100 if trace else table.reads or 0
        stop = StopRule(operations=trace.operations) if trace else None
        return (NamedWorkload(word, "", pattern, reads, kind, (), record=record, stop=stop),)
    return find_workloads(word, asked.target, "--workload")


def _pattern_of(table: OwnWorkload) -> PatternTable:
    assert isinstance(table.pattern, PatternTable)
    return table.pattern


def _by_record(
    levels: dict[str, tuple[Level, ...]],
    asked: MeasurementRequest,
    meant: dict[str, tuple[NamedWorkload, ...]],
) -> dict[tuple[str, ...], list[str]]:
    """The words of the workloads by the records that they are done with; none where they have their own.

    A family whose members differ in it is given member by member.
    """
    given = _texts(levels, "record") or ((asked.record,) if asked.record is not None else ())
    groups: dict[tuple[str, ...], list[str]] = {}
    for word, members in list(meant.items()):
        records = {given or _default_record(found): word for found in members}
        if len(records) > 1:
            del meant[word]
            meant |= {found.name: (found,) for found in members}
            for found in members:
                groups.setdefault(_default_record(found), []).append(found.name)
        else:
            groups.setdefault(next(iter(records)), []).append(word)
    return groups


def _default_record(found: NamedWorkload) -> tuple[str, ...]:
    """The record of a workload when none is given; none when it has its own."""
    if found.record is not None or not found.has_record:
        return ()
    return ("1MiB" if found.kind == "throughput" else "4KiB",)


def _table_name(records: tuple[str, ...], groups: Collection[tuple[str, ...]]) -> str:
    """NAME, or of several tables one that says the record."""
    return NAME if len(groups) == 1 else f"{NAME}-{'-'.join(records) or 'own'}"


def _table(
    shared: Measure,
    asked: MeasurementRequest,
    records: tuple[str, ...],
    meant: dict[str, tuple[NamedWorkload, ...]],
) -> Measure:
    """The [measure] table for one set of record sizes; `shared` has the keys that all tables share."""
    named = [found for members in meant.values() for found in members]
    words = tuple(meant)
    # Commits, where there are any, are judged by default, in place of the writes that they contain.
    commits = shared.sync_every or shared.dsync or shared.sync == "fua" or "sync_every" in shared.vary
    is_rate = all(found.kind == "throughput" for found in named)
    return msgspec.structs.replace(
        shared,
        workload=words if len(words) > 1 else words[0],
        record=records if len(records) > 1 else next(iter(records), None),
        stop=_stop(asked, named),
        metric=("throughput", "p99") if is_rate and not commits else None,
    )


def _stop(asked: MeasurementRequest, named: list[NamedWorkload]) -> StopRule | None:
    if asked.time is None and asked.bytes is None and asked.operations is None:
        return None if all(found.stop is not None for found in named) else StopRule(time=RUN_TIME)
    return StopRule(bytes=asked.bytes, operations=asked.operations, time=asked.time)


def _part(asked: MeasurementRequest, records: tuple[str, ...], reach: int) -> tuple[int | None, int]:
    """Length of the part that is visited, None for all of a kept target, and its first byte.

    `reach` is how far traces go, in bytes.
    """
    try:
        start = sizes.parse_bytes(asked.start) if asked.start else 0
    except ValueError as error:
        raise Refused("--start", str(error), code="wrong-value") from None
    if asked.size is not None:
        try:
            return sizes.area_bytes(asked.size, work_bytes=asked.room_bytes, multiple_bytes=_UNIT), start
        except ValueError as error:
            raise Refused("--size", str(error), code="wrong-value") from None
    if asked.kept:
        return None, start
    try:
        multiple = math.lcm(_UNIT, *(sizes.parse_bytes(record) for record in records))
    except ValueError as error:
        raise Refused("--record", str(error), code="wrong-value") from None
    size = max(min(FILE_BYTES, asked.room_bytes // ROOM_SHARE) // max(multiple, 1), 1) * multiple
    return max(size, -(-reach // multiple) * multiple), start


def _filling(asked: MeasurementRequest, size: int, start: int, threads: int | tuple[int, ...]) -> Torture:
    """The writes before a measurement that reads: the visited range, in each thread's own file if it has one."""
    record = math.gcd(_FILL_RECORD, size, start)
    each = asked.how.files == "per_thread"
    most = (max(threads) if isinstance(threads, tuple) else threads) if each else 1
    return Torture(
        workload="throughput.write",
        record=sizes.exact_bytes(record),
        amount=sizes.exact_bytes(size * most),
        span=sizes.exact_bytes(size),
        span_start=sizes.exact_bytes(start) if start else 0,
        threads=most,
        files=asked.how.files,
        content=asked.how.content,
        generation=asked.how.generation,
    )


# Lists of levels as people write them: "1,2,4..64", "4KiB..1MiB", "pread,uring".
# Scope: values separated by commas (or by semicolons, where a value has commas itself), and a series that two dots
# continue to a last value: by the factor of the values before it, or by their difference, whichever ends at the last
# value exactly; with one value before it, by doubling.
# What it refuses: a series that does not end at its last value, and one of more than 1000 levels.

LEVELS_MAX: Final = 1000


def read_levels(text: str, read: Callable[[str], int] | None) -> tuple[int | str, ...]:
    """The levels that a text lists. `read` turns one into a whole number; None when they are words.

    Raises ValueError; the message says what was found and what is expected.
    """
    parts = [part.strip() for part in text.split(";" if ";" in text else ",")]
    if not all(parts):
        raise ValueError(f"{text!r} is not a list; expected for example 1,2,4..64")
    if read is None:
        return tuple(parts)
    levels: list[int] = []
    for part in parts:
        first, dots, last = part.partition("..")
        if not dots:
            levels.append(read(part))
            continue
        if not first or not last:
            raise ValueError(f"{part!r} is not a series; expected for example 4..64")
        levels.append(read(first))
        levels += _continued(levels, read(last), text)
    return tuple(levels)


def _continued(before: list[int], last: int, text: str) -> list[int]:
    """The values that continue a list written with two dots, up to and including the last one."""
    previous = before[-2] if len(before) > 1 else None
    current = before[-1]
    if previous is None:
        found = _by_factor(current, 2, last)
    else:
        whole = previous > 0 and current > previous and current % previous == 0
        found = _by_factor(current, current // previous, last) if whole else []
        found = found or _by_difference(current, current - previous, last)
    if not found:
        raise ValueError(
            f"{text!r}: neither a factor nor a difference leads from {current} to {last} exactly; write all values"
        )
    return found


def _by_factor(first: int, factor: int, last: int) -> list[int]:
    found: list[int] = []
    while 0 < first < last and factor > 1:
        first *= factor
        found.append(first)
    return found if first == last else []


def _by_difference(first: int, step: int, last: int) -> list[int]:
    if step == 0 or (last - first) % step or not 0 < (last - first) // step <= LEVELS_MAX:
        return []
    return list(range(first + step, last + (1 if step > 0 else -1), step))
