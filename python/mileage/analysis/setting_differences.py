"""In what the cells of one name differ between two studies: the depth, the share of reads, how the target is reached.

Scope: a label as less than the whole setting: what all cells of a study share is not part of it. How long a run lasts,
its seed, and the size of a drive that is visited whole are no differences. A study of another tool
has no plan, and `mileage.analysis.imported_study` compares what its files state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from mileage.model.caveat import Caveat, veto
from mileage.plan import Plan
from mileage.plan.planned_runs import Cell
from mileage.plan.sizes import format_bytes

_WORDS: Final = {"read_percent": "the share of reads", "discard_percent": "the share of discards"}
_INCIDENTAL: Final = frozenset(
    {
        *("seed", "stop", "generation", "log", "interval_ns", "sync_timed", "direct"),
        *("names", "tests", "bytes", "bytes_read", "operations", "occupies", "writes"),
    }
)
"""Keys that may differ between two measurements of the same thing, or that follow from another key."""
_NESTED: Final = ("options", "load", "value")


def setting_differences(first: Plan, second: Plan, common: Mapping[str, str]) -> list[Caveat]:
    """What differs in cells that two studies share, once for each key, with the values of both.

    `common`: of each shared cell the label in the second study, and that in the first.
    """
    mine, others = ({cell.label: cell for cell in plan.cells} for plan in (first, second))
    found: dict[str, Caveat] = {}
    for theirs, label in common.items():
        one, other = _settings(first, mine[label]), _settings(second, others[theirs])
        for key in one.keys() & other.keys():
            if one[key] != other[key]:
                values = {"baseline": _value(key, one[key]), "candidate": _value(key, other[key])}
                found.setdefault(key, veto("setting-differs", tests=(label,), key=_name(key), **values))
    return [found[key] for key in sorted(found)]


def _settings(plan: Plan, cell: Cell) -> dict[str, Any]:
    """Every key of a cell's work and of how it reaches its target, with its value."""
    found: dict[str, Any] = {}
    for part in (cell.workload, cell.job, cell.reach):
        found |= dict(_leaves(msgspec.to_builtins(part))) if part is not None else {}
    if cell.workload is not None and plan.facts.capabilities.is_drive:
        area = plan.area_bytes(plan.settings[cell.setting]) if plan.settings else plan.work_bytes
        if cell.workload.span_bytes == area - area % cell.workload.record_bytes:
            found["span_bytes"] = "the whole drive"
    return found


def _leaves(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        if key in _NESTED and isinstance(value, Mapping):
            yield from _leaves(value)
        elif key not in _INCIDENTAL:
            yield key, value


def _name(key: str) -> str:
    return _WORDS.get(key) or key.removesuffix("_bytes").removesuffix("_ns").replace("_", " ")


def _value(key: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if key.endswith("_bytes"):
            return format_bytes(value)
        return (
            f"{value} %"
            if key.endswith("_percent")
            else f"{value / 1e9:g} s"
            if key.endswith("_ns")
            else str(value)
        )
    if isinstance(value, dict) and "mode" in value:
        return str(value["mode"])
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
