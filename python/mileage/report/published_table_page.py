"""A published table judged again, as a page: a figure for each test, the printed tables, and the rule of the error bar.

Scope: the figures and tables that an article prints of such data: a chart per test with the printed difference as a bar
and the printed standard deviation as its whisker, tables with a row per size and setting and a column per test. Names
come from strangers: they are cleaned, the template escapes them, and a content policy forbids all loading.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final, NamedTuple

import msgspec

from mileage.judge.published_differences import (
    PublishedCell,
    PublishedVerdict,
    Reanalysis,
    loss_margin_percent,
)
from mileage.judge.rules import barely
from mileage.report.aspects import file_name
from mileage.report.change_grid import Field, change_charts
from mileage.report.dark_mode import night_style
from mileage.report.difference_tables import PrintedTable
from mileage.report.figures import write_pictures
from mileage.report.gallery import Picture
from mileage.report.html import templates
from mileage.report.published_table_text import counts_rows, sentence_of
from mileage.report.render_pool import svg_of
from mileage.report.view import cleaned_text
from mileage.report.wording import BARELY, VERDICT_GLYPHS, barely_reasons, p_value, plain
from mileage.store.safe_directory import Directory
from mileage.store.text_cells import csv_text

_PARTS: Final = {
    "differences_write": "Write tests",
    "differences_read": "Read tests",
    "differences_iops": "IOPS",
    "differences_other": "Other tests",
}
_CAPTION: Final = (
    "Bar: printed difference in percent of the baseline's mean; whisker: the printed standard deviation, which is a "
    "spread of runs and no interval; shaded: too small to matter ({margin:g} %). Every panel has an axis of its own."
)


class JudgedRow(NamedTuple):
    """One printed cell: its verdict where both arms have the same spread, and the reading of its error bar."""

    cell: PublishedCell
    verdict: PublishedVerdict
    own_rule: str
    barely: str


class PublishedRow(NamedTuple):
    """A row of the table of all cells, as texts."""

    name: str
    difference: str
    rule: str
    interval: str
    p: str
    glyph: str
    verdict: str
    barely: str


def cleaned_reanalysis(found: Reanalysis) -> Reanalysis:
    """A copy with control characters in names shown as escapes."""

    def clean(cell: PublishedCell) -> PublishedCell:
        return msgspec.structs.replace(cell, keys=tuple(map(cleaned_text, cell.keys)))

    highlights = [
        msgspec.structs.replace(own, test=cleaned_text(own.test), cell=clean(own.cell))
        for own in found.highlights
    ]
    disagreements = [
        msgspec.structs.replace(
            own, cell=clean(own.cell), other=clean(own.other), elsewhere=tuple(map(clean, own.elsewhere))
        )
        for own in found.disagreements
    ]
    return msgspec.structs.replace(
        found,
        columns=tuple(map(cleaned_text, found.columns)),
        cells=tuple(map(clean, found.cells)),
        highlights=tuple(highlights),
        disagreements=tuple(disagreements),
    )


def judged_rows(found: Reanalysis) -> list[JudgedRow]:
    """The cells in the order of the table."""
    return [
        JudgedRow(cell, verdict, rule, _barely(cell, verdict, found.margin_percent))
        for cell, verdict, rule in zip(found.cells, found.assumptions[0].cells, found.own_rule, strict=True)
    ]


def _barely(cell: PublishedCell, verdict: PublishedVerdict, margin: float) -> str:
    if verdict.verdict not in ("faster", "slower"):
        return ""
    side = margin if cell.difference_percent > 0 else loss_margin_percent(margin)
    return barely_reasons(barely(cell.difference_percent, verdict.ci95_percent, side, cell.sd_percent))


def published_pictures(found: Reanalysis) -> list[Picture]:
    """A chart for each test, named as the test."""
    tests: dict[str, list[JudgedRow]] = {}
    for row in judged_rows(found):
        tests.setdefault(row.cell.keys[0], []).append(row)
    caption = _CAPTION.format(margin=found.margin_percent)
    drawn: list[tuple[str, Future[str]]] = []
    for test, rows in tests.items():
        across, groups = _axes(found.columns, [row.cell for row in rows])
        fields = [_field(row, test, found, across, groups) for row in rows]
        row_name, column_name = (" and ".join(found.columns[at] for at in axes) for axes in (across, groups))
        chart = change_charts(fields, row=row_name.replace("_", " "), column=column_name.replace("_", " "))
        name = file_name(test) or "test"
        while any(name == other[0] for other in drawn):
            name = f"{name}_2"
        svg = svg_of(
            chart[test], name=f"test-{name.replace('_', '-')}", title=f"{test}: differences in percent",
            description=plain(caption),
        )  # fmt: skip
        drawn.append((name, svg))
    return [Picture(name, svg.result(), caption) for name, svg in drawn]


def _axes(columns: Sequence[str], cells: Sequence[PublishedCell]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Choose the keys for the horizontal axis and for the groups of bars; keys that all cells share are omitted."""
    varied = [at for at in range(1, len(columns)) if len({cell.keys[at] for cell in cells}) > 1]
    return tuple(varied[:1]), tuple(varied[1:])


