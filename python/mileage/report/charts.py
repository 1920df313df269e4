"""The study's charts, drawn: which cells go into which picture, with its words for those who do not see it.

One definition gives the page's inline SVG, the SVG file and the PNG, and is drawn while the next one is made.
Refuses empty pictures: what has nothing to show is None, and the page says so in words.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

from mileage.judge import CellVerdict
from mileage.report.before_after_chart import before_after_chart
from mileage.report.forest_plot import Overlays, Ranges, forest_chart, narrow_forest_chart
from mileage.report.render_pool import svg_of
from mileage.report.view import StudyView
from mileage.report.wording import change_and_interval, distinct_names, largest_changes, plain, row_name

MOST_PANELS: Final = 10


def variant_ranges(view: StudyView) -> Ranges:
    """Smallest and largest ratio of each cell over the variants of a simulated drive; empty without variants."""
    cells = {(c.cell, c.metric): c for c in (*view.comparison.headline, *view.comparison.cells)}
    band = view.comparison.band
    return {
        at: ends
        for at, cell in cells.items()
        if band is not None and cell.ratio is not None and (ends := band.around(*at, cell.ratio)) is not None
    }


def published_ranges(view: StudyView) -> Ranges:
    """Smallest and largest ratio that a source printed for each cell; empty for a study that repeats none."""
    results = view.published.results if view.published is not None else ()
    return {
        (one.cell, one.metric): (1 + one.published.low / 100, 1 + one.published.high / 100)
        for one in results
        if one.cell and one.published.low is not None and one.published.high is not None
    }


def overlays_of(view: StudyView) -> Overlays:
    """What a forest plot of the study shows above its intervals."""
    return Overlays(variant_ranges(view), published_ranges(view))


def forest_svg(view: StudyView, cells: Sequence[CellVerdict], *, name: str) -> Future[str] | None:
    """The forest plot of some of the study's cells."""
    low, high = view.comparison.baseline, view.comparison.candidate
    chart = forest_chart(cells, baseline=low, candidate=high, overlays=overlays_of(view))
    if chart is None:
        return None
    rows = "; ".join(f"{row_name(c)}: {change_and_interval(c.ratio, c.ci95)}, {c.verdict}" for c in cells)
    return svg_of(chart, name=name, title=f"Change from {low} to {high}, per cell", description=plain(rows))


def narrow_forest_svg(view: StudyView, cells: Sequence[CellVerdict], *, name: str) -> Future[str] | None:
    """The forest plot for a phone: each cell's name and figures stand above its row."""
    low, high = view.comparison.baseline, view.comparison.candidate
    chart = narrow_forest_chart(cells, baseline=low, candidate=high, overlays=overlays_of(view))
    if chart is None:
        return None
    about = "The same figures as in the table of all cells."
    return svg_of(chart, name=name, title=f"Change from {low} to {high}, per cell", description=about)


def before_after_svg(
    view: StudyView, *, name: str, cells: Sequence[CellVerdict] | None = None
) -> Future[str] | None:
    """Bar chart of the values before and after, one panel per test; by default the tests that changed most."""
    low, high = view.comparison.baseline, view.comparison.candidate
    cells = largest_changes(view.headline, MOST_PANELS) if cells is None else cells
    short_low, short_high = distinct_names(low, high)
    chart = before_after_chart(cells, baseline=short_low, candidate=short_high)
    if chart is None:
        return None
    about = (
        f"Bars of the mean of all runs in {low} and {high}, one panel per cell; the figures are in the table."
    )
    return svg_of(chart, name=name, title=f"Measured in {low} and {high}", description=about)


def torture_words(view: StudyView) -> str:
    """The trace in words: the rate at the start and at the end of each cycle, in MB/s, and the share of its stalls."""
    import numpy as np

    labels = []
    for trace in view.torture:
        whole = trace.end_s[-1]
        places = [0.0, whole / 10, whole * 9 / 10, whole]
        done = np.interp(places, [0.0, *trace.end_s], [0.0, *trace.moved_bytes])
        first, last = ((end - start) / (whole / 10) / 1e6 for start, end in (done[:2], done[2:]))
        stalled = trace.stalled_share
        labels.append(
            f"cycle {trace.cycle}: {first:,.0f} MB/s in the first tenth of its time, {last:,.0f} in the last tenth"
            + (f", nothing in {100 * stalled:.2g} % of its time" if stalled else "")
        )
    return "; ".join(labels)
