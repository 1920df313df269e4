"""Text and page with the results of another tool.

Scope: the figures of each cell as the tool gives them: geometric means of its runs, "-" where it does not say; how far
they can be trusted, as far as the files say; and what in the files was not understood. Names come from strangers: they
are cleaned, the template escapes them, and a content policy forbids all loading.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mileage.judge import Summary, summarise
from mileage.model.metrics import QUANTILES
from mileage.report.aspects import MOST_TESTS
from mileage.report.cell_estimates import (
    METHOD,
    estimate_columns,
    estimate_row,
    half_width,
    is_wide,
    partial_words,
    point,
    rate_of,
)
from mileage.report.chart_data import Layout, LevelRuns, RateCurve
from mileage.report.dark_mode import night_style
from mileage.report.gallery import NARROW, NARROW_WIDTH, Picture
from mileage.report.html import grouped_checks, templates
from mileage.report.ior_layout_chart import layout_chart, layout_names, layout_title, layout_words
from mileage.report.level_charts import NARROW_BARS, levels_chart
from mileage.report.measurement_text import ROWS_SHOWN, answer
from mileage.report.quantity import column_width, duration, figure, mb_per_s, mib_per_s
from mileage.report.rate_curves import MOST_BARS, curve_pictures
from mileage.report.render_pool import svg_of
from mileage.report.value_axis import log_words
from mileage.report.view import ValidityCheck, cleaned_text
from mileage.report.wording import CHECK_GLYPHS, counted, passed_line, plain, shortened
from mileage.store.safe_directory import Directory
from mileage.store.text_cells import csv_text
from mileage.terminal import columns_of, cut, padded

UNREAD_SHOWN: Final = 20
"""Lines of a file that the terminal names."""
_WIDE: Final = (
    "±: half the 95 % interval of the mean, or, where half of it is more than the mean, the interval itself in MiB/s "
    "(in IOPS without bytes, as a time without both)."
)
_OF_COMMITS: Final = {
    row.word.replace("_", " "): row for row in QUANTILES.values() if row.latency != "judged"
}
"""Heads of the quantiles of commits and syncs."""
_HEADS: Final = ("runs", "MiB/s", "MB/s", "±", "IOPS", "time", "mean", "p50", "p99", "max", *_OF_COMMITS)
_WIDTHS: Final = (5, 8, 8, 7, 9, 8, 8, 8, 8, 8, *(len(head) + 2 for head in _OF_COMMITS))
_FIRST: Final = ("seal", "runs", "errors", "files", "Little's law", "memory", "steady state", "run order")
"""Checks that stand before the figures when they warn: what the figures are of is in question."""
_FILE_LENGTH: Final = 40
"""Characters of a file's path in the terminal's list."""
_NAMES_PX: Final = 300
"""Characters of a cell's name next to its bar."""
_MEAN: Final = _HEADS.index("mean")


class ReportedCell(msgspec.Struct, frozen=True):
    """All runs of one cell; each tuple omits runs without that figure."""

    cell: str
    title: str
    runs: int
    rate_bytes_per_s: tuple[float, ...]
    ops_per_s: tuple[float, ...]
    elapsed_s: tuple[float, ...]
    quantiles_ns: dict[str, tuple[float, ...]]
    """`mean`, `min`, `p50`, `p90`, `p99`, `p99_9`, `max`, of each run that has them."""
    latencies_ns: dict[str, tuple[float, ...]] = {}
    """Quantiles of commits and syncs, by the names in `model.metrics`, of each run that has them."""
    failed: int = 0
    """Runs that failed, so that their figures are those of a part of the work, or missing."""


class UnreadLine(msgspec.Struct, frozen=True):
    """A line that was not understood."""

    file: str
    line: int
    text: str
    why: str


class ReportedFile(msgspec.Struct, frozen=True):
    """One file, with the number of its runs and its faults in words; empty: all of it was understood."""

    file: str
    layout: str
    runs: int
    faults: str = ""


class ImportedPage(msgspec.Struct, frozen=True, kw_only=True):
    """Content of the page of an imported study."""

    name: str
    tool: str
    cells: tuple[ReportedCell, ...]
    trust: tuple[ValidityCheck, ...]
    notes: tuple[str, ...]
    identity: dict[str, str]
    lost: tuple[str, ...]
    unread: tuple[UnreadLine, ...]
    files: tuple[ReportedFile, ...] = ()
    curves: tuple[RateCurve, ...] = ()
    layouts: tuple[Layout, ...] = ()
    """The file layouts that IOR reports."""


