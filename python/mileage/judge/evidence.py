"""Estimate the change of one cell and metric from its samples, before any correction for the number of cells.

Scope: the choice of the unit of inference: the highest level that was repeated. Stages of two or more cycles
are compared by cycle (each cycle one log ratio, minus its sham's); stages of one cycle by run, which is
descriptive; paired arms by block; unpaired arms by cycle when both have several, otherwise by run.
Refuses to drop a value: a cell with a zero, negative or non-finite value has no estimate but a note.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from mileage.judge.exact import ExactP, rank_sum, sign_flip
from mileage.judge.ratio import LOG_RESOLUTION, Estimate, contrast, moments, one_sample, pooled, unpaired
from mileage.judge.samples import SHAM, TORTURE, Sample
from mileage.judge.sessions import between_sessions, session_means
from mileage.model.caveat import Caveat, limit, note

Unit = Literal["session", "cycle", "block", "run"]
Groups = dict[int, list[float]]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One cell and metric: raw values (finite ones only), estimate on the log scale, and what is missing."""

    sample: Sample
    values_baseline: tuple[float, ...]
    values_candidate: tuple[float, ...]
    log_ratio: float | None = None
    log_baseline: float | None = None
    log_candidate: float | None = None
    log_sham: float | None = None
    estimate: Estimate | None = None
    exact: ExactP | None = None
    unit_logs: tuple[float, ...] = ()
    units_baseline: int = 0
    units_candidate: int = 0
    sessions_baseline: tuple[tuple[float, ...], ...] = ()
    """The values of each session, where they are not of one session."""
    sessions_candidate: tuple[tuple[float, ...], ...] = ()
    caveats: tuple[Caveat, ...] = ()
    """What is missing or special about this cell; their `tests` are empty."""


def with_known_spread(found: Evidence, unit: Unit) -> Evidence:
    """The evidence where equal values of an arm are not taken for a spread of zero.

    Runs on real storage that have one value show how coarse the figures are ("1.1 GB/s"), not that no run would differ.
    Where one arm has no spread, both are taken to have that of all runs together; where none has, there is no interval.
    """
    if found.estimate is None:
        return found
    if found.estimate.se == 0:
        return _noted(msgspec.structs.replace(found, estimate=None, exact=None), limit("no-spread-known"))
    arms = [[math.log(value) for value in arm] for arm in (found.values_baseline, found.values_candidate)]
    if (
        unit != "run"
        or found.log_sham is not None
        or not all(arms)
        or all(moments(arm).variance for arm in arms)
    ):
        return found
    return _noted(msgspec.structs.replace(found, estimate=pooled(*arms)), note("pooled-spread"))


def complete_cycles(samples: Sequence[Sample], baseline: str, candidate: str) -> tuple[int, ...]:
    """The cycles, ascending, in which the torture arm was measured in both stages."""
    cycles = {
        stage: {s.cycle for s in samples if s.arm == TORTURE and s.stage == stage}
        for stage in (baseline, candidate)
    }
    return tuple(sorted(cycles[baseline] & cycles[candidate]))


def of_stages(
    group: Sequence[Sample], baseline: str, candidate: str, cycles: Sequence[int], sham: bool
) -> Evidence:
    """Evidence of one cell from two stages; `cycles` are the study's complete ones, `sham` its having a sham.

    With one cycle only that cycle's runs are used. `group` holds samples of these two stages only.
    """
    single = len(cycles) == 1
    used = [s for s in group if s.cycle in cycles or (s.arm == SHAM and not single)]
    torture = [s for s in used if s.arm == TORTURE]
    found = Evidence(
        sample=group[0],
        values_baseline=_values(s for s in torture if s.stage == baseline),
        values_candidate=_values(s for s in torture if s.stage == candidate),
    )
    if not cycles:
        return _noted(found, limit("no-complete-cycle"))
    if problem := _unusable(used):
        return _noted(found, problem)
    logs = {
        (arm, stage): _grouped((s for s in used if (s.arm, s.stage) == (arm, stage)), lambda s: s.cycle)
        for arm in (TORTURE, SHAM)
        for stage in (baseline, candidate)
    }
    arms = [(logs[arm, baseline], logs[arm, candidate]) for arm in (TORTURE, SHAM)]
    return _by_run(found, arms, cycles[0], sham) if single else _by_cycle(found, arms, sham)


