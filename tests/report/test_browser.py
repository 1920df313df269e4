"""The page in a real browser without a network: no error, no request, and the first screen says the verdict."""

import importlib.util
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import msgspec
import pytest

from mileage.app.published_means_report import judged_table, printed_view
from mileage.judge.model_band import BandChoice, ModelBand
from mileage.report import StudyView, render_html
from mileage.report.chart_data import RunTrace
from mileage.report.glossary import MEANINGS
from tests.house.repository import ROOT
from tests.report import chromium
from tests.report.chromium import Chromium
from tests.report.conftest import GIB, comparison, example

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")

SCREENS = ((1280, 800), (390, 844))
SEEN = """(() => { const box = document.querySelector(".verdict").getBoundingClientRect();
  return [box.top >= 0, box.bottom <= window.innerHeight,
          document.documentElement.scrollWidth <= window.innerWidth]; })()"""
FAULTS = """axe.run().then(found => found.violations.filter(fault => ["serious", "critical"].includes(fault.impact))
  .map(fault => fault.id + ": " + fault.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(" | ")))"""
VIEWS = {
    "conclusive": example(),
    "descriptive": example(comparison=comparison(cycles=1, sham=False)),
    "vetoed": example(comparison=comparison(vetoes=("the drive was throttled", "the A/A control differed"))),
}


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


def stored(text: str, folder: Path) -> Path:
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    return page


def axe() -> str:
    """The checker's script, from its package."""
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core-python is not installed")
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_the_verdict_is_on_the_first_screen_and_nothing_fails(
    view: StudyView, browser: Chromium, tmp_path: Path
) -> None:
    page = stored(render_html(view), tmp_path)
    for size in SCREENS:
        browser.open(page, *size)
        assert browser.ask(SEEN) == [True, True, True], size
        assert browser.console == []
        assert browser.asked == [page.as_uri()]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SCREENS, ids=["wide", "narrow"])
def test_no_serious_fault_for_a_screen_reader(
    page: str, size: tuple[int, int], dark: bool, browser: Chromium, tmp_path: Path
) -> None:
    browser.open(stored(page, tmp_path), *size, dark=dark)
    browser.ask(axe())
    assert browser.ask(FAULTS) == []


def test_a_fault_is_found(page: str, browser: Chromium, tmp_path: Path) -> None:
    browser.open(stored(page.replace("</main>", '<img src="data:,"></main>'), tmp_path))
    browser.ask(axe())
    assert any(fault.startswith("image-alt") for fault in browser.ask(FAULTS))


def test_a_page_that_loads_something_is_caught(page: str, browser: Chromium, tmp_path: Path) -> None:
    browser.open(
        stored(page.replace("</body>", '<img alt="" src="https://example.org/x.png"></body>'), tmp_path)
    )
    assert any("Content Security Policy" in line for line in browser.console)


def test_the_command_is_copied(page: str, browser: Chromium, tmp_path: Path) -> None:
    browser.open(stored(page, tmp_path))
    browser.ask('document.getElementById("copy").click()')
    assert browser.ask('document.getElementById("copy").textContent') in ("Copied", "Selected: press Ctrl+C")


OUTSIDE = """Array.from(document.querySelectorAll("svg")).flatMap(svg => {
  const whole = svg.viewBox.baseVal, inverse = svg.getScreenCTM().inverse();
  return Array.from(svg.querySelectorAll("text[textLength]")).filter(text => {
    const box = text.getBoundingClientRect(), ends = [box.left, box.right].map(x =>
      new DOMPoint(x, box.top).matrixTransform(inverse).x);
    return box.width > 0 && (ends[0] < whole.x - 2 || ends[1] > whole.x + whole.width + 2); })
  .map(text => svg.id + ": " + text.textContent); })"""


