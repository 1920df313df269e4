"""A refusal is a value of parts: each has a code that the documentation lists, and no text holds the other parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from mileage.errors import CODES
from tests.house.repository import ROOT, files, name_of, tree

#: What makes a refusal, and the number of positional arguments with which the code is one of them.
MAKERS = {"Refused": 9, "NoRoom": 9, "_Wrong": 9, "Refusal": 5}
#: Texts that still hold what was found, what was expected or what to do. The number may only fall.
SENTENCES_LEFT = 0
PARTS = re.compile(r"\bexpected \S|^found \S|; (?:give|use|choose|leave|name|make|run)\b")
ROW = re.compile(r"^\| `([a-z-]+)` \| (.+) \|$", re.MULTILINE)


def made() -> Iterator[tuple[Path, ast.Call]]:
    for path in files(".py"):
        if name_of(path).startswith("python/"):
            for node in ast.walk(tree(path)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                    yield path, node


def text_of(call: ast.Call) -> ast.expr | None:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if isinstance(call.func, ast.Name) and call.func.id != "Refusal" and len(call.args) > 1:
        return call.args[1]
    return given.get("text")


def constant(part: ast.expr) -> str:
    """The constant text of an expression, with {} for what is put in."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.JoinedStr):
        return "".join(constant(value) for value in part.values)
    return "{}"


def test_every_refusal_has_a_code() -> None:
    places = [
        f"{name_of(path)}:{call.lineno}"
        for path, call in made()
        if len(call.args) < MAKERS[ast.unparse(call.func)]
        and not any(keyword.arg in ("code", None) for keyword in call.keywords)
    ]
    assert not places, f"say of which kind it is (code=, one of mileage.errors.CODES): {places}"


def test_codes_are_those_of_the_table() -> None:
    source = "".join(path.read_text() for path in files(".py") if name_of(path).startswith("python/"))
    used = set(re.findall(r'code="([^"]+)"', source)) | set(
        re.findall(r'^[A-Z_]+: Final = "([a-z-]+)"$', source, re.M)
    )
    assert not set(re.findall(r'code="([^"]+)"', source)) - set(CODES)
    assert not set(CODES) - used - {"refused"}, "a code that nothing uses"
    listed = ROW.findall((ROOT / "docs/reference/exit-status.md").read_text().partition("### Codes")[2])
    assert dict(listed) == CODES, "docs/reference/exit-status.md lists the codes"


def test_a_text_does_not_hold_the_other_parts() -> None:
    found = [
        f"{name_of(path)}:{call.lineno}: {text}"
        for path, call in made()
        if (part := text_of(call)) is not None and PARTS.search(text := constant(part))
    ]
    assert len(found) <= SENTENCES_LEFT, "give found=, expected= and advice= for:\n" + "\n".join(found)
