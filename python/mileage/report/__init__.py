"""The report: one value, the `StudyView`, told in words, numbers and pictures.

`render_html` makes one self-contained page, `render_text` the same summary for a terminal (its table alone is
`comparison_table`), `write_figures` the pictures as files. No part of the report reads a file of a study,
decides anything or asks for a clock: who has a view has all that will be shown. The drawing libraries are
imported when something is drawn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mileage.report.figures import write_figures
    from mileage.report.html import render_html
    from mileage.report.text import comparison_table, render_text
    from mileage.report.view import StudyView, TortureTrace, TrustLamp

__all__ = [
    "StudyView",
    "TortureTrace",
    "TrustLamp",
    "comparison_table",
    "render_html",
    "render_text",
    "write_figures",
]

_HOMES = {
    "StudyView": "mileage.report.view",
    "TortureTrace": "mileage.report.view",
    "TrustLamp": "mileage.report.view",
    "comparison_table": "mileage.report.text",
    "render_html": "mileage.report.html",
    "render_text": "mileage.report.text",
    "write_figures": "mileage.report.figures",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: who needs one module need not wait for the others' libraries."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
