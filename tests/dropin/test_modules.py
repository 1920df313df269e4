"""docs/reference/drop-in-modules.md: each module of the drop-in commands has a command line that executes its code."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

import pytest

from tests.command import mileage
from tests.dropin.command_lines import PLACES, CommandLine, command_lines, scaled
from tests.dropin.test_iometer import ICF
from tests.dropin.test_printed_lines import LINES
from tests.house.repository import PACKAGE, ROOT

FOLDER: Final = PACKAGE / "dropin"
TABLE: Final = ROOT / "docs/reference/drop-in-modules.md"
DEVICES: Final = {"iometer": "virtual:plain-64gib"}
HOST: Final = "virtual:intel-x25e-64gb@phenom-8gib"
"""What stands for a drive."""
SCALED: Final = {"-s 14000": "-s 2", "-n 1000000": "-n 100", "count=10240": "count=8"}
"""What stands in a line, and what stands there in the test."""
STUDY: Final = "ior -w -r -t 4k -b 4k --study kept"
"""What is done before a line about a study that is kept."""


class Row(NamedTuple):
    """A row of the table."""

    module: str
    line: str
    where: str


ROWS: Final = [
    Row(*found)
    for found in re.findall(r"^\| `(\w+)` \| [^|]* \| `([^`]*)` \| (.*) \|$", TABLE.read_text(), re.MULTILINE)
]


def test_the_table_has_each_module_once_in_order() -> None:
    modules = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
    assert [row.module for row in ROWS] == modules


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.module)
def test_a_line_of_a_repository_or_an_article_is_one_of_the_collected_lines(row: Row) -> None:
    tool, _, rest = row.line.partition(" ")
    if "/" in row.where and "(" not in row.where:
        assert (tool, row.where, rest) in {(one.tool, one.repository, one.line) for one in command_lines()}
    elif row.where == "a public script":
        assert (tool, "-", rest) in {(one.tool, one.repository, one.line) for one in command_lines()}
    elif row.where.startswith("article"):
        letter = row.where.removeprefix("article ")
        printed = [
            line.replace("/dev/" + 3 * "X", "DEV") for name, line in LINES.items() if name[0] == letter
        ]
        assert any(row.line.lower() in line.lower().replace("./iozone", "iozone") for line in printed)


def words_of(line: str) -> list[str]:
    """A line as the words behind `mileage`, in small."""
    for found, instead in SCALED.items():
        line = line.replace(found, instead)
    tool, *words = shlex.split(line.removeprefix("mileage "))
    words = [word.replace("DEV", DEVICES.get(tool, HOST)) for word in words]
    if tool in ("fio", "ior", "iozone", "mdtest"):
        words = scaled(CommandLine(tool, "", "", "", shlex.join(words)))
    return [tool, *words]


def is_data(module: str) -> bool:
    """Whether a module has no function for others, such as a list of flags."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    return not any(isinstance(node, ast.FunctionDef) and node.name[0] != "_" for node in tree.body)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.module)
def test_a_line_executes_code_of_its_module(row: Row, tmp_path: Path) -> None:
    for name in PLACES:
        (tmp_path / name).mkdir()
    (tmp_path / "machinefile").write_text("localhost\n" * 4)
    (tmp_path / "iozone_config").write_text("localhost . iozone\n" * 2)
    (tmp_path / "test.icf").write_text(ICF)
    if "export" in row.line:
        assert mileage(*STUDY.split(), cwd=tmp_path).returncode == 0
    keeps = {"MILEAGE_STUDIES": "."} if row.module.endswith("_study") else {}
    executed: set[str] = set()

    def note(frame: FrameType, event: str, _value: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            executed.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        done = mileage(*words_of(row.line), cwd=tmp_path, env=keeps)
    finally:
        sys.setprofile(before)
    assert done.returncode == 0, done.stderr
    assert str(FOLDER / f"{row.module}.py") in executed or is_data(row.module)
