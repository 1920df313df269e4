"""The text of `mileage plan`: what will be done and what it costs, before anything is touched.

Scope: one page of plain text. Lines are at most `width` columns, unless a single word is longer.
What a study is refused for is part of the text.
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Iterator
from typing import Final

from mileage._core import t_quantile
from mileage.model.target_kind import SCALE, capabilities_of
from mileage.plan.estimate import Estimate, estimate
from mileage.plan.external_program import Program
from mileage.plan.factors import at_setting, kind_of, named_levels
from mileage.plan.families import WORKLOADS
from mileage.plan.planned_runs import Cell, Plan, PlannedRun
from mileage.plan.resolver import PrivilegedStep, steps_of
from mileage.plan.scale import LIMITS
from mileage.plan.sizes import duration, format_bytes
from mileage.plan.study import PURGE_EACH, Repeat, Stage, Study, Torture
from mileage.plan.work_area import uses_file
from mileage.plan.workload import Workload

CELLS_MAX = 60
"""Cells that are listed at most."""
_INDENT = 18
_NO_CONTROL = ", no idle control (a cycle that idles instead of the torture)"


def describe(plan: Plan, width: int = 80, *, lanes: int = 1) -> str:
    """The plan in words, `width` columns (40 or more) wide, ending in a newline.

    `lanes`: cycles that are done at the same time.
    """
    lines = textwrap.wrap(f"{plan.study.name}: {plan.study.question}".rstrip(": "), width)
    lines.append("")
    for rows in (_design(plan), _steps(plan), _cost(plan, estimate(plan, lanes=lanes)), _permission(plan)):
        for name, text in rows:
            lines += _row(name, text, width)
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _design(plan: Plan) -> Iterator[tuple[str, str]]:
    study, facts = plan.study, plan.facts
    kind = "simulated time" if facts.virtual else "real time"
    yield "target", f"{plan.target}, {format_bytes(facts.capacity_bytes)}, {kind}"
    others = dict.fromkeys(setting.target for setting in plan.settings if setting.target != plan.target)
    yield from (
        ("target", other) for other in list(others)[:CELLS_MAX] if not other.startswith(f"{plan.target},")
    )
    if f",{SCALE}=" in plan.target:
        yield "scale", LIMITS
    drive = "drive" if facts.virtual else "target"
    if uses_file(study, facts):
        yield "work area", f"a work file: {format_bytes(plan.work_bytes)}"
    elif plan.areas:
        each = "; ".join(f"{', '.join(at.words)} {format_bytes(plan.area_bytes(at))}" for at in plan.settings)
        yield "work area", f"of each {drive} the whole, rounded down to whole records: {each}"
    else:
        text = format_bytes(plan.work_bytes)
        yield "work area", f"the whole {drive}, rounded down to whole records: {text}"
    if words := state_words(plan.study):
        yield "state", words
    if facts.alignment:
        yield "alignment", facts.alignment
    arms = ": a stress arm, then a control that idles for as long" if study.sham else _NO_CONTROL
    if not any(stage.torture for stage in study.stage):
        arms = ""
    of_stages = study.compare.arms not in study.factor and not study.compares_workloads
    note = "; verdicts hold for this cycle only" if study.cycles == 1 and of_stages else ""
    each = "each " if study.cycles > 1 else ""
    yield (
        "design",
        f"{_count(study.cycles, 'cycle')} of all stages, {each}from a {study.state.start} target{arms}{note}",
    )
    if study.baseline and study.candidate:
        arms = f"{study.compare.arms} " if study.compare.arms in study.factor else ""
        yield "compared", f"{arms}{study.candidate} with {study.baseline}"
    yield from factor_rows(plan)
    yield "seed", str(study.seed)
    yield "plan", f"{plan.hash_short} (equal plans have equal numbers)"


def state_words(study: Study) -> str:
    """The file system that is made, and how used it is; "" for none."""
    state = study.state
    if state.filesystem is None:
        return ""
    words = [f"{state.filesystem}, made anew for each cycle"]
    words += [f"filled to {state.fill}"] if state.fill is not None else []
    words += [f"aged until {state.aged} full"] if state.aged is not None else []
    return "; ".join(words)


def _steps(plan: Plan) -> Iterator[tuple[str, str]]:
    for stage in plan.study.stage:
        yield f"stage {stage.name}", stage_words(plan, stage)
    for cell in plan.cells[:CELLS_MAX]:
        yield "test", cell_words(plan.study, cell)
    if len(plan.cells) > CELLS_MAX:
        yield "test", f"and {len(plan.cells) - CELLS_MAX} more"


def stage_words(plan: Plan, stage: Stage) -> str:
    """Description of a stage's runs."""
    if stage.measure is not None:
        tables = plan.study.measures_of(stage)
        cells = [cell for cell in plan.cells if cell.table in tables]
        blocks = max(cell.blocks for cell in cells)
        listed = plan.study.order == "listed"
        phrase = (
            f"{_count(blocks, 'block')} in the order of the study file"
            if listed
            else _count(blocks, "randomised block")
        )
        return f"measure {_count(len(cells), 'test')} in {phrase}"
    if stage.idle is not None:
        return f"idle {stage.idle}"
    verb, names = ("torture", stage.torture) if stage.torture else ("prepare", stage.prepare)
    done = {run.cell: run for run in plan.runs if run.stage == stage.name and run.workload}
    parts = [
        f"{name} ({_writing(plan, name, done[name])}{_rounds(plan.study.torture[name])})"
        for name in names or ()
    ]
    return f"{verb}: {', '.join(parts)}"


