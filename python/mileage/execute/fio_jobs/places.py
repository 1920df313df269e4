"""Operations of a fio job whose places no pattern of the engine has, listed one by one as a trace.

Scope: places after a skip, by fio's rule for its next place (io_u.c); runs from random places; random places in several
zones; blocks of several sizes; trims with a write after each. Of runs one place in N is random, none of these comes
again unless the rule says so, and the others follow the one before of their direction, or are equal to it. Places of a
zone are uniform and may come again. Random blocks of several sizes, and those of trims, are cut where one begins that
was done before, unless they may come again.
"""

from __future__ import annotations

import itertools
import random

from mileage.model.operation_kind import OperationKind
from mileage.plan.fio_work import FioFile, FioWork, PlaceRule
from mileage.plan.pattern import PatternTable, Trace, TraceOp


def operations_of(work: FioWork, file: FioFile, held: int) -> list[TraceOp]:
    """The operations on a file of `held` bytes, in order."""
    assert work.rule is not None
    record, seed = work.workload.record_bytes, work.workload.seed
    if work.rule.blocks:
        return blocks_of(work.rule, file, work.reads, random.Random(seed))
    if work.rule.trims:
        found = pairs_of(work.rule, file.span, work.loops, random.Random(seed))
        # Limits of the job hold for writes and trims alike.
        moved = itertools.accumulate(operation.length_bytes for operation in found[::2])
        return found[: 2 * sum(before < file.amount for before in (0, *moved))]
    return trace_of(work.rule, file, record, held, work.reads, seed)


def pattern_of(operations: list[TraceOp]) -> PatternTable:
    """The engine's pattern of listed operations."""
    return PatternTable(trace=Trace(tuple(operations)))


def trace_of(rule: PlaceRule, file: FioFile, record: int, held: int, reads: int, seed: int) -> list[TraceOp]:
    """The operations on a file of `held` bytes, in order."""
    count = file.amount // record
    count = count if file.operations is None else min(count, file.operations)
    draw = random.Random(seed)
    if rule.run:
        return _runs(rule, file.span // record, record, reads, count, draw)
    places = _zoned(rule, file.span // record, count, draw) if rule.zones else None
    offsets = (
        [place * record for place in places]
        if places is not None
        else _skipped(rule, file, record, held, count)
    )
    return [
        TraceOp(0, "read" if draw.randrange(100) < reads else "write", offset, record) for offset in offsets
    ]


def _runs(
    rule: PlaceRule, blocks: int, record: int, reads: int, count: int, draw: random.Random
) -> list[TraceOp]:
    """Runs of operations, each run from a random place, or up to a random place of the end of the file."""
    found: list[TraceOp] = []
    free: list[int] = []
    last: dict[OperationKind, int] = {"read": -1, "write": -1}
    left = 1
    for _ in range(count):
        kind: OperationKind = "read" if draw.randrange(100) < reads else "write"
        left -= 1
        place = last[kind] + (not rule.repeats)
        if not left or place >= blocks:
            if not rule.comes_again and not free:
                free = draw.sample(range(blocks), blocks)
            place = draw.randrange(blocks) if rule.comes_again else free.pop()
            left = left or rule.run
        last[kind] = place = max(place, 0)
        found.append(TraceOp(0, kind, place * record, record))
    return found


def _zoned(rule: PlaceRule, blocks: int, count: int, draw: random.Random) -> list[int]:
    bounds, begin = [], 0
    for _, share in rule.zones:
        bounds.append((blocks * begin // 100, max(blocks * share // 100, 1)))
        begin += share
    weights = [access for access, _ in rule.zones]
    found = []
    for first, length in draw.choices(bounds, weights, k=count):
        found.append(min(first + draw.randrange(length), blocks - 1))
    return found


def _skipped(rule: PlaceRule, file: FioFile, record: int, held: int, count: int) -> list[int]:
    """Offsets from the first byte, until what is to be done is done or the file has ended."""
    found: list[int] = []
    place = 0
    while len(found) < count:
        if place + record > file.span:
            break
        found.append(place)
        end = place + record
        if file.start + end >= held and rule.skip > 0:
            break
        place = end + rule.skip
        if place >= held:
            place = file.start
        elif place < 0:
            place = (file.span if held > file.span else held) + rule.skip
    return found


def pairs_of(rule: PlaceRule, span: int, loops: int, draw: random.Random) -> list[TraceOp]:
    """Trims and writes of a part of `span` bytes, each write after its trim."""
    found: list[TraceOp] = []
    blocks = [size for size, _ in rule.trims]
    shares = [share for _, share in rule.trims]
    for _ in range(loops):
        places = _Places(rule, min(blocks), span, draw)
        while (block := places.next_block(draw.choices(blocks, shares)[0])) is not None:
            offset, length = block
            found += [TraceOp(0, "discard", offset, length), TraceOp(0, "write", offset, length)]
    return found


def blocks_of(rule: PlaceRule, file: FioFile, reads: int, draw: random.Random) -> list[TraceOp]:
    """Blocks of several sizes on a file until its limits, pass after pass; `reads`: percent of reads."""
    found: list[TraceOp] = []
    sides = [([size for size, _ in side], [share for _, share in side]) for side in rule.blocks]
    least = min(size for blocks, _ in sides[reads == 0 : 1 + (reads < 100)] for size in blocks)
    moved, places = 0, _Places(rule, least, file.span, draw)
    while moved < file.amount and len(found) != file.operations:
        kind: OperationKind = "read" if draw.randrange(100) < reads else "write"
        blocks, shares = sides[kind == "write"]
        block = places.next_block(draw.choices(blocks, shares)[0])
        if block is None:
            places = _Places(rule, least, file.span, draw)
            continue
        moved += block[1]
        found.append(TraceOp(0, kind, *block))
    return found


class _Places:
    """Blocks of one pass."""

    def __init__(self, rule: PlaceRule, least: int, span: int, draw: random.Random) -> None:
        self._is_random = rule.is_random
        self._comes_again = rule.comes_again
        self._least, self._span, self._draw = least, span, draw
        self._done = 0
        self._order = draw.sample(range(span // least), span // least) if self._is_random else []
        self._free = set(self._order)

    def next_block(self, size: int) -> tuple[int, int] | None:
        """Offset and length; None when the pass is over."""
        left = self._span - self._done
        if left < self._least:
            return None
        if not self._is_random:
            offset, size = self._done, min(size, left)
        elif self._comes_again:
            offset = self._draw.randrange(self._span // self._least) * self._least
            size = min(size, left, self._span - offset)
        else:
            while (place := self._order.pop()) not in self._free:
                pass
            count = 1
            while count * self._least < size and place + count in self._free:
                count += 1
            self._free -= set(range(place, place + count))
            offset, size = place * self._least, count * self._least
        self._done += size
        return offset, size
