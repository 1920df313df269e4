"""Everything that a report needs of a study's runs, read in one pass: decoding a long journal takes seconds.

Scope: the journal as too large to be held: each run is decoded once, and whoever wants something of it takes it then.
Of a run that another tool reported only the figures are taken. A test in which a run has too few operations for a p99
has no sample of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mileage.analysis.latency_bound_notes import HiddenLatency
from mileage.analysis.run_facts import FactCollector, JournalReading
from mileage.analysis.run_variation import Arms
from mileage.analysis.stage_times import StageTimes
from mileage.judge import Sample
from mileage.model.journal_entries import AnyRun, Run
from mileage.model.metrics import METRICS, MetricWord
from mileage.plan import Plan
from mileage.store.journal import JournalContent
from mileage.store.tables import StagedTables, each_test, few_operations, measured_of


@dataclass
class JournalContents:
    """The contents of a journal: every measured value, ordered by run; the inputs of checks, arms and notes.

    Times of stages.
    """

    samples: list[Sample]
    seen: JournalReading
    arms: Arms
    hidden: HiddenLatency
    times: StageTimes
    few_operations: dict[tuple[str, MetricWord], int] = field(default_factory=dict)
    """Tests without a quantile, since a run has too few operations: label and metric, and the fewest of a run."""


def read(plan: Plan, content: JournalContent, staging: StagedTables | None = None) -> JournalContents:
    """Read the runs once; `staging`, where given, gets them for the tables."""
    samples: list[Sample] = []
    look, arms, hidden, times = FactCollector(plan), Arms(plan), HiddenLatency(), StageTimes()
    takers: list[FactCollector | Arms | HiddenLatency | StageTimes] = [look, times]
    takers += [arms, hidden] if plan.study.baseline is not None else []
    few: dict[tuple[str, MetricWord], int] = {}
    for entry in content.any_runs():
        for one in each_test(entry):
            samples += samples_of(one)
            for metric, count in few_operations(one).items():
                place = (one.cell, metric)
                few[place] = min(count, few.get(place, count))
            if staging is not None:
                staging.add(one)
        if isinstance(entry, Run):
            for taker in takers:
                taker.add(entry)
    # The runs that still have the quantile have the most operations: judged alone, they would favour the faster ones.
    if few:
        without = {(cell, METRICS[metric].figure) for cell, metric in few}
        samples = [one for one in samples if (one.cell, one.metric) not in without]
    return JournalContents(samples, look.found, arms, hidden, times, few)


def samples_of(entry: AnyRun) -> list[Sample]:
    """The measured values of a run; of a set of tests, of one of its tests."""
    return [
        Sample(
            run=entry.run,
            cycle=entry.cycle,
            arm=entry.arm,
            stage=entry.stage,
            block=entry.block,
            measure=entry.measure,
            cell=entry.cell,
            metric=metric,
            value=value,
            higher_is_better=higher_is_better,
        )
        for metric, value, higher_is_better in measured_of(entry)
    ]