def _writing(plan: Plan, name: str, run: PlannedRun) -> str:
    """Description of a [torture.NAME] table's runs, and the number of tasks."""
    assert run.workload is not None
    processes = run.reach.processes if run.reach is not None else 1
    tasks = plan.study.torture[name].tasks
    if tasks is None:
        return _io(run.workload, _title(plan, name), processes)
    each = "a process with a file of its own" if run.workload.files == "per_thread" else "a process"
    each += ", new in each round" if run.reach is not None and run.reach.makes_files else ""
    if not capabilities_of(plan.setting_of(run).target).is_real:
        each = "a thread (a simulated drive has no processes)"
    return _io(run.workload, _title(plan, name), who=f"{_count(tasks, 'task')}, each {each}")


def _rounds(table: Torture) -> str:
    read = ", each read back" if table.read_back else ""
    if table.until is not None:
        return f", at most {table.rounds} rounds{read}, until {table.until}"
    return f", {table.rounds} rounds{read}" if table.rounds > 1 else read


def _title(plan: Plan, torture: str) -> str:
    """Title of a [torture.NAME] table's workload; "" for a user's workload without a title."""
    word = plan.study.torture[torture].workload
    for spelling in (word, f"pattern.{word}", f"pattern.{word}_read"):
        if spelling in WORKLOADS and word not in plan.study.workload:
            return WORKLOADS[spelling].title
    return plan.study.workload[word].title


def cell_words(study: Study, cell: Cell) -> str:
    """A cell, and what is measured in it."""
    return f"{cell.label}: {measured_words(study, cell)}"


def measured_words(study: Study, cell: Cell) -> str:
    """Description of a cell: workload, metrics and number of repetitions."""
    processes = cell.reach.processes if cell.reach is not None else 1
    phrase = cell.title if cell.workload is None else _io(cell.workload, cell.title, processes)
    table = study.measure[cell.table]
    least = table.stop.at_least if table.stop is not None else None
    lasting = f"; as much as takes {least} or more" if least is not None else ""
    if least is not None and cell.job is not None and cell.job.files:
        lasting = f"; as many files as take {least} or more with most tasks, one number for all cells"
    return f"{phrase}; {', '.join(cell.metrics)}; {_blocks(table.repeat, cell)}{lasting}"


def _blocks(repeat: int | Repeat, cell: Cell) -> str:
    if isinstance(repeat, Repeat) and repeat.precision is not None:
        return f"{repeat.min} to {cell.blocks} blocks, until known to +-{100 * repeat.precision:g} %"
    return _count(cell.blocks, "block")


def _io(workload: Workload, title: str = "", processes: int = 1, who: str = "") -> str:
    title = title or workload.in_words
    limits = []
    if workload.stop.bytes is not None:
        limits.append(format_bytes(workload.stop.bytes))
    if workload.stop.operations is not None:
        limits.append(f"{workload.stop.operations} operations")
    if workload.stop.time_ns is not None:
        limits.append(f"{workload.stop.time_ns / 1e9:g} s")
    outstanding = f", depth {workload.depth}" if workload.depth > 1 else ""
    together = f" in {processes} processes" if processes > 1 else ""
    who = who or f"{_count(workload.threads, 'thread')}{together}"
    return f"{title}, {format_bytes(workload.record_bytes)}, {who}{outstanding}, {' or '.join(limits)}"


