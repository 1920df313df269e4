"""The work area, and the workloads that fit into it.

What it models: the part of the target that a study uses. A drive is used whole, rounded down to a multiple of
every record; a work file has the size that the study gives.
What it refuses: records that do not divide the area they are to visit or the target's logical blocks; spans
larger than the work area; operations outstanding where the engine does one at a time.
"""

from __future__ import annotations

import itertools
import math
from typing import NoReturn

import msgspec

from mileage.errors import Refused
from mileage.plan import sizes
from mileage.plan.checking import blocks_of, listed
from mileage.plan.facts import TargetFacts
from mileage.plan.planned import Cell
from mileage.plan.study import Measure, Size, Study, Torture
from mileage.plan.workload import Stop, Workload
from mileage.plan.workloads import METRICS, Metric, NamedWorkload, find_workloads

_FIELDS = {
    "record_bytes": "record",
    "span_bytes": "span",
    "stop.time_ns": "stop.time",
}
"""Where a field of a workload comes from in a study, when it has another name there."""


def uses_file(facts: TargetFacts) -> bool:
    """Whether the work area is a file, whose size the study gives, rather than a whole drive."""
    return facts.kind in ("dir", "file")


def records_of(study: Study) -> list[tuple[str, int]]:
    """Every record of a study with its path, in bytes."""
    records: list[tuple[str, int]] = []
    for name, measure in study.measure.items():
        for index, record in enumerate(_records(measure)):
            suffix = f"[{index}]" if isinstance(measure.record, tuple) else ""
            records.append((f"measure.{name}.record{suffix}", sizes.size_bytes(record)))
    records += [
        (f"torture.{name}.record", sizes.size_bytes(table.record)) for name, table in study.torture.items()
    ]
    return records


def common_multiple(study: Study) -> int:
    """The smallest size that every record of a study divides, in bytes."""
    return math.lcm(*(record for _, record in records_of(study)))


def work_area_bytes(study: Study, facts: TargetFacts) -> int:
    """Size of the work area in bytes. Raises Refused when the records do not go into it."""
    multiple = common_multiple(study)
    if not uses_file(facts):
        area = facts.capacity_bytes
        exact = False
    else:
        try:
            area = sizes.file_bytes(study.state.file, memory_bytes=facts.memory_bytes)
        except ValueError as error:
            _refuse(study, "state.file", str(error))
        exact = not str(study.state.file).endswith("memory")
    for path, record in records_of(study):
        if record % facts.block_bytes:
            _refuse(
                study,
                path,
                f"{_words(record)} is not a multiple of the logical block of {study.target}, "
                f"{_words(facts.block_bytes)}; choose a larger record",
            )
        if exact and area % record:
            _refuse(
                study,
                path,
                f"{_words(record)} does not divide the work file of {_words(area)} (state.file); "
                "choose sizes that divide evenly",
            )
    if area < multiple:
        _refuse(
            study, "record", f"no common multiple of all records fits into the work area of {_words(area)}"
        )
    return area - area % multiple


def cells_of(study: Study, facts: TargetFacts, work_bytes: int) -> tuple[Cell, ...]:
    """Every cell of every [measure.NAME] table, with a label that is unique in the study. Raises Refused."""
    cells = [cell for name in study.measure for cell in _cells(study, facts, work_bytes, name)]
    labels = [cell.label for cell in cells]
    return tuple(
        msgspec.structs.replace(cell, label=f"{cell.label} ({cell.table})")
        if labels.count(cell.label) > 1
        else cell
        for cell in cells
    )


def torture_workload(study: Study, facts: TargetFacts, work_bytes: int, name: str) -> Workload:
    """The I/O of a [torture.NAME] table, with seed 0. Raises Refused."""
    table = study.torture[name]
    path = f"torture.{name}"
    (named,) = find_workloads(table.workload, study.target, f"{study.name}: {path}.workload")
    record = sizes.size_bytes(table.record)
    amount = _area(study, path, "amount", table.amount, work_bytes, record)
    stop = Stop(bytes=amount, time_ns=None if table.time is None else sizes.parse_time_ns(table.time))
    workload = _workload(study, path, table, named, record, table.threads, table.depth, stop, work_bytes)
    _check(study, facts, path, workload, {**_FIELDS, "stop.bytes": "amount", "stop.time_ns": "time"})
    return workload


