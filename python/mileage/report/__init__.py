"""The report: one value, the `StudyView`, shown in words, numbers and pictures.

`render_html` makes one self-contained page, `render_text` the same summary for a terminal (its table alone is
`comparison_table`), `write_figures` the pictures as files. No part of the report reads a file of a study,
decides anything or asks for a clock: who has a view has all that will be shown. The drawing libraries are
imported when something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.report.figures import write_figures
    from mileage.report.html import render_html
    from mileage.report.text import comparison_table, render_text
    from mileage.report.view import StudyView, ValidityCheck
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.report.figures": ("write_figures",),
            "mileage.report.html": ("render_html",),
            "mileage.report.text": ("comparison_table", "render_text"),
            "mileage.report.view": ("StudyView", "ValidityCheck"),
        },
    )

__all__ = [
    "StudyView",
    "ValidityCheck",
    "comparison_table",
    "render_html",
    "render_text",
    "write_figures",
]
