"""Raw tests of drives by hdparm and dd, and memory technologies, as a talk printed them.

Scope: the tables as values, and the result of a test that was simulated.
What it refuses: nothing.
"""

from __future__ import annotations

import msgspec


class RawTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rate of a drive in each test, in MB/s (10^6 bytes)."""

    drive: str
    cached: float
    buffered: float
    cached_direct: float
    buffered_direct: float
    dd_read: tuple[float, ...]
    """Of each read, where more than one is printed."""
    dd_write: float


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Times of the operations of a kind of memory, in microseconds, from the least to the most."""

    medium: str
    seek_us: tuple[float, ...]
    read_us: tuple[float, ...]
    write_us: tuple[float, ...]
    erase_us: tuple[float, ...]
    pe_cycles: int | None = None
    bits_per_cell: int | None = None


class RawTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of the talk."""

    source: str
    test: tuple[RawTest, ...]
    memory: tuple[Memory, ...]


class SimulatedTest(msgspec.Struct, frozen=True):
    """A test: published (of several reads the first) and simulated, in MB/s."""

    drive: str
    test: str
    published: float
    simulated: float
