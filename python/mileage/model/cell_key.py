"""The identity of a cell: what is measured at which sizes and levels, as a value from which the label is rendered.

Invariant: a label is rendered here and taken apart nowhere; whoever needs a part of it asks the key.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class CellKey(msgspec.Struct, frozen=True, omit_defaults=True):
    """Identity of a cell's measurement. Equal identities of two studies mean the same measurement."""

    workload: str = ""
    """Its name: "throughput.write"; of a cell of another tool, the tool's own words."""
    record_bytes: int | None = None
    """Size of one operation; None where there is none, or where a tool does not state it."""
    threads: int | None = None
    """Threads, processes or tasks that work at the same time; None where a tool does not state them."""
    depth: int | None = None
    """Operations outstanding per thread; None where a tool does not state it."""
    levels: dict[str, str] = {}
    """Levels of the other keys that vary in its table."""
    factors: dict[str, str] = {}
    """The level of each factor of its study."""
    table: str = ""
    """NAME of its table, where another table has the same cell."""
    work: str = ""
    """Workload in words that tools share, such as "random_read".

    Empty where only the tool's name of the test describes it.
    """
    called: str = ""
    """The workload as the label has it, where that is not its name: "iops.random" with another share of reads."""
    shown: dict[str, str] = {}
    """Parts of the label, in order, as property and value: {"record": "4 KiB", "reads": "70 %"}.

    An empty value holds the place of a record that is among the factors.
    """

    @property
    def name(self) -> str:
        """The workload as the label has it."""
        return self.called or self.workload

    @property
    def stem(self) -> str:
        """The label without the levels of the study's factors."""
        return ", ".join(self._own_parts())

    @property
    def label(self) -> str:
        """Name of the cell in texts and tables; unique in a study."""
        return ", ".join([*self._own_parts(), *_words(self.factors)])

    @property
    def parts(self) -> list[str]:
        """Everything in the label but the name, each for itself."""
        shown = [_part(name, value) for name, value in self.shown.items() if value]
        last = [f"({self.table})"] if self.table else []
        if shown and last:
            shown[-1:] = [f"{shown[-1]} {last[0]}"]
            last = []
        return [*shown, *last, *_words(self.factors)]

    @property
    def properties(self) -> dict[str, str]:
        """Parts of the label by property; `test` is the workload, `record` may be empty."""
        return {"test": self.name, "record": "", **self.shown}

    @property
    def meaning(self) -> tuple[object, ...] | None:
        """Identity for comparisons between studies of different tools; None where a tool does not state enough."""
        if self.threads is None or self.depth is None:
            return None
        levels = (tuple(sorted(self.levels.items())), tuple(sorted(self.factors.items())))
        return (self.work or self.workload, self.record_bytes, self.threads, self.depth, *levels)

    def of_test(self, name: str) -> CellKey:
        """The key of another test of its set at the same sizes; of the set as a whole, by the set's name."""
        return msgspec.structs.replace(self, workload=name, called="", work="")

    def without(self, factor: str) -> CellKey:
        """The key without the level of a factor."""
        rest = {name: level for name, level in self.factors.items() if name != factor}
        return msgspec.structs.replace(self, factors=rest)

    def without_workload(self) -> CellKey:
        """The key without its workload: the sizes and levels that another workload may have as well."""
        return msgspec.structs.replace(self, workload="", called="", work="")

    def _own_parts(self) -> list[str]:
        parts = [_part(name, value) for name, value in self.shown.items()]
        head = " ".join(filter(None, [self.name, *parts[:1]]))
        own = [head, *parts[1:]]
        if self.table:
            own[-1] += f" ({self.table})"
        return own


def alike(ours: Mapping[str, CellKey], others: Mapping[str, CellKey]) -> dict[str, str]:
    """Match labels of another study to ours: an equal label, else an equal meaning.

    A meaning that a study has twice matches nothing: which of the two cells is meant cannot be known.
    """
    found = {label: label for label in others if label in ours}
    mine, theirs = (
        _by_meaning({label: key for label, key in keys.items() if label not in found})
        for keys in (ours, others)
    )
    return found | {theirs[meaning]: mine[meaning] for meaning in theirs if meaning in mine}


def _by_meaning(keys: Mapping[str, CellKey]) -> dict[tuple[object, ...], str]:
    meanings = [key.meaning for key in keys.values()]
    return {
        meaning: label
        for label, key in keys.items()
        if (meaning := key.meaning) is not None and meanings.count(meaning) == 1
    }


def _words(levels: Mapping[str, str]) -> list[str]:
    return [f"{name} {level}" for name, level in levels.items()]


def _part(name: str, value: str) -> str:
    """One property in the form of a label: "4 KiB", "1 thread", "70 % reads", "rate 1000/s"."""
    if name == "record" or not value:
        return value
    if name == "threads":
        return f"{value} thread{'' if value == '1' else 's'}"
    return f"{value} {name}" if name in ("reads", "discards") else f"{name} {value}"
