"""Labels of charts in a browser: none overlaps another, leaves its drawing or its box, and a title is one line.

Each text is a box along its own direction, so that steep labels of an axis are measured as they are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.command import mileage
from tests.house.repository import ROOT
from tests.report import chromium
from tests.report.chromium import Chromium
from tests.report.test_browser import SCREENS
from tests.report.test_page_kinds import KINDS, stored

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")

FAULTS = """(() => {
  document.querySelectorAll("details").forEach(part => part.open = true);
  const corners = text => {
    const box = text.getBBox(), own = text.getScreenCTM(), rise = 0.15 * box.height;
    const [left, right, top, bottom] = [box.x - 1, box.x + box.width + 1, box.y + rise, box.y + box.height - rise];
    return [[left, top], [right, top], [right, bottom], [left, bottom]]
      .map(([x, y]) => new DOMPoint(x, y).matrixTransform(own)); };
  const apart = (one, other) => [one, other].some(box => [0, 1].some(side => {
    const [from, to] = [box[side], box[side + 1]];
    const along = own => own.map(point => point.x * (to.x - from.x) + point.y * (to.y - from.y));
    const [a, b] = [along(one), along(other)];
    return Math.max(...a) <= Math.min(...b) || Math.max(...b) <= Math.min(...a); }));
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.checkVisibility()) continue;
    const name = (svg.getAttribute("aria-labelledby") || svg.id).split(" ")[0], whole = svg.getBoundingClientRect();
    // A label for which an axis has no room stays in the drawing, without opacity.
    const texts = [...svg.querySelectorAll("text")].filter(text =>
      text.textContent.trim() && text.getBBox().width && text.getAttribute("opacity") !== "0");
    const boxes = texts.map(corners), words = text => `${name}: ${text.textContent}`;
    const fields = /^(layout|changes-map)/.test(name)
      ? [...svg.querySelectorAll(".mark-rect path")].map(path => path.getBoundingClientRect()) : [];
    texts.forEach((text, at) => {
      if (boxes[at].some(point => point.x < whole.left - 2 || point.x > whole.right + 2
          || point.y < whole.top - 1 || point.y > whole.bottom + 1)) found.push(`outside ${words(text)}`);
      if (text.closest(".role-title") && text.querySelector("tspan")) found.push(`lines ${words(text)}`);
      const own = text.getBoundingClientRect(), [x, y] = [(own.left + own.right) / 2, (own.top + own.bottom) / 2];
      if (fields.some(field => x > field.left && x < field.right && y > field.top && y < field.bottom
          && (own.left < field.left || own.right > field.right))) found.push(`beyond its box ${words(text)}`);
      for (let other = at + 1; other < texts.length; other++)
        if (!apart(boxes[at], boxes[other])) found.push(`over ${words(text)} | ${texts[other].textContent}`); }); }
  if (document.documentElement.scrollWidth > window.innerWidth) found.push("wider than the screen");
  return found; })()"""
SVG = "{http://www.w3.org/2000/svg}"
LONG_NAMES = """
name = "drives-with-long-names-of-one-maker"
seed = 1
[state]
start = "purged"
[[stage]]
name = "measured"
measure = ["iops", "writes"]
[measure.iops]
workload = "iops.random_read"
record = "4KiB"
depth = [1, 8]
stop = { operations = 3000 }
repeat = 3
[measure.writes]
workload = "throughput.write"
record = ["64KiB", "1MiB"]
stop = { bytes = "16MiB" }
repeat = 3
[factor.drive]
kind = "target"
[factor.drive.levels]
samsung-850-pro-256gb = "virtual:samsung-850-pro-256gb"
samsung-pm1635-400gb = "virtual:samsung-pm1635-400gb"
samsung-960-pro-512gb = "virtual:samsung-960-pro-512gb"
crucial-bx200-240gb = "virtual:crucial-bx200-240gb"
seagate-archive-8tb = "virtual:seagate-archive-8tb"
[compare]
arms = "drive"
baseline = "samsung-850-pro-256gb"
candidate = "samsung-960-pro-512gb"
"""
TASKS = """
name = "tasks"
target = "virtual:intel-x25e-64gb@phenom-8gib"
scale = "1/64"
[state]
start = "purged"
file = "1GiB"
cache = "warm"
[[stage]]
name = "before"
measure = ["names"]
[[stage]]
name = "torture"
measure = ["own", "shared"]
[[stage]]
name = "after"
measure = "before"
[measure.names]
workload = ["mdtest.*", "metarates.*"]
threads = [1, 2, 4]
stop = { operations = 2000 }
repeat = 2
[measure.own]
workload = "ior.write"
record = "4KiB"
block = "64KiB"
segments = 2000
threads = 4
files = "per_thread"
repeat = 1
[measure.shared]
workload = "ior.write"
record = "256KiB"
block = "1MiB"
segments = 100
threads = 12
repeat = 1
[compare]
arms = "stage"
baseline = "before"
candidate = "after"
"""
CACHE_FILLS = """
name = "cache-fills"
target = "virtual:intel-x25e-64gb@phenom-8gib"
scale = "1/16"
[state]
start = "purged"
cache = "warm"
file = "2GiB"
[[stage]]
name = "before"
measure = ["writes"]
[[stage]]
name = "torture"
torture = ["fill"]
[[stage]]
name = "after"
measure = "before"
[measure.writes]
workload = "throughput.write"
record = "64KiB"
stop = { bytes = "1GiB" }
repeat = 2
[torture.fill]
workload = "throughput.write"
record = "128KiB"
sync = "fsync"
sync_every = 512
amount = "4GiB"
[compare]
arms = "stage"
baseline = "before"
candidate = "after"
"""


def run(place: Path, *words: str) -> Path:
    done = mileage("run", *words, "--out", str(place / "study"), env={"MILEAGE_REPORT": "full"})
    assert done.returncode == 0, done.stderr
    return place / "study" / "report.html"


def study(text: str) -> Callable[[Path], Path]:
    def made(place: Path) -> Path:
        (place / "study.toml").write_text(text, encoding="utf-8")
        return run(place, str(place / "study.toml"))

    return made


STUDIES: dict[str, Callable[[Path], Path]] = {
    "long names": study(LONG_NAMES),
    "tasks and names": study(TASKS),
    "a cache that fills": study(CACHE_FILLS),
    "degradation": lambda place: run(place, "degradation", "--quick"),
    "drive or host": lambda place: run(place, "drive-or-host", "--quick"),
    "sustained": lambda place: run(place, "sustained", "--quick"),
    "arrays": lambda place: run(place, "anandtech-2009", "--quick"),
    "many drives": lambda place: run(place, "qmul-2017", "--quick"),
    "IOzone, metadata and IOR": lambda place: run(place, "x25e-2010", "--quick"),
    "data of six kinds": lambda place: run(place, "sandforce-2011", "--quick"),
    "cache of one-bit cells": lambda place: run(place, str(ROOT / "examples" / "slc_cache.toml"), "--quick"),
    **KINDS,
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a study, made when it is first wanted."""
    return cache(lambda name: STUDIES[name](tmp_path_factory.mktemp("page")))


