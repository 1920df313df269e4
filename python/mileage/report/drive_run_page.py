"""The page of one workload on a virtual drive: rate, latency and counters over the drive's time.

Scope: one run. Names come from strangers: every text is escaped by the template, and a content policy forbids all
loading and every script but the page's own. A run that is too short has a page without a picture.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mileage.report.chart_data import RunTrace
from mileage.report.dark_mode import night_style
from mileage.report.figures import write_pictures
from mileage.report.gallery import NARROW, NARROW_PANEL, WHOLE, Picture
from mileage.report.html import script_of, templates
from mileage.report.render_pool import svg_of
from mileage.report.series_axes import series_axes
from mileage.report.timeline import course_words, timeline_chart
from mileage.report.view import cleaned_text
from mileage.store.safe_directory import Directory
from mileage.store.text_cells import csv_text


class DriveRunPage(msgspec.Struct, frozen=True):
    """Content of the page."""

    drive: str
    workload: str
    summary: tuple[str, ...]
    """Results, one sentence each."""
    course: RunTrace | None
    """None: too few operations."""
    counters: tuple[tuple[str, int], ...]
    gauges: tuple[tuple[str, int], ...]
    command: str


def _pictures(page: DriveRunPage) -> list[Picture]:
    """The course of the run, and the same as wide as a phone."""
    if page.course is None:
        return []
    found = []
    for name, width in (("course", WHOLE - 60), (f"course{NARROW}", NARROW_PANEL)):
        chart = timeline_chart(
            [page.course], axis="time", width=width, latency=True, counters=list(page.course.counters)
        )
        if chart is None:
            return []
        caption = "Rate, latency and counters over the drive's time; one run, no interval."
        caption += course_words([page.course], "time")
        svg = svg_of(
            chart,
            name=name.replace("_", "-"),
            title=f"Course of {cleaned_text(page.workload)}",
            description=caption,
        )
        found.append(Picture(name, svg.result(), caption, series_axes(chart)))
    return found


def render_drive_run(page: DriveRunPage, pictures: Sequence[Picture]) -> str:
    """The whole page as text, to be stored as UTF-8."""
    from markupsafe import Markup

    def rows(pairs: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
        return [(cleaned_text(name), f"{value:,}") for name, value in pairs]

    script, script_hash = script_of("series.js")
    tables = [("Counters of the run", rows(page.counters)), ("The drive after it", rows(page.gauges))]
    cleaned = msgspec.structs.replace(
        page,
        drive=cleaned_text(page.drive),
        workload=cleaned_text(page.workload),
        summary=tuple(map(cleaned_text, page.summary)),
        command=cleaned_text(page.command),
    )
    return (
        templates()
        .get_template("drive_run.html.j2")
        .render(
            page=cleaned,
            drawings={picture.name: Markup(picture.svg) for picture in pictures},
            shown=[(p.name, p.caption, p.axes) for p in pictures if not p.name.endswith(NARROW)],
            tables=[(title, found) for title, found in tables if found],
            script=script,
            script_hash=script_hash,
            night=Markup(night_style()),
        )
    )


def _course_csv(course: RunTrace) -> str:
    """The picture's data: one row for each point, units in the names of the columns."""
    columns: dict[str, Sequence[float]] = {
        "end_s": course.end_s,
        "rate_bytes_per_s": course.rate_bytes_per_s,
        "latency_p50_ns": course.p50_ns,
        "latency_p99_ns": course.p99_ns,
        "latency_max_ns": course.max_ns,
        **course.counters,
    }
    shown = {name: values for name, values in columns.items() if values}
    return csv_text(tuple(shown), list(zip(*shown.values(), strict=True)))


def write_drive_run(page: DriveRunPage, folder: Directory) -> None:
    """Write the page, its picture as SVG and PNG into `figures/`, and the points of it into `tables/course.csv`."""
    pictures = _pictures(page)
    if page.course is not None:
        folder.write("tables/course.csv", _course_csv(page.course).encode())
    if pictures:
        write_pictures(pictures, f"{page.workload} on {page.drive}", folder)
    folder.write("report.html", render_drive_run(page, pictures).encode())
