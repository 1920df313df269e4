"""The aspects of a study, throughput, IOPS, metadata and time, and in each its tests with their cells.

Scope: a test as all cells of one workload; tests of a family that works on names are metadata, the others are what
their cells are judged as. Of very many tests the first are drawn, and a sentence counts the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from mileage.judge import CellVerdict
from mileage.report.view import StudyView

MOST_TESTS: Final = 30
METADATA: Final = ("metadata", "mdtest", "metarates")
"""Families whose tests work on names and inodes."""
_TITLES: Final = {"throughput": "Throughput", "iops": "IOPS", "metadata": "Metadata", "time": "Time"}
_RESERVED: Final = re.compile(
    r"(?!.*_)|(before|changes|forest|headline|layout|over|run|steady)_|.*_(narrow|change)$"
)
"""File names that other pictures have."""


class DrawnTest(NamedTuple):
    """The cells of one test, in the order of the study. `file` names its files: "iozone_write"."""

    test: str
    aspect: str
    file: str
    cells: list[CellVerdict]


def file_name(words: str) -> str:
    """Words as part of a file's name: small letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:60]


def aspect_title(aspect: str) -> str:
    """The heading of an aspect."""
    return _TITLES.get(aspect, aspect)


def aspect_of(test: str, measure: str) -> str:
    """The aspect of a test whose cells are judged as `measure`."""
    return "metadata" if test.partition(".")[0] in METADATA else measure


def grouped_tests(view: StudyView) -> list[DrawnTest]:
    """Every test of the headline, by aspect; each with a name for its files that no other has."""
    groups: dict[tuple[str, str], list[CellVerdict]] = {}
    for cell in view.headline:
        test = view.evidence.test_of(cell.cell)
        groups.setdefault((aspect_of(test, cell.measure), test), []).append(cell)
    order = list(_TITLES)
    found: list[DrawnTest] = []
    taken: set[str] = set()
    for (aspect, test), cells in sorted(
        groups.items(), key=lambda item: order.index(item[0][0]) if item[0][0] in order else len(order)
    ):
        name = free_name(test, aspect, taken)
        taken.add(name)
        found.append(DrawnTest(test, aspect, name, cells))
    return found


def free_name(test: str, aspect: str, taken: Collection[str]) -> str:
    """A name for the files of a test that neither another picture nor any in `taken` has."""
    name = file_name(test)
    if _RESERVED.match(name):
        name = f"test_{name}_"
    if name in taken and aspect not in name:
        name = f"{name}_{aspect}"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def drawn_tests(view: StudyView) -> list[DrawnTest]:
    """The tests that have figures of their own; none where a study has one test, which is drawn as a whole."""
    tests = grouped_tests(view)
    return tests[:MOST_TESTS] if len(tests) > 1 else []


def undrawn_tests(view: StudyView) -> list[str]:
    """A sentence on the tests without a figure of their own; none where every test has one."""
    count = len(grouped_tests(view))
    if count <= MOST_TESTS:
        return []
    return [
        f"The first {MOST_TESTS} of {count} tests have a figure file named after them; the others are in the table of "
        "all cells and in tables/cells.csv."
    ]


class Axes(NamedTuple):
    """Properties that distinguish the cells of a test: `row` from left to right, `columns` as groups; empty: none."""

    row: str
    columns: tuple[str, ...]


def axes_of(cells: Sequence[CellVerdict], places: Mapping[str, Mapping[str, str]]) -> Axes:
    """The record size if it varies, else the property with the most values; then the others that vary."""
    own = [places.get(cell.cell, {}) for cell in cells]
    names = dict.fromkeys(name for place in own for name in place if name not in ("test", "table"))
    counts = {name: len({place.get(name, "") for place in own}) for name in names}
    varied = sorted((name for name in names if counts[name] > 1), key=lambda name: -counts[name])
    if "record" in varied:
        varied.remove("record")
        varied.insert(0, "record")
    return Axes(varied[0] if varied else "", tuple(varied[1:]))


def level_words(test: str, name: str, level: str) -> str:
    """A level as an axis has it; tasks of MPI tools as those label them: "NP=4"."""
    if name == "threads" and test.partition(".")[0] in ("ior", "mdtest", "metarates"):
        return f"NP={level}"
    return level


def axis_title(test: str, row: str) -> str | None:
    """Title of an axis, unless its levels state it themselves."""
    if row == "threads":
        return None if level_words(test, row, "1") != "1" else "threads"
    return "record size" if row == "record" else row or None
