"""Two published tests that built-in studies repeat: drives by hdparm and dd (2017), and arrays by IOMeter (2009).

Scope: their tables and figures as values, and what was simulated of them.
"""

from __future__ import annotations

from typing import Literal

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


class ArrayFigure(msgspec.Struct, frozen=True):
    """A published figure, how it follows from rates of arrays, and whether a figure of the arrays was fitted to it."""

    figure: str
    published: float
    unit: Literal["MB/s", "ratio", "rank"]
    simulated_from: str
    use: str

    @property
    def is_fitted(self) -> bool:
        """True when a figure of the arrays was chosen so that this one is reached."""
        return self.use.startswith("fitted")


class SimulatedFigure(msgspec.Struct, frozen=True):
    """A published figure and the simulated one; of a rank the first and the last that the array shares."""

    figure: ArrayFigure
    simulated: float
    last: float

    @property
    def ratio(self) -> float | None:
        """Simulated over published; None of a rank."""
        return None if self.figure.unit == "rank" else self.simulated / self.figure.published
