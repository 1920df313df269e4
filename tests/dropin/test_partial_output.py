"""What is printed of a drop-in command that is ended by a signal, in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.dropin.test_iometer import ICF
from tests.dropin.written_files import has_blocks

PROGRAM = str(Path(sys.executable).with_name("mileage"))


def _dd_that_writes(path: Path) -> subprocess.Popen[str]:
    """A copy in the middle: each write waits for the device, so that the file is far from full."""
    words = ["dd", "if=/dev/zero", f"of={path.name}", "bs=4k", "count=100000", "oflag=dsync"]
    run = subprocess.Popen([PROGRAM, *words], cwd=path.parent, stderr=subprocess.PIPE, text=True)
    while not has_blocks(path):
        assert run.poll() is None
        time.sleep(0.002)
    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_dd_ends_by_the_signal_and_prints_what_was_copied_at_an_interrupt(
    tmp_path: Path, number: signal.Signals
) -> None:
    written = tmp_path / "file"
    with _dd_that_writes(written) as run:
        run.send_signal(number)
        assert run.stderr is not None
        text = run.stderr.read()
    assert run.returncode == -number
    size = written.stat().st_size
    assert 0 < size < 4096 * 100000
    found = re.search(r"^([0-9]+)\+0 records in\n\1\+0 records out\n([0-9]+) bytes", text, re.M)
    if number == signal.SIGTERM:
        assert found is None
    else:
        assert found is not None, text
        assert (int(found[1]) * 4096, int(found[2])) == (size, size)


def test_dd_prints_what_was_copied_at_sigusr1_and_continues(tmp_path: Path) -> None:
    written = tmp_path / "file"
    with _dd_that_writes(written) as run:
        assert run.stderr is not None
        blocks: list[int] = []
        while len(set(blocks)) < 3:
            run.send_signal(signal.SIGUSR1)
            lines = [run.stderr.readline() for _ in range(3)]
            assert lines[0].replace(" in", " out") == lines[1]
            blocks.append(int(lines[0].split("+")[0]))
            assert int(lines[2].split()[0]) == 4096 * blocks[-1] <= written.stat().st_blocks * 512
        run.send_signal(signal.SIGTERM)
    assert blocks == sorted(blocks)
    assert run.returncode == -signal.SIGTERM


def test_dd_prints_while_a_signal_comes_that_asks_again(tmp_path: Path) -> None:
    with _dd_that_writes(tmp_path / "file") as run:
        assert run.stderr is not None
        # The next signal is sent when the lines can be read, which is before the command has done with writing them.
        for _ in range(1000):
            run.send_signal(signal.SIGUSR1)
            lines = [run.stderr.readline() for _ in range(3)]
            assert re.fullmatch(r"\d+\+0 records in\n\d+\+0 records out\n\d+ bytes .*\n", "".join(lines)), (
                lines
            )
        run.send_signal(signal.SIGINT)
        run.communicate()
    assert run.returncode == -signal.SIGINT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_metarates_and_iometer_end_by_the_signal(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "test.icf").write_text(ICF)
    (tmp_path / "place").mkdir()
    for words, head in (
        (["metarates", "-d", "files", "-n", "200000", "-C"], "files"),
        (["iometer", "-t", "dir:place", "--seconds", "20", "test.icf"], "place"),
    ):
        run = subprocess.Popen(
            [PROGRAM, *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        while not ((tmp_path / head).is_dir() and any((tmp_path / head).iterdir())):
            assert run.poll() is None
            time.sleep(0.002)
        run.send_signal(number)
        _, text = run.communicate()
        assert run.returncode == -number, text
        assert not any((tmp_path / "place").iterdir())


@pytest.mark.xdist_group("devices")
def test_hdparm_prints_its_label_before_it_measures_and_ends_by_the_signal(tmp_path: Path, loop: str) -> None:
    run = subprocess.Popen([PROGRAM, "hdparm", "-tT", loop], cwd=tmp_path, stdout=subprocess.PIPE)
    assert run.stdout is not None
    text = ""
    while not text.endswith("reads: ") and (read := run.stdout.read(1)):
        text += read.decode()
    assert run.poll() is None
    run.send_signal(signal.SIGTERM)
    left, _ = run.communicate()
    assert text == f"\n{loop}:\n Timing cached reads: "
    assert b"MB in" not in left
    assert run.returncode == -signal.SIGTERM


@pytest.mark.parametrize("launch", [[], ["mpirun", "-np", "2"]], ids=["alone", "two tasks"])
def test_metarates_has_printed_a_test_before_the_next_ends(tmp_path: Path, launch: list[str]) -> None:
    words = [*launch, "metarates", "-d", "files", "-n", "20000", "-C", "-S", "-U"]
    with subprocess.Popen(
        [PROGRAM, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if "creates per second" in line:
                break
        assert run.poll() is None
        run.kill()
        assert "utimes per second" not in run.stdout.read()
    assert run.returncode == -signal.SIGKILL
    assert line.startswith("max rate = ")


@pytest.mark.parametrize("name", ["", "results.csv"], ids=["printed", "saved"])
def test_iometer_has_given_a_row_before_the_next_specification_ends(tmp_path: Path, name: str) -> None:
    (tmp_path / "test.icf").write_text(ICF)
    words = ["iometer", "-t", "dir:.", "--seconds", "1", *(["-r", name] if name else []), "test.icf"]
    place = tmp_path / (name or "printed")
    with (
        (tmp_path / "printed").open("w") as printed,
        subprocess.Popen([PROGRAM, *words], cwd=tmp_path, stdout=printed, stderr=subprocess.DEVNULL) as run,
    ):
        while not (place.exists() and "\nALL,All,Mix," in place.read_text()):
            assert run.poll() is None
            time.sleep(0.01)
        run.kill()
    assert run.returncode == -signal.SIGKILL
    assert [line.split(",")[2] for line in place.read_text().splitlines() if line.startswith("ALL")] == [
        "Mix"
    ]


@pytest.mark.parametrize("words", [["-f", "file"], ["-t", "2", "-F", "file", "other"]], ids=["one", "two"])
def test_a_killed_iozone_leaves_the_named_files_alone(tmp_path: Path, words: list[str]) -> None:
    place, temporary = tmp_path / "place", tmp_path / "temporary"
    place.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    run = subprocess.Popen(
        [PROGRAM, "iozone", "-s", "1g", "-r", "4k", "-i", "0", "-o", *words],
        cwd=place,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not has_blocks(place / "file"):
        assert run.poll() is None
        time.sleep(0.005)
    run.kill()
    run.wait()
    assert {path.name for path in place.iterdir()} <= {"file", "other"}
    # The next command removes the folder of the one that was killed.
    assert [path.name for path in temporary.glob("mileage-*")]
    next_one = [PROGRAM, "iozone", "-s", "64k", "-r", "4k", "-i", "0", "-f", "next"]
    subprocess.run(next_one, cwd=place, env=environment, check=True, capture_output=True)
    assert not [path.name for path in temporary.glob("mileage-*")]
    assert {path.name for path in place.iterdir()} <= {"file", "other"}


def test_ior_has_printed_a_write_before_the_read_ends(tmp_path: Path) -> None:
    words = ["ior", "-t", "4k", "-b", "16m", "-i", "100", "-o", "file"]
    with subprocess.Popen([PROGRAM, *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if line.startswith("write "):
                break
        assert run.poll() is None
        run.kill()
        assert "Max Write" not in run.stdout.read()
    assert run.returncode == -signal.SIGKILL
    assert len(line.split()) > 8