def _cost(plan: Plan, cost: Estimate) -> Iterator[tuple[str, str]]:
    yield "tests", str(cost.cells)
    roles = ", ".join(f"{number} {role}" for role, number in cost.runs_by_role.items())
    yield "runs", f"{cost.runs} ({roles})"
    yield "estimated time", f"about {duration(cost.time_s)}; assumes {cost.assumption}"
    yield (
        "bytes to write",
        f"{format_bytes(cost.bytes_written)} at most; {format_bytes(cost.bytes_read)} to read",
    )
    area = (
        f"; {_figure(cost.work_area_writes)} times the work file" if uses_file(plan.study, plan.facts) else ""
    )
    if plan.study.band and plan.facts.alternatives:
        yield "drive variants", _band_words(plan, cost)
    yield "drive writes", f"{_figure(cost.drive_writes)} times the capacity{area}"
    if cost.rated_share is None or cost.rated_write_bytes is None:
        yield "endurance used", "unknown: the drive's rated endurance is not known"
    else:
        several = len({plan.setting_of(run).target for run in plan.runs}) > 1
        whose = (
            f" of {cost.rated_target}, the largest share of all drives with a known rating" if several else ""
        )
        share, rated = _figure(100 * cost.rated_share), format_bytes(cost.rated_write_bytes)
        yield "endurance used", f"{share} % of the rated {rated}{whose}"


def _band_words(plan: Plan, cost: Estimate) -> str:
    """The choices of the model band, and the time that they add: a cycle each, as many at a time as cycles."""
    choices = plan.facts.alternatives
    listed = ", ".join(choice.change for choice in choices)
    each = f"one cycle for each of {_count(len(choices), 'variant')}: {listed}"
    return f"{each}; about {duration(cost.time_s / plan.study.cycles * len(choices))} more"


def _permission(plan: Plan) -> Iterator[tuple[str, str]]:
    steps = _steps_of_all(plan)
    for step in steps:
        yield "privileged step", step.text + (" (what is there is lost)" if step.destroys else "")
    if not steps:
        yield "privileged steps", "none"
    programs = [
        shlex.join(argv) for cell in plan.cells if isinstance(cell.job, Program) for argv in cell.job.argvs
    ]
    for program in dict.fromkeys(programs):
        yield "runs a program", f"{program} (with --allow-commands only)"
    if not plan.refusals:
        yield "refused", "nothing"
    for refusal in plan.refusals:
        yield "refused", refusal


def _steps_of_all(plan: Plan) -> tuple[PrivilegedStep, ...]:
    """The privileged steps on every target of a plan, each once."""
    found: dict[PrivilegedStep, None] = {}
    for setting in plan.settings:
        facts = plan.others.get(setting.place, plan.facts)
        found |= dict.fromkeys(steps_of(at_setting(plan.study, setting), facts, plan.runs))
    return tuple(found)


