"""The table of what another tool reported keeps its figures apart, whatever their size."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

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
    head, row = lines[1], lines[3]
    ends = [0, *(at + 1 for at in range(len(head)) if head[at] != " " and head[at + 1 : at + 2] in ("", " "))]
    assert len(row) == len(head) == ends[-1], "figures stand under their heads"
    columns = [row[left:right] for left, right in pairwise(ends)]
    assert all(column.startswith(" ") for column in columns[1:]), row
    assert columns[0].replace("cell", "").strip() == str(runs)


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
