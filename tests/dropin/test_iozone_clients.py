"""Children on clients (`-+m`) of `mileage iozone`: the files, the text, and what is refused with IOzone's statuses."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.command import mileage

LINE = ("-s", "64k", "-r", "4k", "-i", "0", "-+q", "0")


def iozone(place: Path, clients: str, *words: str) -> subprocess.CompletedProcess[str]:
    (place / "clients").write_text(clients)
    return mileage("iozone", "-+m", "clients", *words, *LINE, cwd=place)


def test_children_use_the_files_of_their_clients(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    clients = f"# hosts\nlocalhost d /bin/iozone\n127.0.0.1 d /bin/iozone own\n{os.uname().nodename} d x\n"
    done = iozone(tmp_path, clients, "-t", "2", "-w", "-+h", "here")
    assert done.returncode == 0, done.stderr
    left = {path.name: path.stat().st_size for path in (tmp_path / "d").iterdir()}
    assert left == {"iozone.DUMMY.0": 65536, "own": 65536}
    # IOzone 3.471 prints this in place of the parent's rate.
    assert done.stdout.count("\n\n\tTest running:\n\tChildren see throughput for  2 ") == 2
    assert "Parent sees" not in done.stdout
    for line in ("\tNetwork distribution mode enabled.", "\tHostname = here"):
        assert line in done.stdout.splitlines()


def test_without_w_the_files_of_clients_are_removed(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    done = iozone(tmp_path, "localhost d x\n", "-t", "1")
    assert (done.returncode, list((tmp_path / "d").iterdir())) == (0, []), done.stderr
    assert done.stdout.endswith("\n\n\tTest cleanup:\n\n\niozone test complete.\n")


def test_client_files_that_iozone_refuses_end_with_its_status(tmp_path: Path) -> None:
    for clients, children, status in (
        ("localhost . x\n", "2", 202),
        ("# none\n", "1", 178),
        ("localhost .\n", "1", 203),
        ("other.example . x\n", "1", 2),
        ("localhost . x\nlocalhost .. x\n", "2", 2),
    ):
        done = iozone(tmp_path, clients, "-t", children)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert mileage("iozone", "-+m", "none", "-t", "1", *LINE, cwd=tmp_path).returncode == 176


def test_numbers_of_tests_that_iozone_does_not_have_are_its_first(tmp_path: Path) -> None:
    done = mileage("iozone", "-s", "64k", "-r", "lk", "-i", "12", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\tSelected test not available on the version.\n" in done.stdout
    assert "\tRecord Size 4 kB\n" in done.stdout
    assert "IOzone takes 4 kB where there is no number" in done.stderr
    row = done.stdout.split("reclen", 1)[1].splitlines()[1].split()
    assert (row[:2], len(row)) == (["64", "4"], 4)
