"""Measure by simulation what sessions, copies, dependence, regimes and outliers do to verdicts.

Scope: made-up studies of one test in which nothing differs, unless a row says so, judged as real ones are. The spread
is a standard deviation between sessions, and between the runs of a session, of logarithms. Everything follows from the
seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from mileage.judge import Comparison, Sample, compare_arms
from mileage.judge.gate_rules import parse_rule, results_of
from mileage.judge.history import hold_level
from mileage.judge.repetition_check import FINDINGS
from mileage.judge.repetitions import two_regimes

BETWEEN = (0.0, 0.01, 0.02, 0.05)
WITHIN = (0.005, 0.02, 0.05)
SESSIONS = 6
HISTORY = 10
RUNS = 5
LEVEL = 5e8
"""Bytes per second."""
STEP = 1e3
"""In which values are printed: MB/s with three decimals."""
AUTOCORRELATIONS = (0.0, 0.5, 0.7, 0.9)
SERIES = 20

Floats = NDArray[np.float64]


class Row(msgspec.Struct, frozen=True):
    """How often something happened in the studies of a row, and the bounds that are promised."""

    name: str
    count: int
    total: int
    low: float
    high: float


def session_rows(studies: int, seed: int) -> Iterator[Row]:
    """Every row; each studies are drawn from the seed and the row's own number."""
    makers = [*_several(), *_gates(), *_one_each(), *_copies(), *_dependence(), *_regimes(), *_honest()]
    for number, (name, low, high, happened) in enumerate(makers):
        counts = (happened(np.random.default_rng([seed, 5, number, index])) for index in range(studies))
        yield Row(name, sum(counts), studies, low, high)


_Maker = tuple[str, float, float, Callable[[np.random.Generator], bool]]


def _several() -> Iterator[_Maker]:
    """Several sessions on both sides, between which nothing changed."""
    for ratio, words in ((1.0, ""), (2.0, ", one side twice as spread")):
        for between in BETWEEN:
            for within in WITHIN:

                def p_is_low(
                    rng: np.random.Generator,
                    spread: float = between,
                    noise: float = within,
                    more: float = ratio,
                ) -> bool:
                    low = _sessions(rng, SESSIONS, RUNS, spread, noise)
                    high = _sessions(rng, SESSIONS, RUNS, spread * more, noise * more)
                    p = _compare(low, high).cells[0].p_raw
                    return p is not None and p <= 0.05

                name = f"sessions {between:g}, runs {within:g}{words}: p below 5 %"
                yield name, 0.03, 0.07, p_is_low

    def unequal(rng: np.random.Generator) -> bool:
        low = _sessions(rng, 4, 3, 0.02, 0.01)
        found = _compare(low, _sessions(rng, 9, 8, 0.02, 0.01)).cells[0]
        return found.verdict in ("faster", "slower")

    yield "4 sessions of 3 runs, 9 of 8: faster or slower", 0.0, 0.07, unequal


def _gates() -> Iterator[_Maker]:
    """A session against a history of ten."""
    for between, within in ((0.02, 0.005), (0.01, 0.02), (0.0, 0.05)):
        deviation = math.sqrt(between**2 + within**2 / RUNS)
        for loss, low, high in ((0.0, 0.03, 0.07), (3.0, 0.80, 1.0)):

            def fails(
                rng: np.random.Generator,
                spread: float = between,
                noise: float = within,
                shift: float = -loss * deviation,
            ) -> bool:
                history = _sessions(rng, HISTORY, RUNS, spread, noise)
                return _gate(history, _sessions(rng, 1, RUNS, spread, noise, shift))

            what = "no change" if loss == 0 else "a loss of three deviations"
            yield f"gate, history, sessions {between:g}, runs {within:g}, {what}", low, high, fails


def _one_each() -> Iterator[_Maker]:
    def fails(rng: np.random.Generator) -> bool:
        found = _compare(*(_sessions(rng, 1, RUNS, 0.02, 0.005) for _ in range(2)))
        return _is_broken(found) or found.cells[0].verdict in ("faster", "slower")

    def finds(rng: np.random.Generator) -> bool:
        history = _sessions(rng, HISTORY, RUNS, 0.02, 0.005)
        candidate = _sessions(rng, 1, RUNS, 0.02, 0.005, math.log(0.7))
        return _gate(history, candidate)

    yield "one session each, spread 2 %: gate fails, faster or slower", 0.0, 0.07, fails
    yield "one session, history of ten: gate finds a loss of 30 %", 0.99, 1.0, finds


def _copies() -> Iterator[_Maker]:
    for originals, times, jitter in ((3, 4, 0.0), (10, 3, 0.0), (3, 10, 1e-4), (10, 3, 1e-4), (10, 3, 1e-3)):

        def covers(
            rng: np.random.Generator, few: int = originals, often: int = times, noise: float = jitter
        ) -> bool:
            sides = [np.tile(rng.normal(size=few) * 0.02, often) for _ in range(2)]
            return _covers(_compare_runs(*(side + noise * rng.normal(size=len(side)) for side in sides)))

        name = f"{originals} values {times} times, jitter {jitter:g}: covered or no interval"
        yield name, 0.90, 1.0, covers


