"""A study folder from a stranger: links, pipes and devices in it are refused, and nothing outside is written."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mileage import app
from mileage.app.export_tables import exported_tables
from mileage.app.study import run
from mileage.errors import MileageError, Refused
from mileage.store import StudyFolder
from mileage.store.merge import merge_folders
from mileage.store.query import Query
from mileage.store.safe_directory import Directory
from tests.execute.test_factors import DRIVES, written

FILES = (
    "journal.jsonl",
    "plan.json",
    "plan.toml",
    "samples.parquet",
    "report.html",
    "tables/cells.csv",
    ".lock",
)
FOLDERS = ("tables", "figures", "environment", "state", "logs", "traces")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study")
    return run(written(place, DRIVES), out=place / "out").folder.path


@pytest.fixture
def folder(study: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(study, tmp_path / "copy"))


def replaced(path: Path, make: Callable[[Path], object]) -> Path:
    """Put something else in the place of a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    make(path)
    return path


READERS: dict[str, Callable[[Path], object]] = {
    "report": lambda folder: app.load(folder).write_report("text"),
    "run": lambda folder: run(str(folder)),
    "query": lambda folder: Query([folder]).sql("SELECT count(*) FROM samples"),
    "export": exported_tables,
    "merge": lambda folder: merge_folders([folder, folder.parent / "other"], folder.parent / "both"),
}


@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
def test_links_pipes_and_devices_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    victims = tmp_path / "victims"
    victims.mkdir()
    (victims / "file").write_text("victim")
    shutil.copytree(folder, tmp_path / "other")
    target = victims if name in FOLDERS else victims / "file"
    makers: dict[str, Callable[[Path], object]] = {
        "a symbolic link": lambda path: path.symlink_to(target),
        "a named pipe": os.mkfifo,
    }
    if os.geteuid() == 0:
        makers["a character device"] = lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    for kind, make in makers.items():
        replaced(folder / name, make)
        for reader in READERS.values():
            with pytest.raises(
                Refused, match=f"{name}: is {kind}, where a study folder has files and folders only"
            ):
                reader(folder)
    assert {path.name: path.read_text() for path in victims.iterdir()} == {"file": "victim"}
    assert not (tmp_path / "both").exists()


@pytest.mark.parametrize("name", FOLDERS[:2])
def test_a_folder_that_becomes_a_link_after_it_was_looked_at_is_not_followed(
    folder: Path, tmp_path: Path, name: str
) -> None:
    result = app.load(folder)
    victims = tmp_path / "victims"
    victims.mkdir()
    replaced(folder / name, lambda path: path.symlink_to(victims))
    with pytest.raises(Refused, match=f"{name}: is a symbolic link, where a study folder has a folder"):
        result.write_report("full")
    assert not list(victims.iterdir())


def test_a_journal_with_two_names_is_read_and_not_written(folder: Path, tmp_path: Path) -> None:
    """Such as of a backup made of hard links: cutting or continuing it would change the backup."""
    journal = folder / "journal.jsonl"
    half = b"".join(journal.read_bytes().splitlines(keepends=True)[:12]) + b"{"
    journal.write_bytes(half)
    os.link(journal, tmp_path / "backup")
    app.load(folder).write_report("text")
    with pytest.raises(Refused, match=r"journal.jsonl: has 2 names \(hard links\)"):
        run(str(folder))
    assert (tmp_path / "backup").read_bytes() == half


def test_files_with_two_names_are_replaced_and_keep_their_content_elsewhere(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("report.html", "samples.parquet", "tables/cells.csv"):
        (tmp_path / Path(name).name).write_text("victim")
        replaced(folder / name, lambda path: os.link(tmp_path / path.name, path))
    app.load(folder).write_report("text")
    for name in ("report.html", "samples.parquet", "cells.csv"):
        assert (tmp_path / name).read_text() == "victim"


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    app.load(tmp_path / "link").write_report("text")


def test_a_written_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with Directory.open(tmp_path) as place:
        place.write("below/file", b"before")
        with (
            place.below("below") as below,
            pytest.raises(ValueError, match="closed"),
            below.part("file") as file,
        ):
            file.close()
        assert place.read("below/file") == b"before"
        with pytest.raises(FileNotFoundError):
            place.read("below/other")
    assert os.listdir(tmp_path / "below") == ["file"]


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with Directory.open(tmp_path) as folder, pytest.raises(Refused, match=r"report\.html: is a folder"):
        folder.write("report.html", b"text")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("name", ["samples", "series"])
def test_a_damaged_table_is_made_again(folder: Path, name: str) -> None:
    path = folder / f"{name}.parquet"
    whole = path.read_bytes()
    for data in (b"", whole[:200], whole[:100] + bytes(50) + whole[150:]):
        path.write_bytes(data)
        assert Query([folder]).sql(f"SELECT count(*) FROM {name}")[1][0][0] > 0
        assert path.read_bytes() == whole


def test_sql_reaches_no_file_unless_that_is_allowed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    reads = f"SELECT content FROM read_text('{tmp_path}/secret'), samples LIMIT 1"
    writes = f"COPY samples TO '{tmp_path}/stolen.csv'"
    for text in (reads, writes, f"ATTACH '{tmp_path}/stolen.db'", "SET enable_external_access = true"):
        with pytest.raises(Refused, match=r"query: (Permission|Invalid)"):
            Query([folder]).sql(text)
    assert not list(tmp_path.glob("stolen*"))
    assert Query([folder], allow_files=True).sql(reads)[1] == [("secret",)]


def test_a_query_notes_what_its_tables_lack(folder: Path) -> None:
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b'"role":"measure"' in line)
    lines[at] = lines[at].replace(b'"elapsed_ns":', b'"elapsed_ns":1')
    journal.write_bytes(b"".join(lines) + b"\n")
    query = Query([folder])
    query.sql("SELECT count(*) FROM samples")
    assert query.notes[0].endswith(f"line {at + 1} of the journal was changed after it was written (ignored)")


def test_a_snapshot_that_nobody_can_read_is_a_change(folder: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (folder / "environment" / "start.json").chmod(0)
    found = StudyFolder.open(folder)
    assert "cannot be read" in found.changed_files(found.content())["environment/start.json"]


def test_folders_that_are_nested_deeper_than_any_path_are_refused(folder: Path) -> None:
    top = os.open(folder / "environment", os.O_RDONLY)
    below = top
    try:
        for _ in range(3000):
            os.mkdir("a", dir_fd=below)
            next_below = os.open("a", os.O_RDONLY, dir_fd=below)
            if below != top:
                os.close(below)
            below = next_below
        for reader in READERS.values():
            with pytest.raises(Refused, match="more than 32 folders below each other"):
                reader(folder)
    finally:
        os.close(below)
        os.close(top)
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_no_command_is_refused_for_a_whole_folder(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "other")
    for name, reader in READERS.items():
        try:
            reader(folder)
        except MileageError as refusal:
            pytest.fail(f"{name}: {refusal}")
