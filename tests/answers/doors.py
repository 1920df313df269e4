"""One question at every door: `compare` as text, Markdown and JSON, Python, and the report's page and text.

A door that differs in a verdict, a ratio or a caveat is an AssertionError, so each test asks only what it is about.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from mileage import app
from mileage.judge import Comparison
from tests.answers.question import ask
from tests.command import mileage

_TAG = re.compile(r"<(style|script).*?</\1>|<[^>]+>", re.DOTALL)


class Doors(NamedTuple):
    """The answers, of which the value is the same at each door."""

    value: Comparison
    texts: dict[str, str]
    """What a person reads at each door, in one line with plain signs."""
    gate: dict[str, set[str]]
    """For each rule the outcomes of all tests."""
    status: int
    """Exit status of the gate, without rules 0."""

    def says(self, *words: str) -> None:
        """Each door has each of these words."""
        for door, text in self.texts.items():
            for one in words:
                assert one in text, f"{door} does not have {one!r}:\n{text}"

    def never_says(self, *words: str) -> None:
        """No door has any of these words."""
        for door, text in self.texts.items():
            for one in words:
                assert one not in text, f"{door} has {one!r}:\n{text}"

    def sides_of(self, code: str) -> tuple[str, ...]:
        """The sides that a caveat is about; empty where there is none with this code."""
        return next((caveat.sides for caveat in self.value.caveats if caveat.code == code), ())


def ask_doors(*sides: str | Path, cwd: Path, rules: tuple[str, ...] = ()) -> Doors:
    """Ask about two studies or stages, or about one study whose plan has the question; `rules` are those of a gate."""
    names = [str(side) for side in sides]
    value = app.compare(*names) if len(names) == 2 else app.load(names[0]).comparison()
    page = cwd / f"page-{len(list(cwd.glob('page-*')))}"
    own = ["--out", str(page), "--report", "text"] if len(names) == 2 else ["--report", "text"]
    report = ask("report", *names, *own, cwd=cwd)
    html_page = (page if len(names) == 2 else Path(names[0])) / "report.html"
    texts = {
        "compare": ask("compare", *names, cwd=cwd),
        "Markdown": ask("compare", *names, "--format", "markdown", cwd=cwd).replace("\\", ""),
        "report": report,
        "page": html.unescape(_TAG.sub("", html_page.read_text(encoding="utf-8"))),
        "Python": repr(value),
    }
    asked = mileage(
        "compare", *names, "--json", *(word for rule in rules for word in ("--fail-if", rule)), cwd=cwd
    )
    answered = json.loads(asked.stdout)
    outcomes: dict[str, set[str]] = {rule: set() for rule in rules}
    for one in answered.pop("gate", ()):
        outcomes[one["rule"]["text"]].add(one["outcome"])
    assert answered == json.loads(msgspec.json.encode(value))
    plain = {door: " ".join(text.split()).replace("\N{MINUS SIGN}", "-") for door, text in texts.items()}
    return Doors(value, plain, outcomes, asked.returncode)
