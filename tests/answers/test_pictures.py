"""What a user asks who looks at the figures of a report."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.answers.question import ask, suppose

STUDY = """
name = "names"
target = "dir:d"
cycles = 1
sham = false
[state]
file = "1MiB"
cache = "warm"
[[stage]]
name = "before"
measure = ["names"]
[[stage]]
name = "after"
measure = ["names"]
[measure.names]
workload = "metarates.*"
threads = [1, 2]
stop = { operations = 20 }
repeat = 2
"""
MOVED = re.compile(r"translate\(([-\d.e]+)[ ,]+([-\d.e]+)\)")


def texts(node: ElementTree.Element, x: float = 0, y: float = 0) -> Iterator[tuple[int, int, str]]:
    """Place and words of every text of an SVG, the shifts of its groups added up."""
    for across, down in MOVED.findall(node.get("transform", "")):
        x, y = x + float(across), y + float(down)
    if node.tag.endswith("}text") and (node.text or "").strip():
        yield round(x), round(y), node.text or ""
    for child in node:
        yield from texts(child, x, y)


@pytest.mark.slow
def test_no_two_figures_of_a_map_share_a_place(tmp_path: Path) -> None:
    """By how much did creating, looking at and changing files become slower, each with one thread and with two?

    Truth: three tests at two numbers of threads are six changes, by arithmetic; each needs a place of its own.
    """
    (tmp_path / "d").mkdir()
    (tmp_path / "names.toml").write_text(STUDY)
    ask("run", "names.toml", "--out", "out", "--report", "full", cwd=tmp_path)
    places = defaultdict(list)
    for path in sorted((tmp_path / "out" / "figures").glob("changes_map*.svg")):
        for x, y, words in texts(ElementTree.parse(path).getroot()):
            if re.match(r"[▲▼≈=?] ", words):
                places[path.name, x, y].append(words)
    changes = sum(len(found) for found in places.values())
    suppose(changes == 6, str(dict(places)))
    assert all(len(found) == 1 for found in places.values()), dict(places)
