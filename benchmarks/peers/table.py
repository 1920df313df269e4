"""Ratios between programs that took turns, and whether they keep to a bar. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

US = "mileage"
QUIET = 1.0
"""Load average of other programs above which bars are not judged."""


@dataclass(frozen=True)
class ProgramRun:
    """One run of one program."""

    #: Operations (or files) per second.
    rate_per_s: float
    #: Processor time per operation in nanoseconds; None where the program does not print it.
    cpu_ns: float | None = None


@dataclass(frozen=True)
class Spread:
    """Median and range of a few figures."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        ordered = sorted(values)
        return cls(median(ordered), ordered[0], ordered[-1])

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.least:.3f}, {self.most:.3f}]"


@dataclass(frozen=True)
class Bar:
    """What is asked of Mileage's ratio to some of the others.

    `figure` is `cpu` (processor time per operation) or `rate`. Among several programs the best is taken: the one with
    the least median processor time, or the highest median rate. With `noise` a bar is missed only when every round
    misses it, which chance alone does once in 2^rounds. `absolute` bars hold Mileage's own nanoseconds per operation
    against `limit`.
    """

    figure: str
    limit: float
    against: tuple[str, ...] = ()
    noise: bool = False
    absolute: bool = False

    @property
    def upper(self) -> bool:
        """Whether the ratio must not be above the limit (or not below)."""
        return self.figure == "cpu"

    def __str__(self) -> str:
        sign, unit = ("<=" if self.upper else ">="), " ns" if self.absolute else ""
        return f"{self.figure} {sign} {self.limit:g}{unit}{' within noise' if self.noise else ''}"


@dataclass(frozen=True)
class Outcome:
    """A bar held against readings."""

    bar: Bar
    #: The program it was held against; empty for an absolute bar.
    against: str
    found: Spread
    holds: bool


Readings = Mapping[str, Sequence[ProgramRun]]


@dataclass(frozen=True)
class ComparedRow:
    """A row that was run."""

    name: str
    bars: tuple[Bar, ...]
    in_turn: Readings
    #: What the same programs did all at once on one processor; empty where the processor is not the limit.
    at_once: Readings

    def outcome(self, bar: Bar) -> Outcome | None:
        """A bar held against the readings that show it best: a ratio of processor times against those at once."""
        once = bar.figure == "cpu" and not bar.absolute
        return judge(bar, self.at_once if once and self.at_once else self.in_turn)


def figures(readings: Sequence[ProgramRun], figure: str) -> list[float] | None:
    """The figure of every round; None unless all rounds have it."""
    found = [one.cpu_ns if figure == "cpu" else one.rate_per_s for one in readings]
    known = [value for value in found if value is not None]
    return known if known and len(known) == len(found) else None


def ratio(readings: Readings, other: str, figure: str) -> Spread | None:
    """Mileage's figure over another program's, round by round."""
    ours, theirs = figures(readings[US], figure), figures(readings[other], figure)
    if ours is None or theirs is None or not all(theirs):
        return None
    return Spread.of(one / another for one, another in zip(ours, theirs, strict=True))


def best(readings: Readings, among: Sequence[str], figure: str) -> str | None:
    """The program that is hardest to beat."""
    medians = {}
    for name in among:
        values = figures(readings.get(name, ()), figure)
        if values is not None:
            medians[name] = median(values)
    if not medians:
        return None
    choose = min if figure == "cpu" else max
    return choose(medians, key=lambda name: medians[name])


def judge(bar: Bar, readings: Readings) -> Outcome | None:
    """Hold a bar against what was read; None when nothing it names was run."""
    if bar.absolute:
        ours, against = figures(readings[US], bar.figure), ""
        found = None if ours is None else Spread.of(ours)
    else:
        name = best(readings, bar.against, bar.figure)
        against, found = name or "", None if name is None else ratio(readings, name, bar.figure)
    if found is None:
        return None
    if bar.noise:
        holds = found.least <= bar.limit if bar.upper else found.most >= bar.limit
    else:
        holds = found.median <= bar.limit if bar.upper else found.median >= bar.limit
    return Outcome(bar, against, found, holds)


def _shown(readings: Readings, asked: Sequence[str]) -> list[str]:
    """Each program's medians and ratios of the figures that are asked for."""
    out = []
    for program, ones in readings.items():
        rate, cpu = figures(ones, "rate"), figures(ones, "cpu")
        shown = f"  {program:<18}"
        shown += f" {median(rate or [0.0]):>12,.0f} /s" if "rate" in asked else " " * 16
        shown += f" {median(cpu):>9,.1f} ns cpu" if cpu else " " * 17
        if program != US:
            for figure in asked:
                spread = ratio(readings, program, figure)
                shown += f"   {figure} {spread}" if spread else ""
        out.append(shown)
    return out


def lines(row: ComparedRow, load: float = 0.0) -> list[str]:
    """A row of the table: what ran in turn, what ran at once, then the bars.

    With other programs' `load` above `QUIET` no bar is judged: the figures are as much theirs.
    """
    out = [row.name, *_shown(row.in_turn, ("rate", "cpu"))]
    if row.at_once:
        out += ["  all at once on one processor:", *_shown(row.at_once, ("cpu",))]
    for bar in row.bars:
        outcome = row.outcome(bar)
        if outcome is None:
            out.append(f"  bar {bar}: nothing here to hold it against")
        else:
            of = f" of {outcome.against}" if outcome.against else ""
            verdict = "holds" if outcome.holds else "MISSED"
            if load > QUIET:
                verdict = f"[!] not judged: the load average was {load:.1f}"
            out.append(f"  bar {bar}{of}: {outcome.found} {verdict}")
    return out
