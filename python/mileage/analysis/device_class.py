"""The class of a device by its profile: flash by the bits of its cells, disk, XPoint, array; of real targets RAM only.

Scope: what must stand next to every rate that is compared, since drives of single-level and of three-bit cells are made
for different work and different prices. Guesses one class only: a drive rated for 50,000 erases has single-level cells.
The class of a real device is not known, unless the target lies in memory.
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
_SHORT: Final = {"disk": "disk", "smr-disk": "SMR disk", "xpoint": "XPoint"}
_KINDS: Final = {"dir": "directory", "block": "block device", "loop": "loop device", "file": "file"}
_SLC_CYCLES_MIN: Final = 50_000
"""Rated erases of a block that only single-level cells reach."""


def device_classes(plan: Plan) -> dict[str, str]:
    """The class of each device in words, by the level that it is; under an empty name where all runs share one."""
    return _by_level({level: _class_words(plan, target) for level, target in _targets(plan).items()})


def short_classes(plan: Plan) -> dict[str, str]:
    """Device class by level in short, such as "SLC", "disk" or "array of 6 x SLC"; empty where it is not known."""
    return _by_level({level: _short(plan, target) for level, target in _targets(plan).items()})


def _short(plan: Plan, target: str) -> str:
    if plan.others.get(target, plan.facts).memory_file_system:
        return "RAM"
    return short_class(figures_of_target(target))


def short_class(profile: Mapping[str, Any]) -> str:
    """The class of a virtual drive or array with these figures; empty where they do not state it."""
    kind = profile.get("kind", "")
    if kind == "flash":
        return _cell(profile).upper() or "flash"
    if kind != "array":
        return _SHORT.get(kind, "")
    counts: dict[str, int] = {}
    for member in profile.get("member", ()):
        words = short_class(member.get("profile", {})) or "drive"
        counts[words] = counts.get(words, 0) + int(member.get("count", 1))
    return f"array of {' and '.join(f'{count} x {words}' for words, count in counts.items())}"


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
        if facts.memory_file_system:
            return f"RAM ({facts.memory_file_system})"
        # Use the kind that the user wrote, because the facts of a loop device are those of a directory.
        written = target.partition(":")[0]
        kind = _KINDS.get(written) or _KINDS.get(facts.kind, facts.kind)
        return f"{kind}, class of the device not known"
    profile = figures_of_target(target)
    if not profile:
        return "virtual drive"
    if profile.get("kind") != "flash":
        return f"virtual {short_class(profile) or profile.get('kind', 'drive')}"
    words = ["virtual flash"]
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
