"""A study next to what its source printed: `mileage compare STUDY --published NAME`.

Scope: each published result is matched to the cell of the study that it names, by workload, record, threads and levels.
A change is that of the study's own comparison (of two causes, of both together), a rate the mean of the cell's runs in
the first stage that measured it.
Both sides are read by one rule: a difference below the relevance of the study is none.
What it refuses: a study that has no cell of the source, and a result that names several cells.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.formats.published_results import read_published_study
from mileage.judge import Comparison, Sample
from mileage.judge.comparison import HEADLINE_OF_MEASURE, CellVerdict
from mileage.judge.published_means import PrintedDifference, compare_differences
from mileage.judge.published_score import PublishedComparison, scores
from mileage.judge.rules import PrintedFigures
from mileage.model.cell_key import CellKey
from mileage.model.published_result import (
    CHANGE,
    RATIO,
    UNITS,
    ComparedResult,
    PublishedResult,
    PublishedStudy,
    Reading,
)
from mileage.plan import Plan

RUNS: Final = 10
"""Runs behind each printed spread, as profiles/published/README.md says of the column."""


def compare_published(folder: str | Path, name: str) -> PublishedComparison:
    """Match the results of a source to a study in a folder. Raises Refused."""
    from mileage import app

    source = read_published_study(name)
    study = app.load(folder)
    apart = study.apart()
    comparison = apart.both if apart else study.comparison() if study.compares else None
    found = published_next_to(source, study.plan, study.samples(), comparison)
    if not any(one.found is not None for one in found.results):
        raise Refused(
            f"{folder} --published {name}",
            "the study has none of the cells that were published",
            expected=f"a study as `mileage run {source.name}` makes it",
            found=", ".join(sorted({cell.key.workload for cell in study.plan.cells})[:5]),
            code="mismatch",
        )
    return found


def published_next_to(
    source: PublishedStudy, plan: Plan, samples: Sequence[Sample], comparison: Comparison | None
) -> PublishedComparison:
    """The results of a source, each with what a study and its comparison have of it, or why they have nothing."""
    finder = _Finder(plan, samples, comparison)
    readings = _readings(source, finder)
    results = tuple(itertools.starmap(finder.compared, zip(source.results, readings, strict=True)))
    return PublishedComparison(source, plan.study.name, plan.target, plan.virtual, results, scores(results))


def _readings(source: PublishedStudy, finder: _Finder) -> list[Reading]:
    """What each published change means, by the rule that the study's own are read by."""
    spread = [one for one in source.results if one.spread_percent is not None and one.middle is not None]
    judged: dict[int, Reading] = {}
    for margin in sorted({finder.relevance_percent(one) for one in spread}):
        own = [one for one in spread if finder.relevance_percent(one) == margin]
        cells = [
            PrintedDifference(
                one.name, "throughput", PrintedFigures(one.middle or 0.0, one.spread_percent or 0.0)
            )
            for one in own
        ]
        found = compare_differences(cells, runs=RUNS, relevance=margin / 100)
        for one, verdict in zip(own, found.cells, strict=True):
            judged[id(one)] = _reading(verdict.verdict)
    return [judged.get(id(one)) or _stated(one, finder.relevance_percent(one)) for one in source.results]


def _stated(one: PublishedResult, relevance_percent: float) -> Reading:
    if one.unit != CHANGE or one.statement == "not stated":
        return "not stated"
    if one.middle is None or abs(math.log1p(one.middle / 100)) <= math.log1p(relevance_percent / 100):
        return "same"
    return "slower" if one.middle < 0 else "faster"


def _reading(verdict: str) -> Reading:
    if verdict in ("slower", "faster"):
        return "slower" if verdict == "slower" else "faster"
    return "undecided" if verdict == "undecided" else "same"


