"""The scale of an axis of rates: from zero, or logarithmic where the rates differ by a thousand or more.

Scope: on an axis from zero the smallest of such rates would look like nothing. A length means nothing on a logarithmic
axis, so that charts draw a point in place of a bar there, and nothing where a value is zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from mileage.report import vega

_WIDE: Final = 1000.0
_ROOM: Final = 1.08


class ValueScale(NamedTuple):
    """A scale of Vega-Lite, where its axis begins, and whether it is logarithmic."""

    scale: vega.Spec
    start: float
    is_log: bool


def value_scale(values: Iterable[float]) -> ValueScale:
    """The scale of an axis that shows these values, none below zero, in the unit of the axis."""
    shown = [value for value in values if value > 0] or [1.0]
    low, high = min(shown), max(shown)
    if high < _WIDE * low:
        return ValueScale(vega.scale(domain=[0, _ROOM * high], nice=False), 0.0, is_log=False)
    start = 10.0 ** math.floor(math.log10(low) - 0.05)
    return ValueScale(
        vega.scale(type="log", domain=[start, 1.3 * high], nice=False, zero=False), start, is_log=True
    )


def log_words(panels: Iterable[Iterable[float]]) -> str:
    """A sentence, after a space, where an axis of the panels with these values is logarithmic; else nothing."""
    if not any(value_scale(values).is_log for values in panels):
        return ""
    return " Rates that differ by a thousand or more have a logarithmic axis, and points in place of bars."
