"""A study folder is made whole, found again, and used by one process at a time."""

import errno
import os
import threading
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.store import StudyFolder


def test_a_folder_with_foreign_files_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(Refused, match="not an empty folder"):
        StudyFolder.create(tmp_path, "plan", b"{}")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_whose_making_was_cut_off_can_be_made_again(tmp_path: Path) -> None:
    (tmp_path / "environment").mkdir()
    (tmp_path / "plan.toml").write_text("half")
    assert StudyFolder.create(tmp_path, "whole", b"{}").plan_toml.read_text() == "whole"


def test_a_state_is_named_by_its_hash_and_a_damaged_one_is_not_loaded(tmp_path: Path) -> None:
    folder = StudyFolder.create(tmp_path / "study", "", b"{}")
    name = folder.save_state("1-torture", b"state", keep=True)
    assert folder.save_state("2-torture", b"state", keep=True) == name
    assert folder.load_state("1-torture", name) == b"state"
    (folder.state / f"1-torture-{name}").write_bytes(b"stale")
    assert folder.load_state("1-torture", name) is None
    folder.forget_states("1-torture")
    assert folder.load_state("2-torture", name) == b"state"
    folder.forget_states("2-torture", but=name)
    assert folder.load_state("2-torture", name) == b"state"
    assert folder.save_state("2-torture", b"other", keep=False) != name
    assert [path.name for path in folder.state.iterdir()] == [f"2-torture-{name}"]


def test_two_processes_cannot_run_one_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mileage.file_lock.RELEASE_S", 0.2)
    folder = StudyFolder.create(tmp_path / "study", "", b"{}")
    folder.lock()
    with pytest.raises(Refused, match="another process"):
        StudyFolder.open(folder.path).lock()
    folder.unlock()
    StudyFolder.open(folder.path).lock()


def test_a_study_is_resumed_while_its_killed_process_still_ends(tmp_path: Path) -> None:
    first = StudyFolder.create(tmp_path / "study", "", b"{}")
    first.lock()
    ending = threading.Timer(0.3, first.unlock)
    ending.start()
    second = StudyFolder.open(first.path)
    second.lock()
    ending.join()
    second.unlock()


def test_a_lock_that_is_given_up_while_another_waits_for_it_keeps_a_third_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second opens the first one's file and locks it once it is given up; the third comes after that."""
    from mileage import file_lock as module

    first = StudyFolder.create(tmp_path / "study", "", b"{}")
    second, third = StudyFolder.open(first.path), StudyFolder.open(first.path)
    first.lock()
    genuine = module.fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        first.unlock()
        genuine(descriptor, operation)

    with monkeypatch.context() as patch:
        patch.setattr(module.fcntl, "flock", flock)
        second.lock()
    assert second.is_locked()
    monkeypatch.setattr(module, "RELEASE_S", 0.2)
    with pytest.raises(Refused, match="another process"):
        third.lock()
    second.unlock()
    assert not (first.path / ".lock").exists()


def test_a_file_that_cannot_be_written_whole_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mileage.store import safe_directory as module

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "page").write_bytes(b"before")
    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        module.Directory.open(tmp_path).write("page", b"after")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="not a study folder"):
        StudyFolder.open(tmp_path)


def test_a_folder_whose_path_is_no_text_is_refused(tmp_path: Path) -> None:
    """Its path stands in tables and in the journal of a merged study."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff"))
    with pytest.raises(Refused, match="not UTF-8 text"):
        StudyFolder.create(path, "", b"{}")
    assert not path.exists()
    path.mkdir()
    (path / "plan.json").write_bytes(b"{}")
    with pytest.raises(Refused, match="not UTF-8 text"):
        StudyFolder.open(path)