@pytest.mark.parametrize("font", ["monospace", "DejaVu Sans", "Liberation Sans"])
def test_no_label_leaves_its_drawing_whatever_the_fonts(
    font: str, page: str, browser: Chromium, tmp_path: Path
) -> None:
    style = f"<style>svg text {{ font-family: {font} !important; }}</style></head>"
    browser.open(stored(page.replace("</head>", style), tmp_path))
    browser.ask("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.ask("document.querySelectorAll('text[textLength]').length") > 50
    assert browser.ask(OUTSIDE) == []


HEIGHT_MAX = 2500
"""Pixels at a width of 1280, everything below the contents folded."""
HIDDEN = """Array.from(document.querySelectorAll("details.folded > div, details ul, details table"))
  .filter(part => !part.checkVisibility()).map(part => part.id || part.className || part.tagName)"""


def test_the_folded_page_is_short(page: str, browser: Chromium, tmp_path: Path) -> None:
    browser.open(stored(page, tmp_path))
    assert browser.ask("document.documentElement.scrollHeight") <= HEIGHT_MAX
    assert browser.ask("document.querySelectorAll('details[open]').length") == 0


def test_each_entry_of_the_contents_opens_its_section(page: str, browser: Chromium, tmp_path: Path) -> None:
    stored_page = stored(page, tmp_path)
    browser.open(stored_page)
    count = browser.ask("document.querySelectorAll('nav a').length")
    assert count >= 6
    for at in range(count):
        browser.open(stored_page)
        browser.ask(f"document.querySelectorAll('nav a')[{at}].click()")
        shown = f"document.querySelector(document.querySelectorAll('nav a')[{at}].hash).checkVisibility()"
        assert browser.ask(shown), at


def test_print_is_the_whole_report(page: str, browser: Chromium, tmp_path: Path) -> None:
    browser.open(stored(page, tmp_path))
    assert "method" in browser.ask(HIDDEN)
    browser.do("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.ask(HIDDEN) == []
    finally:
        browser.do("Emulation.setEmulatedMedia", media="")


TERM = "document.querySelector('.identity .term')"


@pytest.mark.slow
def test_a_term_is_explained_on_hover_and_focus(page: str, browser: Chromium, tmp_path: Path) -> None:
    browser.open(stored(page, tmp_path))
    assert browser.ask(f"{TERM}.title") in MEANINGS.values()
    assert browser.ask(f"getComputedStyle({TERM}, '::after').content") == "none"
    browser.ask(f"{TERM}.focus()")
    assert browser.ask(f"document.activeElement === {TERM}")
    shown = browser.ask(f"getComputedStyle({TERM}, '::after').content")
    assert shown.strip('"') == browser.ask(f"{TERM}.title")
    browser.ask(axe())
    assert browser.ask(FAULTS) == []


def test_charts_have_a_layout_of_the_width_of_a_phone(page: str, browser: Chromium, tmp_path: Path) -> None:
    browser.open(stored(page, tmp_path), 390, 844)
    browser.ask("document.querySelectorAll('details').forEach(part => part.open = true)")
    shown = browser.ask(
        "Array.from(document.querySelectorAll('figure.layouts svg')).filter(svg => svg.checkVisibility())"
        ".map(svg => [svg.getBoundingClientRect().width, svg.viewBox.baseVal.width])"
    )
    assert len(shown) >= 2
    assert all(width <= 390 and width > 0.85 * drawn for width, drawn in shown), shown


POINT = """((kind, share) => {{
  const svg = Array.from(document.querySelectorAll("[data-axes] svg")).find(own => own.checkVisibility());
  const plots = Array.from(svg.querySelectorAll("path.background"));
  const box = plots.filter(own => own.parentNode.querySelector(".mark-line")).pop().getBoundingClientRect();
  const place = {{ bubbles: true, clientX: box.left + share * box.width, clientY: box.top + 20 }};
  svg.dispatchEvent(new PointerEvent(kind, place));
  return svg.parentNode.querySelector(".readout").textContent; }})("{kind}", {share})"""
BACK = "Array.from(document.querySelectorAll('[data-axes] button')).filter(own => !own.hidden)"


@pytest.mark.slow
@pytest.mark.parametrize("size", SCREENS, ids=["wide", "narrow"])
def test_values_are_read_below_the_pointer_and_dragging_zooms(
    size: tuple[int, int], browser: Chromium, tmp_path: Path
) -> None:
    """Oracle: a rate that halves in the middle of 64 GiB."""
    steps = 64
    written = [(at + 1) * GIB for at in range(steps)]
    rates = [100e6 if at < steps // 2 else 50e6 for at in range(steps)]
    trace = RunTrace(
        arm="torture",
        cycle=1,
        block=1,
        end_s=list(accumulate(GIB / rate for rate in rates)),
        moved_bytes=[float(count) for count in written],
        rate_bytes_per_s=rates,
    )
    browser.open(stored(render_html(example(torture=[trace])), tmp_path), *size)

    def read(share: float, kind: str = "pointermove") -> str:
        return str(browser.ask(POINT.format(kind=kind, share=share)))

    assert read(0.25).endswith("GiB 16; rate, MB/s ■ 100"), read(0.25)
    assert read(0.75).endswith("GiB 48; rate, MB/s ■ 50")
    assert browser.ask(f"{BACK}.length") == 0
    read(0.5, "pointerdown")
    read(1.0, "pointermove")
    read(1.0, "pointerup")
    assert read(0.25).endswith("GiB 40; rate, MB/s ■ 50")
    assert browser.ask("document.querySelectorAll('text.zoomed').length") >= 3
    browser.ask(axe())
    assert browser.ask(FAULTS) == []
    browser.ask(f"{BACK}[0].click()")
    assert read(0.25).endswith("GiB 16; rate, MB/s ■ 100")
    assert browser.ask("document.querySelectorAll('.zoomed').length") == 0
    assert browser.console == []


def test_figures_of_tests_fit_a_phone(browser: Chromium, tmp_path: Path) -> None:
    browser.open(stored(render_html(example()), tmp_path), 390, 844)
    browser.ask("document.querySelectorAll('details').forEach(part => part.open = true)")
    widths = browser.ask(
        "Array.from(document.querySelectorAll('.multiples svg')).map(own => own.getBoundingClientRect().width)"
    )
    assert widths
    assert max(widths) <= 390 - 28
    assert browser.ask("document.documentElement.scrollWidth") <= 390


def test_no_table_is_wider_than_the_sheet(browser: Chromium, tmp_path: Path) -> None:
    """A4 without its margins is 718 pixels wide.

    The widest tables are that of the choices of a drive's model and that of the seven read tests of an article.
    """
    found = comparison()
    ratios = {cell.cell: {cell.metric: 0.5} for cell in found.cells}
    choice = BandChoice(
        "blocks_per_plane", "4096", "8192", "the same flash as the chip's data sheet has it", ratios
    )
    found = msgspec.structs.replace(found, band=ModelBand((choice,) * 6, 6))
    table = ROOT / "examples" / "published" / "sandforce_kernel_diff.csv"
    article = printed_view(table, *judged_table(table, None, 10, None), [])
    pages = (
        (render_html(example(comparison=found)), "table.band tbody tr", 6 + 2),
        (render_html(article, drawn=False), "table.few thead", 3),
    )
    for text, selector, count in pages:
        browser.open(stored(text, tmp_path), 718, 1000)
        browser.do("Emulation.setEmulatedMedia", media="print")
        try:
            assert browser.ask(f"document.querySelectorAll('{selector}').length") >= count
            assert browser.ask("document.documentElement.scrollWidth") <= 718
        finally:
            browser.do("Emulation.setEmulatedMedia", media="")
