"""What a reader can hold: files, functions, names, and nothing left lying about."""

import ast
import re

import pytest

from tests.house.repository import files, name_of, tree

LINES_PER_FILE_MAX = 900
LINES_PER_FUNCTION_MAX = 70
BYTES_PER_FILE_MAX = 512 * 1024
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}
#: Markers of unfinished work, joined here so that this file does not find itself.
LEFTOVERS = (
    "FIX" + "ME",
    "TO" + "DO",
    "XX" + "X",
    "HA" + "CK",
    "todo" + "!(",
    "unimplemented" + "!(",
    "dbg" + "!(",
)
TEXT = (".rs", ".py", ".toml", ".md", ".j2", ".pyi", ".yml", ".json", ".txt", "")
#: Written by others, kept as they are.
NOT_OURS = {"LICENSE", "Cargo.lock"}


def functions(module: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_no_file_outgrows_a_reader() -> None:
    for path in files(".rs", ".py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= LINES_PER_FILE_MAX, f"{name_of(path)}: {lines} lines; split it by responsibility"


def test_no_function_outgrows_a_reader() -> None:
    """Rust functions are held to the same limit by clippy."""
    for path in files(".py"):
        for function in functions(tree(path)):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            place = f"{name_of(path)}:{function.lineno}"
            assert lines <= LINES_PER_FUNCTION_MAX, f"{place}: {function.name} has {lines} lines"


def test_names_say_what_is_inside() -> None:
    for path in files():
        vague = {part.split(".")[0] for part in path.parts[-3:]} & VAGUE_NAMES
        assert not vague, f"{name_of(path)}: {sorted(vague)} says nothing about the contents"


@pytest.mark.parametrize("marker", LEFTOVERS)
def test_nothing_unfinished_is_left_in_the_text(marker: str) -> None:
    pattern = re.compile(rf"\b{re.escape(marker)}" + (r"\b" if marker[-1].isalpha() else ""))
    for path in files(*TEXT):
        if path.name in NOT_OURS:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not pattern.search(line), (
                f"{name_of(path)}:{number}: finish it, refuse it by name, or drop it"
            )


def test_no_trailing_space_and_a_last_newline() -> None:
    for path in files(*TEXT):
        if path.name in NOT_OURS:
            continue
        text = path.read_text(encoding="utf-8")
        assert not text or text.endswith("\n"), f"{name_of(path)}: no newline at the end"
        for number, line in enumerate(text.split("\n"), 1):
            assert line == line.rstrip(), f"{name_of(path)}:{number}: trailing space"


def test_no_large_file_is_kept() -> None:
    for path in files():
        size = path.stat().st_size
        assert size <= BYTES_PER_FILE_MAX, f"{name_of(path)}: {size} bytes; generate it or fetch it"
