"""What the house rules look at: the files of this checkout that git tracks or would track."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CRATES = ROOT / "crates"
PACKAGE = ROOT / "python" / "mileage"


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """Tracked and not ignored files with one of the suffixes (none: all), without links and deleted files."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (ROOT / name for name in listing.split("\0") if name)
    found = (path for path in paths if path.is_file() and not path.is_symlink())
    return tuple(sorted(path for path in found if not suffixes or path.suffix in suffixes))


def name_of(path: Path) -> str:
    """The path as a person at the checkout's root would type it."""
    return path.relative_to(ROOT).as_posix()


@cache
def manifest(crate: str) -> dict[str, Any]:
    """The Cargo.toml of a crate."""
    return tomllib.loads((CRATES / crate / "Cargo.toml").read_text(encoding="utf-8"))


def crates() -> tuple[str, ...]:
    """The crates' names, which are their folders' names."""
    return tuple(sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml")))


def modules() -> tuple[Path, ...]:
    """Every module of the package."""
    return tuple(path for path in files(".py") if path.is_relative_to(PACKAGE))


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(path: Path) -> frozenset[str]:
    """Full names of the modules a file of the package imports; `from a import b` gives `a` and `a.b`."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: import by full name"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)
