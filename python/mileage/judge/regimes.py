"""Regimes inside one run: at which interval the level changed, and what kind of run that makes it.

Scope: a rate per interval as levels that jump, with noise that remembers (a first-order autoregression).
Candidates are the cuts that minimise squared error plus a light penalty of 2 ln n per cut, found exactly
(optimal partitioning, Jackson et al. 2005), with the noise's scale from the median absolute difference of
neighbours. Autocorrelated noise makes many of them; so each must hold among the others by generalised least
squares: the weakest is taken out until every squared t is above 5 ln n, the autocorrelation phi being taken anew
each time from the residuals inside the segments. Without phi, an autocorrelation of 0.3 alone makes three of four
steady series look cut. The search is our own since it is 30 lines and takes 7 ms for 300 intervals; the library that
has it takes more than a second to load.
A cut is kept when the two levels next to it differ by more than `relevance`.
Refuses series in which a cut cannot be separated from noise: fewer than two segments' worth of intervals.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

Kind = Literal["flat", "warm-up", "cliff", "sawtooth", "drift", "multi-regime", "too short"]

SEGMENT_MIN: Final = 12
"""Intervals of the shortest segment."""
RELEVANCE: Final = 0.05
"""Smallest relative change of level that counts as another regime."""

_PENALTY_FIRST: Final = 2.0
_PENALTY: Final = 5.0
_HOPELESS: Final = 4.0
_PHI_MAX: Final = 0.97
_MAD_TO_SD: Final = 1.4826
_WARM_UP_SHARE: Final = 0.5

Floats = NDArray[np.float64]


class Segment(msgspec.Struct, frozen=True):
    """Intervals `start` (included) to `end` (excluded) and their mean level, in the unit of the series."""

    start: int
    end: int
    level: float


class Regimes(msgspec.Struct, frozen=True, kw_only=True):
    """Segments of constant rate in a time series. `phi`: autocorrelation at lag 1; `sd`: noise within segments."""

    kind: Kind
    segments: tuple[Segment, ...]
    phi: float
    sd: float

    @property
    def cuts(self) -> tuple[int, ...]:
        """First interval of each regime after the first."""
        return tuple(segment.start for segment in self.segments[1:])


def mean_of(series: Floats) -> float:
    """The mean of one value or more: of short series the method `mean` takes several times as long as a sum."""
    return float(np.add.reduce(series)) / len(series)


def regimes(values: Sequence[float] | Floats, *, relevance: float = RELEVANCE) -> Regimes:
    """The regimes of a series of rates, one per interval of equal length, all finite and at least 0.

    `relevance` is the smallest relative change of level that is reported (0.05 = 5 %).
    ValueError: a value that is negative or not finite, or a relevance that is not above 0.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1 or not np.isfinite(series).all() or (series < 0).any():
        raise ValueError("a series of rates must be finite and at least 0 in every interval")
    if not 0 < relevance < math.inf:
        raise ValueError(f"relevance is {relevance}; expected a relative change such as 0.05")
    if len(series) < 2 * SEGMENT_MIN:
        whole = (Segment(0, len(series), mean_of(series)),) if len(series) else ()
        return Regimes(kind="too short", segments=whole, phi=0.0, sd=0.0)
    cuts, phi, sd = _search(series)
    bounds = _relevant(series, [0, *cuts, len(series)], relevance)
    segments = tuple(Segment(a, b, mean_of(series[a:b])) for a, b in pairwise(bounds))
    kind = _kind(series, segments, phi, relevance)
    if kind == "drift":
        segments = (Segment(0, len(series), mean_of(series)),)
    return Regimes(kind=kind, segments=segments, phi=phi, sd=sd)


def _search(series: Floats) -> tuple[list[int], float, float]:
    """Cuts, autocorrelation and noise that agree with each other."""
    n = len(series)
    steps = np.abs(np.diff(series))
    sd = _MAD_TO_SD * float(np.median(steps)) / math.sqrt(2)
    cuts = _partition(series, _PENALTY_FIRST * math.log(n) * sd**2)
    phi, sd = _noise(series, cuts)
    while cuts:
        strengths, phi, sd = _strengths(series, cuts)
        if min(strengths) > _PENALTY * math.log(n):
            break
        least = min(range(len(cuts)), key=strengths.__getitem__)
        hopeless = [cut for cut, strength in zip(cuts, strengths, strict=True) if strength < _HOPELESS]
        cuts = [cut for cut in cuts if cut not in hopeless and cut != cuts[least]]
    return cuts, phi, sd


