"""From the text of a study file to a checked `Study`.

What it models: TOML whose keys and types are those of `study.Study`. Every fault has the path of its value
("measure.throughput.record[0]"), what was found, what was expected; the search for further faults goes past it.
What it refuses: keys that are not known, with the closest known one; wrong types; and, through `study_checks`,
values that make no sense whatever the target is.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from mileage._core import toml_faults
from mileage.errors import Refusal, Refused
from mileage.plan.conversion import Mismatch, mismatch_of, shown
from mileage.plan.factors import TARGET_NAMES
from mileage.plan.faults import FAULTS_MAX, BrokenStudy, Faults, join, one_line
from mileage.plan.io_options import HOW_KEYS
from mileage.plan.profiles import with_profiles
from mileage.plan.study import (
    AccessRow,
    Compare,
    Factor,
    Measure,
    OwnWorkload,
    Relevance,
    Repeat,
    Stage,
    State,
    StopRule,
    Study,
    Torture,
)
from mileage.plan.study_checks import check_study

S = TypeVar("S", bound=msgspec.Struct)

STUDY_TEXT_MAX: Final = 1 << 20
"""Characters in a study file at most."""

_GROUPS: Final = ("factor", "workload", "measure", "torture")
"""The tables of tables."""
_STAND_INS: Final[dict[str, Any]] = {
    "name": "unnamed",
    "workload": "pattern.random_write",
    "record": "4KiB",
    "amount": "1x",
    "min": 5,
    "size": "4KiB",
    "levels": ["1", "2"],
}
"""For keys that must be given and were not, or cannot be read: what the other keys are checked with."""


def parse_study(text: str, source: str, target_of: Callable[[str], str] | None = None) -> Study:
    """The study that a TOML text describes. `source` names the text in messages: a path or a study's name.

    `target_of` gives a target that is a bare path its scheme, and raises Refused for one that is none.

    Raises BrokenStudy with everything that is wrong.
    """
    raw = _parse_toml(text, source)
    faults = Faults(source)
    if target_of is not None:
        _give_schemes(raw, target_of, faults)
    if "target" not in raw and (first := _first_target(raw)) is not None:
        raw["target"] = first
    for path, table, struct in _tables(raw):
        _check_keys(faults, path, table, struct)
    factors = _converted(faults, raw, "factor", Factor)
    workloads = _converted(faults, raw, "workload", OwnWorkload)
    measures = _converted(faults, raw, "measure", Measure)
    tortures = _converted(faults, raw, "torture", Torture)
    study = _convert(faults, "", {key: value for key, value in raw.items() if key not in _GROUPS}, Study)
    if study is None:
        faults.refuse_any()
    assert study is not None
    study = msgspec.structs.replace(
        study, factor=factors, workload=workloads, measure=measures, torture=tortures
    )
    study = with_profiles(study)
    check_study(study, source, faults)
    return study


def _converted(faults: Faults, raw: dict[str, Any], group: str, struct: type[S]) -> dict[str, S]:
    """The tables of a group; none for one that is no table."""
    tables = raw.get(group, {})
    if not isinstance(tables, dict):
        faults.add(group, found=shown(tables), expected="a table")
        faults.mark(group)
    found = {name: _convert(faults, join(group, name), table, struct) for name, table in _named(raw, group)}
    return {name: table for name, table in found.items() if table is not None}


def _give_schemes(raw: dict[str, Any], target_of: Callable[[str], str], faults: Faults) -> None:
    """Give the targets of a study file their schemes; report those that are none, and read them as null:."""
    holders: list[tuple[str, Any, str | int]] = [("target", raw, "target")] if "target" in raw else []
    for name, table in _named(raw, "factor"):
        if _names_targets(name, table):
            levels = table.get("levels")
            keys: Iterable[str | int] = levels if isinstance(levels, dict) else ()
            keys = range(len(levels)) if isinstance(levels, list) else keys
            holders += [(f"factor.{name}", levels, key) for key in keys]
    for path, holder, key in holders:
        text = holder[key]
        if not isinstance(text, str):
            continue
        try:
            holder[key] = target_of(text)
        except Refused as refusal:
            for reason in refusal.within(path).refusals:
                faults.add_refusal(reason)
            faults.mark(path)


def _names_targets(name: str, table: Any) -> bool:
    default = "target" if name in TARGET_NAMES else None
    return isinstance(table, dict) and table.get("kind", default) == "target"


def _first_target(raw: dict[str, Any]) -> str | None:
    """The first level of a factor whose levels are targets; None when no factor says so."""
    for name, table in _named(raw, "factor"):
        if not _names_targets(name, table):
            continue
        levels = table.get("levels")
        values = list(levels.values()) if isinstance(levels, dict) else levels
        if isinstance(values, list) and values and isinstance(values[0], str):
            return values[0]
    return None


def _parse_toml(text: str, source: str) -> dict[str, Any]:
    if len(text) > STUDY_TEXT_MAX:
        most = f"a study file of at most {STUDY_TEXT_MAX}"
        raise BrokenStudy(source, [Refusal(found=f"{len(text)} characters", expected=most, code="too-large")])
    try:
        return tomllib.loads(text)
    except (RecursionError, ValueError) as error:
        raise BrokenStudy(source, _syntax(text) or [_not_toml(one_line(str(error)))]) from None


def _not_toml(what: str, line: int | None = None) -> Refusal:
    return Refusal(text=f"not TOML: {what}", code="not-toml", line=line)


def _syntax(text: str) -> list[Refusal]:
    """The first fault of each line that is not TOML; keys that are there twice only where nothing else is wrong."""
    places = sorted(toml_faults(text))
    places = [place for place in places if place[2] != "duplicate key"] or places
    first = {line: f"{one_line(what)} (column {column})" for line, column, what in reversed(places)}
    return [_not_toml(first[line], line) for line in sorted(first)][:FAULTS_MAX]


def _tables(raw: dict[str, Any]) -> Iterator[tuple[str, Any, type[msgspec.Struct]]]:
    """Every table of a study that has fixed keys, with its path and the struct that says which."""
    yield "", raw, Study
    yield "state", raw.get("state"), State
    for name, table in _named(raw, "factor"):
        yield join("factor", name), table, Factor
    stages = raw.get("stage")
    for index, stage in enumerate(stages if isinstance(stages, list) else []):
        yield f"stage[{index}]", stage, Stage
    for name, table in _named(raw, "workload"):
        path = join("workload", name)
        yield path, table, OwnWorkload
        rows = table.get("access") if isinstance(table, dict) else None
        for index, row in enumerate(rows if isinstance(rows, list) else []):
            yield f"{path}.access[{index}]", row, AccessRow
    for name, table in _named(raw, "measure"):
        path = join("measure", name)
        yield path, table, Measure
        if isinstance(table, dict):
            yield f"{path}.stop", table.get("stop"), StopRule
            yield f"{path}.repeat", table.get("repeat"), Repeat
    for name, table in _named(raw, "torture"):
        yield join("torture", name), table, Torture
    compare = raw.get("compare")
    yield "compare", compare, Compare
    if isinstance(compare, dict):
        yield "compare.relevance", compare.get("relevance"), Relevance


def _named(raw: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    """The entries of the table of tables `key`; none when it is not a table, which `_convert` reports."""
    tables = raw.get(key)
    return list(tables.items()) if isinstance(tables, dict) else []


def _check_keys(faults: Faults, path: str, table: Any, struct: type[msgspec.Struct]) -> None:
    """Report unknown keys; a table is then read as if each had the name of the known key that is close."""
    if not isinstance(table, dict):
        return
    known = sorted(struct.__struct_fields__, key=lambda key: key in HOW_KEYS)
    for key in [key for key in table if key not in known]:
        close = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(known)}"
        faults.add_refusal(Refusal(join(path, key), advice=hint, code="unknown-key", text="unknown key"))
        value = table.pop(key)
        if close and isinstance(value, dict) and isinstance(table.get(close[0]), dict):
            table[close[0]] |= value
        elif close and close[0] not in table:
            table[close[0]] = value
            faults.mark(join(path, close[0]))


def _convert(faults: Faults, path: str, value: Any, struct: type[S]) -> S | None:
    """A table as a struct. What has the wrong type is reported and left out; None where nothing is left to read."""
    seen: set[str] = set()
    while True:
        try:
            return msgspec.convert(value, struct)
        except msgspec.ValidationError as error:
            wrong = mismatch_of(error, struct)
            where, holder, found = _walk(path, value, wrong.steps)
            faults.add_refusal(wrong.refusal(where, found))
            faults.mark(where)
            if (where in seen and not wrong.is_missing) or not _repair(holder, wrong):
                return None
            seen.add(where)


def _walk(path: str, value: Any, steps: list[str]) -> tuple[str, Any, Any]:
    """The path of what steps lead to below `value`, what holds it, and it itself; None where it is missing."""
    holder: Any = None
    for step in steps:
        holder = value
        if isinstance(holder, list):
            path, value = f"{path}[{step}]", holder[int(step)]
        else:
            path, value = join(path, step), holder.get(step)
    return path, holder, value


def _repair(holder: Any, wrong: Mismatch) -> bool:
    """Leave out a value that cannot be read, or put a stand-in in its place; whether the others can be read then."""
    if not wrong.steps:
        return False
    key = wrong.steps[-1]
    if isinstance(holder, list):
        table = {"size": "4KiB"} if "access" in wrong.steps else {"name": f"unnamed-{key}", "idle": "1 s"}
        stand_ins: dict[str, Any] = {"int": 1, "str": "unnamed", "array": [], "": 1}
        holder[int(key)] = stand_ins.get(wrong.wanted, table)
        return True
    if not isinstance(holder, dict):
        return False
    if holder.pop(key, None) is None and key in _STAND_INS:
        holder[key] = _STAND_INS[key]
        return True
    return not wrong.is_missing
