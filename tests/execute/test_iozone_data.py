"""The comparison of files with the bytes of IOzone's -+d, against the C library's own `rand`."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

from mileage.execute.iozone_data import first_difference

RECORD = 4096


def content(records: int, child: int) -> bytes:
    """What IOzone 3.471 writes with -w -+d, by its source: `fill_buffer`."""
    library = ctypes.CDLL(None)
    out = []
    for record in range(records):
        library.srand(child + record)
        drawn = library.rand()
        word = (drawn << 48 | drawn << 32 | drawn << 16 | drawn) + 0x0102030405060708
        out += [
            struct.pack("<Q", (word + place * 0x0101010101010101) % 2**64) for place in range(RECORD // 8)
        ]
    return b"".join(out)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.mark.parametrize("child", [0, 1, 7])
def test_what_iozone_writes_has_no_difference(path: Path, child: int) -> None:
    path.write_bytes(content(40, child))
    assert first_difference(path, 40 * RECORD, RECORD, child) is None
    other = first_difference(path, 40 * RECORD, RECORD, child + 2)
    assert other is not None
    assert other.position < 8


@pytest.mark.parametrize("position", [0, 4095, 4096, 40 * RECORD - 1])
def test_the_first_byte_that_differs_is_found(path: Path, position: int) -> None:
    whole = content(40, 0)
    damaged = bytearray(whole)
    damaged[position] ^= 1
    damaged[-1] ^= 1 if position < len(whole) - 1 else 0
    path.write_bytes(damaged)
    found = first_difference(path, 40 * RECORD, RECORD, 0)
    assert found is not None
    assert (found.position, found.found, found.expected) == (position, whole[position] ^ 1, whole[position])


def test_an_end_that_comes_too_soon_is_a_difference(path: Path) -> None:
    whole = content(40, 0)
    path.write_bytes(whole[:10_000])
    found = first_difference(path, 40 * RECORD, RECORD, 0)
    assert found is not None
    assert (found.position, found.found, found.expected) == (10_000, None, whole[10_000])


def test_a_file_of_many_chunks_is_compared_to_its_end(path: Path) -> None:
    records = (20 << 20) // RECORD
    whole = bytearray(content(records, 3))
    path.write_bytes(whole)
    assert first_difference(path, len(whole), RECORD, 3) is None
    whole[-5] ^= 255
    path.write_bytes(whole)
    found = first_difference(path, len(whole), RECORD, 3)
    assert found is not None
    assert found.position == len(whole) - 5
