"""SQL over the tables of many studies.

What it models: `samples`, `series`, `latency` and `counters` of every given folder as one table each, with the columns
`folder` and `study` before their own, and `studies` with one row per folder. A table that is older than its journal is
made again first, so that a study can be asked while it runs; only the tables that a query names are looked at.
What it refuses: a folder that is no study, and SQL that DuckDB refuses, with its message in one line.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.errors import Refused
from mileage.record.folder import StudyFolder
from mileage.record.sql import sql_source, sql_text
from mileage.record.tables import PRINTED, TABLES, write_tables
from mileage.scratch import scratch_directory

STUDIES: Final = "studies"
_NAMES: Final = (*TABLES, PRINTED, STUDIES)
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


class _Named(msgspec.Struct):
    """What a study is called."""

    name: str
    target: str


class _Planned(msgspec.Struct):
    """What a plan says of itself, its runs left unread but counted."""

    study: _Named
    hash: str
    runs: list[msgspec.Raw]


def study_folders(places: Iterable[Path]) -> list[Path]:
    """The study folders among some places and directly below them, sorted within each. Raises Refused for none."""
    found: list[Path] = []
    for place in places:
        if (place / "plan.json").is_file():
            found.append(place)
            continue
        below = sorted(path.parent for path in place.glob("*/plan.json")) if place.is_dir() else []
        if not below:
            raise Refused(
                f"{place} holds no study folder; give folders that `mileage run` made, or one that has them"
            )
        found += below
    return list(dict.fromkeys(found))


def study_row(folder: Path) -> dict[str, Any]:
    """What a study folder holds: a row of the table `studies`."""
    found = StudyFolder.open(folder)
    try:
        planned = msgspec.json.decode(found.plan_json.read_bytes(), type=_Planned)
    except msgspec.DecodeError as cause:
        raise Refused(f"{found.plan_json} is damaged ({cause})") from cause
    head, runs, ended = _counted(found.journal)
    values = (
        str(folder),
        planned.study.name,
        planned.study.target,
        planned.hash,
        head.get("started"),
        runs,
        len(planned.runs),
        ended,
        head.get("imported_at"),
    )
    return dict(zip(_STUDY_COLUMNS, values, strict=True))


def _counted(journal: Path) -> tuple[dict[str, Any], int, bool]:
    """A journal's first entry, its finished runs, and whether it has an end; lines are counted, not decoded."""
    head: dict[str, Any] = {}
    runs, ended = 0, False
    with open(journal if journal.exists() else os.devnull, "rb") as file:
        for number, line in enumerate(file):
            if number == 0 and line.endswith(b"\n"):
                head = msgspec.json.decode(line)
            runs += line.startswith(b'{"kind":"run",') and line.endswith(b"\n")
            ended = ended or line.startswith(b'{"kind":"end"')
    return head, runs, ended


class Query:
    """The tables of some study folders, for as long as this lives."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Touches nothing but the folders' names."""
        import duckdb

        self._folders = folders
        self._connection = duckdb.connect(config={"threads": 2})
        self._spare: Path | None = None
        self._opened = ExitStack()
        weakref.finalize(self, self._opened.close)
        self._ready: set[str] = set()

    def table(self, name: str) -> Any:
        """A whole table as a DuckDB relation. Raises Refused for an unknown name."""
        if name not in _NAMES:
            raise Refused(f"there is no table {name!r}; expected one of {', '.join(_NAMES)}")
        self._prepare({name})
        relation = self._connection.table(name) if name == STUDIES else self._connection.view(name)
        # The relation needs the connection, which would otherwise end with this object.
        _KEPT[id(relation)] = self
        return relation

    def sql(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names of the columns and the rows of an answer. Raises Refused with DuckDB's message."""
        import duckdb

        self._prepare({name for name in _NAMES if re.search(rf"(?i)\b{name}\b", text)})
        try:
            answer: Any = self._connection.sql(text)
            return (list(answer.columns), answer.fetchall()) if answer is not None else ([], [])
        except duckdb.Error as cause:
            raise Refused(f"query: {' '.join(str(cause).split()).partition(' Traceback')[0]}") from cause

    def _prepare(self, names: set[str]) -> None:
        for name in sorted(names - self._ready):
            if name == STUDIES:
                self._make_studies()
            else:
                self._make_view(name)
            self._ready.add(name)

    def _make_studies(self) -> None:
        columns = ", ".join(f"{key} {kind}" for key, kind in _STUDY_COLUMNS.items())
        self._connection.execute(f"CREATE TABLE {STUDIES} ({columns})")
        marks = ", ".join("?" for _ in _STUDY_COLUMNS)
        for folder in self._folders:
            row = study_row(folder)
            self._connection.execute(f"INSERT INTO {STUDIES} VALUES ({marks})", list(row.values()))

    def _make_view(self, name: str) -> None:
        parts = []
        for folder in self._folders:
            names = (sql_text(str(folder)), sql_text(_study_of(folder)), sql_source(self._file(folder, name)))
            parts.append("SELECT {} AS folder, {} AS study, * FROM read_parquet({})".format(*names))
        self._connection.execute(f"CREATE VIEW {name} AS {' UNION ALL BY NAME '.join(parts)}")

    def _file(self, folder: Path, name: str) -> Path:
        """The Parquet file of a table, made again where the journal is newer than it."""
        made = folder / f"{name}.parquet"
        journal = folder / "journal.jsonl"
        if made.exists() and (not journal.exists() or made.stat().st_mtime_ns >= journal.stat().st_mtime_ns):
            return made
        place = folder
        if not os.access(folder, os.W_OK):
            self._spare = self._spare or self._opened.enter_context(scratch_directory())
            place = self._spare / str(self._folders.index(folder))
            place.mkdir(exist_ok=True)
        write_tables(StudyFolder.open(folder).content(), place, (name,))
        return place / f"{name}.parquet"


_KEPT: Final[dict[int, Query]] = {}
"""Queries whose relations were handed out."""


def _study_of(folder: Path) -> str:
    """The name of the study in a folder, from the text of its plan."""
    for line in StudyFolder.open(folder).plan_toml.read_text(encoding="utf-8").splitlines():
        key, equals, value = line.partition(" = ")
        if equals and key == "name":
            return str(msgspec.json.decode(value))
    return folder.name
