"""The folder of saved tables: new, whole, or not there.

Scope: a folder in a scratch directory next to it, which is renamed when everything in it is on the disk; what a crash
leaves of that is removed by the next one. Refuses to write where something is already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec

from mileage.errors import Refused, RunFailed
from mileage.scratch import scratch_directory
from mileage.store.export_tables import Column, Table
from mileage.store.sql import sql_source, sql_text
from mileage.store.text_cells import written
from mileage.targets.door import refuse_folder
from mileage.terminal import columns_of, harmless

_RULES = r"""Numbers have all their digits. An empty cell means: not known. An empty text is `""`.

In CSV and Markdown a text is written so that it does nothing to who opens it, and can be read back exactly:

- a backslash is doubled, and a control character, a line feed, a mark of direction, or a space at either end is
  written `\uXXXX`, as in JSON;
- a text that a spreadsheet would calculate (it begins with `=`, `+`, `-` or `@`), or that begins with an apostrophe,
  has an apostrophe before it, which does not belong to it;
- in Markdown, signs that Markdown or HTML obey have a backslash before them.

JSON and Parquet hold texts as they are.
"""


def refuse_existing(out: Path) -> None:
    """Refuse a place where something is already, or that has no folder to stand in."""
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise Refused(
            out, "exists", advice="nothing is written over: name a new folder with --out", code="exists"
        )
    refuse_folder("--out", out)


def write_tables(
    word: str, tables: Sequence[Table], out: Path, *, title: str, missing: Sequence[str] = ()
) -> list[Path]:
    """Write tables in a format into a new folder, with a README that says what they are; the files' final paths.

    `missing`: sentences on what is not in them.

    Raises:
        Refused: something is there already.
        RunFailed: the folder could not be written; nothing of it is left.
    """
    ending, write = FORMATS[word]

    def fill(part: Path) -> None:
        for table in tables:
            write(table, part / f"{table.name}.{ending}")
        (part / "README.md").write_text(_readme(ending, tables, title, missing), encoding="utf-8")

    return _write_folder(out, fill)


def write_files(files: Iterable[tuple[str, bytes]], readme: str, out: Path) -> list[Path]:
    """Write files of given names into a new folder, with a README; the files' final paths. Raises as `write_tables`."""

    def fill(part: Path) -> None:
        for name, content in files:
            (part / name).write_bytes(content)
        (part / "README.md").write_text(readme, encoding="utf-8")

    return _write_folder(out, fill)


def _write_folder(out: Path, fill: Callable[[Path], None]) -> list[Path]:
    """Fill a scratch folder, bring it onto the disk, and rename it. Raises as `write_tables`."""
    refuse_existing(out)
    try:
        with scratch_directory(out.absolute().parent) as scratch:
            part = scratch / "tables"
            part.mkdir()
            fill(part)
            for path in part.iterdir():
                _force(path)
            _force(part)
            # Replace an empty folder only: anything else that appeared meanwhile is not ours.
            os.rename(part, out)
            _force(out.absolute().parent)
    except OSError as cause:
        raise RunFailed.from_os_error(f"writing {out}", cause) from cause
    return sorted(out.iterdir())


