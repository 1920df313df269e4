"""The method section of a report: how a study was measured and judged, in sentences made from its plan.

Scope: what the plan decides: target and state, stages, cells, order, repetition, what was compared by which rule, which
audits stand next to it, seeds and versions. Every sentence holds for what the plan says, and none is there for what it
does not. What came of it is the report's.
"""

from __future__ import annotations

from collections.abc import Iterator

from mileage.model.target_kind import capabilities_of
from mileage.plan import Plan
from mileage.plan.factors import kind_of, named_levels
from mileage.plan.plan_text import measured_words, stage_words, state_words
from mileage.plan.planned_runs import Cell, ImportOrigin
from mileage.plan.sizes import format_bytes
from mileage.plan.study import PURGE_EACH, Repeat
from mileage.report.measurement_setup import cache_words
from mileage.report.served_drives import served_words

CELLS_MAX = 12
"""Cells that are listed one by one; of more the first ones, and how many there are."""

_CACHES = {
    "direct": "The page cache was bypassed (O_DIRECT).",
    "cold": "Before each measured run the target was emptied out of the page cache.",
    "dropped": "Before each measured run the whole machine's page cache was emptied.",
    "hot": "Before each measured run the target was read into the page cache.",
    "warm": "The page cache was used, and left as the runs before had left it.",
}
_CHANGED = {
    "target": "each level is a target of its own",
    "profile": "it changes one figure of the virtual drive",
    "state": "it changes the state in which the target is measured",
    "workload": "it changes how every cell is measured",
    "label": "Mileage does not change it: each level was measured by itself",
}


def method_text(plan: Plan, *, version: str = "", started: str = "") -> str:
    """Paragraphs, parted by an empty line. `version` and `started` are the journal's, where it has them."""
    if plan.imported is not None:
        return "\n\n".join([_imported(plan.imported), " ".join(_made(plan, version, started))])
    parts = (
        _asked(plan),
        _began(plan),
        _done(plan),
        _order(plan),
        _judged(plan),
        _separated(plan),
        _audited(plan),
    )
    text = [" ".join(sentences) for part in parts if (sentences := list(part))]
    return "\n\n".join([*text, " ".join(_made(plan, version, started))])


def _imported(source: ImportOrigin) -> str:
    """Method of a study that another tool did, from the statements in its files."""
    files = ", ".join(file.path for file in source.files)
    return (
        f"These figures are what {source.words} reported ({files}); Mileage measured nothing here. In which state the "
        "target was, in which order the runs were done, and what else happened is known only where these files say so."
    )


def _asked(plan: Plan) -> Iterator[str]:
    study, facts = plan.study, plan.facts
    if study.question:
        yield f"The question: {study.question}"
    measured = {setting.target: setting for setting in plan.settings}
    size = format_bytes(facts.capacity_bytes)
    kind = "a simulated drive, in simulated time" if facts.virtual else "in real time"
    served = served_words(plan)
    if len(measured) > 1:
        time = "simulated drives, in simulated time" if plan.virtual else "in real time"
        yield f"{len(measured)} targets were measured ({time}):"
        sizes = (
            f"{name} ({format_bytes(plan.facts_of(at).capacity_bytes)}, of which the work area has "
            f"{format_bytes(plan.area_bytes(at))})"
            for name, at in measured.items()
        )
        yield f"{'; '.join(sizes)}."
    else:
        yield f"The target was {study.target}, {size}, {kind}; its work area has {format_bytes(plan.work_bytes)}."
    if served:
        yield f"{served[0].upper()}{served[1:]}."


