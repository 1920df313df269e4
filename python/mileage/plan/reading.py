"""From the text of a study file to a checked `Study`.

What it models: TOML whose keys and types are those of `study.Study`. Every error is one line: the source, the
path of the value ("measure.throughput.record[0]"), what was found, what was expected.
What it refuses: keys that are not known, with the closest known one; wrong types; and, through `checking`,
values that make no sense whatever the target is.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

from mileage.errors import Refused
from mileage.plan.checking import check_study
from mileage.plan.factors import TARGET_NAMES
from mileage.plan.how import HOW_KEYS
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

S = TypeVar("S", bound=msgspec.Struct)

STUDY_TEXT_MAX: Final = 1 << 20
"""Characters in a study file at most."""

_SYNTAX: Final = re.compile(
    r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.S
)
_AT: Final = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?", re.S)
_TYPES: Final = re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<found>[^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `(?P<key>[^`]*)`")
_ENUM: Final = re.compile(r"Invalid enum value (?P<found>.*)")
_STEP: Final = re.compile(r"\.?([A-Za-z_0-9]+)|\[(\d+)\]")

_NAMED: Final[dict[str, type[Any]]] = {
    "measure": Measure,
    "torture": Torture,
    "workload": OwnWorkload,
    "factor": Factor,
}
"""The tables of tables, whose keys are names, and what each entry is."""
_WORDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "datetime": "a date",
    "date": "a date",
    "time": "a time of day",
}


def parse_study(text: str, source: str) -> Study:
    """The study that a TOML text describes. `source` names the text in messages: a path or a study's name.

    Raises Refused with one line for the first thing that is wrong.
    """
    raw = _parse_toml(text, source)
    if "target" not in raw and (first := _first_target(raw)) is not None:
        raw["target"] = first
    for path, table, struct in _tables(raw):
        _check_keys(source, path, table, struct)
    tables = {
        kind: {
            name: _convert(source, join(kind, _key(name)), table, struct) for name, table in _named(raw, kind)
        }
        for kind, struct in _NAMED.items()
    }
    rest = {key: value for key, value in raw.items() if key not in _dropped(raw)}
    study = msgspec.structs.replace(_convert(source, "", rest, Study), **tables)
    study = with_profiles(study)
    check_study(study, source)
    return study


def _first_target(raw: dict[str, Any]) -> str | None:
    """The first level of a factor whose levels are targets; None when no factor says so."""
    for name, table in _named(raw, "factor"):
        if not isinstance(table, dict) or not (table.get("kind") == "target" or name in TARGET_NAMES):
            continue
        levels = table.get("levels")
        values = list(levels.values()) if isinstance(levels, dict) else levels
        if isinstance(values, list) and values and isinstance(values[0], str):
            return values[0]
    return None


def _parse_toml(text: str, source: str) -> dict[str, Any]:
    if len(text) > STUDY_TEXT_MAX:
        raise Refused(f"{source}: {len(text)} characters; expected a study file of at most {STUDY_TEXT_MAX}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _SYNTAX.fullmatch(str(error))
        if match is None:
            raise Refused(f"{source}: not TOML: {_one_line(str(error))}") from None
        line = match["line"] or str(text.count("\n") + 1)
        column = f", column {match['column']}" if match["column"] else ", at the end"
        raise Refused(f"{source}: line {line}{column}: not TOML: {_one_line(match['what'])}") from None
    except (RecursionError, ValueError) as error:
        raise Refused(f"{source}: not TOML that can be read: {_one_line(str(error))}") from None


def _tables(raw: dict[str, Any]) -> Iterator[tuple[str, Any, type[msgspec.Struct]]]:
    """Every table of a study that has fixed keys, with its path and the struct that says which."""
    yield "", raw, Study
    yield "state", raw.get("state"), State
    for name, table in _named(raw, "factor"):
        yield join("factor", _key(name)), table, Factor
    stages = raw.get("stage")
    for index, stage in enumerate(stages if isinstance(stages, list) else []):
        yield f"stage[{index}]", stage, Stage
    for name, table in _named(raw, "workload"):
        path = join("workload", _key(name))
        yield path, table, OwnWorkload
        rows = table.get("access") if isinstance(table, dict) else None
        for index, row in enumerate(rows if isinstance(rows, list) else []):
            yield f"{path}.access[{index}]", row, AccessRow
    for name, table in _named(raw, "measure"):
        path = join("measure", _key(name))
        yield path, table, Measure
        if isinstance(table, dict):
            yield f"{path}.stop", table.get("stop"), StopRule
            yield f"{path}.repeat", table.get("repeat"), Repeat
    for name, table in _named(raw, "torture"):
        yield join("torture", _key(name)), table, Torture
    compare = raw.get("compare")
    yield "compare", compare, Compare
    if isinstance(compare, dict):
        yield "compare.relevance", compare.get("relevance"), Relevance


def _named(raw: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    """The entries of the table of tables `key`; none when it is not a table, which `_convert` reports."""
    tables = raw.get(key)
    return list(tables.items()) if isinstance(tables, dict) else []


def _dropped(raw: dict[str, Any]) -> set[str]:
    return {key for key in _NAMED if isinstance(raw.get(key), dict)}


def _check_keys(source: str, path: str, table: Any, struct: type[msgspec.Struct]) -> None:
    if not isinstance(table, dict):
        return
    fields = struct.__struct_fields__
    known = sorted(fields, key=lambda key: key in HOW_KEYS)
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(known)}"
            raise Refused(f"{source}: {join(path, _key(key))}: unknown key; {hint}")


def _convert(source: str, path: str, value: Any, struct: type[S]) -> S:
    try:
        return msgspec.convert(value, struct)
    except msgspec.ValidationError as error:
        match = _AT.fullmatch(str(error))
        assert match is not None
        inner = (match["path"] or "$").removeprefix("$")
        where = join(path, inner.removeprefix(".")) if inner else path
        raise Refused(f"{source}: {_said(where, match['what'], _found(value, inner))}") from None


def _said(where: str, what: str, found: Any) -> str:
    """One line for a message of msgspec about the value `found` at `where`."""
    if types := _TYPES.fullmatch(what):
        words = [word.strip() for word in types["expected"].split("|") if word.strip() != "null"]
        expected = " or ".join(_WORDS.get(word, word) for word in words)
        return f"{where or 'the study'}: found {_shown(found)}, expected {expected}"
    if missing := _MISSING.fullmatch(what):
        return f"{join(where, missing['key'])}: missing; it must be given"
    if _ENUM.fullmatch(what):
        return f"{where}: found {_shown(found)}, expected {_choices(where)}"
    return f"{where or 'the study'}: found {_shown(found)}: {_one_line(what)}"


def _choices(where: str) -> str:
    choices = {
        "sync": '"none", "fsync" or "fdatasync"',
        "files": '"shared" or "per_thread"',
        "spacing": '"constant" or "poisson"',
    }
    return choices.get(where.rpartition(".")[2], "another word")


def _found(value: Any, path: str) -> Any:
    """The value at a path such as ".record[0]" below `value`."""
    for step in _STEP.finditer(path):
        value = value[step[1]] if step[1] is not None else value[int(step[2])]
    return value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return _one_line(text if len(text) <= 60 else text[:57] + "...")


def join(path: str, key: str) -> str:
    """The path of a key below a path."""
    return f"{path}.{key}" if path and key else path or key


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else repr(key)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
