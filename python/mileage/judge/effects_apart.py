"""Two causes apart and together: what each changes by itself, and what both change, from the same reference.

Scope: facts of four arms of a factorial design (neither cause, each alone, both), each effect a `Comparison` with the
arm that has neither. The reference is one, so that effects can be set side by side and next to published changes.
What it refuses: nothing; a test that an arm lacks has no effect there.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mileage.judge.comparison import CellVerdict, Comparison
from mileage.judge.published_score import PublishedComparison


class EffectsApart(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of two causes on the tests of a study."""

    causes: tuple[str, str]
    """A word for each cause, such as "drive" and "host"."""
    stands_for: tuple[str, str]
    """What was changed as the cause: "torture", "page-cache 1.5 GiB instead of 7.2 GiB"."""
    heads: tuple[str, str]
    """The same, as short as a column: "torture", "1.5 GiB"."""
    first: Comparison
    second: Comparison
    both: Comparison
    doses: dict[str, Comparison] = {}
    """The second cause alone at its other levels, by level."""
    published: tuple[PublishedComparison, ...] = ()
    """The source that the study repeats next to each of the three effects; empty without a source."""
    note: str = ""
    """What a reader must know of the levels, as the study has it."""

    @property
    def effects(self) -> tuple[Comparison, Comparison, Comparison]:
        """The first cause alone, the second alone, both."""
        return self.first, self.second, self.both


def headline_cells(comparison: Comparison) -> Mapping[str, CellVerdict]:
    """The headline of a comparison by test."""
    return {cell.cell: cell for cell in comparison.headline or comparison.cells}
