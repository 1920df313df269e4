"""Results are written where a user says, and there only over a result of the same kind that nothing changed since."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mileage.errors import Refused, RunFailed
from mileage.targets.door import ResultLog, ResultPlace, refuse_taken, result_file, write_result
from tests.command import mileage

DRIVE = ("drive", "run", "intel-x25e-64gb", "-w", "sequential_write", "--size", "1MiB")
RUN = ("measure", "-t", "dir:.", "--size", "1MiB", "-w", "random_read", "--operations", "10")
IOZONE = ("iozone", "-s", "64k", "-r", "16k", "-i", "0", "-f", "work")
#: Commands that write a result, fast ones, and the name of the result where it is not given.
COMMANDS = {
    "drive run --save": (*DRIVE, "--save", "p"),
    "measure --log": (*RUN, "--log", "p"),
    "endurance watch --log": ("endurance", "watch", ".", "--once", "--log", "p"),
    "iozone -b": (*IOZONE, "-b", "p"),
    "iozone -b .xlsx": (*IOZONE, "-b", "p.xlsx"),
    "iozone -Q": (*IOZONE, "-Q"),
}
NAMES = {"iozone -b .xlsx": "p.xlsx", "iozone -Q": "wol.dat"}


def state(path: Path) -> object:
    found = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(found.st_mode) else None
    return found.st_mode, found.st_ino, found.st_nlink, found.st_rdev, content


def content(path: Path) -> None:
    path.write_text("mine")


def hard_link(path: Path) -> None:
    path.touch()
    path.with_name("other").hardlink_to(path)


def link(path: Path) -> None:
    path.with_name("other").touch()
    path.symlink_to("other")


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def device(path: Path) -> None:
    os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(7, 250))


PLACES = (content, hard_link, link, link_to_nothing, device, os.mkfifo, Path.mkdir)


@pytest.mark.parametrize("make", PLACES)
def test_another_thing_is_refused_and_left_alone(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "p"
    make(path)
    before = state(path)
    place = ResultPlace("--out", path, "table")
    for call in (place.check, lambda: place.write("x"), lambda: ResultLog("--out", path, "table", b"{")):
        with pytest.raises(Refused):
            call()
    assert state(path) == before
    assert set(os.listdir(tmp_path)) <= {"p", "other"}


@pytest.mark.parametrize(
    "name", ["/dev/mileage-typo", "/proc/mileage", "/proc/kmsg", "/no/where/p", "/dev/zero"]
)
def test_no_result_is_made_where_none_can_be(name: str) -> None:
    with pytest.raises(Refused):
        ResultPlace("--out", Path(name), "table").check()


@pytest.mark.parametrize("name", ["/dev/mileage-typo", "/no/where/p", "/dev/zero"])
def test_nothing_is_made_where_something_is_or_none_can_be(name: str) -> None:
    with pytest.raises(Refused):
        refuse_taken("--nbd", name, "a socket")


def test_a_result_replaces_its_own_kind_until_it_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "p"
    for text in ("one", "two"):
        write_result("--out", path, "table", text)
        assert path.read_text() == text
    with pytest.raises(Refused) as refusal:
        write_result("--out", path, "chart", "three")
    assert refusal.value.refusals[0].code == "exists"
    path.write_text("mine")
    with pytest.raises(Refused):
        write_result("--out", path, "table", "three")
    assert path.read_text() == "mine"


def test_a_result_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "p"
    write_result("--out", path, "table", "whole")

    def write() -> None:
        with result_file("--out", path, "table") as file:
            file.write(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(RunFailed):
        write()
    assert path.read_text() == "whole"
    assert os.listdir(tmp_path) == ["p"]


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_is_done_twice_and_replaces_nothing_else(
    words: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = tmp_path / NAMES.get(request.node.callspec.id, "p")
    for _ in range(2):
        done = mileage(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    path.unlink()
    for make in (content, link, os.mkfifo):
        make(path)
        before = state(path)
        done = mileage(*words, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert not done.stdout
        assert state(path) == before
        path.unlink()
        (tmp_path / "other").unlink(missing_ok=True)