def _force(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _readme(ending: str, tables: Sequence[Table], title: str, missing: Sequence[str]) -> str:
    parts = [f"# {_one_line(title)}\n"]
    parts += [f"{_one_line(sentence)}\n" for sentence in missing]
    for table in tables:
        parts.append(f"## {table.name}.{ending}\n\n{table.meaning}\n")
        described = [
            (column, f": {_one_line(column.meaning)}" if column.meaning else "") for column in table.columns
        ]
        parts.append(
            "\n".join(f"- `{written(c.name)}` ({c.kind.lower()}){meaning}" for c, meaning in described) + "\n"
        )
    return "\n".join([*parts, "## How values are written\n", _RULES])


def _one_line(text: str) -> str:
    return written(text).replace("<", "&lt;").replace("`", "'")


# The four formats of a saved table. Each writes row by row and gives back the same values when it is read.
# Scope: CSV as RFC 4180 with a header, one line per row; JSON as a list of objects, one to a line; Markdown as a table
# whose columns stand under each other; Parquet by DuckDB.

_WIDEST: Final = 48
"""Columns to which a cell of a Markdown table is filled up; what is longer sticks out."""
_NUMBERS: Final = ("INTEGER", "BIGINT", "UBIGINT", "DOUBLE")
_MARKED: Final = re.compile(r'[\\`*\[\]<>|&~#!"]')
"""Characters that Markdown or HTML would interpret, and the sign of an empty text."""


def write_csv(table: Table, path: Path) -> None:
    """A header and one line per row."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(",".join(_field(column.name) for column in table.columns) + "\n")
        for row in table.rows():
            file.write(",".join(_field(row.get(column.name)) for column in table.columns) + "\n")


def _field(value: Any) -> str:
    text = written(value)
    if value == "" or any(letter in text for letter in ',"'):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_json(table: Table, path: Path) -> None:
    """Write a table as a JSON array with one object per row; unknown values are null."""
    with open(path, "w", encoding="utf-8") as file:
        before = "[\n"
        for row in table.rows():
            whole = {column.name: row.get(column.name) for column in table.columns}
            # Escape characters that steer a terminal: JSON allows such escapes, so the content stays the same.
            file.write(before + harmless(msgspec.json.encode(whole).decode()))
            before = ",\n"
        file.write("[]\n" if before == "[\n" else "\n]\n")


def write_markdown(table: Table, path: Path) -> None:
    """A heading and a table; its raw text is as readable as what it renders to."""
    names = [_marked(column.name) for column in table.columns]
    widths = [max(3, columns_of(name)) for name in names]
    for cells in _cells(table):
        widths = [
            max(width, min(columns_of(cell), _WIDEST)) for width, cell in zip(widths, cells, strict=True)
        ]
    numbers = [column.kind in _NUMBERS for column in table.columns]
    rules = ["-" * (width - number) + ":" * number for width, number in zip(widths, numbers, strict=True)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# {table.name}\n\n{table.meaning}\n\n")
        _line(file, names, widths, numbers)
        _line(file, rules, widths, numbers)
        for cells in _cells(table):
            _line(file, cells, widths, numbers)


def _cells(table: Table) -> Iterator[list[str]]:
    for row in table.rows():
        values = (row.get(column.name) for column in table.columns)
        yield [
            _marked(written(value)) if isinstance(value, str) and value else _bare(value) for value in values
        ]


def _bare(value: Any) -> str:
    return '""' if value == "" else written(value)


def _marked(text: str) -> str:
    """A text without the power of Markdown and HTML: what they obey gets a backslash before it."""
    return _MARKED.sub(r"\\\g<0>", text)


def _line(file: TextIO, cells: list[str], widths: list[int], numbers: list[bool]) -> None:
    padded = []
    for cell, width, number in zip(cells, widths, numbers, strict=True):
        space = " " * (width - columns_of(cell))
        padded.append(f"{space}{cell}" if number else f"{cell}{space}")
    file.write(f"| {' | '.join(padded)} |\n")


def write_parquet(table: Table, path: Path) -> None:
    """Numbers and texts as they are."""
    import duckdb

    staged = path.with_name(f".{path.name}.jsonl")
    longest = 16 << 20
    keys = [f"c{number}" for number in range(len(table.columns))]
    with open(staged, "wb") as lines:
        for row in table.rows():
            values = (row.get(column.name) for column in table.columns)
            line = msgspec.json.encode(dict(zip(keys, values, strict=True)))
            longest = max(longest, lines.write(line + b"\n"))
    # Rename the columns last, because a name may contain any character.
    kinds = ", ".join(f"{key}: '{column.kind}'" for key, column in zip(keys, table.columns, strict=True))
    chosen = ", ".join(f"{key} AS {_name(column)}" for key, column in zip(keys, table.columns, strict=True))
    with duckdb.connect(config={"threads": 1, "memory_limit": "1GiB"}) as connection:
        connection.execute(
            f"COPY (SELECT {chosen} FROM read_json({sql_source(staged)}, format='newline_delimited', "
            f"columns={{{kinds}}}, maximum_object_size={longest})) TO {sql_text(str(path))} "
            "(FORMAT parquet, COMPRESSION zstd)"
        )
    staged.unlink()


def _name(column: Column) -> str:
    return '"' + column.name.replace('"', '""') + '"'


FORMATS: Final[dict[str, tuple[str, Callable[[Table, Path], None]]]] = {
    "csv": ("csv", write_csv),
    "parquet": ("parquet", write_parquet),
    "json": ("json", write_json),
    "markdown": ("md", write_markdown),
}
"""Suffix and writer of each format, by the format's name on the command line."""