class _Finder:
    """The cells of a study by what they measure."""

    def __init__(self, plan: Plan, samples: Sequence[Sample], comparison: Comparison | None) -> None:
        self.relevance = plan.study.compare.relevance
        self.samples = samples
        self.keys = {cell.label: cell.key for cell in plan.cells}
        self.kinds = {cell.key.workload: cell.kind for cell in plan.cells}
        compared = [key.without(plan.study.compare.arms) for key in self.keys.values()]
        if plan.study.apart is not None:
            compared = [key.without(plan.study.apart.factor) for key in compared]
        self.compared_keys = {key.label: key for key in compared}
        headline = set(HEADLINE_OF_MEASURE.values())
        self.verdicts: dict[str, CellVerdict] = {}
        for verdict in comparison.cells if comparison else ():
            if verdict.metric in headline:
                self.verdicts.setdefault(verdict.cell, verdict)

    def relevance_percent(self, one: PublishedResult) -> float:
        """The smallest change that matters, in percent."""
        kind = self.kinds.get(one.workload, "throughput")
        return 100 * (self.relevance.iops if kind == "iops" else self.relevance.throughput)

    def compared(self, one: PublishedResult, reading: Reading) -> ComparedResult:
        """A published result with what was found here."""
        if one.unit == CHANGE:
            label = self._label(one, one.levels, self.compared_keys)
            verdict = self.verdicts.get(label) if label else None
            if verdict is None or verdict.ratio is None:
                return self._missing(one, reading, "not compared in this study")
            change = 100 * (verdict.ratio - 1)
            found = self._result(one, reading, change, _reading(verdict.verdict))
            return msgspec.structs.replace(found, cell=verdict.cell, metric=verdict.metric)
        value = self._rate(one, one.levels)
        if value is not None and one.unit == RATIO:
            below = self._rate(one, one.over)
            value = None if below is None else value / below
        if value is None:
            return self._missing(one, reading, "not measured in this study")
        return self._result(one, reading, value, "not stated")

    def _missing(self, one: PublishedResult, reading: Reading, why: str) -> ComparedResult:
        return self._result(one, reading, None, "not stated", why)

    def _result(
        self, one: PublishedResult, reading: Reading, found: float | None, own: Reading, missing: str = ""
    ) -> ComparedResult:
        return ComparedResult(
            published=one,
            published_reading=reading,
            found=found,
            found_reading=own,
            relevance_percent=self.relevance_percent(one),
            missing=missing,
        )

    def _label(
        self, one: PublishedResult, levels: Mapping[str, str], keys: Mapping[str, CellKey]
    ) -> str | None:
        found = [label for label, key in keys.items() if is_cell_of(one, key, levels)]
        cells = {keys[label].stem for label in found}
        if len(cells) > 1:
            raise Refused(one.name, f"names several cells: {', '.join(found[:3])}", code="ambiguous")
        # At several levels of a factor that the source does not have: none of them is meant more than the others.
        return found[0] if len(found) == 1 else None

    def _rate(self, one: PublishedResult, levels: Mapping[str, str]) -> float | None:
        """Mean of the runs of a cell, in the unit of the result."""
        label = self._label(one, levels, self.keys)
        metric = UNITS[one.unit] or "rate_bytes_per_s"
        own = [sample for sample in self.samples if sample.cell == label and sample.metric == metric]
        values = [sample.value for sample in own if sample.stage == own[0].stage]
        if not values:
            return None
        return mean_rate(values) / (1e6 if metric == "rate_bytes_per_s" else 1)


def mean_rate(values: Sequence[float]) -> float:
    """The arithmetic mean of the runs, which is what the sources print of theirs."""
    return statistics.fmean(values)


def is_cell_of(one: PublishedResult, key: CellKey, levels: Mapping[str, str] | None = None) -> bool:
    """Whether a cell is the one of a published result. `levels`: those that it must have, or those of the result."""
    return (
        key.workload == one.workload
        and (one.record_bytes is None or key.record_bytes == one.record_bytes)
        and (one.threads is None or key.threads == one.threads)
        and all(
            key.factors.get(factor) == level
            for factor, level in (one.levels if levels is None else levels).items()
        )
    )
