"""Texts of a study folder that are no text: every reader refuses them, or reports them, in one line."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from mileage import app
from mileage.app.export_tables import exported_tables
from mileage.app.study import run
from mileage.errors import MileageError
from mileage.store import StudyFolder
from mileage.store.merge import merge_folders
from mileage.store.query import Query
from tests.app.test_damaged_folders import ALONE, LEVELS
from tests.execute.conftest import small_profile
from tests.store.sealing import unseal

HUGE_BYTES: Final = 3 << 30


def _in_a_text(data: bytes) -> bytes:
    """One byte that is no UTF-8 in the first text that is a value; a file without texts gets it in the middle."""
    found = re.search(rb'(?<=: ")\w|(?<=:")\w|(?<== ")\w', data)
    at = found.start() if found else len(data) // 2
    return data[:at] + b"\xff" + data[at + 1 :]


def _in_a_member(value: bytes) -> Callable[[bytes], bytes]:
    """A member that no reader asks for, in each line of a file."""
    return lambda data: re.sub(rb"^\{", lambda _: b'{"unread":' + value + b",", data, flags=re.MULTILINE)


DAMAGES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "no UTF-8 in a text": _in_a_text,
    "no UTF-8 in an unread member": _in_a_member(b'"abc\xffdef"'),
    "deep nesting in an unread member": _in_a_member(b"[" * 100_000 + b"]" * 100_000),
    "deep nesting": lambda _: b"[" * 200_000,
    "NUL": lambda data: data[:40] + b"\0" + data[40:],
    "NUL first": lambda data: b"\0" + data,
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "no UTF-8 at all": lambda _: bytes(range(128, 256)),
    "empty": lambda _: b"",
    "huge": lambda data: data,
}
FILES: Final = ("journal.jsonl", "plan.json", "plan.toml", "environment/start.json", ".tables.json")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of one study: finished, finished without seals, and cut short without seals."""
    place = tmp_path_factory.mktemp("texts")
    profile, study = place / "drive.toml", place / "study.toml"
    profile.write_text(small_profile(8))
    study.write_text(ALONE.replace("TARGET", f"virtual:{profile}") + LEVELS)
    found = {"sealed": run(str(study), out=place / "sealed", report="text").folder.path}
    list(exported_tables(found["sealed"])[1])
    Query([found["sealed"]]).sql("SELECT count(*) FROM samples")
    found["unsealed"] = Path(shutil.copytree(found["sealed"], place / "unsealed"))
    unseal(found["unsealed"])
    found["cut"] = Path(shutil.copytree(found["unsealed"], place / "cut"))
    journal = found["cut"] / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: len(lines) // 2]))
    return found


def _readers(folder: Path, other: Path, place: Path) -> dict[str, Callable[[], object]]:
    """Everything that reads a study folder."""

    return {
        "report": lambda: app.load(folder).text(),
        "page": lambda: app.load(folder).write_report("text"),
        "method": lambda: app.load(folder).method(),
        "export": lambda: [list(table.rows()) for table in exported_tables(folder)[1]],
        "query": lambda: Query([folder]).sql("SELECT count(*) FROM samples"),
        "query of studies": lambda: Query([folder]).sql("SELECT * FROM studies, cell_keys"),
        "merge": lambda: merge_folders([folder, other], place / "merged"),
        "snapshot": lambda: StudyFolder.open(folder).load_environment("start"),
        "resume": lambda: run(str(folder), report="text"),
    }


@pytest.mark.parametrize("kind", ["sealed", "unsealed", "cut"])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.sampled(4)
def test_a_damaged_text_ends_in_one_line(
    damage: str, kind: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    for name in FILES:
        place = tmp_path / name.replace("/", "-")
        folder = Path(shutil.copytree(folders[kind], place / "study"))
        path = folder / name
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
        if damage == "huge":
            os.truncate(path, HUGE_BYTES)
        for reader, read in _readers(folder, folders["sealed"], place).items():
            try:
                read()
            except MileageError as refusal:
                text = str(refusal)
                assert "\n" not in text, (name, reader, text)
                assert len(text) < 1000, (name, reader, text)
            except BaseException as cause:
                raise AssertionError(f"{kind}, {name}, {damage}: {reader}") from cause
