"""The faults of a study: each with the path of its value, what is wrong there, and in a file its line.

Scope: all that is wrong with a study, reported together. A path is that of a value in the file, such as
"measure.throughput.record[0]"; a key with other characters than letters, digits, "-" and "_" is quoted.
What it refuses: `Faults` collects, and raises `BrokenStudy` once with everything that was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from mileage._core import toml_lines
from mileage.errors import Refusal, Refused, closest

FAULTS_MAX: Final = 100
"""Faults that are reported; the search ends with the last of them."""

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_STEP: Final = re.compile(r"""\[(\d+)\]|'([^']*)'|([A-Za-z0-9_-]+)""")


class BrokenStudy(Refused):
    """A study that cannot be done; `refusals` are all its faults, by line where they have one.

    `where` of a fault is the path of its value; empty where it is none of one value.
    """

    def __init__(self, source: str, faults: Iterable[Refusal]) -> None:
        self.source: str = source
        found = tuple(faults)
        words = [fault.words for fault in found]
        count = f"{len(words)} faults" if len(words) < FAULTS_MAX else f"the first {FAULTS_MAX} faults"
        text = f"{source}: {words[0]}" if len(words) == 1 else "\n".join([f"{source}: {count}", *words])
        super().__init__("", text)
        self.refusals = found

    def located(self, text: str, shown: str) -> BrokenStudy:
        """The error with a line number in each fault, found in `text`, the content of the study file `shown`."""
        lines = toml_lines(text, [steps_of(fault.where) for fault in self.refusals])
        found = [
            fault._replace(line=fault.line or line) for fault, line in zip(self.refusals, lines, strict=True)
        ]
        return BrokenStudy(shown, sorted(found, key=lambda fault: fault.line or 0))


class Faults:
    """Collects the faults of one study."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._found: dict[tuple[str, str], Refusal] = {}
        self._unreadable: set[str] = set()

    def add(
        self, where: str, text: str = "", *, found: str = "", expected: str = "", advice: str = "", code: str
    ) -> None:
        """Add a fault, unless a fault of the same value, of a part of it or of its table is there already."""
        self.add_refusal(Refusal(where, found, expected, advice, code, text))

    def add_refusal(self, fault: Refusal) -> None:
        """Add a fault that was made elsewhere, by the rule of `add`."""
        where = fault.where
        if any(
            where == other or is_below(where, other) or is_below(other, where) for other in self._unreadable
        ):
            return
        parts = (fault.found, fault.expected, fault.advice, fault.text)
        found, expected, advice, text = (one_line(part) for part in parts)
        fault = fault._replace(found=found, expected=expected, advice=advice, text=text)
        self._found.setdefault((where, fault.sentence), fault)
        if len(self._found) >= FAULTS_MAX:
            self.refuse_any()

    def fresh(self) -> Faults:
        """A collection without faults that ignores the same values."""
        other = Faults(self.source)
        other._unreadable = self._unreadable
        return other

    def add_unknown(self, key: str, name: str, known: Iterable[str], what: str) -> str | None:
        """Add the fault of an unknown name; returns the known name that is close to it, or None."""
        names = list(known)
        close = closest(name, names)
        hint = f"did you mean {close!r}?" if close else f"known: {', '.join(names) or 'none'}"
        self.add_refusal(Refusal(key, advice=hint, code="unknown-name", text=f"there is no {what} {name!r}"))
        return close

    def mark(self, key: str) -> None:
        """Ignore what follows about a value that could not be read: it has been reported."""
        self._unreadable.add(key)

    def is_marked(self, key: str) -> bool:
        """Whether a value, or a part of it, could not be read."""
        return any(key == other or is_below(other, key) for other in self._unreadable)

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect the faults of what is refused inside."""
        try:
            yield
        except BrokenStudy as broken:
            for fault in broken.refusals:
                self.add_refusal(fault)

    @property
    def found(self) -> tuple[Refusal, ...]:
        """The faults so far, in the order in which they were found."""
        return tuple(self._found.values())

    def refuse_any(self) -> None:
        """Raise BrokenStudy if there is a fault."""
        if self._found:
            raise BrokenStudy(self.source, self.found)


def join(path: str, key: str) -> str:
    """The path of a key below a path."""
    quoted = key if _BARE_KEY.fullmatch(key) else repr(key)
    return f"{path}.{quoted}" if path else quoted


def is_below(path: str, other: str) -> bool:
    """Whether a path leads to a part of the value at another."""
    return not other or path.startswith((f"{other}.", f"{other}["))


def steps_of(path: str) -> list[str]:
    """The keys and indices of a path."""
    return [found[1] or found[3] or found[2] for found in _STEP.finditer(path)]


def one_line(text: str) -> str:
    """A text whose characters all print."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
