"""From samples to a judged table: families, adjusted p values and one verdict per cell and metric.

Two families, as declared here and nowhere else: the headline (one rate per cell: bytes per second for
throughput, operations per second for iops; commit times where commits were timed) is corrected by Holm; the grid
(every cell and metric, latency included) by Benjamini-Hochberg. A headline cell is judged by its Holm p, every other by
its BH p.
Refuses nothing that a study can hold: a cell that cannot be tested is undecided, stays out of the families,
and its note says why. ValueError is for misuse by the caller only.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

import msgspec

from mileage.judge.correction import benjamini_hochberg, holm
from mileage.judge.evidence import (
    Evidence,
    Unit,
    complete_cycles,
    of_independent,
    of_pairs,
    of_sessions,
    of_stages,
    with_known_spread,
)
from mileage.judge.history import HistoryLevel
from mileage.judge.mean_over_cells import MeanRatio, mean_ratio
from mileage.judge.model_band import ModelBand
from mileage.judge.ratio import Estimate, exp
from mileage.judge.repetition_check import examined, of_whole
from mileage.judge.rules import PrintedFigures
from mileage.judge.samples import RATE_METRICS, SHAM, TORTURE, Sample, by_cell, check_unique
from mileage.judge.sessions import SPREAD_MIN
from mileage.judge.standings import CellStandings
from mileage.judge.summary import superiority
from mileage.judge.verdict import Verdict, decide, relevance_of
from mileage.model.caveat import BOTH, Caveat, Side, limit, note, veto
from mileage.model.metrics import METRICS

Interval = tuple[float, float]

RESAMPLING_SEED: Final = 1
"""From which blocks are drawn for the interval of the mean ratio, so that a report is the same each time."""
HEADLINE_METRICS: Final = RATE_METRICS
COMMIT_METRICS: Final = tuple(row.figure for row in METRICS.values() if row.latency == "commit")
HEADLINE_OF_MEASURE: Final[Mapping[str, str]] = {
    "throughput": "rate_bytes_per_s",
    "iops": "ops_per_s",
    "time": "elapsed_s",
}


class CutLoss(msgspec.Struct, frozen=True):
    """What the power cuts after the runs of one cell lost."""

    cuts: int
    lost: int
    """Writes that are missing after them."""
    of: int | None = None
    """Synced writes that must not be lost; None where a drive only knows which writes it lost."""


class CellVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one metric of one cell, which is a workload at one record size, thread count and queue depth.

    No field is ever NaN or infinite: None means not available. In a study with torture, some cycles wear the drive out
    (the torture arm) and some only wait as long (the sham arm). `ratio` is candidate over baseline, divided by the
    same ratio of the sham arm; `ci95` and `ci90` are its confidence intervals. Means are geometric, of the torture
    arm. `unit_ratios` has one ratio per unit of inference with the sham removed (unpaired: each candidate run over
    the baseline's mean); their geometric mean is `ratio`. `n_*` and `values_*` are the raw runs of the torture arm,
    `units_*` the units of inference (runs, blocks or cycles) behind this cell.
    `p_holm` is None outside the cells that the study is about (its headline). `mde` is the smallest relative change
    seen with 80 % power (0.05 = 5 %). `p_exact` is the permutation p where one can be counted; `depends_on_method`
    says that it and `p_raw` fall on different sides of alpha. `superiority` is the chance that a run of the candidate
    is better than one of the baseline (0.5: neither), of the torture arm.
    """

    cell: str
    measure: str
    metric: str
    higher_is_better: bool
    ratio: float | None
    ci95: Interval | None
    ci90: Interval | None
    p_raw: float | None
    p_holm: float | None
    p_bh: float | None
    verdict: Verdict
    relevance: float
    n_baseline: int
    n_candidate: int
    units_baseline: int
    units_candidate: int
    unit_ratios: tuple[float, ...]
    mean_baseline: float | None
    mean_candidate: float | None
    values_baseline: tuple[float, ...]
    values_candidate: tuple[float, ...]
    sham_ratio: float | None
    mde: float | None
    p_exact: float | None
    depends_on_method: bool
    caveats: tuple[Caveat, ...]
    superiority: float | None = None
    printed: PrintedFigures | None = None
    """What a table prints of it, where no runs are known."""

    @property
    def p_adjusted(self) -> float | None:
        """The p that the verdict rests on: Holm in the headline, Benjamini-Hochberg elsewhere."""
        return self.p_bh if self.p_holm is None else self.p_holm


