"""The pictures of a study that compares nothing: each cell's rate, its course over the run, and its slow operations.

Models the same drawings as those of a comparison, with cells in the place of arms. Refuses empty pictures.
"""

from __future__ import annotations

from concurrent.futures import Future

from msgspec.structs import replace

from mileage.report import vega
from mileage.report.evidence import Evidence
from mileage.report.gallery import WHOLE, Picture
from mileage.report.levels import levels_chart
from mileage.report.render_pool import svg_of
from mileage.report.scan import scan_chart
from mileage.report.steady_rounds import STEADY_CAPTION, steady_chart, steady_words
from mileage.report.tails import tail_chart
from mileage.report.timeline import cut_words, timeline_chart
from mileage.report.wording import plain


def measured_pictures(found: Evidence, factor: str) -> list[Picture]:
    """Those for which there are figures; `found` is cleaned. `factor`: what its levels are levels of."""
    runs = sorted({len(values) for cell in found.levels for values in cell.levels.values()})
    n = "no" if not runs else str(runs[0]) if runs[0] == runs[-1] else f"{runs[0]} to {runs[-1]}"
    traced = len(found.runs)
    one_cell = len({trace.arm for trace in found.runs}) == 1
    # Levels change at the places of one cell; between cells a line through all of them would belong to none.
    runs_drawn = found.runs if one_cell else [replace(trace, cuts=[]) for trace in found.runs]
    cuts = cut_words(runs_drawn, "time")
    scan = scan_chart(found.scan, factor=factor, width=WHOLE - 60)
    drawn: list[tuple[str, str, vega.Spec | None, str]] = [
        (
            "scan",
            f"Rate and latency over {factor}",
            scan,
            f"Rate and latency over {factor}. Rate: median of the runs (n = {n} each) with the 95 % interval of their "
            "mean, where it is wider than the dot. Latency: of all runs together; no interval is drawn.",
        ),
        (
            "levels",
            f"Rate of each {factor}",
            None if scan is not None else levels_chart(found.levels, baseline="", factor=factor),
            f"Rate of each {factor}: bar, geometric mean; dot, one run (n = {n} runs each). No interval is drawn; half "
            "widths are in the table.",
        ),
        (
            "steady_state",
            "Steady state by SNIA's rule",
            steady_chart(found.steady),
            f"{STEADY_CAPTION} {steady_words(found.steady)}.",
        ),
        (
            "runs",
            "Rate over time",
            timeline_chart(runs_drawn, axis="time", width=WHOLE - 60, latency=False, counters=False),
            f"Rate over time in {traced} run{'' if traced == 1 else 's'}: all of a single cell, up to ten, or "
            "the first run of each of the first cells of the table. Thin: one run; thick: the median of several; no "
            f"interval.{f' {cuts[:1].upper()}{cuts[1:]}; shaded in turn.' if cuts else ''}",
        ),
        (
            "latency",
            "Latency of the slowest operations",
            tail_chart(found.tails, width=WHOLE - 60),
            "The share of operations that took longer than a latency, for the first cells of the table: all runs of a "
            "cell together; thin: single runs. No interval is drawn.",
        ),
    ]
    asked: list[tuple[str, Future[str], str]] = [
        (name, svg_of(chart, name=name, title=plain(title), description=plain(words)), words)
        for name, title, chart, words in drawn
        if chart is not None
    ]
    return [Picture(name, svg.result(), words) for name, svg, words in asked]
