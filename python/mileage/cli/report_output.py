"""The end of every command that reports: the report, whose last lines are the verdict, and where its page is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mileage.app.result import StudyResult


def print_study(result: StudyResult, page: Path | str, *, verbose: bool = False) -> None:
    """Print the report of a study, then the path of its page or a sentence; `verbose` as in `render_text`."""
    from mileage.terminal import report_width

    print_report(result.text(width=report_width(), verbose=verbose), page)


def print_report(text: str, page: Path | str) -> None:
    """Print a report, then the path of its page or a sentence."""
    from mileage.terminal import say

    say(text)
    click.echo(page if isinstance(page, str) else f"Report: {page}")


verbose_option = click.option(
    "--verbose", is_flag=True, help="Print every check, test and explanation, and the figures of the folder."
)
