"""The page in a real browser: no error, no request, and the first screen says it all without scrolling."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mileage.report import StudyView, render_html
from tests.report.conftest import comparison, example

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

PROBE = """
<script>
window.addEventListener("load", function () {
  var bottoms = [];
  document.querySelectorAll(".verdict, .lamps, main > section:first-child svg").forEach(function (element) {
    bottoms.push(Math.round(element.getBoundingClientRect().bottom));
  });
  var copy = document.getElementById("copy");
  copy.click();
  document.title = JSON.stringify({
    bottoms: bottoms,
    wide: document.documentElement.scrollWidth > window.innerWidth,
    button: copy.textContent,
    requests: performance.getEntriesByType("resource").length
  });
});
</script>
"""


def browse(text: str, folder: Path) -> tuple[str, str]:
    """The page's tree after loading, and what the browser's console said. No address can be resolved."""
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--disable-sync", "--no-first-run", "--enable-logging=stderr"),
            *("--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1280,800"),
            *(f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def probed(page: str, folder: Path) -> dict[str, Any]:
    """What a script that is let into the page finds out about it."""
    opened = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", page)
    tree, _ = browse(opened.replace("</body>", PROBE + "</body>"), folder)
    title = re.search(r"<title>(\{.*?\})</title>", tree)
    assert title is not None
    found: dict[str, Any] = json.loads(title[1])
    return found


def test_the_page_opens_without_an_error(page: str, tmp_path: Path) -> None:
    tree, console = browse(page, tmp_path)
    assert "29 % slower" in tree
    assert console == ""


def test_a_page_that_loads_something_is_caught(page: str, tmp_path: Path) -> None:
    _, console = browse(page.replace("</body>", '<img src="https://example.org/x.png"></body>'), tmp_path)
    assert "Content Security Policy" in console


@pytest.mark.parametrize(
    "view",
    [
        example(),
        example(comparison=comparison(cycles=1, sham=False)),
        example(comparison=comparison(vetoes=("the drive was throttled", "the A/A control differed"))),
    ],
    ids=["conclusive", "descriptive", "vetoed"],
)
def test_the_first_screen_holds_verdict_trust_and_forest(view: StudyView, tmp_path: Path) -> None:
    seen = probed(render_html(view), tmp_path)
    assert len(seen["bottoms"]) == 3
    assert max(seen["bottoms"]) <= 800
    assert not seen["wide"]
    assert seen["requests"] == 0
    assert seen["button"] in ("Copied", "Selected: press Ctrl+C")
