"""The pages of all built-in studies, run for this and opened in a browser without a network."""

from pathlib import Path

import pytest

from mileage.plan import builtin_names
from tests import command
from tests.report import chromium
from tests.report.chromium import Chromium
from tests.report.test_browser import FAULTS, SCREENS, SEEN, axe

pytestmark = [
    pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed"),
    pytest.mark.sampled(1),
]

SHOWN = """Array.from(document.querySelectorAll("#all-cells tbody tr[data-places]")).filter(
  row => !row.hidden).map(row => row.querySelector("th").firstChild.textContent)"""
TYPED = """(() => { const box = document.getElementById("filter"); box.value = "WORD";
  box.dispatchEvent(new Event("input", {bubbles: true})); })()"""
SORTED = """(() => { const head = document.querySelectorAll("#all-cells thead button")[COLUMN]; head.click();
  const rows = Array.from(document.querySelectorAll("#all-cells tbody")[0].querySelectorAll("tr[data-places]"));
  return rows.map(row => row.children[COLUMN].getAttribute("data-value")); })()"""
OUTLINE = """(() => { const found = getComputedStyle(document.activeElement);
  return [document.activeElement.tagName, found.outlineStyle, parseFloat(found.outlineWidth)]; })()"""


def mileage(*arguments: str) -> None:
    done = command.mileage(*arguments, "--report", "full")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> "Chromium":  # type: ignore[misc]
    with Chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


LARGE = ("sandforce-2011", "x25e-2010")
"""Studies with pages of hundreds of cells: to look through one for faults takes minutes."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.thorough, pytest.mark.timeout(900)] if name in LARGE else [])
        for name in builtin_names()
    ],
)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of one study: `kernel` on a directory of its own, as if it had been booted twice."""
    place = tmp_path_factory.mktemp(request.param)
    study = place / "study"
    if request.param == "kernel":
        work = place / "work"
        work.mkdir()
        mileage(
            *(
                "run",
                "kernel",
                "--quick",
                "--target",
                f"dir:{work}",
                "--label",
                "kernel=old",
                "--out",
                str(study),
            )
        )
        mileage("run", str(study), "--label", "kernel=new")
    else:
        mileage("run", request.param, "--quick", "--out", str(study))
    return study / "report.html"


def test_it_opens_says_its_verdict_and_has_no_serious_fault(page: Path, browser: Chromium) -> None:
    for size in SCREENS:
        browser.open(page, *size)
        assert browser.ask(SEEN) == [True, True, True], size
        assert browser.console == []
        assert browser.asked == [page.as_uri()]
        browser.ask(axe())
        assert browser.ask(FAULTS) == []


def test_its_table_is_filtered_and_sorted(page: Path, browser: Chromium) -> None:
    browser.open(page)
    every = browser.ask(SHOWN)
    word = "random" if any("random" in name for name in every) else every[0].partition(".")[0]
    browser.ask(TYPED.replace("WORD", word))
    kept = browser.ask(SHOWN)
    assert kept == [name for name in every if word in name]
    assert 0 < len(kept) <= len(every)
    assert f"{len(kept)} of {len(every)} rows" == browser.ask('document.getElementById("shown").textContent')
    ratios = [float(text) for text in browser.ask(SORTED.replace("COLUMN", "4")) if text]
    assert ratios == sorted(ratios)
    ratios = [float(text) for text in browser.ask(SORTED.replace("COLUMN", "4")) if text]
    assert ratios == sorted(ratios, reverse=True)


def test_the_focus_of_the_keyboard_is_seen(page: Path, browser: Chromium) -> None:
    browser.open(page)
    visited = set()
    for _ in range(25):
        browser.press("Tab", 9)
        name, style, width = browser.ask(OUTLINE)
        if name != "BODY":
            visited.add(name)
            assert style != "none", name
            assert width >= 1, name
    assert visited & {"BUTTON", "CODE"}
