"""What is saved is read back exactly, by other programs, whatever stands in it."""

import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from mileage.store.export_folder import FORMATS
from mileage.store.export_tables import Column, Table
from mileage.store.text_cells import meant, written

HOSTILE = (
    "=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\uff1d1", "'quoted", "''", "a|b", "a\nb", "\r\n", "\t=1", "",
    " ", " padded ", '"', '""', 'say "no"', "a,b", "\\", "\\u0041", "\\\\n", "\x1b[31m", "\u202eevil", "\u2028",
    "\U000e0041", "<script>alert(1)</script>", "[x](javascript:1)", "`code`", "*bold*", "# head", "&amp;", "null",
    "NULL", "NaN", "1.0", "-0", "true", "日本語", "e\u0301", "\x7f", "\x00",
)  # fmt: skip
COLUMNS = (
    Column("text", "VARCHAR"), Column("other", "VARCHAR"), Column("value_ns", "DOUBLE"), Column("count", "BIGINT"),
    Column("seed", "UBIGINT"), Column("holds", "BOOLEAN"),
)  # fmt: skip
TEXTS = st.none() | st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ROWS = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "other": TEXTS,
        "value_ns": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "count": st.none() | st.integers(-(2**63), 2**63 - 1),
        "seed": st.none() | st.integers(0, 2**64 - 1),
        "holds": st.none() | st.booleans(),
    }
)


def table(rows: list[dict[str, Any]], columns: tuple[Column, ...] = COLUMNS) -> Table:
    return Table("some", "Rows.", columns, lambda: iter(rows))


def typed(column: Column, text: str | None) -> Any:
    if text is None:
        return None
    if column.kind == "VARCHAR":
        return meant(text)
    return {"DOUBLE": float, "BIGINT": int, "UBIGINT": int, "BOOLEAN": lambda t: t == "true"}[column.kind](
        text
    )


def from_csv(path: Path) -> list[dict[str, Any]]:
    """By an own reader of RFC 4180, which distinguishes `""` from nothing."""
    header, *lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    names = next(csv.reader([header]))
    found = []
    for line in lines:
        fields = re.findall(r'(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))', line)
        texts = [quoted.replace('""', '"') if quoted or not bare else bare or None for quoted, bare in fields]
        bare_nothing = [part in ("", ",") for part in re.findall(r'(?:^|,)(?:"(?:[^"]|"")*"|[^,"]*)', line)]
        texts = [None if nothing else text for text, nothing in zip(texts, bare_nothing, strict=True)]
        found.append({c.name: typed(c, text) for c, text in zip(COLUMNS, texts, strict=True)})
        assert [meant(name) for name in names] == [c.name for c in COLUMNS]
    return found


def from_json(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def from_parquet(path: Path) -> list[dict[str, Any]]:
    answer = duckdb.sql(f"SELECT * FROM read_parquet('{path}')")
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


def from_markdown(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").split("\n")
    found = []
    for line in lines[6:-1]:
        cells = re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]
        texts = [cell.strip(" ") for cell in cells]
        values = []
        for column, text in zip(COLUMNS, texts, strict=True):
            whole = None if text == "" else "" if text == '""' else text
            values.append(
                typed(column, None if whole is None else re.sub(r'\\([\\`*\[\]<>|&~#!"])', r"\1", whole))
            )
        found.append(dict(zip([c.name for c in COLUMNS], values, strict=True)))
    return found


READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "csv": from_csv,
    "json": from_json,
    "parquet": from_parquet,
    "markdown": from_markdown,
}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("word", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(rows=st.lists(ROWS, max_size=8))
def test_every_value_comes_back(word: str, tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / f"some.{word}"
    FORMATS[word][1](table(rows), path)
    found = READERS[word](path)
    assert len(found) == len(rows)
    for row, read in zip(rows, found, strict=True):
        assert all(same(value, read[key]) for key, value in row.items()), (row, read)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_meant_as_it_was_written(text: str) -> None:
    assert meant(written(text)) == text
    assert "\n" not in written(text)
    assert not written(text).startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize("word", ["csv", "json", "markdown"])
def test_nothing_in_a_file_steers_a_terminal_or_a_spreadsheet(word: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile"
    FORMATS[word][1](table([{"text": text} for text in HOSTILE]), path)
    output = path.read_text(encoding="utf-8")
    assert not set(output) & set("\x00\x1b\x7f\u202e\u2028\U000e0041\r\t")
    if word == "csv":
        cells = [row[0] for row in csv.reader(output.splitlines())][1:]
        assert len(cells) == len(HOSTILE)
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\uff1d"))]
    if word == "markdown":
        assert "<script>" not in output.replace("\\<script\\>", "")
        assert len(output.splitlines()) == 6 + len(HOSTILE)


def test_pandas_reads_the_same_numbers(tmp_path: Path) -> None:
    rows = [{"text": text, "value_ns": 0.1 * at / 3, "count": 2**62 + at} for at, text in enumerate(HOSTILE)]
    FORMATS["csv"][1](table(rows), tmp_path / "a.csv")
    found = pandas.read_csv(tmp_path / "a.csv", keep_default_na=False)
    assert list(found["value_ns"]) == [row["value_ns"] for row in rows]
    assert list(found["count"]) == [row["count"] for row in rows]
    assert [meant(text) for text in found["text"]] == list(HOSTILE)
    FORMATS["json"][1](table(rows), tmp_path / "a.json")
    assert list(pandas.read_json(tmp_path / "a.json", precise_float=True)["count"]) == [
        r["count"] for r in rows
    ]


def test_arrow_and_duckdb_read_the_same(tmp_path: Path) -> None:
    rows = [
        {"text": text, "value_ns": 0.1 * at / 3, "seed": 2**64 - 1 - at} for at, text in enumerate(HOSTILE)
    ]
    FORMATS["parquet"][1](table(rows), tmp_path / "a.parquet")
    FORMATS["csv"][1](table(rows), tmp_path / "a.csv")
    found = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [{k: row[k] for k in ("text", "value_ns", "seed")} for row in found] == rows
    kinds = ", ".join(f"'{c.name}': '{c.kind}'" for c in COLUMNS)
    read = f"read_csv('{tmp_path}/a.csv', columns={{{kinds}}}, header=true, allow_quoted_nulls=false, escape='\"')"
    output = duckdb.sql(f"SELECT text, value_ns, seed FROM {read}").fetchall()
    assert [(meant(text), value, seed) for text, value, seed in output] == [
        tuple(row.values()) for row in rows
    ]


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    columns = (Column('level_"; DROP', "VARCHAR"), Column("=1|2", "BIGINT"), Column("a'b", "DOUBLE"))
    rows = [{'level_"; DROP': "x", "=1|2": 3, "a'b": 0.5}]
    for word, (_, write) in FORMATS.items():
        write(table(rows, columns), tmp_path / word)
    assert from_parquet(tmp_path / "parquet") == rows
    assert from_json(tmp_path / "json") == rows
    assert next(csv.reader((tmp_path / "csv").read_text().splitlines()))[1] == "'=1|2"


@pytest.mark.parametrize("word", FORMATS)
def test_a_table_without_rows_is_a_file_with_its_columns(word: str, tmp_path: Path) -> None:
    FORMATS[word][1](table([]), tmp_path / "none")
    assert READERS[word](tmp_path / "none") == []
