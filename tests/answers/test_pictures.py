"""What a user asks who looks at the figures of a report."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.answers import fio_report
from tests.answers.drive_profile import write_profile
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
threads = [1, 2, 3, 4]
stop = { operations = 24 }
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
    """By how much did creating, looking at and changing files become slower, each with one to four threads?

    Truth: three tests at four numbers of threads are twelve changes, by arithmetic; each needs a place of its own.
    """
    (tmp_path / "d").mkdir()
    (tmp_path / "names.toml").write_text(STUDY)
    ask("run", "names.toml", "--out", "out", "--report", "full", cwd=tmp_path)
    places = defaultdict(list)
    for path in sorted((tmp_path / "out" / "figures").glob("changes_map*.svg")):
        for x, y, words in texts(ElementTree.parse(path).getroot()):
            if re.match(r"[▲▼≈=?–] ", words):
                places[path.name, x, y].append(words)
    changes = sum(len(found) for found in places.values())
    suppose(changes == 12, str(dict(places)))
    assert all(len(found) == 1 for found in places.values()), dict(places)


WORN = """
name = "worn"
target = "{target}"
cycles = 1
sham = false
[state]
start = "purged"
[[stage]]
name = "before"
measure = ["reads"]
[[stage]]
name = "torture"
torture = ["churn"]
[[stage]]
name = "after"
measure = ["reads"]
[torture.churn]
workload = "iops.random_write"
record = "4KiB"
depth = 32
amount = "30x"
[measure.reads]
workload = "iops.random_read"
record = "4KiB"
stop = { operations = 200 }
repeat = 2
"""


def test_a_fall_at_the_start_is_no_level(tmp_path: Path) -> None:
    """What did the drive do while it was worn?

    Truth: it began with erased flash, so that the first of its thirty drive writes, a thirtieth of the bytes, needs no
    collection and all others do: it falls once, early.
    """
    (tmp_path / "worn.toml").write_text(WORN.replace("{target}", write_profile(tmp_path)))
    printed = " ".join(ask("run", "worn.toml", "--out", "out", "--report", "text", cwd=tmp_path).split())
    output = printed.partition("Rate during the torture: ")[2].partition(" MB/s")
    output = output[0] + output[1]
    suppose(output.startswith("churn"), printed)
    levels = re.findall(r"[\d.]+(?=,| to | MB/s)", output)
    assert len(levels) > 1, output
    assert float(levels[0]) > 2 * float(levels[-1])


def test_an_import_is_not_called_unfinished(tmp_path: Path) -> None:
    """Which studies are here?

    Truth: one, of a result file with one job: another tool measured it, so that Mileage neither began nor ended it.
    """
    fio_report.save(tmp_path / "result.json", fio_report.report([fio_report.job("read")]))
    ask("import", "result.json", "--out", "theirs", cwd=tmp_path)
    listed = ask("list", "studies", ".", cwd=tmp_path)
    suppose("theirs" in listed, listed)
    assert "imported" in listed
    assert "1 run" in listed
    assert "not begun" not in listed
