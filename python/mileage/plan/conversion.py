"""Plain values as structs: what msgspec finds wrong with them, in the words of a study file.

Scope: the types and ranges that stand at the fields of the structs, and nowhere else. msgspec says what is
wrong in a sentence only; this is the one place that reads it.
A mismatch is a value, and who converts decides what follows from it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from mileage.errors import Refusal
from mileage.plan.faults import Faults, join, steps_of
from mileage.plan.ranges import WHOLE_MAX
from mileage.plan.study import Factor, Measure, OwnWorkload, Study, Torture

S = TypeVar("S", bound=msgspec.Struct)

_AT: Final = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?", re.S)
_TYPES: Final = re.compile(r"Expected `(?P<expected>[^`]*)`, got `[^`]*`")
_MISSING: Final = re.compile(r"Object missing required field `(?P<key>[^`]*)`")
_RANGE: Final = re.compile(r"Expected `(?:int|float)` [<>]=? .*")
_ENUM: Final = re.compile(r"Invalid enum value .*")

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


class Mismatch(NamedTuple):
    """The first thing that a value and a struct do not agree in."""

    steps: list[str]
    """The keys and indices that lead to it."""
    what: str
    """Error message of msgspec."""
    struct: type[msgspec.Struct]

    @property
    def is_missing(self) -> bool:
        """Whether the error is a missing key that is required."""
        return _MISSING.fullmatch(self.what) is not None

    @property
    def wanted(self) -> str:
        """The first type that could be there, in msgspec's words: "int", "object"; empty where it is another fault."""
        types = _TYPES.match(self.what)
        return types["expected"].partition(" ")[0] if types else ""

    def refusal(self, where: str, found: Any) -> Refusal:
        """The fault of the value `found` at `where`."""
        if self.is_missing:
            return Refusal(where, text="missing", advice="it must be given", code="missing")
        choices = [
            str(value)
            for kind in _kinds(self.struct, self.steps)
            if isinstance(kind, inspect.LiteralType)
            for value in kind.values
        ]
        if choices and _TYPES.fullmatch(self.what):
            return Refusal(where, shown(found), _listed(choices), code="wrong-type")
        if types := _TYPES.fullmatch(self.what):
            if self.wanted == "str" and isinstance(found, dict):
                # msgspec does not say which value of a table of texts is none.
                key = next((key for key, value in found.items() if not isinstance(value, str)), "")
                where, found = join(where, key), found.get(key)
            words = [word.strip() for word in types["expected"].split("|") if word.strip() != "null"]
            expected = " or ".join(_WORDS.get(word, word) for word in words)
            return Refusal(where, shown(found), expected, code="wrong-type")
        at = _kinds(self.struct, self.steps)
        if _RANGE.fullmatch(self.what) and (
            ranges := [text for kind in at if (text := range_words(kind, found))]
        ):
            return Refusal(where, shown(found), ranges[0], code="out-of-range")
        if _ENUM.fullmatch(self.what):
            return Refusal(where, shown(found), _listed(choices), code="unknown-word")
        return Refusal(where, shown(found), text=self.what, code="wrong-value")


def mismatch_of(error: msgspec.ValidationError, struct: type[msgspec.Struct]) -> Mismatch:
    """The mismatch described by an error of msgspec, for a value that is not a `struct`."""
    match = _AT.fullmatch(str(error))
    assert match is not None
    # msgspec writes "[...]" for the value of an unnamed key: the path is known only up to there.
    steps = steps_of((match["path"] or "$").removeprefix("$").partition("[...]")[0])
    missing = _MISSING.fullmatch(match["what"])
    return Mismatch(steps + ([missing["key"]] if missing else []), match["what"], struct)


def is_in_range(value: msgspec.Struct) -> bool:
    """Whether the numbers of a struct made in Python are within the ranges of its types."""
    try:
        msgspec.convert(msgspec.to_builtins(value), type(value))
    except msgspec.ValidationError:
        return False
    return True


def range_words(kind: inspect.Type, found: float) -> str:
    """Describe the permitted range of a number in words ("from 1 to 64"); empty when it has no limits."""
    if isinstance(kind, inspect.IntType):
        low, high = kind.ge, kind.le
        if low is not None and high is not None and (found > high or high < WHOLE_MAX):
            return f"a whole number from {low} to {high}"
        return f"a whole number, {low} or more" if low is not None else ""
    if isinstance(kind, inspect.FloatType) and kind.gt is not None and kind.lt is not None:
        return f"above {kind.gt:g} and below {kind.lt:g} (0.02 is 2 %)"
    return ""