class Work(msgspec.Struct, frozen=True):
    """What a cell does, where that is one plain thing: blocks of one size, read or written in one order."""

    direction: Literal["read", "write"]
    record_bytes: int
    order: Literal["sequential", "random"]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All cells of one question, as facts; `mileage.report` has the words.

    `units_*` is the largest number of units that a cell had in each arm. `caveats` are what stands against a conclusion
    (it vetoes) or limits it; they change no verdict. `descriptive` marks a comparison whose unit is not the one
    that would have to be repeated.
    """

    kind: Literal["stages", "arms"]
    baseline: str
    candidate: str
    descriptive: bool = False
    unit: Unit = "run"
    units_baseline: int = 0
    units_candidate: int = 0
    sham_removed: bool = False
    alpha: float = 0.05
    cells: tuple[CellVerdict, ...] = ()
    headline: tuple[CellVerdict, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    tortured: bool = True
    """Whether the target was worn between the two stages."""
    is_printed: bool = False
    """Whether it was judged from printed means and deviations, the runs taken as log-normal."""
    overall: MeanRatio | None = None
    """The headline's cells together; None for fewer than two, or where they do not share their units."""
    only_baseline: tuple[str, ...] = ()
    """Cells that the baseline measured and the candidate did not: not compared."""
    only_candidate: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """Cells that the candidate calls otherwise and that mean the same: its label, and the baseline's."""
    classes: tuple[str, str] = ("", "")
    """The class of the baseline's and of the candidate's device, such as "SLC" and "TLC"; empty: not known."""
    differs: tuple[tuple[str, str], ...] = ()
    """What differs between two studies, of the baseline and of the candidate: target, file system, version, date."""
    subject: Literal["drive", "file system", "file"] = "drive"
    """The object that both stages measured."""
    between: tuple[str, ...] = ()
    """The stages between the two."""
    wear_bytes: int | None = None
    """The bytes written between the two stages; None: not known for certain."""
    wear_order: str = ""
    """"sequential" or "random"; empty: mixed, or not known."""
    work: dict[str, Work] = {}
    """What each cell does, for cells of which that is one plain thing that no other cell does."""
    cut_losses: dict[str, tuple[CutLoss, CutLoss]] = {}
    """What power cuts lost in each cell that was cut, of the baseline and of the candidate."""
    groups: dict[str, MeanRatio] = {}
    """Combined ratio of the headline cells of each workload.

    Empty where the workloads are not known, or `overall` is None.
    """
    factor: str = ""
    """The factor whose levels are compared; empty where there is none."""
    standings: tuple[CellStandings, ...] = ()
    """All levels of the factor by cell, where there are more than two."""
    sessions: tuple[int, int] = (0, 0)
    """The sessions in which the baseline and the candidate were measured; 0 for a simulation, and where not known."""
    history: HistoryLevel | None = None
    """How the sessions of the baseline went, where the candidate was judged against a history."""
    band: ModelBand | None = None
    """On a virtual drive, the same comparison over choices that are not published; None where none was tried."""

    @property
    def vetoes(self) -> tuple[Caveat, ...]:
        """The caveats for which nothing may be concluded."""
        return tuple(caveat for caveat in self.caveats if caveat.is_veto)

    @property
    def family(self) -> tuple[CellVerdict, ...]:
        """The cells that the verdict is about: the headline, or every cell where none is declared."""
        return self.headline or self.cells

    @property
    def beyond(self) -> tuple[CellVerdict, ...]:
        """The other cells, such as latencies."""
        return tuple(cell for cell in self.cells if cell not in self.family)

    def has(self, code: str) -> bool:
        """Whether a caveat with this code is among those of the whole."""
        return any(caveat.code == code for caveat in self.caveats)

    @property
    def simulated(self) -> bool:
        """Whether a side is a model, so that an interval says nothing of how well it is modelled."""
        return self.has("simulated")


