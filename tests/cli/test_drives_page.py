"""The pages on virtual drives and on Python: every command and Python line on them runs and prints what is shown."""

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.command import mileage
from tests.house.repository import ROOT

PAGES = tuple(
    ROOT / "docs" / f"{name}.md"
    for name in (
        "reference/drive-profiles",
        "reference/drive-faults",
        "reference/python",
        "explanation/virtual-drives",
        "explanation/ssd-aging",
    )
)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ mileage (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def blocks(kind: str) -> list[str]:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    return [text for page in texts for found, text in FENCE.findall(page) if found == kind]


def commands() -> list[tuple[str, str]]:
    return [found for block in blocks("console") for found in COMMAND.findall(block)]


def cases() -> list[Any]:
    return [
        pytest.param(command, printed, id=f"{command}-{number}")
        for number, (command, printed) in enumerate(commands())
    ]


@pytest.fixture
def in_folder_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in blocks("toml"):
        name = re.match(r"# (\S+)\n", text)
        assert name is not None
        (tmp_path / name[1]).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("in_folder_of_files")
@pytest.mark.parametrize(("command", "printed"), cases())
def test_a_command_prints_what_the_page_shows(command: str, printed: str) -> None:
    result = mileage(*shlex.split(command))
    assert result.returncode == 0, result.stderr
    same = doctest.OutputChecker().check_output(printed, result.stdout, doctest.ELLIPSIS)
    assert same, f"the page says\n{printed}\nand the command\n{result.stdout}"


@pytest.mark.usefixtures("in_folder_of_files")
def test_the_python_lines_answer_what_the_page_shows() -> None:
    failed, tried = 0, 0
    for block in blocks("python"):
        lines = doctest.DocTestParser().get_doctest(block, {}, "page", None, 0)
        counts = doctest.DocTestRunner(verbose=False).run(lines)
        failed, tried = failed + counts.failed, tried + counts.attempted
    assert tried > 5
    assert failed == 0


def test_the_example_is_the_profile_of_the_page() -> None:
    """A reader of the page on ageing copies it from `examples`."""
    (block,) = [text for text in blocks("toml") if text.startswith("# small.toml\n")]
    example = (ROOT / "examples" / "small.toml").read_text(encoding="utf-8")
    assert example.startswith("# ")
    assert example.partition("\n")[2] == block.partition("\n")[2]


def test_the_pages_have_examples_and_stay_pages() -> None:
    assert len(commands()) > 3
    assert all(len(page.read_text(encoding="utf-8").splitlines()) < 400 for page in PAGES)
