"""What storage is needed for: the load of a purpose, the figure that is judged, its limit and who published it.

Scope: one TOML file for each purpose: a table [purpose], and the load in the words of a study file, whose tables state,
workload, measure and torture it may have; what the torture tables write comes before the runs. `builtin` has those
that ship. A file without a limit is a purpose for which none is published.
What it refuses: other tables, programs, and several tests: one figure of one test is judged; a limit that is no value
of the metric, or on the side on which nothing could fail it; a limit of which nobody says where it was published.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mileage.errors import Refusal
from mileage.model.metrics import METRICS, Metric
from mileage.plan import sizes
from mileage.plan.conversion import converted, named_tables
from mileage.plan.faults import Faults, join
from mileage.plan.quantiles import operations_needed
from mileage.plan.study import Study
from mileage.plan.study_reader import check_keys, parse_toml, study_of_values
from mileage.plan.write_rates import parse_write_rate

STAGE: Final = "check"
"""The stage that measures; what the load needs is written in the stage PREPARE."""
PREPARE: Final = "prepare"
_LOAD: Final = ("state", "workload", "measure", "torture")
_ANYWHERE: Final = "virtual:plain-64gib@server-2025"
"""A target on which any load can be checked for what makes no sense wherever it is done."""


class LimitSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who published a limit."""

    title: str
    """As in "limit 10 ms (etcd documentation)"."""
    url: str = ""
    """Where it stands."""
    says: str = ""
    """The words of the source, or what they come to."""
    read: str = ""
    """The day on which it was read there, such as "2026-11-29"."""


class PurposeHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table [purpose] of a purpose file."""

    title: str
    """What it is, and what the load does."""
    metric: str
    """The figure that is judged, a word of `model.metrics.METRICS`."""
    at_most: str | None = None
    """The limit of a time, such as "10 ms"."""
    at_least: str | None = None
    """The limit of a rate, such as "90 MB/s", or "500" operations per second."""
    source: LimitSource | None = None
    """Who published the limit; must be given with one."""


class Purpose(msgspec.Struct, frozen=True):
    """A purpose: its load as a study without a target, and what is judged."""

    name: str
    source: str
    """The word that names it: its name, or the path of its file."""
    head: PurposeHead
    study: Study
    metric: Metric
    limit: float | None = None
    """In the unit of the metric's figure; None where no limit is published."""

    @property
    def commits_needed(self) -> int | None:
        """The operations that a run needs for its quantile; None where none is judged."""
        return operations_needed(self.metric.quantile) if self.metric.quantile else None

    @property
    def is_durable(self) -> bool:
        """Whether its load makes writes durable one by one, so that a power cut could break a promise."""
        return self.metric.latency in ("commit", "sync", "durable_write")


def parse_purpose(text: str, source: str, name: str) -> Purpose:
    """The purpose that a TOML text describes. Raises BrokenStudy with everything that is wrong."""
    raw = parse_toml(text, source, "a purpose file")
    faults = Faults(source)
    head = _head(raw, faults)
    for key in [key for key in raw if key not in _LOAD]:
        known = ", ".join(("purpose", *_LOAD))
        faults.add(key, "unknown key of a purpose", expected=f"one of {known}", code="unknown-key")
        del raw[key]
    for path in _programs(raw):
        faults.add(path, "a purpose runs no programs", advice="give it a pattern", code="unsupported")
    measures = raw.get("measure")
    if not isinstance(measures, dict) or len(measures) != 1:
        found = f"{len(measures)} tables" if isinstance(measures, dict) else "none"
        faults.add(
            "measure",
            found=found,
            expected="one table [measure.NAME]: one test is judged",
            code="wrong-value",
        )
        faults.refuse_any()
    study = study_of_values({**raw, **_stages(raw), "name": name, "target": _ANYWHERE}, faults)
    if head is None:
        faults.refuse_any()
    assert head is not None
    (table,) = study.measure.values()
    metric = METRICS[head.metric]  # type: ignore[index]  # `_head` refuses other words
    measure = msgspec.structs.replace(table, metric=(metric.word,))
    study = msgspec.structs.replace(
        study, measure=dict.fromkeys(study.measure, measure), question=f"Is it fit for {head.title}?"
    )
    return Purpose(name, source, head, study, metric, _limit(head, metric))


