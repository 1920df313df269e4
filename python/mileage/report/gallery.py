"""Every picture of a study, drawn once: for the page, and as files.

Models a picture with the words that make it complete: what is shown, how many runs it rests on, and what its interval
is. Refuses empty pictures: what a study has not recorded has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

import msgspec

from mileage.report import vega
from mileage.report.charts import (
    MOST_PANELS,
    before_after_svg,
    forest_svg,
    narrow_forest_svg,
    torture_svg,
    torture_words,
)
from mileage.report.drawn_tests import drawn_tests
from mileage.report.grid import fields_of, heat_chart, level_fields, most_changed, multiples_chart
from mileage.report.layout import layout_chart, layout_words
from mileage.report.levels import MOST_CELLS, levels_chart
from mileage.report.render_pool import svg_of
from mileage.report.run_order import run_order_chart
from mileage.report.stages import before_after_chart
from mileage.report.steady_rounds import STEADY_CAPTION, steady_chart, steady_words
from mileage.report.tails import tail_chart
from mileage.report.timeline import cut_words, timeline_chart
from mileage.report.torture import torture_chart
from mileage.report.view import StudyView
from mileage.report.wear import wear_chart
from mileage.report.wording import distinct_names, largest_changes, plain

FIRST_SCREEN_ROWS: Final = 11
WHOLE_FOREST_ROWS: Final = 120
"""A forest plot of more rows would be no picture; the table has them all."""
NARROW: Final = "_narrow"
"""End of the name of a picture that is drawn again for a phone: on the page only."""
NARROW_WIDTH: Final = 356
_NARROW_PANEL: Final = 286
_NARROW_BARS: Final = 110
HALF: Final = 470
WHOLE: Final = 1040
_MOST_BARS: Final = 10


class Picture(msgspec.Struct, frozen=True):
    """One drawing. `name` names its files and, with hyphens, everything in it; `caption` says what one must know."""

    name: str
    svg: str
    caption: str = ""


class _Asked(NamedTuple):
    """A picture that is being drawn."""

    svg: Future[str]
    caption: str = ""


def gallery(view: StudyView, *, files: bool = False) -> dict[str, Picture]:
    """The pictures by their names, in the order of the page; `files` adds those that are only files.

    `view` is cleaned. All are drawn at the same time, as far as there are processors; takes a second or more.
    """
    asked: dict[str, _Asked] = {}
    for name, draw in _DRAWN.items():
        picture = draw(view)
        if picture is not None:
            asked[name] = picture
    for at, layout in enumerate(view.evidence.layouts):
        name = f"layout_{file_name(layout.name) or at}"
        words = layout_words(layout)
        asked[name] = _Asked(_svg(layout_chart(layout), name, f"File layout of {layout.name}", words), words)
    if files:
        asked |= _per_test(view)
    asked |= _narrow_pictures(view, asked)
    try:
        return {name: Picture(name, drawn.svg.result(), drawn.caption) for name, drawn in asked.items()}
    finally:
        for drawn in asked.values():
            drawn.svg.cancel()


def _narrow_pictures(view: StudyView, wide: Mapping[str, _Asked]) -> dict[str, _Asked]:
    """Charts of the page again, as wide as a phone; their words are the same."""
    found, low, high = view.evidence, view.comparison.baseline, view.comparison.candidate
    panel: dict[str, Any] = {"width": _NARROW_PANEL}
    draw: dict[str, Callable[[], vega.Spec | None]] = {
        "torture": lambda: torture_chart(view.torture, capacity_bytes=view.capacity_bytes, **panel),
        "headline_runs": lambda: timeline_chart(
            found.runs, axis="bytes", latency=False, counters=False, **panel
        ),
        "headline_latency": lambda: tail_chart(found.tails, **panel),
        "run_order": lambda: run_order_chart(found.order, **panel),
        "over_time": lambda: timeline_chart(
            found.torture or found.runs, axis="time", latency=True, counters=True, **panel
        ),
        "before_after": lambda: before_after_chart(
            largest_changes(view.headline, MOST_PANELS),
            **dict(zip(("baseline", "candidate"), distinct_names(low, high), strict=True)),
            page_width=NARROW_WIDTH,
        ),
        "levels": lambda: levels_chart(
            found.levels,
            baseline=found.baseline_level,
            factor=view.factor or "level",
            messages=12,
            width=_NARROW_BARS,
        ),
    }
    drawn: dict[str, _Asked] = {}
    for name, make in draw.items():
        if name in wide and (chart := make()) is not None:
            title = f"{name.replace('_', ' ')}, narrow"
            drawn[name + NARROW] = _Asked(_svg(chart, name + NARROW, title, "As in the wide layout."))
    return drawn


def file_name(words: str) -> str:
    """Words as part of a file's name: small letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:60]


