"""The end of every command that reports: the report, where its page is, and the verdict once more as the last line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from mileage.app.result import StudyResult
    from mileage.judge import Comparison

_SENTENCE_END: Final = re.compile(r"(?<=\.) (?=[A-Z])")


def print_study(result: StudyResult, page: Path | str) -> None:
    """Print the report of a study and where its page is; the text of two causes fits a screen, and ends with that."""
    from mileage.terminal import report_width

    is_long = result.compares and result.plan.study.apart is None
    print_report(result.text(width=report_width()), page, result.comparison() if is_long else None)


def print_report(text: str, page: Path | str, comparison: Comparison | None) -> None:
    """Print a report, then the path of its page or a sentence, then the first sentence of the verdict.

    A report is longer than a screen: whoever reads its end has the verdict there, too.
    """
    from mileage.terminal import harmless, report_width, say, wrapped

    say(text)
    click.echo(page if isinstance(page, str) else f"Report: {page}")
    if comparison is not None:
        from mileage.report.sentence import verdict_sentence

        first = _SENTENCE_END.split(harmless(verdict_sentence(comparison)), maxsplit=1)[0]
        click.echo("\n".join(wrapped(first, report_width())))
