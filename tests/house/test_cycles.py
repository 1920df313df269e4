"""No file needs itself through others: in the crates, in the package, and between the packages.

The known cycles are listed below, and the list may only become shorter: a new file in a cycle fails, and so does a
cycle that has fewer files than its entry.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.house.repository import PACKAGE, crates, modules, tree
from tests.house.rust_modules import file_graph

KNOWN_IN_CRATES: dict[str, tuple[str, ...]] = {}
KNOWN_IN_PACKAGE: tuple[str, ...] = ()


def cycles(graph: Mapping[str, Iterable[str]]) -> set[frozenset[str]]:
    """The sets of files that all need each other: of Tarjan's strongly connected components those of two and more."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = set()

    def visit(file: str) -> None:
        number[file] = lowest[file] = len(number)
        stack.append(file)
        for other in graph[file]:
            if other not in number:
                visit(other)
            if other in stack:
                lowest[file] = min(lowest[file], lowest[other])
        if lowest[file] == number[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.add(frozenset(stack[at:]))
            del stack[at:]

    for file in graph:
        if file not in number:
            visit(file)
    return found


def assert_known(found: set[frozenset[str]], listed: Iterable[str]) -> None:
    known = {frozenset(entry.split()) for entry in listed}
    for cycle in found:
        assert any(cycle <= entry for entry in known), f"a new cycle: {' '.join(sorted(cycle))}"
    stale = [" ".join(sorted(entry)) for entry in known - found]
    assert not stale, f"no longer a cycle of these files: {stale}; list what is left of it"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def package_graph() -> dict[str, set[str]]:
    """Each module and those that define what it imports, wherever in the file; an `__init__.py` only hands names on."""
    known = {module_name(path): path for path in modules()}
    from_imports = {
        name: [
            (node.module or "", alias.name)
            for node in ast.walk(tree(path))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
        for name, path in known.items()
    }
    packages = {name for name, path in known.items() if path.name == "__init__.py"}
    handed_on = {
        f"{package}.{name}": f"{module}.{name}"
        for package in packages
        for module, name in from_imports[package]
    }

    def owner(module: str, name: str) -> str:
        full = f"{module}.{name}"
        while full not in known and full in handed_on:
            full = handed_on[full]
        return full if full in known else full.rpartition(".")[0]

    return {
        module: {owner(*pair) for pair in pairs} & (known.keys() - packages - {module})
        for module, pairs in from_imports.items()
        if module not in packages
    }


def test_a_cycle_is_found_with_all_its_files() -> None:
    graph = {"a": "b", "b": "c", "c": "bd", "d": "", "e": "af", "f": "e"}
    assert cycles(graph) == {frozenset("bc"), frozenset("ef")}


@pytest.mark.parametrize("crate", crates())
def test_no_new_cycle_inside_a_crate(crate: str) -> None:
    assert_known(cycles(file_graph(crate)), KNOWN_IN_CRATES.get(crate, ()))


@pytest.mark.slow
def test_no_new_cycle_inside_the_package() -> None:
    assert_known(cycles(package_graph()), KNOWN_IN_PACKAGE)


@pytest.mark.slow
def test_no_cycle_between_packages() -> None:
    def package_of(module: str) -> str:
        return ".".join(module.split(".")[:2])

    graph: dict[str, set[str]] = {package_of(module): set() for module in package_graph()}
    for module, others in package_graph().items():
        graph[package_of(module)] |= {package_of(other) for other in others} - {package_of(module)}
    assert not cycles(graph)


def test_the_engine_does_not_need_iozone() -> None:
    """IOzone's tests stand on the engine; a name that `lib.rs` or `mod.rs` hands on is followed to its file."""
    for file, used in file_graph("mileage-engine").items():
        if not file.startswith("iozone/"):
            assert not [other for other in used if other.startswith("iozone/")], file
