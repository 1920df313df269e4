"""Sentences about level changes inside the torture runs, one for each kind of torture.

Scope: a reader who asks "when did it fall, and by how much": bytes written at the cut, level before and after. Runs of
one kind of torture are described together; a range stands where the cycles differ.
"""

from collections.abc import Sequence
from typing import Final

from mileage.report.view import RunShape

_KINDS: Final = {
    "flat": "stays at one level",
    "warm-up": "rises",
    "cliff": "falls",
    "sawtooth": "goes up and down",
    "drift": "drifts steadily",
    "multi-regime": "has several levels",
    "too short": "was recorded too briefly to judge",
}


def shape_lines(shapes: Sequence[RunShape]) -> list[str]:
    """One sentence per kind of torture, in the order in which they first ran."""
    cells = dict.fromkeys(shape.cell for shape in shapes)
    return [_line(cell, [shape for shape in shapes if shape.cell == cell]) for cell in cells]


def _line(cell: str, shapes: Sequence[RunShape]) -> str:
    kinds = list(dict.fromkeys(shape.kind for shape in shapes))
    runs = "its one run" if len(shapes) == 1 else f"{len(shapes)} runs"
    if len(kinds) > 1:
        counted = ", ".join(f"{_KINDS[kind]} in {sum(s.kind == kind for s in shapes)}" for kind in kinds)
        return f"{cell}: of {runs} the rate {counted}."
    kind = kinds[0]
    if kind in ("cliff", "warm-up"):
        change = _range(
            [s.levels_bytes_per_s[1] / s.levels_bytes_per_s[0] for s in shapes if s.levels_bytes_per_s[0]]
        )
        levels = " to ".join(_rates([s.levels_bytes_per_s[level] for s in shapes]) for level in (0, 1))
        at = _bytes([s.cut_bytes[0] for s in shapes], max(s.cut_error_bytes for s in shapes))
        times = "" if change is None else f", to {change} of it"
        return (
            f"{cell}: in {runs} the rate {_KINDS[kind]} from {levels} MB/s{times}, after {at} were written."
        )
    if kind == "multi-regime":
        first = shapes[0]
        levels = ", ".join(_rates([level]) for level in first.levels_bytes_per_s[:6])
        more = " ..." if len(first.levels_bytes_per_s) > 6 else ""
        return f"{cell}: in {runs} the rate {_KINDS[kind]}; the first are {levels}{more} MB/s."
    middle = _rates([sum(s.levels_bytes_per_s) / len(s.levels_bytes_per_s) for s in shapes])
    return f"{cell}: in {runs} the rate {_KINDS[kind]}, about {middle} MB/s."


def _rates(values: Sequence[float]) -> str:
    return _span(f"{min(values) / 1e6:,.3g}", f"{max(values) / 1e6:,.3g}")


def _bytes(values: Sequence[float], error: float) -> str:
    span = _span(f"{min(values) / 1e9:,.3g}", f"{max(values) / 1e9:,.3g}")
    return f"{span} GB (± {error / 1e9:,.2g} GB, the spacing of the measured points)"


def _range(values: Sequence[float]) -> str | None:
    return _span(f"{100 * min(values):.2g}", f"{100 * max(values):.2g}") + " %" if values else None


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}-{high}"