def assert_labels_are_apart(page: Path, size: tuple[int, int], browser: Chromium) -> None:
    browser.open(page, *size)
    faults = browser.ask(FAULTS)
    assert browser.ask("document.querySelectorAll('svg text').length") > 0
    assert faults == []
    for path in sorted(page.parent.glob("figures/*.svg")):
        root = ET.fromstring(path.read_text(encoding="utf-8"))
        heads = [own.text for own in root.findall(f"{SVG}text") if own.get("font-weight") == "bold"]
        assert len(heads) == 1, path


def assert_figures_fit(page: Path, browser: Chromium) -> None:
    """The files of the figures as an own page each."""
    for path in sorted(page.parent.glob("figures/*.svg")):
        drawing = path.read_text(encoding="utf-8")
        shown = page.with_name("figure.html")
        shown.write_text(f"<!DOCTYPE html><body style='margin:0'>{drawing}", encoding="utf-8")
        browser.open(shown, 2400, 1200)
        assert browser.ask(FAULTS) == [], path


@pytest.mark.slow
@pytest.mark.parametrize("size", SCREENS, ids=["wide", "narrow"])
def test_labels_of_long_names_and_many_levels_are_apart(
    size: tuple[int, int], pages: Callable[[str], Path], browser: Chromium
) -> None:
    assert_labels_are_apart(pages("long names"), size, browser)


@pytest.mark.thorough
@pytest.mark.parametrize("size", SCREENS, ids=["wide", "narrow"])
@pytest.mark.parametrize("name", STUDIES)
def test_labels_of_a_study_are_apart(
    name: str, size: tuple[int, int], pages: Callable[[str], Path], browser: Chromium
) -> None:
    assert_labels_are_apart(pages(name), size, browser)
    if size == SCREENS[0]:
        assert_figures_fit(pages(name), browser)


@pytest.mark.parametrize(
    ("drawing", "fault"),
    [
        ('<text x="9" y="20">first</text><text x="30" y="22">second</text>', "over one: first | second"),
        ('<text x="9" y="20">first</text><text x="9" y="34">second</text>', ""),
        ('<text x="170" y="20">a long label</text>', "outside one: a long label"),
        (
            '<g class="role-title"><text y="20"><tspan>two</tspan><tspan y="50">lines</tspan></text></g>',
            "lines one: twolines",
        ),
    ],
)
def test_an_overlap_is_found(drawing: str, fault: str, browser: Chromium, tmp_path: Path) -> None:
    svg = f'<svg id="one" width="200" height="60" font-size="12" style="overflow:hidden">{drawing}</svg>'
    browser.open(stored(f"<!DOCTYPE html><html lang='en'><body>{svg}", tmp_path))
    assert browser.ask(FAULTS) == ([fault] if fault else [])


def test_a_label_that_leaves_its_box_is_found(browser: Chromium, tmp_path: Path) -> None:
    box = '<g class="mark-rect"><path d="M10,10h40v30h-40Z" fill="#ccc"/></g><text x="5" y="28">task eleven</text>'
    svg = f'<svg id="layout-one" width="200" height="60" font-size="12">{box}</svg>'
    browser.open(stored(f"<!DOCTYPE html><html lang='en'><body>{svg}", tmp_path))
    assert [re.sub(" layout.*", "", fault) for fault in browser.ask(FAULTS)] == ["beyond its box"]
