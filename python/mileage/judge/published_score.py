"""How well a repetition of a published study agrees with it, next to the model "nothing changes".

Scope: changes that are published apart (sign; size within a factor of two), verdicts apart, rates apart (within 15 %,
within a factor of two). Only what no profile was fitted to counts. "Nothing changes" says that each change is 0 and
each verdict "same"; it says nothing of rates.
What it refuses: nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from mileage.model.published_result import CHANGE, ComparedResult, PublishedStudy

CLOSE: Final = 0.15
FACTOR: Final = 2.0
LEAST_CHANGE_PERCENT: Final = 0.1
"""A smaller change has no sign: it is of the order of what rounding does."""


Agreement = Literal["change-sign", "change-size", "verdict", "rate-close", "rate-factor"]


class Share(msgspec.Struct, frozen=True):
    """Agreements of a kind, of all that could agree; `nothing_changes`: those of that model, None for rates."""

    kind: Agreement
    agree: int
    of: int
    nothing_changes: int | None

    @property
    def beats_nothing(self) -> bool | None:
        """Whether more agree than under "nothing changes"; None where that cannot be said."""
        return None if self.nothing_changes is None or not self.of else self.agree > self.nothing_changes


class PublishedComparison(msgspec.Struct, frozen=True):
    """A source next to a study, and how well they agree."""

    source: PublishedStudy
    study: str
    target: str
    simulated: bool
    """Whether the study ran on a model, or on a real target."""
    results: tuple[ComparedResult, ...]
    scores: tuple[Share, ...]


def is_near(published: float, found: float, *, high: float | None = None) -> bool:
    """Whether a change in percent, as a logarithm, is within a factor of two of a published one (or range)."""
    ends = sorted((_log(published), _log(published if high is None else high)), key=abs)
    log = _log(found)
    return log * ends[0] > 0 and abs(ends[0]) / FACTOR <= abs(log) <= abs(ends[1]) * FACTOR


def _log(percent: float) -> float:
    return math.log(max(1 + percent / 100, 1e-9))


def sign_agrees(published: float, found: float) -> bool:
    """Whether a change in percent has the sign of the published one."""
    return abs(found) >= LEAST_CHANGE_PERCENT and published * found > 0


def scores(results: Sequence[ComparedResult]) -> tuple[Share, ...]:
    """The shares of agreement of the predicted results that were found."""
    found = [one for one in results if one.found is not None and not one.published.is_fitted]
    changes = [one for one in found if one.published.unit == CHANGE]
    stated = [one for one in changes if one.published_reading in ("slower", "faster", "same")]
    moved = [one for one in stated if one.published_reading != "same" and one.published.middle is not None]
    signs = near = 0
    for one in moved:
        low, high, value = one.published.low, one.published.high, one.found
        assert low is not None
        assert high is not None
        assert value is not None
        signs += sign_agrees(low, value)
        near += is_near(low, value, high=high)
    same = sum(one.published_reading == "same" for one in stated)
    agreed = sum(one.published_reading == one.found_reading for one in stated)
    ratios = [_ratio(one) for one in found if one.published.unit != CHANGE]
    return (
        Share("change-sign", signs, len(moved), 0),
        Share("change-size", near, len(moved), 0),
        Share("verdict", agreed, len(stated), same),
        Share("rate-close", sum(abs(ratio - 1) <= CLOSE for ratio in ratios), len(ratios), None),
        Share(
            "rate-factor",
            sum(1 / FACTOR <= ratio <= FACTOR for ratio in ratios),
            len(ratios),
            None,
        ),
    )


def _ratio(one: ComparedResult) -> float:
    middle = one.published.middle
    assert middle is not None
    assert one.found is not None
    return one.found / middle
