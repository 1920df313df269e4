"""The page and the text of a power-cut test: one sentence, and one row per combination.

Scope: rows of text, as `app.power_cut` has them. Every text is escaped by the template, and a content policy forbids
all loading and every script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mileage.report.dark_mode import night_style
from mileage.report.html import templates
from mileage.report.view import cleaned_text
from mileage.terminal import wrapped

HEADS: Final = (
    *(
        "file system",
        "application",
        "barriers",
        "power",
        "flush",
        "must keep",
        "cuts",
        "at stake",
        "flushes",
        "acknowledged",
        "lost",
        "torn",
        "not examined",
    ),
    *("corrupt", "unreplayable", "recovery s", "seed", "again"),
)
"""Heads of the table's columns."""


def power_cut_text(sentence: str, rows: Sequence[Sequence[str]], width: int = 80) -> str:
    """For each combination its settings and its figures by name, then the sentence, in lines of at most `width`."""
    numbers = HEADS.index("cuts")
    lines = []
    for row in rows:
        named = [f"{head}: {cell}" for head, cell in zip(HEADS, row, strict=True) if cell]
        lines += wrapped(", ".join(named[:numbers]), width)
        lines += [*wrapped("; ".join(named[numbers:]), width, first="  ", indent="  "), ""]
    return "\n".join([*lines, *wrapped(sentence, width)]) + "\n"


def render_power_cuts(drive: str, sentence: str, rows: Sequence[Sequence[str]], command: str) -> str:
    """The whole page as text, to be stored as UTF-8."""
    from markupsafe import Markup

    return (
        templates()
        .get_template("power_cut.html.j2")
        .render(
            drive=cleaned_text(drive),
            sentence=cleaned_text(sentence),
            heads=HEADS,
            rows=[[cleaned_text(cell) for cell in row] for row in rows],
            command=cleaned_text(command),
            night=Markup(night_style()),
        )
    )
