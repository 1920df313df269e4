"""Files that a study from a stranger names: regular ones of a stated size, and nothing that waits or has no end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.regular_file import open_regular, read_regular
from tests.command import mileage

pytestmark = pytest.mark.timeout(30)

STUDY = """
name = "stranger"
target = "TARGET"
[state]
file = "64MiB"
[[stage]]
name = "now"
measure = ["replay"]
[workload.trace]
trace = "strange"
[measure.replay]
workload = "trace"
"""


def make(path: Path, kind: str) -> None:
    """Something strange at a path."""
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a character device":
        path.symlink_to("/dev/zero")
    elif kind == "a file of the kernel without an end":
        path.symlink_to("/proc/kmsg")
    elif kind == "10 GB of holes":
        with path.open("wb") as file:
            file.truncate(10 * 10**9)
    elif kind == "one long line":
        path.write_bytes(bytes(1 << 20))
    elif kind == "a socket":
        # Its name is longer than a socket may be bound to.
        here = os.getcwd()
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
        os.chdir(here)
    else:
        path.mkdir()


STRANGE = {
    "a named pipe": "a named pipe, not a regular file",
    "a character device": "a character device, not a regular file",
    "a file of the kernel without an end": "has no end",
    "10 GB of holes": "10,000,000,000 bytes; expected at most",
    "one long line": "the first line has more than",
    "a socket": "a socket, not a regular file",
    "a directory": "a directory, not a regular file",
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_strange_trace_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    if "kernel" in kind and os.geteuid() != 0:
        pytest.skip("only root reads the kernel's log")
    make(tmp_path / "strange", kind)
    (tmp_path / "study.toml").write_text(STUDY.replace("TARGET", "virtual:plain-64gib"))
    done = mileage("plan", str(tmp_path / "study.toml"), cwd=tmp_path)
    assert done.returncode == 2, done
    assert STRANGE[kind] in " ".join(done.stderr.split())


@pytest.mark.parametrize("kind", ["a named pipe", "a character device", "10 GB of holes"])
@pytest.mark.parametrize("command", ["plan", "plan -t virtual:", "import"])
def test_so_are_studies_profiles_and_results(command: str, kind: str, tmp_path: Path) -> None:
    make(tmp_path / "strange.toml", kind)
    words = command.split()
    words[-1] += str(tmp_path / "strange.toml") if command != "plan" else ""
    words += [str(tmp_path / "strange.toml")] if len(words) == 1 else []
    done = mileage(*words, cwd=tmp_path)
    assert done.returncode == 2, done
    assert len(done.stderr.strip().splitlines()) == 1, done


def test_what_has_no_size_is_read_up_to_the_limit() -> None:
    assert read_regular(Path("/proc/self/status"), 1 << 20).startswith(b"Name:")
    with pytest.raises(Refused, match="more than 10 bytes; expected at most 10"):
        read_regular(Path("/proc/self/status"), 10)


def test_what_was_looked_at_is_what_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO put in its place between the look and the opening is not waited for."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    look = os.fstat

    def swap(descriptor: int) -> os.stat_result:
        status = look(descriptor)
        path.unlink()
        os.mkfifo(path)
        return status

    monkeypatch.setattr(os, "fstat", swap)
    file = open_regular(path, 100)
    monkeypatch.undo()
    with file:
        assert file.read() == b"content"
