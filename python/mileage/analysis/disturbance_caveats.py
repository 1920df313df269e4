"""What disturbed the compared runs, and how short they were, as caveats of a comparison.

Scope: the runs of the two compared sides and no others, test by test. `mileage.judge.disturbance_bound` has the rule:
a disturbance vetoes where it could move a ratio across no change or across its margin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mileage.analysis.run_facts import JournalReading, RunReading
from mileage.analysis.validity_checks import RUN_MIN_S
from mileage.judge import Comparison
from mileage.judge.audit import is_held_by_group
from mileage.judge.disturbance_bound import (
    KIND_LIMITS,
    DisturbanceKind,
    DisturbedRun,
    disturbance_bound,
    disturbed_verdict,
    shares,
)
from mileage.model.caveat import SEVERITIES, Caveat, Severity, Side, limit

RunsByTest = Mapping[str, Sequence[RunReading]]
"""The runs of one side by the label of the test in the comparison."""


def runs_by_test(seen: JournalReading, cells: Mapping[str, str], stage: str) -> dict[str, list[RunReading]]:
    """The runs of a side. `cells`: the label of each of its cells, and the label in the comparison."""
    found: dict[str, list[RunReading]] = {}
    for run in seen.of(cells, (stage,)):
        for test in run.tests():
            if test in cells:
                found.setdefault(cells[test], []).append(run)
    return found


def disturbance_caveats(found: Comparison, baseline: RunsByTest, candidate: RunsByTest) -> list[Caveat]:
    """A caveat for each kind of disturbance, with the tests in which it weighs most.

    A test outside of the headline is limited by what would veto it there.
    """
    sides: dict[Side, RunsByTest] = {"baseline": baseline, "candidate": candidate}
    severities = _severities(found, sides)
    caveats = []
    for kind in KIND_LIMITS:
        above = {
            side: {test for test, runs in tests.items() if _is_disturbed(runs, kind)}
            for side, tests in sides.items()
        }
        tests = [test for test in severities if any(test in found_in for found_in in above.values())]
        if tests:
            severity = min((severities[test] for test in tests), key=SEVERITIES.index)
            concerned = tuple(test for test in tests if severities[test] == severity)
            caveats.append(_caveat(kind, severity, concerned, sides, above))
    return caveats


def alone_disturbed(runs: RunsByTest, *, is_journalled: bool) -> tuple[list[Caveat], float]:
    """What disturbed the runs of one side that is compared with none, as limits, and their bound.

    The bound is that of `disturbance_bound`, over all runs. `is_journalled`: whether a file system writes its journal
    for each write, so that more bytes of the device than their own are no sign of others.
    """
    every = _each(runs.values())
    limits = next((run.facts.group_limits for run in every if run.facts and run.facts.group_limits), {})
    caveats = [limit("group-limit", tests=tuple(runs), **limits)] if limits else []
    if is_journalled:
        runs = {test: [replace(run, facts=None) for run in found] for test, found in runs.items()}
    for kind in KIND_LIMITS:
        tests = {test for test, found in runs.items() if _is_disturbed(found, kind)}
        if tests:
            sides: dict[Side, RunsByTest] = {"baseline": runs}
            caveats.append(_caveat(kind, "limits", tuple(sorted(tests)), sides, {"baseline": tests}))
    return caveats, disturbance_bound(_disturbed(_each(runs.values())))


def _severities(found: Comparison, sides: Mapping[Side, RunsByTest]) -> dict[str, Severity]:
    """What the disturbances of both sides do to each test, the heaviest of its verdicts."""
    severities: dict[str, Severity] = {}
    headline = {(cell.cell, cell.metric) for cell in found.family}
    for cell in found.cells:
        low, high = (disturbance_bound(_disturbed(runs.get(cell.cell, ()))) for runs in sides.values())
        severity = disturbed_verdict(cell, low, high)
        if severity == "vetoes" and (cell.cell, cell.metric) not in headline:
            severity = "limits"
        known = severities.get(cell.cell, "informs")
        severities[cell.cell] = min(known, severity, key=SEVERITIES.index)
    return severities


def _is_disturbed(runs: Sequence[RunReading], kind: DisturbanceKind) -> bool:
    return any(shares(run).get(kind, 0.0) > KIND_LIMITS[kind] for run in _disturbed(runs))


def _each(groups: Iterable[Sequence[RunReading]]) -> list[RunReading]:
    """The runs of some tests, each once: one run may have several tests."""
    return list({id(run): run for runs in groups for run in runs}.values())


def _disturbed(runs: Sequence[RunReading]) -> list[DisturbedRun]:
    return [DisturbedRun(run.watch, run.facts) for run in runs]


def _caveat(
    kind: DisturbanceKind,
    severity: Severity,
    tests: tuple[str, ...],
    sides: Mapping[Side, RunsByTest],
    above: Mapping[Side, Collection[str]],
) -> Caveat:
    """The caveat of one kind, with the figures of the runs of these tests on the sides that it is about."""
    concerned = tuple(side for side in sides if any(test in above[side] for test in tests))
    runs = _each(sides[side].get(test, ()) for side in concerned for test in tests)
    every = [shares(one).get(kind, 0.0) for one in _disturbed(runs)]
    figures: dict[str, float | int | str] = {
        "worst_share": max(every),
        "limit_share": KIND_LIMITS[kind],
        "disturbed_runs": sum(share > KIND_LIMITS[kind] for share in every),
        "runs": len(every),
    }
    return Caveat(code=kind, severity=severity, sides=concerned, tests=tests, figures=figures)


def group_limit_caveats(runs: RunsByTest) -> list[Caveat]:
    """Tests of a side of which runs were as fast as a limit of a control group allows."""
    held = {
        test: run.facts.group_limits
        for test, found in runs.items()
        for run in found
        if run.facts is not None and is_held_by_group(run.facts)
    }
    return [limit("group-limit", tests=tuple(held), **next(iter(held.values())))] if held else []


def short_run_caveats(runs: RunsByTest) -> list[Caveat]:
    """Runs of a side that are too short to average the rare events of a device."""
    lasted = [one for run in _each(runs.values()) for one in run.lasted_s]
    short = [one for one in lasted if one[0] < RUN_MIN_S]
    if not short:
        return []
    return [
        limit(
            "short-runs",
            tests=tuple(dict.fromkeys(cell for _, cell in short)),
            shortest_s=min(short)[0],
            enough_s=RUN_MIN_S,
            short_runs=len(short),
            runs=len(lasted),
        )
    ]
