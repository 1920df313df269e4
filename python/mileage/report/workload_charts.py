"""The pictures of single tests: both arms of each cell, the change of each cell, and all changes as a map.

Scope: what each picture shows as a chart with its words; `gallery` draws them. Refuses empty charts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from mileage.judge import CellVerdict
from mileage.report import vega
from mileage.report.aspects import DrawnTest, axes_of, drawn_tests, file_name, grouped_tests
from mileage.report.change_grid import Grid, change_charts, fields_of, heat_chart, level_fields, most_changed
from mileage.report.chart_data import LevelRuns
from mileage.report.level_charts import MOST_CELLS, NARROW_BARS, levels_chart
from mileage.report.paired_bars import paired_bars
from mileage.report.value_axis import log_words
from mileage.report.view import StudyView
from mileage.report.wording import distinct_names

FEW_CELLS: Final = 11
"""Cells that a forest plot shows whole: a map of their changes would repeat it."""
_CELLS_ALONE: Final = 3
CHANGE: Final = "_change"
"""End of the name of a test's picture of changes."""


class ChartedTest(NamedTuple):
    """A picture to be drawn: its name, its chart, its title and its caption."""

    name: str
    chart: vega.Spec
    title: str
    caption: str


def bar_pictures(view: StudyView) -> list[ChartedTest]:
    """The cells of each test, named as the test's files: both arms, or all levels where there are more than two."""
    found = []
    for own in drawn_tests(view):
        made = _all_levels(view, own) if view.standings else _both_arms(view, own)
        if made is not None:
            found.append(made)
    return found


def _both_arms(view: StudyView, own: DrawnTest) -> ChartedTest | None:
    low, high = view.comparison.baseline, view.comparison.candidate
    places = view.evidence.places
    arms = distinct_names(low, high)
    chart = paired_bars(own.test, own.cells, places, axes_of(own.cells, places), arms)
    words = bar_words(view, own.cells)
    return None if chart is None else ChartedTest(own.file, chart, f"{own.test} in {low} and {high}", words)


def _all_levels(view: StudyView, own: DrawnTest) -> ChartedTest | None:
    found = view.evidence
    cells = {cell.cell for cell in own.cells}
    levels = [level for level in found.levels if level.cell in cells]
    chart = levels_chart(levels, baseline=found.baseline_level, factor=view.factor, width=NARROW_BARS)
    title = f"{own.test}, all levels of {view.factor}"
    return None if chart is None else ChartedTest(own.file, chart, title, level_bar_words(view, levels))


def level_bar_words(view: StudyView, levels: Sequence[LevelRuns]) -> str:
    """Explain a chart of all levels of these cells."""
    runs = [len(values) for cell in levels for values in cell.levels.values()]
    some = f"The first {MOST_CELLS} of {len(levels)} cells. " if len(levels) > MOST_CELLS else ""
    return (
        f"{some}Each level of {view.factor or view.evidence.factor or 'level'}: bar, geometric mean; dot, one run "
        f"(n = {counted_span(runs)} runs each); figure, times that of {view.evidence.baseline_level}. No "
        f"interval: how sure a difference is stands in the table of all {'levels' if view.standings else 'cells'}."
        + log_words([value for own in level.levels.values() for value in own] for level in levels)
    )


def bar_words(view: StudyView, cells: Sequence[CellVerdict] = ()) -> str:
    """Explain bars, dots and whiskers; of a chart of these cells also its axis."""
    values = [value for cell in cells for value in (*cell.values_baseline, *cell.values_candidate)]
    arm = " of the torture arm" if view.comparison.sham_removed else ""
    n = counted_span([count for cell in view.headline for count in (cell.n_baseline, cell.n_candidate)])
    return (
        f"Bar: geometric mean of the runs{arm} (n = {n} run{'' if n == '1' else 's'} in each arm); dot: one run, in "
        "their order; whisker: one standard deviation of the runs' logarithms, which is a spread and no interval. "
        f"{log_words([values])[1:] or 'Every panel starts at zero.'}"
    )


def stands_alone(view: StudyView, test: DrawnTest) -> bool:
    """Whether the bars of a test are few enough for a page: a single panel, or three cells at all levels.

    Few cells at all levels are in one picture already.
    """
    if view.standings:
        return len(view.evidence.levels) > MOST_CELLS and len(test.cells) <= _CELLS_ALONE
    return not axes_of(test.cells, view.evidence.places).columns


