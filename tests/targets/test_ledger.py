"""What stands in the ledger is undone by whoever comes next, and nothing else is."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mileage.errors import Refused, RunFailed
from mileage.targets.ledger import Ledger, UndoResult, left_behind, repair
from mileage.targets.privileged_steps import AttachedLoop, ChangedSetting, MadeDirectory
from mileage.targets.programs import call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def setting(tmp_path: Path) -> tuple[Path, ChangedSetting]:
    """A file that stands for a setting, and the step that changes it from 1 to 2."""
    path = tmp_path / "knob"
    path.write_text("1\n")
    return path, ChangedSetting(str(path), "1", "2")


def test_what_a_program_of_a_killed_process_still_does_is_waited_for_and_undone(tmp_path: Path) -> None:
    """`mount`, called by a process that is then killed, may come to its end after the next process has begun."""
    folder, made, begun = tmp_path / "ledger", tmp_path / "made", tmp_path / "begun"
    child = os.fork()
    if child == 0:
        script = f"touch {begun}; sleep 1; mkdir {made}"
        threading.Thread(
            target=lambda: Ledger(folder).take(
                MadeDirectory(str(made)), lambda: call("it", "sh", "-c", script)
            )
        ).start()
        while not begun.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert not made.exists()
    assert [found.text for found in repair(folder)] == [f"removed the directory {made}"]
    assert not made.exists()
    assert list(folder.iterdir()) == []


def test_a_step_is_on_the_disk_before_it_is_done(folder: Path, tmp_path: Path) -> None:
    path, step = setting(tmp_path)

    def act() -> None:
        written = next(folder.iterdir()).read_text()
        assert json.loads(written.splitlines()[-1]) == {
            "step": 1,
            "is": {"type": "setting", "path": str(path), "before": "1", "wanted": "2"},
        }
        path.write_text("2")

    ledger = Ledger(folder)
    ledger.take(step, act)
    ledger.undo_all()
    assert path.read_text() == "1"
    assert list(folder.iterdir()) == []


def test_a_step_that_fails_is_undone_at_once(folder: Path, tmp_path: Path) -> None:
    path, step = setting(tmp_path)

    def act() -> None:
        path.write_text("2")
        raise KeyboardInterrupt

    ledger = Ledger(folder)
    with pytest.raises(KeyboardInterrupt):
        ledger.take(step, act)
    assert path.read_text() == "1"
    assert ledger.steps == ()


def test_a_running_process_is_left_alone(folder: Path, tmp_path: Path) -> None:
    path, step = setting(tmp_path)
    ledger = Ledger(folder)
    ledger.take(step, lambda: path.write_text("2"))
    assert left_behind(folder) == []
    assert repair(folder) == []
    assert path.read_text() == "2"
    ledger.undo_all()


def test_a_ledger_that_others_repair_before_it_is_locked_is_made_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, step = setting(tmp_path)
    lock, early = fcntl.flock, [True, True]

    def flock(descriptor: int, how: int) -> None:
        if how == fcntl.LOCK_EX and early:
            early.pop()
            assert repair(folder) == []
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    ledger = Ledger(folder)
    ledger.take(step, lambda: path.write_text("2"))
    (found,) = folder.iterdir()
    assert '"step": 1' in found.read_text()
    ledger.undo_all()
    assert list(folder.iterdir()) == []


def killed(folder: Path, path: Path) -> None:
    """Take a step in another process, which is then killed."""
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from mileage.targets.ledger import Ledger; from mileage.targets.privileged_steps import ChangedSetting\n"
        "path = Path(sys.argv[2])\n"
        "Ledger(Path(sys.argv[1])).take(ChangedSetting(str(path), '1', '2'), lambda: path.write_text('2'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder), str(path)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_process_left_is_undone_by_the_next(folder: Path, tmp_path: Path) -> None:
    path, _ = setting(tmp_path)
    killed(folder, path)
    assert path.read_text() == "2"
    assert len(left_behind(folder)) == 1
    assert [found.text for found in repair(folder)] == [f"set {path} back to 1"]
    assert path.read_text() == "1"
    assert repair(folder) == []


def test_the_next_step_of_anybody_repairs_first(folder: Path, tmp_path: Path) -> None:
    path, _ = setting(tmp_path)
    killed(folder, path)
    ledger = Ledger(folder)
    ledger.take(MadeDirectory(str(tmp_path / "new")), lambda: (tmp_path / "new").mkdir())
    assert path.read_text() == "1"
    ledger.undo_all()
    assert not (tmp_path / "new").exists()


def test_a_setting_changed_by_others_is_left_and_reported(folder: Path, tmp_path: Path) -> None:
    path, _ = setting(tmp_path)
    killed(folder, path)
    path.write_text("7")
    assert [found.text for found in repair(folder)] == [
        f"left {path} at 7: another program changed it from 2"
    ]
    assert path.read_text() == "7"


def test_a_torn_last_line_was_never_acted_on(folder: Path, tmp_path: Path) -> None:
    path, _ = setting(tmp_path)
    killed(folder, path)
    ledger = next(folder.iterdir())
    with ledger.open("a") as file:
        file.write('{"step": 2, "is": {"type": "loo')
    assert [found.failed for found in repair(folder)] == [False]
    assert path.read_text() == "1"


def test_after_a_restart_of_the_machine_only_what_lasts_is_undone(folder: Path, tmp_path: Path) -> None:
    path, _ = setting(tmp_path)
    killed(folder, path)
    ledger = next(folder.iterdir())
    lines = ledger.read_text().splitlines()
    head = {**json.loads(lines[0]), "boot": "another"}
    directory = {"step": 2, "is": {"type": "directory", "path": str(tmp_path / "left")}}
    (tmp_path / "left").mkdir()
    ledger.write_text("\n".join([json.dumps(head), *lines[1:], json.dumps(directory)]) + "\n")
    assert [found.text for found in repair(folder)] == [f"removed the directory {tmp_path / 'left'}"]
    assert path.read_text() == "2"


def test_one_that_cannot_be_undone_stays_and_keeps_no_other_from_it(folder: Path, tmp_path: Path) -> None:
    path, step = setting(tmp_path)
    full = tmp_path / "full"
    ledger = Ledger(folder)
    ledger.take(step, lambda: path.write_text("2"))
    ledger.take(MadeDirectory(str(full)), full.mkdir)
    (full / "somebody's").write_text("")
    with pytest.raises(RunFailed, match="doctor --repair"):
        ledger.undo_all()
    assert path.read_text() == "1"
    assert ledger.steps == (MadeDirectory(str(full)),)
    (full / "somebody's").unlink()
    ledger.undo_all()
    assert not full.exists()


def test_a_loop_device_that_was_never_attached_needs_no_undoing(tmp_path: Path) -> None:
    assert AttachedLoop(str(tmp_path / "none.img")).undo() is None


DAMAGED_LINES = (
    *(
        b"not json",
        b"5",
        b"[5]",
        b"null",
        b"[" * 200_000,
        b"\xff",
        b'{"step": []}',
        b'{"step": 1}',
        b'{"undone": {}}',
    ),
    *(
        b'{"step": 1, "is": {"type": "elsewhere"}}',
        b'{"step": 1, "is": 7}',
        b'{"step": 1e999, "is": {}}',
        b"\0",
    ),
    *(b'{"ledger": 1, "step": "', b'{"step": ' + b"9" * 5000 + b"}"),
)


@pytest.mark.parametrize("line", DAMAGED_LINES, ids=lambda line: repr(line[:24]))
def test_a_damaged_ledger_is_reported_and_left(line: bytes, folder: Path, tmp_path: Path) -> None:
    path, _ = setting(tmp_path)
    killed(folder, path)
    ledger = next(folder.iterdir())
    ledger.write_bytes(ledger.read_bytes() + line + b"\n")
    (output,) = repair(folder)
    assert output.failed
    assert "is damaged" in output.text
    assert "\n" not in output.text
    assert len(output.text) < 1000
    assert (ledger.exists(), path.read_text()) == (True, "2")


@pytest.mark.parametrize("place", ["/a\0b", "", "\ud7ff", "/" + "x" * 300, "/proc/self/mem"])
def test_a_step_that_names_no_possible_place_is_reported_and_left(place: str, folder: Path) -> None:
    folder.mkdir()
    ledger = folder / "one.jsonl"
    ledger.write_text(
        json.dumps({"ledger": 1, "boot": None})
        + "\n"
        + json.dumps({"step": 1, "is": {"type": "directory", "path": place}})
        + "\n"
    )
    (*_, output) = [*repair(folder), UndoResult("")]
    assert "\n" not in output.text


def test_a_ledger_that_others_can_have_written_is_not_believed(folder: Path, tmp_path: Path) -> None:
    """Its steps are undone with the rights of whoever repairs."""
    folder.mkdir()
    victim = tmp_path / "victim"
    victim.mkdir()
    line = json.dumps({"step": 1, "is": {"type": "directory", "path": str(victim)}}) + "\n"
    target = tmp_path / "elsewhere.jsonl"
    target.write_text(line)
    foreign, open_to_all = folder / "foreign.jsonl", folder / "open.jsonl"
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "link.jsonl").symlink_to(target)
    (folder / "folder.jsonl").mkdir()
    open_to_all.write_text(line)
    open_to_all.chmod(0o666)
    expected = {
        "pipe": "regular",
        "link": "cannot be read",
        "folder": "cannot be read",
        "open": "other users",
    }
    if os.geteuid() == 0:
        foreign.write_text(line)
        os.chown(foreign, 65534, 65534)
        expected["foreign"] = "belongs to another user (number 65534)"
    with open(folder / "huge.jsonl", "w") as file:
        file.truncate(1 << 40)
    expected["huge"] = "more than any ledger"
    found = {Path(output.text.split()[0]).stem: output for output in repair(folder)}
    assert found.keys() == expected.keys()
    for name, words in expected.items():
        assert found[name].failed, name
        assert words in found[name].text, found[name].text
    assert victim.exists()
    left_behind(folder)


def test_no_ledger_no_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="MILEAGE_LEDGER"):
        Ledger(tmp_path / "file" / "below").take(MadeDirectory(str(tmp_path / "x")), os.getpid)
