"""The run record of Python is the one that `mileage-measure` defines: names, order and types of its fields."""

from __future__ import annotations

import re
import typing

import msgspec
import pytest

from mileage import _core
from mileage.model import run_record
from mileage.model.histogram import Histogram
from mileage.model.operation_kind import LATENCY_KINDS

TYPES: dict[str, type[msgspec.Struct]] = {
    "RunRecord": run_record.RunRecord,
    "SplitLatencyData": run_record.SplitLatency,
    "HistogramData": Histogram,
    "SeriesData": run_record.Series,
    "Usage": run_record.Usage,
    "Concurrency": run_record.Concurrency,
    "ContentData": run_record.Content,
    "PackedData": run_record.CompressedBytes,
    "ThreadRecord": run_record.ThreadRecord,
    "Mismatch": run_record.Mismatch,
    "LogRecord": run_record.OperationLog,
    "RunError": run_record.RunError,
}
"""Each Rust type and the Python type that stands for it."""
OWN = {"RunRecord": ("audit", "results", "tasks", "phases")}
"""Fields that Python adds, after those of the core."""
SCHEMA = {name: dict(fields) for name, fields in _core.record_schema()}
_PLAIN = {"u64": "int", "u32": "int", "i64": "int", "String": "str", "bool": "bool"}


def python_type(rust: str) -> str:
    """The Python type of a Rust type, as text: "Vec<u64>" is "list[int]"."""
    rust = rust.replace(" ", "")
    if found := re.fullmatch(r"Vec<(.*)>", rust):
        return f"list[{python_type(found[1])}]"
    if found := re.fullmatch(r"Option<(.*)>", rust):
        return f"{python_type(found[1])} | None"
    if found := re.fullmatch(r"BTreeMap<String,(.*)>", rust):
        return f"dict[str, {python_type(found[1])}]"
    if found := re.fullmatch(r"\((\w+),(\w+)\)", rust):
        return f"tuple[{python_type(found[1])}, {python_type(found[2])}]"
    if rust == "LatencyData":
        return "dict[str, Histogram]"
    return _PLAIN[rust] if rust in _PLAIN else TYPES[rust].__name__


def words(hint: object) -> str:
    """A type as text, without the ranges of its numbers."""
    arguments = typing.get_args(hint)
    if hint is type(None):
        return "None"
    if type(hint).__name__ == "UnionType" or typing.get_origin(hint) is typing.Union:
        return " | ".join(words(one) for one in arguments)
    if arguments:
        return f"{typing.get_origin(hint).__name__}[{', '.join(map(words, arguments))}]"  # type: ignore[union-attr]
    return hint.__name__  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("name", SCHEMA)
def test_a_type_of_python_has_the_fields_of_the_core(name: str) -> None:
    if name == "LatencyData":
        return
    declared = typing.get_type_hints(TYPES[name])
    fields = {field: words(declared[field]) for field in TYPES[name].__struct_fields__}
    own = OWN.get(name, ())
    expected = {field: python_type(rust) for field, rust in SCHEMA[name].items()}
    assert {field: kind for field, kind in fields.items() if field not in own} == expected
    assert list(fields) == [*expected, *own]


def test_every_type_of_the_core_has_one_of_python() -> None:
    assert SCHEMA.keys() == TYPES.keys() | {"LatencyData"}


def test_kinds_of_latencies_are_those_of_the_core() -> None:
    assert {*LATENCY_KINDS, "response"} == SCHEMA["LatencyData"].keys()
