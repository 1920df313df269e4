"""A published table judged again: a difference and a standard deviation per cell are enough to ask what was shown.

Scope: a table that prints, per cell, the difference of two means in percent of the baseline's mean and the
standard deviation of one of the two arms in percent of its mean, both over n runs. What is not printed must be
assumed, and every assumption is judged separately: the other arm has the same spread (which counts as
known: 2n - 2 degrees of freedom) or the printed spread is the only knowledge (n - 1). The scale stays the
table's own, percent of the baseline. A further column applies the rule that such tables are often read by: a difference
whose error bar of one standard deviation does not cross zero "is real". Refuses cells that cannot be judged
(not finite, negative deviation, the same cell twice).
"""

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from mileage.judge.correction import benjamini_hochberg, holm
from mileage.judge.ratio import Estimate
from mileage.judge.verdict import Verdict

AssumptionCode = Literal["equal-spread", "printed-spread-only"]
"""About the other arm: its spread is the printed one, or nothing is known of it."""
OwnRule = Literal["different", "nothing can be said", "tie"]

HIGHLIGHTS_MAX: Final = 3
"""Cells listed per test and direction."""


class PublishedCell(msgspec.Struct, frozen=True):
    """One cell as printed: `keys` name it, the first key is the test; both figures in percent."""

    keys: tuple[str, ...]
    difference_percent: float
    sd_percent: float


class PublishedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One cell under one assumption. Intervals are of the difference, in percent of the baseline's mean."""

    p_raw: float
    p_holm: float
    p_bh: float
    ci95_percent: tuple[float, float]
    ci90_percent: tuple[float, float]
    verdict: Verdict


class Assumption(msgspec.Struct, frozen=True, kw_only=True):
    """An assumption about the arm whose spread is not printed, and the verdict of every cell under it, in order."""

    code: AssumptionCode
    df: int
    cells: tuple[PublishedVerdict, ...]

    def count(self, verdict: Verdict) -> int:
        """Count the cells with a verdict (differences by Benjamini-Hochberg)."""
        return sum(cell.verdict == verdict for cell in self.cells)

    def below(self, family: Literal["raw", "bh", "holm"], alpha: float) -> int:
        """Count the cells with a p value of at most `alpha`, unadjusted or adjusted for the whole table."""
        return sum(getattr(cell, f"p_{family}") <= alpha for cell in self.cells)

    @property
    def equivalent(self) -> int:
        """Count the cells shown to lie within the margin (interval of confidence 1 - 2 alpha inside it)."""
        return self.count("same") + self.count("real but irrelevant")


class Highlight(msgspec.Struct, frozen=True):
    """One cell worth naming, under the first assumption."""

    test: str
    case: Literal["worst", "better"]
    cell: PublishedCell


class Disagreement(msgspec.Struct, frozen=True):
    """A cell that two tables print differently; `elsewhere` are the cells that print the second table's pair."""

    cell: PublishedCell
    other: PublishedCell
    elsewhere: tuple[PublishedCell, ...]


class Reanalysis(msgspec.Struct, frozen=True, kw_only=True):
    """A whole table judged again."""

    columns: tuple[str, ...]
    cells: tuple[PublishedCell, ...]
    runs: int
    margin_percent: float
    alpha: float
    own_rule: tuple[OwnRule, ...]
    assumptions: tuple[Assumption, ...]
    highlights: tuple[Highlight, ...]
    disagreements: tuple[Disagreement, ...] = ()


def reanalyse(
    cells: Sequence[PublishedCell],
    *,
    columns: Sequence[str],
    runs: int,
    margin_percent: float = 2.0,
    alpha: float = 0.05,
    against: Sequence[PublishedCell] = (),
) -> Reanalysis:
    """Judge a printed table of means over `runs` runs (2 or more) again.

    `columns` names the keys. `margin_percent` is the gain that still counts as none. `against` is a second
    print of some of the cells, such as a table of highlights: where the two differ, it is listed.
    ValueError: an empty table, a cell that is not finite, has a negative deviation, or appears twice.
    """
    _check(cells, runs, margin_percent, alpha)
    assumptions = (
        _under("equal-spread", 2 * runs - 2, cells, runs, margin_percent, alpha),
        _under("printed-spread-only", runs - 1, cells, runs, margin_percent, alpha),
    )
    return Reanalysis(
        columns=tuple(columns),
        cells=tuple(cells),
        runs=runs,
        margin_percent=margin_percent,
        alpha=alpha,
        own_rule=tuple(own_rule(cell) for cell in cells),
        assumptions=assumptions,
        highlights=_highlights(cells, assumptions[0], alpha),
        disagreements=_disagreements(cells, against),
    )


