"""Twenty sequences of reads of one file, each with the read-ahead of its queue, for `read_ahead.py`.

The list was written before the first comparison and not changed after it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import chain
from typing import Final, NamedTuple

FILE_BYTES: Final = 16 << 20
_KIB: Final = 1 << 10


class Sequence(NamedTuple):
    """Reads, each an offset and a length in bytes."""

    name: str
    read_ahead_kb: int
    reads: list[tuple[int, int]]


def _steps(first: int, length: int, count: int, step: int) -> list[tuple[int, int]]:
    return [(first + number * step, length) for number in range(count)]


def _in_turn(*streams: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return list(chain.from_iterable(zip(*streams, strict=True)))


def _random(length: int, count: int) -> list[tuple[int, int]]:
    records: Iterable[int] = random.Random(29).sample(range(FILE_BYTES // length), count)
    return [(record * length, length) for record in records]


_HALF: Final = FILE_BYTES // 2
SEQUENCES: Final = (
    Sequence("sequential, 4 KiB", 128, _steps(0, 4096, 1024, 4096)),
    Sequence("sequential, 4 KiB, from the middle", 128, _steps(_HALF, 4096, 1024, 4096)),
    Sequence("sequential, 16 KiB", 128, _steps(0, 16384, 512, 16384)),
    Sequence("sequential, 64 KiB", 128, _steps(0, 65536, 256, 65536)),
    Sequence("sequential, 256 KiB", 128, _steps(0, 256 * _KIB, 64, 256 * _KIB)),
    Sequence("sequential, 1 MiB", 128, _steps(0, 1024 * _KIB, 16, 1024 * _KIB)),
    Sequence("sequential, 6000 bytes", 128, _steps(0, 6000, 1024, 6000)),
    Sequence("sequential, 4 KiB, read-ahead 512 KiB", 512, _steps(0, 4096, 2048, 4096)),
    Sequence("sequential, 64 KiB, read-ahead 16 KiB", 16, _steps(0, 65536, 128, 65536)),
    Sequence("sequential, 4 KiB, no read-ahead", 0, _steps(0, 4096, 256, 4096)),
    Sequence("backward, 4 KiB", 128, _steps(FILE_BYTES - 4096, 4096, 512, -4096)),
    Sequence("backward, 64 KiB", 128, _steps(FILE_BYTES - 65536, 65536, 256, -65536)),
    Sequence("stride, 4 KiB of 16 KiB", 128, _steps(0, 4096, 512, 16384)),
    Sequence("stride, 8 KiB of 64 KiB", 128, _steps(0, 8192, 256, 65536)),
    Sequence("stride, 128 KiB of 256 KiB", 128, _steps(0, 128 * _KIB, 64, 256 * _KIB)),
    Sequence("random, 4 KiB", 128, _random(4096, 512)),
    Sequence("random, 64 KiB", 128, _random(65536, 200)),
    Sequence(
        "two streams in turn, 8 KiB", 128, _in_turn(*(_steps(at, 8192, 256, 8192) for at in (0, _HALF)))
    ),
    Sequence(
        "sequential, a jump, sequential, 4 KiB",
        128,
        _steps(0, 4096, 200, 4096) + _steps(_HALF, 4096, 200, 4096),
    ),
    Sequence("each record twice, 16 KiB", 128, _in_turn(*[_steps(0, 16384, 256, 16384)] * 2)),
)
