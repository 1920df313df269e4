"""Every picture of a study, drawn once: for the page, and as files.

Scope: a picture with the words that make it complete: what is shown, how many runs it rests on, and what its interval
is. Refuses empty pictures: what a study has not recorded has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

import msgspec

from mileage.judge import CellVerdict
from mileage.report import vega
from mileage.report.before_after_chart import before_after_chart
from mileage.report.chart_data import AMPLIFICATION
from mileage.report.charts import (
    MOST_PANELS,
    before_after_svg,
    forest_svg,
    narrow_forest_svg,
    overlays_of,
    published_ranges,
    torture_words,
    variant_ranges,
)
from mileage.report.effects_chart import effects_chart, effects_words
from mileage.report.forest_plot import narrow_forest_chart
from mileage.report.ior_layout_chart import layout_chart, layout_names, layout_title, layout_words
from mileage.report.latency_tail_chart import tail_chart
from mileage.report.level_charts import NARROW_BARS, levels_chart
from mileage.report.render_pool import svg_of
from mileage.report.run_order import run_order_chart
from mileage.report.series_axes import series_axes
from mileage.report.steady_rounds import STEADY_CAPTION, steady_chart, steady_words
from mileage.report.timeline import course_words, timeline_chart
from mileage.report.torture import torture_chart
from mileage.report.view import StudyView
from mileage.report.wear_chart import wear_chart
from mileage.report.wording import distinct_names, largest_changes, plain
from mileage.report.workload_charts import (
    FEW_CELLS,
    ChartedTest,
    bar_pictures,
    bar_words,
    change_pictures,
    counted_span,
    level_bar_words,
    map_picture,
)

FIRST_SCREEN_ROWS: Final = FEW_CELLS
WHOLE_FOREST_ROWS: Final = 120
"""A forest plot of more rows would be no picture; the table has them all."""
NARROW: Final = "_narrow"
"""End of the name of a picture that is drawn again for a phone: on the page only."""
NARROW_WIDTH: Final = 356
NARROW_PANEL: Final = 286
HALF: Final = 470
_STALLS: Final = " between equal amounts of data, with the time of stalls"
"""What the thick line is where runs stall, which has no width on an axis of bytes."""
WHOLE: Final = 1040


class Picture(msgspec.Struct, frozen=True):
    """One picture with its caption.

    `name` names its files and, with hyphens, everything in it; `caption` says what one must know.
    """

    name: str
    svg: str
    caption: str = ""
    axes: str = ""
    """Key of the axes in `series_axes`, for time series; else empty."""


class _PictureRequest(NamedTuple):
    """A picture that is being drawn."""

    svg: Future[str]
    caption: str = ""
    axes: str = ""


def gallery(view: StudyView) -> dict[str, Picture]:
    """The pictures by their names, in the order of the page.

    `view` is cleaned. All are drawn at the same time, as far as there are processors; takes a second or more.
    """
    asked: dict[str, _PictureRequest] = {}
    for name, row in _DRAWN.items():
        picture = row.draw(view)
        if picture is not None:
            asked[name] = picture
    for name, layout in layout_names(view.evidence.layouts).items():
        words, title = layout_words(layout), layout_title(layout)
        asked[name] = _PictureRequest(_svg(layout_chart(layout), name, title, words), words)
        narrow = layout_chart(layout, width=NARROW_WIDTH)
        asked[name + NARROW] = _PictureRequest(
            _svg(narrow, name + NARROW, f"{title}, narrow", "As in the wide layout.")
        )
    for made in (*bar_pictures(view), *change_pictures(view)):
        asked[made.name] = _PictureRequest(
            _svg(made.chart, made.name, made.title, made.caption), made.caption
        )
    asked |= _narrow_pictures(view, asked)
    try:
        return {
            name: Picture(name, drawn.svg.result(), drawn.caption, drawn.axes)
            for name, drawn in asked.items()
        }
    finally:
        for drawn in asked.values():
            drawn.svg.cancel()


def _narrow_pictures(view: StudyView, wide: Mapping[str, _PictureRequest]) -> dict[str, _PictureRequest]:
    """Charts of the page again, as wide as a phone; their words are the same."""
    found, low, high = view.evidence, view.comparison.baseline, view.comparison.candidate
    panel: dict[str, Any] = {"width": NARROW_PANEL}
    draw: dict[str, Callable[[], vega.Spec | None]] = {
        "effects": lambda: (
            effects_chart(view.apart, width=NARROW_WIDTH - 20, narrow=True) if view.apart else None
        ),
        "torture": lambda: torture_chart(view.torture, capacity_bytes=view.capacity_bytes, **panel),
        "headline_runs": lambda: timeline_chart(
            found.runs, axis="bytes", latency=False, counters=False, **panel
        ),
        "headline_latency": lambda: tail_chart(found.tails, **panel),
        "steady_state": lambda: steady_chart(found.steady, columns=1, **panel),
        "wear": lambda: wear_chart(found.wear, columns=2, width=NARROW_BARS),
        "forest_all_cells": lambda: narrow_forest_chart(
            view.headline, baseline=low, candidate=high, overlays=overlays_of(view)
        ),
        "latency": lambda: narrow_forest_chart(
            _shown_beyond(view), baseline=low, candidate=high, overlays=overlays_of(view)
        ),
        "run_order": lambda: run_order_chart(found.order, **panel),
        "over_time": lambda: timeline_chart(
            view.torture or found.runs, axis="time", latency=True, counters=True, **panel
        ),
        "before_after": lambda: before_after_chart(
            largest_changes(view.headline, MOST_PANELS),
            **dict(zip(("baseline", "candidate"), distinct_names(low, high), strict=True)),
            page_width=NARROW_WIDTH,
        ),
        "changes_map": lambda: (made := map_picture(view, narrow=True)) and made.chart,
        "levels": lambda: levels_chart(
            found.levels,
            baseline=found.baseline_level,
            factor=view.factor or found.factor or "level",
            width=NARROW_BARS,
        ),
    }
    drawn: dict[str, _PictureRequest] = {}
    for name, make in draw.items():
        if name in wide and (chart := make()) is not None:
            title = f"{name.replace('_', ' ')}, narrow"
            drawn[name + NARROW] = _PictureRequest(
                _svg(chart, name + NARROW, title, "As in the wide layout.")
            )
    return drawn


def _svg(chart: vega.Spec, name: str, title: str, about: str) -> Future[str]:
    return svg_of(chart, name=name.replace("_", "-"), title=title, description=plain(about))


def _effects(view: StudyView) -> _PictureRequest | None:
    chart = None if view.apart is None else effects_chart(view.apart)
    if view.apart is None or chart is None:
        return None
    words = effects_words(view.apart)
    return _PictureRequest(_svg(chart, "effects", "Effects of two causes apart and together", words), words)


def _forest(view: StudyView) -> _PictureRequest | None:
    svg = forest_svg(view, largest_changes(view.headline, FIRST_SCREEN_ROWS), name="forest")
    words = (
        f"Diamond and line: change with its 95\N{NO-BREAK SPACE}% interval (an arrow: it continues). Circles: each "
        f"{view.comparison.unit} by itself (n = {units_counted(view)}). Shaded: too small to matter."
        f"{dashed_words(view)}"
    )
    return _PictureRequest(svg, words) if svg else None


def dashed_words(view: StudyView) -> str:
    """Explain the dashed lines and the squares of a forest plot, after a space; empty where there are none."""
    variants = (
        " Dashed: range over variants of the simulated drive, each with one unpublished figure changed."
    )
    squares = " Squares: what was published."
    return (variants if variant_ranges(view) else "") + (squares if published_ranges(view) else "")


def units_counted(view: StudyView) -> str:
    """Number of repetitions behind a change, with their unit: "3 cycles", "10 blocks of one run of each arm"."""
    found = view.comparison
    n = counted_span([found.units_baseline, found.units_candidate])
    words = f"{found.unit}{'' if n == '1' else 's'}"
    return f"{n} {words} of one run of each arm" if found.unit == "block" else f"{n} {words}"


def _narrow_forest(view: StudyView) -> _PictureRequest | None:
    svg = narrow_forest_svg(view, largest_changes(view.headline, FIRST_SCREEN_ROWS), name="forest-narrow")
    return _PictureRequest(svg) if svg else None


def _whole_forest(view: StudyView) -> _PictureRequest | None:
    if not FIRST_SCREEN_ROWS < len(view.headline) <= WHOLE_FOREST_ROWS:
        return None
    svg = forest_svg(view, view.headline, name="forest-all-cells")
    return _PictureRequest(svg, "Every test of the headline.") if svg else None


def _shown_beyond(view: StudyView) -> Sequence[CellVerdict]:
    cells = view.beyond_headline
    return cells if len(cells) <= WHOLE_FOREST_ROWS else largest_changes(cells, FIRST_SCREEN_ROWS)


def _latency(view: StudyView) -> _PictureRequest | None:
    cells = _shown_beyond(view)
    svg = forest_svg(view, cells, name="latency")
    left = len(view.beyond_headline) - len(cells)
    words = f" The {len(cells)} that changed most of {len(view.beyond_headline)}." if left else ""
    caption = (
        "The tests beyond the headline. Diamond and line: change with its 95\N{NO-BREAK SPACE}% interval. Left is "
        f"always worse and right always better, whichever way the axis runs.{words}"
    )
    return _PictureRequest(svg, caption) if svg else None


def _before_after(view: StudyView) -> _PictureRequest | None:
    svg = before_after_svg(view, name="before-after")
    some = f" The {MOST_PANELS} cells that changed most." if len(view.headline) > MOST_PANELS else ""
    return _PictureRequest(svg, bar_words(view) + some) if svg else None


def _runs(view: StudyView) -> _PictureRequest | None:
    found = view.evidence
    chart = timeline_chart(found.runs, axis="bytes", width=HALF, latency=False, counters=False)
    if chart is None:
        return None
    drawn = {arm: sum(t.arm == arm for t in found.runs) for arm in dict.fromkeys(t.arm for t in found.runs)}
    done = {tail.arm: max(t.runs for t in found.tails if t.arm == tail.arm) for tail in found.tails}
    n = ", ".join(
        f"{count}{f' of {done[arm]}' if done.get(arm, 0) > count else ''} run{'' if count == 1 else 's'} of {arm}"
        for arm, count in drawn.items()
    )
    words = (
        f"{found.cell}: rate of each run over the bytes it moved. Thin: one run (n = {n}); thick: their median"
        f"{_STALLS if any(trace.stalled_share for trace in found.runs) else ''}; no interval."
        f"{course_words(found.runs, 'bytes')}"
    )
    svg = _svg(chart, "headline_runs", "Rate over bytes moved", words)
    return _PictureRequest(svg, words, series_axes(chart))


def _tails(view: StudyView) -> _PictureRequest | None:
    found = view.evidence
    chart = tail_chart(found.tails, width=HALF)
    if chart is None:
        return None
    whole = {tail.arm: tail for tail in found.tails if tail.runs > 1} or {
        tail.arm: tail for tail in found.tails
    }
    n = ", ".join(
        f"{tail.operations:,} operations in {tail.runs} run{'' if tail.runs == 1 else 's'} of {arm}"
        for arm, tail in whole.items()
    )
    opened = any(tail.kind == "response" for tail in found.tails)
    both = " Solid: response, from when it was due; dashed: service, from the submission." if opened else ""
    words = (
        f"{found.cell}: the share of operations that took longer than a latency (n = {n}). Thick: all runs together; "
        f"thin: single runs, whose band is the spread between runs, not an interval.{both}"
    )
    return _PictureRequest(_svg(chart, "headline_latency", "Latency of the slowest operations", words), words)


def _torture(view: StudyView) -> _PictureRequest | None:
    chart = torture_chart(view.torture, capacity_bytes=view.capacity_bytes)
    if chart is None:
        return None
    many, stalls = len(view.torture) > 1, any(trace.stalled_share for trace in view.torture)
    text = plain(torture_words(view))
    thin = f"each of {len(view.torture)} cycles" if many else "the cycle"
    thick = f"{'their median' if many else 'its rate'}{_STALLS if stalls else ''}"
    caption = (
        (f"Thin and dark: {thin}. Thick and pale: {thick}. " if many or stalls else "One cycle. ")
        + (f"{text[:1].upper()}{text[1:]}. " if text else "")
        + "Write amplification: bytes programmed into the flash for each byte the host wrote"
    )
    if not any(AMPLIFICATION in trace.counters for trace in view.torture):
        caption += "; this target does not count it"
    svg = _svg(chart, "torture", "Torture: rate over bytes written", text)
    return _PictureRequest(svg, f"{caption}.", series_axes(chart))


def _over_time(view: StudyView) -> _PictureRequest | None:
    measured = not view.torture
    traces = view.torture or view.evidence.runs
    if not any(trace.p99_ns or trace.counters for trace in traces):
        return None
    chart = timeline_chart(traces, axis="time", width=WHOLE - 60, latency=True, counters=True)
    if chart is None:
        return None
    what = f"the runs of {view.evidence.cell}" if measured else "the torture"
    latency = "commit times" if all(trace.of_commits for trace in traces) else "latency"
    title = f"Rate, {latency} and counters over time"
    words = (
        f"{title} in {what} (n = {len(traces)} {'run' if measured else 'cycle'}"
        f"{'' if len(traces) == 1 else 's'}). Lines of {latency}: median over them of each interval's median (p50), "
        f"99th percentile and maximum; no interval is drawn.{course_words(traces, 'time')}"
    )
    svg = _svg(chart, "over_time", title, words)
    return _PictureRequest(svg, words, series_axes(chart))


def _wear(view: StudyView) -> _PictureRequest | None:
    wear = view.evidence.wear
    chart = wear_chart(wear)
    if chart is None:
        return None
    n = len({found.cycle for found in wear})
    words = (
        f"The drive's gauges before and after the torture. Each line: one cycle (n = {n} cycle"
        f"{'' if n == 1 else 's'}), from the first interval of its torture to the last; no interval is drawn. All "
        "figures are in the table of wear."
    )
    return _PictureRequest(_svg(chart, "wear", "Wear before and after the torture", words), words)


def _run_order(view: StudyView) -> _PictureRequest | None:
    order = view.evidence.order
    chart = run_order_chart(order, width=WHOLE - 60)
    if chart is None:
        return None
    words = (
        f"Each run as its difference from the geometric mean of its own cell and arm (n = {len(order)} runs of the "
        "headline). A rise or a fall from left to right is drift; no interval is drawn."
    )
    return _PictureRequest(_svg(chart, "run_order", "All runs in their order", words), words)


def _steady(view: StudyView) -> _PictureRequest | None:
    chart = steady_chart(view.evidence.steady)
    if chart is None:
        return None
    words = f"{STEADY_CAPTION} {steady_words(view.evidence.steady)}."
    return _PictureRequest(_svg(chart, "steady_state", "Steady state by SNIA's rule", words), words)


def _levels(view: StudyView) -> _PictureRequest | None:
    found = view.evidence
    factor = view.factor or found.factor or "level"
    chart = levels_chart(found.levels, baseline=found.baseline_level, factor=factor)
    if chart is None:
        return None
    words = level_bar_words(view, found.levels)
    return _PictureRequest(_svg(chart, "levels", f"All levels of {factor}", words), words)


def _map(view: StudyView) -> _PictureRequest | None:
    return _charted(map_picture(view))


def _charted(made: ChartedTest | None) -> _PictureRequest | None:
    return made and _PictureRequest(_svg(made.chart, made.name, made.title, made.caption), made.caption)


class _Row(NamedTuple):
    """How a picture is drawn, and the section of the page that shows it.

    The section is empty where the page has its own place for the picture.
    """

    draw: Callable[[StudyView], _PictureRequest | None]
    section: str = ""


_DRAWN: Final[dict[str, _Row]] = {
    "effects": _Row(_effects),
    "forest": _Row(_forest),
    "forest" + NARROW: _Row(_narrow_forest),
    "headline_runs": _Row(_runs),
    "headline_latency": _Row(_tails),
    "before_after": _Row(_before_after),
    "levels": _Row(_levels, "changes"),
    "changes_map": _Row(_map, "changes"),
    "torture": _Row(_torture),
    "steady_state": _Row(_steady, "torture"),
    "over_time": _Row(_over_time, "torture"),
    "run_order": _Row(_run_order, "runs"),
    "wear": _Row(_wear),
    "forest_all_cells": _Row(_whole_forest, "cells"),
    "latency": _Row(_latency, "cells"),
}
NAMES: Final = tuple(_DRAWN)
"""The pictures that a study can have, other than layouts of files, in the order of the page."""


def in_sections(pictures: Iterable[str], but: str) -> dict[str, list[str]]:
    """Names of the drawn pictures by the section that shows them, in the order of the page, without the one `but`."""
    found: dict[str, list[str]] = {row.section: [] for row in _DRAWN.values()}
    drawn = set(pictures) - {but}
    for name, row in _DRAWN.items():
        if name in drawn:
            found[row.section].append(name)
    return found