def _figure(number: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{number:.0f}" if number >= 100 else f"{float(f'{number:.3g}'):f}".rstrip("0").rstrip(".")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _row(name: str, text: str, width: int) -> list[str]:
    room = max(width, 40)
    head = f"{name:<{_INDENT - 1}} "
    return textwrap.wrap(
        text,
        room,
        initial_indent=head,
        subsequent_indent=" " * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


# Rows of `mileage plan` about factors: levels, order, sessions, and the minimum detectable difference.
# Scope: rows of the text of `mileage plan`.

POWER: Final = 0.8
"""Chance with which the smallest difference is seen."""
HISTORY: Final = 10
"""Sessions of the history that a plan reckons with."""

_CHANGES: Final = {
    "target": "each its own target",
    "profile": "a figure of the virtual drive",
    "state": "the state",
    "workload": "every measure",
    "label": "not changed by Mileage: a part of the study each",
}


def label_options(part: str) -> str:
    """The options of `mileage run` that choose a part of a study, each after a space."""
    return "".join(f" --label {shlex.quote(label)}" for label in part.split(", ") if label)


def factor_rows(plan: Plan) -> Iterator[tuple[str, str]]:
    """Rows of name and text; none in a study without factors but what it can see."""
    study = plan.study
    for name, factor in study.factor.items():
        kind = kind_of(name, factor)
        levels = ", ".join(named_levels(study, name))
        yield f"factor {name}", f"{levels} ({_CHANGES[kind] if kind else ''})"
    if study.factor:
        every = math.prod(len(named_levels(study, name)) for name in study.factor)
        out = f", {every - len(plan.settings)} of {every} excluded" if every > len(plan.settings) else ""
        yield "settings", f"{len(plan.settings)} combinations of levels{out}"
        yield "order", _order(plan)
    if study.aa:
        yield "A/A", f"{study.baseline} is measured twice under two names, as an audit"
    if plan.parts != ("",):
        parts = [f"`mileage run STUDY{label_options(part)}`" for part in plan.parts]
        yield "parts", f"{len(parts)}, one at a time: {'; '.join(parts)}"
    if study.state.carryover != "none":
        yield (
            "between runs" if study.state.carryover == PURGE_EACH else "between blocks",
            study.state.carryover.removesuffix("-each")
            + (", then what was prepared is prepared again" if study.state.carryover != "remount" else ""),
        )
    if found := _detectable(plan):
        yield "detectable", found
    if not plan.virtual and plan.cells:
        yield "other days", _later_sessions(min(cell.blocks for cell in plan.cells) * study.cycles)


def _order(plan: Plan) -> str:
    if plan.study.order == "blocked":
        return (
            "WARNING: one arm is measured after the other, so that any drift looks like a difference; "
            'order = "random" keeps it out'
        )
    order = f"randomised within blocks from seed {plan.study.seed}"
    if plan.study.compares_workloads:
        return f"{order}; the compared workloads are paired by block"
    if plan.study.compare.arms not in plan.study.factor:
        return order
    if _is_label(plan):
        return f"{order}; what is compared is measured in parts of their own, so it is not paired"
    return f"{order}; compared arms are paired by block"


def _detectable(plan: Plan) -> str | None:
    """The smallest difference seen with 80 % power, in spreads between runs: MDE = (t.975 + t.8) s sqrt(2 / n).

    Of pairs (n - 1 degrees of freedom), of cycles, or of two groups of runs (2 n - 2).
    """
    study = plan.study
    blocks = [cell.blocks for cell in plan.cells]
    if study.baseline is None or not blocks:
        return None
    by_level = study.compare.arms in study.factor
    paired = study.compares_workloads or (by_level and study.order == "random" and not _is_label(plan))
    if not by_level and not paired and study.cycles > 1:
        count, unit, freedom = study.cycles, "cycles", study.cycles - 1
    else:
        count = min(blocks) * study.cycles
        unit, freedom = ("paired blocks", count - 1) if paired else ("runs of each arm", 2 * count - 2)
    if freedom < 1:
        return f"{count} {unit} cannot distinguish any difference from chance"
    spreads = (t_quantile(freedom, 0.975) + t_quantile(freedom, POWER)) * math.sqrt(2 / count)
    return (
        f"{count} {unit} give {100 * POWER:.0f} % power to detect a difference of {spreads:.2g} standard deviations: "
        f"{spreads:.2g} % if the standard deviation is 1 %, {5 * spreads:.2g} % if it is 5 %"
    )


def _later_sessions(runs: int) -> str:
    """The loss that a history of ten sessions with these runs finds: (t.95 + t.8) sqrt(1 + 1/10) of a session mean."""
    free = HISTORY - 1
    factor = (t_quantile(free, 0.95) + t_quantile(free, POWER)) * math.sqrt(1 + 1 / HISTORY)
    losses = (
        f"{100 * factor * math.sqrt(u**2 + 0.01**2 / runs):.2g} % at {u:.0%}" for u in (0.01, 0.02, 0.05)
    )
    return (
        f"this is one session; against a history of {HISTORY} such ones a loss is found with {100 * POWER:.0f} % power "
        f"from {', '.join(losses)} spread between sessions (1 % between runs)"
    )


def _is_label(plan: Plan) -> bool:
    name = plan.study.compare.arms
    return kind_of(name, plan.study.factor[name]) == "label"
