"""The door: what may be written, what is known again, and what is refused, whatever replaces it meanwhile."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mileage.errors import Refused, RunFailed
from mileage.targets.door import Door, check_result, marks, refuse_taken, result_file, write_result
from mileage.targets.door.directories import NameDirectory
from mileage.targets.ledger import LEDGER_VARIABLE

NAMES = r"(file|dir)\.[0-9]+"


def made(path: Path, content: bytes = b"x" * 100) -> Path:
    """A file that Mileage has made."""
    door = Door("test")
    descriptor = door.work(str(path), writes=True).open(os.O_RDWR | os.O_CREAT)
    os.write(descriptor, content)
    os.close(descriptor)
    door.close()
    return path


def refusal(path: Path | str, **how: bool) -> str | None:
    """Code of the refusal of a path; None where it may be written."""
    door = Door("test")
    try:
        door.work(str(path), **{"writes": True, **how})
    except Refused as refused:
        return refused.refusals[0].code
    finally:
        door.close()
    return None


def test_a_mark_takes_no_block(tmp_path: Path) -> None:
    """On ext4 with inodes of 256 bytes; the block of a longer attribute would be counted as the file's."""
    assert made(tmp_path / "own", b"").stat().st_blocks == 0


def test_a_file_of_mileage_is_written_again_until_something_changes_it(tmp_path: Path) -> None:
    path = made(tmp_path / "own")
    assert refusal(path) is None
    os.utime(path, ns=(0, path.stat().st_mtime_ns))
    assert refusal(path) is None
    with path.open("ab") as file:
        file.write(b"y")
    assert refusal(path) == "needs-destroy"


def _appended(path: Path) -> Path:
    with path.open("ab") as file:
        file.write(b"y")
    return path


def _changed_in_place(path: Path) -> Path:
    before = path.stat()
    path.write_bytes(b"z" * 100)
    assert path.stat().st_size == before.st_size
    return path


def _copied(path: Path) -> Path:
    copy = path.with_name("copy")
    subprocess.run(["cp", "--preserve=all", str(path), str(copy)], check=True)
    assert os.getxattr(copy, "user.mileage") == os.getxattr(path, "user.mileage")
    return copy


def _exchanged(path: Path) -> Path:
    path.rename(path.with_name("old"))
    path.write_bytes(b"of somebody else")
    return path


def _linked(path: Path) -> Path:
    path.with_name("other").hardlink_to(path)
    return path


def _symbolic(path: Path) -> Path:
    link = path.with_name("link")
    link.symlink_to(path)
    return link


@pytest.mark.parametrize("change", [_appended, _changed_in_place, _copied, _exchanged, _linked, _symbolic])
def test_a_changed_file_is_refused(tmp_path: Path, change: Callable[[Path], Path]) -> None:
    path = change(made(tmp_path / "own"))
    assert refusal(path) in ("needs-destroy", "wrong-kind")
    assert refusal(path, writes=False, removes=True) in ("needs-destroy", "wrong-kind")
    assert refusal(path, writes=False) is None


def test_what_a_killed_command_left_in_work_is_written_again(tmp_path: Path) -> None:
    path, door = tmp_path / "own", Door("killed")
    descriptor = door.work(str(path), writes=True).open(os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"half")
    os.close(descriptor)
    assert refusal(path) is None


def test_a_directory_of_a_command_killed_before_marking_it_is_removed_if_empty(tmp_path: Path) -> None:
    (tmp_path / "older").mkdir()
    time.sleep(0.05)
    door = Door("killed")
    for name in ("older", "younger", "used"):
        (tmp_path / name).mkdir(exist_ok=True)
        door.passing(str(tmp_path / name), NAMES)
    (tmp_path / "used" / "file.1").write_bytes(b"mine")
    door.list_passing()
    door.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["older", "used"]


def test_a_mark_in_the_folder_of_the_ledgers_stands_for_one_on_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(*_: object, **__: object) -> bytes:
        raise OSError(95, "Operation not supported")

    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    monkeypatch.setattr(os, "setxattr", without)
    monkeypatch.setattr(os, "getxattr", without)
    path = made(tmp_path / "own")
    assert refusal(path) is None
    door = Door("test")
    door.work(str(path), writes=True, removes=True).remove()
    door.close()
    assert list((tmp_path / "ledger" / "files").iterdir()) == []
    path.write_bytes(b"of somebody else")
    assert refusal(path) == "needs-destroy"


@pytest.mark.parametrize("path", ["/dev/TYPO", "/dev/null", "."])
def test_what_is_no_file_is_refused(path: str) -> None:
    assert refusal(path) in ("unwritable", "wrong-kind")
    assert not Path("/dev/TYPO").exists()


