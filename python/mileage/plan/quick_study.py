"""A small version of a study, for a first look.

Scope: the same stages, cells and comparison with one cycle, no sham arm, no model band, no published results, five
blocks at most, short runs and, on a file, a small work file. On a real target every measured run ends after half a
second and the tortures together after 20 seconds, so that a slow disk takes about a minute; preparation is never cut
short, because what is read must have been written. The result is a study like any other: it says what will be done.
Its result is descriptive; a judgement needs the full study.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from mileage.model.target_facts import TargetFacts
from mileage.plan import sizes
from mileage.plan.study import Measure, Repeat, Size, Stage, StopRule, Study, Torture, listed
from mileage.plan.work_area import Own, common_multiple, named_in, uses_file, work_area_bytes

FILE_BYTES_MAX: Final = 256 << 20
FREE_SHARE: Final = 4
"""The work file takes at most one part in four of what is free."""
BLOCKS_MAX: Final = 5
RUN_BYTES_MAX: Final = 64 << 20
RUN_OPERATIONS_MAX: Final = 2000
"""Enough for a 99th percentile: ten operations lie above it at 1000."""
RUN_FILES_MAX: Final = 200
"""Number of files of tests that make files: a slow file system creates some hundred a second."""
RUN_TIME_NS_MAX: Final = 500_000_000
TORTURE_TIME_NS_MAX: Final = 20_000_000_000
TORTURE_MULTIPLE_MAX: Final = 4
"""Tortures together write at most this many times the work area; they keep their proportions."""
ROUNDS_MAX: Final = 40
IDLE_NS_MAX: Final = 1_000_000_000


def quicken(study: Study, facts: TargetFacts, own: Own) -> Study:
    """The small version of a checked study on a target."""
    # With a smaller file the page cache serves what the source's tests read from the drive.
    study = msgspec.structs.replace(study, cycles=1, sham=False, band=False, published=None)
    if uses_file(study, facts):
        size = sizes.exact_bytes(_file_bytes(study, facts, own))
        state = msgspec.structs.replace(study.state, file=size)
        study = msgspec.structs.replace(study, state=state)
    work_bytes = work_area_bytes(study, facts, own)
    return msgspec.structs.replace(
        study,
        stage=tuple(_stage(stage) for stage in study.stage),
        measure={
            name: _measure(study, measure, work_bytes, facts, own) for name, measure in study.measure.items()
        },
        torture=_tortures(study, work_bytes, facts),
    )


def _file_bytes(study: Study, facts: TargetFacts, own: Own) -> int:
    multiple = common_multiple(study, own)
    limits = [FILE_BYTES_MAX, facts.free_bytes // FREE_SHARE]
    if facts.memory_bytes or not str(study.state.file).endswith("memory"):
        limits.append(sizes.file_bytes(study.state.file, memory_bytes=facts.memory_bytes))
    return max(min(limits) // multiple, 1) * multiple


def _stage(stage: Stage) -> Stage:
    if stage.idle is None or sizes.parse_time_ns(stage.idle) <= IDLE_NS_MAX:
        return stage
    return msgspec.structs.replace(stage, idle=sizes.exact_time(IDLE_NS_MAX))


def _measure(study: Study, measure: Measure, work_bytes: int, facts: TargetFacts, own: Own) -> Measure:
    return msgspec.structs.replace(
        measure,
        repeat=min(_least(measure.repeat), BLOCKS_MAX),
        span=_span(study, measure.span, work_bytes),
        stop=_stop_of_tests(measure)
        if _is_of_tests(study, measure, own)
        else _stop(study, measure, work_bytes, facts, common_multiple(study, own)),
    )


def _is_of_tests(study: Study, measure: Measure, own: Own) -> bool:
    """Whether a table measures work on files that ends by itself."""
    found = named_in(study, "measure", measure.workload, own)
    return all(named.job is not None and "time" not in named.job.stops for named in found)


def _stop_of_tests(measure: Measure) -> StopRule | None:
    """Stop rule of a quick study of tests on files: fewer files, in equal numbers for each task."""
    if measure.stop is None or measure.stop.operations is None:
        return measure.stop
    each = math.lcm(*listed(measure.threads))
    operations = max(min(measure.stop.operations, RUN_FILES_MAX) // each, 1) * each
    return msgspec.structs.replace(measure.stop, operations=operations, at_least=None)


def _least(repeat: int | Repeat) -> int:
    return repeat if isinstance(repeat, int) else repeat.min


def _span(study: Study, span: Size, work_bytes: int) -> Size:
    """A span that is larger than the small work area becomes all of it: of each target's own, where they may differ."""
    if study.factor:
        return span if sizes.is_share(span) else f"{_text(span)} or 100%"
    return "file" if _bytes_of(span, work_bytes) > work_bytes else span