def _cells(study: Study, facts: TargetFacts, work_bytes: int, name: str) -> list[Cell]:
    measure = study.measure[name]
    path = f"measure.{name}"
    workloads = [
        named
        for word in listed(measure.workload)
        for named in find_workloads(word, study.target, f"{study.name}: {path}.workload")
    ]
    threads, depths = _levels(measure.threads), _levels(measure.depth)
    cells: list[Cell] = []
    for named, record, thread, depth in itertools.product(workloads, _records(measure), threads, depths):
        record_bytes = sizes.size_bytes(record)
        stop = _stop(study, path, measure, record_bytes, work_bytes)
        workload = _workload(study, path, measure, named, record_bytes, thread, depth, stop, work_bytes)
        _check(study, facts, path, workload, _FIELDS)
        label = f"{named.name} {_words(record_bytes)}"
        label += f", {thread} threads" if len(threads) > 1 else ""
        label += f", depth {depth}" if len(depths) > 1 else ""
        cells.append(
            Cell(label, name, named.kind, _metrics(measure, named), blocks_of(measure.repeat), workload)
        )
    return cells


def _workload(
    study: Study,
    path: str,
    table: Measure | Torture,
    named: NamedWorkload,
    record_bytes: int,
    threads: int,
    depth: int,
    stop: Stop,
    work_bytes: int,
) -> Workload:
    sync = table.sync if named.writes else "none"
    return Workload(
        pattern=named.pattern,
        read_percent=named.read_percent,
        record_bytes=record_bytes,
        span_start_bytes=0,
        span_bytes=_area(study, path, "span", table.span, work_bytes, record_bytes),
        depth=depth,
        threads=threads,
        stop=stop,
        seed=0,
        content=table.content,
        sync=sync,
        sync_timed=sync != "none",
    )


def _stop(study: Study, path: str, measure: Measure, record_bytes: int, work_bytes: int) -> Stop:
    rule = measure.stop
    return Stop(
        bytes=None
        if rule.bytes is None
        else _area(study, path, "stop.bytes", rule.bytes, work_bytes, record_bytes),
        operations=rule.operations,
        time_ns=None if rule.time is None else sizes.parse_time_ns(rule.time),
    )


def _area(study: Study, path: str, key: str, size: Size, work_bytes: int, record_bytes: int) -> int:
    """Bytes of a part or a multiple of the work area that the record must divide."""
    area = sizes.area_bytes(size, work_bytes=work_bytes, multiple_bytes=record_bytes)
    if area % record_bytes:
        _refuse(
            study,
            f"{path}.{key}",
            f"found {_words(area)}, which the record of {_words(record_bytes)} does not divide; "
            "choose sizes that divide evenly",
        )
    if key == "span" and area > work_bytes:
        _refuse(
            study, f"{path}.span", f"found {_words(area)}, more than the work area of {_words(work_bytes)}"
        )
    return area


def _check(study: Study, facts: TargetFacts, path: str, workload: Workload, fields: dict[str, str]) -> None:
    if workload.depth > 1 and not facts.virtual:
        _refuse(
            study,
            f"{path}.depth",
            f"found {workload.depth}; on {study.target} each thread does one operation at a time in this "
            "version; give depth = 1 and more threads",
        )
    if problem := workload.problem():
        field, text = problem
        _refuse(study, f"{path}.{fields.get(field, field)}", f"found {text}")


def _metrics(measure: Measure, named: NamedWorkload) -> tuple[Metric, ...]:
    wanted = listed(measure.metric)
    return tuple(metric for metric in METRICS if metric in wanted) if wanted else named.metrics


def _records(measure: Measure) -> tuple[Size, ...]:
    return measure.record if isinstance(measure.record, tuple) else (measure.record,)


def _levels(levels: int | tuple[int, ...]) -> tuple[int, ...]:
    return levels if isinstance(levels, tuple) else (levels,)


def _words(size: int) -> str:
    """A size in an exact binary unit, such as "4 KiB", or in bytes."""
    return sizes.format_bytes(size) if not sizes.exact_bytes(size).endswith(" B") else f"{size} B"


def _refuse(study: Study, path: str, text: str) -> NoReturn:
    raise Refused(f"{study.name}: {path}: {text}")
