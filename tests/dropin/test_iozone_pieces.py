"""`mileage iozone`: what it prints while it works, and the duplicate blocks of what it writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import mileage

SHARES = ("-+w", "75", "-+y", "50", "-+C", "50")


def blocks_of(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[at : at + 4096] for at in range(0, len(data), 4096)]


def equal_earlier(blocks: list[bytes]) -> float:
    return 100 * (1 - len(set(blocks)) / len(blocks))


@pytest.mark.parametrize("record", ["4k", "64k"])
def test_the_shares_of_duplicates_are_those_of_the_files(tmp_path: Path, record: str) -> None:
    words = ("-t", "3", "-s", "512k", "-r", record, "-i", "0", "-+q", "0", "-w", "-F", "a", "b", "c")
    done = mileage("iozone", *words, *SHARES, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stderr.splitlines() if "duplicates:" in line)
    assert "nominal -+w 75 -+y 50 -+C 50 %" in line
    first, second, third = (blocks_of(tmp_path / name) for name in "abc")
    known = set(first)
    expected = (
        equal_earlier(first),
        100 * sum(block in known for block in second) / len(second),
        equal_earlier(first + second + third),
    )
    found = [float(text) for text in re.findall(r"([0-9.]+) % (?:equal|of a second|of the blocks)", line)]
    assert found == pytest.approx(list(expected), abs=0.06)


def test_without_shares_nothing_is_said_of_duplicate_files(tmp_path: Path) -> None:
    done = mileage("iozone", "-s", "64k", "-r", "16k", "-i", "0", cwd=tmp_path)
    assert "duplicates:" not in done.stderr


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("-s", "16k", "-r", "4k", "-i", "0", "-i", "3", "-i", "5"), r"\n +16 +4 +[0-9]+ +[0-9]+"),
        (("-t", "1", "-s", "16k", "-r", "4k", "-F", "x", "-+q", "60"), "initial writers"),
    ],
    ids=["row", "blocks"],
)
def test_what_was_finished_is_printed_when_it_is_killed(
    tmp_path: Path, words: tuple[str, ...], first: str
) -> None:
    if words[0] == "-s":
        # Each write waits for the device: the row is far from finished when its first figures are there.
        words = ("-o", "-s", "64m", "-r", "4k", *words[4:])
        first = r"\n +65536 +4 +[0-9]+"
    program = [str(Path(sys.executable).with_name("mileage")), "iozone", *words]
    with subprocess.Popen(
        program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stdout is not None
        seen = ""
        while not re.search(first, seen):
            piece = run.stdout.read(1)
            assert piece, f"it ended after: {seen}"
            seen += piece
        assert run.poll() is None
        run.kill()
    assert "iozone test complete" not in seen