def _text(size: Size) -> str:
    return size if isinstance(size, str) else sizes.exact_bytes(size)


def _stop(study: Study, measure: Measure, work_bytes: int, facts: TargetFacts, multiple: int) -> StopRule:
    """An earlier end. `multiple` is a number of bytes that every record of the study divides."""
    threads = max(measure.threads) if isinstance(measure.threads, tuple) else measure.threads
    operations_max = max(RUN_OPERATIONS_MAX, threads)
    rule = measure.stop or StopRule(operations=operations_max)
    if measure.record is not None:
        records = measure.record if isinstance(measure.record, tuple) else (measure.record,)
        multiple = math.lcm(*(sizes.size_bytes(record) for record in records))
    limit: Size | None = rule.bytes
    most = sizes.exact_bytes(max(RUN_BYTES_MAX // multiple, threads) * multiple)
    if limit is not None and study.factor and sizes.is_share(limit):
        limit = f"{limit} or {most}"
    elif limit is not None and _bytes_of(limit, work_bytes) > RUN_BYTES_MAX:
        limit = most
    operations = None if rule.operations is None else min(rule.operations, operations_max)
    return StopRule(limit, operations, rule.time if facts.virtual else _sooner(rule.time, RUN_TIME_NS_MAX))


def _bytes_of(size: Size, work_bytes: int) -> int:
    return sizes.area_bytes(size, work_bytes=work_bytes, multiple_bytes=1)


def _tortures(study: Study, work_bytes: int, facts: TargetFacts) -> dict[str, Torture]:
    """Smaller and shorter tortures; those that also prepare stay whole."""
    preparing = {name for stage in study.stage for name in stage.prepare or ()}
    done = [name for stage in study.stage for name in stage.torture or ()]
    cut = [name for name in done if name not in preparing]
    tortures = {name: _fewer_rounds(table) if name in cut else table for name, table in study.torture.items()}
    amounts = {name: _amount_bytes(tortures[name], work_bytes) for name in done}
    total = sum(amounts[name] * tortures[name].rounds for name in done)
    most = TORTURE_MULTIPLE_MAX * work_bytes
    for name in dict.fromkeys(cut):
        table = tortures[name]
        if study.factor:
            # A fixed amount would fill small targets more often than large ones: limit it by a multiple of each
            # target's size.
            times = TORTURE_MULTIPLE_MAX * amounts[name] / total
            table = msgspec.structs.replace(table, amount=f"{_text(table.amount)} or {times:.6f}x")
        elif total > most:
            share = sizes.size_bytes(table.record) * (table.tasks or table.threads)
            table = msgspec.structs.replace(
                table, amount=max(amounts[name] * most // total // share, 1) * share
            )
        if not facts.virtual:
            table = msgspec.structs.replace(
                table, time=_sooner(table.time, TORTURE_TIME_NS_MAX // len(cut) // table.rounds)
            )
        tortures[name] = table
    return {
        name: msgspec.structs.replace(table, span=_span(study, table.span, work_bytes))
        for name, table in tortures.items()
    }


def _fewer_rounds(table: Torture) -> Torture:
    """Reduce the rounds to one, or where rounds end steady, to hardly more than the rules need."""
    return msgspec.structs.replace(table, rounds=1 if table.until is None else min(table.rounds, ROUNDS_MAX))


def _amount_bytes(table: Torture, work_bytes: int) -> int:
    record = sizes.size_bytes(table.record)
    return sizes.area_bytes(table.amount, work_bytes=work_bytes, multiple_bytes=record)


def _sooner(time: str | None, limit_ns: int) -> str:
    """The shorter of a time and a limit."""
    if time is not None and sizes.parse_time_ns(time) <= limit_ns:
        return time
    return sizes.exact_time(limit_ns)
