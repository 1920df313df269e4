"""Everything that a report needs of a study's runs, read in one pass: decoding a long journal takes seconds.

Scope: the journal as too large to be held: each run is decoded once, and whoever wants something of it takes it then.
Of a run that another tool reported only the figures are taken. A test in which a run has too few operations for a p99
has no sample of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mileage.analysis.run_facts import FactCollector, JournalReading
from mileage.analysis.run_variation import Arms
from mileage.analysis.stage_times import StageTimes
from mileage.judge import Sample
from mileage.judge.overload import STOPPED_MIN, omission
from mileage.model.journal_entries import AnyRun, Run
from mileage.model.metrics import METRICS, MetricWord
from mileage.plan import Plan
from mileage.plan.quantiles import quantile_is_supported
from mileage.report.load_words import omission_words
from mileage.store.journal import JournalContent
from mileage.store.tables import StagedTables, each_test, few_operations, measured_of

# Note about latencies that a closed loop cannot show (coordinated omission), for the run in which it hides most.
# Where the journal meets `judge.overload.omission`. A run whose longest operation is a small share of it
# hides nothing.

P99: Final = 0.99


class HiddenLatency:
    """Of all measured runs, the one in which a pause of the target hid the most operations."""

    def __init__(self) -> None:
        """Begin without any run."""
        self._most = (0.0, "")

    @property
    def notes(self) -> list[str]:
        """One sentence on the run whose latencies are most incomplete; an empty list if none is."""
        return [self._most[1]] if self._most[1] else []

    def add(self, entry: Run) -> None:
        """Take a run."""
        record = entry.record
        if entry.role != "measure" or record.submit_ns == 0:
            return
        longest_ns = record.latency_of("read", "write").max_ns
        response = record.latency_of("response")
        if not response.count and longest_ns / record.submit_ns <= STOPPED_MIN:
            return
        service = record.service.quantile_ns(P99)
        # A p99 of the open loop is printed, and so needs its operations.
        if service is None or (response.count and not quantile_is_supported(response.count, P99)):
            return
        found = omission(
            service_p99_ns=service,
            response_p99_ns=response.quantile_ns(P99),
            longest_ns=longest_ns,
            elapsed_ns=record.submit_ns,
        )
        if found is not None:
            note = f"{entry.cell}, {entry.stage}: {omission_words(found)}"
            self._most = max(self._most, (longest_ns / record.submit_ns, note))


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
