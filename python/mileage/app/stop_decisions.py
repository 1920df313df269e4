"""Decide when a study has measured enough, by the rules of `judge`, for `execute`.

Where `execute` and `judge` meet. The rules see values of cells and rounds; none sees a difference between arms.
"""

from __future__ import annotations

from mileage.judge.precision import precision
from mileage.judge.regimes import regimes
from mileage.judge.steady_state import DRIFT_ROUNDS, PTS_WINDOW, drift, pts_window
from mileage.model.journal_entries import Finding
from mileage.plan.study import Repeat

WRITTEN_MIN = 2.0
"""Drive writes below which no drive is called steady by the drift rule, whatever its rounds look like."""


class StopDecisions:
    """Decide after each repetition whether a study may stop, by the rules of the package `judge`."""

    def precise(self, cells: list[list[float]], repeat: Repeat) -> Finding:
        """Whether the pooled 95 % interval is within the precision that was asked for."""
        if not cells:
            return Finding(rule="precision", enough=False)
        found = precision(cells)
        return Finding(
            rule="precision",
            cells=len(cells),
            half_width=_finite(found.half_width),
            precision=repeat.precision,
            detectable=_finite(found.detectable),
            enough=found.half_width <= (repeat.precision or 0.0),
        )

    def steady(self, rounds: list[float], written_bytes: int, rule: str, capacity_bytes: int) -> Finding:
        """Whether the rounds so far end steady by `rule`: "pts-steady" or "steady"."""
        if rule == "pts-steady":
            return _pts(rounds)
        return _drift(rounds, written_bytes, capacity_bytes)

    def text(self, times: int, look: Finding) -> str:
        """An interim look after `times` blocks or rounds, in words."""
        after = f"after {times}"
        if look.rule == "precision":
            if look.half_width is None:
                return f"{after} blocks: the precision is not known yet"
            known = f"known to +-{look.half_width:.2%}, asked for +-{look.precision:.2%}"
            found = f"a difference of {look.detectable:.2%} would be found in 80 % of cases"
            return f"{after} blocks: {known}; {found}{'; enough' if look.enough else ''}"
        if look.rule == "pts-steady":
            figures = f"range {look.range:.1%} of the mean, slope {look.excursion:.1%} over the window"
            return f"{after} rounds: steady by the SNIA rule ({figures})"
        figures = f"drift {look.drift:+.1%} over {DRIFT_ROUNDS} rounds"
        return f"{after} rounds: steady ({figures}, 90 % interval {look.low:+.1%} to {look.high:+.1%})"


def _pts(rounds: list[float]) -> Finding:
    if len(rounds) < PTS_WINDOW:
        return Finding(rule="pts-steady", enough=False)
    window = pts_window(rounds, len(rounds) - 1)
    mean = window.mean or 1.0
    return Finding(
        rule="pts-steady",
        enough=window.steady and window.mean > 0,
        range=window.range / mean,
        excursion=window.excursion / mean,
    )


def _drift(rounds: list[float], written_bytes: int, capacity_bytes: int) -> Finding:
    width = max(DRIFT_ROUNDS, (len(rounds) + 1) // 2)
    if len(rounds) < DRIFT_ROUNDS or min(rounds) <= 0:
        return Finding(rule="steady", enough=False)
    found = drift(rounds[len(rounds) - width :])
    written = written_bytes / capacity_bytes if capacity_bytes else 0.0
    enough, level_rounds = found.state == "steady" and written >= WRITTEN_MIN, None
    if enough:
        # A change of level within the window may cancel the drift, so the drift alone must not end the rounds.
        last = regimes(rounds[-2 * width :]).segments[-1]
        level_rounds = last.end - last.start
        enough = level_rounds >= min(width, len(rounds) - 1)
    low, high = found.ci90
    return Finding(
        rule="steady",
        enough=enough,
        drift=found.per_20_rounds,
        low=low,
        high=high,
        drive_writes=written,
        level_rounds=level_rounds,
    )


def _finite(value: float) -> float | None:
    """The journal is JSON, which knows no infinity."""
    return value if value < float("inf") else None
