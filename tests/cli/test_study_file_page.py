"""Every example of the page on study files is a study that can be planned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mileage import app
from tests.house.repository import ROOT

PAGE = ROOT / "docs" / "reference" / "study-file.md"
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
HEAD = 'name = "page"\ntarget = "TARGET"\n'
MEASURED = '[[stage]]\nname = "measured"\nmeasure = ["NAME"]\n'
PREPARED = '[[stage]]\nname = "prepare"\nprepare = ["fill"]\n'
READS = '[measure.reads]\nworkload = "iops.random_read"\nrecord = "4KiB"\nstop = { operations = 1000 }\n'
FILL = '[torture.fill]\nworkload = "throughput.write"\nrecord = "1MiB"\namount = "1x"\n'


COMPARED = """
[[stage]]
name = "before"
measure = ["reads"]
[[stage]]
name = "stress"
torture = ["fill"]
[[stage]]
name = "after"
measure = "before"
[factor.page-cache]
kind = "target"
levels = { "7.2 GiB" = "virtual:plain-64gib", "1.5 GiB" = "virtual:plain-64gib,read_us=90" }
"""
"""Stages with a stress between them, and a factor, for what needs both."""


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_is_planned(example: str, tmp_path: Path) -> None:
    names = re.findall(r"^\[measure\.(\w+)\]", example, re.M)
    stages = "".join(MEASURED.replace("NAME", name) for name in names)
    target = f"dir:{tmp_path}" if "command" in example else "virtual:plain-64gib"
    for place in re.findall(r"dir:(/mnt/\w+)", example):
        own = tmp_path / Path(place).name
        own.mkdir()
        example = example.replace(place, str(own))
    if not names:
        stages, example = MEASURED.replace("NAME", "reads"), example + READS
    if "[apart]" in example:
        stages = COMPARED
    path = tmp_path / "page.toml"
    complete = example.startswith("# complete.toml")
    text = example if complete else HEAD.replace("TARGET", target) + PREPARED + stages + example + FILL
    path.write_text(text)
    assert app.plan(str(path)).runs


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == 9
    assert EXAMPLES[0].startswith("# complete.toml"), "the complete study comes first"