def _svg(chart: vega.Spec, name: str, title: str, about: str) -> Future[str]:
    return svg_of(chart, name=name.replace("_", "-"), title=title, description=plain(about))


def _forest(view: StudyView) -> _Asked | None:
    svg = forest_svg(view, largest_changes(view.headline, FIRST_SCREEN_ROWS), name="forest")
    words = (
        f"Diamond and line: change with its 95\N{NO-BREAK SPACE}% interval (an arrow: it continues). Circles: each "
        f"{view.comparison.unit} by itself (n = {units_counted(view)}). Shaded: too small to matter."
    )
    return _Asked(svg, words) if svg else None


def units_counted(view: StudyView) -> str:
    """How many repetitions a change rests on, with what is counted: "3 cycles", "10 blocks of one run of each arm"."""
    found = view.comparison
    n = _span([found.units_baseline, found.units_candidate])
    words = f"{found.unit}{'' if n == '1' else 's'}"
    return f"{n} {words} of one run of each arm" if found.unit == "block" else f"{n} {words}"


def runs_counted(view: StudyView) -> str:
    """How many runs a mean is made of: "30 runs in each arm"."""
    n = _span([count for cell in view.headline for count in (cell.n_baseline, cell.n_candidate)])
    return f"{n} run{'' if n == '1' else 's'} in each arm"


def _narrow_forest(view: StudyView) -> _Asked | None:
    svg = narrow_forest_svg(view, largest_changes(view.headline, FIRST_SCREEN_ROWS), name="forest-narrow")
    return _Asked(svg) if svg else None


def _whole_forest(view: StudyView) -> _Asked | None:
    if not FIRST_SCREEN_ROWS < len(view.headline) <= WHOLE_FOREST_ROWS:
        return None
    svg = forest_svg(view, view.headline, name="forest-all-cells")
    return _Asked(svg, "Every cell of the headline.") if svg else None


def _latency(view: StudyView) -> _Asked | None:
    cells = view.beyond_headline
    if len(cells) > WHOLE_FOREST_ROWS:
        cells = tuple(largest_changes(cells, FIRST_SCREEN_ROWS))
    svg = forest_svg(view, cells, name="latency")
    left = len(view.beyond_headline) - len(cells)
    words = f" The {len(cells)} that changed most of {len(view.beyond_headline)}." if left else ""
    caption = (
        "The cells beyond the headline. Diamond and line: change with its 95\N{NO-BREAK SPACE}% interval. Left is "
        f"always worse and right always better, whichever way the axis runs.{words}"
    )
    return _Asked(svg, caption) if svg else None


def _before_after(view: StudyView) -> _Asked | None:
    svg = before_after_svg(view, name="before-after")
    some = f" The {MOST_PANELS} cells that changed most." if len(view.headline) > MOST_PANELS else ""
    return _Asked(svg, _bar_words(view) + some) if svg else None


def _bar_words(view: StudyView) -> str:
    arm = " of the torture arm" if view.comparison.sham_removed else ""
    return (
        f"Bar: geometric mean of the runs{arm} (n = {runs_counted(view)}); dot: one run, in their order; whisker: one "
        f"standard deviation of the runs' logarithms, which is a spread and no interval. Every panel starts at zero."
    )


