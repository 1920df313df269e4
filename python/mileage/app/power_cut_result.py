"""Results of a power-cut test: cuts, combinations, and what they say in a sentence and a table.

Scope: values that `mileage.app.power_cut` measured. A combination is judged only where the drive got flushes just when
the settings let the host send them.
"""

from __future__ import annotations

import msgspec


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    fs: str
    app: str
    """Name of the application, with its option."""
    barriers: bool
    """Whether the host sends flushes."""
    protected: bool
    """Whether the drive's write buffer survives a power cut."""
    honest: bool
    """Whether the drive honours flushes."""
    asks: bool
    """Whether the application syncs what it reports."""

    @property
    def must_keep(self) -> bool:
        """Whether nothing that was acknowledged may be lost."""
        return self.asks and (self.protected or (self.barriers and self.honest))

    @property
    def name(self) -> str:
        """Its settings in words."""
        words = [self.fs, self.app]
        words.append("barriers" if self.barriers else "no barriers")
        words.append("protected" if self.protected else "volatile")
        words.append("honest" if self.honest else "lying flush")
        return ", ".join(words)


class CutResult(msgspec.Struct, frozen=True, kw_only=True):
    """One power cut."""

    cut: int
    seed: int
    after_s: float
    """When the power failed, after the application began."""
    flushes: int
    """Flushes that the drive got from the start of the application to the cut."""
    acknowledged: int
    """Transactions whose durability was acknowledged to the application, since the cut before."""
    lost: int
    """Of these, those that are missing."""
    torn: int
    """Of these, those that are there and damaged."""
    corrupt: str = ""
    unreplayable: str = ""
    """Why file system or application did not recover."""
    recovery_s: float
    """Mounting and recovery of the application."""

    @property
    def is_failure(self) -> bool:
        """Whether something is wrong that a careful application does not expect."""
        return bool(self.lost or self.torn or self.corrupt or self.unreplayable)


class CombinationResult(msgspec.Struct, frozen=True, kw_only=True):
    """All cuts of a combination."""

    combination: Combination
    cuts: tuple[CutResult, ...]
    repeated: tuple[int, int] | None = None
    """Of a failed cut's seed that was tried again: how often it failed again, and how often it was tried."""

    @property
    def why_not_judged(self) -> str:
        """Why its cuts say nothing about its settings; empty when they do."""
        flushes, settings = self.total("flushes"), self.combination
        if not settings.barriers and flushes:
            return f"the drive got {flushes:,} flushes without barriers"
        if settings.barriers and settings.asks and self.cuts and not flushes:
            return "the drive got no flush though barriers are on"
        return ""

    @property
    def is_judged(self) -> bool:
        """Whether it must keep every acknowledged transaction, and its cuts show whether it did."""
        return self.combination.must_keep and not self.why_not_judged

    @property
    def first_failure(self) -> CutResult | None:
        """The first cut at which something was wrong."""
        return next((cut for cut in self.cuts if cut.is_failure), None)

    def total(self, name: str) -> int:
        """Sum of a count over all cuts; of a text the number of cuts that have it."""
        return sum(
            int(bool(value)) if isinstance(value := getattr(cut, name), str) else value for cut in self.cuts
        )


def sentence_of(results: list[CombinationResult]) -> str:
    """What came out, in one sentence."""
    cuts = sum(len(result.cuts) for result in results)
    kept = [result for result in results if result.is_judged]
    silent = [result for result in results if result.why_not_judged]
    broken = [result for result in kept if result.first_failure is not None]
    others = [result for result in results if not result.combination.must_keep and not result.why_not_judged]
    losing = [result for result in others if result.first_failure is not None]
    if not kept:
        first = "no combination had to keep every acknowledged transaction"
    elif broken:
        names = "; ".join(result.combination.name for result in broken)
        first = (
            f"{len(broken)} of the {len(kept)} combinations that must keep every acknowledged transaction"
            f" failed ({names})"
        )
    else:
        acknowledged = sum(result.total("acknowledged") for result in kept)
        which = "the one combination" if len(kept) == 1 else f"all {len(kept)} combinations"
        first = f"{which} that must keep every acknowledged transaction kept all {acknowledged:,} of them"
    second = f"; {len(losing)} of {len(others)} others lost or damaged data" if others else ""
    third = "".join(f"; {it.combination.name}: not judged, because {it.why_not_judged}" for it in silent)
    return f"In {cuts:,} power cuts {first}{second}{third}."


def row_of(result: CombinationResult) -> tuple[str, ...]:
    """The row of a combination, in the order of `report.power_cut_page.HEADS`."""
    combination, failure = result.combination, result.first_failure
    times = sorted(cut.recovery_s for cut in result.cuts)
    again = f"{result.repeated[0]} of {result.repeated[1]}" if result.repeated else ""
    return (
        combination.fs,
        combination.app,
        "on" if combination.barriers else "off",
        "protected" if combination.protected else "volatile",
        "honest" if combination.honest else "lying",
        "not judged" if result.why_not_judged else "all" if combination.must_keep else "-",
        str(len(result.cuts)),
        f"{result.total('flushes'):,}",
        f"{result.total('acknowledged'):,}",
        f"{result.total('lost'):,}",
        f"{result.total('torn'):,}",
        str(result.total("corrupt")),
        str(result.total("unreplayable")),
        f"{times[len(times) // 2]:.2f}" if times else "",
        str(failure.seed) if failure is not None else "",
        again,
    )