def imported_text(page: ImportedPage, width: int = 80, *, verbose: bool = False) -> str:
    """The figures, a line for each file, and what is wrong, in lines of `width` columns or little more.

    `verbose`: the passed checks as well, and the seal.
    """
    lines = textwrap.wrap(f"{cleaned_text(page.name)}: {_runs(page)} that {page.tool} reported", width)
    first, rest = _split_checks(page.trust)
    lines += ["", *_check_lines(first, width)] if first else []
    if found := _answer(page.cells):
        lines += ["", *textwrap.wrap(cleaned_text(found), width)]
    lines += ["", *_table(page.cells[:ROWS_SHOWN], width)]
    if len(page.cells) > ROWS_SHOWN:
        words = f"and {len(page.cells) - ROWS_SHOWN} more cells; the page and tables/imported.csv have all"
        lines += textwrap.wrap(words, width)
    lines.append("")
    if words := _method_words(page.cells):
        lines += [*textwrap.wrap(words, width), ""]
    lines += _file_lines(page.files, width)
    shown = [check for check in rest if verbose or check.state != "ok"]
    lines += _check_lines(shown, width)
    lines += [passed_line(len(rest) - len(shown))] if len(shown) < len(rest) else []
    for note in page.notes:
        lines += textwrap.wrap(cleaned_text(note), width, initial_indent="note: ", subsequent_indent="      ")
    for text in page.lost:
        lines += textwrap.wrap(cleaned_text(text), width, initial_indent="lost: ", subsequent_indent="      ")
    lines += unread_lines(page.unread)
    seal = page.identity.get("seal", "")
    if seal and (verbose or seal.startswith("none")):
        lines += ["", *textwrap.wrap(f"seal: {seal}", width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _answer(cells: Sequence[ReportedCell]) -> str:
    """What commits or syncs take, where the files say so, and then the rates."""
    found = []
    for row in _OF_COMMITS.values():
        times = {cell.cell: summarise(cell.latencies_ns.get(row.figure, ())).geometric_mean for cell in cells}
        known = sorted((time_ns, name) for name, time_ns in times.items() if time_ns is not None)
        if known:
            low, high = (f"{duration(time_ns)} at {name}" for time_ns, name in (known[0], known[-1]))
            found.append(f"the {row.title} is {low}" + (f", up to {high}" if len(known) > 1 else ""))
    first = "; ".join(found)
    return " ".join(filter(None, (f"T{first[1:]}." if first else "", answer(cells))))


def _file_lines(files: Sequence[ReportedFile], width: int) -> list[str]:
    """A line for each of several files; the faults of one file have room in the list of lines below."""
    if len(files) < 2:
        return []
    names = [shortened(cleaned_text(own.file), _FILE_LENGTH) for own in files]
    name_width = max(map(columns_of, names))
    return [
        *(
            cut(f"{padded(name, name_width)}  {counted(own.runs, 'run')} of {own.layout}{_fault(own)}", width)
            for name, own in zip(names, files, strict=True)
        ),
        "",
    ]


def _fault(own: ReportedFile) -> str:
    return f"; {cleaned_text(own.faults)}" if own.faults else ""


def _method_words(cells: Sequence[ReportedCell]) -> str:
    """What the figures of the table are, where a cell has several runs or lacks an estimate."""
    parts = [f"Figures are {METHOD}."] if any(cell.runs > 1 for cell in cells) else []
    parts += [_WIDE] if any(is_wide(_headline(cell)) for cell in cells) else []
    # The first sentence has them already where the cells have rates.
    named = ((cleaned_text(cell.cell), _headline(cell)) for cell in cells)
    return " ".join(filter(None, (*parts, "" if answer(cells) else partial_words(named))))


def _split_checks(trust: Sequence[ValidityCheck]) -> tuple[list[ValidityCheck], list[ValidityCheck]]:
    """The checks that question what the figures are of, which are read before them, and all others."""
    first = [check for check in trust if check.name in _FIRST and check.state in ("warn", "bad")]
    return first, [check for check in trust if check not in first]


def _check_lines(checks: Sequence[ValidityCheck], width: int) -> list[str]:
    lines = []
    for check in checks:
        head = f"[{plain(CHECK_GLYPHS[check.state])}] {check.name:<14}  "
        lines += textwrap.wrap(check.text, width, initial_indent=head, subsequent_indent=" " * len(head))
    return lines


def unread_lines(unread: tuple[UnreadLine, ...]) -> list[str]:
    """The lines that were not understood, by file and number; the first of many."""
    if not unread:
        return []
    lines = [f"not understood: {len(unread)} line{'s' if len(unread) != 1 else ''}"]
    for entry in unread[:UNREAD_SHOWN]:
        shown = cleaned_text(f"{entry.text!r}: {entry.why}" if entry.text else entry.why)
        lines.append(f"  {cleaned_text(entry.file)}:{entry.line}: {shown}")
    if len(unread) > UNREAD_SHOWN:
        lines.append(f"  and {len(unread) - UNREAD_SHOWN} more; all are in the journal of the folder")
    return lines


def _runs(page: ImportedPage) -> str:
    total = sum(cell.runs for cell in page.cells)
    return f"{total} run{'s' if total != 1 else ''} of {len(page.cells)} cell{'s' if len(page.cells) != 1 else ''}"


def _table(cells: tuple[ReportedCell, ...], width: int) -> list[str]:
    rows = [_figures(cell) for cell in cells]
    columns = _columns(rows)
    # Omit the column of the mean where a median is known, which describes a typical operation better.
    columns = [at for at in columns if at != _MEAN or all(row[_MEAN + 1] == "-" for row in rows)]
    widths = {at: column_width(_WIDTHS[at], [row[at] for row in rows]) for at in columns}
    room = width - sum(widths.values())
    longest = max((len(cleaned_text(cell.cell)) for cell in cells), default=0)
    fits = longest <= room
    first = min(longest, room) if fits else 2
    lines = [" " * first + "".join(f"{_HEADS[at]:>{widths[at]}}" for at in columns)]
    lines.append("-" * len(lines[0]))
    for cell, row in zip(cells, rows, strict=True):
        figures = "".join(f"{row[at]:>{widths[at]}}" for at in columns)
        name = cleaned_text(cell.cell)
        lines += [f"{name:<{first}}{figures}"] if fits else [name, " " * first + figures]
    return lines


def _columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns that any cell has a figure for, and that of the runs."""
    return [at for at in range(len(_HEADS)) if at == 0 or any(row[at] != "-" for row in rows)]


def _figures(cell: ReportedCell) -> list[str]:
    """The texts of a cell, in the order of `_HEADS`."""
    times_s = _times_s(cell)
    words = mib_per_s if cell.rate_bytes_per_s else _seconds if times_s else figure
    return [
        str(cell.runs),
        point(rate_of(cell, "rate_bytes_per_s"), mib_per_s),
        point(rate_of(cell, "rate_bytes_per_s"), mb_per_s),
        half_width(_headline(cell), words),
        point(rate_of(cell, "ops_per_s"), figure),
        point(summarise(times_s), _seconds),
        *(
            point(summarise(cell.quantiles_ns.get(name, ())), duration)
            for name in ("mean", "p50", "p99", "max")
        ),
        *(point(summarise(cell.latencies_ns.get(row.figure, ())), duration) for row in _OF_COMMITS.values()),
    ]


def _headline(cell: ReportedCell) -> Summary:
    """The figures whose spread is shown."""
    if cell.rate_bytes_per_s or cell.ops_per_s:
        return rate_of(cell, "rate_bytes_per_s" if cell.rate_bytes_per_s else "ops_per_s")
    return summarise(_times_s(cell), failed=cell.failed)


def _times_s(cell: ReportedCell) -> tuple[float, ...]:
    """The times of a test that has nothing else: next to a rate or a latency a time is only how long a run was."""
    other = cell.rate_bytes_per_s or cell.ops_per_s or cell.quantiles_ns
    return () if other else cell.elapsed_s


def _seconds(time_s: float) -> str:
    return duration(1e9 * time_s)


def imported_csv(cells: tuple[ReportedCell, ...]) -> str:
    """CSV text with a header: one row per cell, units in the names; empty: not said.

    Figures are geometric means of the runs; rates have their interval, the median with its own, and the pooled rate
    next to them.
    """
    names = ("mean", "min", "p50", "p90", "p99", "p99_9", "max")
    bytes_head, ops_head = estimate_columns("rate", "bytes_per_s"), estimate_columns("ops", "per_s")
    of_commits = [row.figure for row in _OF_COMMITS.values()]
    rows = []
    for cell in cells:
        rates = (*estimate_row(rate_of(cell, "rate_bytes_per_s")), *estimate_row(rate_of(cell, "ops_per_s")))
        others = [
            cell.elapsed_s,
            *(cell.quantiles_ns.get(name, ()) for name in names),
            *(cell.latencies_ns.get(name, ()) for name in of_commits),
        ]
        means = (summarise(values).geometric_mean for values in others)
        rows.append((cell.cell, cell.runs, *rates, *means, cell.failed))
    head = ("cell", "runs", *bytes_head, *ops_head, "elapsed_s")
    return csv_text((*head, *(f"latency_{name}_ns" for name in names), *of_commits, "failed"), rows)


def write_imported(page: ImportedPage, folder: Directory, *, drawn: bool) -> None:
    """Write the page and `tables/imported.csv`. With `drawn` False the page has no pictures."""
    folder.write("tables/imported.csv", imported_csv(page.cells).encode())
    folder.write("report.html", render_imported(page, drawn=drawn).encode())


def imported_pictures(page: ImportedPage) -> list[Picture]:
    """The rate of each cell as a bar with its runs as dots; of many cells, each test's rates over its sizes."""
    if len(page.cells) > MOST_BARS and page.curves:
        return curve_pictures(page.curves)
    cells = page.cells
    drawn = []
    for name, metric, values in (
        (
            "rates",
            "rate_bytes_per_s",
            {c.cell: list(c.rate_bytes_per_s) for c in cells if any(c.rate_bytes_per_s)},
        ),
        (
            "operations",
            "ops_per_s",
            {c.cell: list(c.ops_per_s) for c in cells if not any(c.rate_bytes_per_s)},
        ),
    ):
        first = {cleaned_text(cell): own for cell, own in list(values.items())[:MOST_BARS] if any(own)}
        some = f"The first {MOST_BARS} of {len(values)} cells. " if len(values) > MOST_BARS else ""
        words = f"{some}Bar: geometric mean of the runs; dot: one run. No interval is drawn."
        words += log_words([[value for own in first.values() for value in own]])
        layouts: tuple[tuple[str, dict[str, Any]], ...] = (
            ("", {"names_px": _NAMES_PX}),
            (NARROW, {"width": NARROW_BARS}),
        )
        for ending, sizes in layouts:
            panel = LevelRuns(cell="Rate", metric=metric, levels=first)
            chart = levels_chart([panel], baseline="", factor="cell", **sizes)
            if chart is not None:
                at = f"{name}{ending}"
                svg = svg_of(chart, name=at.replace("_", "-"), title="Rate of each cell", description=words)
                drawn.append((at, svg, words))
    return [Picture(name, svg.result(), words) for name, svg, words in drawn]


def layout_pictures(layouts: Sequence[Layout]) -> list[Picture]:
    """The file layouts that IOR reports, the first of many, each in two widths."""
    drawn = []
    cleaned = [msgspec.structs.replace(own, name=cleaned_text(own.name)) for own in layouts[:MOST_TESTS]]
    for name, layout in layout_names(cleaned).items():
        for ending, sizes in (("", {}), (NARROW, {"width": NARROW_WIDTH})):
            at, words = f"{name}{ending}", layout_words(layout)
            svg = svg_of(
                layout_chart(layout, **sizes),
                name=at.replace("_", "-"),
                title=layout_title(layout),
                description=words,
            )
            drawn.append((at, svg, words))
    return [Picture(name, svg.result(), words) for name, svg, words in drawn]


def render_imported(page: ImportedPage, *, drawn: bool = True) -> str:
    """The whole page as text, to be stored as UTF-8. With `drawn` False it has no pictures."""
    from markupsafe import Markup

    pictures = imported_pictures(page) if drawn else []
    layouts = layout_pictures(page.layouts) if drawn else []
    first, rest = _split_checks(page.trust)
    rows = [_figures(cell) for cell in page.cells]
    columns = _columns(rows)
    return (
        templates()
        .get_template("imported.html.j2")
        .render(
            page=page,
            runs=_runs(page),
            answer=cleaned_text(_answer(page.cells)),
            method=_method_words(page.cells),
            heads=[_HEADS[at] for at in columns],
            rows=[
                (cleaned_text(cell.cell), [figures[at] for at in columns])
                for cell, figures in zip(page.cells, rows, strict=True)
            ],
            first_checks=first,
            grouped_checks=grouped_checks(rest),
            night=Markup(night_style()),
            drawings={picture.name: Markup(picture.svg) for picture in pictures + layouts},
            shown=[(p.name, p.caption) for p in pictures if not p.name.endswith(NARROW)],
            layouts=[(p.name, p.caption) for p in layouts if not p.name.endswith(NARROW)],
            multiple=bool(page.curves) and len(page.cells) > MOST_BARS,
            folds_table=len(page.cells) > MOST_BARS,
            unread=[line.strip() for line in unread_lines(page.unread)],
        )
    )
