"""Results of a power-cut test: cuts, combinations, and what they say in a sentence and a table.

Scope: values that `mileage.app.power_cut` measured. A combination is judged only where the drive got flushes just when
the settings let the host send them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mileage._core import beta_quantile
from mileage.app.power_cut_process import CutAnswer
from mileage.plan.sizes import counted


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
    drawn_s: float
    """When the power should fail, after the first transaction."""
    after_s: float
    """When it did; earlier where the application had ended."""
    ended: str = ""
    """How the application ended before the power failed; empty when it did not."""
    answer: CutAnswer = CutAnswer()
    flushes: int
    """Flushes that the drive answered from the start of the application to the cut."""
    acknowledged: int
    """Transactions whose durability was acknowledged to the application, since the cut before."""
    promised: int
    """The same, with those of earlier cuts that were there: what the next two are counted of."""
    is_examined: bool = True
    """Whether somebody could look for them. Without that, none is counted as lost."""
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

    @property
    def is_at_stake(self) -> bool:
        """Whether the drive lost anything that it had taken; a cut that does not can break no promise."""
        return self.answer.sectors > 0


class CombinationResult(msgspec.Struct, frozen=True, kw_only=True):
    """All cuts of a combination."""

    combination: Combination
    planned: int
    """Cuts that were asked for."""
    cuts: tuple[CutResult, ...]
    repeated: tuple[int, int] | None = None
    """Of a failed cut's seed that was tried again: how often it failed again, and how often it was tried."""
    ended: str = ""
    """Why there are no more cuts, or no more repetitions; empty when all were made."""
    is_interrupted: bool = False

    @property
    def why_not_judged(self) -> str:
        """Why its cuts say nothing about its settings; empty when they do."""
        flushes, settings = self.total("flushes"), self.combination
        if not self.cuts:
            return "no cut was made"
        if not settings.barriers and flushes:
            return f"the drive got {flushes:,} {'flush' if flushes == 1 else 'flushes'} without barriers"
        if settings.barriers and settings.asks and not flushes:
            return "the drive got no flush though barriers are on"
        return ""

    @property
    def is_judged(self) -> bool:
        """Whether it must keep every acknowledged transaction, and its cuts show whether it did."""
        return self.combination.must_keep and not self.why_not_judged

    @property
    def failures(self) -> tuple[CutResult, ...]:
        """The cuts at which something was wrong."""
        return tuple(cut for cut in self.cuts if cut.is_failure)

    @property
    def first_failure(self) -> CutResult | None:
        """The first cut at which something was wrong."""
        return next(iter(self.failures), None)

    @property
    def at_stake(self) -> int:
        """Cuts at which the drive lost something."""
        return sum(cut.is_at_stake for cut in self.cuts)

    @property
    def unexamined(self) -> int:
        """Acknowledged transactions that nobody could look for."""
        return sum(cut.promised for cut in self.cuts if not cut.is_examined)

    def total(self, name: str) -> int:
        """Sum of a count over all cuts; of a text the number of cuts that have it."""
        return sum(
            int(bool(value)) if isinstance(value := getattr(cut, name), str) else value for cut in self.cuts
        )


class CampaignResult(msgspec.Struct, frozen=True, kw_only=True):
    """All combinations, and the simulated drive below them."""

    drive: str
    profile: str
    """Hash of the drive's profile, before power and flush of the combinations are set."""
    speed: str
    seed: int
    combinations: tuple[CombinationResult, ...]

    @property
    def drive_words(self) -> str:
        """The drive, that it is simulated, and how fast its time passed."""
        pace = "in real time" if self.speed == "real" else f"at speed {self.speed}"
        return f"the simulated drive {self.drive} ({self.profile}), {pace}"


def loss_bound(failed: int, cuts: int) -> float:
    """The share of cuts that may fail at most, with 95 % confidence (Clopper and Pearson 1934, one-sided)."""
    return 1.0 if failed >= cuts else beta_quantile(failed + 1, cuts - failed, 0.95)


def sentence_of(campaign: CampaignResult) -> str:
    """What came out, in one sentence; each number with the cuts that it comes from."""
    results = campaign.combinations
    judged = [result for result in results if result.is_judged]
    others = [result for result in results if not result.combination.must_keep and not result.why_not_judged]
    clauses = [_promise(judged), *([_others(others)] if others else [])]
    for result in results:
        name = result.combination.name
        if result.why_not_judged:
            clauses.append(f"{name}: not judged, because {result.why_not_judged}")
        if result.ended:
            clauses.append(
                f"{name}: ended after {len(result.cuts):,} of {counted(result.planned, 'cut')}: {result.ended}"
            )
    if early := sum(result.total("ended") for result in results):
        clauses.append(f"in {counted(early, 'cut')} the application had ended before the power failed")
    return f"On {campaign.drive_words}: {'; '.join(clauses)}."


def _promise(judged: Sequence[CombinationResult]) -> str:
    """What became of the combinations that must keep everything."""
    what = "that must keep every acknowledged transaction"
    if not judged:
        return f"no combination {what} was judged"
    cuts, broken = sum(len(result.cuts) for result in judged), [it for it in judged if it.failures]
    which = "the one combination" if len(judged) == 1 else f"all {len(judged)} combinations"
    if broken:
        names = "; ".join(
            f"{it.combination.name}: {len(it.failures)} of {counted(len(it.cuts), 'cut')}" for it in broken
        )
        some = which if len(judged) == 1 else f"{len(broken)} of the {len(judged)} combinations"
        return f"{some} {what} failed ({names})"
    stake, fewest = sum(result.at_stake for result in judged), min(len(result.cuts) for result in judged)
    each = "" if len(judged) == 1 else " of each"
    return (
        f"{which} {what} kept all {sum(it.total('acknowledged') for it in judged):,} in"
        f" {counted(cuts, 'cut')}; the drive lost something in {stake:,} of these; at most"
        f" {100 * loss_bound(0, fewest):.2g} % of the cuts{each} break the promise (95 % confidence)"
    )


def _others(others: Sequence[CombinationResult]) -> str:
    """What became of the combinations that may lose something."""
    failed = sum(len(result.failures) for result in others)
    losing = sum(bool(result.failures) for result in others)
    cuts = counted(sum(len(result.cuts) for result in others), "cut")
    which = "the other one" if len(others) == 1 else f"{losing} of the {len(others)} others"
    if not losing:
        rest = "the other one" if len(others) == 1 else f"none of the {len(others)} others"
        verb = "lost nothing, which shows no promise" if len(others) == 1 else "lost anything"
        return f"{rest} {verb} in {cuts}"
    return f"{which} lost or damaged data in {failed:,} of {cuts}"


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
        str(result.at_stake),
        f"{result.total('flushes'):,}",
        f"{result.total('acknowledged'):,}",
        f"{result.total('lost'):,}",
        f"{result.total('torn'):,}",
        f"{result.unexamined:,}",
        str(result.total("corrupt")),
        str(result.total("unreplayable")),
        f"{times[len(times) // 2]:.2f}" if times else "",
        str(failure.seed) if failure is not None else "",
        again,
    )
