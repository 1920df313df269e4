"""Which file of a crate uses which: the paths below `crate`, `self` and `super` in its sources.

A path is followed through the `use` declarations of the modules it names, so a re-export is no edge of its own; neither
is `mod name;`. Code under `#[cfg(test)]` does not count. Paths made by macros are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.house.repository import CRATES, files

Module = tuple[str, ...]

_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|r#"(?:.|\n)*?"#|"(?:\\.|[^"\\])*"', re.DOTALL)
_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#.*\n)*mod \w+ \{.*", re.MULTILINE | re.DOTALL)
_USE = re.compile(r"\buse\s+([^;]+);")
_PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")


def modules(crate: str) -> dict[Module, Path]:
    """The modules of a crate that are files: () is lib.rs."""
    source = CRATES / crate / "src"
    found = {}
    for path in files(".rs"):
        if path.is_relative_to(source) and not path.stem.endswith("tests"):
            parts = path.relative_to(source).with_suffix("").parts
            found[parts[:-1] if parts[-1] in ("mod", "lib") else parts] = path
    return found


@cache
def _code(path: Path) -> str:
    return _TESTS.sub("", _NO_CODE.sub('""', path.read_text(encoding="utf-8")))


def _expanded(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each path of a `use` tree with the name it gets: `a::{b, c as d}` gives `a::b`, b and `a::c`, d."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, alias = tree.partition(" as ")
        parts = tuple(path.strip().split("::"))
        parts = parts[:-1] if parts[-1] == "self" and len(parts) > 1 else parts
        yield parts, alias.strip() or parts[-1]
        return
    depth, start, inner = 0, 0, rest.rpartition("}")[0] + ","
    for at, sign in enumerate(inner):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            if branch := inner[start:at].strip():
                yield from _expanded(head.strip() + branch)
            start = at + 1


@cache
def _uses(path: Path) -> tuple[tuple[tuple[str, ...], str], ...]:
    return tuple(found for tree in _USE.findall(_code(path)) for found in _expanded(tree))


def _absolute(parts: tuple[str, ...], here: Module, known: dict[Module, Path]) -> Module | None:
    if parts[0] == "crate":
        return parts[1:]
    at = here
    while parts and parts[0] in ("self", "super"):
        at = at[:-1] if parts[0] == "super" else at
        parts = parts[1:]
    # A name without a path to it is a child module, this file's own, or another crate.
    is_child = parts[:1] != () and (*here, parts[0]) in known
    return (*at, *parts) if at != here or is_child else None


def _owner(path: Module, known: dict[Module, Path], seen: int = 0) -> Module:
    """The file that defines what a path names."""
    end = next(end for end in range(len(path), -1, -1) if path[:end] in known)
    module, rest = path[:end], path[end:]
    if rest and seen < 8:
        for parts, name in _uses(known[module]):
            if name == rest[0] and (target := _absolute(parts, module, known)) is not None:
                return _owner((*target, *rest[1:]), known, seen + 1)
    return module


def file_graph(crate: str) -> dict[str, set[str]]:
    """Each file of a crate and the files of the crate that define what it uses, by their paths below `src`."""
    known = modules(crate)
    graph = {}
    for here, path in known.items():
        code = _USE.sub("", _code(path))
        used = [parts for parts, _ in _private_uses(path)]
        used += [tuple(text.split("::")) for text in _PATH.findall(code)]
        targets = {
            _owner(target, known) for parts in used if (target := _absolute(parts, here, known)) is not None
        }
        source = CRATES / crate / "src"
        graph[path.relative_to(source).as_posix()] = {
            known[target].relative_to(source).as_posix() for target in targets - {here}
        }
    return graph


@cache
def _private_uses(path: Path) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The `use` declarations of a file but those that only hand a name on."""
    text = re.sub(r"\bpub(?:\([^)]*\))?\s+use\s+[^;]+;", "", _code(path))
    return tuple(found for tree in _USE.findall(text) for found in _expanded(tree))
