"""Packages that load their public names lazily: the table, the imports for type checkers and `__all__` are the same."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from tests.house.repository import PACKAGE, modules, name_of, tree

Table = dict[str, tuple[str, ...]]


def _lazy_packages() -> list[Path]:
    return [path for path in modules() if path.name == "__init__.py" and _table(path) is not None]


def _table(path: Path) -> Table | None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names":
            table: Table = ast.literal_eval(node.args[1])
            return table
    return None


def _imports_for_type_checkers(path: Path) -> Table:
    blocks = [
        node
        for node in tree(path).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {str(node.module): tuple(alias.name for alias in node.names) for node in imports}


def _package(path: Path) -> str:
    return ".".join(("mileage", *path.parent.relative_to(PACKAGE).parts))


@pytest.mark.parametrize("path", _lazy_packages(), ids=name_of)
def test_table_and_imports_for_type_checkers_agree(path: Path) -> None:
    assert _table(path) == _imports_for_type_checkers(path)


@pytest.mark.parametrize("path", _lazy_packages(), ids=name_of)
def test_every_public_name_is_found(path: Path) -> None:
    package = import_module(_package(path))
    names = {name for names in (_table(path) or {}).values() for name in names}
    assert names == set(package.__all__) - {"__version__"}
    for name in package.__all__:
        getattr(package, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # noqa: B018


@pytest.mark.parametrize("path", _lazy_packages(), ids=name_of)
def test_no_lazy_name_is_also_a_submodule(path: Path) -> None:
    submodules = {other.stem for other in path.parent.iterdir()}
    names = {name for names in (_table(path) or {}).values() for name in names}
    assert not names & submodules, "Python would return the module once it is loaded"


def test_packages_are_lazy() -> None:
    assert {"mileage", "mileage.app", "mileage.judge"} <= {_package(path) for path in _lazy_packages()}