def _strengths(series: Floats, cuts: Sequence[int]) -> tuple[list[float], float, float]:
    """Squared t of each cut's step among the others, by generalised least squares; phi and noise.

    Series and steps are whitened by x(t) - phi x(t - 1): a step then is a spike of its full size followed by
    (1 - phi) of it, which slow noise cannot imitate.
    """
    phi, sd = _noise(series, cuts)
    if sd <= 0:
        return [math.inf] * len(cuts), phi, sd
    design = np.zeros((len(series), len(cuts) + 1))
    design[:, 0] = 1 - phi
    for column, cut in enumerate(cuts, 1):
        design[cut, column] = 1
        design[cut + 1 :, column] = 1 - phi
    whitened = series.copy()
    whitened[1:] -= phi * series[:-1]
    first = math.sqrt(1 - phi**2)
    design[0], whitened[0] = design[0] * first / (1 - phi), series[0] * first
    normal = np.linalg.inv(design.T @ design)
    figures = normal @ (design.T @ whitened)
    rest = whitened - design @ figures
    variance = float(rest @ rest) / max(len(series) - len(figures) - 1, 1)
    return [float(f * f / (variance * normal[i, i])) for i, f in enumerate(figures) if i], phi, sd


def _partition(series: Floats, penalty: float) -> list[int]:
    """The cuts that minimise squared error + penalty x cuts, segments of at least `SEGMENT_MIN` intervals."""
    n = len(series)
    centred = series - mean_of(series)
    total = np.concatenate(([0.0], np.cumsum(centred)))
    squares = [0.0, *np.cumsum(centred**2).tolist()]
    # Of each end the least cost less the square up to it, as every later end needs it.
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    last = [0] * (n + 1)
    counts = np.arange(n, -1, -1, dtype=np.float64)
    for end in range(SEGMENT_MIN, n + 1):
        until = end - SEGMENT_MIN + 1
        sums = total[end] - total[:until]
        sums *= sums
        sums /= counts[n - end : n - end + until]
        cost = best[:until] - sums
        start = last[end] = int(cost.argmin())
        best[end] = float(cost[start]) + squares[end] + penalty - squares[end]
    cuts: list[int] = []
    end = last[n]
    while end > 0:
        cuts.append(end)
        end = last[end]
    return cuts[::-1]


def _noise(series: Floats, cuts: Sequence[int]) -> tuple[float, float]:
    """Autocorrelation of neighbours and standard deviation inside the segments.

    The mean of a segment that is taken out pulls the autocorrelation down by about (1 + 3 phi) per interval of
    the segment (Marriott and Pope 1954); it is put back before use.
    """
    bounds = [0, *cuts, len(series)]
    residuals = [series[a:b] - mean_of(series[a:b]) for a, b in pairwise(bounds)]
    squares = sum(float(r @ r) for r in residuals)
    if squares <= 0:
        return 0.0, 0.0
    products = sum(float(r[1:] @ r[:-1]) for r in residuals)
    share = len(residuals) / len(series)
    phi = (products / squares + share) / max(1 - 3 * share, 0.25)
    variance = squares / max(len(series) - len(residuals), 1)
    return min(max(phi, 0.0), _PHI_MAX), math.sqrt(variance)


def _relevant(series: Floats, bounds: list[int], relevance: float) -> list[int]:
    """The bounds without those whose two levels differ too little, the least different taken out first."""
    bounds = list(bounds)
    while len(bounds) > 2:
        levels = [mean_of(series[a:b]) for a, b in pairwise(bounds)]
        sizes = [_change(a, b) for a, b in pairwise(levels)]
        least = min(range(len(sizes)), key=sizes.__getitem__)
        if sizes[least] >= math.log1p(relevance):
            break
        del bounds[least + 1]
    return bounds


def _change(a: float, b: float) -> float:
    """Distance of two levels on the log scale; endless from or to zero."""
    if a == b:
        return 0.0
    return abs(math.log(b / a)) if a > 0 and b > 0 else math.inf


def _kind(series: Floats, segments: Sequence[Segment], phi: float, relevance: float) -> Kind:
    levels = [segment.level for segment in segments]
    rises = [b > a for a, b in pairwise(levels)]
    if _drifts(series, segments, phi, relevance):
        return "drift"
    if not rises:
        return "flat"
    if len(rises) == 1:
        short = segments[0].end <= _WARM_UP_SHARE * len(series)
        return ("warm-up" if short else "multi-regime") if rises[0] else "cliff"
    if len(rises) >= 3 and all(a != b for a, b in pairwise(rises)):
        return "sawtooth"
    return "multi-regime"


def _drifts(series: Floats, segments: Sequence[Segment], phi: float, relevance: float) -> bool:
    """Whether a straight line with a relevant slope fits the series better than its levels do.

    The line has two figures, k levels have 2k - 1; they are weighed by BIC with the noise's long-run variance.
    """
    n = len(series)
    time = np.arange(n) - (n - 1) / 2
    slope = float(time @ series) / float(time @ time)
    mean = mean_of(series)
    if mean <= 0 or abs(slope) * (n - 1) / mean < math.log1p(relevance):
        return False
    line = float(((series - mean - slope * time) ** 2).sum())
    steps = sum(float(((series[s.start : s.end] - s.level) ** 2).sum()) for s in segments)
    if steps <= 0:
        return False
    inflation = (1 + phi) / (1 - phi)
    figures = 2 * len(segments) - 1
    if len(segments) == 1:
        # Any line fits noise better than a flat level does: it must gain more than a change of level must.
        return (steps - line) / max(line, 1e-300) * (n - 2) > _PENALTY * math.log(n) * inflation
    return line < steps and n * math.log(line / steps) / inflation < (figures - 2) * math.log(n)