def _programs(raw: dict[str, Any]) -> list[str]:
    """The keys of its workloads that are programs."""
    keys = ("command", "before", "cleanup")
    return [
        join(join("workload", name), key)
        for name, table in named_tables(raw, "workload")
        if isinstance(table, dict)
        for key in keys
        if key in table
    ]


def _stages(raw: dict[str, Any]) -> dict[str, Any]:
    """The stages of a load: what is written before, and the runs."""
    before = raw.get("torture")
    stages = [{"name": PREPARE, "prepare": list(before)}] if isinstance(before, dict) and before else []
    return {"stage": [*stages, {"name": STAGE, "measure": list(raw["measure"])}]}


def _head(raw: dict[str, Any], faults: Faults) -> PurposeHead | None:
    table = raw.pop("purpose", None)
    if table is None:
        faults.add(
            "purpose", "is missing", advice="[purpose] has title, metric, and the limit", code="missing"
        )
        return None
    check_keys(faults, "purpose", table, PurposeHead)
    if isinstance(table, dict):
        check_keys(faults, "purpose.source", table.get("source"), LimitSource)
    head = converted(faults, "purpose", table, PurposeHead)
    if head is None:
        return None
    if head.metric not in METRICS:
        faults.add_unknown("purpose.metric", head.metric, METRICS, "metric")
        return None
    source = msgspec.to_builtins(head.source) if head.source else {}
    texts = {"title": head.title, **{f"source.{key}": text for key, text in source.items()}}
    for key, text in texts.items():
        if not text.isprintable():
            expected = "one line without control characters"
            faults.add(f"purpose.{key}", found=repr(text), expected=expected, code="wrong-value")
    for fault in _limit_faults(head, METRICS[head.metric]):
        faults.add_refusal(fault)
    return head


def _limit_faults(head: PurposeHead, metric: Metric) -> Iterator[Refusal]:
    right, wrong = ("at_least", "at_most") if metric.higher_is_better else ("at_most", "at_least")
    if getattr(head, wrong) is not None:
        better = "higher" if metric.higher_is_better else "lower"
        text = f"{head.metric} is better where it is {better}"
        yield Refusal(f"purpose.{wrong}", text=text, advice=f"give {right}", code="conflict")
    text = getattr(head, right)
    if text is not None:
        try:
            read_limit(text, metric)
        except ValueError as error:
            yield Refusal(f"purpose.{right}", text=str(error), code="wrong-value")
        if head.source is None:
            advice = 'add source = { title = "..." }: who published it, or whose own it is'
            yield Refusal("purpose.source", text="a limit needs its source", advice=advice, code="missing")
    elif head.source is not None:
        yield Refusal(
            "purpose.source", text="has no effect without a limit", advice=f"give {right}", code="no-effect"
        )


def _limit(head: PurposeHead, metric: Metric) -> float | None:
    text = head.at_least if metric.higher_is_better else head.at_most
    return None if text is None else read_limit(text, metric)


def read_limit(text: str, metric: Metric) -> float:
    """A limit in the unit of the metric's figure. Raises ValueError for what is none, and for 0."""
    if metric.figure == "rate_bytes_per_s":
        rate = parse_write_rate(text)
        if rate.needs_capacity:
            raise ValueError(f'found "{text}", expected bytes in a time, such as "90 MB/s"')
        value = float(rate.of(0))
    elif metric.figure == "ops_per_s":
        count = sizes.whole_number(text.removesuffix("IOPS").strip())
        if count is None:
            raise ValueError(f'found "{text}", expected operations per second, such as "500"')
        value = float(count)
    else:
        time_ns = sizes.parse_time_ns(text)
        value = time_ns / 1e9 if metric.figure == "elapsed_s" else float(time_ns)
    if value <= 0:
        raise ValueError(f'found "{text}", expected more than 0')
    return value
