"""Levels of the compared factor as people read them: a number of bytes as a size, "62 GB" for 61999996928.

Scope: the names on the page and in the sentence; plan, journal and the exported tables of runs keep the number. Where
two levels would get one name all keep their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from mileage.analysis.planned_comparison import compares_levels
from mileage.judge.standings import CellStandings
from mileage.plan import Plan
from mileage.plan.factors import key_of
from mileage.plan.sizes import whole_number
from mileage.report import StudyView

_Value = TypeVar("_Value")
_UNITS: Final = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def level_names(plan: Plan) -> dict[str, str]:
    """Readable name of each level; empty where the levels are not numbers of bytes."""
    factor = plan.study.compare.arms
    if not compares_levels(plan) or not key_of(factor, plan.study.factor[factor]).endswith("_bytes"):
        return {}
    levels = dict.fromkeys(setting.levels[factor] for setting in plan.settings if factor in setting.levels)
    names = {level: size_name(count) for level in levels if (count := whole_number(level)) is not None}
    return names if len(set(names.values())) == len(levels) else {}


def size_name(count: int) -> str:
    """A number of bytes in the decimal unit that fits, four digits at most: "62 GB"."""
    per_unit, unit = next(((per, unit) for per, unit in _UNITS if count >= per), _UNITS[-1])
    return f"{count / per_unit:.4g} {unit}"


def renamed_view(view: StudyView, plan: Plan) -> StudyView:
    """The view with readable names of levels in its pictures; its comparison and its standings have them already."""
    names = level_names(plan)
    if not names:
        return view
    factor = plan.study.compare.arms
    arms = {f"{factor} {level}": f"{factor} {name}" for level, name in names.items()}
    found = view.evidence
    evidence = replace(
        found,
        runs=[replace(trace, arm=arms.get(trace.arm, trace.arm)) for trace in found.runs],
        tails=[replace(tail, arm=arms.get(tail.arm, tail.arm)) for tail in found.tails],
        order=[replace(run, arm=arms.get(run.arm, run.arm)) for run in found.order],
        levels=[replace(cell, levels=_keys(cell.levels, names)) for cell in found.levels],
        baseline_level=names.get(found.baseline_level, found.baseline_level),
        device_classes=_keys(found.device_classes, names),
    )
    return replace(view, evidence=evidence)


def readable_standings(cells: Sequence[CellStandings], names: Mapping[str, str]) -> tuple[CellStandings, ...]:
    """The standings with readable names of their levels."""
    return tuple(
        replace(
            cell,
            places=tuple(replace(place, level=names.get(place.level, place.level)) for place in cell.places),
        )
        for cell in cells
    )


def _keys(found: Mapping[str, _Value], names: Mapping[str, str]) -> dict[str, _Value]:
    return {names.get(key, key): value for key, value in found.items()}
