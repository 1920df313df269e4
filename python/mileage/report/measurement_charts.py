"""The pictures of a study that compares nothing: each cell's rate, its course over the run, and its slow operations.

Scope: the same drawings as those of a comparison, with cells in the place of arms. Refuses empty pictures.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from msgspec.structs import replace

from mileage.report import vega
from mileage.report.chart_data import ChartData
from mileage.report.gallery import NARROW, NARROW_PANEL, NARROW_WIDTH, WHOLE, Picture
from mileage.report.ior_layout_chart import layout_chart, layout_names, layout_title, layout_words
from mileage.report.latency_tail_chart import tail_chart
from mileage.report.level_charts import NARROW_BARS, levels_chart
from mileage.report.rate_curves import curve_pictures
from mileage.report.render_pool import svg_of
from mileage.report.scan_chart import scan_chart
from mileage.report.series_axes import series_axes
from mileage.report.steady_rounds import STEADY_CAPTION, steady_chart, steady_words
from mileage.report.timeline import course_words, timeline_chart
from mileage.report.value_axis import log_words
from mileage.report.wording import plain


def measured_pictures(found: ChartData, factor: str) -> list[Picture]:
    """The charts of a measurement that have data, each in two widths: for a page and for a phone.

    The curves of tests come first; they are as wide as a phone.

    `factor`: the name of the setting that differs between the measured groups, for the legend.
    """
    one_cell = len({trace.arm for trace in found.runs}) == 1
    # Levels change at the places of one cell; between cells a line through all of them would belong to none.
    runs = found.runs if one_cell else [replace(trace, cuts=[]) for trace in found.runs]
    found = replace(found, runs=runs)
    words = _words(found, factor)
    asked: list[tuple[str, Future[str], str, str]] = []
    for narrow in (False, True):
        for name, chart in _charts(found, factor, narrow=narrow).items():
            if chart is None:
                continue
            title, caption = words[name]
            drawn = f"{name}{NARROW if narrow else ''}"
            svg = svg_of(chart, name=drawn.replace("_", "-"), title=plain(title), description=plain(caption))
            asked.append((drawn, svg, caption, series_axes(chart)))
    curves = curve_pictures(found.curves, found.landmarks) if found.curves else []
    return curves + [Picture(name, svg.result(), caption, axes) for name, svg, caption, axes in asked]


def _charts(found: ChartData, factor: str, *, narrow: bool) -> dict[str, vega.Spec | None]:
    """The charts by name, in the order of the page."""
    width = NARROW_PANEL if narrow else WHOLE - 60
    scan = scan_chart(found.scan, factor=factor, width=width, landmarks=found.landmarks)
    bars: dict[str, Any] = {"width": NARROW_BARS} if narrow else {}
    steady: dict[str, Any] = {"columns": 1, "width": width} if narrow else {}
    levels = None if scan else levels_chart(found.levels, baseline="", factor=factor, **bars)
    layouts: dict[str, Any] = {"width": NARROW_WIDTH} if narrow else {}
    return {
        "scan": scan,
        "levels": levels,
        "steady_state": steady_chart(found.steady, **steady),
        "runs": timeline_chart(
            found.runs, axis="time", width=width, latency=_has_commits(found), counters=False
        ),
        "latency": tail_chart(found.tails, width=width),
        **{name: layout_chart(layout, **layouts) for name, layout in layout_names(found.layouts).items()},
    }


def _has_commits(found: ChartData) -> bool:
    """Whether the latencies over time are those of commits."""
    return bool(found.runs) and all(trace.of_commits for trace in found.runs)


def _words(found: ChartData, factor: str) -> dict[str, tuple[str, str]]:
    """Title and caption of each chart."""
    runs = sorted({len(values) for cell in found.levels for values in cell.levels.values()})
    n = "no" if not runs else str(runs[0]) if runs[0] == runs[-1] else f"{runs[0]} to {runs[-1]}"
    traced = len(found.runs)
    steps = f" {' '.join(found.steps)}" if found.steps else ""
    over_time = "Rate and commit times over time" if _has_commits(found) else "Rate over time"
    return {
        "scan": (
            f"Rate and latency over {factor}",
            f"Rate and latency over {factor}. Rate: geometric mean of the runs (n = {n} each) with its 95 % "
            "interval, where it is wider than the dot; levels where a run failed or did nothing have no dot. Latency: "
            f"of all runs together; no interval is drawn.{steps}",
        ),
        "levels": (
            f"Rate of each {factor}",
            f"Rate of each {factor}: bar, geometric mean as in the table; dot, one run (n = {n} runs each). No "
            "interval is drawn; half widths are in the table."
            + log_words([value for own in cell.levels.values() for value in own] for cell in found.levels),
        ),
        "steady_state": ("Steady state by SNIA's rule", f"{STEADY_CAPTION} {steady_words(found.steady)}."),
        "runs": (
            over_time,
            f"{over_time} in {traced} run{'' if traced == 1 else 's'}: all of a single cell, up to ten, or "
            "the first run of each of the first cells of the table. Thin: one run; thick: the median of several; no "
            f"interval.{course_words(found.runs, 'time')}",
        ),
        "latency": (
            "Latency of the slowest operations",
            "The share of operations that took longer than a latency, for the first cells of the table: all runs of a "
            "cell together; thin: single runs. No interval is drawn.",
        ),
        **{
            name: (layout_title(layout), layout_words(layout))
            for name, layout in layout_names(found.layouts).items()
        },
    }
