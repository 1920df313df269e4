"""The model band: how far a result on a virtual drive moves with the choices that nobody has published.

Scope: the comparison repeated on drives that differ from the one measured in one figure each. Where the
statistical interval says how well the result of this model is known, the band says how much the result depends on the
model. Combinations of choices are not tried, so the true range may be wider.
A choice without a result is counted and omitted from the range.
"""

from __future__ import annotations

import math

import msgspec

Interval = tuple[float, float]


class BandChoice(msgspec.Struct, frozen=True):
    """One figure changed: its key, the value tried, that of the study's drive, and why the drive may have it.

    `ratios`: candidate over baseline, by cell and metric; empty where `failure` says why there is none.
    """

    figure: str
    value: str
    instead_of: str
    reason: str
    ratios: dict[str, dict[str, float]] = {}
    failure: str = ""

    @property
    def change(self) -> str:
        """The change in the form that follows the name of a virtual drive: "gc_pace=paced"."""
        return f"{self.figure}={self.value}"

    def inverted(self) -> BandChoice:
        """The choice with baseline and candidate exchanged."""
        ratios = {
            cell: {metric: 1 / ratio for metric, ratio in found.items()}
            for cell, found in self.ratios.items()
        }
        return msgspec.structs.replace(self, ratios=ratios)

    def ratio(self, cell: str, metric: str) -> float | None:
        """Candidate over baseline, or None."""
        return self.ratios.get(cell, {}).get(metric)


class ModelBand(msgspec.Struct, frozen=True):
    """Every choice that was tried, of `declared` that the profile of the drive declares."""

    choices: tuple[BandChoice, ...]
    declared: int

    def around(self, cell: str, metric: str, ratio: float) -> Interval | None:
        """The smallest and the largest ratio over the choices, the study's own included; None without any choice."""
        found = [one for choice in self.choices if (one := choice.ratio(cell, metric)) is not None]
        return (min(ratio, *found), max(ratio, *found)) if found else None

    def count(self, cell: str, metric: str) -> int:
        """Number of variants of the drive behind the range."""
        return sum(choice.ratio(cell, metric) is not None for choice in self.choices)

    def inverted(self) -> ModelBand:
        """The band of the comparison with its sides exchanged."""
        return ModelBand(tuple(choice.inverted() for choice in self.choices), self.declared)

    def by_effect(self, cell: str, metric: str, ratio: float) -> list[BandChoice]:
        """The choices, the one that moves a cell most first; those without a result last."""

        def moved(choice: BandChoice) -> float:
            found = choice.ratio(cell, metric)
            return math.inf if found is None else -abs(math.log(found / ratio))

        return sorted(self.choices, key=moved)