def _began(plan: Plan) -> Iterator[str]:
    study = plan.study
    each = f"Each of the {study.cycles} cycles" if study.cycles > 1 else "The one cycle"
    if study.state.start != "purged":
        yield f"{each} began with the target as it was."
    elif plan.facts.virtual:
        yield f"{each} began with a purge: everything is erased, wear stays."
    elif capabilities_of(study.target).has_work_file:
        yield f"{each} began with a new work file; what lies below the file system was not purged."
    else:
        yield f'{each} began with a purge of the device ("{study.state.purge}").'
    if words := state_words(study):
        yield f"The file system: {words}."
    yield from _cached(plan)
    if study.sham:
        yield (
            "Every cycle was done a second time as a control (sham): the same stages, and idling for as long in place "
            "of each torture, so that what time alone does can be separated from what the torture does."
        )
    elif any(stage.torture for stage in study.stage):
        yield "There was no idle control: what time alone does is not separated from what the torture does."


def _cached(plan: Plan) -> Iterator[str]:
    """State of the page cache, for cells that could use it."""
    reaches = [cell.reach for cell in plan.cells if cell.workload and cell.reach]
    cachings = list(dict.fromkeys(reach.caching for reach in reaches if reach.options.api != "null"))
    if len(cachings) > 1:
        yield f"The page cache was not the same for all cells: {'; '.join(map(cache_words, cachings))}."
    elif cachings and cachings[0].mode == "limited":
        limit = format_bytes(cachings[0].limit_bytes)
        yield f"The page cache was emptied, and held within {limit} of memory."
    elif cachings:
        yield _CACHES[cachings[0].mode]


def _done(plan: Plan) -> Iterator[str]:
    stages = [f"{stage.name} ({stage_words(plan, stage)})" for stage in plan.study.stage]
    yield f"The stages, in order: {'; '.join(stages)}." if len(stages) > 1 else f"One stage: {stages[0]}."
    stems = list(dict.fromkeys(_stem(plan, cell) for cell in plan.cells))
    if not stems:
        return
    text = "; ".join(f"({number}) {stem}" for number, stem in enumerate(stems[:CELLS_MAX], 1))
    rest = f"; and {len(stems) - CELLS_MAX} more, which the tables list" if len(stems) > CELLS_MAX else ""
    each = ", each at every level of the factors" if plan.study.factor else ""
    yield f"What was measured{each}: {text}{rest}."


def _stem(plan: Plan, cell: Cell) -> str:
    """Workload of a cell, without the levels of the factors."""
    return f"{cell.key.stem}: {measured_words(plan.study, cell)}"


def _order(plan: Plan) -> Iterator[str]:
    study = plan.study
    for name, factor in study.factor.items():
        kind = kind_of(name, factor)
        yield f"Factor {name}: {', '.join(named_levels(study, name))}; {_CHANGED.get(kind or '', '')}."
    if not plan.cells:
        return
    if study.order == "blocked":
        yield "The runs of one arm were all done before those of the next, so that any drift looks like a difference."
    elif study.order == "listed":
        yield "Each block held every cell once, in the order of the study, so that any drift looks like a difference."
    else:
        mixed = [name for name, factor in study.factor.items() if kind_of(name, factor) != "label"]
        whose = "Each block of a part" if len(mixed) < len(study.factor) else "Each block"
        mixing = f", the levels of {' and '.join(mixed)} next to each other" if mixed else ""
        yield f"{whose} held every cell once, in an order drawn from the seed{mixing}."
        if any(run.arm == "sham" for run in plan.runs) or len(study.measuring_stages) > 1:
            yield "Stages that measure the same cells visit the same offsets in the same order."
    repeats = {repr(table.repeat): table.repeat for table in study.measure.values()}
    for repeat in repeats.values():
        if isinstance(repeat, Repeat) and repeat.precision is not None:
            names = ", ".join(name for name, table in study.measure.items() if table.repeat == repeat)
            yield (
                f"{names}: repeated in {repeat.min} to {repeat.max} blocks, until the interval of every cell's mean "
                f"was within {100 * repeat.precision:g} % of it."
            )
    if study.state.carryover != "none":
        unit = "run" if study.state.carryover == PURGE_EACH else "block"
        yield f"Before each {unit} but the first: {study.state.carryover.removesuffix('-each')}."