def compare_stages(
    samples: Sequence[Sample],
    *,
    baseline: str,
    candidate: str,
    relevance: Mapping[str, float],
    alpha: float = 0.05,
    caveats: Sequence[Caveat] = (),
    tortured: bool = True,
    simulated: bool = True,
    fixed_rate: Collection[str] = (),
) -> Comparison:
    """Judge stage `candidate` against stage `baseline` of one study; samples of other stages are ignored.

    With two or more complete cycles the unit is the cycle: t on the cycles' log ratios, each minus the sham
    arm's in the same cycle (df = cycles - 1); if sham and torture cycles do not match one to one, the two
    arms' log ratios are compared as groups of common variance. With one cycle the unit is the run: Welch on
    logs, the sham's change subtracted with its own variance, and the comparison is descriptive.

    `tortured` says whether there was torture between them, for the words alone. `simulated`: the runs were made by a
    deterministic drive, where equal values mean that there is no spread. `relevance` maps "throughput",
    "iops", "p99" to a relative change (0.02 = 2 %); a missing one takes the default. `fixed_rate`: the cells whose rate
    the load set on both sides, of which the latency is the headline.
    ValueError: equal or empty stage names, an unknown arm, a row twice, alpha outside (0, 0.5).
    """
    _check_question(baseline, candidate, alpha)
    for sample in samples:
        if sample.arm not in (TORTURE, SHAM):
            raise ValueError(f"arm {sample.arm!r}: expected {TORTURE!r} or {SHAM!r}")
    used = [s for s in samples if s.stage in (baseline, candidate)]
    check_unique(used)
    # A cycle without one of the two stages has no ratio; half a cycle would mix what the missing half has against it.
    cycles = complete_cycles(used, baseline, candidate)
    sham = any(s.arm == SHAM and (len(cycles) > 1 or s.cycle in cycles) for s in used)
    evidence = [of_stages(group, baseline, candidate, cycles, sham) for group in by_cell(used)]
    few = {0: (limit("no-complete-cycle"),), 1: (limit("one-cycle"),)}
    low, high = ([s for s in used if (s.stage, s.arm) == (name, TORTURE)] for name in (baseline, candidate))
    asked = Comparison(
        kind="stages",
        baseline=baseline,
        candidate=candidate,
        descriptive=len(cycles) < 2,
        unit="cycle" if len(cycles) > 1 else "run",
        sham_removed=sham,
        alpha=alpha,
        caveats=(*caveats, *few.get(len(cycles), ())),
        tortured=tortured,
        only_baseline=cells_without(low, high),
        only_candidate=cells_without(high, low),
    )
    return judged(asked, evidence, relevance, simulated=simulated, fixed_rate=fixed_rate)


