"""From the text of a study file to a checked `Study`.

Scope: TOML whose keys and types are those of `study.Study`. Every fault has the path of its value
("measure.throughput.record[0]"), what was found, what was expected; the search for further faults goes past it.
What it refuses: keys that are not known, with the closest known one; wrong types; and, through `study_checks`,
values that make no sense whatever the target is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from mileage._core import toml_faults
from mileage.errors import Refusal, Refused, closest
from mileage.plan.conversion import named_tables, study_from
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


def parse_study(text: str, source: str, target_of: Callable[[str], str] | None = None) -> Study:
    """The study that a TOML text describes. `source` names the text in messages: a path or a study's name.

    `target_of` gives a target that is a bare path its scheme, and raises Refused for one that is none.

    Raises BrokenStudy with everything that is wrong.
    """
    return study_of_values(parse_toml(text, source), Faults(source), target_of)


def study_of_values(
    raw: dict[str, Any], faults: Faults, target_of: Callable[[str], str] | None = None
) -> Study:
    """The study that the values of a TOML text describe; `faults` has those that are known already.

    Raises BrokenStudy with everything that is wrong.
    """
    if target_of is not None:
        _give_schemes(raw, target_of, faults)
    if "target" not in raw and (first := _first_target(raw)) is not None:
        raw["target"] = first
    for path, table, struct in _tables(raw):
        check_keys(faults, path, table, struct)
    study = with_profiles(study_from(raw, faults))
    check_study(study, faults.source, faults)
    return study


def _give_schemes(raw: dict[str, Any], target_of: Callable[[str], str], faults: Faults) -> None:
    """Give the targets of a study file their schemes; report those that are none, and read them as null:."""
    holders: list[tuple[str, Any, str | int]] = [("target", raw, "target")] if "target" in raw else []
    for name, table in named_tables(raw, "factor"):
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
    for name, table in named_tables(raw, "factor"):
        if not _names_targets(name, table):
            continue
        levels = table.get("levels")
        values = list(levels.values()) if isinstance(levels, dict) else levels
        if isinstance(values, list) and values and isinstance(values[0], str):
            return values[0]
    return None


def parse_toml(text: str, source: str, what: str = "a study file") -> dict[str, Any]:
    """The values of a TOML text. `what` the text is, in the message for one that is too long.

    Raises BrokenStudy with the first fault of each line that is not TOML.
    """
    if len(text) > STUDY_TEXT_MAX:
        most = f"{what} of at most {STUDY_TEXT_MAX}"
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
    for name, table in named_tables(raw, "factor"):
        yield join("factor", name), table, Factor
    stages = raw.get("stage")
    for index, stage in enumerate(stages if isinstance(stages, list) else []):
        yield f"stage[{index}]", stage, Stage
    for name, table in named_tables(raw, "workload"):
        path = join("workload", name)
        yield path, table, OwnWorkload
        rows = table.get("access") if isinstance(table, dict) else None
        for index, row in enumerate(rows if isinstance(rows, list) else []):
            yield f"{path}.access[{index}]", row, AccessRow
    for name, table in named_tables(raw, "measure"):
        path = join("measure", name)
        yield path, table, Measure
        if isinstance(table, dict):
            yield f"{path}.stop", table.get("stop"), StopRule
            yield f"{path}.repeat", table.get("repeat"), Repeat
    for name, table in named_tables(raw, "torture"):
        yield join("torture", name), table, Torture
    compare = raw.get("compare")
    yield "compare", compare, Compare
    if isinstance(compare, dict):
        yield "compare.relevance", compare.get("relevance"), Relevance


def check_keys(faults: Faults, path: str, table: Any, struct: type[msgspec.Struct]) -> None:
    """Report unknown keys; a table is then read as if each had the name of the known key that is close."""
    if not isinstance(table, dict):
        return
    known = sorted(struct.__struct_fields__, key=lambda key: key in HOW_KEYS)
    for key in [key for key in table if key not in known]:
        close = closest(key, known)
        hint = f"did you mean {close!r}?" if close else f"expected one of {', '.join(known)}"
        faults.add_refusal(Refusal(join(path, key), advice=hint, code="unknown-key", text="unknown key"))
        value = table.pop(key)
        if close and isinstance(value, dict) and isinstance(table.get(close), dict):
            table[close] |= value
        elif close and close not in table:
            table[close] = value
            faults.mark(join(path, close))
