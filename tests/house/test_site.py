"""The site of the documentation is built without warnings, holds every page, and loads nothing from a network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mileage.report.glossary import MEANINGS, SHOWN, TERMS, explained, page
from tests.house.repository import ROOT

EXTERNAL = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*|"""
    r"""<link\b[^>]*\bhref=["']?(?:https?:)?//[^>]*"""
)
EXTERNAL_STYLE = re.compile(r"""(?:@import\s+|url\()\s*["']?(?:https?:)?//[^)\s]*""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs-material is not installed")
    place = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)],
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr
    return place


@pytest.mark.slow
def test_every_page_is_there_and_in_the_contents_list(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")} - {Path("404")}
    assert built == pages
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert not [page for page in pages if f"{page.as_posix()}.md" not in listed]


@pytest.mark.slow
def test_the_site_loads_nothing_from_a_network(site: Path) -> None:
    found = [
        f"{path.relative_to(site)}: {hit}"
        for suffix, pattern in (("html", EXTERNAL), ("css", EXTERNAL_STYLE))
        for path in site.rglob(f"*.{suffix}")
        for hit in pattern.findall(path.read_text(encoding="utf-8"))
    ]
    assert not found, found[:5]
    assert EXTERNAL.search('<script src="https://unpkg.com/x"></script>')
    assert EXTERNAL.search('<link rel="stylesheet" href="//fonts.example/css">')
    assert EXTERNAL_STYLE.search("@import url(https://fonts.example/css)")


def test_the_glossary_page_is_made_of_the_terms() -> None:
    written = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m mileage.report.glossary > docs/glossary.md"
    words = [term.word.casefold() for term in TERMS]
    assert words == sorted(words), "the words are in alphabetical order"
    assert all(term.meaning.endswith(".") for term in TERMS)


@pytest.mark.parametrize("folder", ["tutorial", "how-to", "reference", "explanation"])
def test_the_first_page_leads_to_every_page(folder: str) -> None:
    start = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [
        path.name for path in (ROOT / "docs" / folder).glob("*.md") if f"{folder}/{path.name}" not in start
    ]
    assert not missing


def test_what_the_report_explains_is_in_the_glossary() -> None:
    assert set(SHOWN.values()) <= set(MEANINGS)
    assert 'title="' in explained("seed")
    assert explained("<b>") == "&lt;b&gt;"
