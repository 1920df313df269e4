"""SQL over the tables of many studies.

Scope: `samples`, `series`, `latency` and `counters` of every given folder as one table each, with the columns
`folder` and `study` before their own, `studies` with one row per folder, and `cell_keys` with one per cell. A table
that is damaged, or is not of the journal as it is now, is made again first, so that a study can be asked while it runs;
only the tables that a query names are looked at. SQL reaches no other files unless that is allowed.
What it refuses: a folder that is no study, and SQL that DuckDB refuses, with its message in one line.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from mileage.errors import Refused
from mileage.json_text import decode_json
from mileage.model.journal_entries import End
from mileage.plan import Plan
from mileage.plan.cell_keys import KEY_COLUMNS, key_rows, with_keys
from mileage.scratch import scratch_directory
from mileage.store.safe_directory import Directory, open_to_read
from mileage.store.sql import is_pattern, sql_source, sql_text
from mileage.store.study_folder import StudyFolder
from mileage.store.tables import COMMITS, PRINTED, TABLES, WARM_UP, is_up_to_date, write_tables

if TYPE_CHECKING:
    import duckdb

STUDIES: Final = "studies"
CELL_KEYS: Final = "cell_keys"
_NAMES: Final = (*TABLES, WARM_UP, COMMITS, PRINTED, STUDIES, CELL_KEYS)
_STUDY_COLUMNS: Final = {
    "folder": "VARCHAR",
    "study": "VARCHAR",
    "target": "VARCHAR",
    "plan": "VARCHAR",
    "started": "TIMESTAMP",
    "runs": "BIGINT",
    "runs_planned": "BIGINT",
    "finished": "BOOLEAN",
    "imported": "TIMESTAMP",
}


_KEY_COLUMNS: Final = {"folder": "VARCHAR", "study": "VARCHAR", **KEY_COLUMNS}


class _StudyName(msgspec.Struct):
    """Name of a study."""

    name: str
    target: str


class _PlanHead(msgspec.Struct):
    """Fields of a plan without its runs, which are only counted."""

    study: _StudyName
    hash: str
    runs: list[msgspec.Raw]


def study_folders(places: Iterable[Path]) -> list[Path]:
    """The study folders among some places and directly below them, sorted within each. Raises Refused for none."""
    found: list[Path] = []
    for place in places:
        if os.path.lexists(place / "plan.json"):
            found.append(place)
            continue
        below = sorted(path.parent for path in place.glob("*/plan.json")) if place.is_dir() else []
        if not below:
            raise Refused(
                place,
                "contains no study folder",
                advice="give study folders, or a folder that contains some",
                code="not-found",
            )
        found += below
    return list(dict.fromkeys(found))


def study_row(folder: Path) -> dict[str, Any]:
    """The row of the SQL table `studies` (name, target, state, ...) for one study folder."""
    found = StudyFolder.open(folder)
    planned = found.decoded_plan(_PlanHead)
    content = found.content(around_damage=True)
    head = content.study
    values = (
        str(folder),
        planned.study.name,
        planned.study.target,
        planned.hash,
        head.started if head is not None else None,
        len(content.any_runs()),
        len(planned.runs),
        bool(content.of_kind(End)),
        head.imported_at if head is not None else None,
    )
    return dict(zip(_STUDY_COLUMNS, values, strict=True))


def _key_rows(folder: Path) -> list[dict[str, Any]]:
    """The key of every cell of a study folder: rows of the table `cell_keys`."""
    plan = with_keys(StudyFolder.open(folder).decoded_plan(Plan))
    return [{"folder": str(folder), "study": plan.study.name, **row} for row in key_rows(plan)]


_MADE: Final[dict[str, tuple[dict[str, str], Callable[[Path], list[dict[str, Any]]]]]] = {
    STUDIES: (_STUDY_COLUMNS, lambda folder: [study_row(folder)]),
    CELL_KEYS: (_KEY_COLUMNS, _key_rows),
}
"""Tables that are made from the plans, and hold rows of every folder: their columns, and a folder's rows."""


_UNIT_OF_METRIC: Final = (
    "CASE WHEN suffix(metric, '_bytes_per_s') THEN 'B/s' WHEN suffix(metric, '_per_s') THEN '1/s' "
    "WHEN suffix(metric, '_ns') THEN 'ns' WHEN suffix(metric, '_s') THEN 's' END"
)
"""The unit of a value: its metric ends in it."""