def _runs(view: StudyView) -> _Asked | None:
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
    cuts = cut_words(found.runs)
    words = (
        f"{found.cell}: rate of each run over the bytes it moved. Thin: one run (n = {n}); thick: their median; no "
        f"interval. {cuts[:1].upper()}{cuts[1:]}{'; ' if cuts else 'N'}"
        f"{'shaded in turn.' if cuts else 'o change of level inside the runs.'}"
    )
    return _Asked(_svg(chart, "headline_runs", "Rate over bytes moved", words), words)


def _tails(view: StudyView) -> _Asked | None:
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
    return _Asked(_svg(chart, "headline_latency", "Latency of the slowest operations", words), words)


def _torture(view: StudyView) -> _Asked | None:
    svg = torture_svg(view, name="torture")
    if svg is None:
        return None
    many = len(view.torture) > 1
    text = plain(torture_words(view))
    cycles = f"Thin and dark: each of {len(view.torture)} cycles. Thick and pale: their median. "
    caption = (
        (cycles if many else "One cycle. ")
        + (f"{text[:1].upper()}{text[1:]}. " if text else "")
        + "Write amplification: bytes programmed into the flash for each byte the host wrote"
    )
    if not any(trace.write_amplification for trace in view.torture):
        caption += "; this target does not count it"
    return _Asked(svg, f"{caption}.")


def _over_time(view: StudyView) -> _Asked | None:
    traces = view.evidence.torture
    measured = not traces
    traces = traces or view.evidence.runs
    if not any(trace.p99_ns or trace.counters for trace in traces):
        return None
    chart = timeline_chart(traces, axis="time", width=WHOLE - 60, latency=True, counters=True)
    if chart is None:
        return None
    cuts = cut_words(traces, "time")
    what = f"the runs of {view.evidence.cell}" if measured else "the torture"
    words = (
        f"Rate, latency and counters over time in {what} (n = {len(traces)} {'run' if measured else 'cycle'}"
        f"{'' if len(traces) == 1 else 's'}). Lines of latency: median over them of each interval's median (p50), 99th "
        f"percentile and maximum; no interval is drawn.{f' Rate: {cuts}.' if cuts else ''}"
    )
    return _Asked(_svg(chart, "over_time", "Rate, latency and counters over time", words), words)


def _wear(view: StudyView) -> _Asked | None:
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
    return _Asked(_svg(chart, "wear", "Wear before and after the torture", words), words)


def _run_order(view: StudyView) -> _Asked | None:
    order = view.evidence.order
    chart = run_order_chart(order, width=WHOLE - 60)
    if chart is None:
        return None
    words = (
        f"Each run as its difference from the geometric mean of its own cell and arm (n = {len(order)} runs of the "
        "headline). A rise or a fall from left to right is drift; no interval is drawn."
    )
    return _Asked(_svg(chart, "run_order", "All runs in their order", words), words)


def _steady(view: StudyView) -> _Asked | None:
    chart = steady_chart(view.evidence.steady)
    if chart is None:
        return None
    words = f"{STEADY_CAPTION} {steady_words(view.evidence.steady)}."
    return _Asked(_svg(chart, "steady_state", "Steady state by SNIA's rule", words), words)


def _levels(view: StudyView) -> _Asked | None:
    found = view.evidence
    factor = view.factor or "level"
    chart = levels_chart(found.levels, baseline=found.baseline_level, factor=factor)
    if chart is None:
        return None
    runs = [len(values) for cell in found.levels for values in cell.levels.values()]
    some = f"The first {MOST_CELLS} of {len(found.levels)} cells. " if len(found.levels) > MOST_CELLS else ""
    words = (
        f"{some}Each level of {factor}: bar, geometric mean; dot, one run (n = {_span(runs)} runs each); figure, times "
        f"that of {found.baseline_level}. No interval: which levels differ is in the table of all levels."
    )
    return _Asked(_svg(chart, "levels", f"All levels of {factor}", words), words)


