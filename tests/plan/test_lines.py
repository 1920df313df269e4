"""Lines of values in study files, and places where a text is not TOML: on what is written, and on any text."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage._core import toml_faults, toml_lines
from mileage.errors import Refusal
from mileage.plan import builtin_names, builtin_text
from mileage.plan.faults import BrokenStudy, join, steps_of

TEXT = '''\
name = "x"   # a comment with [brackets] and = signs
question = """two
lines = [
"""
exclude = [
  { a = 1 },
  { a = 2 },
]
[[stage]]
name = "first"
[[stage]]
name = "second # not a comment"
[measure.one]
record = ["4KiB",
  "8KiB"]
stop = { bytes = "1MiB" }
"quoted key" = 1
[measure.one.vary]
rate = [1, 2]
'''


def line_of(text: str, path: str) -> int | None:
    return toml_lines(text, [steps_of(path)])[0]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("name", 1),
        ("question", 2),
        ("exclude[1].a", 7),
        ("stage", 9),
        ("stage[0]", 9),
        ("stage[0].name", 10),
        ("stage[1]", 11),
        ("stage[1].name", 12),
        ("measure.one", 13),
        ("measure.one.record[0]", 14),
        ("measure.one.record[1]", 15),
        ("measure.one.record[7]", 14),
        ("measure.one.stop.bytes", 16),
        ("measure.one.'quoted key'", 17),
        ("measure.one.vary.rate[0]", 19),
        ("measure.one.depth", 13),
        ("measure.two", 13),
        ("target", None),
    ],
)
def test_a_path_has_the_line_of_its_value(path: str, line: int | None) -> None:
    tomllib.loads(TEXT)
    assert line_of(TEXT, path) == line


@pytest.mark.parametrize("name", builtin_names())
def test_every_key_of_the_built_in_studies_is_found_on_its_line(name: str) -> None:
    text = builtin_text(name)
    lines = text.splitlines()

    def look(value: object, path: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                where = join(path, key)
                line = line_of(text, where)
                assert line is not None
                assert key in lines[line - 1], where
                look(inner, where)
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                look(inner, f"{path}[{index}]")

    look(tomllib.loads(text), "")


@given(st.text(max_size=200), st.text(max_size=20))
def test_no_text_and_no_path_breaks_it(text: str, path: str) -> None:
    line = line_of(text, path)
    assert line is None or 1 <= line <= max(len(text.splitlines()), 1)


def test_faults_get_the_lines_of_their_paths() -> None:
    broken = BrokenStudy(
        "x", [Refusal("measure.one.record[1]", text="bad"), Refusal("question", text="worse")]
    )
    located = broken.located(TEXT, "f.toml")
    assert str(located) == "f.toml: 2 faults\nline 2: question: worse\nline 15: measure.one.record[1]: bad"
    assert (
        str(BrokenStudy("x", [Refusal("target", text="missing")]).located(TEXT, "f.toml"))
        == "f.toml: target: missing"
    )


@given(st.text(max_size=200))
def test_what_the_parser_of_python_takes_has_no_fault(text: str) -> None:
    try:
        tomllib.loads(text)
    except ValueError:
        return
    assert toml_faults(text) == []


def test_every_place_that_is_not_toml_is_found() -> None:
    assert [(line, column) for line, column, _ in sorted(toml_faults('a = = 1\nb = 2\nc = "\n[d\n'))] == [
        (1, 5),
        (1, 7),
        (3, 6),
        (4, 3),
    ]
