"""A published study next to its repetition, as a page: sentence, scores, a figure for each test, a row for each result.

Scope: changes as bars, published next to simulated (two panels where a source prints several settings of a test), rates
as simulated over published. Names come from files: they are cleaned, the template escapes them, and a content policy
forbids all loading.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

from mileage.judge.published_score import CLOSE, PublishedComparison
from mileage.model.published_result import CHANGE, ComparedResult
from mileage.report.aspects import file_name
from mileage.report.change_grid import Field, change_charts
from mileage.report.dark_mode import night_style
from mileage.report.figures import write_pictures
from mileage.report.gallery import Picture
from mileage.report.html import templates
from mileage.report.published_results import (
    here,
    published_results_csv,
    row_of,
    score_rows,
    sentence,
)
from mileage.report.render_pool import svg_of
from mileage.report.view import cleaned_text
from mileage.report.wording import plain
from mileage.store.safe_directory import Directory

_CHANGES: Final = (
    "Bar: change in percent, published (or the middle of the published range) and {word}; whisker: the published range "
    "or standard deviation; a result without a figure is drawn as no change; "
    "shaded: too small to matter."
)
_RATES: Final = "Bar: {word} over published rate, in percent above or below it; shaded: within 15 %."


def pictures(found: PublishedComparison) -> list[Picture]:
    """A chart for each test whose changes are published, and one of all rates of each workload."""
    drawn: list[tuple[str, Future[str], str]] = []
    for kind, caption in ((True, _CHANGES), (False, _RATES)):
        own = [
            one for one in found.results if (one.published.unit == CHANGE) is kind and one.found is not None
        ]
        tests = dict.fromkeys(one.published.workload for one in own)
        for test in tests:
            cells = [one for one in own if one.published.workload == test]
            fields = _change_fields(cells, here(found)) if kind else _rate_fields(cells)
            row = _row_name(cells)
            words = caption.format(word=here(found))
            for title, chart in change_charts(fields, row=row, column="").items():
                name = f"{'change' if kind else 'rate'}_{file_name(title)}"
                svg = svg_of(chart, name=name.replace("_", "-"), title=title, description=plain(words))
                drawn.append((name, svg, words))
    return [Picture(name, svg.result(), words) for name, svg, words in drawn]


def _row_name(cells: Sequence[ComparedResult]) -> str:
    if any(one.published.record_bytes is not None for one in cells):
        return "record"
    return "threads" if any(one.published.threads is not None for one in cells) else "cell"


def _place(one: ComparedResult) -> str:
    """Where a cell stands on the horizontal axis."""
    from mileage.plan.sizes import format_bytes

    published = one.published
    if published.record_bytes is not None and not published.over:
        return format_bytes(published.record_bytes)
    if published.threads is not None:
        return str(published.threads)
    return " / ".join([*published.levels.values(), *published.over.values()]) or published.name


def _change_fields(cells: Sequence[ComparedResult], word: str) -> list[Field]:
    fields = []
    settings = len({tuple(one.published.levels.values()) for one in cells}) > 1
    for one in cells:
        published = one.published
        level = ", ".join(published.levels.values())
        middle = published.middle or 0.0
        low, high = published.low, published.high
        if published.spread_percent is not None:
            low, high = middle - published.spread_percent, middle + published.spread_percent
        sides = (("published", middle, low, high), (word, one.found or 0.0, None, None))
        for side, value, least, most in sides:
            test, column = (
                (f"{published.workload}, {side}", level) if settings else (published.workload, side)
            )
            ratio = 1 + value / 100
            ends = (None if least is None else 1 + least / 100, None if most is None else 1 + most / 100)
            label = f"{published.name}: {side} {value:+.1f} %"
            fields.append(
                Field(test, _place(one), column, ratio, ratio, *ends, "", label, one.relevance_percent / 100)
            )
    return fields


def _rate_fields(cells: Sequence[ComparedResult]) -> list[Field]:
    fields = []
    for one in cells:
        ratio = (one.found or 0.0) / (one.published.middle or 1.0)
        level = " / ".join([*one.published.levels.values(), *one.published.over.values()]) or _place(one)
        label = f"{one.published.name}: {ratio:.2f} times the published figure"
        fields.append(Field(one.published.workload, level, "", ratio, ratio, None, None, "", label, CLOSE))
    return fields


def write_published_results(found: PublishedComparison, folder: Directory, *, drawn: bool) -> None:
    """Write the page, the figures as SVG and PNG, and the table as CSV."""
    folder.write("tables/published.csv", published_results_csv(found).encode())
    charts = pictures(found) if drawn else []
    if charts:
        write_pictures(charts, f"{found.study} next to {found.source.name}", folder, verdict=sentence(found))
    folder.write("report.html", render(found, charts).encode())


def render(found: PublishedComparison, charts: Sequence[Picture]) -> str:
    """The whole page as text, to be stored as UTF-8."""
    from markupsafe import Markup

    rows = [row_of(one)._asdict() for one in found.results]
    cleaned = [
        {key: cleaned_text(value) if isinstance(value, str) else value for key, value in row.items()}
        for row in rows
    ]
    first, _, rest = sentence(found).partition("; ")
    return (
        templates()
        .get_template("published_results.html.j2")
        .render(
            name=cleaned_text(found.study),
            published=cleaned_text(found.source.name),
            source=[cleaned_text(text) for text in found.source.source],
            target=cleaned_text(found.target),
            word=here(found),
            sentence=(f"{first}.".replace("..", "."), f"{rest[:1].upper()}{rest[1:]}"),
            scores=score_rows(found.scores),
            pictures=[(picture.name, Markup(picture.svg)) for picture in charts],
            captions=list(dict.fromkeys(picture.caption for picture in charts)),
            off=[row for row in cleaned if row["agrees"] is False],
            rows=cleaned,
            night=Markup(night_style()),
        )
    )