def of_pairs(baseline: Sequence[Sample], candidate: Sequence[Sample]) -> Evidence:
    """Evidence from two arms measured together in blocks: one log ratio per block that has both."""
    found = _arms(baseline, candidate)
    if problem := _unusable([*baseline, *candidate]):
        return _noted(found, problem)
    keys = sorted({(s.cycle, s.block) for s in [*baseline, *candidate]})
    number = {key: index for index, key in enumerate(keys)}
    low, high = (_grouped(arm, lambda s: number[s.cycle, s.block]) for arm in (baseline, candidate))
    ratios = _log_ratios(low, high)
    lone = len(keys) - len(ratios)
    if not ratios:
        return _noted(found, limit("no-pair"))
    blocks = sorted(ratios)
    found = msgspec.structs.replace(
        found,
        log_baseline=_mean([_mean(low[block]) for block in blocks]),
        log_candidate=_mean([_mean(high[block]) for block in blocks]),
        units_baseline=len(blocks),
        units_candidate=len(blocks),
    )
    found = _noted(found, note("lone-units", count=lone, unit="block")) if lone else found
    return _from_ratios(found, [ratios[block] for block in blocks], "block")


def of_independent(baseline: Sequence[Sample], candidate: Sequence[Sample], unit: Unit) -> Evidence:
    """Evidence from two arms measured apart, by run or by the mean log of each cycle."""
    found = _arms(baseline, candidate)
    if problem := _unusable([*baseline, *candidate]):
        return _noted(found, problem)
    if not baseline or not candidate:
        return _noted(found, limit("no-run"))
    groups = [_grouped(arm, lambda s: s.cycle) for arm in (baseline, candidate)]
    if unit == "cycle":
        low, high = ([_mean(group[cycle]) for cycle in sorted(group)] for group in groups)
    else:
        low, high = ([x for cycle in sorted(group) for x in group[cycle]] for group in groups)
    return _from_groups(found, low, high, None, unit)


def of_sessions(
    baseline: Sequence[Sample], candidate: Sequence[Sample], history: Sequence[Sample]
) -> Evidence:
    """Evidence from two arms of one or several sessions each, none of them in common; see `judge.sessions`.

    `history`: runs of this cell in other sessions, which show the spread for one session against one. A simulation has
    no sessions, so that each of its runs counts as one.
    """
    found = _arms(baseline, candidate)
    if problem := _unusable([*baseline, *candidate]):
        return _noted(found, problem)
    if not baseline or not candidate:
        return _noted(found, limit("no-run"))
    low, high = (_by_session(arm) for arm in (baseline, candidate))
    past = _by_session([sample for sample in history if sample.has_logarithm])
    means = [session_means(arm) for arm in (low, high)]
    base = _mean(means[0])
    units = tuple(mean - base for mean in means[1])
    found = msgspec.structs.replace(
        found,
        log_baseline=base,
        log_candidate=_mean(means[1]),
        unit_logs=units,
        log_ratio=_mean(units),
        units_baseline=len(low),
        units_candidate=len(high),
        sessions_baseline=tuple(tuple(map(math.exp, runs)) for runs in low),
        sessions_candidate=tuple(tuple(map(math.exp, runs)) for runs in high),
    )
    judged = between_sessions(low, high, past)
    if judged is None:
        return _noted(found, limit("too-few-units", count=1, unit="session", needed=2))
    return msgspec.structs.replace(found, estimate=judged[0], exact=judged[1])


def _by_session(arm: Sequence[Sample]) -> list[list[float]]:
    """The logarithms of the runs of each session, the sessions in order; of a simulation each run by itself."""
    groups: dict[tuple[int, int], list[float]] = {}
    for sample in sorted(arm, key=lambda s: (s.session, s.cycle, s.block, s.run)):
        place = (sample.session, 0) if sample.session else (0, len(groups))
        groups.setdefault(place, []).append(math.log(sample.value))
    return list(groups.values())


def _by_cycle(found: Evidence, arms: Sequence[tuple[Groups, Groups]], sham: bool) -> Evidence:
    torture, control = (_log_ratios(*arm) for arm in arms)
    if not torture:
        return _noted(found, limit("no-pair"))
    if sham and not control:
        return _noted(found, limit("no-control"))
    cycles = sorted(torture)
    low, high = arms[0]
    sham_logs = [control[cycle] for cycle in sorted(control)]
    found = msgspec.structs.replace(
        found,
        log_baseline=_mean([_mean(low[cycle]) for cycle in cycles]),
        log_candidate=_mean([_mean(high[cycle]) for cycle in cycles]),
        log_sham=_mean(sham_logs) if sham else None,
        units_baseline=len(cycles),
        units_candidate=len(cycles),
    )
    if not sham:
        return _from_ratios(found, [torture[cycle] for cycle in cycles], "cycle")
    if control.keys() == torture.keys():
        return _from_ratios(found, [torture[cycle] - control[cycle] for cycle in cycles], "cycle")
    return _from_uneven_sham(found, [torture[cycle] for cycle in cycles], sham_logs)


