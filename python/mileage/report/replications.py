"""Two published tests next to the simulated ones, raw tests of drives and the array test of 2009: text and pages.

Scope: rows of tables; for the arrays also bars of the sequential reads over the number of members of each kind, and of
one controller next to two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mileage.judge.standings import CellStandings
from mileage.model.data_sheet import DataSheet, QuotedRate
from mileage.model.published_rate import rate_text
from mileage.model.replications import Memory, RawTables, SimulatedFigure, SimulatedTest
from mileage.report import vega
from mileage.report.quoted_figures import decimal_bytes
from mileage.report.standings import RULE, rank_words
from mileage.report.svg import to_svg
from mileage.report.theme import ARM_COLOURS, INK, SMALL_FONT_SIZE, marks, texts
from mileage.report.wording import plain, quantity

_NONE: Final = ""

Row = tuple[str, ...]

_TESTS: Final = {
    "hdparm -Tt, cached": "hdparm.cached",
    "hdparm -Tt, buffered": "hdparm.buffered",
    "--direct, cached": "hdparm.cached_direct",
    "--direct, buffered": "hdparm.buffered_direct",
    "dd read": "dd.read",
    "dd write": "dd.write",
}
"""Titles of the columns, and the tests."""


def test_rows(simulated: Sequence[SimulatedTest]) -> list[Row]:
    """A head, and for each drive a row of what was published and one of what the simulated drive does, in MB/s."""
    found = {(one.drive, one.test): one for one in simulated}
    rows: list[Row] = [("drive", "MB/s", *_TESTS)]
    for drive in dict.fromkeys(one.drive for one in simulated):
        own = [found[drive, test] for test in _TESTS.values()]
        rows.append((drive, "published", *(f"{one.published:,.0f}" for one in own)))
        rows.append(("", "simulated", *map(_simulated, own)))
    return rows


def test_notes(simulated: Sequence[SimulatedTest]) -> list[str]:
    """What else is printed of the tests: each note with those that it is about."""
    about: dict[str, list[str]] = {}
    for one in simulated:
        if one.note:
            tests = about.setdefault(one.note, [])
            name = one.test if one.test.startswith("hdparm") else f"{one.test} of {one.drive}"
            tests += [] if name in tests else [name]
    return [f"{', '.join(tests)}: {note}." for note, tests in about.items()]


def _simulated(one: SimulatedTest) -> str:
    return f"{one.simulated:,.0f} ({one.simulated / one.published:.2f})"


def specification_rows(sheets: Sequence[DataSheet]) -> list[Row]:
    """A head and a row for each data sheet."""
    head = (
        *("drive", "form factor", "link", "medium", "capacity", "cache"),
        *("sequential read / write", "random read / write", "TBW", "DWPD", "power-loss protection"),
    )
    return [head, *map(_specification, sheets)]


def _specification(sheet: DataSheet) -> Row:
    plp = sheet.power_loss_protection
    return (
        sheet.title,
        str(sheet.form_factor.value) if sheet.form_factor else _NONE,
        sheet.link.value if sheet.link else _NONE,
        sheet.medium.value,
        decimal_bytes(sheet.capacity_bytes.value),
        decimal_bytes(sheet.cache_bytes.value) if sheet.cache_bytes else _NONE,
        _pair(sheet, "sequential"),
        _pair(sheet, "random"),
        f"{sheet.rated_tbw.value:,.4g}" if sheet.rated_tbw else _NONE,
        f"{sheet.rated_dwpd.value:g}" if sheet.rated_dwpd else _NONE,
        _NONE if plp is None else "yes" if plp.value else "no",
    )


def _pair(sheet: DataSheet, order: str) -> str:
    """The highest quoted rates of reads and of writes."""
    texts = [_highest(sheet.rate, f"{order}_{direction}") for direction in ("read", "write")]
    return " / ".join(text or "not stated" for text in texts) if any(texts) else _NONE


def _highest(rates: Sequence[QuotedRate], workload: str) -> str:
    own = [rate for rate in rates if rate.workload == workload and rate.unit != "mean_us"]
    best = max(own, key=lambda rate: rate.value, default=None)
    return "" if best is None else rate_text(best.value, best.unit)


def memory_rows(memories: Sequence[Memory]) -> list[Row]:
    """A head and a row for each kind of memory."""
    rows: list[Row] = [
        ("medium", "P/E cycles", "bits per cell", "seek, us", "read, us", "write, us", "erase, us")
    ]
    for one in memories:
        times = (one.seek_us, one.read_us, one.write_us, one.erase_us)
        rows.append(
            (
                one.medium,
                f"{one.pe_cycles:,}" if one.pe_cycles else _NONE,
                f"{one.bits_per_cell}" if one.bits_per_cell else _NONE,
                *(" to ".join(f"{value:,g}" for value in time) for time in times),
            )
        )
    return rows


def raw_tests_page(tables: RawTables, simulated: Sequence[SimulatedTest], sheets: Sequence[DataSheet]) -> str:
    """Markdown page: raw I/O tests of an article next to the simulated rates, in three tables."""
    parts = [
        "# Raw tests, specifications and memories",
        "Written by `mileage drive raw-tests --page FILE`, which runs the built-in study `qmul-2017` on the modelled "
        "host `hpe-dl60-2gib`: means of three runs, the figures of [published studies]"
        "(published-studies.md#qmul-2017). The speed of a copy, which decides -T, is assumed there.",
        "## Raw tests",
        f"Published: {tables.source}, slide Raw Tests. In brackets: simulated over published.",
        *_markdown(test_rows(simulated)),
        *test_notes(simulated),
        "## Drive specifications",
        "From the data sheets that ship with Mileage: the highest quoted rates. An empty cell is not stated.",
        *_markdown(specification_rows(sheets)),
        "## Memory technologies",
        f"{tables.source}, slide Performance. An empty cell is an operation that the medium does not have.",
        *_markdown(memory_rows(tables.memory)),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown(rows: Sequence[Row]) -> list[str]:
    head, *rest = rows
    lines = [head, ("---",) * len(head), *rest]
    return ["\n".join(f"| {' | '.join(row)} |" for row in lines)]


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
