"""The page in a real browser: no error, no request, and the first screen says it all without scrolling."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mileage.report import StudyView, render_html
from tests.report.conftest import comparison, example

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LOCAL = re.compile(r"^(file|data|about|chrome|chrome-extension):")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

PROBE = """
<script>
window.addEventListener("load", function () {
  var inside = [], wide = document.documentElement.scrollWidth > window.innerWidth;
  document.querySelectorAll(".verdict, .lamps, main > section:first-child svg").forEach(function (element) {
    inside.push(Math.round(element.getBoundingClientRect().bottom));
  });
  document.getElementById("copy").click();
  document.title = JSON.stringify({bottoms: inside, wide: wide, button: document.getElementById("copy").textContent});
});
</script>
"""


def browse(page: Path, folder: Path) -> tuple[str, str, list[str]]:
    """The page's tree and the console after loading, and the addresses that were asked for."""
    log = folder / "net.json"
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--disable-sync", "--no-first-run", "--enable-logging=stderr"),
            *("--window-size=1280,800", f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"),
            *("--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    asked = re.findall(r'"url":"([^"]+)"', log.read_text(encoding="utf-8"))
    console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return done.stdout, console, asked


def test_the_page_makes_no_request_and_no_error(page: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    tree, console, asked = browse(file, tmp_path)
    assert "29 % slower" in tree
    assert console == ""
    assert [address for address in asked if not LOCAL.match(address)] == []


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
    file = tmp_path / "report.html"
    open_to_the_probe = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", render_html(view))
    file.write_text(open_to_the_probe.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    tree, _, _ = browse(file, tmp_path)
    title = re.search(r"<title>(\{.*?\})</title>", tree)
    assert title is not None
    seen = json.loads(title[1])
    assert len(seen["bottoms"]) == 3
    assert max(seen["bottoms"]) <= 800
    assert not seen["wide"]
    assert seen["button"] in ("Copied", "Selected: press Ctrl+C")
