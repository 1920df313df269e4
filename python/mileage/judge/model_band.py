"""The model band: how far a result on a virtual drive moves with the choices that nobody has published.

Scope: the comparison repeated on drives that differ from the one measured in one figure each. Where the
statistical interval says how well the result of this model is known, the band says how much the result depends on the
model. Combinations of choices are not tried, so the true range may be wider.
A choice without a result is counted and omitted from the range.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

Interval = tuple[float, float]

_MULTIPLE: Final = 2.0
"""Ratios from here on are written as "2.4 times as fast", as in the sentence."""
_WHOLE_PERCENT: Final = 9.95
"""From here on no digit follows the point."""


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

    def counted(self, cell: str, metric: str) -> str:
        """Number of variants of the drive behind the range: "7 variants", or "6 of 7 variants" where some failed."""
        number = sum(choice.ratio(cell, metric) is not None for choice in self.choices)
        total = f"{self.declared} variant{'' if self.declared == 1 else 's'}"
        return total if number == self.declared else f"{number} of {total}"

    def by_effect(self, cell: str, metric: str, ratio: float) -> list[BandChoice]:
        """The choices, the one that moves a cell most first; those without a result last."""

        def moved(choice: BandChoice) -> float:
            found = choice.ratio(cell, metric)
            return math.inf if found is None else -abs(math.log(found / ratio))

        return sorted(self.choices, key=moved)


def range_words(ends: Interval, *, higher_is_better: bool) -> str:
    """A range of ratios as changes, the smaller change first.

    "56 to 92 % slower", "5.0 % faster to 92 % slower"; of latencies "7.1 to 128 times as high".
    """
    first, last = sorted(ends, key=lambda ratio: abs(math.log(ratio)))
    words = ("faster", "slower", "fast") if higher_is_better else ("higher", "lower", "high")
    one, other = (_change(ratio, *words) for ratio in (first, last))
    if one == other:
        return " ".join(one)
    if one[1] == other[1]:
        return f"{one[0].removesuffix(' %').removesuffix(' times')} to {' '.join(other)}"
    return f"{' '.join(one)} to {' '.join(other)}"


def _change(ratio: float, up: str, down: str, positive: str) -> tuple[str, str]:
    """Size and direction of a ratio: ("56 %", "slower"), ("18 times", "as high")."""
    if ratio >= _MULTIPLE:
        return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times", f"as {positive}"
    percent = abs(ratio - 1) * 100
    return f"{percent:.0f} %" if percent >= _WHOLE_PERCENT else f"{percent:.1f} %", up if ratio >= 1 else down
