"""The glossary: words of the report and of the documentation, each with its meaning and where it appears.

One table for the page `docs/glossary.md` (`python -m mileage.report.glossary` prints it) and for the explanations that
the report shows on hover and focus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from markupsafe import Markup


class Term(NamedTuple):
    """A word, its meaning in one or two sentences, and the places where a reader meets it."""

    word: str
    meaning: str
    where: str


def _terms() -> Iterator[Term]:
    """The entries of `glossary.txt`: a line "word | where", then the meaning, indented."""
    table = resources.files("mileage.report").joinpath("glossary.txt").read_text(encoding="utf-8")
    for entry in re.split(r"\n(?! )", table.strip()):
        head, *lines = entry.splitlines()
        word, _, where = head.partition(" | ")
        yield Term(word, " ".join(line.strip() for line in lines), where)


TERMS: Final[tuple[Term, ...]] = tuple(_terms())
MEANINGS: Final[Mapping[str, str]] = {term.word: term.meaning for term in TERMS}
SHOWN: Final[Mapping[str, str]] = {
    "95 % interval": "confidence interval (CI)",
    "Adjusted p": "adjusted p",
    "class of device": "device class",
    "cell": "cell (test)",
    "drive model": "virtual drive",
    "erased blocks": "erased blocks (free blocks)",
    "geometric": "geometric mean",
    "idle control": "idle control (sham)",
    "rate within runs": "regime, change of level",
    "memory": "page cache",
    "model band": "model band, variant",
    "p99": "p50, p99, p99.9",
    "runs": "run",
}
"""Texts of the page that stand for a word of the table under another spelling."""


def explained(text: str) -> Markup:
    """A text of the page, as HTML with its meaning on hover and focus where the table has it."""
    from markupsafe import Markup

    meaning = MEANINGS.get(SHOWN.get(text, text))
    if meaning is None:
        return Markup.escape(text)
    return Markup('<dfn class="term" tabindex="0" title="{}">{}</dfn>').format(meaning, text)


def page() -> str:
    """The page `docs/glossary.md`."""
    rows = "".join(f"| {term.word} | {term.meaning} | {term.where} |\n" for term in TERMS)
    return (
        "# Glossary\n\nThis page is generated: `python -m mileage.report.glossary` prints it.\n\n"
        "| word | meaning | where it appears |\n|---|---|---|\n" + rows
    )


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