def compare_arms(
    a: Sequence[Sample],
    b: Sequence[Sample],
    *,
    relevance: Mapping[str, float],
    paired: bool,
    labels: tuple[str, str],
    alpha: float = 0.05,
    caveats: Sequence[Caveat] = (),
    simulated: bool = True,
    fixed_rate: Collection[str] = (),
    history: Sequence[Sample] = (),
    worse_only: bool = False,
) -> Comparison:
    """Judge arm `b` (candidate) against arm `a` (baseline), each the samples of one stage and one arm.

    `paired`: runs with the same cycle and block were made together; t on the blocks' log ratios. Otherwise
    Welch on logs: of the sessions' means where the two were measured in sessions of their own (`judge.sessions`), of
    the cycles' means where both arms have two or more cycles, since runs within a cycle are not independent, or of the
    runs. `labels` names the two. `history`: samples of other sessions, which show the spread between sessions; without
    them one session on each side only describes. `worse_only`: whether the candidate is worse is asked one-sided.
    `relevance` and `simulated` as in `compare_stages`.
    ValueError: an arm that mixes stages or arms, a row twice, equal or empty labels, alpha outside (0, 0.5).
    """
    _check_question(*labels, alpha)
    for label, arm in zip(labels, (a, b), strict=True):
        if len(kinds := {(s.arm, s.stage) for s in arm}) > 1:
            raise ValueError(f"{label} mixes {sorted(kinds)}: choose the samples of one arm and one stage")
        check_unique(arm)
    # Runs of one cycle share its state and are not independent, so the cycle is the unit as soon as both arms repeat
    # it.
    several = all(len({s.cycle for s in arm}) > 1 for arm in (a, b))
    unit: Unit = "block" if paired else "cycle" if several else "run"
    sessions = [{s.session for s in arm} for arm in (a, b)]
    alone = () if paired else _alone(sessions, history)
    if not paired and not alone and _are_apart(sessions):
        unit = "session"
    cells_a, cells_b = ({(g[0].cell, g[0].metric): g for g in by_cell(arm)} for arm in (a, b))
    past = {(g[0].cell, g[0].metric): g for g in by_cell(history)}
    evidence = []
    for group in by_cell([*a, *b]):
        key = (group[0].cell, group[0].metric)
        low, high = cells_a.get(key, []), cells_b.get(key, [])
        if unit == "session":
            evidence.append(of_sessions(low, high, past.get(key, [])))
        else:
            evidence.append(of_pairs(low, high) if paired else of_independent(low, high, unit))
    asked = Comparison(
        kind="arms",
        baseline=labels[0],
        candidate=labels[1],
        descriptive=bool(alone),
        unit=unit,
        alpha=alpha,
        caveats=(*caveats, *_session_caveats(alone, unit, sessions, history)),
        tortured=False,
        sessions=(len(sessions[0] - {0}), len(sessions[1] - {0})),
        only_baseline=cells_without(a, b),
        only_candidate=cells_without(b, a),
    )
    return judged(
        asked, evidence, relevance, simulated=simulated, fixed_rate=fixed_rate, worse_only=worse_only
    )


def cells_without(arm: Sequence[Sample], other: Sequence[Sample]) -> tuple[str, ...]:
    """The cells that an arm measured and the other did not."""
    return tuple(sorted({s.cell for s in arm} - {s.cell for s in other}))


def _are_apart(sessions: Sequence[set[int]]) -> bool:
    """Whether two arms were measured in different sessions; simulations (session 0) are not."""
    low, high = sessions
    return low | high != {0} and not (low == high and len(low) == 1)


def _alone(sessions: Sequence[set[int]], history: Sequence[Sample]) -> tuple[Side, ...]:
    """The sides of one session each that nothing shows the spread of: no second session, no history."""
    if not _are_apart(sessions) or len({s.session for s in history}) >= SPREAD_MIN:
        return ()
    if any(len(own - {0}) > 1 for own in sessions):
        return ()
    return tuple(side for side, own in zip(BOTH, sessions, strict=True) if own != {0})


def _session_caveats(
    alone: tuple[Side, ...], unit: Unit, sessions: Sequence[set[int]], history: Sequence[Sample]
) -> list[Caveat]:
    """That nothing shows the spread between sessions, or what does for one session on each side."""
    if alone:
        return [veto("one-session").of(*alone)]
    if unit == "session" and max(map(len, sessions)) == 1:
        return [note("session-spread", sessions=len({s.session for s in history}))]
    return []


