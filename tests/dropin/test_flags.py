"""Flags: read as the tools read them, or refused; pages, help and completion are made of the same objects."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from mileage.dropin.flags import TOOLS, Flag, Tool, complete, read, tool_named, tools
from mileage.dropin.pages import help_text, manual, page
from mileage.errors import Refused
from tests.house.repository import ROOT

ALL = tools()
REFUSED = [(tool, flag) for tool in ALL for flag in tool.flags if flag.instead]
DONE = [(tool, flag) for tool in ALL for flag in tool.flags if not flag.instead]


def named(pairs: list[tuple[Tool, Flag]]) -> list[str]:
    return [f"{tool.name} {flag.spelling}" for tool, flag in pairs]


def words_for(tool: Tool, flag: Flag, spelling: str) -> list[str]:
    value = flag.example or "1"
    if not flag.value:
        return [spelling]
    if tool.style == "operands" and not spelling.startswith("-"):
        return [f"{spelling}={value}"]
    return (
        [f"{spelling}={value}"] if flag.optional else [spelling, *(value.split() if flag.pair else [value])]
    )


@pytest.mark.parametrize(("tool", "flag"), REFUSED, ids=named(REFUSED))
def test_what_is_not_built_is_refused_with_what_it_does_and_what_to_use(tool: Tool, flag: Flag) -> None:
    for spelling in flag.spellings:
        with pytest.raises(Refused) as refusal:
            read(tool, words_for(tool, flag, spelling))
        text = str(refusal.value)
        assert tool.name in text
        assert flag.spelling in text
        assert flag.summary in text
        assert flag.instead in text


@pytest.mark.parametrize(("tool", "flag"), DONE, ids=named(DONE))
def test_every_flag_is_read_in_each_spelling(tool: Tool, flag: Flag) -> None:
    for spelling in flag.spellings:
        given = read(tool, words_for(tool, flag, spelling))
        assert [found for found, _ in given.flags] == [flag]
        assert given.has(flag.spelling)
        assert given.last(flag.spelling) == ((flag.example or "1") if flag.value else "")


@pytest.mark.parametrize("tool", ALL, ids=list(TOOLS))
def test_no_spelling_stands_for_two_flags(tool: Tool) -> None:
    spelled = [spelling for flag in tool.all_flags for spelling in flag.spellings]
    assert len(spelled) == len(set(spelled))


@pytest.mark.parametrize("tool", ALL, ids=list(TOOLS))
def test_a_flag_that_does_not_exist_is_refused(tool: Tool) -> None:
    for word in ("--no-such-flag", "-+@", "-@"):
        with pytest.raises(Refused, match="there is no flag"):
            read(tool, [word])


@pytest.mark.parametrize("dash", "\u2010\u2012\u2013\u2014\u2212")
def test_the_long_dashes_of_texts_are_refused_with_what_to_type(dash: str) -> None:
    for tool in ALL:
        with pytest.raises(Refused, match="type -u"):
            read(tool, [f"{dash}u"])


def test_attached_separate_and_bundled_values() -> None:
    tool = tool_named("iozone")
    for words in (["-Rb", "x", "-i0", "-+w", "98"], ["-R", "-bx", "-i", "0", "-+w", "98"]):
        given = read(tool, words)
        assert (given.has("-R"), given.last("-b"), given.every("-i"), given.last("-+w")) == (
            True,
            "x",
            ["0"],
            "98",
        )
    for words in (["-b"], ["-+w"], ["-+w98"], ["-+nx"]):
        with pytest.raises(Refused):
            read(tool, words)


def test_the_page_is_made_of_the_flags() -> None:
    written = (ROOT / "docs" / "reference" / "drop-in-tools.md").read_text(encoding="utf-8")
    assert written == page(ALL), "run: python -m mileage.dropin.pages > docs/reference/drop-in-tools.md"


@pytest.mark.parametrize("tool", ALL, ids=list(TOOLS))
def test_help_fits_80_columns(tool: Tool) -> None:
    wide = [
        line
        for line in help_text(tool).splitlines()
        if len(line) > 80 and f"  mileage {tool.name}" not in line
    ]
    assert not wide


@pytest.mark.parametrize("tool", ALL, ids=list(TOOLS))
def test_help_and_manual_name_every_flag(tool: Tool) -> None:
    for flag in tool.all_flags:
        assert flag.spelling in help_text(tool)
        assert flag.spelling.replace("-", "\\-") in manual(tool, "0")


@pytest.mark.parametrize("name", TOOLS)
def test_completion_offers_the_flags_that_are_done(name: str) -> None:
    tool = tool_named(name)
    offered = {word.rstrip("=") for word, _ in complete(tool, "")}
    assert {flag.spelling for flag in tool.flags if not flag.instead and not flag.choices} <= {
        word.partition("=")[0] for word in offered
    }
    assert not offered & {flag.spelling for flag in tool.flags if flag.instead}


def texts_of(*names: str) -> set[str]:
    """All texts in the code of the modules that read the flags of a tool."""
    found: set[str] = set()
    for name in names:
        for path in (ROOT / "python" / "mileage").glob(name):
            if path.name.endswith("_flags.py"):
                continue
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            values = [node.value for node in nodes if isinstance(node, ast.Constant)]
            found |= {value for value in values if isinstance(value, str)}
    return found


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("fio", ("dropin/fio*.py",)),
        ("ior", ("dropin/ior.py", "dropin/ior.py", "dropin/task_values.py")),
        ("mdtest", ("dropin/mdtest.py", "dropin/task_values.py")),
    ],
)
def test_every_flag_is_read_noted_or_refused(name: str, modules: tuple[str, ...]) -> None:
    texts = texts_of(*modules)
    silent = [
        flag.spelling
        for flag in tool_named(name).flags
        if not (flag.instead or flag.ignored or flag.spelling in texts)
        and (len(flag.name) == 1 or flag.name not in texts)
    ]
    # The command line itself does -h.
    assert [spelling for spelling in silent if spelling != "-h"] == []


def test_a_shell_completes_a_drop_in_command() -> None:
    environment = {"_MILEAGE_COMPLETE": "bash_complete", "COMP_WORDS": "mileage iozone -+", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", "from mileage.cli import main; main()"],
        env={**__import__("os").environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "-+u" in done.stdout, done.stderr
