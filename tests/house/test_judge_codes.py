"""Modules of `judge` return codes and figures; their words are in `report`.

Docstrings, and the messages of exceptions for misuse by a caller, are prose and may stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

JUDGE = Path(__file__).parents[2] / "python" / "mileage" / "judge"
MODULES = sorted(path.stem for path in JUDGE.glob("*.py"))
DECLARED = frozenset({"real but irrelevant", "cannot be judged"})
"""Words of other modules' types."""
WORDS_MAX = 2
"""A code may have two words; a word of a verdict is listed in a `Literal`."""


def texts_of(tree: ast.Module) -> Iterator[str]:
    """Every text that the module could return."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    prose |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    prose |= {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Raise) for inner in ast.walk(node)}
    pieces = {
        id(piece) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for piece in node.values
    }
    for node in ast.walk(tree):
        if id(node) in prose or id(node) in pieces:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(piece.value) for piece in node.values if isinstance(piece, ast.Constant))


def words_of_literals(tree: ast.Module) -> set[str]:
    """The words that the module declares as values of a type."""
    return {
        inner.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal"
        for inner in ast.walk(node.slice)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    }


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_the_judge_has_no_sentence(name: str) -> None:
    assert sentences((JUDGE / f"{name}.py").read_text(encoding="utf-8")) == []


def sentences(source: str) -> list[str]:
    """The texts of a module that are sentences."""
    tree = ast.parse(source)
    declared = words_of_literals(tree) | DECLARED
    return [
        text
        for text in texts_of(tree)
        if text not in declared and sum(map(str.isalpha, text.split())) > WORDS_MAX
    ]


@pytest.mark.parametrize(
    "planted", ['note = f"{count} runs are missing"', 'text = "the drive is slower than it was before"']
)
def test_a_planted_sentence_is_found(planted: str) -> None:
    assert sentences(planted)
