"""Figures of the array test of 2009, published and simulated.

Scope: the figures as values.
"""

from __future__ import annotations

from typing import Literal

import msgspec


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
