"""What speaks against a conclusion from the runs of one side of a comparison, as caveats.

Scope: a study that Mileage ran: its state, what the audits found in the compared runs, a level that changes within
them, a machine that changed, the model of a virtual drive. Runs of other levels and stages have no part in it. Of
studies that other tools ran, `mileage.analysis.imported_study` says the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

from mileage.analysis.assumptions import model_miss
from mileage.analysis.planned_comparison import plan_of_cells
from mileage.analysis.run_facts import JournalReading
from mileage.analysis.steady_state_checks import changing
from mileage.analysis.unwritten_reads import unwritten_caveats
from mileage.analysis.validity_checks import audits, grave_changes
from mileage.analysis.view import environment_changes
from mileage.execute.cycle import unfinished_lines
from mileage.judge import Sample
from mileage.judge.overload import ACHIEVED_MIN
from mileage.model.caveat import BOTH, Caveat, limit, veto
from mileage.model.metrics import QUANTILES, MetricWord
from mileage.plan import Plan
from mileage.plan.quantiles import operations_needed
from mileage.plan.workload import Workload
from mileage.report.served_drives import served_words
from mileage.store import Outcome
from mileage.store.journal import JournalContent


def study_caveats(
    plan: Plan,
    content: JournalContent,
    seen: JournalReading,
    outcome: Outcome,
    saved: dict[str, dict[str, str]],
    cells: Collection[str],
    stages: Collection[str],
) -> list[Caveat]:
    """The caveats of the runs of some cells in some stages. `saved`: the snapshots of the machine by name."""
    found = outcome.caveats
    found += [veto("did-not-finish", what=line) for line in unfinished_lines(content)]
    runs = seen.of(cells, stages)
    facts = [run.facts for run in runs if run.facts is not None]
    found += [one.veto for one in audits(plan_of_cells(plan, cells), facts) if one.veto is not None]
    if not any(stage.torture for stage in plan.study.stage):
        found += [one.caveat for one in changing(seen.courses, cells=cells, stages=stages)[:1]]
    found += unwritten_caveats((run.unwritten_share, run.stage, run.cell) for run in runs)
    grave = grave_changes(plan, environment_changes(plan, content, saved))
    return found + [veto("environment-changed", change=line) for line in grave[:1]]


def few_operations_caveats(few: Mapping[tuple[str, MetricWord], int]) -> list[Caveat]:
    """Tests without a quantile. `few`: the fewest operations of a run of each test and metric."""
    found = []
    for metric, row in QUANTILES.items():
        counts = {cell: count for (cell, word), count in few.items() if word == metric}
        if counts:
            needed = operations_needed(row.quantile)
            tests = tuple(sorted(counts))
            fewest = min(counts.values())
            found.append(
                limit(
                    "few-operations",
                    tests=tests,
                    metric=metric,
                    unit=row.unit,
                    fewest_operations=fewest,
                    needed=needed,
                )
            )
    return found


def model_caveats(plan: Plan) -> list[Caveat]:
    """The caveats of a side that was simulated, in whole or below a real kernel. `plan`: with its targets alone."""
    found = [limit("simulated")] if plan.facts.virtual else []
    if served := served_words(plan):
        found.append(limit("served", drives=served))
    if missed := model_miss(plan):
        found.append(limit("model-miss", rates=missed))
    return found


def held_rates(plan: Plan, samples: Sequence[Sample]) -> dict[str, float]:
    """Limits that the runs of a side met, in operations per second by test: the load, and not the target, set the rate.

    `samples`: those of the side.
    """
    works = {cell.label: cell.workload for cell in plan.cells if cell.workload is not None}
    limits = {label: per_s for label, work in works.items() if (per_s := _limit_per_s(work)) is not None}
    rates: dict[str, list[float]] = {}
    for sample in (sample for sample in samples if sample.cell in limits):
        units = {"ops_per_s": 1, "rate_bytes_per_s": works[sample.cell].record_bytes}
        if unit := units.get(sample.metric):
            rates.setdefault(sample.cell, []).append(sample.value / unit)
    return {
        label: per_s
        for label, per_s in limits.items()
        if label in rates and fmean(rates[label]) >= ACHIEVED_MIN * per_s
    }


def _limit_per_s(workload: Workload) -> float | None:
    """The rate that a workload asks for or is capped at, in operations per second; None for one without."""
    load = workload.load
    if load.open is not None:
        return None if load.open.ramp is not None else float(load.open.operations_per_s)
    if load.cap is None:
        return None
    if load.cap.operations_per_s is not None:
        return float(load.cap.operations_per_s)
    return (load.cap.bytes_per_s or 0) / workload.record_bytes if workload.record_bytes else None


def rate_limit_caveats(baseline: Mapping[str, float], candidate: Mapping[str, float]) -> list[Caveat]:
    """Tests whose rate was set by the load on one side or on both; arguments as `held_rates` gives them."""
    both = tuple(test for test in baseline if test in candidate)
    found = [limit("rate-limited", tests=both, limit_per_s=baseline[both[0]])] if both else []
    for side, own, other in zip(BOTH, (baseline, candidate), (candidate, baseline), strict=True):
        alone = tuple(test for test in own if test not in other)
        if alone:
            found.append(limit("rate-limited", tests=alone, limit_per_s=own[alone[0]]).of(side))
    return found
