"""A smaller form of a study: every size and count of its file divided by one number.

Scope: work file, spans, amounts, bytes, operations and segments; on a virtual target also the drive and the memory of
its host (the figure `scale` of its name). Records, threads, depths, repetitions, rounds and times stay. Shares and
multiples ("83%", "2x") stay, because what they are parts of is smaller.
What it refuses: nothing; whether a text is a scale was checked before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import msgspec

from mileage.model.target_kind import SCALE, capabilities_of
from mileage.plan import sizes
from mileage.plan.factors import kind_of
from mileage.plan.study import Factor, FactorLevel, Measure, Size, Study, Torture, listed

_LEAST_BYTES: Final = 1 << 20
"""A work file is a multiple of it."""
LIMITS: Final = (
    "a scaled study is not the whole one: what depends on ratios of sizes stays (file to memory, spare to capacity, "
    "share of the cache); what a fixed size decides is more of a run (write buffer, read-ahead, records, first commits)"
)
"""What a scale may change, in words."""


def scaled(study: Study) -> Study:
    """The checked study with its `scale` applied, which its question says; the same one where it has none."""
    divisor = 1 if study.scale is None else sizes.scale_divisor(study.scale)
    study = msgspec.structs.replace(study, scale=None)
    if divisor == 1:
        return study
    state = study.state
    if not sizes.is_multiple(state.file):
        state = msgspec.structs.replace(state, file=_size(state.file, divisor, _LEAST_BYTES))
    mode, colon, limit = state.cache.partition(":")
    if colon:
        state = msgspec.structs.replace(state, cache=f"{mode}:{_size(limit, divisor, _LEAST_BYTES)}")
    return msgspec.structs.replace(
        study,
        question=f"{study.question} (At 1/{divisor} of its sizes and counts.)".lstrip(),
        target=_target(study.target, divisor),
        state=state,
        factor={name: _factor(name, factor, divisor) for name, factor in study.factor.items()},
        measure={name: _measure(measure, divisor) for name, measure in study.measure.items()},
        torture={name: _torture(torture, divisor) for name, torture in study.torture.items()},
    )


def _target(target: str, divisor: int) -> str:
    """A virtual drive of a part of its size; one whose name says its scale is taken as it is."""
    if f",{SCALE}=" in target:
        return target
    return f"{target},{SCALE}=1/{divisor}" if capabilities_of(target).simulated else target


def _factor(name: str, factor: Factor, divisor: int) -> Factor:
    if kind_of(name, factor) != "target":
        return factor

    def smaller(level: FactorLevel) -> FactorLevel:
        return _target(level, divisor) if isinstance(level, str) else level

    levels = factor.levels
    if isinstance(levels, dict):
        return msgspec.structs.replace(factor, levels={key: smaller(level) for key, level in levels.items()})
    named = {name: smaller(level) for name, level in zip(factor.named, levels, strict=True)}
    return msgspec.structs.replace(factor, levels=named)


def _measure(measure: Measure, divisor: int) -> Measure:
    record = measure.record
    records = _bytes_of(record if isinstance(record, tuple) else () if record is None else (record,))
    threads = math.lcm(*listed(measure.threads))
    whole = math.lcm(*records) if records else sizes.size_bytes("4KiB")
    stop = measure.stop
    if stop is not None:
        stop = msgspec.structs.replace(
            stop,
            bytes=None if stop.bytes is None else _size(stop.bytes, divisor, whole),
            operations=None if stop.operations is None else _count(stop.operations, divisor, threads),
        )
    segments = measure.segments
    return msgspec.structs.replace(
        measure,
        stop=stop,
        span=_size(measure.span, divisor, whole),
        span_start=_size(measure.span_start, divisor, whole) if measure.span_start else measure.span_start,
        segments=None if segments is None else max(segments // divisor, 1),
    )


def _torture(table: Torture, divisor: int) -> Torture:
    whole = sizes.size_bytes(table.record) * (table.tasks or table.threads)
    return msgspec.structs.replace(
        table,
        amount=_size(table.amount, divisor, whole),
        span=_size(table.span, divisor, whole),
        span_start=_size(table.span_start, divisor, whole) if table.span_start else table.span_start,
    )


def _bytes_of(records: Iterable[Size]) -> list[int]:
    return [sizes.size_bytes(record) for record in records]


def _count(count: int, divisor: int, multiple: int) -> int:
    return max(count // divisor // multiple, 1) * multiple


def _size(size: Size, divisor: int, multiple: int) -> Size:
    """A part of a size, in whole multiples; "A or B" is scaled in each of its parts, shares and multiples stay."""
    if isinstance(size, str) and " or " in size:
        return " or ".join(str(_size(part, divisor, multiple)) for part in size.split(" or "))
    if sizes.is_share(size):
        return size
    return sizes.exact_bytes(_count(sizes.size_bytes(size), divisor, multiple))
