"""The table of what another tool reported keeps its figures apart, whatever their size."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mileage.analysis.imported_study import imported_page
from mileage.app.importer import make_study, read_files
from mileage.app.result import load_plan
from mileage.report.datasheet import _pairs
from mileage.report.imported_study import ImportedPage, ReportedCell, imported_text, render_imported
from mileage.report.view import ValidityCheck

HOSTILE = "<script>alert(1)</script>"
FIGURES = st.floats(min_value=1e-9, max_value=1e24)


@given(FIGURES, FIGURES, FIGURES, st.integers(1, 10**9))
def test_figures_stand_apart(rate: float, ops: float, latency_ns: float, runs: int) -> None:
    cell = ReportedCell(
        cell="cell",
        title="",
        runs=runs,
        rate_bytes_per_s=(rate, 2 * rate),
        ops_per_s=(ops,),
        elapsed_s=(),
        quantiles_ns={"p50": (latency_ns,), "p99": (latency_ns,)},
    )
    page = ImportedPage(
        name="x",
        tool="t",
        cells=(cell,),
        trust=(),
        notes=(),
        identity={"seal": "unsealed"},
        lost=(),
        unread=(),
    )
    lines = [line for line in imported_text(page).splitlines() if line.strip() and line != "cell"]
    rule = next(at for at, line in enumerate(lines) if set(line) == {"-"})
    head, row = lines[rule - 1], lines[rule + 1]
    ends = [0, *(at + 1 for at in range(len(head)) if head[at] != " " and head[at + 1 : at + 2] in ("", " "))]
    assert len(row) == len(head) == ends[-1], "figures stand under their heads"
    columns = [row[left:right] for left, right in pairwise(ends)]
    assert all(column.startswith(" ") for column in columns[1:]), row
    assert columns[0].replace("cell", "").strip() == str(runs)


def test_a_test_with_a_time_alone_shows_it() -> None:
    def shown(**figures: tuple[float, ...]) -> str:
        cell = ReportedCell(
            cell="unpack",
            title="",
            runs=3,
            rate_bytes_per_s=figures.get("rate", ()),
            ops_per_s=(),
            elapsed_s=(5.0, 5.408, 5.2),
            quantiles_ns={},
        )
        page = ImportedPage(
            name="x", tool="t", cells=(cell,), trust=(), notes=(), identity={}, lost=(), unread=()
        )
        assert (">5.2 s<" in render_imported(page, drawn=False)) is not bool(figures)
        return imported_text(page)

    assert re.search(r"runs +± +time\n-+\nunpack +3 +\S+ ?%? +5\.2 s\n", shown())
    assert "time" not in shown(rate=(1e6, 1e6, 1e6))


def test_the_lowest_and_the_highest_rate_lead_text_and_page() -> None:
    """Rates alone, operations with rates, and cells that have one or the other, which have no order."""

    def page(*kinds: str) -> ImportedPage:
        cells = tuple(
            ReportedCell(
                cell=f"cell {at}",
                title="",
                runs=1,
                rate_bytes_per_s=((at + 1) * 1e6,) if "rate" in kind else (),
                ops_per_s=((at + 1) * 100.0,) if "ops" in kind else (),
                elapsed_s=(),
                quantiles_ns={},
            )
            for at, kind in enumerate(kinds)
        )
        return ImportedPage(
            name="x", tool="t", cells=cells, trust=(), notes=(), identity={}, lost=(), unread=()
        )

    opening = "One run of each cell, so the spread between runs is not known: "
    for kinds, expected in (
        (("rate", "rate"), "from 1.00 MB/s at cell 0, to 2.00 MB/s at cell 1."),
        (("rate ops", "ops"), "from 100 IOPS, 1.00 MB/s, at cell 0, to 200 IOPS, at cell 1."),
    ):
        assert opening + expected in " ".join(imported_text(page(*kinds)).split())
        assert f'<p class="verdict">{opening}{expected}</p>' in render_imported(page(*kinds), drawn=False)
    assert "verdict" not in render_imported(page("rate", "ops"), drawn=False).partition("<body>")[2]


def test_counters_stand_apart_from_their_names() -> None:
    (line,) = _pairs([("a_counter_with_a_long_name", 10**18)])
    assert line.split() == ["a_counter_with_a_long_name", f"{10**18:,}"]


def test_the_page_has_a_bar_for_each_cell_and_folds_the_checks_that_passed() -> None:
    cells = tuple(
        ReportedCell(
            cell=f"fio.read {size} KiB, {HOSTILE}",
            title="",
            runs=2,
            rate_bytes_per_s=(1e6 * size, 1.1e6 * size),
            ops_per_s=(1e3,),
            elapsed_s=(),
            quantiles_ns={},
        )
        for size in (4, 64, 1024)
    )
    page = ImportedPage(
        name=HOSTILE,
        tool="fio",
        cells=cells,
        trust=(ValidityCheck("files", "ok", "all"), ValidityCheck("runs", "warn", "few")),
        notes=(),
        identity={},
        lost=(),
        unread=(),
    )
    html = render_imported(page)
    assert html.count("<svg") == 2
    assert html.count("runs</title>") == 2 * 3
    assert "1 check passed</summary>" in html
    assert "`" not in html
    assert "<script>" not in html
    assert "<svg" not in render_imported(page, drawn=False)


def test_of_many_cells_each_test_has_a_chart_over_its_sizes(tmp_path: Path) -> None:
    """IOzone's automatic mode: 13 tests, 30 pairs of a file size and a record size; of a test as many dots."""
    sample = Path(__file__).parents[1] / "formats" / "samples" / "iozone-auto.out"
    folder = make_study(read_files([sample]), tmp_path / "auto")
    page = imported_page(load_plan(folder), folder)
    assert len(page.cells) == 13 * 30
    assert [(curve.by, curve.series, len(curve.points)) for curve in page.curves] == [
        ("record", "file", 30)
    ] * 13
    html = render_imported(page)
    assert html.count("<svg") == 13
    assert html.index("<svg") < html.index("All 390 cells</h2>")
    heads = html[html.index("<thead>") : html.index("</thead>")]
    assert re.findall(r"<th [^>]*>([^<]*)", heads) == ["cell", "runs", "MiB/s", "MB/s"], "no column is empty"
    assert "more likely the page cache" in html[: html.index('class="verdict"')]
    shown = imported_text(page).splitlines()
    assert "and 330 more cells; the page and tables/imported.csv have all" in shown
