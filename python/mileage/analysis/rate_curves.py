"""The rates of each test over the number that varies most, such as the record size of IOzone's automatic mode.

Scope: a curve for each test, with a line for each level of the other properties; of more than four lines some, from the
first to the last in equal steps. Refuses nothing: a test with fewer than three sizes has no curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mileage.model.journal_entries import ImportedRun
from mileage.plan import Plan
from mileage.plan.sizes import format_bytes
from mileage.report.cell_estimates import RatedCell, rate_of
from mileage.report.change_grid import number_of
from mileage.report.chart_data import RateCurve, ScanPoint
from mileage.report.scan_chart import LEVELS_MIN

_LINES_MAX: Final = 4


def imported_curves(
    plan: Plan, runs: Sequence[ImportedRun], cells: Sequence[RatedCell]
) -> tuple[RateCurve, ...]:
    """The curves of an imported study, whose settings are in its runs."""
    settings: dict[str, Mapping[str, str]] = {}
    for run in runs:
        settings.setdefault(run.cell, run.levels)
    places = {}
    for cell in plan.cells:
        record = cell.key.record_bytes
        sizes = {"record": "" if record is None else format_bytes(record)}
        places[cell.label] = {"test": cell.key.workload, **settings.get(cell.label, {}), **sizes}
    return rate_curves(cells, places)


def rate_curves(cells: Sequence[RatedCell], places: Mapping[str, Mapping[str, str]]) -> tuple[RateCurve, ...]:
    """One for each test that has three levels of a number, in the order of the cells.

    `places`: the properties of each cell by its label, `test` among them.
    """
    tests: dict[str, list[RatedCell]] = {}
    for cell in cells:
        tests.setdefault(places.get(cell.cell, {}).get("test", ""), []).append(cell)
    found = [_curve(test, own, places) for test, own in tests.items()]
    return tuple(curve for curve in found if curve is not None)


def scan_point(cell: RatedCell, series: str, level: str, metric: str) -> ScanPoint | None:
    """The point of a cell at a level such as "4 KiB"; None where the level is no number or no mean is estimable."""
    at, found = number_of(level), rate_of(cell, metric)
    if not at or found.geometric_mean is None:
        return None
    low, high = found.mean_ci95 or (None, None)
    mean = found.geometric_mean
    return ScanPoint(series=series, level=level, at=at, metric=metric, mean=mean, low=low, high=high)


def _curve(
    test: str, cells: Sequence[RatedCell], places: Mapping[str, Mapping[str, str]]
) -> RateCurve | None:
    own = {cell.cell: places.get(cell.cell, {}) for cell in cells}
    levels: dict[str, set[str]] = {}
    for place in own.values():
        for name, value in place.items():
            if number_of(value):
                levels.setdefault(name, set()).add(value)
    by = "record" if len(levels.get("record", ())) >= LEVELS_MIN else ""
    by = by or max(levels, key=lambda name: len(levels[name]), default="")
    if len(levels.get(by, ())) < LEVELS_MIN:
        return None
    varied = [name for name in dict.fromkeys(n for p in own.values() for n in p) if name not in ("test", by)]
    varied = [name for name in varied if len({place.get(name) for place in own.values()}) > 1]
    metric = "rate_bytes_per_s" if all(any(cell.rate_bytes_per_s) for cell in cells) else "ops_per_s"
    lines: dict[str, list[ScanPoint]] = {}
    for cell in cells:
        place = own[cell.cell]
        line = ", ".join(
            place.get(name, "-") if len(varied) == 1 else f"{name} {place.get(name, '-')}" for name in varied
        )
        if (point := scan_point(cell, line, place.get(by, ""), metric)) is not None:
            lines.setdefault(line, []).append(point)
    names = sorted(
        (name for name, points in lines.items() if len({point.at for point in points}) >= LEVELS_MIN),
        key=lambda name: number_of(name) or 0.0,
    )
    step = (len(names) - 1) / (_LINES_MAX - 1)
    kept = names if len(names) <= _LINES_MAX else [names[round(at * step)] for at in range(_LINES_MAX)]
    points = tuple(point for name in kept for point in lines[name])
    return RateCurve(test, by, varied[0] if len(varied) == 1 else "", points, len(names)) if kept else None
