"""The tutorial and the how-to pages: every command on them runs, in its order, and prints what the page shows.

In a block `console`, a line that begins with "$ mileage" is a command and the lines below it are its output, in which
`...` stands for anything. A block that begins with "# NAME" or "; NAME" is a file. Commands in indented blocks need
disks or studies of the reader and are not run.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command import mileage
from tests.house.repository import ROOT

PAGES = sorted(
    path
    for folder in ("tutorial", "how-to")
    for path in (ROOT / "docs" / folder).glob("*.md")
    if "\n$ " in path.read_text(encoding="utf-8")
)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"[#;] ([\w-]+\.\w+)\n")
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
DURATION = re.compile(r"--for \d+s")
STUDY_TIME = re.compile(r'time = "\d+ s"')
LONG = {"one-minute", "measure-my-disk"}
"""Run by `.ci/run`: the default study, and a minute of writes to a real disk."""


def shortened(text: str) -> str:
    """A study file with runs of a moment on a small file, or a fio job with runs of a second."""
    text = STUDY_TIME.sub('time = "50 ms"', text).replace('"1GiB"', '"16MiB"')
    return re.sub(r"^runtime=\d+", "runtime=1", text, flags=re.MULTILINE)


def words_of(command: str) -> list[str]:
    """The words after `mileage`, with runs of a moment on a small file."""
    words = shlex.split(DURATION.sub("--for 100ms", command))[1:]
    on_disk = words[0] == "measure" and "dir:." in words
    if words[0] == "check":
        return [*words, "--seconds", "0.02"]
    return [*words, "--size", "16MiB"] if on_disk else words


def is_shown(shown: str, printed: str) -> bool:
    """Whether the text of a page is the output, with `...` for anything; lines may be broken at other words."""
    parts = [re.escape(" ".join(part.split())) for part in shown.split("...")]
    return re.fullmatch(".*".join(parts), " ".join(printed.split())) is not None


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.thorough] if page.stem in LONG else [])
        for page in PAGES
    ],
)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    status = 0
    for kind, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if name := FILE.match(block):
            (tmp_path / name[1]).write_text(shortened(block), encoding="utf-8")
        if kind != "console":
            continue
        for command, shown in COMMAND.findall(block):
            if command == "echo $?":
                assert shown == f"{status}\n"
                continue
            result = mileage(*words_of(command), cwd=tmp_path, env={"MILEAGE_REPORT": "text"})
            status = result.returncode
            assert status in ((0, 1) if "--fail-if" in command else (0,)), f"{command}\n{result.stderr}"
            assert is_shown(shown, result.stdout), (
                f"{command}: the page shows\n{shown}\nand the command prints\n{result.stdout}"
            )


def test_output_that_a_page_does_not_show_is_noticed() -> None:
    assert is_shown("rate ...\n...\nlast\n", "rate  5\nmore\nlast\n")
    assert not is_shown("rate ...\nlast\n", "rate  5\n")
    assert not is_shown("rate\n", "rate 5\n")


def test_the_pages_have_examples() -> None:
    assert len(PAGES) >= 7