def judged(
    asked: Comparison,
    evidence: Sequence[Evidence],
    relevance: Mapping[str, float],
    *,
    simulated: bool = False,
    fixed_rate: Collection[str] = (),
    worse_only: bool = False,
    has_headline: bool = True,
) -> Comparison:
    """The comparison that is asked for with a verdict on every test, p values corrected for multiple tests.

    `has_headline`: False where no test is what is asked about first, so that all are corrected together. Unless it is
    `simulated`, equal values of a rate are no spread of zero; latencies are those of a histogram, whose buckets runs
    share.
    """
    caveats, alpha = asked.caveats, asked.alpha
    if not simulated:
        evidence = [
            examined(with_known_spread(found, asked.unit), asked.unit)
            if found.sample.metric in HEADLINE_METRICS
            else found
            for found in evidence
        ]
        caveats = (*caveats, *of_whole(evidence))
    # The intervals of one session each cover the runs within the sessions, so they test nothing.
    is_tested = all(caveat.code != "one-session" for caveat in caveats)
    p_raw = {
        i: _p_value(found.sample, found.estimate, worse_only=worse_only)
        for i, found in enumerate(evidence)
        if found.estimate is not None and is_tested
    }
    committed = _commit_metrics(evidence)
    in_headline = [has_headline and _is_headline(found.sample, fixed_rate, committed) for found in evidence]
    family = [i for i in p_raw if in_headline[i]]
    cells = _cells(evidence, relevance, alpha, p_raw, family)
    headline = tuple(cell for cell, is_in in zip(cells, in_headline, strict=True) if is_in)
    runs = [max(cell.n_baseline, cell.n_candidate) for cell in headline or cells]
    if runs and max(runs) == 1:
        caveats = (*caveats, limit("one-run"))
    return msgspec.structs.replace(
        asked,
        units_baseline=max((found.units_baseline for found in evidence), default=0),
        units_candidate=max((found.units_candidate for found in evidence), default=0),
        cells=tuple(cells),
        headline=headline,
        caveats=caveats,
        # Runs of different cells are not made together, so their ratios cannot be combined run by run.
        overall=_overall(family, evidence) if asked.unit != "run" else None,
    )


def _cells(
    evidence: Sequence[Evidence],
    relevance: Mapping[str, float],
    alpha: float,
    p_raw: Mapping[int, float],
    family: Sequence[int],
) -> list[CellVerdict]:
    """The verdict of each test. `p_raw`: of what was tested, by its place in the evidence; `family`: the headline."""
    # The few headline cells were chosen in advance and carry the verdict sentence: control any false alarm among them
    # (Holm).
    p_holm = dict(zip(family, holm([p_raw[i] for i in family]), strict=True))
    # The table is read as a list of findings: control the share of false ones among all tested cells.
    p_bh = dict(zip(p_raw, benjamini_hochberg([*p_raw.values()]), strict=True))
    return [
        _cell(
            found,
            relevance_of(found.sample.metric, relevance),
            alpha,
            (p_raw.get(i), p_holm.get(i), p_bh.get(i)),
        )
        for i, found in enumerate(evidence)
    ]


def _overall(family: Sequence[int], evidence: Sequence[Evidence]) -> MeanRatio | None:
    """Mean ratio of the cells of a family that were measured in the same units."""
    logs = [evidence[i].unit_logs for i in family]
    units = {len(cell) for cell in logs}
    if len(logs) < 2 or len(units) != 1 or min(units) < 2:
        return None
    return mean_ratio(logs, seed=RESAMPLING_SEED)


def _p_value(sample: Sample, estimate: Estimate, *, worse_only: bool) -> float:
    """Two-sided p; `worse_only`: for a change for the worse one-sided."""
    p = estimate.p_value()
    return p / 2 if worse_only and (estimate.log_ratio < 0) == sample.higher_is_better else p