def test_an_empty_file_and_a_permitted_one_are_written(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert refusal(tmp_path / "empty") is None
    path = tmp_path / "full"
    path.write_bytes(b"content")
    door = Door("test", [str(path)])
    os.close(door.work(str(path), writes=True).open(os.O_RDWR))
    door.close()
    # What was there is still somebody's: permission is asked for each time.
    assert refusal(path) == "needs-destroy"


def test_a_file_that_takes_the_place_of_the_checked_one_is_not_touched(tmp_path: Path) -> None:
    for there in (True, False):
        path, door = tmp_path / f"own{there}", Door("test")
        if there:
            made(path)
        work = door.work(str(path), writes=True, removes=True)
        path.unlink(missing_ok=True)
        path.write_bytes(b"of somebody else")
        with pytest.raises(RunFailed):
            work.open(os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        with pytest.raises(RunFailed):
            work.remove()
        door.remove_made()
        door.close()
        assert path.read_bytes() == b"of somebody else"


def test_two_ranks_may_make_one_file(tmp_path: Path) -> None:
    door = Door("test")
    path = str(tmp_path / "shared")
    door.work(path, writes=True)
    children = []
    for _ in range(8):
        child = os.fork()
        if not child:
            try:
                descriptor = door.work(path, writes=True).open(os.O_RDWR | os.O_CREAT)
                os.write(descriptor, b"x")
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    door.close()
    assert refusal(path) is None


def names(base: Path, **how: bool) -> NameDirectory:
    door = Door("test")
    found = door.names(str(base), "names", NAMES, **{"makes": True, "changes": True, **how})
    return found


def test_a_directory_of_names_is_known_again_until_something_is_changed_in_it(tmp_path: Path) -> None:
    folder = names(tmp_path)
    (tmp_path / "names" / "file.1").write_bytes(b"own")
    folder.seal()
    folder.close()
    names(tmp_path).seal()
    (tmp_path / "names" / "file.1").write_bytes(b"edited")
    with pytest.raises(Refused):
        names(tmp_path)


@pytest.mark.parametrize("name", ["letter", "file.x"])
def test_a_directory_with_a_name_of_somebody_else_is_refused(tmp_path: Path, name: str) -> None:
    names(tmp_path).seal()
    (tmp_path / "names" / name).touch()
    with pytest.raises(Refused):
        names(tmp_path)
    (tmp_path / "names" / name).unlink()
    os.rmdir(tmp_path / "names")
    (tmp_path / "names").mkdir()
    with pytest.raises(Refused):
        names(tmp_path)
    names(tmp_path, makes=False, changes=False).close()


def test_only_names_of_the_tool_are_removed(tmp_path: Path) -> None:
    folder = names(tmp_path)
    (tmp_path / "names" / "dir.1" / "dir.2").mkdir(parents=True)
    (tmp_path / "names" / "dir.1" / "letter").touch()
    (tmp_path / "names" / "file.1").touch()
    (tmp_path / "names" / "dir.3").symlink_to(tmp_path)
    folder.remove()
    folder.remove_if_empty()
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["names", "names/dir.1", "names/dir.1/letter"]


def test_a_result_replaces_one_of_its_kind_only(tmp_path: Path) -> None:
    path = tmp_path / "result"
    write_result("test", path, "table", "one")
    write_result("test", path, "table", "two")
    assert path.read_text() == "two"
    for kind, head in (("picture", b""), ("picture", b"one")):
        with pytest.raises(Refused):
            write_result("test", path, kind, "three", head)
    write_result("test", path, "picture", "tw3", b"tw")
    path.write_text("edited")
    with pytest.raises(Refused):
        check_result("test", path, "picture")
    assert path.read_text() == "edited"
    assert sorted(os.listdir(tmp_path)) == ["result"]


def test_a_result_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "result"
    write_result("test", path, "table", "old")
    with suppress(KeyError), result_file("test", path, "table", text=True) as file:
        file.write("new")
        raise KeyError
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["result"])


def test_a_result_goes_through_no_link_and_onto_no_special_file(tmp_path: Path) -> None:
    (tmp_path / "content").write_text("content")
    (tmp_path / "link").symlink_to(tmp_path / "content")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "hard").hardlink_to(tmp_path / "content")
    os.mkfifo(tmp_path / "fifo")
    for name in ("content", "link", "dangling", "hard", "fifo", ".", "missing/x", "/dev/TYPO", "/dev/full"):
        with pytest.raises(Refused):
            write_result("test", tmp_path / name, "table", "new")
    assert (tmp_path / "content").read_text() == "content"
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(Refused):
        refuse_taken("test", tmp_path / "dangling", "a socket")


def test_a_result_keeps_the_mode_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "result"
    write_result("test", path, "table", "old")
    path.chmod(0o600)
    write_result("test", path, "table", "new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_results_may_go_to_a_stream(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("/dev/null", "/dev/stdout", "/dev/stderr"):
        write_result("test", name, "table", name)
    assert tuple(capfd.readouterr()) == ("/dev/stdout", "/dev/stderr")


def test_a_mark_is_of_its_role(tmp_path: Path) -> None:
    path = tmp_path / "result"
    write_result("test", path, "table", "text")
    assert refusal(path) == "needs-destroy"
    with path.open("rb") as file:
        mark = marks.read_mark(file.fileno())
    assert mark is not None
    assert (mark.role, mark.token) == ("table", 0)
