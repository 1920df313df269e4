"""Applications of a power-cut test: no endless wait, no process of others killed, a shell's commands."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mileage.app import power_cut_process
from mileage.app.power_cut_apps import Command, Postgres, apps_of
from mileage.app.power_cut_process import CutAnswer, call, cut_load, end, start
from mileage.errors import Refused, RunFailed

NO_POSTGRES = not any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))


def cut() -> CutAnswer:
    return CutAnswer(at_ns=1)


def test_children_that_hold_the_output_end_with_the_load() -> None:
    load = start(["sh", "-c", "echo begin; echo 7; sleep 600 & sleep 600"])
    done = cut_load(load, 0.01, cut)
    end(load)
    assert (done.acknowledged, done.ended, done.answer) == (frozenset({7}), "", CutAnswer(at_ns=1))
    assert done.after_s >= 0.01


def test_child_of_another_session_that_holds_the_output_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_cut_process, "_REST_S", 0.1)
    load = start(["sh", "-c", "setsid sleep 3 & sleep 0.2; echo 7; sleep 600"])
    with pytest.raises(RunFailed, match="has left its session and holds its output"):
        cut_load(load, 0.01, cut)
    end(load)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 1; exit 5", "exit status 5"),
        ("echo 1; kill -9 $$", "signal 9"),
        ("echo 1; exec >&-; sleep 9", "closed"),
    ],
)
def test_load_that_ends_before_the_cut_is_noted(script: str, words: str) -> None:
    load = start(["sh", "-c", script])
    done = cut_load(load, 30, cut)
    end(load)
    assert words in done.ended
    assert done.after_s < 30


def test_load_without_a_transaction_has_failed() -> None:
    load = start(["sh", "-c", "echo begin"])
    with pytest.raises(RunFailed, match="before its first transaction"):
        cut_load(load, 0.01, cut)
    end(load)


def test_call_waits_neither_for_children_nor_for_ever() -> None:
    done = call("test", ["sh", "-c", "sleep 600 & echo $!; echo why >&2; exit 3"], 20)
    assert (done.status, done.last_line) == (3, "why")
    assert not Path(f"/proc/{done.output.strip()}/exe").exists(), "the child has been killed"
    with pytest.raises(RunFailed, match=r"sleep has not ended after 0\.05 s"):
        call("test", ["sleep", "600"], 0.05)
    with pytest.raises(RunFailed, match="cannot be started"):
        call("test", ["/nowhere/program"], 1)


def test_command_of_relative_path_and_quoted_words_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my apps"
    folder.mkdir()
    script = folder / "app"
    script.write_text('#!/bin/sh\n[ "$1" = "two words" ] && [ -d "my apps" ] && echo 4\n')
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    app = Command("'./my apps/app' 'two words'")
    assert app.state(tmp_path).found == {4}
    load = app.start(tmp_path, 0)
    assert load.communicate(timeout=20)[0] == b"4\n"
    with pytest.raises(Refused, match="No closing quotation"):
        apps_of(["'./my apps/app"])
    with pytest.raises(Refused, match="a program that can be executed"):
        apps_of(["./none"])


def test_check_of_a_command_that_fails_to_check_is_no_corruption(tmp_path: Path) -> None:
    def app(text: str) -> Command:
        path = tmp_path / "app"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return Command(str(path))

    assert app("echo bad row >&2; exit 1").state(tmp_path).corrupt == "bad row"
    for text, words in [("echo one", "printed 'one'"), ("exit 127", "was not executed")]:
        with pytest.raises(RunFailed, match=words):
            app(text).state(tmp_path)


@pytest.mark.skipif(NO_POSTGRES or os.geteuid() != 0, reason="needs PostgreSQL and root")
@pytest.mark.slow
def test_postgres_ends_its_own_server_and_no_process_that_a_file_names(tmp_path: Path) -> None:
    tmp_path = Path(shutil.copytree(tmp_path, f"/tmp/mileage-postgres-{os.getpid()}"))
    (app,) = apps_of(["postgres:nofsync"])
    assert isinstance(app, Postgres)
    other = subprocess.Popen(["sleep", "600"])
    try:
        app.set_up(tmp_path)
        load = app.start(tmp_path, 0)
        done = cut_load(load, 0.05, cut)
        end(load)
        (tmp_path / "data" / "postmaster.pid").write_text(f"{other.pid}\n")
        app.stop(tmp_path)
        assert other.poll() is None
        state = app.state(tmp_path)
        assert state.found is not None
        assert done.acknowledged <= state.found
        app.stop(tmp_path)
        (tmp_path / "data" / "global" / "pg_control").write_bytes(b"x" * 8192)
        assert "FATAL" in app.state(tmp_path).open or "PANIC" in app.state(tmp_path).open
    finally:
        other.kill()
        other.wait()
        app.stop(tmp_path)
        shutil.rmtree(tmp_path)
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in read(path)]


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
