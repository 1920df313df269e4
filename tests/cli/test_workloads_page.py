"""docs/reference/workloads.md: its examples run, and it lists every option, key and pattern, and no other."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from mileage.cli.measure import command
from mileage.plan.families import WORKLOADS
from mileage.plan.io_options import HOW_KEYS
from mileage.plan.iozone_suite import IOZONE
from mileage.plan.name_operations import METADATA
from tests.cli.test_measure import mileage

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "workloads.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^mileage .*$", TEXT, re.MULTILINE)
STUDIES = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
TICKED = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL))
LENGTH = re.compile(r"--for \d+s")
HEAD = """\
name = "page"
target = "dir:PLACE"
[state]
file = "8MiB"
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "only"
measure = MEASURES
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
"""


def options() -> dict[str, click.Option]:
    """The options of `mileage measure` by each of their names."""
    found = [option for option in command.params if isinstance(option, click.Option)]
    return {name: option for option in found for name in (*option.opts, *option.secondary_opts)}


def in_little_time(example: str, place: Path) -> list[str]:
    """The example on a directory of the test, for a moment, on a small part."""
    shorter = LENGTH.sub("--for 100ms", example).replace("--operations 1000", "--operations 100")
    words = shlex.split(shorter.replace("/mnt/scratch", str(place)))[1:]
    sized = any(
        word in example
        for word in ("--size", "virtual:", "metadata.", "ior.", "mdtest.", "metarates.", "file:")
    )
    return words if sized else [*words, "--size", "16MiB"]


@pytest.mark.thorough  # half a minute; .ci/run runs it after the demo
def test_every_example_runs(tmp_path: Path) -> None:
    """In their order: the last ones read what those before have written."""
    assert len(EXAMPLES) > 20
    (tmp_path / "keep").write_bytes(bytes(16 << 20))
    (tmp_path / "elsewhere").mkdir()
    for example in EXAMPLES:
        result = mileage(*in_little_time(example, tmp_path), cwd=tmp_path / "elsewhere")
        assert result.returncode == 0, f"{example}\n{result.stderr}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "keep"]
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["operations.csv"]


@pytest.mark.thorough
@pytest.mark.parametrize("text", STUDIES)
def test_every_study_runs(text: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    measures = list(tomllib.loads(text)["measure"])
    head = HEAD.replace("PLACE", str(place)).replace("MEASURES", str(measures).replace("'", '"'))
    body = re.sub(r"^(\[measure\..*\])$", r"\1\nrepeat = 1", text, flags=re.MULTILINE)
    body = re.sub(r'"\d+ s"', '"100 ms"', body).replace('"10 ms"', '"1 ms"')
    (tmp_path / "page.toml").write_text(head + body)
    result = mileage("run", "page.toml", "--out", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert list(place.iterdir()) == []


def test_it_names_every_option_and_no_other() -> None:
    known = options()
    words = {word for text in (*TICKED, *EXAMPLES) for word in re.findall(r"--[a-z-]+|(?<= )-[a-z]\b", text)}
    assert words - {"-t", "-w"} <= set(known)
    named = {id(known[word]) for word in words}
    assert not [name for name, option in known.items() if id(option) not in named and name.startswith("--")]


def test_it_names_every_key_and_every_workload_of_a_pattern() -> None:
    text = "\n".join((*TICKED, *STUDIES, *EXAMPLES))
    assert not [key for key in HOW_KEYS if not re.search(rf"\b{key.replace('_', '[-_]')}\b", text)]
    patterns = [name.removeprefix("pattern.") for name in WORKLOADS if name.startswith("pattern.")]
    assert not [name for name in patterns if name not in TICKED and not name.startswith("iozone_")]
    for name in (*METADATA, *IOZONE):
        assert name in TICKED or f"metadata.{name}" in TICKED or f"iozone.{name}" in TICKED, name
    for family in {name.partition(".")[0] for name in WORKLOADS} - {"pattern", "throughput", "iops"}:
        assert f"{family}." in text
