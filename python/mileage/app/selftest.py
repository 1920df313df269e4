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
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mileage._core import beta_quantile
from mileage.analysis.journal_reader import samples_of
from mileage.analysis.steady_state_checks import Courses, RunCourse, changing
from mileage.app.answer import planned_answer
from mileage.errors import Refused
from mileage.execute.cycle import entry_of
from mileage.execute.run import perform
from mileage.judge import Comparison, Sample, compare_arms
from mileage.judge.gate_rules import parse_rule, results_of
from mileage.judge.history import hold_level
from mileage.judge.rate_over_time import course
from mileage.judge.regimes import regimes
from mileage.judge.repetition_check import FINDINGS
from mileage.judge.repetitions import two_regimes
from mileage.model.run_record import RunRecord
from mileage.plan import Plan, Study, parse_study
from mileage.plan.resolver import resolve
from mileage.targets import parse_target
from mileage.targets.virtual import VirtualTarget

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
        low = 0.0 if self.count == 0 else beta_quantile(self.count, self.total - self.count + 1, alpha / 2)
        full = self.count == self.total
        high = 1.0 if full else beta_quantile(self.count + 1, self.total - self.count, 1 - alpha / 2)
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


# Test by simulation that a drifting target does not look like a difference between arms in the default order of runs.
# Scope: small studies of two arms in which nothing differs: one drive under two names, whose every run is slower
# than the one before by 2 % over ten runs, with noise between runs. The drift is in the target: plan, execution and
# judgement are those of any study and know nothing of it. Each study is judged once in the default order, and once with
# one arm after the other.
# Studies are done without a folder, so that a thousand take seconds.

DRIFT_PER_RUN: Final = 0.002
"""2 % over ten runs."""
NOISE: Final = 0.01
"""Standard deviation between runs, on the log scale."""
DRIVE: Final = "virtual:plain-64gib,blocks_per_plane=8,capacity_bytes=134217728"
"""A small drive: its speed is that of the large one."""

STUDY: Final = f"""
name = "order"
question = "Is a drive different from itself?"
target = "{DRIVE}"
[[stage]]
name = "measured"
measure = ["writes"]
[measure.writes]
workload = "iops.random_write"
record = "4KiB"
stop = {{ operations = 64 }}
repeat = 10
[factor.drive]
levels = {{ one = "{DRIVE}", other = "{DRIVE}" }}
[compare]
arms = "drive"
"""


