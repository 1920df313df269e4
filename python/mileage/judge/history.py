"""Sessions of one target over time: where its level changed for good, and which of them hold the level.

Scope: one value per session and cell, in the order in which the sessions were made, as stretches of equal distribution.
A stretch is split where the energy distance between its two parts is largest (Matteson and James 2014), and the
split is kept when fewer than alpha of random orders of the stretch have one as large; then each part is looked at
again. The p of the best split is paid for by the permutations, which search for their best split too; they end as soon
as the p cannot be small (Besag and Clifford 1991). Several cells are corrected by Benjamini-Hochberg.
A slow drift (Spearman's rank correlation, where a line fits better than levels do) is not taken for levels: the
sessions at its beginning hold the level then, so that a decay is not absorbed.
Refuses to split off fewer than three sessions, and to find a drift in fewer than eight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mileage._core import t_two_sided
from mileage.judge.correction import benjamini_hochberg, holm
from mileage.judge.samples import RATE_METRICS, Sample
from mileage.judge.sessions import spread_of
from mileage.model.caveat import Caveat, limit, note

STUDIES_MIN: Final = 3
"""Sessions on each side of a change."""
DRIFT_MIN: Final = 8
"""Sessions from which a drift is looked for."""
LEVEL_ALPHA: Final = 0.01
"""The chance that a level that did not change is taken for one that did, or for a drift."""
WEEKDAY_ALPHA: Final = 0.05
WEEKS_MIN: Final = 4
"""Weeks from which days of the week are compared."""
PERMUTATIONS: Final = 999
_ENOUGH: Final = 20
"""Random orders as good as the one seen after which the rest are not needed."""

Floats = NDArray[np.float64]


class Change(msgspec.Struct, frozen=True):
    """A change of one cell's level: the first session of the new level, its ratio to the level before, and p."""

    cell: str
    study: int
    ratio: float
    p: float
    p_adjusted: float