def _from_uneven_sham(found: Evidence, torture: Sequence[float], sham: Sequence[float]) -> Evidence:
    """Torture and sham cycles that do not match one to one: compared as two groups of common variance."""
    common = _mean(sham)
    units = tuple(x - common for x in torture)
    found = msgspec.structs.replace(found, unit_logs=units, log_ratio=_mean(units))
    found = _noted(found, note("control-not-paired", stress_cycles=len(torture), control_cycles=len(sham)))
    if len(torture) < 2:
        return _noted(found, limit("too-few-units", count=1, unit="cycle", needed=2))
    return msgspec.structs.replace(found, estimate=pooled(sham, torture))


def _by_run(found: Evidence, arms: Sequence[tuple[Groups, Groups]], cycle: int, sham: bool) -> Evidence:
    (low, high), (sham_low, sham_high) = ((arm[0].get(cycle, []), arm[1].get(cycle, [])) for arm in arms)
    if not low or not high:
        return _noted(found, limit("no-run"))
    if not sham:
        return _from_groups(found, low, high, None, "run")
    if not sham_low or not sham_high:
        return _noted(found, limit("no-control"))
    return _from_groups(found, low, high, (sham_low, sham_high), "run")


def _from_groups(
    found: Evidence,
    low: Sequence[float],
    high: Sequence[float],
    sham: tuple[Sequence[float], Sequence[float]] | None,
    unit: Unit,
) -> Evidence:
    drift = _mean(sham[1]) - _mean(sham[0]) if sham else 0.0
    base = _mean(low)
    units = tuple(x - base - drift for x in high)
    found = msgspec.structs.replace(
        found,
        log_baseline=base,
        log_candidate=_mean(high),
        log_sham=drift if sham else None,
        unit_logs=units,
        log_ratio=_mean(units),
        units_baseline=len(low),
        units_candidate=len(high),
    )
    fewest = min(len(group) for group in (low, high, *(sham or ())))
    if fewest < 2:
        return _noted(found, limit("too-few-units", count=fewest, unit=unit, needed=2))
    if sham:
        return msgspec.structs.replace(found, estimate=contrast([high, sham[0]], [low, sham[1]]))
    return msgspec.structs.replace(found, estimate=unpaired(low, high), exact=rank_sum(low, high))


def _from_ratios(found: Evidence, ratios: Sequence[float], unit: Unit) -> Evidence:
    found = msgspec.structs.replace(found, unit_logs=tuple(ratios), log_ratio=_mean(ratios))
    if len(ratios) < 2:
        return _noted(found, limit("too-few-units", count=len(ratios), unit=unit, needed=2))
    settled = [0.0 if abs(x) <= LOG_RESOLUTION else x for x in ratios]
    return msgspec.structs.replace(found, estimate=one_sample(ratios), exact=sign_flip(settled))


def _arms(baseline: Sequence[Sample], candidate: Sequence[Sample]) -> Evidence:
    return Evidence(
        sample=[*baseline, *candidate][0],
        values_baseline=_values(baseline),
        values_candidate=_values(candidate),
    )


def _values(samples: Iterable[Sample]) -> tuple[float, ...]:
    ordered = sorted(samples, key=lambda s: (s.cycle, s.block, s.run))
    return tuple(s.value for s in ordered if math.isfinite(s.value))


def _unusable(samples: Sequence[Sample]) -> Caveat | None:
    """Why values have no ratio: a run of zero, or one that failed; with the share of the runs that have one."""
    bad = sorted((s for s in samples if not s.has_logarithm), key=lambda s: (s.run, s.stage))
    if not bad:
        return None
    value = bad[0].value if math.isfinite(bad[0].value) else str(bad[0].value)
    completed = len(samples) - len(bad)
    return limit(
        "no-logarithm",
        run=bad[0].run,
        stage=bad[0].stage,
        value=value,
        runs=len(samples),
        completed=completed,
    )


def _grouped(samples: Iterable[Sample], key: Callable[[Sample], int]) -> Groups:
    groups: Groups = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(math.log(sample.value))
    return groups


def _log_ratios(low: Groups, high: Groups) -> dict[int, float]:
    return {key: _mean(high[key]) - _mean(low[key]) for key in low.keys() & high.keys()}


def _mean(logs: Sequence[float]) -> float:
    return moments(logs).mean


def _noted(found: Evidence, caveat: Caveat) -> Evidence:
    return msgspec.structs.replace(found, caveats=(*found.caveats, caveat))
