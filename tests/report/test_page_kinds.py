"""Every kind of page, light and dark, wide and narrow, in a browser: axe-core, labels of drawings, errors.

axe-core does not compute the contrast of text inside drawings; that is done here, by WCAG's formula on what the browser
paints: the colour of the text against that of the topmost mark or ground below its middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from mileage.app.comparison_report import pair_view
from mileage.report import render_html
from tests.command import mileage
from tests.formats.sample_reader import SAMPLES
from tests.house.repository import ROOT
from tests.report import chromium
from tests.report.chromium import Chromium
from tests.report.conftest import comparison, example
from tests.report.test_browser import FAULTS, SCREENS, axe
from tests.report.test_figures import hostile_view

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")

DRIVE = "virtual:plain-64gib"
CONTRAST_MIN = 4.5
"""WCAG 2.2, criterion 1.4.3, for text of ordinary size."""
FAINT = """(() => {
  const channels = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
  const opaque = colour => { const c = channels(colour); return c.length >= 3 && (c[3] === undefined || c[3] > 0.5); };
  const light = colour => {
    const [r, g, b] = channels(colour).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const painted = own => {
    const style = getComputedStyle(own);
    if (own instanceof SVGElement) {
      const seen = style.fill !== "none" && Number(style.opacity) * Number(style.fillOpacity) > 0.5;
      return ["path", "rect"].includes(own.tagName) && seen ? style.fill : ""; }
    return style.backgroundColor; };
  const style = document.createElement("style");
  style.textContent = "svg * { pointer-events: visiblePainted !important; } " +
    "svg text { pointer-events: none !important; }";
  document.head.append(style);
  const found = [];
  for (const text of document.querySelectorAll("svg text")) {
    if (!text.textContent.trim() || !text.checkVisibility()) continue;
    const box = text.getBoundingClientRect();
    const below = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    if (!below.length) continue;  // beyond the edge of a figure that is wider than the screen
    const ground = below.map(painted).find(opaque) || getComputedStyle(document.documentElement).backgroundColor;
    const fill = getComputedStyle(text).fill, contrast = opaque(ground) ? ratio(fill, ground) : 0;
    if (contrast < LEAST) found.push(`${text.closest("svg").id}: ${text.textContent}: ${fill} on ${ground}`);
  }
  style.remove();
  return found; })()""".replace("LEAST", str(CONTRAST_MIN))


SHORTENED = """(() => { document.querySelectorAll("details").forEach(part => part.open = true);
  document.querySelectorAll("tbody").forEach(body => [...body.rows].slice(ROWS).forEach(row => row.remove()));
  return document.documentElement.scrollHeight; })()""".replace("ROWS", "20")
"""Unfolds the page. Rows of one table are all alike to axe-core, which takes a minute for four hundred."""


def done(*words: str) -> None:
    result = mileage(*words, env={"MILEAGE_REPORT": "full"})
    assert result.returncode == 0, result.stderr


def stored(text: str, place: Path) -> Path:
    page = place / "report.html"
    page.write_text(text, encoding="utf-8")
    return page


def measured(place: Path, *words: str) -> Path:
    done("measure", "-t", DRIVE, *words, "--save", str(place / "study"))
    return place / "study" / "report.html"


def imported(place: Path, name: str) -> Path:
    done("import", str(SAMPLES / name), "--out", str(place / "study"))
    return place / "study" / "report.html"


def suite(place: Path) -> Path:
    words = ("-w", "iozone.*", "--vary", "record=4KiB,16KiB,64KiB", "--size", "256KiB")
    done("measure", "-t", f"dir:{place}", *words, "--save", str(place / "study"))
    return place / "study" / "report.html"


def tasks(place: Path) -> Path:
    words = ("ior", "--save", str(place / "study"), "--tasks", "2", "-b", "64k", "-t", "16k", "-s", "2")
    done(*words, "-o", str(place / "file"))
    return place / "study" / "report.html"


def checked(place: Path) -> Path:
    # Status 1 is a verdict: the files of this machine may be slower than any class.
    words = ("check", str(place), "--quick", "--seconds", "0.1", "--save", str(place / "study"))
    mileage(*words, env={"MILEAGE_REPORT": "full"})
    return place / "study" / "report.html"


def drive_run(place: Path) -> Path:
    words = ("drive", "run", "plain-64gib", "--size", "1GiB", "--passes", "2", "--fill")
    done(*words, "--report", str(place / "study"))
    return place / "study" / "report.html"


def published(place: Path) -> Path:
    table = ROOT / "examples" / "published" / "sandforce_kernel_diff.csv"
    done("compare", "--table", str(table), "--runs", "10", "--out", str(place / "study"))
    return place / "study" / "report.html"


def pair(place: Path) -> Path:
    for name, seed in (("a", "1"), ("b", "2")):
        words = ("--operations", "500", "--repeat", "3", "--seed", seed, "--vary", "depth=1,4")
        done("measure", "-t", DRIVE, "-w", "random_read", *words, "--save", str(place / name))
    return stored(render_html(pair_view(str(place / "a"), str(place / "b"))), place)


KINDS: dict[str, Callable[[Path], Path]] = {
    "comparison": lambda place: stored(render_html(example()), place),
    "vetoed": lambda place: stored(render_html(example(comparison=comparison(vetoes=("of heat",)))), place),
    "every picture": lambda place: stored(render_html(hostile_view("a name")), place),
    "measurement": lambda place: measured(
        place, "-w", "random_read", "--operations", "2000", "--repeat", "3"
    ),
    "scan": lambda place: measured(
        place, "-w", "random_read", "--vary", "depth=1,2,8", "--operations", "2000"
    ),
    "suite": suite,
    "tasks": tasks,
    "check": checked,
    "drive run": drive_run,
    "published table": published,
    "two studies": pair,
    "import": lambda place: imported(place, "ior-vv.out"),
    "import of many cells": lambda place: imported(place, "iozone-auto.out"),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a kind, made when it is first wanted."""
    return cache(lambda kind: KINDS[kind](tmp_path_factory.mktemp("page")))


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SCREENS, ids=["wide", "narrow"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_no_serious_fault_and_every_label_is_legible(
    kind: str, size: tuple[int, int], dark: bool, pages: Callable[[str], Path], browser: Chromium
) -> None:
    page = pages(kind)
    browser.open(page, *size, dark=dark)
    height = browser.ask(SHORTENED)
    assert browser.ask("document.querySelectorAll('svg text').length") > 0
    whole = {"width": size[0], "height": height, "deviceScaleFactor": 1, "mobile": size[0] < 600}
    browser.do("Emulation.setDeviceMetricsOverride", **whole)
    assert browser.ask(FAINT) == []
    browser.ask(axe())
    assert browser.ask(FAULTS) == []
    assert browser.ask("document.documentElement.scrollWidth") <= size[0]
    assert (browser.console, browser.asked) == ([], [page.as_uri()])


def test_dark_words_on_a_dark_ground_are_found(browser: Chromium, tmp_path: Path) -> None:
    shapes = '<path d="M0,0h90v40h-90Z" fill="{}"/><text y="20">words</text>'
    drawing = f'<svg id="one" width="90" height="40">{shapes}</svg>'
    for colour, expected in (("#223", 1), ("#ccc", 0)):
        page = f"<!DOCTYPE html><html lang='en'><body style='background:white'>{drawing.format(colour)}"
        browser.open(stored(page, tmp_path))
        assert len(browser.ask(FAINT)) == expected, colour
