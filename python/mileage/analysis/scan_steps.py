"""Where a scan of record sizes changes its level, and the sizes of the machine's caches and memory to compare with.

Scope: a step as two neighbouring sizes whose 95 % intervals do not overlap and whose means differ by a
tenth or more. Refuses steps between single runs, which have no interval, and the machine's sizes for a virtual drive,
whose records do not pass through the machine's caches in the measured time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from mileage.plan.sizes import format_bytes, whole_number
from mileage.report.chart_data import Landmark, RateCurve, ScanPoint
from mileage.report.scan_chart import scan_series
from mileage.report.wording import percent, plain, quantity

_RATIO_MIN: Final = 1.1
_STEPS_MAX: Final = 6
_SIZES: Final = {"cpu.l2_bytes": "L2 cache", "cpu.l3_bytes": "L3 cache", "memory.total_bytes": "memory"}


def landmarks_of(environment: Mapping[str, str]) -> list[Landmark]:
    """The sizes of one core's L2 cache, the L3 cache and the memory, as far as they are known."""
    return [
        Landmark(name, float(size))
        for key, name in _SIZES.items()
        if (size := whole_number(environment.get(key, "")))
    ]


def step_lines(points: Sequence[ScanPoint], landmarks: Sequence[Landmark]) -> list[str]:
    """A sentence for each scan that has steps, the largest six in the order of the sizes, and one on the landmarks.

    Without any step a sentence says why.
    """
    return _with_landmarks(points, _steps(points), landmarks)


def curve_step_lines(curves: Sequence[RateCurve], landmarks: Sequence[Landmark]) -> list[str]:
    """The same for the drawn lines of many tests; empty where what varies is not the record size."""
    points: list[ScanPoint] = []
    lines: list[str] = []
    for curve in curves:
        if curve.by != "record":
            return []
        own = [
            replace(point, series=", ".join(filter(None, (curve.test, point.series))))
            for point in curve.points
        ]
        lines += _steps(own)
        points += own
    return _with_landmarks(points, lines, landmarks)


def _steps(points: Sequence[ScanPoint]) -> list[str]:
    """A sentence for each scan that has steps."""
    lines = []
    for name, own in scan_series(points).items():
        found = [(before, after) for before, after in pairwise(own) if _is_step(before, after)]
        largest = sorted(found, key=lambda step: -_ratio(*step))[:_STEPS_MAX]
        if largest:
            listed = "; ".join(_words(before, after) for before, after in found if (before, after) in largest)
            lines.append(f"{name}: {listed}.")
    return lines


def _with_landmarks(
    points: Sequence[ScanPoint], lines: list[str], landmarks: Sequence[Landmark]
) -> list[str]:
    """The sentences, or that there are none and why, and the machine's sizes to compare with."""
    series = scan_series(points)
    if series and not lines:
        known = any(point.low is not None for point in points)
        why = (
            "intervals overlap, or means differ by less than a tenth"
            if known
            else "single runs have no interval"
        )
        lines.append(f"No step between neighbouring sizes is shown: {why}.")
    if lines and landmarks:
        sizes = ", ".join(f"{mark.name} {_size(mark.at)}" for mark in landmarks)
        lines.append(f"For comparison: {sizes}.")
    return lines


def _is_step(before: ScanPoint, after: ScanPoint) -> bool:
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return False
    apart = before.high < after.low or after.high < before.low
    return apart and _ratio(before, after) >= _RATIO_MIN


def _ratio(before: ScanPoint, after: ScanPoint) -> float:
    return max(after.mean / before.mean, before.mean / after.mean)


def _words(before: ScanPoint, after: ScanPoint) -> str:
    verb = "rises" if after.mean > before.mean else "falls"
    change = percent(after.mean / before.mean)
    ends = f"{quantity(before.metric, before.mean)} to {quantity(after.metric, after.mean)}"
    return plain(f"{verb} from {ends} ({change}) between {before.level} and {after.level}")


def _size(count: float) -> str:
    """As a binary size with three digits: "31.2 GiB"."""
    text = format_bytes(round(count))
    if len(text.partition(" ")[0]) <= 4:
        return text
    per, unit = next(
        (
            (1 << shift, unit)
            for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB"))
            if count >= 1 << shift
        ),
        (1, "B"),
    )
    return f"{count / per:.3g} {unit}"
