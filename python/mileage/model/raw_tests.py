"""Raw tests of drives by hdparm and dd, and memory technologies, as a talk printed them.

Scope: the tables as values, and the result of a test that was simulated.
"""

from __future__ import annotations

import msgspec


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
    """The tables of the talk that no study repeats."""

    source: str
    memory: tuple[Memory, ...]


class SimulatedTest(msgspec.Struct, frozen=True):
    """A test: published (of several reads the first) and simulated, in MB/s (10^6 bytes)."""

    drive: str
    test: str
    """The workload, such as `hdparm.cached`."""
    published: float
    simulated: float
    note: str
    """What else is printed of it."""
