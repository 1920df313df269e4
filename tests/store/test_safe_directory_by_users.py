"""Another user changes a study folder while it is written: nothing outside the folder is reached."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mileage import app
from mileage.errors import MileageError
from mileage.store.safe_directory import Directory
from tests.execute.test_replaced_by_users import NOBODY, as_nobody
from tests.store.test_safe_directory import FILES, FOLDERS, READERS, study

__all__ = ["study"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="two users need root")

WRITERS = {
    **{name: READERS[name] for name in ("report", "query", "export", "merge")},
    "pictures": lambda folder: app.load(folder).write_report("full"),
}


@pytest.fixture
def place(study: Path) -> Iterator[Path]:
    """A folder that every user may enter, with a copy of a study and victims."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = Path(name)
        place.chmod(0o777)
        shutil.copytree(study, place / "copy")
        shutil.copytree(study, place / "other")
        (place / "victims").mkdir(mode=0o755)
        for file in FILES:
            (place / "victims" / Path(file).name).write_text("victim")
        yield place


def give(path: Path, user: int) -> None:
    for each in [path, *path.rglob("*")]:
        os.chown(each, user, user)
        each.chmod(0o777 if each.is_dir() else 0o666)


def victims(place: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (place / "victims").iterdir()}


def plant(place: Path, name: str) -> None:
    """Put a link in the place of a file or a folder of the study."""
    path = place / "copy" / name
    if path.is_symlink():
        return
    if path.exists():
        path.rename(f"{path}.moved")
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(place / "victims" / (path.name if name in FILES else ""))


def strike_at(monkeypatch: pytest.MonkeyPatch, count: int, strike: Callable[[], None]) -> list[int]:
    """Strike before the folder is reached for the `count`-th time, counted from 0; the list has the calls so far."""
    calls: list[int] = []
    reach = Directory._folder

    def counted(self: Directory, name: str) -> int:
        calls.append(len(calls))
        if len(calls) == count + 1:
            strike()
        return reach(self, name)

    part = Directory.part

    def part_counted(self: Directory, name: str) -> Any:
        calls.append(len(calls))
        if len(calls) == count + 1:
            strike()
        return part(self, name)

    monkeypatch.setattr(Directory, "_folder", counted)
    monkeypatch.setattr(Directory, "part", part_counted)
    return calls


def write_or_refuse(writer: str, name: str, place: Path) -> None:
    """Write into the study's folder; a refusal names the folder or what was replaced in it."""
    refusal = ""
    try:
        WRITERS[writer](place / "copy")
    except MileageError as error:
        refusal = str(error)
    assert not refusal or Path(name).parts[0] in refusal or "copy" in refusal, refusal


@pytest.mark.sampled(6)
@pytest.mark.parametrize("count", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
@pytest.mark.parametrize("writer", WRITERS)
def test_root_writes_to_nothing_that_the_owner_of_the_folder_links_to(
    place: Path, monkeypatch: pytest.MonkeyPatch, writer: str, name: str, count: int
) -> None:
    give(place / "copy", NOBODY)
    before = victims(place)
    strike_at(monkeypatch, count, lambda: assert_done(as_nobody(lambda: plant(place, name))))
    write_or_refuse(writer, name, place)
    assert victims(place) == before


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
@pytest.mark.parametrize("writer", WRITERS)
def test_an_ordinary_user_writes_to_nothing_that_the_owner_of_the_folder_links_to(
    place: Path, monkeypatch: pytest.MonkeyPatch, writer: str, name: str, count: int
) -> None:
    """The victims belong to the user who reports; root, who owns the folder, plants the link."""
    # Modules are loaded as they are needed, from folders closed to other users.
    WRITERS[writer](place / ("copy" if writer == "merge" else "other"))
    shutil.rmtree(place / "both", ignore_errors=True)
    give(place / "copy", 0)
    give(place / "other", NOBODY)
    give(place / "victims", NOBODY)
    before = victims(place)
    (asked, ask), (answered, answer) = os.pipe(), os.pipe()
    root = os.fork()
    if root == 0:
        os.close(ask)
        if os.read(asked, 1):
            plant(place, name)
            os.write(answer, b"x")
        os._exit(0)

    def strike() -> None:
        os.write(ask, b"x")
        os.read(answered, 1)

    os.close(asked)
    strike_at(monkeypatch, count, strike)
    try:
        assert_done(as_nobody(lambda: write_or_refuse(writer, name, place)))
    finally:
        os.close(ask)
        os.waitpid(root, 0)
    assert victims(place) == before


def assert_done(status: int) -> None:
    assert status == 0
