"""Rows of `mileage plan` about factors: levels, order, sessions, and the minimum detectable difference.

Scope: rows of the text of `mileage plan`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from typing import Final

from mileage.plan.factors import kind_of, named_levels
from mileage.plan.planned_runs import Plan
from mileage.plan.student_t import t_quantile
from mileage.plan.study import PURGE_EACH

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
