"""The comparison of the tests' durations names what grew, and the kept file names tests that exist."""

from __future__ import annotations

import ast

from tests import durations
from tests.house.repository import ROOT


def test_a_test_that_takes_three_times_as_long_is_named() -> None:
    before = {"tests/a.py::test_a": 2.0, "tests/a.py::test_b": 2.0}
    lines = durations.grown(before, {"tests/a.py::test_a": 6.1, "tests/a.py::test_b": 5.9}, ())
    assert lines == ["tests/a.py::test_a: 6.1 s, 3.0 times the kept 2.0 s"]


def test_a_new_long_test_is_named_unless_it_is_marked() -> None:
    now = {"tests/a.py::test_new": 5.1, "tests/a.py::test_marked": 9.0, "tests/a.py::test_fast": 0.2}
    lines = durations.grown({}, now, {"tests/a.py::test_marked"})
    assert [line.partition(":")[0] for line in lines] == ["tests/a.py"]
    assert "test_new: 5.1 s, new or fast before" in lines[0]


def test_a_case_counts_for_its_function() -> None:
    assert durations.function_of("tests/a.py::test_a[1-x@y]@devices") == "tests/a.py::test_a"
    assert durations.function_of("tests/a.py::test_a@devices") == "tests/a.py::test_a"


def test_the_kept_file_names_tests_that_exist() -> None:
    for name in durations.kept():
        path, _, function = name.partition("::")
        defined = {node.name for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
                   if isinstance(node, ast.FunctionDef)}  # fmt: skip
        assert function.rpartition("::")[2] in defined, f"tests/durations.json: {name} does not exist"