class Query:
    """The tables of some study folders, for as long as this lives."""

    def __init__(self, folders: Sequence[Path], *, allow_files: bool = False) -> None:
        """Touches nothing but the folders' names. `allow_files`: SQL may read and write files of its own."""
        self._folders = folders
        self._allow_files = allow_files
        self._spare: Path | None = None
        self._opened = ExitStack()
        weakref.finalize(self, self._opened.close)
        self._files: dict[str, list[str]] = {}
        """The sources of each table, as SQL has them."""
        self._open: list[BinaryIO] = []
        self.notes: list[str] = []
        """Notes about rows that are missing because lines of a journal are damaged or were edited."""

    def table(self, name: str) -> Any:
        """A whole table as a DuckDB relation. Raises Refused for an unknown name."""
        if name not in _NAMES:
            raise Refused(
                "", f"there is no table {name!r}", expected=f"one of {', '.join(_NAMES)}", code="unknown-name"
            )
        connection = self._connect([name])
        relation = connection.table(name) if name in _MADE else connection.view(name)
        # Keep a reference to the connection: the relation needs it, and it would be closed with this object.
        _KEPT[id(relation)] = (self, connection)
        return relation

    def sql(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names of the columns and the rows of an answer. Raises Refused with DuckDB's message."""
        import duckdb

        with self._connect([name for name in _NAMES if re.search(rf"(?i)\b{name}\b", text)]) as connection:
            try:
                answer: Any = connection.sql(text)
                return (list(answer.columns), answer.fetchall()) if answer is not None else ([], [])
            except duckdb.PermissionException as cause:
                raise Refused(
                    "query",
                    _first_line(cause),
                    advice="--allow-files lets SQL read and write files",
                    code="unsupported",
                ) from cause
            except duckdb.Error as cause:
                raise Refused("query", _first_line(cause), code="wrong-value") from cause

    def _connect(self, names: Sequence[str]) -> duckdb.DuckDBPyConnection:
        """A connection with these tables, which reaches no other file unless that is allowed."""
        import duckdb

        for name in names:
            if name not in _MADE and name not in self._files:
                self._files[name] = [self._source(self._file(folder, name)) for folder in self._folders]
        connection = duckdb.connect(config={"threads": 2})
        if not self._allow_files:
            files = ", ".join(file for name in names for file in self._files.get(name, ()))
            connection.execute(f"SET allowed_paths = [{files}]")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        for name in names:
            if name in _MADE:
                self._make_table(connection, name)
            else:
                self._make_view(connection, name)
        return connection

    def _make_table(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        kinds, rows_of = _MADE[name]
        columns = ", ".join(f"{key} {kind}" for key, kind in kinds.items())
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" for _ in kinds)
        for folder in self._folders:
            for row in rows_of(folder):
                connection.execute(f"INSERT INTO {name} VALUES ({marks})", list(row.values()))

    def _make_view(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        parts = []
        for folder, source in zip(self._folders, self._files[name], strict=True):
            names = (sql_text(str(folder)), sql_text(_study_of(folder)), source)
            unit = f", {_UNIT_OF_METRIC} AS unit" if name == "samples" else ""
            parts.append(
                "SELECT {} AS folder, {} AS study, *{} FROM read_parquet({})".format(*names[:2], unit, source)
            )
        connection.execute(f"CREATE VIEW {name} AS {' UNION ALL BY NAME '.join(parts)}")

    def _source(self, file: Path) -> str:
        """A file that is read from. The files that may be read are compared by their text, without a pattern."""
        if self._allow_files:
            return sql_source(file)
        if not is_pattern(file):
            return sql_text(str(file))
        self._open.append(open_to_read(file))
        return sql_text(f"/proc/self/fd/{self._open[-1].fileno()}")

    def _file(self, folder: Path, name: str) -> Path:
        """The Parquet file of a table; made again where it is not the table of the journal as it is now."""
        found = StudyFolder.open(folder)
        if is_up_to_date(found.directory, name):
            return folder / f"{name}.parquet"
        content = found.content(around_damage=True)
        self.notes += [f"{folder}: {problem}" for problem in content.problems]
        if os.access(folder, os.W_OK):
            write_tables(content, found.directory, (name,))
            return folder / f"{name}.parquet"
        self._spare = self._spare or self._opened.enter_context(scratch_directory())
        place = self._spare / str(self._folders.index(folder))
        place.mkdir(exist_ok=True)
        with Directory.open(place) as made:
            write_tables(content, made, (name,))
        return place / f"{name}.parquet"


def _first_line(cause: Exception) -> str:
    return " ".join(str(cause).split()).partition(" Traceback")[0]


_KEPT: Final[dict[int, tuple[Query, duckdb.DuckDBPyConnection]]] = {}
"""Queries and connections whose relations were handed out."""


def _study_of(folder: Path) -> str:
    """The name of the study in a folder, from the text of its plan."""
    found = StudyFolder.open(folder)
    with suppress(OSError, msgspec.DecodeError):
        for line in found.read(found.plan_toml).decode(errors="replace").split("\n"):
            key, equals, value = line.partition(" = ")
            if equals and key == "name":
                return str(decode_json(value.encode()))
    return folder.name