def change_pictures(view: StudyView) -> list[ChartedTest]:
    """The changes of each test in percent; none of few cells, which the forest plot shows each already."""
    if not _is_large(view):
        return []
    names = {(own.aspect, own.test): own.file for own in grouped_tests(view)}
    found: list[ChartedTest] = []
    for grid, words, aspect in _grids(view):
        kept, left = most_changed(grid.fields)
        if len(kept) < 2:
            continue
        caption = f"{left}: {words[:1].lower()}{words[1:]}" if left else words
        caption += (
            ". Bars of geometric means; runs and intervals are in the table of all levels."
            if view.standings
            else ". Bar: change; whisker: its 95\N{NO-BREAK SPACE}% interval (up to the frame: it continues); shaded: "
            "too small to matter."
        )
        for test, chart in change_charts(kept, row=grid.row, column=grid.column).items():
            name = f"{names.get((aspect, test)) or file_name(test) or 'test'}{CHANGE}"
            while any(name == other.name for other in found):
                name = f"{name.removesuffix(CHANGE)}_2{CHANGE}"
            found.append(ChartedTest(name, chart, f"Changes of {test} in percent", caption))
    return found


def map_picture(view: StudyView, *, narrow: bool = False) -> ChartedTest | None:
    """Picture with all changes as coloured fields."""
    if not _is_large(view):
        return None
    grids: list[Grid] = []
    shown = ""
    for grid, words, _ in _grids(view):
        kept, left = most_changed(grid.fields)
        grids.append(grid._replace(fields=kept))
        shown = shown or (f"{left}: {words[:1].lower()}{words[1:]}" if left else words)
    chart = heat_chart(grids, narrow=narrow)
    glyphs = (
        "▲ and ▼: differs from it (Welch on logs, Holm over all pairs of the cell); ?: no difference shown"
        if view.standings
        else "▲ faster, ▼ slower, ≈ real but irrelevant, = same, ? undecided, – not conclusive"
    )
    words = f"{shown}. Orange: worse; blue: better. {glyphs}. Intervals are in the table."
    return None if chart is None else ChartedTest("changes_map", chart, "Changes as a map", words)


def counted_span(counts: Sequence[int]) -> str:
    """The smallest and the largest: "3 to 5", or one number."""
    low, high = min(counts, default=0), max(counts, default=0)
    return str(low) if low == high else f"{low} to {high}"


def _is_large(view: StudyView) -> bool:
    return len(view.headline) > FEW_CELLS or bool(view.standings)


def _grids(view: StudyView) -> list[tuple[Grid, str, str]]:
    """The changes of each aspect over two properties of its cells; or those of all levels of a factor, of no aspect.

    Each with what its caption begins with.
    """
    found = view.evidence
    if view.standings and len({place.level for cell in view.standings for place in cell.places}) > 2:
        fields = level_fields(found.levels, found.places, found.baseline_level, _apart(view))
        n = counted_span([len(values) for cell in found.levels for values in cell.levels.values()])
        words = f"Change against {view.factor} {found.baseline_level}, n = {n} runs of each level"
        if len({(field.test, field.row) for field in fields}) == len({field.test for field in fields}):
            # With one cell per test there is nothing to compare but the levels: put these on the axis.
            alone = [replace(field, row=field.column, column="") for field in fields]
            return [(Grid(alone, view.factor, ""), words, "")]
        return [(Grid(fields, "record", view.factor), words, "")]
    aspects: dict[str, list[CellVerdict]] = {}
    for own in grouped_tests(view):
        aspects.setdefault(own.aspect, []).extend(own.cells)
    low, high = view.comparison.baseline, view.comparison.candidate
    n = counted_span([min(cell.n_baseline, cell.n_candidate) for cell in view.headline])
    words = f"Change from {low} to {high}, n = {n} runs in each arm"
    grids = {aspect: Grid(*fields_of(cells, found.places)) for aspect, cells in aspects.items()}
    return [(grid, words, aspect) for aspect, grid in grids.items() if grid.fields]


def _apart(view: StudyView) -> dict[tuple[str, str], bool]:
    """For each test and factor level: does its range of ranks not overlap that of the baseline?"""
    base = view.evidence.baseline_level
    found = {}
    for cell in view.standings:
        own = next((place for place in cell.places if place.level == base), None)
        for place in cell.places:
            if own and None not in (own.first, own.last, place.first, place.last):
                ends = (place.first or 0, place.last or 0, own.first or 0, own.last or 0)
                found[cell.cell, place.level] = ends[1] < ends[2] or ends[3] < ends[0]
    return found
