"""The commands that Mileage advises: where its source prints one, and which are in a text that it printed.

A command in a sentence is in backticks (on a page in `<code>`); without them it goes to the end of its line. So a
reader, and this module, see where it ends.
"""

from __future__ import annotations

import ast
import html
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mileage.cli import root
from tests.house.repository import files, name_of, tree
from tests.house.test_refusals import constant

PLACEHOLDER = r"(?<![\w/.-])[A-Z]+\b(?![\w.=])"
"""A word of a command that its reader fills in, such as `FILE`."""
_NAMES = "|".join(sorted(root.list_commands(None), key=len, reverse=True))  # type: ignore[arg-type]
_COMMAND = re.compile(rf"(?:mileage (?:{_NAMES}|{{}})|{{}} --help)(?![\w-])")
_PRINTED = re.compile(
    rf"`(mileage (?:{_NAMES})(?![\w-])[^`]*)`|(?<![`\w./>-])(mileage (?:{_NAMES})(?![\w-]|  )[^`\n]*)"
)
_CODE = re.compile(r"<code[^>]*>(mileage [^<]*)</code>")
_NOT_PRINTED = ("dropin/pages.py", "analysis/check_classes.toml")
"""The text of `--help` and of manual pages; data."""


class Site(NamedTuple):
    """A place of the source that prints a command; `{}` stands for what is put in."""

    module: str
    template: str

    def prints(self, command: str) -> bool:
        """Whether a printed command can come from here."""
        parts = re.split(rf"\{{\{{.*?\}}\}}|\{{\}}|{PLACEHOLDER}", self.template)
        return re.fullmatch(".+".join(map(re.escape, parts)), command, re.DOTALL) is not None


@cache
def sites() -> frozenset[Site]:
    """All places in `python/mileage`."""
    return frozenset(
        Site(name_of(path).removeprefix("python/mileage/"), template)
        for path in files(".py", ".j2", ".toml")
        if name_of(path).startswith("python/mileage/") and not name_of(path).endswith(_NOT_PRINTED)
        if re.search("mileage |--help", path.read_text(encoding="utf-8"))
        for text in _texts(path)
        for template in _templates(text)
    )


def printed(text: str) -> list[str]:
    """The commands that a text advises, as it prints them, each once."""
    text = re.sub(r" \\\n +", " ", text)
    return list(dict.fromkeys((quoted or plain).strip() for quoted, plain in _PRINTED.findall(text)))


def on_page(text: str) -> list[str]:
    """The commands that the text of a page advises, each once."""
    return list(dict.fromkeys(map(html.unescape, _CODE.findall(text))))


def _templates(text: str) -> Iterator[str]:
    for match in _COMMAND.finditer(text):
        before, rest = text[: match.start()], text[match.start() :]
        end = "`" if before.endswith("`") else "</code>" if before.endswith("<code>") else "\n"
        yield rest.partition(end)[0].strip()


def _texts(path: Path) -> Iterator[str]:
    if path.parent.name == "tools":
        # Of the flags of a tool only what to use instead is printed outside of `--help`.
        yield from _instead(tomllib.loads(path.read_text(encoding="utf-8")))
        return
    if path.suffix != ".py":
        yield path.read_text(encoding="utf-8")
        return
    parsed = tree(path)
    hidden = set(_documentation(parsed))
    for node in ast.walk(parsed):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node not in hidden:
            if isinstance(node, ast.JoinedStr) or isinstance(node.value, str):
                yield constant(node)
            hidden.update(ast.walk(node))


def _instead(table: dict[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _instead(value)
        elif name == "instead":
            yield value


def _documentation(parsed: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and the texts of `--help`."""
    for node in ast.walk(parsed):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            hidden: list[ast.expr] = [word.value for word in node.keywords if word.arg in ("help", "epilog")]
            if name == "Flag":
                hidden += node.args
            if name == "Tool":
                hidden += [word.value for word in node.keywords if word.arg != "flags"]
            for one in hidden:
                yield from (part for part in ast.walk(one) if not isinstance(part, ast.Call))