def _grid(view: StudyView, draw: Callable[..., Any], name: str, title: str) -> _Asked | None:
    """The changes over two properties of the cells; of few cells the forest plot shows each already."""
    if len(view.headline) <= FIRST_SCREEN_ROWS and not view.standings:
        return None
    low, high = view.comparison.baseline, view.comparison.candidate
    found = view.evidence
    fields, row, column = fields_of(view.headline, found.places)
    n = _span([min(cell.n_baseline, cell.n_candidate) for cell in view.headline])
    words = f"Change from {low} to {high}, n = {n} runs in each arm"
    if view.standings and len({place.level for cell in view.standings for place in cell.places}) > 2:
        fields = level_fields(found.levels, found.places, found.baseline_level, _apart(view))
        row, column = "record", view.factor
        n = _span([len(values) for cell in found.levels for values in cell.levels.values()])
        words = f"Change against {view.factor} {found.baseline_level}, n = {n} runs of each level"
    fields, left = most_changed(fields)
    chart = draw(fields, row=row, column=column)
    if chart is None:
        return None
    words = f"{left}: {words[:1].lower()}{words[1:]}" if left else words
    glyphs = (
        "▲ and ▼: differs from it (Welch on logs, Holm over all pairs of the cell); ?: no difference shown"
        if view.standings
        else "▲ faster, ▼ slower, ≈ real but irrelevant, = same, ? undecided"
    )
    if name == "changes_map":
        words = f"{words}. Orange: worse; blue: better. {glyphs}. Intervals are in the table."
    elif view.standings:
        words = f"{words}. Bars of geometric means; runs and intervals are in the table of all levels."
    else:
        words = f"{words}. Bar: change; whisker: its 95\N{NO-BREAK SPACE}% interval (up to the frame: it continues)."
    return _Asked(_svg(chart, name, title, words), words)


def _map(view: StudyView) -> _Asked | None:
    return _grid(view, heat_chart, "changes_map", "Changes as a map")


def _multiples(view: StudyView) -> _Asked | None:
    return _grid(view, multiples_chart, "changes", "Changes in percent, one panel per test")


def _apart(view: StudyView) -> dict[tuple[str, str], bool]:
    """Whether a level's ranks share none with the baseline's, by cell and level."""
    base = view.evidence.baseline_level
    found = {}
    for cell in view.standings:
        own = next((place for place in cell.places if place.level == base), None)
        for place in cell.places:
            if own and None not in (own.first, own.last, place.first, place.last):
                ends = (place.first or 0, place.last or 0, own.first or 0, own.last or 0)
                found[cell.cell, place.level] = ends[1] < ends[2] or ends[3] < ends[0]
    return found


def _per_test(view: StudyView) -> dict[str, _Asked]:
    """Before and after for the cells of each test that changed most, a file for each test."""
    found: dict[str, _Asked] = {}
    for test, cells in drawn_tests(view).items():
        name = f"before_after_{file_name(test)}"
        svg = before_after_svg(view, name=name.replace("_", "-"), cells=largest_changes(cells, _MOST_BARS))
        if svg:
            found[name] = _Asked(svg, _bar_words(view))
    return found


def _span(counts: Sequence[int]) -> str:
    low, high = min(counts, default=0), max(counts, default=0)
    return str(low) if low == high else f"{low} to {high}"


_DRAWN: Final[dict[str, Callable[[StudyView], _Asked | None]]] = {
    "forest": _forest,
    "forest" + NARROW: _narrow_forest,
    "headline_runs": _runs,
    "headline_latency": _tails,
    "before_after": _before_after,
    "levels": _levels,
    "changes_map": _map,
    "changes": _multiples,
    "torture": _torture,
    "over_time": _over_time,
    "run_order": _run_order,
    "steady_state": _steady,
    "wear": _wear,
    "forest_all_cells": _whole_forest,
    "latency": _latency,
}
NAMES: Final = tuple(_DRAWN)
"""The pictures that a study can have, other than layouts of files, in the order of the page."""
