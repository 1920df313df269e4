"""What stands against a statement, or limits it, as a value: a code, its weight, what it is about, and its figures.

Scope: facts only. `mileage.report.caveat_words` has the sentence of each code, and no program needs to parse one.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

Severity = Literal["refuses", "vetoes", "limits", "informs"]
"""From the heaviest: no figure is given; no conclusion is drawn; the conclusion covers less; something to know."""
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
Side = Literal["baseline", "candidate"]

BOTH: Final[tuple[Side, Side]] = ("baseline", "candidate")


class Caveat(msgspec.Struct, frozen=True, kw_only=True):
    """One caveat of a comparison or of a study.

    `sides` are those that it is about; `tests` the labels of the cells, empty where it is about all of them. `figures`
    has numbers with the unit last in their names, and words that are data: a name, a setting, a message.
    """

    code: str
    severity: Severity
    sides: tuple[Side, ...] = BOTH
    tests: tuple[str, ...] = ()
    figures: dict[str, float | int | str] = {}

    @property
    def is_veto(self) -> bool:
        """Whether nothing may be concluded because of it."""
        return self.severity in ("refuses", "vetoes")

    def of(self, *sides: Side) -> Caveat:
        """The same caveat of these sides."""
        return msgspec.structs.replace(self, sides=sides)


def veto(code: str, *, tests: tuple[str, ...] = (), **figures: float | int | str) -> Caveat:
    """A caveat against any conclusion."""
    return Caveat(code=code, severity="vetoes", tests=tests, figures=figures)


def limit(code: str, *, tests: tuple[str, ...] = (), **figures: float | int | str) -> Caveat:
    """A caveat by which the conclusion covers less than its words might say."""
    return Caveat(code=code, severity="limits", tests=tests, figures=figures)


def note(code: str, *, tests: tuple[str, ...] = (), **figures: float | int | str) -> Caveat:
    """A caveat to know, which changes no conclusion."""
    return Caveat(code=code, severity="informs", tests=tests, figures=figures)
