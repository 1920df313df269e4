"""The compared runs in the order in which they were done, each against the mean of its own cell and arm."""

from __future__ import annotations

import math
from collections.abc import Iterable

from mileage.analysis.planned_comparison import arm_name, compares_cells, places
from mileage.judge import Sample
from mileage.judge.comparison import HEADLINE_OF_MEASURE
from mileage.plan import Plan
from mileage.report.evidence import OrderedRun


def run_order(plan: Plan, samples: Iterable[Sample]) -> list[OrderedRun]:
    """Runs of the baseline and the candidate; the sham arm and values of 0 are not among them."""
    study = plan.study
    levels = places(plan) if compares_cells(plan) else {}
    stage = study.measuring_stages[-1]
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        if sample.arm != "torture" or sample.metric != HEADLINE_OF_MEASURE.get(sample.measure):
            continue
        side = levels[sample.cell][0] if levels else sample.stage
        usable = sample.value > 0 and math.isfinite(sample.value) and (not levels or sample.stage == stage)
        if usable and side in (study.baseline, study.candidate):
            name = arm_name(plan, side)
            # Do not divide by the mean of each cycle: that would hide a drift between cycles.
            groups.setdefault((sample.cell, name), []).append(sample)
    found = []
    for (_, name), own in groups.items():
        mean = math.exp(math.fsum(math.log(sample.value) for sample in own) / len(own))
        found += [OrderedRun(sample.run, name, sample.value / mean) for sample in own]
    return sorted(found, key=lambda run: run.position)