def _judged(plan: Plan) -> Iterator[str]:
    study = plan.study
    if study.baseline is None or study.candidate is None:
        yield "Nothing is compared: rates are geometric means of the runs, latencies those of all runs together."
        return
    arms = study.compare.arms
    by_level = arms in study.factor
    label = f"{arms} " if by_level else ""
    yield (
        f"Compared: {label}{study.candidate} with {label}{study.baseline}, as the ratio of their geometric means, "
        "on the logarithms of the runs' values."
    )
    yield _unit(plan, by_level)
    relevance = study.compare.relevance
    yield (
        "Rates are the headline: their p values are corrected by Holm for the number of cells; those of every cell "
        "and metric together by Benjamini and Hochberg. A difference has an adjusted p of at most 0.05. It is real but "
        "irrelevant where the 90 % interval lies within the margin, and two are the same where there is no difference "
        "and that interval lies within it; else the cell is undecided. The margins: "
        f"{100 * relevance.throughput:g} % of throughput, {100 * relevance.iops:g} % of operations per second, "
        f"{100 * relevance.p99:g} % of p99 latency."
    )


def _unit(plan: Plan, by_level: bool) -> str:
    """The repeated unit, from which the interval is computed."""
    study = plan.study
    if study.compares_workloads:
        return "The unit is the block: Student's t on the log ratios of the two workloads in each block."
    if not by_level and study.cycles > 1:
        sham = ", each less the idle control's in the same cycle" if study.sham else ""
        ratios = f"Student's t on the {study.cycles} log ratios{sham}"
        return f"The unit is the cycle: {ratios}; runs within a cycle are averaged."
    if not by_level:
        sham = ", less the idle control's change," if study.sham else ""
        return (
            f"With one cycle the unit is the run: Welch's t on the logarithms{sham} describes this device in this "
            "cycle and cannot say whether another cycle would agree."
        )
    if kind_of(study.compare.arms, study.factor[study.compare.arms]) == "label":
        return (
            "Each level was measured by itself (Welch's t on the logarithms). Where that was in a session of its own, "
            "what else differed between the sessions cannot be separated from the level."
        )
    if study.order == "random":
        return "The unit is the block: Student's t on the log ratios of the two levels in each block."
    return "The runs are taken as independent: Welch's t on the logarithms."


def _separated(plan: Plan) -> Iterator[str]:
    """How the effect of a second cause is separated from that of the arms."""
    study = plan.study
    if study.apart is None:
        return
    apart = study.apart.of(study.factor[study.apart.factor])
    yield (
        f"A second cause was separated from it: {apart.factor} {apart.candidate} instead of {apart.baseline}. Each "
        f"cause alone, and both, were compared with the runs that have neither ({study.baseline}, {apart.factor} "
        f"{apart.baseline}): Welch's t on the logarithms of the cycles' means, of one cycle of its runs, with the same "
        "corrections and margins."
    )


def _audited(plan: Plan) -> Iterator[str]:
    yield (
        "Audits reported with the verdict: rate and latency must agree by Little's law; what paced the runs, the "
        "device or the client; what came from memory; how long the runs were."
    )
    if plan.virtual:
        yield "In simulated time nothing on the machine can disturb a run."
    else:
        yield (
            "The machine was looked at before and after every stage, and compared with how it was at the start; with "
            "each run its pressure, stolen time and the device's own counters were read."
        )
    if plan.study.aa:
        yield f"{plan.study.baseline} was measured twice under two names: a difference between them is a false alarm."
    if plan.study.on_failure == "dnf":
        yield "A device that failed ended its arm as DNF (did not finish), which is a result."
    yield "A failed audit, a DNF and missing runs are said before the verdict, and no run was dropped as an outlier."


def _made(plan: Plan, version: str, started: str) -> Iterator[str]:
    if plan.imported is not None:
        yield f"The import has the hash {plan.hash[:16]}{f', made by Mileage {version}' if version else ''}."
        return
    yield f"Every random choice comes from seed {plan.study.seed}; the plan has the hash {plan.hash[:16]}."
    if version:
        yield f"Measured with Mileage {version}{f', from {started} on' if started else ''}."