class CellLevel(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions that hold the level of one cell, and the drift over its last stretch where there is one."""

    cell: str
    first: int
    end: int
    """The session after the last one."""
    drift: float | None = None
    """The relative change from the first session of the stretch to the last, along the fitted line."""
    p_drift: float | None = None
    between: float | None = None
    """The standard deviation between the sessions of the level, of logarithms; None where it is not known."""
    within: float | None = None
    """That of the runs within a session."""
    p_weekday: float | None = None
    """That days of the week do not differ; None where that was not looked for."""


class HistoryLevel(msgspec.Struct, frozen=True, kw_only=True):
    """The history that a candidate is judged against: its sessions in order, and what held in them."""

    sessions: tuple[str, ...]
    changes: tuple[Change, ...]
    levels: tuple[CellLevel, ...]


def changes(
    history: Mapping[str, Sequence[float]], *, alpha: float = 0.05, seed: int = 2010
) -> tuple[Change, ...]:
    """Changes of level in each cell's values, in the order of the studies; `seed` gives the permutations.

    ValueError: a value that is not finite or not above 0. Cells of fewer than six studies have no change.
    """
    found: list[tuple[str, int, float, float]] = []
    for number, (cell, values) in enumerate(history.items()):
        logs = _logs(cell, values)
        rng = np.random.default_rng([seed, number])
        splits = sorted(_splits(logs, 0, alpha, rng))
        bounds = [0, *(at for at, _ in splits), len(logs)]
        for place, (at, p) in enumerate(splits, 1):
            before, after = logs[bounds[place - 1] : at], logs[at : bounds[place + 1]]
            found.append((cell, at, math.exp(float(after.mean() - before.mean())), p))
    adjusted = benjamini_hochberg([p for *_, p in found])
    rows = (Change(*row, p) for row, p in zip(found, adjusted, strict=True))
    return tuple(row for row in rows if row.p_adjusted <= alpha)


def levels(
    history: Mapping[str, Sequence[float]], names: Sequence[str], days: Sequence[int | None] = ()
) -> HistoryLevel:
    """The level that each cell holds at the end of its history.

    `history` has one value for each of `names`; `days` are their dates as days from any beginning, where known.
    ValueError as in :func:`changes`.
    """
    moved = changes(history, alpha=LEVEL_ALPHA)
    steps = {cell: [change.study for change in moved if change.cell == cell] for cell in history}
    logs = {cell: _logs(cell, values) for cell, values in history.items()}
    drifting = _drifts(logs, steps)
    steps = {cell: [] if cell in drifting else at for cell, at in steps.items()}
    last = {cell: logs[cell][at[-1] :] for cell, at in steps.items() if at}
    drifting |= {cell: (steps[cell][-1], *found[1:]) for cell, found in _drifts(last, {}).items()}
    found = []
    for cell, values in logs.items():
        weekday = _p_weekday(values, days)
        first = steps[cell][-1] if steps[cell] else 0
        if cell in drifting:
            first, change, p = drifting[cell]
            end = first + max(STUDIES_MIN, math.ceil((len(values) - first) / 3))
            found.append(
                CellLevel(cell=cell, first=first, end=end, drift=change, p_drift=p, p_weekday=weekday)
            )
        else:
            found.append(CellLevel(cell=cell, first=first, end=len(values), p_weekday=weekday))
    kept = tuple(change for change in moved if change.study in steps[change.cell])
    return HistoryLevel(sessions=tuple(names), changes=kept, levels=tuple(found))


def hold_level(
    samples: Sequence[Sample], titles: Mapping[int, tuple[str, int | None]]
) -> tuple[list[Sample], HistoryLevel]:
    """The samples of the sessions that hold the level of each test, and what the history says of itself.

    The sessions are in the order of their first samples; `titles` has the name of each, and its day where it is known.
    Tests that not every session measured keep all of their samples.
    """
    logs: dict[str, dict[int, list[float]]] = {}
    for sample in samples:
        if sample.metric in RATE_METRICS and sample.has_logarithm:
            logs.setdefault(sample.cell, {}).setdefault(sample.session, []).append(math.log(sample.value))
    order = list(dict.fromkeys(sample.session for sample in samples))
    means = {
        cell: [math.exp(fmean(own[session])) for session in order]
        for cell, own in logs.items()
        if len(own) == len(order)
    }
    named = [titles.get(session, (str(session), None)) for session in order]
    found = levels(means, [name for name, _ in named], [day for _, day in named])
    spread = [_with_spread(one, logs[one.cell], order) for one in found.levels]
    held = {one.cell: set(order[one.first : one.end]) for one in found.levels}
    kept = [sample for sample in samples if sample.session in held.get(sample.cell, order)]
    return kept, msgspec.structs.replace(found, levels=tuple(spread))


def _with_spread(level: CellLevel, logs: Mapping[int, list[float]], order: Sequence[int]) -> CellLevel:
    spread = spread_of([logs[session] for session in order[level.first : level.end]])
    deviations = math.sqrt(spread.between), math.sqrt(spread.within)
    return msgspec.structs.replace(level, between=deviations[0], within=deviations[1])


def level_caveats(level: HistoryLevel | None) -> list[Caveat]:
    """What a history says against its own level."""
    if level is None:
        return []
    found: list[Caveat] = []
    for change in level.changes:
        since = level.sessions[change.study]
        found.append(
            note("history-changed", tests=(change.cell,), ratio=change.ratio, since=since).of("baseline")
        )
    for one in level.levels:
        count = len(level.sessions) - one.first
        if one.drift is not None and one.p_drift is not None:
            figures = {"change": one.drift, "p": one.p_drift, "sessions": count, "used": one.end - one.first}
            found.append(limit("history-drifts", tests=(one.cell,), **figures).of("baseline"))
    weekdays = [one.p_weekday for one in level.levels]
    adjusted = holm([p for p in weekdays if p is not None])
    tests = [one.cell for one in level.levels if one.p_weekday is not None]
    weekly = tuple(cell for cell, p in zip(tests, adjusted, strict=True) if p <= WEEKDAY_ALPHA)
    if weekly:
        found.append(note("history-weekly", tests=weekly, p=min(adjusted)).of("baseline"))
    return found


def _logs(cell: str, values: Sequence[float]) -> Floats:
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError(f"{cell}: a history needs values that are finite and above 0")
    return np.log(np.asarray(values, dtype=np.float64))


def _drifts(
    logs: Mapping[str, Floats], steps: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, float, float]]:
    """The cells that drift from their first value on: 0, the change along the line, and p."""
    long = {cell: values for cell, values in logs.items() if len(values) >= DRIFT_MIN}
    p_values = holm([_p_trend(values) for values in long.values()])
    found = {}
    for (cell, values), p in zip(long.items(), p_values, strict=True):
        if p <= LEVEL_ALPHA and _is_line(values, steps.get(cell, ())):
            slope = float(np.polyfit(np.arange(len(values)), values, 1)[0])
            found[cell] = (0, math.expm1(slope * (len(values) - 1)), p)
    return found


def _p_trend(values: Floats) -> float:
    """Two-sided p of Spearman's rank correlation with the order, by Student's t."""
    count = len(values)
    ranks = values.argsort().argsort()
    rho = float(np.corrcoef(ranks, np.arange(count))[0, 1])
    rest = 1 - rho**2
    return t_two_sided(count - 2, rho * math.sqrt((count - 2) / rest)) if rest > 0 else 0.0


def _is_line(values: Floats, steps: Sequence[int]) -> bool:
    """Whether a straight line fits better than levels with these steps, by the Bayesian information criterion."""
    at = np.arange(len(values))
    line = float(((values - np.polyval(np.polyfit(at, values, 1), at)) ** 2).sum())
    bounds = [0, *steps, len(values)]
    flat = sum(
        float(((part - part.mean()) ** 2).sum()) for a, b in pairwise(bounds) for part in [values[a:b]]
    )
    if flat <= 0 or line <= 0:
        return line < flat
    figures = 2 * len(bounds) - 3
    return len(values) * math.log(line / flat) < (figures - 2) * math.log(len(values))


def _p_weekday(values: Floats, days: Sequence[int | None]) -> float | None:
    """The p that the days of the week do not differ (analysis of variance by random orders), from four weeks on."""
    known = [(day, value) for day, value in zip(days, values, strict=False) if day is not None]
    if len(known) < 7 * WEEKS_MIN or known[-1][0] - known[0][0] < 7 * WEEKS_MIN - 1:
        return None
    weekday = np.array([day % 7 for day, _ in known])
    rng = np.random.default_rng(2010)
    # A slow course is no week: the differences from the mean of the week around remain.
    series = np.array([value for _, value in known])
    series = series - np.convolve(np.pad(series, 3, mode="edge"), np.full(7, 1 / 7), mode="valid")

    def between(order: Floats) -> float:
        sums, counts = np.bincount(weekday, order, 7), np.bincount(weekday, minlength=7)
        return float((sums**2 / np.maximum(counts, 1)).sum())

    seen = between(series)
    larger = sum(between(rng.permutation(series)) >= seen for _ in range(PERMUTATIONS))
    return (larger + 1) / (PERMUTATIONS + 1)


def _splits(logs: Floats, start: int, alpha: float, rng: np.random.Generator) -> list[tuple[int, float]]:
    if len(logs) < 2 * STUDIES_MIN:
        return []
    distances = np.abs(logs[:, None] - logs[None, :])
    at, seen = _best_split(distances)
    larger = drawn = 0
    while drawn < PERMUTATIONS and larger < _ENOUGH:
        order = rng.permutation(len(logs))
        larger += _best_split(distances[np.ix_(order, order)])[1] >= seen
        drawn += 1
    p = (larger + 1) / (drawn + 1) if larger < _ENOUGH else larger / drawn
    if p > alpha:
        return []
    return [
        *_splits(logs[:at], start, alpha, rng),
        (start + at, p),
        *_splits(logs[at:], start + at, alpha, rng),
    ]


def _best_split(distances: Floats) -> tuple[int, float]:
    """The split with the largest scaled energy distance: (n m / (n + m)) (2 E|X-Y| - E|X-X'| - E|Y-Y'|)."""
    size = len(distances)
    total = distances.cumsum(axis=0).cumsum(axis=1)
    at = np.arange(STUDIES_MIN, size - STUDIES_MIN + 1)
    n, m = at.astype(np.float64), (size - at).astype(np.float64)
    inside_left = total[at - 1, at - 1]
    both = total[at - 1, -1]
    cross = both - inside_left
    inside_right = total[-1, -1] - 2 * both + inside_left
    within = inside_left / (n * (n - 1)) + inside_right / (m * (m - 1))
    energy = (n * m / (n + m)) * (2 * cross / (n * m) - within)
    best = int(energy.argmax())
    return int(at[best]), float(energy[best])