def _dependence() -> Iterator[_Maker]:
    for phi, most in zip(AUTOCORRELATIONS, (0.07, 0.12, 0.08, 0.15), strict=True):

        def differs(rng: np.random.Generator, memory: float = phi) -> bool:
            found = _compare_runs(*(0.01 * _autoregression(rng, memory) for _ in range(2))).cells[0]
            return found.p_raw is not None and found.p_raw <= 0.05

        yield f"{SERIES} runs, autocorrelation {phi:g}: p below 5 %", 0.0, most, differs


def _regimes() -> Iterator[_Maker]:
    for count, smaller, apart in ((10, 3, 10.0), (30, 6, 8.0)):

        def named(rng: np.random.Generator, n: int = count, few: int = smaller, gap: float = apart) -> bool:
            values = rng.normal(size=n) * 0.01
            values[rng.permutation(n)[: int(rng.integers(few, n - few + 1))]] += gap * 0.01
            return two_regimes(list(_values(values))) is not None

        yield f"two regimes of {count} runs, {apart:g} deviations apart: named", 0.90, 1.0, named
    for name, draw in _DISTRIBUTIONS.items():

        def false(
            rng: np.random.Generator, make: Callable[[np.random.Generator, int], Floats] = draw
        ) -> bool:
            return two_regimes([*make(rng, 10)]) is not None

        yield f"10 {name} runs: two regimes named", 0.0, 0.03, false


def _honest() -> Iterator[_Maker]:
    def outlier(rng: np.random.Generator) -> bool:
        logs = rng.normal(size=RUNS) * 0.02
        logs[int(rng.integers(RUNS))] += math.log(10)
        found = _compare_runs(logs, rng.normal(size=RUNS) * 0.02)
        return found.has("one-outlier") and found.cells[0].verdict == "undecided"

    def touched(rng: np.random.Generator) -> bool:
        count = int(rng.choice([5, 10, 20, 30]))
        found = _compare_runs(*(rng.normal(size=count) * 0.02 for _ in range(2)))
        return any(found.has(code) for code in FINDINGS)

    yield "one run of ten times among five: named and undecided", 0.95, 1.0, outlier
    yield "independent runs: any finding", 0.0, 0.04, touched


_DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: LEVEL * (1 + 0.02 * rng.standard_normal(n)),
    "uniform": lambda rng, n: LEVEL * (1 + 0.02 * rng.random(n)),
    "log-normal": lambda rng, n: LEVEL * np.exp(rng.standard_normal(n)),
    "exponential": lambda rng, n: LEVEL * rng.exponential(size=n),
    "t(3)": lambda rng, n: LEVEL * (1 + 0.005 * rng.standard_t(3, size=n)),
}


def _autoregression(rng: np.random.Generator, phi: float) -> Floats:
    noise = rng.standard_normal(SERIES)
    noise[0] /= math.sqrt(1 - phi**2)
    for at in range(1, SERIES):
        noise[at] += phi * noise[at - 1]
    return noise


def _sessions(
    rng: np.random.Generator, sessions: int, runs: int, between: float, within: float, shift: float = 0.0
) -> list[Floats]:
    """The logarithms of the runs of each session, around 0."""
    return [
        shift + between * float(rng.normal()) + within * rng.standard_normal(runs) for _ in range(sessions)
    ]


def _values(logs: Floats) -> Floats:
    printed: Floats = np.round(LEVEL * np.exp(logs) / STEP) * STEP
    return printed


def _samples(sessions: Sequence[Floats], first: int) -> list[Sample]:
    """Samples of sessions with numbers from `first` on."""
    return [
        Sample(
            run=at,
            cycle=1,
            arm="torture",
            stage="measured",
            block=at + 1,
            measure="throughput",
            cell="test",
            metric="rate_bytes_per_s",
            value=float(value),
            higher_is_better=True,
            session=first + number,
        )
        for number, logs in enumerate(sessions)
        for at, value in enumerate(_values(logs))
    ]


def _compare(low: Sequence[Floats], high: Sequence[Floats]) -> Comparison:
    """Two sides without a margin, each in sessions of its own."""
    return _judge(_samples(low, 1), _samples(high, 1 + len(low)), worse_only=False)


def _compare_runs(low: Floats, high: Floats) -> Comparison:
    """Two sides of one session."""
    return _judge(_samples([low], 1), _samples([high], 1), worse_only=False)


def _judge(low: Sequence[Sample], high: Sequence[Sample], *, worse_only: bool) -> Comparison:
    return compare_arms(
        low,
        high,
        relevance={"throughput": 0.0},
        paired=False,
        labels=("A", "B"),
        simulated=False,
        worse_only=worse_only,
    )


def _gate(history: Sequence[Floats], candidate: Sequence[Floats]) -> bool:
    """Whether `slower` fails a session against the level of a history."""
    held, _ = hold_level(_samples(history, 1), {})
    return _is_broken(_judge(held, _samples(candidate, 1 + len(history)), worse_only=True))


def _is_broken(found: Comparison) -> bool:
    return any(result.outcome == "broken" for result in results_of(parse_rule("slower"), found))


def _covers(found: Comparison) -> bool:
    """Whether the interval holds no change, or there is none."""
    ends = found.cells[0].ci95
    return ends is None or ends[0] <= 1 <= ends[1]
