"""A test that cannot run, or cannot fail, is worse than none."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import COLLECTED, is_run_of_all
from tests.house.repository import CRATES, ROOT, files, manifest, name_of, tree

PYTHON_TESTS = [path for path in files(".py") if path.is_relative_to(ROOT / "tests")]


def has_tests(path: Path) -> bool:
    functions = (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef))
    return any(function.name.startswith("test_") for function in functions)


def test_every_file_with_tests_is_named_so_that_it_is_collected() -> None:
    for path in PYTHON_TESTS:
        named = path.name.startswith("test_")
        assert named == has_tests(path), (
            f"{name_of(path)}: test_*.py is the name of a file with tests, no other"
        )


def test_every_test_folder_is_collected(request: pytest.FixtureRequest) -> None:
    if not is_run_of_all(request.config):
        pytest.skip("only part of the tests was asked for")
    collected = request.config.stash[COLLECTED]
    missing = [name_of(path) for path in PYTHON_TESTS if has_tests(path) and path not in collected]
    assert not missing, f"not collected: {missing}"


def test_no_two_tests_of_a_file_share_a_name() -> None:
    """The second would silently replace the first."""
    for path in PYTHON_TESTS:
        names = [node.name for node in tree(path).body if isinstance(node, ast.FunctionDef)]
        twice = {name for name in names if names.count(name) > 1}
        assert not twice, f"{name_of(path)}: {sorted(twice)}"


def test_a_rust_integration_folder_is_one_binary_that_names_all_its_files() -> None:
    for folder in CRATES.glob("*/tests/it"):
        named = (folder / "main.rs").read_text(encoding="utf-8")
        for path in folder.glob("*.rs"):
            assert path.stem == "main" or f"mod {path.stem};" in named, f"{name_of(path)} is never compiled"


def test_every_rust_benchmark_is_declared() -> None:
    """With its own `main` and `test = true`, a benchmark also runs small in `cargo test`."""
    for path in CRATES.glob("*/benches/*.rs"):
        declared = {bench["name"]: bench for bench in manifest(path.parents[1].name).get("bench", [])}
        assert path.stem in declared, f"{name_of(path)} is not declared in its Cargo.toml"
        assert declared[path.stem].get("harness") is False, f"{name_of(path)}: harness = false"
        assert declared[path.stem].get("test") is True, f"{name_of(path)}: test = true"


def test_the_canary_fails(tmp_path: Path) -> None:
    """The settings of this project report a failing assertion as a failure."""
    (tmp_path / "test_canary.py").write_text("def test_canary() -> None:\n    assert 2 + 2 == 5\n")
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *settings, str(tmp_path)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "1 failed" in result.stdout
