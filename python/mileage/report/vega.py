"""Charts as Vega-Lite has them: marks on rows, layers of marks, panels side by side or above each other.

Scope: a chart's definition as the plain JSON that the renderer takes, so that making it is cheap next to drawing it:
a library of schema objects copies every layer and its rows several times over. Whoever adds a mark or an option is
held to Vega-Lite's schema by the tests. Names of fields and options go into the chart
unchecked, and the rows of data hold only values to be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Spec = dict[str, Any]
"""A part of a chart's definition."""

SCHEMA: Final = "6.4"
"""The version of Vega-Lite that the charts are written in."""
_TYPES: Final = {"Q": "quantitative", "N": "nominal"}
_BELOW: Final = ("layer", "concat", "vconcat")
_APART_PX: Final = 6
_UNTYPED: Final = ("x2", "y2")
"""Channels that take the type of the channel that they belong to."""


class Marks:
    """One layer: rows, the mark that shows them and the channels that place it; each method gives another one."""

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], mark: Spec | None = None, encoding: Spec | None = None
    ) -> None:
        self._rows = rows
        self._mark = mark or {}
        self._encoding = encoding or {}

    def mark(self, kind: str, **style: Any) -> Marks:
        """Shown as `kind` of Vega-Lite's marks: "rect", "rule", "line", "point", "tick", "text"."""
        return Marks(self._rows, {"type": kind, **style}, self._encoding)

    def encode(self, **channels: str | Spec) -> Marks:
        """Add Vega-Lite channels to the marks; a text is the name of a field with its type, such as "x:Q"."""
        made = {
            name: _channel(name, given) if isinstance(given, str) else given
            for name, given in channels.items()
        }
        return Marks(self._rows, self._mark, self._encoding | made)

    def spec(self) -> Spec:
        """The chart as a Vega-Lite specification."""
        return {"data": {"values": self._rows}, "mark": self._mark, "encoding": self._encoding}


def channel(field: str, **options: Any) -> Spec:
    """A channel with options, `field` as "x:Q" (a quantity) or "x:N" (a name). None is an option's value, too."""
    return {**_channel("", field), **options}


def value(constant: float | str) -> Spec:
    """A channel that is the same for all rows, in pixels or as a colour."""
    return {"value": constant}


def scale(**options: Any) -> Spec:
    """A channel's scale."""
    return options


def axis(**options: Any) -> Spec:
    """A channel's axis. Its labels keep a distance and their places, which the renderer's configuration cannot say."""
    return {"labelSeparation": _APART_PX, "labelFlush": False, **options}


def titled(words: str | Sequence[str], **options: Any) -> Spec:
    """The title of a panel, in one line or several."""
    return {"text": words, **options}


def layered(layers: Sequence[Marks], *, width: float, height: float, title: Spec | None = None) -> Spec:
    """One panel: layers over each other, the first one lowest, `width` and `height` in pixels."""
    heading = {} if title is None else {"title": title}
    return {"layer": [layer.spec() for layer in layers], "width": width, "height": height, **heading}


def stacked(panels: Sequence[Spec], *, spacing: float) -> Spec:
    """Panels above each other, `spacing` pixels apart."""
    return {"vconcat": list(panels), "spacing": spacing}


def grid(panels: Sequence[Spec], *, columns: int, own_scales: bool = False, **options: Any) -> Spec:
    """Panels in rows of `columns`; `own_scales`: none shares the names on its axes with another."""
    resolve = {"resolve": {"scale": {"x": "independent", "y": "independent"}}} if own_scales else {}
    return {"concat": list(panels), "columns": columns, **options, **resolve}


def whole(chart: Spec) -> Spec:
    """The definition to be drawn: rows that several layers show stand in it once."""
    named: dict[int, str] = {}
    rows: dict[str, Sequence[Mapping[str, Any]]] = {}

    def parted(part: Spec) -> Spec:
        if "data" in part:
            values = part["data"]["values"]
            name = named.setdefault(id(values), f"rows-{len(named)}")
            rows[name] = values
            return {**part, "data": {"name": name}}
        below = [key for key in _BELOW if key in part]
        inner: Spec = {key: [parted(one) for one in part[key]] for key in below}
        return {**part, **inner}

    made = parted(chart)
    return {**made, "datasets": rows}


def _channel(name: str, given: str) -> Spec:
    field, _, kind = given.partition(":")
    typed = {} if name in _UNTYPED else {"type": _TYPES[kind]}
    return {"field": field, **typed}
