"""Measure the error rates of Mileage's own judgement on simulated data whose truth is known.

False alarms, coverage, cliffs found.

Scope: studies in which nothing differs (A/A) while the target drifts, compared exactly as a real study is, and
series with a cliff of known place and size; whole studies of one drive under two names that slows down, in the default
order and with one arm after the other; and arms that differ only before they are steady. Everything follows from one
seed. Each share is printed with its exact binomial interval (Clopper and Pearson 1934) and the bound that it has to
keep: a bound is broken when the whole interval lies outside it, widened for the number of rows. Refuses fewer studies
than a share needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv  # type: ignore[import-untyped, unused-ignore]

from mileage.app.order_proof import false_differences
from mileage.app.session_proof import session_rows
from mileage.app.transient_proof import false_verdicts
from mileage.errors import Refused
from mileage.judge import Comparison, Sample, compare_arms
from mileage.judge.regimes import regimes

STUDIES: Final = 1000
STUDIES_QUICK: Final = 200
STUDIES_MIN: Final = 50

BLOCKS: Final = 10
CELLS: Final = 12
CV: Final = 0.01
"""Noise between runs."""
DRIFT_PER_BLOCK: Final = 0.002
"""Drift of the target per run: 2 % over the ten runs of an arm; a block holds two runs."""
TRUE_RATIO: Final = 1.03
INTERVALS: Final = 300
SERIES_CV: Final = 0.03
ROWS_MAX: Final = 80
"""Rows that are judged together (Bonferroni)."""
MEMORY: Final = (0.0, 0.3, 0.6, 0.9)
"""Autocorrelations of neighbouring intervals."""

Floats = NDArray[np.float64]


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How often something happened; `low` and `high` are what is promised, `interval` holds 95 %."""

    name: str
    count: int
    total: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return self.count / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Exact binomial interval of 95 %."""
        return self._interval(0.05)

    def _interval(self, alpha: float) -> tuple[float, float]:
        low = (
            0.0 if self.count == 0 else float(betaincinv(self.count, self.total - self.count + 1, alpha / 2))
        )
        full = self.count == self.total
        high = 1.0 if full else float(betaincinv(self.count + 1, self.total - self.count, 1 - alpha / 2))
        return low, high

    @property
    def kept(self) -> bool:
        """Whether the share is compatible with the promised bounds: of all rows together wrong in 5 % of cases."""
        low, high = self._interval(0.05 / ROWS_MAX)
        return low <= self.high and high >= self.low


class SelfTest(msgspec.Struct, frozen=True, kw_only=True):
    """All shares of one self-test, and the seed that gives them again."""

    seed: int
    studies: int
    shares: tuple[Share, ...]

    @property
    def kept(self) -> bool:
        """True when every measured error rate is statistically compatible with its promised bound."""
        return all(share.kept for share in self.shares)


def selftest(
    *, studies: int = STUDIES, seed: int = 2010, on_share: Callable[[Share], None] | None = None
) -> SelfTest:
    """Judge `studies` (50 or more) made-up studies, and as many series of each kind.

    `on_share` receives each share as soon as it is known. Raises Refused for fewer studies.
    """
    if studies < STUDIES_MIN:
        raise Refused(
            f"{studies} studies",
            expected=f"{STUDIES_MIN} or more, or no share can be estimated",
            code="too-few",
        )
    shares: list[Share] = []
    cases = (_comparisons, _orders, _transients, _cliffs, _sessions)
    for share in chain.from_iterable(case(studies, seed) for case in cases):
        shares.append(share)
        if on_share is not None:
            on_share(share)
    return SelfTest(seed=seed, studies=studies, shares=tuple(shares))


def _comparisons(studies: int, seed: int) -> Iterator[Share]:
    """A/A studies in random order within blocks: false alarms as they are and corrected; coverage of a truth."""
    raw = corrected = covered = cells = 0
    for index in range(studies):
        rng = np.random.default_rng([seed, 1, index])
        same = _study(rng, 1.0)
        raw += sum(cell.p_raw is not None and cell.p_raw <= 0.05 for cell in same.cells)
        corrected += any(cell.p_bh is not None and cell.p_bh <= 0.05 for cell in same.cells)
        moved = _study(rng, TRUE_RATIO)
        intervals = [cell.ci95 for cell in moved.cells if cell.ci95 is not None]
        covered += sum(low <= TRUE_RATIO <= high for low, high in intervals)
        cells += len(same.cells)
    yield Share(name="false alarms, one test at 5 %", count=raw, total=cells, low=0.03, high=0.07)
    yield Share(
        name=f"studies with any, of {CELLS} cells corrected",
        count=corrected,
        total=studies,
        low=0.0,
        high=0.05,
    )
    yield Share(name="95 % intervals that hold the truth", count=covered, total=cells, low=0.93, high=0.97)


def _orders(studies: int, seed: int) -> Iterator[Share]:
    """Whole studies, planned and done, on a drive that slows down: what the order of the runs does about it."""
    names = {
        "random": ("drifting drive, default order: differs", 0.03, 0.07),
        "blocked": ("the same, one arm after the other", 0.50, 1.0),
    }
    for order, count in false_differences(studies, seed):
        name, low, high = names[order]
        yield Share(name=name, count=count, total=studies, low=low, high=high)


def _transients(studies: int, seed: int) -> Iterator[Share]:
    """Arms that end at one level and begin at others, twice as many studies: verdicts without and with the check."""
    total = 2 * studies
    plain, checked = false_verdicts(total, seed, transient=True)
    yield Share(name="transients in both arms: false verdicts", count=plain, total=total, low=0.5, high=1.0)
    yield Share(name="the same, levels within runs checked", count=checked, total=total, low=0.0, high=0.05)
    _, steady = false_verdicts(total, seed, transient=False)
    yield Share(name="no transient, checked: false verdicts", count=steady, total=total, low=0.0, high=0.05)


def _sessions(studies: int, seed: int) -> Iterator[Share]:
    """Sessions, histories and repetitions that are not what they seem."""
    for row in session_rows(studies, seed):
        yield Share(name=row.name, count=row.count, total=row.total, low=row.low, high=row.high)


def _study(rng: np.random.Generator, ratio: float) -> Comparison:
    """Two arms of `BLOCKS` paired runs in random order within each block, on a target that slows all the while."""
    a: list[Sample] = []
    b: list[Sample] = []
    for cell in range(CELLS):
        for block in range(BLOCKS):
            first = int(rng.integers(2))
            for place in range(2):
                slowed = math.exp(-DRIFT_PER_BLOCK * (2 * block + place))
                value = 1e8 * slowed * math.exp(rng.normal() * CV)
                if place == first:
                    a.append(_sample(cell, block, value))
                else:
                    b.append(_sample(cell, block, value * ratio))
    return compare_arms(a, b, relevance={"throughput": 0.02}, paired=True, labels=("A", "B"))


def _sample(cell: int, block: int, value: float) -> Sample:
    return Sample(
        run=0,
        cycle=1,
        arm="torture",
        stage="before",
        block=block + 1,
        measure="throughput",
        cell=f"cell {cell}",
        metric="rate_bytes_per_s",
        value=value,
        higher_is_better=True,
    )


def _cliffs(studies: int, seed: int) -> Iterator[Share]:
    """Series of 300 intervals: steady, and with a fall of 40 % or 10 % at a random place."""
    for memory in MEMORY:
        false = deep = shallow = 0
        for index in range(studies):
            rng = np.random.default_rng([seed, 2, round(10 * memory), index])
            series = 1 + _noise(rng, memory)
            false += regimes(series).kind != "flat"
            cut = int(rng.integers(INTERVALS // 10, INTERVALS - INTERVALS // 10))
            deep += _found(series, cut, 0.6, within=3)
            shallow += _found(series, cut, 0.9, within=6)
        at = f"memory {memory:g}"
        yield Share(
            name=f"{at}: steady series not called flat", count=false, total=studies, low=0.0, high=0.01
        )
        yield Share(name=f"{at}: -40 % within 3 intervals", count=deep, total=studies, low=0.99, high=1.0)
        yield Share(name=f"{at}: -10 % within 6 intervals", count=shallow, total=studies, low=0.90, high=1.0)


def _found(series: Floats, cut: int, ratio: float, *, within: int) -> bool:
    fallen = series.copy()
    fallen[cut:] *= ratio
    return any(abs(found - cut) <= within for found in regimes(fallen).cuts)


def _noise(rng: np.random.Generator, memory: float) -> Floats:
    """A stationary first-order autoregression of standard deviation `SERIES_CV`."""
    shocks = rng.normal(size=INTERVALS) * SERIES_CV
    shocks[1:] *= math.sqrt(1 - memory**2)
    series = shocks.tolist()
    for i in range(1, INTERVALS):
        series[i] += memory * series[i - 1]
    return np.asarray(series)