class Drift:
    """Slow-down of the target so far, and its noise.

    Shared by all drives of a study, because all of them age with the same time.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._runs = 0

    def slower(self) -> float:
        """The factor on the time of the next run."""
        self._runs += 1
        return math.exp(DRIFT_PER_RUN * self._runs + float(self._rng.normal()) * NOISE)


class DriftingDrive:
    """A drive all of whose times are longer than they would be, more so with every run."""

    def __init__(self, drive: Any, drift: Drift) -> None:
        self._drive = drive
        self._drift = drift

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drive, name)

    def run(self, workload: str, poll: Any) -> str:
        """Run on the inner drive, then lengthen the times by the drift."""
        record = RunRecord.from_json(self._drive.run(workload, poll))
        factor = self._drift.slower()
        times = {
            key: round(getattr(record, key) * factor) for key in ("submit_ns", "durable_ns", "elapsed_ns")
        }
        return msgspec.json.encode(msgspec.structs.replace(record, **times)).decode()


def judged(study: Study, seed: int, rng: np.random.Generator) -> Comparison:
    """Plan, do and judge one study on a target that drifts."""
    plan = _planned(study, seed)
    drift = Drift(rng)
    return planned_answer(plan, _measured(plan, drift))


def _planned(study: Study, seed: int) -> Plan:
    return resolve(study, VirtualTarget(parse_target(DRIVE)).facts(), seed=seed)


def _measured(plan: Plan, drift: Drift) -> list[Sample]:
    from mileage import _core

    def drifting(profile: str) -> DriftingDrive:
        return DriftingDrive(_core.Drive(profile), drift)

    targets = {
        setting.instance: VirtualTarget(parse_target(setting.target), make_drive=drifting)
        for setting in plan.settings
    }
    samples: list[Sample] = []
    for run in plan.runs:
        target = targets[plan.setting_of(run).instance]
        record = perform(target, run, idle_ns=0, poll=lambda _bytes, _operations: False)
        samples += samples_of(entry_of(run, record, plan.setting_of(run)))
    return samples


def false_differences(studies: int, seed: int) -> Iterator[tuple[str, int]]:
    """For each order its name and the number of studies, of `studies`, in which an arm differed from itself."""
    for order in ("random", "blocked"):
        study = msgspec.structs.replace(parse_study(STUDY, "order"), order=order)
        found = 0
        for index in range(studies):
            rng = np.random.default_rng([seed, 3, index])
            (cell,) = judged(study, seed + index, rng).headline
            found += cell.p_adjusted is not None and cell.p_adjusted <= 0.05
        yield order, found


# Measure by simulation what the check of levels within runs prevents.
# False verdicts about arms with equal final levels and different beginnings.
# Scope: runs of drives that were measured before they were steady: a fresh level that differs from arm to arm, for a
# time that differs from run to run, and then a level that is the same in both. A verdict about the drives is false;
# one about the means of the runs is not, which is why no test of means can see it. Everything follows from the seed.

RUNS = 5
TRANSIENT_INTERVALS = 40
FRESH = (4.0, 6.0)
"""Level of a fresh drive over that where it stays, by arm."""
FRESH_SHARE = (0.3, 0.5)
"""Share of a run for which it is fresh, at least and at most."""
TRANSIENT_NOISE = 0.03
"""Between intervals, and between runs."""


def false_verdicts(studies: int, seed: int, *, transient: bool) -> tuple[int, int]:
    """Studies that call one arm faster, without and with the check that every run has one level."""
    plain = checked = 0
    for index in range(studies):
        rng = np.random.default_rng([seed, 3, int(transient), index])
        arms: list[list[Sample]] = [[], []]
        courses = Courses()
        for arm, fresh in enumerate(FRESH):
            for run in range(RUNS):
                level = np.exp(rng.normal() * TRANSIENT_NOISE)
                series = level * (1 + TRANSIENT_NOISE * rng.standard_normal(TRANSIENT_INTERVALS))
                if transient:
                    series[: int(TRANSIENT_INTERVALS * rng.uniform(*FRESH_SHARE))] *= fresh
                arms[arm].append(_transient_sample(run, float(series.mean())))
                courses.runs.append(RunCourse(f"arm {arm}", "measured", course(series.tolist()), ""))
        found = compare_arms(*arms, relevance={}, paired=False, labels=("A", "B"))
        false = found.cells[0].verdict in ("faster", "slower")
        plain += false
        checked += false and not changing(courses)
    return plain, checked


def _transient_sample(run: int, value: float) -> Sample:
    return Sample(
        run=run,
        cycle=1,
        arm="torture",
        stage="measured",
        block=run + 1,
        measure="iops",
        cell="random writes",
        metric="ops_per_s",
        value=value,
        higher_is_better=True,
    )


# Measure by simulation what sessions, copies, dependence, regimes and outliers do to verdicts.
# Scope: made-up studies of one test in which nothing differs, unless a row says so, judged as real ones are. The
# spread is a standard deviation between sessions, and between the runs of a session, of logarithms. Everything
# follows from the seed.

BETWEEN = (0.0, 0.01, 0.02, 0.05)
WITHIN = (0.005, 0.02, 0.05)
SESSIONS = 6
HISTORY = 10
SESSION_RUNS = 5
LEVEL = 5e8
"""Bytes per second."""
STEP = 1e3
"""In which values are printed: MB/s with three decimals."""
AUTOCORRELATIONS = (0.0, 0.5, 0.7, 0.9)
SERIES = 20


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
                    low = _session_series(rng, SESSIONS, SESSION_RUNS, spread, noise)
                    high = _session_series(rng, SESSIONS, SESSION_RUNS, spread * more, noise * more)
                    p = _compare(low, high).cells[0].p_raw
                    return p is not None and p <= 0.05

                name = f"sessions {between:g}, runs {within:g}{words}: p below 5 %"
                yield name, 0.03, 0.07, p_is_low

    def unequal(rng: np.random.Generator) -> bool:
        low = _session_series(rng, 4, 3, 0.02, 0.01)
        found = _compare(low, _session_series(rng, 9, 8, 0.02, 0.01)).cells[0]
        return found.verdict in ("faster", "slower")

    yield "4 sessions of 3 runs, 9 of 8: faster or slower", 0.0, 0.07, unequal


def _gates() -> Iterator[_Maker]:
    """A session against a history of ten."""
    for between, within in ((0.02, 0.005), (0.01, 0.02), (0.0, 0.05)):
        deviation = math.sqrt(between**2 + within**2 / SESSION_RUNS)
        for loss, low, high in ((0.0, 0.03, 0.07), (3.0, 0.80, 1.0)):

            def fails(
                rng: np.random.Generator,
                spread: float = between,
                noise: float = within,
                shift: float = -loss * deviation,
            ) -> bool:
                history = _session_series(rng, HISTORY, SESSION_RUNS, spread, noise)
                return _gate(history, _session_series(rng, 1, SESSION_RUNS, spread, noise, shift))

            what = "no change" if loss == 0 else "a loss of three deviations"
            yield f"gate, history, sessions {between:g}, runs {within:g}, {what}", low, high, fails


def _one_each() -> Iterator[_Maker]:
    def fails(rng: np.random.Generator) -> bool:
        found = _compare(*(_session_series(rng, 1, SESSION_RUNS, 0.02, 0.005) for _ in range(2)))
        return _is_broken(found) or found.cells[0].verdict in ("faster", "slower")

    def finds(rng: np.random.Generator) -> bool:
        history = _session_series(rng, HISTORY, SESSION_RUNS, 0.02, 0.005)
        candidate = _session_series(rng, 1, SESSION_RUNS, 0.02, 0.005, math.log(0.7))
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
        logs = rng.normal(size=SESSION_RUNS) * 0.02
        logs[int(rng.integers(SESSION_RUNS))] += math.log(10)
        found = _compare_runs(logs, rng.normal(size=SESSION_RUNS) * 0.02)
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


def _session_series(
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