def _field(
    row: JudgedRow, test: str, found: Reanalysis, across: Sequence[int], groups: Sequence[int]
) -> Field:
    cell, margin = row.cell, found.margin_percent
    ratio, spread = 1 + cell.difference_percent / 100, cell.sd_percent / 100
    title = f"{' '.join(cell.keys)}: {_pair(cell)}, {row.verdict.verdict}"
    level, group = (" ".join(cell.keys[at] for at in axes) for axes in (across, groups))
    glyph = VERDICT_GLYPHS[row.verdict.verdict]
    return Field(test, level, group, ratio, ratio, ratio - spread, ratio + spread, glyph, title, margin / 100)


def part_of(test: str) -> str:
    """The table that a test is printed in: tests of writing, of reading, of operations per second, or others."""
    last = test.rpartition(".")[2].lower()
    if "iops" in last:
        return "differences_iops"
    verb = next((verb for verb in ("write", "read") if last.endswith(verb)), "other")
    return f"differences_{verb}"


def _parts(found: Reanalysis) -> dict[str, list[JudgedRow]]:
    parts: dict[str, list[JudgedRow]] = {name: [] for name in _PARTS}
    for row in judged_rows(found):
        parts[part_of(row.cell.keys[0])].append(row)
    return {name: rows for name, rows in parts.items() if rows}


def _printed(name: str, rows: Sequence[JudgedRow]) -> PrintedTable:
    """The table as it is printed: a row per size and setting, a column per test."""
    tests = list(dict.fromkeys(row.cell.keys[0] for row in rows))
    lines: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        line = lines.setdefault(row.cell.keys[1:], [""] * len(tests))
        mark = " barely" if row.barely else ""
        line[tests.index(row.cell.keys[0])] = f"{VERDICT_GLYPHS[row.verdict.verdict]} {_pair(row.cell)}{mark}"
    return PrintedTable(
        _PARTS[name], tests, [(", ".join(keys) or "all", texts) for keys, texts in lines.items()]
    )


def _pair(cell: PublishedCell) -> str:
    return f"{cell.difference_percent:+.2f} ± {cell.sd_percent:.2f}"


def differences_csv(columns: Sequence[str], rows: Sequence[JudgedRow]) -> str:
    """CSV text with a header: what is printed of each cell, what its error bar says, and the verdict."""
    lines = []
    for row in rows:
        low, high = row.verdict.ci95_percent
        printed = (row.cell.difference_percent, row.cell.sd_percent, row.own_rule)
        judged = (low, high, row.verdict.p_raw, row.verdict.p_bh, row.verdict.verdict, row.barely)
        lines.append((*row.cell.keys, *printed, *judged))
    heads = ("difference_percent", "sd_percent", "rule_error_bar", "ci95_low_percent", "ci95_high_percent")
    return csv_text((*columns, *heads, "p_raw", "p_bh", "verdict", "barely"), lines)


def write_published(found: Reanalysis, name: str, folder: Directory, *, drawn: bool) -> None:
    """Write the page, a figure for each test as SVG and PNG, and the tables as CSV. `name`: of the table's file."""
    found = cleaned_reanalysis(found)
    name = cleaned_text(name)
    for part, rows in _parts(found).items():
        folder.write(f"tables/{part}.csv", differences_csv(found.columns, rows).encode())
    pictures = published_pictures(found) if drawn else []
    if pictures:
        write_pictures(pictures, name, folder, verdict=sentence_of(found))
    folder.write("report.html", render_published(found, name, pictures).encode())


def render_published(found: Reanalysis, name: str, pictures: Sequence[Picture]) -> str:
    """The whole page as text, to be stored as UTF-8; `found` and `name` are cleaned."""
    from markupsafe import Markup

    rows = judged_rows(found)
    first, _, rest = sentence_of(found).partition("; ")
    return (
        templates()
        .get_template("published.html.j2")
        .render(
            name=name,
            sentence=(f"{first}.", f"{rest[:1].upper()}{rest[1:]}"),
            counts=counts_rows(found),
            runs=found.runs,
            margin=f"{found.margin_percent:g}",
            loss_margin=f"{loss_margin_percent(found.margin_percent):.4g}",
            pictures=[(picture.name, Markup(picture.svg)) for picture in pictures],
            caption=_CAPTION.format(margin=found.margin_percent),
            tables=[_printed(part, own) for part, own in _parts(found).items()],
            highlights=_highlights(found),
            disagreements=[
                (" ".join(d.cell.keys), _pair(d.cell), _pair(d.other), "; ".join(" ".join(c.keys) for c in d.elsewhere))
                for d in found.disagreements
            ],
            rows=[_row(row) for row in rows],
            barely=BARELY,
            night=Markup(night_style()),
        )
    )  # fmt: skip


def _highlights(found: Reanalysis) -> list[tuple[str, str, str, str]]:
    return [(h.test, h.case, " ".join(h.cell.keys[1:]), f"{_pair(h.cell)} %") for h in found.highlights]


def _row(row: JudgedRow) -> PublishedRow:
    low, high = row.verdict.ci95_percent
    verdict = row.verdict.verdict
    return PublishedRow(
        " ".join(row.cell.keys),
        _pair(row.cell),
        row.own_rule,
        f"{low:+.2f} to {high:+.2f}",
        p_value(row.verdict.p_bh),
        VERDICT_GLYPHS[verdict],
        verdict,
        row.barely,
    )
