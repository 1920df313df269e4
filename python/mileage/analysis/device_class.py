"""The class of a device: how many bits its cells hold, by its profile; of a real target it is not known.

Scope: what must stand next to every rate that is compared, since drives of single-level and of three-bit cells are made
for different work and different prices. Guesses one class only: a drive rated for 50,000 erases has single-level cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from mileage.plan import Plan
from mileage.targets.profiles import figures_of_target, virtual_name

_CELLS: Final = {
    "slc": "single-level cells",
    "mlc": "two-bit cells",
    "tlc": "three-bit cells",
    "qlc": "four-bit cells",
}
_KINDS: Final = {"dir": "directory", "block": "block device", "loop": "loop device", "file": "file"}
_SLC_CYCLES_MIN: Final = 50_000
"""Rated erases of a block that only single-level cells reach."""


def device_classes(plan: Plan) -> dict[str, str]:
    """The class of each device in words, by the level that it is; under an empty name where all runs share one."""
    return _by_level({level: _class_words(plan, target) for level, target in _targets(plan).items()})


def short_classes(plan: Plan) -> dict[str, str]:
    """Device class by level as the short name of its cells, such as "SLC" or "TLC"; empty where it is not known."""
    return _by_level(
        {level: _cell(figures_of_target(target)).upper() for level, target in _targets(plan).items()}
    )


def _targets(plan: Plan) -> dict[str, str]:
    """The target of each level of the compared factor; without such levels, the study's target under an empty name."""
    factor = plan.study.compare.arms
    found = {setting.levels[factor]: setting.target for setting in plan.settings if factor in setting.levels}
    return found or {"": str(plan.study.target)}


def _by_level(found: dict[str, str]) -> dict[str, str]:
    return found if len(set(found.values())) > 1 else {"": next(iter(found.values()))}


def _class_words(plan: Plan, target: str) -> str:
    if virtual_name(target) is None:
        facts = plan.others.get(target, plan.facts)
        # Use the kind that the user wrote, because the facts of a loop device are those of a directory.
        written = target.partition(":")[0]
        kind = _KINDS.get(written) or _KINDS.get(facts.kind, facts.kind)
        return f"{kind}, class of the device not known"
    profile = figures_of_target(target)
    if not profile:
        return "virtual drive"
    words = [f"virtual {profile.get('kind', 'drive')}"]
    if cell := _cell(profile):
        words.append(f"{_CELLS.get(cell, cell)} ({cell.upper()})")
    cycles = _cycles(profile)
    if math.isfinite(cycles):
        words.append(f"rated for {cycles:,.0f} erases of a block")
    return ", ".join(words if len(words) > 1 else [*words, "kind of cell not stated"])


def _cell(profile: Mapping[str, Any]) -> str:
    """The kind of its cells, such as "slc"; empty where the profile does not state it and the cycles fit several."""
    stated = str((profile.get("cell") or {}).get("value", "")).lower()
    return stated or ("slc" if _SLC_CYCLES_MIN <= _cycles(profile) < math.inf else "")


def _cycles(profile: Mapping[str, Any]) -> float:
    """Rated erases of a block; NaN where the profile does not state them."""
    value = (profile.get("pe_cycles") or {}).get("value")
    return float(value) if isinstance(value, int | float) else math.nan