def own_rule(cell: PublishedCell) -> OwnRule:
    """The reading of an error bar of one standard deviation: it crosses zero, or it does not."""
    size = abs(cell.difference_percent)
    if size == cell.sd_percent:
        return "tie"
    return "different" if size > cell.sd_percent else "nothing can be said"


def _check(cells: Sequence[PublishedCell], runs: int, margin_percent: float, alpha: float) -> None:
    if not cells:
        raise ValueError("the table has no cell")
    if runs < 2:
        raise ValueError(f"{runs} runs per cell: a spread needs at least 2")
    if not 0 <= margin_percent < math.inf or not 0 < alpha < 0.5:
        raise ValueError(f"margin {margin_percent} %, alpha {alpha}: expected 0 or more, and 0 to 0.5")
    seen: set[tuple[str, ...]] = set()
    for cell in cells:
        name = ", ".join(cell.keys)
        if not (math.isfinite(cell.difference_percent) and 0 <= cell.sd_percent < math.inf):
            found = f"{cell.difference_percent} and {cell.sd_percent}"
            raise ValueError(
                f"cell {name}: found {found}, expected a finite difference and a deviation of 0 or more"
            )
        if cell.keys in seen:
            raise ValueError(f"cell {name} appears twice")
        seen.add(cell.keys)


def _under(
    code: AssumptionCode, df: int, cells: Sequence[PublishedCell], runs: int, margin: float, alpha: float
) -> Assumption:
    estimates = [Estimate(c.difference_percent, c.sd_percent * math.sqrt(2 / runs), df) for c in cells]
    p_raw = [estimate.p_value() for estimate in estimates]
    adjusted = zip(estimates, p_raw, holm(p_raw), benjamini_hochberg(p_raw), strict=True)
    judged = []
    for estimate, raw, p_holm, p_bh in adjusted:
        interval = estimate.interval(1 - 2 * alpha)
        judged.append(
            PublishedVerdict(
                p_raw=raw,
                p_holm=p_holm,
                p_bh=p_bh,
                ci95_percent=estimate.interval(0.95),
                ci90_percent=estimate.interval(0.90),
                verdict=_verdict(estimate.log_ratio, interval, p_bh, margin, alpha),
            )
        )
    return Assumption(code=code, df=df, cells=tuple(judged))


def loss_margin_percent(margin_percent: float) -> float:
    """The largest loss that counts as none: 5 % is from 1/1.05 to 1.05, so that exchanged arms are judged the same."""
    return 100 * margin_percent / (100 + margin_percent)


def _verdict(
    difference: float, interval: tuple[float, float], p: float, margin: float, alpha: float
) -> Verdict:
    """The five words on the table's own linear scale; more is faster."""
    inside = -loss_margin_percent(margin) <= interval[0] and interval[1] <= margin
    if p > alpha:
        return "same" if inside else "undecided"
    if inside:
        return "real but irrelevant"
    return "faster" if difference > 0 else "slower"


def _highlights(
    cells: Sequence[PublishedCell], assumption: Assumption, alpha: float
) -> tuple[Highlight, ...]:
    """Per test, the largest decreases and increases that survive Benjamini-Hochberg over the whole table."""
    found: list[Highlight] = []
    judged = list(zip(cells, assumption.cells, strict=True))
    for test in dict.fromkeys(cell.keys[0] for cell in cells):
        real = [cell for cell, verdict in judged if cell.keys[0] == test and verdict.p_bh <= alpha]
        by_size = sorted(real, key=lambda cell: cell.difference_percent)
        worst = [cell for cell in by_size if cell.difference_percent < 0][:HIGHLIGHTS_MAX]
        better = [cell for cell in reversed(by_size) if cell.difference_percent > 0][:HIGHLIGHTS_MAX]
        found += [Highlight(test, "worst", cell) for cell in worst]
        found += [Highlight(test, "better", cell) for cell in better]
    return tuple(found)


def _disagreements(
    cells: Sequence[PublishedCell], against: Sequence[PublishedCell]
) -> tuple[Disagreement, ...]:
    printed = {cell.keys: cell for cell in cells}
    found: list[Disagreement] = []
    for other in against:
        cell = printed.get(other.keys)
        if cell is None:
            raise ValueError(f"cell {', '.join(other.keys)} of the second table is not in the first")
        pair = (other.difference_percent, other.sd_percent)
        if (cell.difference_percent, cell.sd_percent) == pair:
            continue
        same_test = [c for c in cells if c.keys[0] == cell.keys[0]]
        elsewhere = tuple(c for c in same_test if (c.difference_percent, c.sd_percent) == pair)
        found.append(Disagreement(cell, other, elsewhere))
    return tuple(found)