def _cell(
    found: Evidence, relevance: float, alpha: float, p_values: tuple[float | None, float | None, float | None]
) -> CellVerdict:
    estimate, sample, caveats = found.estimate, found.sample, [*found.caveats]
    p_raw, p_holm, p_bh = p_values
    verdict: Verdict = "undecided"
    # Holm's value where the cell is a headline, as it is the stricter one.
    p_adjusted = p_bh if p_holm is None else p_holm
    if estimate is not None and p_adjusted is not None:
        verdict = decide(
            estimate.log_ratio,
            estimate.interval(1 - 2 * alpha),
            p_adjusted,
            relevance=relevance,
            alpha=alpha,
            higher_is_better=sample.higher_is_better,
        )
        if estimate.se == 0:
            caveats.append(note("no-spread"))
    depends = _depends_on_method(found, p_raw, alpha)
    if depends and found.exact is not None:
        caveats.append(note("depends-on-method", p_t=p_raw or 0.0, p_permutation=found.exact.p))
    log_ratio = found.log_ratio if estimate is None else estimate.log_ratio
    return CellVerdict(
        cell=sample.cell,
        measure=sample.measure,
        metric=sample.metric,
        higher_is_better=sample.higher_is_better,
        ratio=_exp(log_ratio),
        ci95=None if estimate is None else _ratios(estimate.interval(0.95)),
        ci90=None if estimate is None else _ratios(estimate.interval(0.90)),
        p_raw=p_raw,
        p_holm=p_holm,
        p_bh=p_bh,
        verdict=verdict,
        relevance=relevance,
        n_baseline=len(found.values_baseline) or found.units_baseline,
        n_candidate=len(found.values_candidate) or found.units_candidate,
        units_baseline=found.units_baseline,
        units_candidate=found.units_candidate,
        unit_ratios=tuple(exp(x) for x in found.unit_logs),
        mean_baseline=_exp(found.log_baseline),
        mean_candidate=_exp(found.log_candidate),
        values_baseline=found.values_baseline,
        values_candidate=found.values_candidate,
        sham_ratio=_exp(found.log_sham),
        mde=None if estimate is None or p_raw is None else estimate.detectable(alpha),
        p_exact=None if found.exact is None or p_raw is None else found.exact.p,
        depends_on_method=depends,
        caveats=tuple(caveats),
        superiority=_superiority(found, sample.higher_is_better),
    )


def _superiority(found: Evidence, higher_is_better: bool) -> float | None:
    if not found.values_baseline or not found.values_candidate:
        return None
    larger = superiority(found.values_baseline, found.values_candidate)
    return larger if higher_is_better else 1 - larger


def _depends_on_method(found: Evidence, p_raw: float | None, alpha: float) -> bool:
    if found.exact is None or p_raw is None or found.exact.floor > alpha:
        return False
    return (p_raw <= alpha) != (found.exact.p <= alpha)


def _commit_metrics(evidence: Sequence[Evidence]) -> dict[str, str]:
    """The metric by which each test whose commits are timed is judged first: their median, where it is known."""
    found: dict[str, str] = {}
    for metric in COMMIT_METRICS:
        for one in evidence:
            if one.sample.metric == metric:
                found.setdefault(one.sample.cell, metric)
    return found


def _is_headline(sample: Sample, fixed_rate: Collection[str], committed: Mapping[str, str]) -> bool:
    """Whether a test is judged by it first. `committed`: the metric of each test whose commits are timed."""
    if sample.cell in committed:
        return sample.metric == committed[sample.cell]
    if sample.cell in fixed_rate:
        return sample.metric.startswith("latency")
    return sample.metric in HEADLINE_METRICS and (
        HEADLINE_OF_MEASURE.get(sample.measure, sample.metric) == sample.metric
    )


def _check_question(baseline: str, candidate: str, alpha: float) -> None:
    if not baseline or not candidate or baseline == candidate:
        raise ValueError(f"a comparison needs two different names, got {baseline!r} and {candidate!r}")
    if not (math.isfinite(alpha) and 0 < alpha < 0.5):
        raise ValueError(f"alpha is {alpha}; expected a probability between 0 and 0.5")


def _exp(log_value: float | None) -> float | None:
    return None if log_value is None else exp(log_value)


def _ratios(interval: Interval) -> Interval:
    return exp(interval[0]), exp(interval[1])
