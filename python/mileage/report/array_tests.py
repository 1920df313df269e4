"""The array test of 2009 next to the simulated one: a table, the ranks of the arrays, and two charts.

Scope: rows of tables; bars of the sequential reads over the number of members of each kind, and of one
controller next to two.
What it refuses: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mileage.judge.standings import CellStandings
from mileage.model.array_tests import SimulatedFigure
from mileage.report import vega
from mileage.report.standings import RULE, rank_words
from mileage.report.svg import to_svg
from mileage.report.theme import ARM_COLOURS, INK, SMALL_FONT_SIZE, marks, texts
from mileage.report.wording import plain, quantity

Row = tuple[str, ...]

KINDS: Final = {"x25e": "X25-E", "sas": "SAS 15k", "sata": "SATA 7.2k"}
"""Kinds of members: how arrays of them are called, and their titles."""
_HEIGHT: Final = 150
_BAR: Final = 0.38
_STEP: Final = 46
CHARTS: Final = ("members", "controllers")


def figure_rows(figures: Sequence[SimulatedFigure]) -> list[Row]:
    """A head, and a row for each published figure."""
    head = ("figure", "published", "simulated", "ratio", "use")
    return [head, *map(_figure, figures)]


def _figure(one: SimulatedFigure) -> Row:
    figure = one.figure
    if figure.unit == "rank":
        simulated = (
            f"{one.simulated:.0f}" if one.simulated == one.last else f"{one.simulated:.0f}-{one.last:.0f}"
        )
        return figure.figure, f"rank {figure.published:.0f}", f"rank {simulated}", "", figure.use
    unit, digits = (" MB/s", ",.1f") if figure.unit == "MB/s" else ("", ".2f")
    published = f"{figure.published:,.3f}".rstrip("0").rstrip(".")
    return (
        figure.figure,
        f"{published}{unit}",
        f"{one.simulated:{digits}}{unit}",
        f"{one.ratio:.2f}",
        figure.use,
    )


def rank_rows(cell: CellStandings) -> list[Row]:
    """A head and a row for each array, the fastest first; arrays that do not differ share ranks."""
    rows = [
        (
            rank_words(place),
            place.level,
            plain(quantity(cell.metric, place.mean)),
            f"{100 * place.share_of_best:.1f} %",
        )
        for place in cell.places
    ]
    return [("rank", "array", "mean", "of best"), *rows]


def array_tests_page(
    figures: Sequence[SimulatedFigure], ranks: Sequence[CellStandings], charts: Mapping[str, str]
) -> str:
    """Everything as Markdown; `charts`: the file of each chart."""
    parts = [
        "# The array test of 2009",
        "Written by `mileage drive array-tests --page FILE`, which runs the built-in study `anandtech-2009`: IOMeter"
        " reads 20 GB in order from arrays of X25-E, SAS and SATA members, and its database and file server"
        " specifications run on the same arrays. Published: J. De Gelas, Solid State Drives in the Enterprise,"
        " AnandTech, March 2009.",
        "An array is called by the kind and number of its members; `4_4` and `8_8` are two controllers.",
        "## Published and simulated",
        "*Fitted* figures follow from a figure of the arrays that was chosen for them, *predicted* ones do not. The"
        " list was made before the first run.",
        *_markdown(figure_rows(figures)),
        *_MISSES,
        "## Reads in order",
        *(f"![{_ALT[name]}]({file})" for name, file in charts.items()),
        "## Ranks",
        RULE,
    ]
    for cell in ranks:
        parts += [f"### {cell.cell}", *_markdown(rank_rows(cell))]
    return "\n\n".join(parts) + "\n"


_ALT: Final = {
    "members": "Rate of reads in order over the number of members, by kind of member",
    "controllers": "Rate of reads in order on one controller and on two",
}
_MISSES: Final = (
    "4 + 4 X25-E reach twice the limit of one controller here. The article's 1,200 MB/s mean another limit that both"
    " cards share (chipset, host bus, or the benchmark), of which nothing is published; `host_mb_per_s` of the outer"
    " array is such a limit. It is not set, because it could only be fitted to this very figure.",
    "16 SAS disks are ranked here, and are faster than 16 SATA disks. The article prints no rate of them; if it did"
    " not test them, the SATA disks are first here, too.",
    "Not simulated, because no array produces it: capacities and their ratios, prices, the size of the file (an input),"
    " and what readers wrote about other drives and file systems.",
)


def _markdown(rows: Sequence[Row]) -> list[str]:
    head, *rest = rows
    lines = [head, ("---",) * len(head), *rest]
    return ["\n".join(f"| {' | '.join(row)} |" for row in lines)]


def charts_svg(mb_per_s: Mapping[str, float]) -> dict[str, str]:
    """Each chart as an SVG document, from the rates of the arrays in MB/s."""
    highest = max(mb_per_s.values())
    by_number = {
        title: [
            (str(number), mb_per_s[name])
            for number in (1, 2, 4, 8, 16)
            if (name := _array(kind, number)) in mb_per_s
        ]
        for kind, title in KINDS.items()
    }
    pairs = {
        "8 X25-E": [("one", mb_per_s["x25e_8"]), ("two", mb_per_s["x25e_4_4"])],
        "SAS 15k": [("8 on one", mb_per_s["sas_8"]), ("16 on two", mb_per_s["sas_8_8"])],
        "SATA 7.2k": [("8 on one", mb_per_s["sata_8"]), ("16 on two", mb_per_s["sata_8_8"])],
    }
    return {
        "members": _chart("members", by_number, "members; 16 are on two controllers", highest),
        "controllers": _chart("controllers", pairs, "controllers", highest),
    }


def _array(kind: str, number: int) -> str:
    return f"{kind}_8_8" if number == 16 else f"{kind}_{number}"


def _chart(name: str, groups: Mapping[str, Sequence[tuple[str, float]]], title: str, highest: float) -> str:
    panels = [
        _panel(group, bars, title, highest, ARM_COLOURS[at + 1])
        for at, (group, bars) in enumerate(groups.items())
    ]
    described = "; ".join(
        f"{group}: " + ", ".join(f"{words} {value:,.0f} MB/s" for words, value in bars)
        for group, bars in groups.items()
    )
    chart = vega.whole(vega.grid(panels, columns=len(panels), spacing=30))
    return to_svg(chart, name=f"arrays-{name}", title=_ALT[name], description=described)


def _panel(
    group: str, bars: Sequence[tuple[str, float]], title: str, highest: float, colour: str
) -> vega.Spec:
    rows: list[dict[str, Any]] = [
        {
            "x": at,
            "left": at - _BAR,
            "right": at + _BAR,
            "zero": 0,
            "value": value,
            "words": f"{value:,.0f}",
            "under": words,
            "label": f"{group}, {words}: {value:,.0f} MB/s",
        }
        for at, (words, value) in enumerate(bars)
    ]
    x_scale = vega.scale(domain=[-0.5, max(len(rows), 2) - 0.5], nice=False, zero=False)
    y_scale = vega.scale(domain=[0, 1.12 * highest], nice=False)
    y = vega.channel("value:Q", scale=y_scale, axis=vega.axis(title="MB/s", tickCount=4))
    x = vega.channel(
        "x:Q", scale=x_scale, axis=vega.axis(title=title, labels=False, ticks=False, titlePadding=20)
    )
    drawn = marks(rows).mark("rect", color=colour)
    drawn = drawn.encode(
        x=vega.channel(
            "left:Q", scale=x_scale, axis=vega.axis(title=title, labels=False, ticks=False, titlePadding=20)
        ),
        x2="right:Q",
        y=y,
        y2="zero:Q",
        description="label:N",
    )
    above = texts(rows, fontSize=SMALL_FONT_SIZE, color=INK, dy=-8).encode(x=x, y=y, text="words:N")
    below = texts(rows, fontSize=SMALL_FONT_SIZE, color=INK, dy=10).encode(
        x=x, y=vega.channel("zero:Q", scale=y_scale), text="under:N"
    )
    width = max(_STEP * len(rows), 2 * _STEP + 40)
    return vega.layered([drawn, above, below], width=width, height=_HEIGHT, title=vega.titled(group))