def _kinds(struct: type[msgspec.Struct], steps: Sequence[str]) -> list[inspect.Type]:
    """The types that may stand where steps lead to."""
    kinds = [inspect.type_info(struct)]
    for step in steps:
        kinds = [below for kind in kinds for one in _members(kind) for below in _below(one, step)]
    return [one for kind in kinds for one in _members(kind)]


def _members(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _below(kind: inspect.Type, step: str) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.StructType):
        yield from (field.type for field in kind.fields if field.encode_name == step)
    elif isinstance(kind, inspect.DictType):
        yield kind.value_type
    elif isinstance(kind, inspect.VarTupleType | inspect.ListType):
        yield kind.item_type


def _listed(choices: Sequence[str]) -> str:
    quoted = [f'"{choice}"' for choice in choices]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted) or "another word"


def shown(value: Any) -> str:
    """A value as it stands in a study file, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    text = (
        f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
    )
    return text if len(text) <= 60 else text[:57] + "..."


def study_from(raw: dict[str, Any], faults: Faults) -> Study:
    """The study that plain values describe, read past what is wrong with them, which is put among the faults.

    Raises BrokenStudy where nothing is left to read.
    """
    factors = _tables(faults, raw, "factor", Factor)
    workloads = _tables(faults, raw, "workload", OwnWorkload)
    measures = _tables(faults, raw, "measure", Measure)
    tortures = _tables(faults, raw, "torture", Torture)
    study = converted(faults, "", {key: value for key, value in raw.items() if key not in _GROUPS}, Study)
    if study is None:
        faults.refuse_any()
    assert study is not None
    return msgspec.structs.replace(
        study, factor=factors, workload=workloads, measure=measures, torture=tortures
    )


def with_ranges_checked(study: Study, faults: Faults) -> Study:
    """The study, with what is out of its range reported and replaced by what the other rules can be checked with.

    A struct that is made in Python is not checked by msgspec.
    """
    return study_from(_in_lists(msgspec.to_builtins(study)), faults)


def _in_lists(value: Any) -> Any:
    """Plain values with lists for tuples, which cannot be changed."""
    if isinstance(value, dict):
        return {key: _in_lists(member) for key, member in value.items()}
    return [_in_lists(member) for member in value] if isinstance(value, list | tuple) else value


def _tables(faults: Faults, raw: dict[str, Any], group: str, struct: type[S]) -> dict[str, S]:
    """The tables of a group; none for one that is no table."""
    tables = raw.get(group, {})
    if not isinstance(tables, dict):
        faults.add(group, found=shown(tables), expected="a table", code="wrong-type")
        faults.mark(group)
    found = {
        name: converted(faults, join(group, name), table, struct) for name, table in named_tables(raw, group)
    }
    return {name: table for name, table in found.items() if table is not None}


def named_tables(raw: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    """The entries of the table of tables `key`; none when it is not a table, which is reported elsewhere."""
    tables = raw.get(key)
    return list(tables.items()) if isinstance(tables, dict) else []


def converted(faults: Faults, path: str, value: Any, struct: type[S]) -> S | None:
    """A table as a struct. What has the wrong type is reported and skipped; None where nothing is left to read."""
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
    """Skip a value that cannot be read, or put a stand-in in its place; whether the others can be read then."""
    if not wrong.steps:
        return False
    key = wrong.steps[-1]
    if isinstance(holder, list):
        table = {"size": "4KiB"} if "access" in wrong.steps else {"name": f"unnamed-{key}", "idle": "1 s"}
        other = next(number for number in itertools.count(1) if number not in holder)
        stand_ins: dict[str, Any] = {"int": other, "str": "unnamed", "array": [], "": other}
        holder[int(key)] = stand_ins.get(wrong.wanted, table)
        return True
    if not isinstance(holder, dict):
        return False
    if holder.pop(key, None) is None and key in _STAND_INS:
        holder[key] = _STAND_INS[key]
        return True
    return not wrong.is_missing
